"""The block of water that a fluid starts as: particles in a lattice that fills it, in the corner of a tank."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ...host.numbers import shown
from ..arguments import rounded

__all__ = ["Block"]

Array = npt.NDArray[Any]

#: Lengths in metres by default, by dim.
_COLUMN = {2: (1.0, 2.0), 3: (1.0, 1.0, 2.0)}
_TANK = {2: (4.0, 3.0), 3: (4.0, 1.0, 3.0)}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Layers of particles that fill a box in a tank, the last layer as far as there are particles.

    Attributes
    ----------
    n : number of particles
    column, tank, corner : (dim,) float64 arrays: lengths of the block and of the tank, and the block's lower corner
    """

    n: int
    column: Array
    tank: Array
    corner: Array

    @classmethod
    def of(cls, n: int, dim: int, column: object, tank: object, corner: object) -> Block:
        """The block of arguments as users pass them, None for the default; raises where it is none or does not fit."""
        block = cls(
            n=n,
            column=_lengths(_COLUMN[dim] if column is None else column, dim, "column"),
            tank=_lengths(_TANK[dim] if tank is None else tank, dim, "tank"),
            corner=_lengths((0.0,) * dim if corner is None else corner, dim, "corner", least=0.0),
        )
        beyond = block.corner + block.column > block.tank * (1 + 1e-6)
        if beyond.any():
            raise clfrnn.InvalidInputError(
                f"expected a block within the tank {block.tank.tolist()}, got {block.column.tolist()} from the "
                f"corner {block.corner.tolist()} on; make the tank longer, or the block smaller",
                argument="column",
            )
        return block

    @property
    def spacing(self) -> float:
        """The side of the square or cube that has the area or volume of a particle."""
        return float(np.prod(self.column) / self.n) ** (1 / len(self.column))

    @property
    def steps(self) -> Array:
        """(dim,) distances of particles along the axes: nearly the spacing, and such that rows fill the block."""
        counts = np.maximum(1, np.round(self.column[:-1] / self.spacing))
        return np.append(self.column[:-1] / counts, self.column[-1] * counts.prod() / self.n)

    def positions(self, rng: np.random.Generator, disorder: float) -> Array:
        """(n, dim) float64: the lattice, layer by layer upwards, each particle up to `disorder` steps beside its place.

        Rows and stacks without any disorder would stay such where water does not.
        """
        counts = np.round(self.column[:-1] / self.steps[:-1]).astype(np.int64)
        layer, place = np.divmod(np.arange(self.n), counts.prod())
        along = np.stack([*np.unravel_index(place, counts), layer], axis=1)
        return self.corner + self.steps * (along + 0.5 + rng.uniform(-disorder, disorder, along.shape))

    def weights(self, reach: float) -> float:
        """The sum of the kernel's weights over the lattice around one of its particles, itself included."""
        most = np.ceil(reach / self.steps).astype(np.int64)
        axes = [step * np.arange(-k, k + 1) for step, k in zip(self.steps, most, strict=True)]
        share = np.sqrt(sum(axis**2 for axis in np.meshgrid(*axes))) / reach
        return float((np.maximum(0, 1 - share) ** 4 * (1 + 4 * share)).sum())


def _lengths(value: Any, dim: int, name: str, least: float = math.ulp(0.0)) -> Array:
    """Return (dim,) finite numbers of at least `least`, or raise."""
    given = list(value) if isinstance(value, (list, tuple, np.ndarray)) else []
    numbers = np.array([rounded(each, np.dtype(float)) for each in given])
    if len(numbers) != dim or not ((numbers >= least) & (numbers < math.inf)).all():
        least_text = "of at least 0" if least == 0 else "above 0"
        raise clfrnn.InvalidInputError(
            f"expected {dim} finite lengths {least_text}, one for each axis, got {shown(value)}; pass metres",
            argument=name,
        )
    return numbers
