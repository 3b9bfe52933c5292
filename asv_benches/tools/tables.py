"""What commands print: a line on what was measured, and a Markdown table whose rows come as they are measured."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.tuning import default_tuning

from .provenance import commit


def command(main: Callable[..., None]) -> click.Command:
    """The command of a function, with ``--device``; an error of clfrnn is a line and a status, without a traceback."""

    @functools.wraps(main)
    def run(**options: Any) -> None:
        try:
            main(**options)
        except ClfrnnError as error:
            raise click.ClickException(str(error)) from error

    return click.command()(click.option("--device", help="As for `clfrnn search`.")(run))


def say(session: clfrnn.Session, *more: object) -> None:
    """Print what a table is of: version, commit where it is known, device, tuning where it is no default, and more."""
    at = f" at {name}" if (name := commit()) else ""
    tuned = [] if session.tuning == default_tuning(session.profile) else [f"tuning {session.tuning_origin}"]
    click.echo(", ".join([f"clfrnn {clfrnn.__version__}{at}", str(session.profile), *tuned, *map(str, more)]) + "\n")


def head(*columns: str) -> None:
    """Print the head of a table; a colon behind a name aligns its column to the right, as Markdown has it."""
    row(*(each.removesuffix(":") for each in columns))
    click.echo(f"|{'|'.join('---:' if each.endswith(':') else '---' for each in columns)}|")


def row(*cells: object) -> None:
    """Print a row."""
    click.echo(f"| {' | '.join(map(str, cells))} |")
