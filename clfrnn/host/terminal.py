"""What a terminal shows while a driver compiles: one line where that takes long, and no counts of errors."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

__all__ = ["one_line_where_it_takes_long", "without_counts_of_errors"]

#: Variable by which people do without the line.
_QUIET = "CLFRNN_QUIET"

#: Seconds of waiting for compilers, in all, after which the line is shown; and how long it takes at most to load what
#: was compiled before, which is no such wait.
_PATIENCE, _LOADED = 1.0, 0.1

#: The waits of this process so far, in seconds. A caller holds a lock while it waits.
_waits: list[float] = []

#: Set once the line is shown.
_shown = threading.Event()

#: What compilers write to standard error by themselves, behind errors that they report as they should.
_COUNT = re.compile(rb"(\d+ warnings?( and )?)?(\d+ errors?)? generated\.\r?\n")

#: Bytes that are read of standard error at a time.
_CHUNK = 1 << 16

_STDERR = 2


@contextlib.contextmanager
def one_line_where_it_takes_long(device: str) -> Iterator[None]:
    """Show a line on standard error, if that is a terminal, once the process has waited for compilers for a second."""
    stream = sys.stderr
    if _shown.is_set() or os.environ.get(_QUIET, "0") not in ("", "0") or not _is_terminal(stream):
        yield
        return
    timer = threading.Timer(max(0.0, _PATIENCE - sum(_waits)), _show, (stream, device))
    timer.daemon = True
    began = time.monotonic()
    try:
        with contextlib.suppress(RuntimeError):  # no more threads, or the end of Python
            timer.start()
        yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        if (seconds := time.monotonic() - began) > _LOADED:
            _waits.append(seconds)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _show(stream: TextIO, device: str) -> None:
    _shown.set()
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"clfrnn: compiling for {device}; later runs find what is compiled ({_QUIET}=1 hides this line)\n")
        stream.flush()


@contextlib.contextmanager
def without_counts_of_errors() -> Iterator[None]:
    """Keep the lines "1 error generated." from standard error, and pass all else on to it at once.

    A compiler writes to the descriptor itself, as do other threads meanwhile, so a thread reads what is written there.
    """
    try:
        original = os.dup(_STDERR)
    except OSError:  # there is no standard error
        yield
        return
    reader, writer = os.pipe()
    passing = threading.Thread(target=_pass_on, args=(reader, original), daemon=True)
    try:
        with contextlib.suppress(RuntimeError):  # no more threads, or the end of Python
            passing.start()
            os.dup2(writer, _STDERR)
        yield
    finally:
        os.dup2(original, _STDERR)
        os.close(writer)
        if passing.ident is None:
            os.close(reader)
            os.close(original)
        else:  # a program that was started meanwhile may write on; the thread then ends with it
            passing.join(_PATIENCE)


def _pass_on(reader: int, original: int) -> None:
    """Copy what is read, but for counts; a line that may become one is held until it is whole."""
    held = b""
    with os.fdopen(reader, "rb", buffering=0) as source, os.fdopen(original, "wb", buffering=0) as out:
        while part := source.read(_CHUNK):
            lines = (held + part).splitlines(keepends=True)
            held = b"" if lines[-1].endswith(b"\n") or not lines[-1][:1].isdigit() else lines.pop()
            _write(out, b"".join(line for line in lines if not _COUNT.fullmatch(line)))
        _write(out, held)


def _write(out: io.RawIOBase, text: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        while text:
            text = text[out.write(text) or 0 :]
