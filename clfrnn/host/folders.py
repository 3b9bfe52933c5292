"""Folders of caches and settings: where they are, whether they can be written, and how files there are replaced."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import sys
import tempfile
import threading
import warnings
from pathlib import Path

__all__ = [
    "settings_folder",
    "temporary_folder",
    "user_folder",
    "warn_of_cache",
    "why_not_all_written",
    "why_unwritable",
    "write_whole",
]


def user_folder(variable: str, *, windows: str, mac: str, elsewhere: str) -> Path | None:
    """The folder ``clfrnn`` where `variable` says, or in the usual place of a system; None without a home folder.

    `windows` is a variable, too; the others are paths in the home folder.
    """
    try:
        base = Path(os.environ.get(variable, ""))
        if base.is_absolute():
            return base / "clfrnn"
        if sys.platform == "win32":
            return Path(os.environ[windows]) / "clfrnn"
        return Path.home() / (mac if sys.platform == "darwin" else elsewhere) / "clfrnn"
    except (KeyError, RuntimeError):
        return None


def settings_folder() -> Path | None:
    """The folder of the user's settings: in ``XDG_CONFIG_HOME``, or in the usual place; None without a home folder."""
    return user_folder("XDG_CONFIG_HOME", windows="APPDATA", mac="Library/Application Support", elsewhere=".config")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file at once, so that others see all of it or nothing; its folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def why_unwritable(folder: Path) -> str:
    """Why files cannot be written to a folder, which is made where it is missing; "" where they can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


@functools.cache
def why_not_all_written(parent: Path, names: tuple[str, ...]) -> str:
    """The first of the named folders that files cannot be written to, and why; "" where all can be written."""
    tried = ((parent / name, why_unwritable(parent / name)) for name in names)
    return next((f"{folder}: {why}" for folder, why in tried if why), "")


@functools.cache
def temporary_folder() -> Path:
    """A folder for temporary files that the processes of this user share; raises OSError where none can be made."""
    user = getattr(os, "getuid", lambda: 0)()
    folder = Path(tempfile.gettempdir(), f"clfrnn-{user}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    # Everybody may write to the folder of temporary files, and drivers run what they find in theirs.
    if stat.S_ISDIR(facts.st_mode) and facts.st_uid == user and not facts.st_mode & 0o077:
        return folder
    return Path(tempfile.mkdtemp(prefix="clfrnn-"))


@functools.cache
def warn_of_cache(whose: str, why: str, instead: str) -> None:
    """Warn once that `whose` compiled programs cannot be stored where they should be."""
    warnings.warn(f"{whose} cannot store compiled programs ({why}). Results are the same; {instead}", RuntimeWarning, 2)
