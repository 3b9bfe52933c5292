"""Arguments and options that the commands for the geometry of a cloud have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ..arguments import COLUMNS, DEVICE, FLOAT32, FRAME, SKIP_NAN, Finite

__all__ = ["of_a_cloud", "output_option", "plot_option", "radius_option"]

_Function = TypeVar("_Function", bound=Callable[..., None])

_NEW = click.Path(dir_okay=False, path_type=Path)


def of_a_cloud(function: _Function) -> _Function:
    """Give a command the argument POINTS, the options of how its file is read, and ``--device``; as in a search."""
    for each in reversed(
        [
            click.argument("points", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)),
            click.option("--array", help="Which array of an .npz file holds the points."),
            click.option("--columns", help=COLUMNS),
            click.option("--frame", type=int, metavar="NUMBER", help=FRAME),
            click.option("--skip-nan", is_flag=True, help=SKIP_NAN),
            click.option("--float32", is_flag=True, help=FLOAT32),
            click.option("--device", help=DEVICE),
        ]
    ):
        function = each(function)
    return function


def radius_option(meaning: str, *, required: bool = False) -> Callable[[_Function], _Function]:
    """The option ``--radius``.

    Parameters
    ----------
    meaning : its help
    required : whether the command needs it
    """
    return click.option("--radius", "-r", type=Finite(min=0, min_open=True), required=required, help=meaning)


def output_option(meaning: str, *, required: bool = False) -> Callable[[_Function], _Function]:
    """The option ``--output``; its parameters are those of :func:`radius_option`."""
    return click.option("--output", "-o", type=_NEW, required=required, help=meaning)


def plot_option(meaning: str) -> Callable[[_Function], _Function]:
    """The option ``--plot``; its parameter is that of :func:`radius_option`."""
    return click.option("--plot", type=_NEW, help=f"{meaning}: a .png file.")
