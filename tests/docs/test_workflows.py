"""Workflows of GitHub: they are YAML of the form that GitHub reads, and run commands that there are."""

import re

import pytest
from pages import ROOT

from clfrnn.cli import main

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="runs in a checkout")

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

#: Actions that steps may use, all of them with a version.
ACTIONS = {
    "actions/checkout",
    "actions/deploy-pages",
    "actions/download-artifact",
    "actions/setup-python",
    "actions/upload-artifact",
    "actions/upload-pages-artifact",
    "conda-incubator/setup-miniconda",
    "pypa/gh-action-pypi-publish",
}

SYSTEMS = {"ubuntu-latest", "macos-latest", "windows-latest"}


def jobs():
    """Jobs of steps; a workflow may also run another one as a job."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            if "uses" in job:
                assert path.parents[2] / job["uses"] in WORKFLOWS
            else:
                yield pytest.param(job, id=f"{path.stem}-{name}")


def commands():
    """Each line that a step runs."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            for step in job.get("steps", ()):
                for line in step.get("run", "").splitlines():
                    yield pytest.param(line.strip(), id=f"{path.stem}-{name}-{line.strip()}")


def test_every_system_and_a_gpu_have_a_job():
    runners = [job.values[0]["runs-on"] for job in jobs()]
    assert {each for each in runners if isinstance(each, str)} == {*SYSTEMS, "${{ matrix.system }}"}
    assert ["self-hosted", "gpu"] in runners


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_when_a_workflow_runs(path):
    """By hand too; and a machine of somebody's own runs nothing of pull requests, which anyone may make."""
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    when = read[True]  # YAML takes the key `on` for a truth value
    assert read["name"] == path.stem
    assert {"push", "workflow_dispatch"} <= set(when)
    own = any("self-hosted" in job.get("runs-on", ()) for job in read["jobs"].values())
    publishes = any(may_publish(job) for job in read["jobs"].values())
    assert ("pull_request" in when) != (own or publishes)
    assert set(when["push"]) == ({"tags"} if path.stem == "release" else {"branches"})
    assert read["permissions"] == {"contents": "read"}


def may_publish(job):
    return "permissions" in job


#: What publishes: its rights, the place that GitHub holds it to, what goes before it, and its steps.
PUBLISHED = {
    "release": (
        {"id-token": "write"},
        "pypi",
        {"tests", "build", "wheel"},
        ["actions/download-artifact", "pypa/gh-action-pypi-publish"],
    ),
    "pages": ({"pages": "write", "id-token": "write"}, "github-pages", {"build"}, ["actions/deploy-pages"]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_may_publish_runs_no_code_of_the_repository(name):
    """It takes what others have built and tested."""
    read = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))["jobs"]
    (publish,) = (job for job in read.values() if may_publish(job))
    needed = {publish["needs"]} if isinstance(publish["needs"], str) else {*publish["needs"]}
    steps = [step["uses"].split("@")[0] for step in publish["steps"]]
    assert (publish["permissions"], publish["environment"], needed, steps) == PUBLISHED[name]


def test_a_version_is_published_by_a_tag_alone():
    read = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert read["publish"]["if"] == "github.event_name == 'push'"
    assert {*read["publish"]["needs"]} == set(read) - {"publish"}


@pytest.mark.parametrize("job", [*jobs()])
def test_a_job_has_steps_of_the_form_that_github_reads(job):
    assert job["timeout-minutes"] > 0
    assert job["steps"][0]["uses"].startswith("actions/checkout@") != may_publish(job)
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert set(step) <= {"name", "uses", "with", "run", "if", "env", "shell"}, step
        if "uses" in step:
            action, version = step["uses"].split("@")
            assert action in ACTIONS
            assert re.fullmatch(r"(release/)?v\d+", version)
    for field in re.findall(r"\$\{\{ matrix\.(\w+)", str(job)):
        assert field in job["strategy"]["matrix"], field


@pytest.mark.parametrize("line", [*commands()])
def test_a_step_runs_a_command_that_there_is(line):
    """A session of nox, a command of clfrnn, an extra of pyproject.toml, or a command that a page names."""
    pages = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    first, *words = line.split()
    if first == "nox":
        sessions = re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
        assert words[0] == "-s"
        assert words[1].split("-")[0] in sessions
    elif first == "clfrnn":
        assert words[0] in main.commands
    elif first == "pip" and words[1] != "nox":
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        extras = re.search(r"'\.\[(.*)\]'", line)[1].replace("${{ matrix.driver }}", "pocl,intel").split(",")
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras)
    elif first == "python":
        assert "python -m pytest -q --all -n auto" in line
        assert "python -m pytest -q -n auto" in pages
    elif first == "conda":
        assert line in pages
    elif first != "pip":
        registers = ("echo", "$folder", "reg", "Add-Content")
        assert first in registers, "a step that only registers a driver"
