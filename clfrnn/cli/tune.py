"""``clfrnn tune``: measures what is faster on a device, and stores it; shows and forgets what is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ClfrnnError
from ..host.printable import printable
from .arguments import DEVICE

if TYPE_CHECKING:
    from ..profile import DeviceProfile
    from ..runtime.session import Session
    from ..tuning import Tuning

__all__ = ["tune"]

#: Seconds that are measured, about.
_SECONDS, _SECONDS_OF_QUICK = 115.0, 27.0


@click.command()
@click.option("--device", help=DEVICE)
@click.option("--quick", is_flag=True, help="Measure for half a minute and not for two: what gains most.")
@click.option("--show", is_flag=True, help="Measure nothing; show the settings in force, and what was measured.")
@click.option("--forget", is_flag=True, help="Measure nothing; remove what is stored for the device.")
def tune(*, device: str | None, quick: bool, show: bool, forget: bool) -> None:
    """Measure which settings make searches faster on a device, and store them for this user.

    Results are the same with any settings. Each search on the device uses what is stored, unless the environment
    variable CLFRNN_TUNING is off. Let the device do nothing else meanwhile: a setting is changed only where it gains
    more than the times differ from run to run.
    """
    if quick + show + forget > 1:
        raise click.UsageError("--quick, --show, --forget: expected one of them at most; leave out the others")
    if show or forget:
        from ..runtime.device import find_device, read_profile

        profile = read_profile(find_device(device))
        (_show if show else _forget)(profile)
        return
    from .progress import opened

    _tune(opened(device), _SECONDS_OF_QUICK if quick else _SECONDS)


def _tune(session: Session, seconds: float) -> None:
    """Measure, print what was found, and store it."""
    from ..host.folders import why_unwritable
    from ..tuner.bench import Bench
    from ..tuner.search import find_faster
    from ..tuning.stored.choices import choices
    from ..tuning.stored.files import Stored, write_tuning

    profile = session.profile
    path = _path(profile)
    if why := why_unwritable(path.parent):
        raise ClfrnnError(f"{path.parent}: {why}; tunings are stored there, or where XDG_CONFIG_HOME says")
    bench = Bench(session)
    _print_head(profile, session.tuning_origin)
    clock = "events on the device" if bench.by_events else "the host's clock"
    click.echo(f"times    by {clock}, within about {seconds:.0f} s, compiling included")
    found = find_faster(
        bench,
        session.tuning,
        choices(profile),
        seconds=seconds,
        say=lambda line: click.echo(f"  {line}"),
    )
    if found.withdrawn:
        click.echo(f"at the end: {found.withdrawn}")
    if found.comparison is None:
        click.echo("nothing is stored: no change is faster by more than times spread")
        return
    steps = {
        str(bench.steps[name]): (1e3 * before, 1e3 * after, spread)
        for name, (before, after, spread) in found.comparison.steps.items()
    }
    _print_changes(profile, found.tuning, steps)
    write_tuning(path, profile, Stored(found.tuning, steps))
    click.echo(f"stored   {printable(str(path))}")
    _say_override(path)


def _show(profile: DeviceProfile) -> None:
    """Print the tuning in force, what it changes, and what was measured of it where it is one of a file."""
    from ..tuning.stored import find_tuning
    from ..tuning.stored.files import read_tuning

    found = find_tuning(profile)
    path = Path(found.origin)
    _print_head(profile, found.origin)
    _print_changes(profile, found.tuning, read_tuning(path, profile).steps if path.is_file() else {})


def _forget(profile: DeviceProfile) -> None:
    """Remove the file of the device."""
    path = _path(profile)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        click.echo(f"nothing was stored for {printable(str(profile))}")
        return
    click.echo(f"forgotten {printable(str(path))}")
    _say_override(path)


def _path(profile: DeviceProfile) -> Path:
    """The file of a device's tuning."""
    from ..tuning.stored.in_force import stored_path

    path = stored_path(profile)
    if path is None:
        raise ClfrnnError("there is no home folder to store a tuning in; set XDG_CONFIG_HOME to a folder")
    return path


def _say_override(path: Path) -> None:
    """Say where another tuning than the stored one is in force."""
    from ..tuning.stored.in_force import VARIABLE

    if named := os.environ.get(VARIABLE, "").strip():
        click.echo(f"{VARIABLE}={printable(named)} is set: what {printable(str(path))} holds is used where it is not")


def _print_head(profile: DeviceProfile, origin: str) -> None:
    click.echo(f"device   {printable(str(profile))}")
    click.echo(f"tuning   {printable(origin)}")


def _print_changes(profile: DeviceProfile, tuning: Tuning, steps: Mapping[str, tuple[float, float, float]]) -> None:
    """Print the numbers that differ from the defaults of the device's class, and a table of milliseconds before and
    after with how sure each change is, the steps that gain most first.
    """
    from ..tuning import default_tuning
    from ..tuning.stored.choices import changes

    usual = default_tuning(profile)
    before = usual.to_dict()
    for section, numbers in changes(tuning, usual).items():
        for name, value in numbers.items():
            click.echo(f"changed  {section}.{name}: {value}, by default {before[section][name]}")
    if not steps:
        return
    wide = max(map(len, steps))
    click.echo(f"\n{'milliseconds of a step':{wide}}    before     after   change")
    for step, (old, new, spread) in sorted(steps.items(), key=lambda item: item[1][1] / item[1][0]):
        change = f"{100 * (new / old - 1):+6.1f} %, give or take {100 * spread:.1f} %"
        click.echo(f"{printable(step):{wide}} {old:9.3f} {new:9.3f} {change}")
    click.echo("")
