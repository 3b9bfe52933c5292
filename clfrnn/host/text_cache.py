"""Text cache: files in the user's folder of caches with texts that earlier processes rendered from the templates."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from .folders import user_folder, write_whole

__all__ = ["cache_folder", "cached_text", "digest"]

#: The encoding, which covers every str.
_ENCODING = "utf-8", "surrogatepass"


def cache_folder() -> Path | None:
    """The folder of cached texts: ``clfrnn`` in ``XDG_CACHE_HOME``, or in the usual place, or None without one."""
    return user_folder("XDG_CACHE_HOME", windows="LOCALAPPDATA", mac="Library/Caches", elsewhere=".cache")


def digest(*parts: bytes) -> str:
    """A short digest of bytes, equal in all processes."""
    summed = hashlib.blake2b(digest_size=16)
    for part in parts:
        summed.update(len(part).to_bytes(8, "little"))
        summed.update(part)
    return summed.hexdigest()


def cached_text(key: str, make: Callable[[], str], *, may_store: Callable[[], bool] = lambda: True) -> str:
    """The text that ``make()`` returns: it must depend on nothing but `key`, or ``may_store()`` must then be false.

    The text is read from its file if an earlier process wrote one. A damaged file counts as none. Where files cannot be
    written, each process makes the text.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{digest(_in_bytes(key))}.txt"
    with contextlib.suppress(OSError):
        written, _, content = path.read_bytes().partition(b"\n")
        if written == digest(content).encode():
            return content.decode(*_ENCODING)
    text = make()
    if may_store():
        with contextlib.suppress(OSError):
            content = _in_bytes(text)
            write_whole(path, digest(content).encode() + b"\n" + content)
    return text


def _in_bytes(text: str) -> bytes:
    return text.encode(*_ENCODING)
