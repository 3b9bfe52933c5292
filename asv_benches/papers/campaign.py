"""A campaign: what of a paper's plan is not measured yet, measured one by one and kept at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pyopencl as cl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

import clfrnn
from clfrnn.errors import ClfrnnError

from .paper import Measurement, Paper
from .record import Record

__all__ = ["Outcome", "measure_missing"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many measurements were made, were there already, and failed among those made."""

    measured: int
    skipped: int
    failed: int


def measure_missing(session: clfrnn.Session, paper: Paper, plan: Sequence[Measurement], record: Record) -> Outcome:
    """Measure what of `plan` has no numbers in `record`, with a progress bar on a terminal.

    A measurement that the library or the driver refuses is kept as failed, with its message, and tried again the next
    time.
    """
    missing = [measurement for measurement in plan if not record.succeeded(measurement)]
    failed = 0
    with _progress() as progress:
        task = progress.add_task("", total=len(missing))
        for measurement in missing:
            progress.update(task, description=measurement.key)
            try:
                numbers = paper.measure(session, measurement)
            except (ClfrnnError, cl.Error, MemoryError) as error:
                record.keep(measurement, failed=f"{type(error).__name__}: {error}")
                failed += 1
            else:
                record.keep(measurement, numbers=numbers)
            progress.advance(task)
    return Outcome(measured=len(missing), skipped=len(plan) - len(missing), failed=failed)


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        console=console,
        expand=True,
        transient=True,
        disable=not console.is_terminal,
    )
