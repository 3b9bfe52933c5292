"""README and docs: their code runs, and what they list is what there is."""

import re
import runpy
import shlex
import typing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import needs_pyvista
from pages import DOCS, ROOT, blocks, run, shown

import clfrnn
from clfrnn.answers.lists.plan import ListPlan
from clfrnn.cli import main
from clfrnn.methods import METHODS

README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="runs in a checkout")

#: Pages whose blocks are run by tests of their own.
ELSEWHERE = {"start/coming-from.md": "test_coming_from", "contribute/how-to-add-a-method.md": "test_how_to"}

#: Examples that are run by tests of their own.
STARTED_ELSEWHERE = {"mpi_parts.py": "test_mpi_example"}

#: Libraries of extras that the blocks of a page need, or an example.
NEEDED = {
    "guides/geometry.md": ("skimage", "trimesh", "scipy", "laspy"),
    "guides/clusters.md": ("laspy",),
    "guides/arrays.md": ("torch", "networkx", "scipy"),
    "start/coming-from-scipy.md": ("scipy",),
    "start/coming-from-scikit-learn.md": ("sklearn",),
    "start/coming-from-ase.md": ("ase",),
    "start/coming-from-torch.md": ("torch",),
    "guides/models/spheres.md": ("pyvista",),
    "examples/correlation.py": ("Corrfunc", "matplotlib"),
    "examples/water.py": ("freud", "matplotlib"),
    "examples/dam_break_3d.py": ("pyvista",),
    "examples/flock.py": ("pyvista",),
    "examples/tissue.py": ("pyvista",),
}

#: A scan that is not ours to have, and that its pages say where to get.
TILE = "autzen_trim.laz"

#: Pages, without those that others include.
PAGES = sorted({*DOCS.rglob("*.md")} - {*DOCS.glob("_build/**/*.md"), *DOCS.glob("measured/runs/**/*.md")})


def name_of(path):
    return path.relative_to(DOCS).as_posix()


def test_the_example_of_the_readme_is_the_example_on_file():
    assert blocks(README, "python")[0] == (ROOT / "docs/examples/first_search.py").read_text(encoding="utf-8")


def test_the_readme_runs():
    scope = run(blocks(README), {}, README.name)

    assert isinstance(scope["found"], clfrnn.NeighborList)
    assert scope["counts"].dtype == np.int32


def test_the_commands_of_the_readme_run_as_they_are_typed(monkeypatch, tmp_path):
    """In the checkout, which has their files; what they write there, git ignores."""
    pytest.importorskip("matplotlib", reason="an extra is not installed")
    (tmp_path / "docs").symlink_to(DOCS)
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    typed = re.findall(r"^(?:\.venv/bin/)?clfrnn ((?:search|source) .*?)(?:  .*)?$", text, re.MULTILINE)
    assert typed
    for line in typed:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, f"{line}: {done.output} {done.exception}"
    written = [path.name for path in tmp_path.iterdir() if path.name != "docs"]
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert written == ["cloud.png"]
    assert {f"/{name}" for name in (*written, *re.findall(r"--animate (\S+\.\w+)", text))} <= {*ignored}


def pages_that_run():
    found = [path for path in PAGES if {"python", "console"} & {name for name, _ in blocks(path)}]
    return [path for path in found if name_of(path) not in ELSEWHERE]


def examples_by_themselves():
    """The programs that stand on no page which is run."""
    programs = {text for path in pages_that_run() for text in blocks(path, "python")}
    found = [path for path in sorted((DOCS / "examples").glob("*.py")) if path.name not in STARTED_ELSEWHERE]
    return [path for path in found if path.read_text(encoding="utf-8") not in programs]


def pages_by_length():
    """The first page of a newcomer, and the others as long tests."""
    for path in pages_that_run():
        marks = () if name_of(path) == "start/tutorial.md" else (pytest.mark.long,)
        yield pytest.param(path, id=name_of(path), marks=marks)


def need(path):
    for library in NEEDED.get(name_of(path), ()):
        pytest.importorskip(library, reason="an extra is not installed")
        if library == "pyvista":
            needs_pyvista()


@pytest.mark.long
@pytest.mark.parametrize("path", examples_by_themselves(), ids=lambda path: path.name)
def test_examples_run(path, capsys, monkeypatch, tmp_path):
    need(path)
    monkeypatch.chdir(tmp_path)  # where pictures go
    runpy.run_path(str(path))

    assert capsys.readouterr().out


def write_tile(path):
    """Write a stand-in for the tile: uneven ground, trees, and points that stand alone."""
    import laspy

    rng = np.random.default_rng(0)
    ground = rng.uniform(0, (150, 75, 2), (4_000, 3))
    trees = [rng.normal((*place, 30), 3, (300, 3)) for place in ((30, 20), (90, 50), (120, 20))]
    points = np.concatenate([ground, *trees, rng.uniform((0, 0, 100), (150, 75, 300), (30, 3))])
    tile = laspy.create(point_format=3, file_version="1.2")
    tile.header.scales = [0.01] * 3
    tile.x, tile.y, tile.z = points.T
    tile.classification = np.where(np.arange(len(points)) < len(ground), 2, 1)
    tile.update_header()
    tile.write(path)


@pytest.mark.parametrize("path", [*pages_by_length()])
def test_a_page_can_be_pasted_and_prints_what_it_says(path, monkeypatch, tmp_path):
    """From its top, line by line into an empty prompt."""
    need(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)  # `clfrnn demo` opens no window
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    found = blocks(path)
    if any(TILE in text for language, text in found if language == "python"):
        write_tile(tmp_path / TILE)

    run(found, {}, path.name)


def test_the_tutorial_works_in_three_dimensions():
    """Word for word, with three columns; what it prints is then something else."""
    page = [text for language, text in blocks(DOCS / "start/tutorial.md") if language == "python"]
    start = page.index(next(text for text in page if "dim = 2" in text))
    cloud, *others = page[start : page.index(next(text for text in page if "savetxt" in text))]
    others = [text for text in others if "Figure" not in text]  # its program draws a plane

    scope = run([("python", text) for text in (cloud.replace("dim = 2", "dim = 3"), *others)], {}, "in 3D")

    assert scope["points"].shape[1] == scope["steps"].shape[1] == scope["places"].shape[1] == 3
    assert np.allclose(scope["means"], scope["first_steps"], atol=1e-6)
    assert scope["index"].count().get().sum() > 0


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.name)
def test_outputs_are_shown(path):
    """The dots that numpy prints in rows and tables of numbers are an output."""
    for text in shown(path):
        assert not re.search(r"\.\.\.", re.sub(r"\d+\.? +\.\.\. |^ \.\.\.$", "", text, flags=re.MULTILINE)), text


def test_pages_with_tests_of_their_own_have_them():
    assert {name_of(path) for path in pages_that_run()} >= {
        "index.md",
        "start/tutorial.md",
        "guides/loops.md",
        "guides/periodic.md",
        "methods/choosing.md",
        "guides/functions.md",
    }
    for page, test in ELSEWHERE.items():
        assert blocks(DOCS / page, "python"), page
        assert page in (ROOT / f"tests/docs/{test}.py").read_text(encoding="utf-8")
    for example, test in STARTED_ELSEWHERE.items():
        assert example in (ROOT / f"tests/docs/{test}.py").read_text(encoding="utf-8")


def test_every_page_is_in_the_table_of_contents():
    listed = set()
    for contents in PAGES:
        text = contents.read_text(encoding="utf-8")
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {contents.parent / f"{name}.md" for name in names}
    assert listed == {*PAGES} - {DOCS / "index.md"}


#: What takes no reading: code and what it prints, tables, titles, comments, and the lines of directives.
NO_PROSE = re.compile(r"^```(?=[\w{])(?!\{glossary\}).*?^```$|^<!--.*?-->$|^[|#:].*?$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_a_page_is_short_enough_to_be_read(path):
    prose = NO_PROSE.sub("", path.read_text(encoding="utf-8"))

    assert len([line for line in prose.splitlines() if line]) <= 200


def test_pages_for_users_show_days_and_no_commits():
    """A comment may name the commit, for `asv_benches.history.ages`; readers do not see it."""
    for path in (README, *(path for path in PAGES if path.parent.name not in ("tables", "papers", "contribute"))):
        seen = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.findall(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7}\b", seen)
        assert not found, f"{path.name}: {found}"


#: What takes no source: code, comments and what stands in backquotes but for roles.
UNSAID = re.compile(r"^```.*?^```$|<!--.*?-->|(?<!\})`[^`\n]*`", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
FIGURE = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+|\d[\d,]*(?= (?:ms|s|kB|MB)\b)")


def figures_that_no_page_has(path, text):
    """The figures of a paragraph, or of a row, to which no number on the pages that it links to is rounded."""
    linked = ""
    for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        page = (DOCS / target[1:] if target.startswith("/") else path.parent / target).with_suffix(".md")
        linked += page.read_text(encoding="utf-8")
        included = re.findall(r"^```\{include\} (\S+\.md)$", linked, re.MULTILINE)
        linked += "".join((page.parent / each).read_text(encoding="utf-8") for each in included)
    there = [float(word.replace(",", "")) for word in NUMBER.findall(linked)]
    return [
        figure
        for figure in FIGURE.findall(text)
        if not any(round(each, len(figure.partition(".")[2])) == float(figure.replace(",", "")) for each in there)
    ]


@pytest.mark.parametrize("name", ["methods/choosing", "guides/batches"])
def test_every_figure_has_a_source(name):
    """It stands on a page that is linked beside it, or its section has a day, and a command or a program."""
    path = DOCS / f"{name}.md"
    for section in re.split(r"^#+ .*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if re.search(r"\b20\d\d-\d\d-\d\d\b", section) and re.search(r"python -m asv_benches|```python", section):
            continue
        for paragraph in re.split(r"\n\s*\n", UNSAID.sub("", section)):
            rows = [line for line in paragraph.splitlines() if line.startswith("|")]
            for text in rows or [paragraph]:
                assert not figures_that_no_page_has(path, text), text


def test_the_gallery_shows_every_picture_beside_the_script_that_draws_it():
    """And no script or picture is too large to be looked at."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    scripts = re.findall(r"<(examples/\w+\.py)>", text)
    pictures = re.findall(r"^:img-top: (pictures/[\w.]+)$", text, re.MULTILINE)
    assert set(pictures) == {f"pictures/{path.name}" for path in (DOCS / "pictures").iterdir() if path.suffix != ".svg"}
    for script, picture in zip(scripts, pictures, strict=True):
        source = (DOCS / script).read_text(encoding="utf-8")
        assert f'"{Path(picture).name}"' in source, f"{script} draws {picture}"
        assert len(source.splitlines()) <= 100, script
        assert (DOCS / picture).stat().st_size <= 500_000, picture


def test_every_method_and_option_is_described():
    for path in (README, ROOT / "docs/methods/index.md"):
        text = path.read_text(encoding="utf-8")
        for method in METHODS.values():
            assert method.name in text, path
            assert all(option in text for option in method.options), path


def test_the_architecture_page_names_every_folder():
    text = (DOCS / "contribute/architecture.md").read_text(encoding="utf-8")
    for folder in [*(ROOT / "clfrnn").iterdir(), *(ROOT / "templates").iterdir()]:
        if folder.is_dir() and folder.name != "__pycache__":
            assert f"`{folder.name}/`" in text, folder
    for module in ("api.py", "index.py"):
        assert f"`{module}`" in text
        assert (ROOT / "clfrnn" / module).is_file()


def test_the_architecture_page_names_every_value_of_a_list_plan():
    text = (DOCS / "contribute/architecture.md").read_text(encoding="utf-8")
    for decision in ("first_pass", "attributes", "capacity"):
        for value in typing.get_args(typing.get_type_hints(ListPlan)[decision]):
            assert f"`{value}`" in text, f"{decision} {value}"


def test_the_figure_of_the_architecture_page_is_what_its_script_draws():
    drawn = runpy.run_path(str(DOCS / "make_flow.py"))

    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["figure"]()
    for _, steps in drawn["COLUMNS"]:
        for path in (path for _, where in steps for path in where.split(", ")):
            assert (ROOT / "clfrnn" / path).exists(), path


def test_paths_on_pages_exist():
    """In code marks, a path that begins with a folder of the checkout or of the package."""
    for page in [README, ROOT / "asv_benches/README.md", *PAGES]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for path in re.findall(r"`((?:clfrnn|templates|tests|docs|asv_benches)/[\w./-]+)`", text):
            example = "sweep" in path or "NAME" in path
            assert example or (ROOT / path).exists(), f"{page.name}: {path}"


def test_links_of_pages_that_sphinx_does_not_build_lead_somewhere():
    for page in ROOT.glob("*.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_pages_install_from_a_checkout_or_a_wheel():
    """The package is not on the index under its name: an extra by that name is for those who have it."""
    for page in [README, ROOT / "CONTRIBUTING.md", *PAGES]:
        for line in page.read_text(encoding="utf-8").splitlines():
            by_name = re.search(r"pip install (?:-\w+ )*'?clfrnn", line)
            assert not by_name or page.name == "installing.md", f"{page.name}: {line}"


def test_the_project_has_what_its_metadata_names():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra in ("pocl", "intel", "plot", "plot3d", "files", "las", "test", "docs", "bench", "dev"):
        assert re.search(rf"^{extra} = \[", text, re.MULTILINE)
        assert f"`{extra}`" in (DOCS / "start/installing.md").read_text(encoding="utf-8"), extra
    addresses = re.search(r"^\[project.urls\]\n((?:.+\n)+)", text, re.MULTILINE)
    assert addresses
    assert all(re.fullmatch(r'"[^"]+" = "https://\S+"', line) for line in addresses[1].splitlines())
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert "Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (ROOT / "clfrnn/py.typed").is_file()


@pytest.mark.skipif(not (ROOT / ".ci/run").is_file(), reason="runs in a checkout")
def test_the_tools_of_developers_are_those_of_ci():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for tool in ("ruff", "mypy"):
        (pinned,) = re.findall(rf'"({tool}==[\d.]+)"', text)
        assert pinned in (ROOT / ".ci/run").read_text(encoding="utf-8"), tool


@pytest.mark.skipif(not (ROOT / "CITATION.cff").is_file(), reason="runs in a checkout")
def test_the_citation_names_the_four_papers_and_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {clfrnn.__version__}\n" in text
    assert all(f"family-names: {name}\n" in text for name in ("Green", "Chisholm", "Groß", "Xing"))
    assert text.count("  - type: ") == 4
