"""Folders of caches: whether they can be written, one among temporary files, and a warning where there is none."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import tempfile
import warnings
from pathlib import Path

__all__ = ["temporary_folder", "warn_of_cache", "why_not_all_written", "why_unwritable"]


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
