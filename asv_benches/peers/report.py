"""The report: all that was measured as JSON, tables in Markdown, and a plot."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..tools import style
from .clouds import Cloud
from .measurement import Outcome
from .peer import AROUND, CORE, NEAREST

TASKS = {
    "count": "Counts of neighbors",
    "lists": "Neighbor lists",
    "nearest": f"The {NEAREST} nearest",
    "friends": "Friends of friends",
    "dbscan": f"DBSCAN, {CORE} points as core",
    "cells": "Lists in periodic cells",
    "batches": "Lists of many systems",
    "normals": f"Normals of the {AROUND} nearest",
}
_PROCEDURE = """\
Times are wall clock, in milliseconds, from points that lie where the library wants them to an answer that it has
finished: medians after warm-up, with the garbage collector off. A build takes the points in, reusing what the library
can reuse from the build before, as a simulation does from step to step; here the points stay where they are. The first
answer and that of the last timed run were compared with clfrnn's: sets of directed pairs, self left out, in periodic
cells with their shifts. They may differ in pairs whose distance, in float64, is within {ulps} units in the last place
of the radius, in cells of the largest coordinate, where libraries round otherwise or leave the boundary out. Rows of
the nearest may differ in points that are equally far, clusters as such pairs decide and in border points, normals in
sign, and wholly where two variances are equal or such points decide. How many pairs or points did is in the details. A
peer for which more than {limit:g} s were foreseen was not run there; a sixteenth of the cloud foretells it, or a 256th
where a sixteenth would take long already. After the time, in brackets: how many times clfrnn's. The fastest is in
bold."""

_DETAILS = """\
Build and query were waited for one after the other, both were not where a library need not wait. Device time is that
between events around both. Memory is the peak beyond the points: of clfrnn, what its pool took; of peers on a GPU, what
their allocator tells; of peers on a CPU, by how much the process grew, which misses memory that it had at hand."""


@dataclasses.dataclass(kw_only=True)
class Entry:
    """A peer in the report, present or absent."""

    name: str
    package: str
    version: str = ""
    device: str = ""
    place: str = ""
    dtype: str = ""
    remark: str = ""
    tasks: Sequence[str] = ()
    #: why it takes no part
    absent: str = ""


@dataclasses.dataclass(kw_only=True)
class Report:
    """One run."""

    machine: Mapping[str, str]
    limit: float
    ulps: int
    entries: Sequence[Entry]
    clouds: Sequence[Cloud]
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    @property
    def present(self) -> list[Entry]:
        """Those who took part, clfrnn first."""
        return [entry for entry in self.entries if not entry.absent]

    def tasks(self) -> list[str]:
        """The tasks that were measured."""
        return [task for task in TASKS if any(outcome.task == task for outcome in self.outcomes)]

    def clouds_of(self, task: str) -> list[Cloud]:
        """The clouds that a task was measured on; a run that was ended has no others."""
        return [cloud for cloud in self.clouds if self.of(task, cloud.name)]

    def of(self, task: str, cloud: str) -> dict[str, Outcome]:
        """The outcomes of a row, by peer."""
        return {each.peer: each for each in self.outcomes if (each.task, each.cloud) == (task, cloud)}

    def save(self, folder: Path) -> list[Path]:
        """Write ``peers.json`` and ``peers.md``, and ``peers.png`` if anything was measured."""
        folder.mkdir(parents=True, exist_ok=True)
        data, table = folder / "peers.json", folder / "peers.md"
        data.write_text(json.dumps(self.plain(), indent=1) + "\n", encoding="utf-8")
        table.write_text(self.markdown(), encoding="utf-8")
        plot = self._plot(folder / "peers.png")
        return [table, data, *([plot] if plot else [])]

    def plain(self) -> dict[str, Any]:
        """Everything as plain data; times in seconds, memory in bytes."""
        return {
            "machine": dict(self.machine),
            "limit": self.limit,
            "peers": [dataclasses.asdict(entry) for entry in self.entries],
            "clouds": [{"name": cloud.name, "radius": cloud.radius} for cloud in self.clouds],
            "outcomes": [dataclasses.asdict(outcome) for outcome in self.outcomes],
        }

    def markdown(self) -> str:
        """The tables, and what a reader must know."""
        lines = ["# clfrnn and its peers", ""]
        lines += [f"- {what}: {value}" for what, value in self.machine.items()]
        lines += ["", _PROCEDURE.format(ulps=self.ulps, limit=self.limit), ""]
        notes = self._notes()
        for task in self.tasks():
            lines += [f"## {TASKS[task]}", "", *self._summary(task, notes), ""]
        lines += [f"{number}. {message}" for message, number in notes.items()] + ([""] if notes else [])
        for task in self.tasks():
            lines += [f"## {TASKS[task]}: details", "", *self._details(task), ""]
        lines += [_DETAILS, "", "## Who took part", "", *self._participants(), ""]
        return "\n".join(lines)

    def _notes(self) -> dict[str, int]:
        """The messages of those that failed, numbered."""
        failed = [f"{each.peer}: {each.message}" for each in self.outcomes if each.status == "failed"]
        return {message: k for k, message in enumerate(dict.fromkeys(failed), 1)}

    def _summary(self, task: str, notes: Mapping[str, int]) -> Iterable[str]:
        names = [entry.name for entry in self.present if task in entry.tasks]
        yield f"| cloud | {' | '.join(names)} |"
        yield "|---|" + "---:|" * len(names)
        for cloud in self.clouds_of(task):
            row = self.of(task, cloud.name)
            best = min((each.total for each in row.values() if each.total is not None), default=None)
            ours = row["clfrnn"].total
            yield f"| {cloud.name} | {' | '.join(_cell(row.get(name), ours, best, notes) for name in names)} |"

    def _details(self, task: str) -> Iterable[str]:
        yield "| cloud | peer | build, ms | query, ms | both, ms | device, ms | memory, MB | differ | runs |"
        yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
        for cloud in self.clouds_of(task):
            for each in self.of(task, cloud.name).values():
                if each.status != "measured":
                    continue
                times = (_milliseconds(value) for value in (each.build, each.query, each.total, each.device))
                memory = "" if each.memory is None else f"{each.memory / 1e6:.1f}"
                differ = each.agreement.boundary if each.agreement else 0
                yield f"| {cloud.name} | {each.peer} | {' | '.join(times)} | {memory} | {differ:,} | {each.repeats} |"

    def _participants(self) -> Iterable[str]:
        yield "| peer | version | on | computes in | how it was asked |"
        yield "|---|---|---|---|---|"
        for entry in self.entries:
            if entry.absent:
                yield f"| {entry.name} | {entry.version or 'absent'} | | {entry.dtype} | took no part: {entry.absent} |"
            else:
                what = f"{entry.package} {entry.version}"
                yield f"| {entry.name} | {what} | {entry.device} | {entry.dtype} | {entry.remark} |"

    def _plot(self, path: Path) -> Path | None:
        """A panel for each task and each kind of peer, clfrnn in all of them."""
        panels = [
            (task, place, series)
            for task in self.tasks()
            for place in ("cpu", "gpu")
            if (series := self._series(task, place))
        ]
        if not panels:
            return None
        most = max(len(self.clouds_of(task)) for task in self.tasks())
        drawn, axes = style.figure(1, len(panels), width=max(7.0, 1.7 * most), height=3.8)
        for panel, (task, place, series) in zip(axes, panels, strict=True):
            labels = [cloud.label for cloud in self.clouds_of(task)]
            title = f"{TASKS[task]}: clfrnn and peers on {'the CPU' if place == 'cpu' else 'the GPU'}"
            style.bars(panel, labels, series, title=title, y="build + query, ms", log=True)
            panel.set_ylim(bottom=_power_below(height for heights in series.values() for height in heights if height))
            panel.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        style.save(drawn, path)
        return path

    def _series(self, task: str, place: str) -> dict[str, list[float | None]]:
        series = {}
        for entry in self.present:
            if entry.name != "clfrnn" and entry.place != place:
                continue
            rows = [self.of(task, cloud.name).get(entry.name) for cloud in self.clouds_of(task)]
            heights = [1e3 * each.total if each and each.total is not None else None for each in rows]
            if any(heights):
                series[entry.name] = heights
        return series if len(series) > 1 or place == self.entries[0].place else {}


def _power_below(values: Iterable[float]) -> float:
    """The power of ten below half the least of these: where bars on a logarithmic axis begin, all with some height."""
    return float(10.0 ** (math.ceil(math.log10(min(values) / 2)) - 1))


def _cell(outcome: Outcome | None, ours: float | None, best: float | None, notes: Mapping[str, int]) -> str:
    if outcome is None:
        return "-"
    if outcome.status == "failed":
        return f"failed ({notes[f'{outcome.peer}: {outcome.message}']})"
    if outcome.total is None:
        return outcome.message
    shown = _milliseconds(outcome.total)
    if outcome.total == best:
        shown = f"**{shown}**"
    if outcome.peer != "clfrnn" and ours:
        shown += f" ({_ratio(outcome.total / ours)} x)"
    return shown


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:,.{3 if seconds < 0.01 else 2 if seconds < 0.1 else 1}f}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
