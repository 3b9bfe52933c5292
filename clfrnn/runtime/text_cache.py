"""Text cache: what was rendered from the templates, in the user's folder of caches, for processes to come."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

__all__ = ["cache_folder", "cached_text", "digest"]

#: Of any text that a str can hold.
_CODING = "utf-8", "surrogatepass"


def cache_folder() -> Path | None:
    """Where texts are cached: ``clfrnn`` in ``XDG_CACHE_HOME``, else in the usual place; None where there is none."""
    try:
        if base := os.environ.get("XDG_CACHE_HOME", ""):
            return Path(base) / "clfrnn"
        if sys.platform == "win32":
            return Path(os.environ["LOCALAPPDATA"]) / "clfrnn"
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "clfrnn"
    except (KeyError, RuntimeError):  # a user without a home
        return None


def digest(*parts: bytes) -> str:
    """A short name for bytes, the same in every process."""
    summed = hashlib.blake2b(digest_size=16)
    for part in parts:
        summed.update(len(part).to_bytes(8, "little"))
        summed.update(part)
    return summed.hexdigest()


def cached_text(key: str, make: Callable[[], str]) -> str:
    """The text that ``make()`` gives, which depends on nothing but what `key` says.

    It is read from its file where an earlier process wrote it; a file that is not whole counts as none. Where files
    cannot be written, the text is made in each process.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{digest(_in_bytes(key))}.txt"
    with contextlib.suppress(OSError):
        written, _, content = path.read_bytes().partition(b"\n")
        if written == digest(content).encode():
            return content.decode(*_CODING)
    text = make()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        content, fresh = _in_bytes(text), path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        fresh.write_bytes(digest(content).encode() + b"\n" + content)
        fresh.replace(path)
    return text


def _in_bytes(text: str) -> bytes:
    return text.encode(*_CODING)
