"""Spaces of clusters: which axes repeat where points were linked, as arrays of the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...domain.box import PeriodicBox
from ...points.batches import domain_of_points
from ...runtime.session import Session

__all__ = ["Spaces", "spaces_of"]

_Numbers = npt.NDArray[np.float64]


class Spaces(NamedTuple):
    """The spaces of some systems, one system where there is no batch."""

    #: (n,): the system of each point
    rank: npt.NDArray[np.int32]
    #: (systems, dim): how far images lie apart by height, 0 on axes that do not repeat; heights are measured along
    #: `normals`, and one step along a vector of `steps` changes one height alone
    heights: _Numbers
    normals: _Numbers
    steps: _Numbers
    #: (systems, dim, dim): the lattice vectors that the caller gave, which shifts count
    vectors: _Numbers
    #: (systems, dim): the heights at which the box begins
    starts: _Numbers


def spaces_of(
    session: Session, points: npt.NDArray[Any], distance: float, domain: tuple[Any, Any, Any], batch: Any
) -> Spaces | None:
    """The spaces of points by the arguments box, cell and periodic, and batch; None where no axis repeats."""
    n, dim = points.shape
    found = domain_of_points(
        session, domain, batch, None, n=n, dim=dim, dtype=points.dtype, radius=float(points.dtype.type(distance))
    )
    if not found.has_images:
        return None
    rank, each = found.spaces_of(n)
    frames = [space.frame for space in each]
    return Spaces(
        rank=rank,
        heights=np.array([space.lengths for space in each], np.float64).reshape(len(each), dim),
        normals=np.array([frame.normals for frame in frames], np.float64),
        steps=np.array([frame.steps for frame in frames], np.float64),
        vectors=np.array([frame.vectors for frame in frames], np.float64),
        starts=np.array([_starts(space, points[rank == k]) for k, space in enumerate(each)], np.float64),
    )


def _starts(space: PeriodicBox, points: npt.NDArray[Any]) -> tuple[float, ...]:
    """Where the box of some points begins by height: at its low corner, else at 0 or half a length below it."""
    if space.low is not None or not len(points):
        return space.low or (0.0,) * points.shape[1]
    heights = space.heights(points.astype(np.float64))
    best = space.starts(tuple(heights.min(axis=0).tolist()), tuple(heights.max(axis=0).tolist()))
    # Points that lie inside of neither box have one that begins with them.
    return tuple(start if start == -0.5 * length else 0.0 for start, length in zip(best, space.lengths, strict=True))
