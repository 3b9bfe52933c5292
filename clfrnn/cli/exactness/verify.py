"""``clfrnn verify``: the searches of this machine's devices, compared with numpy."""

from __future__ import annotations

import collections
import functools
import itertools
from pathlib import Path
from typing import Any

import click

from ..arguments import Failure, check_new
from ..progress import progress as _progress

__all__ = ["verify"]

_NEW = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.option("--device", help="The number of a device in `clfrnn devices`, or a part of its name; all when not given.")
@click.option("--points", type=click.IntRange(min=10), default=600, show_default=True, help="Points in each cloud.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random clouds; a new one when not given.")
@click.option(
    "--quick/--full",
    default=True,
    show_default="quick",
    help="Quick compares some cases, drawn by the seed; on two cores of a CPU it takes about four minutes where "
    "nothing is compiled yet. Full compares all cases, and takes many times as long. With --matrix, quick takes about "
    "ten minutes.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Print a table of every method, dimension and dtype, which says what passed, was refused or failed, for each "
    "kind of space and of search.",
)
@click.option("--json", "report", type=_NEW, help="Write the table of --matrix to this file, as JSON; - prints it.")
def verify(device: str | None, points: int, seed: int | None, quick: bool, matrix: bool, report: Path | None) -> None:
    """Compare what each method finds on the devices of this machine with numpy, to the last pair.

    The last line says whether it passed. The exit status is 1 where a single pair differs. A search that a device
    refuses, as its driver would lose pairs, is printed, and does not count as a difference.
    """
    import secrets

    from ...runtime.device import find_device, list_devices

    if report is not None and not matrix:
        raise click.UsageError("--json: expected --matrix beside it, which is what it writes; add --matrix")
    printed = report is not None and str(report) == "-"
    if report is not None and not printed:
        check_new("--json", report)
    seed = secrets.randbelow(1 << 30) if seed is None else seed
    chosen = [find_device(device)] if device is not None else list_devices() or [find_device()]
    flags = f"{', --matrix' if matrix else ''}{', --quick' if quick else ', --full'}"
    click.echo(f"seed {seed}, clouds of {points} points{flags}", err=printed)
    given: dict[str, Any] = {"points": points, "seed": seed, "quick": quick}
    if matrix:
        count, what, differ = _matrix(chosen, report, printed=printed, **given), "searches", "searches failed"
    else:
        found = (_verify_device(each, **given) for each in chosen)
        count, what, differ = sum(found, start=collections.Counter[str]()), "cases", "cases differ from the reference"
    failed, compared, refused = (count[name] for name in ("failed", "compared", "refused"))
    verdict = f"failed: {failed:,} of" if failed else f"passed: {count['pairs']:,} pairs are those of numpy, in"
    verdict += f" {compared:,} {what} on {len(chosen)} device{'s' * (len(chosen) > 1)}"
    click.echo(f"\n{verdict}{f', and {refused:,} searches refused' * bool(refused)}", err=printed)
    if failed:
        raise Failure(f"{failed} {differ}; please report them with the first line above")


def _matrix(chosen: list[Any], report: Path | None, *, printed: bool, **given: Any) -> collections.Counter[str]:
    """The matrix of each device as a table, and as a report where it is wanted; returns what became of how many."""
    from .matrix import verify_all
    from .report import report_of, text_of

    say = functools.partial(click.echo, err=printed)
    tables = [verify_all(device, say, **given) for device in chosen]
    if report is not None:
        text = text_of(report_of(tables, **given))
        if printed:
            click.echo(text, nl=False)
        else:
            report.write_text(text, encoding="utf-8")
    count = collections.Counter[str]()
    for cell in (cell for table in tables for _, cells in table.lines for cell in cells):
        count.update({cell.outcome: 1, "compared": cell.outcome != "refused", "pairs": cell.pairs})
    return count


def _verify_device(device: Any, *, points: int, seed: int, quick: bool) -> collections.Counter[str]:
    """Verify one device, print a line for each method, and return how many cases were compared and failed."""
    from ...runtime.session import Session
    from ...verify import cases, run_case

    session = Session(device)
    click.echo(f"\n{session.profile}")
    plan = list(cases(session.profile, seed=seed, points=points, quick=quick))
    count = collections.Counter[str]()
    for method, own in itertools.groupby(plan, key=lambda case: case.method):
        outcomes = []
        with _progress("comparing") as shown:
            for case in own:
                shown(count["compared"], len(plan))
                outcomes.append(run_case(session, case))
                count["compared"] += 1
        wrong = [outcome for outcome in outcomes if outcome.differences]
        pairs = sum(outcome.pairs for outcome in outcomes)
        refused = [f"{each.case}: {line}" for each in outcomes for line in each.refused]
        verdict = "exact" if not wrong else f"{len(wrong)} DIFFER"
        verdict += f", {len(refused)} searches refused" if refused else ""
        click.echo(f"  {method:14} {len(outcomes):3} cases, {pairs:10,} pairs   {verdict}")
        for outcome in wrong:
            for difference in outcome.differences:
                click.echo(f"    {outcome.case}: {difference}")
        for line in refused[:1]:
            click.echo(f"    {line}")
        count.update(failed=len(wrong), pairs=pairs, refused=len(refused))
    if not session.profile.fp64:
        click.echo("  float64 was left out: the device has no fp64")
    if not session.profile.subnormals:
        click.echo("  the device flushes subnormals: pairs whose squared distance is subnormal may differ")
    return count
