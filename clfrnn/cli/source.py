"""``clfrnn source``: the OpenCL C that a method runs, for a device of this machine or a recorded profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInputError
from ..host.printable import printable
from .arguments import DEVICE, METHOD, Finite, MethodName

if TYPE_CHECKING:
    from ..profile import DeviceProfile

__all__ = ["source"]

#: The rows of points and queries are counted in 32 bits.
_MOST_POINTS = 2**31 - 1


@click.command()
@click.option("--method", type=MethodName(), default="auto", show_default=True, help=METHOD)
@click.option("--dim", type=click.IntRange(1, 12), default=3, show_default=True, help="Coordinates of a point.")
@click.option("--float64", is_flag=True, help="For points of float64; float32 without it.")
@click.option("--periodic", is_flag=True, help="For a periodic box, whose side is 1.")
@click.option(
    "--points", type=click.IntRange(0, _MOST_POINTS), default=1_000_000, show_default=True, help="Number of points."
)
@click.option(
    "--neighbors",
    type=Finite(min=0, max=1e9),
    default=30.0,
    show_default=True,
    help="Number of neighbors of each point, where points are spread evenly.",
)
@click.option("--device", help=DEVICE)
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For a device of another machine: a file that `clfrnn devices --json` wrote there, of which the default "
    "device is taken, or one profile of it.",
)
def source(
    *,
    method: str,
    dim: int,
    float64: bool,
    periodic: bool,
    points: int,
    neighbors: float,
    device: str | None,
    profile: Path | None,
) -> None:
    """Print the OpenCL C that counts neighbors, as it would be compiled.

    The code depends on the device and on the points: say how many there are, and how many neighbors each has.
    """
    import dataclasses

    from ..config import VisitVariant
    from ..domain.box import PeriodicBox
    from ..methods import METHODS, choose_method
    from ..problem import Problem
    from ..runtime.rendering import own_function, render
    from ..survey import Survey
    from ..tuning.stored import find_tuning

    facts = _profile(device, profile)
    tuning = find_tuning(facts).tuning
    if float64 and not facts.fp64:
        raise InvalidInputError(f"--float64: {facts} has no double precision; leave it out, or name another device")
    radius = _radius(points, neighbors, dim)
    survey = Survey(n=points, low=(0.0,) * dim, high=(1.0,) * dim)
    problem = Problem(
        n=points,
        domain=PeriodicBox(lengths=(1.0 if periodic else 0.0,) * dim, low=None),
        real="double" if float64 else "float",
        radius=radius,
        survey=survey,
    )
    chosen = METHODS[method] if method != "auto" else choose_method(problem, facts, tuning).method
    if dim not in chosen.dims:
        serve = ", ".join(each.name for each in METHODS.values() if dim in each.dims)
        raise InvalidInputError(
            f"--dim: {chosen.name} serves {_span(chosen.dims)} dimensions, not {dim}; --method may be one of {serve}"
        )
    problem = dataclasses.replace(problem, options=chosen.check({}))
    config = chosen.plan(problem, facts, tuning).config
    title = f"{chosen.name} in {dim}D for {facts}, {points:,} points within {radius:.4g} of each other"
    click.echo(f"// {printable(title)}")
    click.echo(render(chosen.stem, config, own_function("count"), VisitVariant()))


def _profile(device: str | None, path: Path | None) -> DeviceProfile:
    from ..files.contents import reading
    from ..profile import DeviceProfile

    if path is None:
        from ..runtime.device import find_device, read_profile

        return read_profile(find_device(device))
    if device is not None:
        raise click.UsageError("--profile stands for a device; leave out --device")
    with reading(path, "the facts of a device as `clfrnn devices --json` writes them", "write them again"):
        written = json.loads(path.read_text(encoding="utf-8"))
        if "devices" in written:
            written = written["devices"][written["default"] or 0]["profile"]
        return DeviceProfile.from_dict(written)


def _radius(points: int, neighbors: float, dim: int) -> float:
    """The radius within which a point of an even unit cube has that many neighbors."""
    import math

    ball = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    return float((max(0.0, neighbors) / (ball * max(1, points))) ** (1 / dim))


def _span(dims: frozenset[int]) -> str:
    return f"{min(dims)} to {max(dims)}"
