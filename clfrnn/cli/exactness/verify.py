"""``clfrnn verify``: the searches of this machine's devices, compared with numpy."""

from __future__ import annotations

import collections
import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..arguments import Failure, MethodName, check_new
from ..progress import progress as _progress

if TYPE_CHECKING:
    from .matrix import Selection
    from .report import Report

__all__ = ["verify"]

_DTYPE = click.Choice(["float32", "float64"])

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
@click.option("--method", "methods", multiple=True, type=MethodName(), help="With --matrix: this method; repeat it.")
@click.option("--dim", "dims", multiple=True, type=click.IntRange(1, 12), help="With --matrix: this dimension.")
@click.option("--dtype", "dtypes", multiple=True, type=_DTYPE, help="With --matrix: float32 or float64 alone.")
@click.option(
    "--json",
    "report",
    type=_NEW,
    help="Write the table of --matrix to this file, as JSON; - prints it. A file that is there is replaced at the end.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Leave out the rows that the file of --json has of the same run, and keep them there.",
)
def verify(
    device: str | None,
    points: int,
    seed: int | None,
    quick: bool,
    matrix: bool,
    methods: tuple[str, ...],
    dims: tuple[int, ...],
    dtypes: tuple[str, ...],
    report: Path | None,
    resume: bool,
) -> None:
    """Compare what each method finds on the devices of this machine with numpy, to the last pair.

    The last line says whether it passed. The exit status is 1 where a single pair differs. A search that a device
    refuses, as its driver would lose pairs, is printed, and does not count as a difference.
    """
    from ...runtime.device import find_device, list_devices
    from .matrix import Selection
    from .report import Report

    printed = _check_options(report, matrix=matrix, selected=bool(methods or dims or dtypes), resume=resume)
    selection = Selection(methods=methods, dims=dims, dtypes=dtypes)
    notes = Report(None if printed else report, resume=resume, seed=seed, points=points, quick=quick)
    chosen = [find_device(device)] if device is not None else list_devices() or [find_device()]
    flags = f"{', --matrix' if matrix else ''}{', --quick' if quick else ', --full'}"
    click.echo(f"seed {notes.seed}, clouds of {points} points{flags}", err=printed)
    given = notes.facts
    if matrix:
        count = _matrix(chosen, selection, notes, printed=printed)
        what, differ = "searches", "searches failed"
    else:
        found = (_verify_device(each, **given) for each in chosen)
        count, what, differ = sum(found, start=collections.Counter[str]()), "cases", "cases differ from the reference"
    failed, compared, refused = (count[name] for name in ("failed", "compared", "refused"))
    verdict = f"failed: {failed:,} of" if failed else f"passed: {count['pairs']:,} pairs are those of numpy, in"
    verdict += f" {compared:,} {what} on {len(chosen)} device{'s' * (len(chosen) > 1)}"
    click.echo(f"\n{verdict}{f', and {refused:,} searches refused' * bool(refused)}", err=printed)
    if failed:
        raise Failure(f"{failed} {differ}; please report them with the first line above")


def _check_options(report: Path | None, *, matrix: bool, selected: bool, resume: bool) -> bool:
    """Refuse options that do not go together; whether the report is printed instead of written."""
    for option, given in (("--json", report is not None), ("--method, --dim, --dtype", selected)):
        if given and not matrix:
            raise click.UsageError(f"{option}: expected --matrix beside it, which it is about; add --matrix")
    printed = report is not None and str(report) == "-"
    if resume and (report is None or printed):
        raise click.UsageError("--resume: expected the file that it goes on with; name it by --json")
    if report is not None and not printed:
        check_new("--json", report)
    return printed


def _matrix(chosen: list[Any], selection: Selection, notes: Report, *, printed: bool) -> collections.Counter[str]:
    """The matrix of each device as a table, and as a report where it is wanted; returns what became of how many."""
    from .matrix import verify_all

    plan = selection.rows()
    if selection.narrows and not plan:
        raise click.UsageError("--method, --dim, --dtype: no method has all of these; leave out one of them")
    say = functools.partial(click.echo, err=printed)
    tables = [verify_all(device, say, plan=plan, notes=notes, **notes.facts) for device in chosen]
    if printed:
        click.echo(notes.text(), nl=False)
    notes.finish()
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
