"""Progress of long work: a bar on a terminal, and nothing in a pipe."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from ..runtime.session import Session

__all__ = ["opened", "progress"]


@functools.cache
def _console() -> Console:
    """Standard error, where a line that is printed while a bar is shown appears above the bar."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def opened(device: str | None) -> Session:
    """A session on this device, or the default session."""
    from ..points.sessions import default_session
    from ..runtime.session import Session

    return default_session() if device is None else Session(device)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that takes the work done and the work in all; it shows a progress bar on a terminal."""
    console = _console()
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
