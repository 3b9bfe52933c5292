"""Configs: frozen data that programs are compiled for, and from which they differ in nothing else.

The radius, the box and the numbers of points are kernel arguments, so that a program serves every cloud of its
dimension and dtype.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from .domain.box import CELLS, SYSTEMS
from .profile import DeviceProfile

__all__ = [
    "INT",
    "LANES",
    "LONG",
    "REAL_SIZE",
    "SECTOR",
    "CounterConfig",
    "KernelConfig",
    "PointConfig",
    "RunConfig",
    "TileConfig",
    "VisitConfig",
    "VisitVariant",
    "WalkConfig",
    "components",
    "count_bits",
    "numbers_per_point",
    "sorted_copy_length",
    "vector_length",
]

#: The dtypes of integers in OpenCL C.
INT = np.dtype(np.int32)
LONG = np.dtype(np.int64)

REAL_SIZE = {"float": 4, "double": 8}

#: Lengths of vectors in OpenCL C, and 1 for a scalar.
LANES = (1, 2, 3, 4, 8, 16)

#: Number of int32 in a sector, the smallest piece of memory that a GPU reads or writes.
SECTOR = 8

#: Largest number of candidates that are tested at once.
_MOST_AT_ONCE = 8

#: Number of candidates that have a bit in a word of a hit mask.
_MASK_BITS = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelConfig:
    """What every program is compiled for."""

    work_group_size: int

    def names(self) -> dict[str, Any]:
        """The names that a template sees: the fields, and values that follow from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def options(self, profile: DeviceProfile) -> list[str]:  # noqa: ARG002
        """Compiler options of this program, besides those of every program of the device."""
        return []


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointConfig(KernelConfig):
    """A program that reads points of `dim` coordinates of the OpenCL type `real`."""

    dim: int
    real: str

    @property
    def vector_length(self) -> int:
        """The number of components of ``real_vec``, the vector that holds one point."""
        return vector_length(self.dim)

    def names(self) -> dict[str, Any]:
        """The fields, the length of ``real_vec`` as a number and as a suffix, and the suffix of each coordinate."""
        suffix = "" if self.vector_length == 1 else str(self.vector_length)
        periodic = getattr(self, "periodic", "")
        return {
            **super().names(),
            # whether points are placed by heights, as in a cell; whether each has a system with a box of its own; and
            # whether images are counted along combinations of the caller's lattice vectors
            "skewed": periodic in (*CELLS, *SYSTEMS),
            "batched": periodic in SYSTEMS,
            "reduced": periodic in (CELLS[1], SYSTEMS[1]),
            # whether each system has a grid of its own
            "own_cells": False,
            "lanes": suffix,
            "vector_length": self.vector_length,
            "components": components(self.dim),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class CounterConfig(PointConfig):
    """A program that sorts points into cells, with ``counters`` integers for each work-group in local memory."""

    #: the kind of the periodic box, or "": see :attr:`~clfrnn.problem.Problem.periodic`
    periodic: str
    counters: int

    def names(self) -> dict[str, Any]:
        """The fields, and the size of the local memory that counters and bounding boxes share.

        ``local_ints`` is that size in int32, and ``slots`` is the number of bounding boxes that fit it.
        """
        box = (2 * self.dim + 1) * REAL_SIZE[self.real]
        shared = max(4 * self.counters, box)
        slots = max(1, min(self.work_group_size // 2, shared // box))
        return {**super().names(), "slots": slots, "local_ints": shared // 4}


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisitConfig(PointConfig):
    """A program that visits neighbors; ``square_root`` is the way of rounding roots: see :mod:`.groups`."""

    square_root: str
    #: the kind of the periodic box, or "" where no axis is periodic; the lengths, which are kernel arguments, say which
    #: axes are
    periodic: str
    #: the largest number of registers of a work-item, or None to leave that to the compiler
    registers: int | None = None

    def names(self) -> dict[str, Any]:
        """The fields, and defaults for walks over single queries with points in the caller's order."""
        defaults = {"layout": "", "width": 1, "fused": False, "by_place": False, "counts_first": False}
        return {**defaults, **super().names(), "packed": False}

    def options(self, profile: DeviceProfile) -> list[str]:
        """The limit of registers."""
        return [] if self.registers is None else [profile.register_option.format(self.registers)]

    def units(self, m: int, cells: int = 0) -> int:  # noqa: ARG002
        """The number of work-items of a launch for m queries; `cells` are those that groups serve, if they do so."""
        return m


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig(VisitConfig):
    """A walk over runs of points."""

    #: the layout of the sorted copy: see :func:`numbers_per_point`
    layout: str
    #: candidates in a batch, which is tested at once; 1 for no batches
    width: int
    #: how many times the compiler unrolls the loop of a light function, and the same where each candidate may have an
    #: image of its own; None leaves that to the compiler
    unrolled: tuple[int, int] | None
    #: whether a light function tests candidates with fused operations first, and again without them where rounding may
    #: decide
    fused: bool
    #: words of a hit mask that a work-item collects before it writes them
    held: int
    #: words of a hit mask that are loaded ahead of the one that is read
    ahead: int
    #: neighbors of each row that a work-group reads from its hit masks at a time
    stage: int

    in_order: ClassVar[bool] = False

    @property
    def columns(self) -> bool:
        """Whether each coordinate is a column, as on a CPU."""
        return self.layout == "columns"

    def names(self) -> dict[str, Any]:
        """The fields, the layout as a flag, and the bits of a word of a hit mask."""
        return {**super().names(), "columns": self.columns, "by_place": True, "bits": _MASK_BITS}

    def inline(self) -> RunConfig:
        """The same walk as a part of another kernel."""
        return dataclasses.replace(self, width=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkConfig(RunConfig):
    """A walk over cells."""

    #: the number of work-items that run in lockstep; 1 where each runs on its own
    lockstep: int

    #: whether the walk can go over a window twice
    twice: ClassVar[bool] = True

    def names(self) -> dict[str, Any]:
        """The fields; of many systems each has a grid of its own. Some walks can count neighbors first."""
        own = {"own_cells": self.periodic in SYSTEMS, "counts_first": self.twice and self.width == 1}
        return {**super().names(), **own}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TileConfig(VisitConfig):
    """The walk over all pairs: ``tile`` points at a time pass through local memory, or none where ``tile`` is 0."""

    tile: int
    #: the units of a launch are queries in the caller's order
    in_order: ClassVar[bool] = True

    def inline(self) -> TileConfig:
        """The same walk as a part of another kernel, whose work-items need not run together."""
        return dataclasses.replace(self, tile=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisitVariant:
    """How one visit differs from another of the same index; it is compiled in, so that plain visits pay nothing."""

    #: whether queries are another array than the points
    foreign: bool = False
    #: whether these come as a copy in search order
    placed: bool = False
    #: whether each query has a radius of its own
    radii: bool = False
    #: whether each pair is found once, with ``i < j``
    half: bool = False
    #: whether the launch serves a range of queries only
    part: bool = False
    #: whether several work-items share the candidates of each query
    shared: bool = False
    #: whether the walk is a part of a user's own kernel
    inline: bool = False
    #: the images of a periodic box that a launch serves. "all" serves every image. "in_box" does nothing unless all
    #: points lie in the box, and "out_of_box" does nothing if they do. "wraps_once" is "in_box" for the points' own
    #: queries whose windows cross at most one edge of each axis. In walks over tiles, "per_candidate" loads candidates
    #: together with their images, and "far_from_box" serves the queries that lie too far from the box for that
    images: str = "all"
    #: what the walk does with a first pass. A count writes a hit mask ("write_mask"), or fills a neighbor buffer of
    #: ``buffer_slots`` for each query ("fill_buffer"). The walk of the list reads the mask ("read_mask"), or serves
    #: only the queries that overflow the buffer ("overflow"). "" is a walk without a first pass
    first_pass: str = ""
    buffer_slots: int = 0


def count_bits(slots: int) -> int:
    """The number of bits of a packed count that hold the number of neighbors, up to the slots of a buffer and one more.

    The other bits of the integer hold the query's place in the buffer.
    """
    return (slots + 1).bit_length()


def numbers_per_point(layout: str, dim: int) -> int:
    """How many numbers a sorted copy holds for each point.

    "records" hold four numbers for each point: its coordinates, padded with 0, and its index. "columns" are one array
    for each coordinate, one behind the other, and one for the indices. "pairs" are columns whose first two coordinates
    are interleaved in one array.
    """
    return 4 if layout == "records" else dim + 1


def sorted_copy_length(layout: str, dim: int, n: int) -> int:
    """The length of a sorted copy of n points. In columns the last batch may read beyond the last point."""
    return numbers_per_point(layout, dim) * n + (_MOST_AT_ONCE - 1 if layout == "columns" else 0)


def vector_length(dim: int) -> int:
    """The length of the smallest vector of OpenCL C that holds `dim` coordinates."""
    return next(lanes for lanes in LANES if lanes >= dim)


def components(dim: int) -> tuple[str, ...]:
    """The suffixes by which OpenCL C names the coordinates of a point in a vector."""
    return ("",) if dim == 1 else tuple(f".s{k:x}" for k in range(dim))
