"""The command: measures a paper's experiments where they are not measured yet, and writes tables and plots."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import click

import clfrnn
from clfrnn.errors import ClfrnnError

from ..benchmarks.common import profiled
from . import PAPERS
from .campaign import measure_missing
from .paper import SCALES, Measurement, Paper
from .record import Record, machine, records_of
from .report import write_report

REPORTS = Path(__file__).resolve().parents[1] / "reports"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False, type=click.Choice(sorted(PAPERS)))
@click.option("--device", help="As for `clfrnn search`: a position, or a part of a device's or platform's name.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    metavar="[small|paper]",
    default="small",
    show_default=True,
    help="The paper's sizes, or sizes for a CPU of two cores.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPORTS,
    help="Where results are kept.  [default: asv_benches/reports]",
)
@click.option("--only", metavar="PATTERN", help="Measurements whose key holds this; * and ? as in file names.")
@click.option("--fresh", is_flag=True, help="Measure again what is there already.")
@click.option("--list", "listed", is_flag=True, help="List the papers.")
@click.option("--render", is_flag=True, help="Draw tables and plots again from the JSON files; needs no device.")
def main(
    name: str | None,
    device: str | None,
    scale: str,
    output: Path,
    only: str | None,
    fresh: bool,
    listed: bool,
    render: bool,
) -> None:
    """Measure the experiments of the paper NAME, and write NAME-DEVICE.json, .md and .png files.

    Each measurement is kept as soon as it is made: stop at any time, and the next run goes on from there
    and tries again what failed.
    """
    if listed:
        for paper in PAPERS.values():
            click.echo(f"{paper.name:12} {paper.title}")
        return
    if name is None:
        raise click.UsageError("name a paper; --list shows them")
    if render:
        if device or only or fresh:
            raise click.UsageError("--render measures nothing; leave out --device, --only and --fresh")
        _render(PAPERS[name], output)
        return
    try:
        _measure(PAPERS[name], profiled(device), scale, output, only, fresh=fresh)
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error


def _render(paper: Paper, folder: Path) -> None:
    records = list(records_of(paper, folder))
    if not records:
        raise click.ClickException(f"{folder} holds no {paper.name}-*.json; measure first, or name a folder: --output")
    for record in records:
        _write(paper, record)


def _measure(paper: Paper, session: clfrnn.Session, scale: str, folder: Path, only: str | None, *, fresh: bool) -> None:
    plan = _present(paper, _chosen(paper.plan(scale), only))
    record = Record.open(folder, machine(paper, scale, session.profile), fresh=fresh)
    if fresh:
        record.forget(plan)
    click.echo(f"{session.profile}, clfrnn {clfrnn.__version__}, scale {scale}")
    outcome = measure_missing(session, paper, plan, record)
    click.echo(f"{outcome.measured} measured, {outcome.failed} of them failed; {outcome.skipped} were there already")
    click.echo(f"{record.path}")
    _write(paper, record)


def _present(paper: Paper, plan: Sequence[Measurement]) -> Sequence[Measurement]:
    """What of a plan can be measured here; what is left out is told, each reason once."""
    reasons = {measurement: paper.absent(measurement) for measurement in plan}
    for why in filter(None, dict.fromkeys(reasons.values())):
        click.echo(f"left out: {why}")
    return [measurement for measurement, why in reasons.items() if not why]


def _chosen(plan: Sequence[Measurement], only: str | None) -> Sequence[Measurement]:
    if only is None:
        return plan
    chosen = [measurement for measurement in plan if fnmatch.fnmatchcase(measurement.key, f"*{only}*")]
    if not chosen:
        raise click.UsageError(f"--only: no key holds {only!r}; one is {plan[0].key!r}")
    return chosen


def _write(paper: Paper, record: Record) -> None:
    for path in write_report(paper, record):
        click.echo(f"{path}")


if __name__ == "__main__":
    main(prog_name="python -m asv_benches.papers")
