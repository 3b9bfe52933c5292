"""The command line: parses arguments, calls the API, prints results."""

from __future__ import annotations

import errno
from typing import Any

import click

from .. import __version__
from ..errors import ClfrnnError
from .arguments import explained, printable
from .demo import demo
from .devices import devices
from .geometry.clean import clean
from .geometry.normals import normals
from .geometry.surface import surface
from .progress import compiling
from .progress import progress as _progress
from .search import search
from .source import source
from .tune.command import tune

__all__ = ["main"]


#: Exit status of a program that Ctrl-C ended, as shells count signals.
_INTERRUPTED = 130


class _Failure(click.ClickException):
    """An error of clfrnn's, printed without a traceback; exit status 1."""

    def show(self, file: Any = None) -> None:
        """Print in the form of the other errors."""
        click.echo(f"clfrnn: {printable(self.message)}", err=True, file=file)


class _Group(click.Group):
    """Commands whose library errors are messages, not tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise explained(error) from error
        except ClfrnnError as error:
            raise _Failure(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of the output has ended, which click takes care of
                raise
            what = f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
            raise _Failure(what) from error
        except MemoryError as error:
            raise _Failure("the memory of this machine is used up; search fewer points, or count by --count") from error
        except KeyboardInterrupt:
            click.echo("clfrnn: interrupted; results that were not whole were not written", err=True)
            ctx.exit(_INTERRUPTED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clfrnn")
def main() -> None:
    """Exact fixed-radius near-neighbor search on OpenCL devices."""


for _command in (clean, demo, devices, normals, search, source, surface, tune):
    main.add_command(_command)


@main.command()
@click.option("--device", help="A position in `clfrnn devices`, or a part of a name; every device when not given.")
@click.option("--points", type=click.IntRange(min=10), default=600, show_default=True, help="Points of each cloud.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the clouds; fresh ones when not given.")
@click.option(
    "--quick/--full",
    default=True,
    show_default="quick",
    help="Quick takes about a minute and draws what it compares; full takes many, and compares everything.",
)
def verify(device: str | None, points: int, seed: int | None, quick: bool) -> None:
    """The exactness contract on this machine's devices, method by method, against numpy.

    Exit status 1 when a single pair differs. A search that a device refuses, since its driver would lose pairs, is
    printed and is no difference.
    """
    import secrets

    from ..runtime.device import find_device, list_devices

    seed = secrets.randbelow(1 << 30) if seed is None else seed
    chosen = [find_device(device)] if device is not None else list_devices() or [find_device()]
    click.echo(f"seed {seed}, clouds of {points} points{', --quick' if quick else ', --full'}")
    failed = sum(_verify_device(each, points=points, seed=seed, quick=quick) for each in chosen)
    if failed:
        raise _Failure(f"{failed} cases differ from the reference; please report them with the first line above")


def _verify_device(device: Any, *, points: int, seed: int, quick: bool) -> int:
    """Verify one device, print a line for each method, and return the number of cases that differ."""
    import itertools

    from ..runtime.session import Session
    from ..verify import cases, run_case

    session = Session(device)
    click.echo(f"\n{session.profile}")
    plan = list(cases(session.profile, seed=seed, points=points, quick=quick))
    done = failed = 0
    with compiling(session):
        for method, own in itertools.groupby(plan, key=lambda case: case.method):
            outcomes = []
            with _progress("comparing") as shown:
                for case in own:
                    shown(done, len(plan))
                    outcomes.append(run_case(session, case))
                    done += 1
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
            failed += len(wrong)
    if not session.profile.fp64:
        click.echo("  float64 was left out: the device has no fp64")
    if not session.profile.subnormals:
        click.echo("  the device flushes subnormals: pairs whose squared distance is subnormal may differ")
    return failed
