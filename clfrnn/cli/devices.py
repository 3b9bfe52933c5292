"""``clfrnn devices``: the OpenCL devices of this machine, and what prevents clfrnn from using them."""

from __future__ import annotations

import contextlib
import json
import sys

import click

from .arguments import Finite

__all__ = ["devices"]

#: Width of a report in a file, in characters, so that paths are not broken.
_WIDE = 120


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, for programs.")
@click.option(
    "--timeout",
    type=Finite(min=0, min_open=True),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="After how many seconds a driver that does not answer is taken to hang.",
)
def devices(*, as_json: bool, timeout: float) -> None:
    """List every OpenCL device, say whether it works, and what to do where none does.

    Each driver is loaded and tried in a process of its own, so that one that crashes or hangs does not end the report.
    The exit status is 0 where a device can be used, else 1.
    """
    from rich.console import Console

    from ..doctor.gather import gather
    from ..doctor.report import as_data, print_report

    console, waiting = Console(highlight=False), Console(stderr=True)
    with waiting.status("trying the drivers") if waiting.is_terminal else contextlib.nullcontext():
        facts = gather(seconds=timeout)
    if as_json:
        click.echo(json.dumps(as_data(facts), indent=2))
    else:
        if not console.is_terminal:
            console = Console(highlight=False, width=max(console.width, _WIDE))
        with console.capture() as report:
            print_report(facts, console)
        for line in report.get().splitlines():
            click.echo(line.rstrip())
    sys.exit(0 if facts.usable else 1)
