"""Voxels: which points lie in the same one of equal cells, and one point for each cell, on the device.

The voxel k of an axis holds the coordinates x with ``o + k size <= x < o + (k + 1) size`` for the numbers as they are,
without rounding. With the remainders ``r = x - t size`` and ``p = o - u size``, whole numbers t and u, which float64
holds without rounding, x lies in the voxel ``t - u + floor((r - p) / size)``. As remainders are less than the size,
that is one of four numbers, and comparisons of r with ``p - size``, p and ``p + size`` say which. The u of all points
is the same, and is left out. From 2**53 sizes on, coordinates are as far apart as voxels are wide, and are their own
keys.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from ..arrays import REAL_OF
from ..config import INT, LONG
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..points.rounding import largest_of, warn_of_rounding
from ..primitives.config import plan_gather
from ..primitives.reduce import bounding_box
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .groups import MOST_ROWS, Groups, find_groups

__all__ = ["Voxels", "find_voxels"]

#: The number of sizes from which on each coordinate is a key itself.
_TOO_MANY = 2.0**53

#: How many voxels the host takes together, as a power of two: their number and that of the rest are then not rounded.
_BLOCK_BITS = 30

#: Points of one voxel that a work-item goes through, so that crowded voxels are shared out.
_CHUNK = 256


class Voxels(NamedTuple):
    """The voxels of points."""

    session: Session
    points: DeviceArray[np.floating[Any]]
    #: the size of a voxel
    size: float
    #: (n,) int32, the voxel of each point, numbered by first points
    voxel_of: DeviceArray[np.int32]
    #: (voxels,) int32, how many points each has
    counts: DeviceArray[np.int32]
    #: (n,) int32, 1 for the first point of a voxel
    is_lead: Scratch
    #: (n,) uint64, the bits of the squared distance of each point to the middle of its voxel
    offsets: Scratch

    def firsts(self) -> DeviceArray[np.floating[Any]]:
        """The first point of each voxel. One launch."""
        taken = self._rows()
        given = self.is_lead.base_data, self.voxel_of.base_data, self.points.base_data, taken.base_data
        self.session.publish(_launch(self.session, self.points, "take_firsts", len(self.points), *given), taken)
        return taken

    def means(self) -> DeviceArray[np.floating[Any]]:
        """The mean of the points of each voxel, added up in the order of points. A sort of the points, two launches."""
        n, dim = self.points.shape
        means, dtype = self._rows(), self.points.dtype
        # Points of one voxel may be farther apart than the largest number.
        half = dtype.type(0.5 if 2 * self.size >= float(np.finfo(dtype).max) else 1.0)
        voxels, order, starts = self._sorted()
        sums = self.session.scratch(n * dim, dtype, purpose="the sums of points in voxels")
        rows = order.base_data, starts.base_data, self.points.base_data, sums.base_data
        _launch(self.session, self.points, "sum_chunks", n, _CHUNK, half, voxels.base_data, *rows)
        many = self.counts.size
        event = _launch(self.session, self.points, "find_means", many, _CHUNK, half, *rows, means.base_data)
        self.session.publish(event, means)
        return means

    def nearest_to_center(self) -> DeviceArray[np.floating[Any]]:
        """The point of each voxel that is nearest to its middle, the first of several. As :meth:`means`."""
        n = self.points.shape[0]
        taken = self._rows()
        voxels, order, starts = self._sorted()
        nearest = self.session.scratch(n, INT, purpose="the points nearest to the middles of voxels")
        rows = starts.base_data, self.offsets.base_data, nearest.base_data
        _launch(self.session, self.points, "nearest_of_chunks", n, _CHUNK, voxels.base_data, order.base_data, *rows)
        given = *rows, self.points.base_data, taken.base_data
        self.session.publish(
            _launch(self.session, self.points, "take_nearest", self.counts.size, _CHUNK, *given), taken
        )
        return taken

    def _rows(self) -> DeviceArray[np.floating[Any]]:
        shape = self.counts.size, self.points.shape[1]
        return self.session.allocate(shape, self.points.dtype, purpose="the points of voxels")

    def _sorted(self) -> tuple[Scratch, Scratch, Scratch]:
        """The voxels of the points by voxel and then by point, these points, and where each voxel begins among them."""
        return Groups(self.session, self.voxel_of, self.counts, self.is_lead).sorted()


def find_voxels(
    session: Session, points: DeviceArray[np.floating[Any]], size: float, origin: npt.NDArray[np.float64]
) -> Voxels:
    """Find the voxel of each point; waits for the bounds of the points, and for the number of voxels.

    Where points are rounded so coarsely that this decides about their voxels, a PrecisionWarning says so.

    Voxels are found in a table with twice as many slots as there are points: beside the result about 32 bytes a
    point are in use, and eight more for each coordinate.
    """
    n = points.shape[0]
    if n > MOST_ROWS:
        raise InvalidInputError(
            f"expected at most {MOST_ROWS:,} points, whose voxels one table holds, got {n:,}; thin them in parts",
            argument="points",
        )
    if n:
        largest = largest_of(bounding_box(session, points))
        warn_of_rounding(session, points, size, largest, of="the size of a voxel", changes="the points")
    keys, offsets = _keys(session, points, _layout(size, origin))
    groups = find_groups(session, keys, n)
    return Voxels(session, points, size, groups.group_of, groups.counts, groups.is_lead, offsets)


def _launch(
    session: Session, points: DeviceArray[Any], name: str, items: int, *arguments: Any, stem: str = "voxels"
) -> cl.Event | None:
    """Launch a kernel with a work-item for each of some rows, whose number is its first argument."""
    facts = {"dim": points.shape[1], "real": REAL_OF[points.dtype]}
    kernels, config = session.planned(f"answers/{stem}", plan_gather, **facts)
    return session.launch(kernels[name], items, config.work_group_size, np.int32(items), *arguments)


def _layout(size: float, origin: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The size, and for each axis the origin modulo the size and three bounds of remainders."""
    numbers = [size]
    for each in np.fmod(origin, size).tolist():
        numbers += [each, *(_least_not_below(Fraction(each) + step * Fraction(size)) for step in (-1, 0, 1))]
    return np.array(numbers)


def _least_not_below(number: Fraction) -> float:
    """The least float64 that is not below a number."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def _keys(
    session: Session, points: DeviceArray[np.floating[Any]], layout: npt.NDArray[np.float64]
) -> tuple[Scratch, Scratch]:
    """The number of each point's voxel along each axis, and the offsets of :class:`Voxels`.

    A device without float64 gets those that the host finds, by the same steps.
    """
    n, dim = points.shape
    keys = session.scratch(n * dim, LONG, purpose="the numbers of voxels")
    offsets = session.scratch(n, np.dtype(np.uint64), purpose="the distances to the middles of voxels")
    if session.profile.fp64:
        given = session.upload(layout, purpose="the layout of voxels").base_data, points.base_data
        _launch(session, points, "voxel_keys", n, *given, keys.base_data, offsets.base_data, stem="voxel_keys")
    elif n:
        for target, values in zip((keys, offsets), keys_on_host(points.get(), layout), strict=True):
            cl.enqueue_copy(session.queue, target.base_data, values)
    return keys, offsets


def keys_on_host(
    points: npt.NDArray[Any], layout: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """What the kernel ``voxel_keys`` finds: the keys, (n, dim), and the bits of offsets, (n,)."""
    size = float(layout[0])
    block = size * 2.0**_BLOCK_BITS
    keys, squares = np.empty(points.shape, np.int64), np.zeros(len(points))
    for axis, along in enumerate(layout[1:].reshape(-1, 4).tolist()):
        x = np.ascontiguousarray(points[:, axis], np.float64)
        with np.errstate(over="ignore"):
            alone = np.abs(x) / size >= _TOO_MANY
        x, far = np.where(alone, 0.0, x), x
        in_block = np.fmod(x, block)
        rest = np.fmod(in_block, size)
        further = sum((rest >= bound).astype(np.int64) for bound in along[1:]) - 2
        whole = np.rint((x - in_block) / block).astype(np.int64) << _BLOCK_BITS
        numbers = whole + np.rint((in_block - rest) / size).astype(np.int64) + further
        bits = np.abs(far).view(np.int64)
        keys[:, axis] = np.where(alone, np.where(far < 0, -bits, bits), numbers)
        from_middle = rest / size - along[0] / size - further - 0.5
        squares += np.where(alone, 0.0, from_middle * from_middle)
    return keys, squares.view(np.uint64)
