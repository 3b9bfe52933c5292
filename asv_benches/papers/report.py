"""The report of a record: tables in Markdown, plots in PNG, both from the JSON alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..tools import style
from .paper import Panel, Paper, Plot, Results, Table
from .record import Record

__all__ = ["write_report"]

#: Facts of the machine in the report, and what they are called there.
_SHOWN = {
    "device": "device",
    "platform": "OpenCL platform",
    "driver": "driver",
    "clfrnn": "clfrnn",
    "commit": "commit",
    "python": "Python",
    "pyopencl": "pyopencl",
    "date": "last measured",
    "scale": "scale",
}


def write_report(paper: Paper, record: Record) -> list[Path]:
    """Write the Markdown and the plots beside the record's own file; their paths."""
    plan = paper.plan(record.facts["scale"])
    results = record.results(plan)
    written = [record.path.with_suffix(".md")]
    parts = [f"# {paper.title}", paper.source, _facts(record, results), paper.timed, _warning(results)]
    for section in paper.sections(results):
        parts += [f"## {section.title}", section.note, *(table.to_markdown() for table in section.tables)]
        if section.plot is not None:
            picture = record.path.with_name(f"{record.path.stem}-{section.plot.name}.png")
            draw(section.plot, picture)
            parts += [f"![{section.plot.caption}]({picture.name})", f"*{section.plot.caption}*"]
            written.append(picture)
    parts += _failures(results)
    written[0].write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return written


def _facts(record: Record, results: Results) -> str:
    rows = [(shown, record.facts[name]) for name, shown in _SHOWN.items() if record.facts.get(name)]
    there = len(results.numbers) + len(results.failures)
    rows.append(("measurements", f"{there} of {len(results.plan)}, {len(results.failures)} failed"))
    return Table(header=("this run", ""), rows=rows, words=2).to_markdown()


def _warning(results: Results) -> str:
    if results.scale == "paper":
        return ""
    return (
        f"**The sizes are those of the scale `{results.scale}`, not the paper's.** They show on a small machine that "
        "all is in order; figures to hold against the paper's own come from `--scale paper`."
    )


def _failures(results: Results) -> list[str]:
    """What the cells that say "failed" refer to."""
    if not results.failures:
        return []
    lines = [f"{k}. `{each.key}`: {why}" for k, (each, why) in enumerate(results.failures.items(), 1)]
    return ["## What failed", "\n".join(lines)]


def draw(plot: Plot, path: Path) -> None:
    """The plot as a file."""
    drawn, panels = style.figure(len(plot.panels))
    for axes, panel in zip(panels, plot.panels, strict=True):
        _draw_panel(axes, panel)
    if plot.same_y:
        lows, tops = zip(*(axes.get_ylim() for axes in panels), strict=True)
        for axes in panels:
            axes.set_ylim(min(lows), max(tops))
    style.share_legend(drawn, panels)
    style.save(drawn, path)


def _draw_panel(axes: Any, panel: Panel) -> None:
    if panel.groups:
        heights = {name: values for name, (_, values) in panel.series.items()}
        style.bars(axes, panel.groups, heights, title=panel.title, y=panel.y, log="y" in panel.log)
        return
    series = {
        name: (across, [math.nan if value is None else value for value in up])
        for name, (across, up) in panel.series.items()
    }
    style.lines(axes, series, title=panel.title, x=panel.x, y=panel.y, log=panel.log)
