"""Runs the benchmarks on a machine, with or without a clone of the repository, and keeps the results under its name.

asv files results by commit and machine. It asks the repository for the commit, so where only the files are, the history
comes along as a bundle: ``git bundle create history.bundle HEAD main``. Of the machine asv keeps facts: here its
processor and, for each logical device name, the device and its driver.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from clfrnn.runtime.device import list_devices

from ..benchmarks.common import PLATFORMS
from ..tools.provenance import ROOT, git

#: what a figure depends on; under a commit's name only that commit's files are measured
MEASURED = ("clfrnn", "templates", "asv_benches/benchmarks")


def devices() -> dict[str, str]:
    """The logical names of the devices here, with name and driver."""
    found: dict[str, str] = {}
    for present in list_devices():
        for name, text in PLATFORMS.items():
            if text in present.platform.name:
                found.setdefault(name, f"{present.name.strip()}, driver {present.driver_version.strip()}")
    return found


def describe(name: str) -> dict[str, str]:
    """What asv keeps of a machine. No version of the system: another kernel does not make another machine."""
    from asv.machine import Machine  # noqa: PLC0415 — `bench` is an extra

    facts = Machine.get_defaults()
    memory = f"{round(int(facts['ram']) / 2**30)} GiB" if facts["ram"].isdigit() else facts["ram"]
    return {**facts, "machine": name, "os": platform.system(), "ram": memory, **devices()}


def changed(repository: Path, commit: str, scratch: Path) -> list[str]:
    """The measured files here that are not as in the commit."""
    where = (f"--git-dir={repository}", f"--work-tree={ROOT}")
    index = {"GIT_INDEX_FILE": str(scratch / "index")}
    git(*where, "read-tree", commit, **index)
    git(*where, "add", "--all", "--", *(ROOT / part for part in MEASURED), **index)
    return git(*where, "diff", "--cached", "--name-only", commit, "--", **index).splitlines()


def configure(repository: Path, output: Path, scratch: Path, benchmarks: Path) -> Path:
    """The configuration for asv, with every place spelled out."""
    settings = json.loads((ROOT / "asv_benches" / "asv.conf.json").read_text())
    settings |= {
        "repo": str(repository),
        "benchmark_dir": str(benchmarks),
        "branches": ["HEAD"],
        "env_dir": str(scratch / "env"),
        "html_dir": str(scratch / "html"),
        "results_dir": str(output),
    }
    path = scratch / "asv.conf.json"
    path.write_text(json.dumps(settings))
    return path


def asv_run(settings: Path, commit: str, name: str) -> list[str]:
    """The command that runs benchmarks with this Python, under the names of a commit and a machine."""
    command = [sys.executable, "-m", "asv", "run", f"--config={settings}", "--python=same", "--show-stderr"]
    return [*command, f"--set-commit-hash={commit}", f"--machine={name}"]


def environment(package: Path) -> dict[str, str]:
    """Variables with which that command finds the clfrnn of a folder."""
    sources = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": sources, "ASV_PYTHONPATH": str(package)}


def python_version() -> str:
    """What results are named by; asv takes the path of its Python, which says less on other machines."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def rename(folder: Path) -> None:
    """Name results by the version of Python."""
    from asv import util  # noqa: PLC0415

    version = python_version()
    for path in folder.glob("*-existing-*.json"):
        results = util.load_json(str(path)) | {"env_name": f"python{version}", "python": version}
        results["params"]["python"] = version
        path.unlink()
        util.write_json(str(folder / f"{results['commit_hash'][:8]}-python{version}.json"), results, compact=True)


def rename_back(folder: Path, commit: str) -> None:
    """Name an earlier run's results as asv would, so that it adds to them instead of beginning anew."""
    from asv import util  # noqa: PLC0415

    kept = folder / f"{commit[:8]}-python{python_version()}.json"
    if kept.is_file():
        name = "existing-py" + sys.executable.replace(os.sep, "_")
        results = util.load_json(str(kept)) | {"env_name": name, "python": sys.executable}
        results["params"]["python"] = sys.executable
        util.write_json(str(folder / f"{commit[:8]}-{name}.json"), results, compact=True)


def check_history(history: Path | None) -> None:
    """Raise where asv has no repository to ask."""
    if history is None and not (ROOT / ".git").exists():
        raise click.ClickException(
            "here are files without a clone; make a bundle where the clone is, `git bundle create history.bundle HEAD "
            "main`, and pass it as --history"
        )


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--machine", "name", required=True, help="The name that the results are kept under.")
@click.option("--history", type=click.Path(exists=True, path_type=Path), help="A git bundle, where there is no clone.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=ROOT / "asv_benches" / "results",
    help="The folder of results; copied into asv_benches/results of a clone, they are published with the others.",
)
@click.argument("asv_options", nargs=-1, type=click.UNPROCESSED)
def main(name: str, history: Path | None, output: Path, asv_options: tuple[str, ...]) -> None:
    """Run the benchmarks at the present commit; ASV_OPTIONS go to `asv run`, --quick and --bench among them."""
    from asv.machine import MachineCollection  # noqa: PLC0415

    if not devices():
        raise click.ClickException(
            f"expected one of the devices {', '.join(PLATFORMS)}, found none; see clfrnn devices"
        )
    check_history(history)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        repository = scratch / "history.git"
        git("clone", "-q", "--bare", history or ROOT, repository)
        commit = git(f"--git-dir={repository}", "rev-parse", "HEAD")
        if others := changed(repository, commit, scratch):
            raise click.ClickException(
                f"results are kept under commit {commit[:8]}, but {', '.join(others)} differ from it; commit them first"
            )
        MachineCollection.save(name, describe(name))
        settings = configure(repository, output.resolve(), scratch, ROOT / "asv_benches" / "benchmarks")
        rename_back(output / name, commit)
        done = subprocess.run(  # noqa: S603
            [*asv_run(settings, commit, name), *asv_options], cwd=scratch, env=environment(ROOT), check=False
        )
    rename(output / name)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
