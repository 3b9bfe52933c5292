"""What ``clfrnn tune`` prints of a tuning: the numbers that it changes, and the steps before and after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...host.printable import printable

if TYPE_CHECKING:
    from ...profile import DeviceProfile
    from ...tuning import Tuning
    from ...tuning.stored import InForce

__all__ = ["print_changes", "print_steps", "print_stored"]


def print_changes(profile: DeviceProfile, tuning: Tuning) -> None:
    """Print the numbers that differ from the defaults of the device's class."""
    from ...tuning import default_tuning
    from ...tuning.stored.files import changes

    usual = default_tuning(profile)
    before = usual.to_dict()
    for section, numbers in changes(tuning, usual).items():
        for name, value in numbers.items():
            click.echo(f"changed  {section}.{name}: {value}, by default {before[section][name]}")


def print_steps(steps: Mapping[str, tuple[float, float, float]]) -> None:
    """Print a table of milliseconds before and after, and how sure the change is, the steps that gain most first."""
    if not steps:
        return
    wide = max(map(len, steps))
    click.echo(f"\n{'milliseconds of a step':{wide}}    before     after   change")
    for step, (before, after, spread) in sorted(steps.items(), key=lambda item: item[1][1] / item[1][0]):
        change = f"{100 * (after / before - 1):+6.1f} %, give or take {100 * spread:.1f} %"
        click.echo(f"{printable(step):{wide}} {before:9.3f} {after:9.3f} {change}")
    click.echo("")


def print_stored(profile: DeviceProfile, found: InForce) -> None:
    """Print the steps that the file of a tuning tells of, where it is one of a file."""
    from ...tuning.stored.files import read_tuning

    path = Path(found.origin)
    if path.is_file():
        print_steps(read_tuning(path, profile).steps)
