"""Arguments of the command line: kinds of values, words that click would read in another way, and errors."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import click

from ..host.printable import printable

__all__ = [
    "COLUMNS",
    "DEVICE",
    "FLOAT32",
    "FRAME",
    "METHOD",
    "SKIP_NAN",
    "Failure",
    "Finite",
    "MethodName",
    "Numbers",
    "SearchCommand",
    "check_new",
    "explained",
]

#: Whole command lines of commands that need more than a file and a radius.
_EXAMPLES = {
    "clean": "cloud.npy --k 16 --ratio 2 -o clean.ply",
    "demo": "spheres --animate out.gif",
    "normals": "cloud.npy --radius 0.1 -o normals.ply",
    "surface": "cloud.npy --spacing 0.02 --radius 0.1 -o surface.ply",
}

#: The help of options that several commands have.
COLUMNS = "Which columns of a text file are coordinates, by name or counted from 1, as in x,y,z or 1,2,3."
DEVICE = (
    "The OpenCL device: its number in `clfrnn devices`, or a part of its name or of its platform's name. By default "
    "the one with a star there."
)
FLOAT32 = (
    "Round the coordinates to float32 first. Far from the origin that moves them: at five million by up to a quarter "
    "of a unit."
)
FRAME = (
    "Which frame to take of a file with several, as a trajectory has: counted from 0, or from the end as -1. By "
    "default the first."
)
METHOD = (
    "The search method: auto, brute_force, uniform_grid, strips, fenns or aabb_tree. All find the same pairs, in "
    "different times."
)
SKIP_NAN = (
    "Leave out points with a coordinate that is missing or NaN, and print how many. Without it they are an error."
)

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Failure(click.ClickException):
    """An error of clfrnn's, printed without a traceback; exit status 1."""

    def show(self, file: Any = None) -> None:
        """Print in the form of the other errors."""
        click.echo(f"clfrnn: {printable(self.message)}", err=True, file=file)


class MethodName(click.ParamType):  # type: ignore[type-arg]
    """The name of a method; methods are loaded when a name is given, not when clfrnn starts."""

    name = "method"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """`value` when it names a method."""
        from ..methods import METHODS

        if value not in ("auto", *METHODS):
            self.fail(f"{value!r} is not one of auto, {', '.join(METHODS)}", param, ctx)
        return str(value)


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """The numbers of `value`."""
        try:
            return [float(word) for word in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is not numbers with commas between them, as in 10,10,20", param, ctx)


class Finite(click.FloatRange):
    """A number that is finite, in a range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The number of `value`."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not finite", param, ctx)
        return number


class SearchCommand(click.Command):
    """A command whose ``--periodic`` may stand before a file, and whose ``--box`` and ``--cell`` take several words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        return super().parse_args(ctx, _joined(args))


def _joined(args: list[str]) -> list[str]:
    """The words of the command line, each option with its whole value."""
    words: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*words, word, *rest]
        if word == "--periodic" and rest and _is_file(rest[0]):
            word = "--periodic=all"
        elif word in ("--box", "--cell"):
            numbers = []
            while rest and _NUMBER.fullmatch(rest[0]):
                numbers.append(rest.pop(0))
            word = f"{word}={','.join(numbers)}" if numbers else word
        words.append(word)
    return words


def _is_file(word: str) -> bool:
    """Whether a word names a file, or standard input: axes have neither dots nor separators of folders."""
    return word == "-" or "." in word or os.sep in word or (word != "" and Path(word).exists())


def check_new(option: str, path: Path, *read: Path | None) -> None:
    """Refuse a file that could not be written in the end, before long work.

    Parameters
    ----------
    option : the option that names it
    path : the file
    read : files that the command reads; None stands for no file
    """
    if os.path.realpath(path) in {os.path.realpath(each) for each in read if each is not None}:
        raise click.UsageError(f"{option}: {printable(path.name)} is read by this command; name another file")
    folder = printable(str(path.parent))
    if not path.parent.is_dir():
        raise click.UsageError(f"{option}: there is no folder {folder}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise click.UsageError(f"{option}: the folder {folder} cannot be written to; name another")


def explained(error: click.UsageError) -> click.UsageError:
    """The error of a wrong command line, with what to do about it where click does not say so."""
    said = printable(error.format_message().rstrip("."), beside="")
    command = "" if error.ctx is None else error.ctx.command_path
    param = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(error, click.MissingParameter):
        remedy = f"add it, as in: {command} {_EXAMPLES.get(command.rpartition(' ')[2], 'cloud.npy --radius 0.1')}"
    elif param is not None and isinstance(param.type, click.Path):
        remedy = "check its name and its folder"
    elif param is not None and isinstance(param.type, (click.types.FloatParamType, click.types.IntParamType)):
        meaning = str(getattr(param, "help", None) or "a number").rstrip(".")
        remedy = f"pass {_range(param.type)} ({meaning[:1].lower()}{meaning[1:]})"
    elif "extra argument" in said and command.endswith(" search"):
        remedy = "expected one file of points: name queries by --queries, and search each file by itself"
    elif "extra argument" in said:
        remedy = "expected no more words: leave it out, or write the name of its option before it"
    elif isinstance(error, click.BadOptionUsage) and "requires an argument" in said:
        remedy = "write its value behind it, as in --radius 0.1"
    else:
        return error
    return click.UsageError(f"{said}; {remedy}", ctx=error.ctx)


def _range(kind: Any) -> str:
    """The numbers that an option takes, in words."""
    number = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is None:
        return number
    if high is not None:
        return f"{number} from {low:,} to {high:,}"
    return f"{number} {'above' if kind.min_open else 'of at least'} {low:,}"
