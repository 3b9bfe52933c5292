"""One page of what asv has stored, from commit to commit, that is opened from disk and loads nothing.

A chart stands for each benchmark and machine, with lines for methods. A table has the steps: between which commits a
benchmark changed by more than its noise. asv finds the levels of a series, so that deviations and changes of level are
few. Here a step counts where levels lie farther apart than a tenth, and than twice the noise: the mean deviation from a
level, where it is the largest.
"""

from __future__ import annotations

import datetime as dt
import html
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..tools.provenance import ROOT
from .charts import Place, chart, legend, shown
from .stored import Failure, Run, Series, failures, runs

#: Ratio and deviations that a step exceeds; digits of a commit.
LEAST, DEVIATIONS, DIGITS = 1.1, 2.0, 7

PAGE = ROOT / "docs" / "measured" / "history.html"

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 1120px; margin: 24px auto; padding: 0 16px }
h1 { font-size: 26px } h2 { margin-top: 44px; border-bottom: 1px solid #ccc } h3 { font-size: 15px; margin: 0 0 4px }
table { border-collapse: collapse; margin: 12px 0 } th, td { padding: 3px 12px 3px 0; text-align: left }
th, td { vertical-align: top }
th { border-bottom: 1px solid #999 } td { border-bottom: 1px solid #eee } .n { text-align: right; white-space: nowrap }
code { white-space: nowrap } .up { color: #a33b00 } .down { color: #00664a }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(480px, 1fr)); gap: 26px 22px }
figure { margin: 0; min-width: 0 } figure > svg { width: 100%; display: block }
svg text { font-size: 11px; fill: #555 } .grid { stroke: #e2e2e2 } polyline { fill: none; stroke-width: 1.6 }
circle { fill: #fff; stroke-width: 1.6 } .key { width: 28px; height: 8px; margin-right: 5px }
.key line { stroke-width: 2 }
.legend { margin: 0 0 0 62px; font-size: 13px } .legend span { margin-right: 14px; white-space: nowrap }
"""

ABOUT = """
What benchmarks gave at commits of the past. Less is better. Scales are logarithmic, and commits stand at equal
distances. A pointer over a marker shows the commit and the value. A step is a change in the level of a series by more
than a tenth and by more than twice the noise of the series: the mean deviation from a level, where it is the largest. A
level of one commit alone may be an outlier.
"""


class Step(NamedTuple):
    """A change of a series: the last place before it, the first after it, the levels, the noise where it is known."""

    series: Series
    before: int
    behind: int
    was: float
    now: float
    noise: float | None


def steps_of(series: Series, values: Sequence[float | None]) -> Iterator[Step]:
    """The steps of one series."""
    from asv.step_detect import detect_steps  # noqa: PLC0415 — `bench` is an extra

    levels = detect_steps([math.log(value) if value else None for value in values])
    noise = max((deviation for *_, deviation in levels), default=0.0)
    known = any(end - start > 1 for start, end, *_ in levels)
    for (_, end, was, *_), (start, _, now, *_) in itertools.pairwise(levels):
        if abs(now - was) > max(math.log(LEAST), DEVIATIONS * noise):
            yield Step(series, end - 1, start, math.exp(was), math.exp(now), math.expm1(noise) if known else None)


class Described:
    """What asv knows of benchmarks; of one that is no more, only its name."""

    def __init__(self, folder: Path) -> None:
        path = folder / "benchmarks.json"
        self._known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def unit(self, benchmark: str) -> str:
        """The unit of its values."""
        return self._known.get(benchmark, {}).get("unit", "")

    def title(self, benchmark: str, parameters: Sequence[str]) -> str:
        """A benchmark and its parameters, numbers with their names; without those that are ""."""
        names = self._known.get(benchmark, {}).get("param_names", [])
        texts = [
            f"{name} {each}" if name and each.isdigit() else each
            for each, name in itertools.zip_longest(parameters, names[: len(parameters)], fillvalue="")
        ]
        return ", ".join(filter(None, [benchmark, *texts]))


class History:
    """The runs of one machine."""

    def __init__(self, machine: str, of: Sequence[Run], facts: dict[str, str], failed: Sequence[Failure]) -> None:
        self.machine, self.facts, self.failed = machine, facts, failed
        self.places = [Place(run.commit[:DIGITS], _date(run.date)) for run in of]
        names = sorted({series for run in of for series in run.values})
        rows = {series: [run.values.get(series) for run in of] for series in names}
        self.series = {name: row for name, row in rows.items() if sum(value is not None for value in row) > 1}
        self.once = len(rows) - len(self.series)
        steps = [step for name, row in self.series.items() for step in steps_of(name, row)]
        self.steps = sorted(steps, key=lambda step: (-step.behind, step.series))

    def charts(self) -> dict[tuple[str, ...], dict[str, list[float | None]]]:
        """The lines of each chart by its benchmark and parameters; methods, the second of these, are lines."""
        found: dict[tuple[str, ...], dict[str, list[float | None]]] = {}
        for (_, benchmark, parameters), row in self.series.items():
            shared = (benchmark, *parameters[:1], *("" for _ in parameters[1:2]), *parameters[2:])
            found.setdefault(shared, {})[parameters[1] if len(parameters) > 1 else benchmark] = row
        return found


def _date(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.timezone.utc).strftime("%Y-%m-%d %H:%M")


def row(cells: Sequence[str], tag: str = "td", numbers: Sequence[int] = ()) -> str:
    """A row of a table; the cells are HTML already."""
    marks = [' class="n"' if k in numbers else "" for k in range(len(cells))]
    return f"<tr>{''.join(f'<{tag}{mark}>{cell}</{tag}>' for mark, cell in zip(marks, cells, strict=True))}</tr>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; without rows nothing."""
    if not rows:
        return ""
    return "\n".join(["<table>", row(head, "th", numbers), *(row(each, numbers=numbers) for each in rows), "</table>"])


def of_steps(history: History, described: Described) -> str:
    """The table of steps, the latest first."""
    rows = []
    for series, before, behind, was, now, noise in history.steps:
        unit, places = described.unit(series.benchmark), history.places
        rows.append(
            [
                html.escape(described.title(series.benchmark, series.parameters)),
                f"<code>{places[before].commit}</code> → <code>{places[behind].commit}</code>",
                f"<code>{places[behind].date}</code>",
                shown(was, unit),
                shown(now, unit),
                f'<span class="{"up" if now > was else "down"}">{now / was:.2f}</span>',
                "not known" if noise is None else f"{noise:.1%}",
            ]
        )
    head = ["benchmark", "between the commits", "date", "before", "after", "ratio", "noise"]
    return table(head, rows, (3, 4, 5, 6)) or "<p>No benchmark has changed by more than its noise.</p>"


def of_failures(failed: Sequence[Failure]) -> str:
    """The table of what failed, a row for each reason, with its commits."""
    commits: dict[tuple[str, str], list[str]] = {}
    for commit, what, why in failed:
        commits.setdefault((what, why), []).append(commit[:DIGITS])
    rows = [[html.escape(what), html.escape(why), " ".join(each)] for (what, why), each in sorted(commits.items())]
    return table(["benchmark", "why", "at the commits"], rows)


def of_machine(history: History, described: Described) -> str:
    """The part of the page about one machine."""
    facts = ", ".join(f"{name} {text}" for name, text in history.facts.items() if name not in ("machine", "version"))
    parts = [f"<h2>{html.escape(history.machine)}</h2>", f"<p>{html.escape(facts)}</p>"]
    once = f" {history.once} series have a value at one commit alone and are not shown." if history.once else ""
    commits = ", ".join(f"<code>{place.commit}</code> of {place.date}" for place in history.places)
    parts.append(f"<p>{len(history.series)} series at {len(history.places)} commits: {commits}.{once}</p>")
    parts += ["<h3>Steps</h3>", of_steps(history, described)]
    if history.failed:
        parts += ["<h3>What failed</h3>", of_failures(history.failed)]
    parts += ["<h3>Charts</h3>", '<div class="charts">']
    charts = history.charts()
    looks = {name: k for k, name in enumerate(sorted({name for lines in charts.values() for name in lines}))}
    for (benchmark, *parameters), lines in charts.items():
        parts += [
            f"<figure><h3>{html.escape(described.title(benchmark, parameters))}</h3>",
            chart(history.places, lines, described.unit(benchmark), looks),
            f"{legend(lines, looks)}</figure>",
        ]
    return "\n".join([*parts, "</div>"])


def page(folder: Path) -> str:
    """The whole page of a folder of results."""
    described = Described(folder)
    by_machine: dict[str, list[Run]] = {}
    for run in runs(folder):
        by_machine.setdefault(run.machine, []).append(run)
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>clfrnn from commit to commit</title>',
        f"<style>{STYLE}</style></head><body>\n<h1>clfrnn from commit to commit</h1>",
        f"<p>{ABOUT}</p>",
    ]
    for machine, of in sorted(by_machine.items()):
        facts = json.loads((folder / machine / "machine.json").read_text(encoding="utf-8"))
        parts.append(of_machine(History(machine, of, facts, list(failures(folder / machine))), described))
    return "\n".join([*parts, "</body></html>\n"])


@click.command()
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "asv_benches" / "results", help="A folder.")
@click.option("--output", type=click.Path(path_type=Path), default=PAGE, help="The page.")
def main(*, results: Path, output: Path) -> None:
    """Write the page of a folder of results."""
    if not runs(results):
        raise click.ClickException(
            f"{results}: expected results of asv, got none; python -m asv_benches.history.past makes some"
        )
    output.write_text(page(results), encoding="utf-8")
    click.echo(f"{output}: {output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
