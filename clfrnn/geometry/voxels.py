"""Voxels: a cloud thinned to one point for each of equal cells."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ..answers.voxels import find_voxels
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..host.numbers import real_array, shown
from ..points.argument_types import Numbers, Rows
from ..points.on_device import as_points
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import positive

__all__ = ["VoxelClouds", "voxel_downsample"]

#: Voxels are not smaller than this.
_LEAST_SIZE = float(np.finfo(np.float64).tiny)

_REDUCE = ("mean", "first", "nearest_to_center")


class VoxelClouds(NamedTuple):
    """A cloud with one point for each voxel that has points, on the device.

    Voxels are in the order in which the cloud has the first point of each.
    """

    #: (voxels, dim), in the points' dtype
    points: DeviceArray[np.floating[Any]]
    #: (voxels,) int32, how many points each voxel has
    counts: DeviceArray[np.int32]
    #: (n,) int32, the row of each point's voxel in the other two
    voxel_of: DeviceArray[np.int32]


def voxel_downsample(
    points: Rows,
    size: float,
    *,
    origin: Numbers | None = None,
    reduce: Literal["mean", "first", "nearest_to_center"] = "mean",
    session: Session | None = None,
) -> VoxelClouds:
    """Thin a cloud to one point for each voxel that has points. A voxel is a cube of a regular grid, a square in 2D.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite; on the host or the device
    size : scalar above 0, the side of a voxel, in the points' unit
    origin : (dim,), a corner of a voxel; 0 on each axis when not given
    reduce : what stands for the points of a voxel: their mean, the first of them, or the one that is nearest to the
        middle of the voxel, of several the first
    session : as for :func:`clfrnn.build_index`

    Returns
    -------
    VoxelClouds, on the device

    Raises
    ------
    InvalidInputError
        An argument cannot be used; the message says which one, and what to do.
    DeviceMemoryError
        There is no memory for the table of voxels.

    Notes
    -----
    This is the voxel grid filter of the Point Cloud Library and of Open3D. A voxel holds the points with
    ``origin + k size <= x < origin + (k + 1) size`` on each axis, k whole. That is exact for the numbers as they are,
    float32 points and a float64 size among them, and for coordinates of any magnitude: no product is rounded, and k may
    exceed 64 bits. So 0.3, which as a float64 is below three times 0.1, lies in the voxel 2 of size 0.1. Where points
    were rounded before, as coordinates of maps in float32, and that decides about their voxels, a PrecisionWarning says
    so.

    The result is the same in every run. Means are added up in the order of points, from the first point of each voxel.

    Cost: six passes over the points, and waits for their bounds and for the number of voxels; a sort of the points by
    voxel on top, but for ``"first"``. About 32 bytes a point and 8 for each coordinate are in use meanwhile. A device
    without float64 gets the numbers of voxels from the host.

    Examples
    --------
    >>> from clfrnn.geometry import voxel_downsample
    >>> thin = voxel_downsample([[0.25, 0.5], [1.5, 0.0], [0.75, 0.5]], 1.0)
    >>> thin.points.get().tolist(), thin.counts.get().tolist(), thin.voxel_of.get().tolist()
    ([[0.5, 0.5], [1.5, 0.0]], [2, 1], [0, 1, 0])
    """
    width = positive("size", size, "the side of a voxel")
    if width < _LEAST_SIZE:
        raise InvalidInputError(
            f"expected at least {_LEAST_SIZE!r}, got {shown(size)}; pass a larger size, or multiply the points and it "
            "by one number",
            argument="size",
        )
    if not isinstance(reduce, str) or reduce not in _REDUCE:
        raise InvalidInputError(
            f"expected 'mean', 'first' or 'nearest_to_center', got {shown(reduce)}; pass one of these",
            argument="reduce",
        )
    session = choose_session(session, points)
    with session.lock:
        array = as_points(points, session=session)
        voxels = find_voxels(session, array, width, _corner(origin, array.shape[1]))
        if reduce == "first":
            rows = voxels.firsts()
        else:
            rows = voxels.means() if reduce == "mean" else voxels.nearest_to_center()
        return VoxelClouds(rows, voxels.counts, voxels.voxel_of)


def _corner(origin: Numbers | None, dim: int) -> np.ndarray[Any, Any]:
    """The origin as float64; raises where it is no position."""
    if origin is None:
        return np.zeros(dim)
    given = real_array(origin)
    corner = np.empty(0) if given is None else given
    if corner.shape != (dim,) or not np.isfinite(corner).all():
        raise InvalidInputError(
            f"expected {dim} finite numbers, as points have, got {shown(origin)}; pass a corner of a voxel, or leave "
            "it out",
            argument="origin",
        )
    return corner.astype(np.float64)
