"""The block in which spheres lie at the start, and the ball in which some of them are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

__all__ = ["ball", "block", "block_radius"]

#: Spheres along an edge of the block at the start, times their radius: 1/64 for the 65,536 spheres of the paper.
_BLOCK = 41 / 64

#: From the center of a sphere to that of the next in the block, and how far the start is out of line, in radii.
_SPACING, _JITTER = 2.04, 0.03


def block_radius(n: int, dim: int) -> float:
    """The radius of n spheres of which the block has the same size for any n."""
    return _BLOCK / _edge(n, dim)


def block(n: int, dim: int, radius: float, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """(n, dim): centers in the box from -1 to 1, layer by layer from the floor up.

    Raises
    ------
    InvalidInputError
        The block is larger than the box.
    """
    edge = _edge(n, dim)
    across = radius * (_SPACING * (edge - 1) + 2 + _JITTER)
    if across > 2:
        raise clfrnn.InvalidInputError(
            f"expected one of which {edge:,} spheres along an edge of the start fit into the box of side 2, "
            f"got {radius:g}, for which it is {across:.3g} long; take a smaller radius, or leave it out",
            argument="radius",
        )
    rows = np.arange(n)[:, None] // edge ** np.arange(dim) % edge
    found: npt.NDArray[Any] = radius * (1 + _SPACING * rows + _JITTER * rng.random((n, dim))) - 1
    return found


def ball(n: int, dim: int, radius: float) -> npt.NDArray[np.float64]:
    """(n, dim): centers of spheres that nearly touch, in a ball, or in 2D a disk, in the middle of the top of the box.

    A ball that is larger than the box reaches out of it, and walls press it together.
    """
    reach = _edge(n, dim)  # a cube of twice that side holds the ball, which is more than half of its own cube
    steps = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    nearest = np.argsort((steps**2).sum(axis=1), kind="stable")[:n]
    found: npt.NDArray[Any] = radius * _SPACING * steps[nearest]
    found[:, -1] += 1 - radius * (1 + _JITTER) - found[:, -1].max()
    return found


def _edge(n: int, dim: int) -> int:
    """The number of spheres along an edge of the block."""
    edge = round(n ** (1 / dim))
    return edge if edge**dim >= n else edge + 1
