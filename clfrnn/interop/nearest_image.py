"""The nearest image: of all images of a point in a periodic box, the one that libraries with one image know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..conditions import Condition

__all__ = ["TorusBox", "reaching"]

#: Radii up to half of the shortest length less this share see one image of each point, however they are rounded.
_MARGIN = 1e-3


#: The share of the root of the largest number whose square is finite, however it is rounded.
_ALMOST = 0.999


class TorusBox:
    """A box that repeats along some axes, in which each point counts once, at its nearest image.

    Parameters
    ----------
    lengths : (dim,) float64; an axis of length 0 does not repeat
    """

    def __init__(self, lengths: npt.NDArray[np.float64]) -> None:
        self.lengths = lengths
        self.periodic = lengths > 0

    def __bool__(self) -> bool:
        """Whether an axis repeats."""
        return bool(self.periodic.any())

    @property
    def domain(self) -> dict[str, Any]:
        """The arguments of searches in the box."""
        if not self:
            return {}
        return {"box": np.where(self.periodic, self.lengths, 1.0), "periodic": self.periodic}

    def wrap(self, points: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
        """The same points, (m, dim), inside the box: coordinates from 0 up to, but not including, the length."""
        if not self:
            return points
        lengths = np.where(self.periodic, self.lengths, 1.0).astype(points.dtype)
        with np.errstate(invalid="ignore"):  # what is not finite is refused where it is searched
            inside = points - np.floor(points / lengths) * lengths
        inside = np.where(inside < 0, inside + lengths, inside)
        return np.where(self.periodic, np.where(inside >= lengths, inside - lengths, inside), points)

    @property
    def radius_of_one_image(self) -> float:
        """The radius up to which no query sees two images of a point."""
        return float(self.lengths[self.periodic].min()) / 2 * (1 - _MARGIN) if self else math.inf

    def reach(self, extent: npt.NDArray[np.float64]) -> float:
        """A radius within which every nearest image lies, of points and queries that differ by at most `extent`."""
        longest = np.where(self.periodic, np.minimum(extent, self.lengths / 2), extent)
        return float(np.linalg.norm(longest)) * (1 + _MARGIN) + float(np.finfo(np.float32).tiny)

    def condition(self, points: Any, queries: Any, also: str = "") -> Condition:
        """The condition that an image is the nearest one, of points inside the box, (n, dim), and that `also` holds.

        Where two images are equally far, the one without a shift counts.
        """
        dim = len(self.lengths)
        halves: dict[str, Any] = {
            f"half_{axis}": float(length) / 2 for axis, length in enumerate(self.lengths) if length > 0
        }
        each = [
            f"shift{f'.s{axis:x}' if dim > 1 else ''} == "
            f"nearest_shift(positions[(long)j * {dim} + {axis}] - centers[(long)i * {dim} + {axis}], half_{axis})"
            for axis in np.flatnonzero(self.periodic).tolist()
        ]
        return Condition(
            " && ".join([*each, also] if also else each),
            preamble="int nearest_shift(const real along, const real half_length)\n"
            "{ return (along < -half_length) - (along > half_length); }",
            positions=points,
            centers=queries,
            **halves,
        )


def reaching(radius: Any, *clouds: npt.NDArray[Any], box: TorusBox | None = None) -> Any:
    """A radius that reaches the same points of other clouds, of any images the nearest, and whose square is finite.

    Parameters
    ----------
    radius : a number, which may be infinite; all else is returned as it is
    clouds : (m, dim) points and queries, of one real dtype
    box : where they lie; by default in open space
    """
    if not isinstance(radius, (int, float, np.number)) or not radius > 0:
        return radius
    box = TorusBox(np.zeros(clouds[0].shape[1])) if box is None else box
    finite = radius <= math.sqrt(np.finfo(clouds[0].dtype).max) * _ALMOST
    if (finite and radius <= box.radius_of_one_image) or not all(map(len, clouds)):
        return radius if finite else 1.0
    low = np.min([cloud.min(axis=0) for cloud in clouds], axis=0).astype(np.float64)
    high = np.max([cloud.max(axis=0) for cloud in clouds], axis=0).astype(np.float64)
    if np.isnan(low + high).any():  # which the search refuses
        return 1.0
    return min(float(radius), box.reach(high - low))
