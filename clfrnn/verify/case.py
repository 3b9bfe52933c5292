"""Case: a method with options, a dimension and a dtype, whose searches are compared with the reference."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..methods import METHODS
from ..points.argument_types import MethodName
from ..profile import DeviceProfile

__all__ = ["Case", "cases"]

#: Quick cases of a method at least, and the dimensions that they alternate among.
_FEWEST, _DIMS = 2, (3, 2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison with the reference: a method with options, and clouds from a seed.

    A `quick` case asks fewer kinds of questions, which the seed draws.
    """

    method: MethodName
    options: dict[str, Any]
    dim: int
    dtype: np.dtype[Any]
    seed: int
    points: int
    quick: bool = False

    def __str__(self) -> str:
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"{self.method}{options} {self.dim}D {self.dtype}"


def cases(profile: DeviceProfile, *, seed: int, points: int, quick: bool = False) -> Iterator[Case]:
    """Every method and its variations, in each of its dimensions and each dtype that the device computes in.

    Where `quick`, the variations of a method alternate among three dimensions with one dtype and two with the other.
    """
    reals = ("float32", "float64") if profile.fp64 else ("float32",)
    for number, method in enumerate(METHODS.values()):
        every = list(itertools.product(method.variations, sorted(method.dims), reals))
        if quick:
            many = max(_FEWEST, len(method.variations))
            rounds = [(dim, reals[(seed + number + dim) % len(reals)]) for dim in _DIMS]
            every = [(method.variations[k % len(method.variations)], *rounds[k % len(rounds)]) for k in range(many)]
        for options, dim, real in every:
            yield Case(
                method=method.name,
                options=options,
                dim=dim,
                dtype=np.dtype(real),
                seed=seed,
                points=points,
                quick=quick,
            )
