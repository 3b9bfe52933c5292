"""Ctrl-C while a driver compiles: it waits, for the driver, its threads and the programs that it runs."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

__all__ = ["interrupts_held_back"]


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Deliver SIGINT to this thread behind the block, and never to threads and programs that are started in it.

    A terminal sends it to every program of its foreground. A driver ends the process where the linker that it runs is
    interrupted, and its compiler's own handler deletes files that it still needs: it is replaced by the one before.
    """
    if sys.platform == "win32":  # a program there has no masks of signals
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # each of these calls may raise what came before
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        try:
            handler = signal.getsignal(signal.SIGINT)
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
