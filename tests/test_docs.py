"""README and docs: their code runs, and what they list is what there is."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import clfrnn
from clfrnn.methods import METHODS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="runs in a checkout")


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_the_example_of_the_readme_is_the_example_on_file():
    assert blocks(README, "python")[0] == (ROOT / "docs/examples/first_search.py").read_text(encoding="utf-8")


def test_the_readme_runs(capsys):
    scope = {}
    for block in blocks(README, "python"):
        exec(block, scope)

    assert "pairs of 100,000 queries, distances, float32, on " in capsys.readouterr().out
    assert isinstance(scope["found"], clfrnn.NeighborList)
    assert scope["counts"].dtype == np.int32


@pytest.mark.parametrize("path", sorted((ROOT / "docs/examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where pictures go
    runpy.run_path(str(path))

    assert capsys.readouterr().out


def test_every_method_and_option_is_described():
    for path in (README, ROOT / "docs/methods.md"):
        text = path.read_text(encoding="utf-8")
        for method in METHODS.values():
            assert method.name in text, path
            assert all(option in text for option in method.options), path


def test_the_architecture_page_names_every_module():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for module in (ROOT / "clfrnn").rglob("*.py"):
        name = module.name if module.name != "__init__.py" or module.parent.name == "clfrnn" else module.parent.name
        assert name.removesuffix(".py") in text, module


def test_the_project_has_what_its_metadata_names():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra in ("pocl", "intel", "plot", "test", "docs", "bench"):
        assert re.search(rf"^{extra} = \[", text, re.MULTILINE)
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert "Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (ROOT / "clfrnn/py.typed").is_file()
