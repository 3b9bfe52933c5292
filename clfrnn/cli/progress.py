"""Progress of long work: a bar on a terminal and nothing in a pipe; and a line where a compiler takes long."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from ..runtime.session import Session

__all__ = ["compiling", "opened", "progress"]

#: Seconds that a driver takes at least for a program that it compiles; loading one from a cache takes less.
_COMPILED = 0.5


@functools.cache
def _console() -> Console:
    """Standard error, where a line that is printed while a bar is shown appears above the bar."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


@contextlib.contextmanager
def compiling(session: Session) -> Iterator[None]:
    """Say once on standard error that programs are compiled for the session's device, where they are."""
    said = threading.Event()

    def say() -> None:
        if not said.is_set():
            said.set()
            _console().print(f"compiling for {session.profile.name}; later runs find what is compiled")

    @contextlib.contextmanager
    def timed() -> Iterator[None]:
        timer = threading.Timer(_COMPILED, say)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    with session.programs.around_builds(timed):
        yield


@contextlib.contextmanager
def opened(device: str | None) -> Iterator[Session]:
    """A session on this device, or the default session; while it is open, it says where a compiler takes long."""
    from ..inputs.sessions import default_session
    from ..runtime.session import Session

    session = default_session() if device is None else Session(device)
    with compiling(session):
        yield session


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that takes the work done and the work in all; it shows a progress bar on a terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = _console()
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
