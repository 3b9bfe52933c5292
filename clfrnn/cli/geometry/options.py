"""Arguments and options that the commands for the geometry of a cloud have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ..arguments import FLOAT32, Finite

__all__ = ["of_a_cloud", "output_option", "plot_option", "radius_option"]

_Function = TypeVar("_Function", bound=Callable[..., None])

_NEW = click.Path(dir_okay=False, path_type=Path)


def of_a_cloud(function: _Function) -> _Function:
    """Give a command the argument POINTS, the options of how its file is read, and ``--device``; as in a search."""
    for each in reversed(
        [
            click.argument("points", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)),
            click.option("--array", help="Which array of an .npz file holds the points."),
            click.option(
                "--columns",
                help="Which columns of texts are coordinates, by name or counted from 1, as in x,y,z or 1,2,3.",
            ),
            click.option(
                "--frame",
                type=int,
                metavar="NUMBER",
                help="Which frame of the file, from 0 on, or from the end as -1; the first.",
            ),
            click.option(
                "--skip-nan", is_flag=True, help="Leave out points without coordinates, NaN or missing, and count them."
            ),
            click.option("--float32", is_flag=True, help=FLOAT32),
            click.option(
                "--device", help="A position in `clfrnn devices`, or a part of a device's or platform's name."
            ),
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
