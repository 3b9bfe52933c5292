"""Progress of long work: a bar on a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(what: str, steps: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A function that takes the number of steps done more; where `shown`, it moves a bar on a terminal."""
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - programs that show none do without it
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=steps)
        yield lambda more: bar.advance(task, more)
