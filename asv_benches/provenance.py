"""Where measured code comes from: the commit of the checkout that holds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: what is measured, and makes a figure not the commit's own where it was changed
MEASURED = ("clfrnn", "templates")


def commit(root: Path = ROOT) -> str:
    """The commit's short name, with "with changes" after it where measured files are not the commit's.

    Nothing where there is no git, or no clone: files that were unpacked somewhere inside another clone are not of it.
    """
    top = _git(root, "rev-parse", "--show-toplevel")
    name = _git(root, "rev-parse", "--short", "HEAD")
    if not top or not name or Path(top).resolve() != root.resolve():
        return ""
    return f"{name} with changes" if _git(root, "status", "--porcelain", "--", *MEASURED) else name


def _git(root: Path, *arguments: str) -> str:
    """What git prints, or nothing where it fails or is missing."""
    try:
        done = subprocess.run(  # noqa: S603 — arguments from above
            ["git", "--no-optional-locks", "-C", str(root), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
