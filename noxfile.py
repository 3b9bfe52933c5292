"""The few commands that people repeat: ``nox -s tests``, ``nox -s lint docs``; ``nox -l`` lists them."""

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
def bench(session: nox.Session) -> None:
    """Time a few rows on the CPU; what stands behind ``--`` replaces the arguments of ``asv_benches.quick``."""
    session.install("-e", ".[pocl,bench]")
    session.run("python", "-m", "asv_benches.quick", *(session.posargs or ["--device", "pocl", "--small"]))
