"""The few commands that people repeat: ``nox -s tests``, ``nox -s lint docs``; ``nox -l`` lists them."""

import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.envdir = ".venv-nox"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "tests", "docs"]


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and mypy over everything."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests on every OpenCL device that is found; what stands behind ``--`` goes to pytest."""
    session.install("-e", ".[pocl,test]")
    session.run("pytest", "-q", *(session.posargs or ["-n", "auto"]))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-q", "-W", "-E", "-b", "html", "docs", "docs/_build")


@nox.session
def links(session: nox.Session) -> None:
    """Ask the sites of others whether what pages link to is there; it takes the network."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-q", "-b", "linkcheck", "docs", "docs/_build/links")


@nox.session
def package(session: nox.Session) -> None:
    """Build the wheel and the sdist into ``dist``, and check them; a tag behind ``--`` must be that of the version."""
    session.install("build", "twine", "check-wheel-contents", "cffconvert")
    session.run("cffconvert", "--validate")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "-o", "dist")
    built = sorted(map(str, Path("dist").iterdir()))
    session.run("twine", "check", "--strict", *built)
    session.run("check-wheel-contents", *(each for each in built if each.endswith(".whl")))
    for tag in session.posargs:
        if not Path("dist", f"clfrnn-{tag.removeprefix('v')}.tar.gz").is_file():
            session.error(f"expected the tag of the version in clfrnn/version.py, got {tag}: {', '.join(built)}")


@nox.session(python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def installed(session: nox.Session) -> None:
    """Try the wheel in ``dist`` away from the checkout: the command, and a search where pip has a driver for it."""
    (wheel,) = Path("dist").resolve().glob("*.whl")
    example = Path("docs/examples/first_search.py").resolve()
    session.install(f"{wheel}[pocl]")
    session.install("--force-reinstall", "--no-deps", str(wheel))  # not one of the same version from before
    session.chdir(session.create_tmp())
    session.run("clfrnn", "--version")
    if sys.platform == "linux" and platform.machine() == "x86_64":
        session.run("python", example)


@nox.session
def bench(session: nox.Session) -> None:
    """Time a few rows on the CPU; what stands behind ``--`` replaces the arguments of ``asv_benches.quick``."""
    session.install("-e", ".[pocl,bench]")
    session.run("python", "-m", "asv_benches.quick", *(session.posargs or ["--device", "pocl", "--small"]))


@nox.session
def sweep(session: nox.Session) -> None:
    """Compare every search with numpy on every device here, and write ``tests/sweep/NAME.json`` and its page.

    What stands behind ``--`` goes to ``clfrnn verify``: ``--points 40``. Each device has a process of its own, as a
    driver that crashes ends its process.
    """
    session.install("-e", ".[pocl]")
    listed = session.run(
        "clfrnn", "devices", "--json", silent=True, stderr=subprocess.DEVNULL, success_codes=[0, 1], log=False
    )
    failed, done = [], set()
    for device in json.loads(str(listed))["devices"]:
        name = "-".join(re.findall("[a-z0-9]+", re.sub(r"\(.*?\)", " ", device["name"].lower())))
        if not device["usable"] or device["alone"] or name in done:
            continue
        done.add(name)
        where = ("--device", str(device["position"]), "--json", f"tests/sweep/{name}.json")
        try:
            session.run("clfrnn", "verify", "--matrix", *where, *session.posargs)
        except nox.command.CommandFailed:
            failed.append(name)
    session.run("python", "docs/make_devices.py")
    if failed or not done:
        session.error(f"failed: {', '.join(failed)}" if failed else "there is no usable device; see `clfrnn devices`")
