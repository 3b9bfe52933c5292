"""Where measured code comes from: the commit of the checkout that holds it."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
#: what is measured, and makes a figure not the commit's own where it was changed
MEASURED = ("clfrnn", "templates")


def commit(root: Path = ROOT) -> str:
    """The commit's short name, with "with changes" after it where measured files are not the commit's.

    Nothing where there is no git, or no clone: files that were unpacked somewhere inside another clone are not of it.
    """
    here = ("--no-optional-locks", "-C", root)
    try:
        if Path(git(*here, "rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return ""
        name = git(*here, "rev-parse", "--short", "HEAD")
        return f"{name} with changes" if git(*here, "status", "--porcelain", "--", *MEASURED) else name
    except click.ClickException:
        return ""


def unpack(root: Path, commit: str, folder: Path) -> Path:
    """Put what is measured, as a commit of a checkout has it, into a folder, and return that folder.

    The checkout stays as it is; a clone would bring more than that, and a shallow one could not give it.
    """
    archive = folder / "measured.tar"
    git("-C", root, "archive", "--format=tar", f"--output={archive}", commit, "--", *MEASURED)
    with tarfile.open(archive) as files:
        # Early releases of Python 3.10 and 3.11 know no filter, and later ones warn without it.
        known = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        files.extractall(folder, **known)  # type: ignore[arg-type]  # noqa: S202 — git's own archive
    archive.unlink()
    return folder


def git(*arguments: str | Path, **environment: str) -> str:
    """What a git command prints."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *map(str, arguments)],  # noqa: S607
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise click.ClickException(f"git: {error}; install git") from error
    if done.returncode:
        raise click.ClickException(f"git: {done.stderr.strip()}")
    return done.stdout.strip()
