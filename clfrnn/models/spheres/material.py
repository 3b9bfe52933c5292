"""Of what spheres and walls are, and the ball that pushes spheres: numbers, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import clfrnn

from ...host.numbers import shown
from ..arguments import between, positive, rounded

__all__ = ["Collider", "Material", "collider", "material"]

#: Center and radius of a ball.
Collider = tuple[tuple[float, ...], float]


class Material(NamedTuple):
    """See the parameters of :class:`clfrnn.models.Spheres`."""

    dt: float
    stiffness: float
    damping: float
    shear: float
    attraction: float
    global_damping: float
    gravity: float
    restitution: float


def material(radius: float, dtype: np.dtype[Any], given: Sequence[float | None]) -> Material:
    """The numbers of the class in their order as given, or by default where None, rounded to `dtype`.

    Raises
    ------
    InvalidInputError
        A number is out of its range, or `dt` is so long that the contact of two spheres would gain energy.
    """
    defaults = {"dt": radius / 16, "stiffness": 5 / radius / radius, "damping": 0.25 / radius, "shear": 0.1 / radius}
    value = {
        name: defaults.get(name) if number is None else number
        for name, number in zip(Material._fields, given, strict=True)
    }
    ranges = {
        "stiffness": (0, math.inf, "pass a force by length"),
        "damping": (0, math.inf, "pass a force by velocity, 0 for none"),
        "shear": (0, math.inf, "pass a force by velocity, 0 for none"),
        "attraction": (0, math.inf, "pass a force by length, 0 for none"),
        "global_damping": (0, 1, "pass the factor of a step, 1 for none"),
        "gravity": (-math.inf, math.inf, "pass an acceleration, 0 for none"),
        "restitution": (0, 1, "pass the part of the velocity that a wall leaves"),
    }
    dt = positive(value["dt"], "dt", dtype, "pass the time of a step, or leave it out")
    found = Material(
        dt,
        *(
            between(value[name], name, dtype, low=low, high=high, advice=advice)
            for name, (low, high, advice) in ranges.items()
        ),
    )
    # The condition under which the semi-implicit Euler method is stable for two spheres that stay in contact.
    growth = dt * (2 * (found.damping + found.shear) + found.stiffness * dt)
    if growth >= 2:
        raise clfrnn.InvalidInputError(
            f"expected so short a step that dt (2 damping + 2 shear + stiffness dt) is below 2, got {dt:g}, for "
            f"which it is {growth:.3g}, and contacts would gain energy; take a shorter dt or softer spheres",
            argument="dt",
        )
    return found


def collider(given: Any, dim: int, dtype: np.dtype[Any]) -> Collider:
    """Center and radius, rounded to `dtype`, or an error that names the argument."""
    try:
        center, radius = given
        numbers = tuple(rounded(value, dtype) for value in center)
    except (TypeError, ValueError) as error:
        raise clfrnn.InvalidInputError(
            f"expected (center, radius), got {shown(given)}; pass, in 3D, ((0, 0, 0), 0.2)", argument="collider"
        ) from error
    if len(numbers) != dim or not all(map(math.isfinite, numbers)):
        raise clfrnn.InvalidInputError(
            f"expected a center of {dim} finite numbers, got {shown(center)}; pass its position", argument="collider"
        )
    return numbers, positive(radius, "collider", dtype, "pass the radius behind the center")
