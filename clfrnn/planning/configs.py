"""Configs: what is compiled into a program that goes through points and nothing else, as frozen data.

Radius, box and counts are kernel arguments, so that a program serves every cloud of its dimension and dtype.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from ..profile import DeviceProfile

__all__ = [
    "LANES",
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
    "numbers_of_point",
    "room_for_points",
    "vector_length",
]

REAL_SIZE = {"float": 4, "double": 8}

#: The lengths that vectors of OpenCL C have, a single number among them.
LANES = (1, 2, 3, 4, 8, 16)

#: Integers of a sector of the memory of GPUs.
SECTOR = 8

#: Candidates that are tested at once, at most.
_MOST_AT_ONCE = 8

#: Candidates that have a bit in a word of a hit mask.
_MASK_BITS = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelConfig:
    """What every program is specialised by."""

    work_group_size: int

    def names(self) -> dict[str, Any]:
        """The names a template sees: the fields, and what follows from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def options(self, profile: DeviceProfile) -> list[str]:  # noqa: ARG002
        """What its program is compiled with besides what every program of the device is."""
        return []


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointConfig(KernelConfig):
    """A program that reads points: their number of coordinates and their type in OpenCL C."""

    dim: int
    real: str

    @property
    def vector_length(self) -> int:
        """Components of ``real_vec``, the vector that holds one point."""
        return vector_length(self.dim)

    def names(self) -> dict[str, Any]:
        """The fields, ``real_vec``'s length as a suffix, and the suffix of each coordinate."""
        suffix = "" if self.vector_length == 1 else str(self.vector_length)
        return {
            **super().names(),
            "lanes": suffix,
            "vector_length": self.vector_length,
            "components": components(self.dim),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class CounterConfig(PointConfig):
    """A program that sorts points into cells, whose ``counters`` a group holds in local memory."""

    periodic: bool
    counters: int

    def names(self) -> dict[str, Any]:
        """The fields; how many boxes of points have room in the counters' place; numbers of 4 bytes that this takes."""
        box = (2 * self.dim + 1) * REAL_SIZE[self.real]
        room = max(4 * self.counters, box)
        slots = max(1, min(self.work_group_size // 2, room // box))
        return {**super().names(), "slots": slots, "room": room // 4}


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisitConfig(PointConfig):
    """A program that visits neighbors. ``square_root`` says how distances are rounded: see :func:`square_root`."""

    square_root: str
    #: some axis is periodic; the code for that is compiled in, which axes is said by their lengths
    periodic: bool
    #: the most registers that a work-item may hold, where the compiler is told; None leaves that to it
    registers: int | None = None

    def names(self) -> dict[str, Any]:
        """The fields; queries go by themselves, and points lie as they came, unless a walk says otherwise."""
        return {"layout": "", "width": 1, "fused": False, "by_place": False, **super().names(), "packed": False}

    def options(self, profile: DeviceProfile) -> list[str]:
        """The bound on registers."""
        return [] if self.registers is None else [profile.register_option.format(self.registers)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig(VisitConfig):
    """A walk over runs of points that are kept beside each other."""

    #: how the sorted copy keeps points: see :func:`numbers_of_point`
    layout: str
    #: candidates that are tested at once as a batch; 1 leaves each to itself
    width: int
    #: how many of them a loop of a light function takes at a time, and how many of those that all images are looked
    #: into for; None leaves that to the compiler
    unrolled: tuple[int, int] | None
    #: a light function tests candidates by fused operations, and again as the contract has it where rounding may decide
    fused: bool
    #: words of a query's hit mask that wait for those of its neighbors when they are written
    held: int
    #: words of a hit mask that are under way while one is read
    ahead: int
    #: neighbors of each row that a group reads from its hit mask at a time
    stage: int

    in_order: ClassVar[bool] = False

    @property
    def columns(self) -> bool:
        """Whether each coordinate is a column of its own, as on a CPU."""
        return self.layout == "columns"

    def names(self) -> dict[str, Any]:
        """The fields, that runs are of places, and the bits of a word of a hit mask."""
        return {**super().names(), "columns": self.columns, "by_place": True, "bits": _MASK_BITS}

    def inline(self) -> RunConfig:
        """The same walk as a piece of another kernel."""
        return dataclasses.replace(self, width=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkConfig(RunConfig):
    """A walk over cells."""

    #: work-items that go in step, each waiting for the others; 1 where each goes its own way
    lockstep: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class TileConfig(VisitConfig):
    """The walk over all pairs: ``tile`` points at a time pass through local memory, or none where it is 0."""

    tile: int
    #: units of a launch are queries by their own numbers
    in_order: ClassVar[bool] = True

    def inline(self) -> TileConfig:
        """The same walk as a piece of another kernel, whose work-items need not stay together."""
        return dataclasses.replace(self, tile=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisitVariant:
    """How one visit differs from another of the same index, compiled in so that the plain one pays nothing."""

    #: queries are another array than the points
    foreign: bool = False
    #: and come as a copy in an order of the walk's own
    placed: bool = False
    #: each query has a radius of its own
    radii: bool = False
    #: each pair once, ``i < j``
    half: bool = False
    #: only queries of a range of numbers are served
    part: bool = False
    #: several work-items serve each query between them, where the walk says that this pays
    shared: bool = False
    #: the walk is a piece of a user's own kernel
    inline: bool = False
    #: the images of a periodic box that a launch serves: "all"; or, where the method has walks for some of them,
    #: "in_box", which does nothing unless all points lie in the box, and "out_of_box", which does nothing if they
    #: do; "wraps_once" is "in_box" for the points' own queries where their windows pass one edge of each axis at
    #: most. Walks through tiles have "per_candidate", whose candidates come with their images, and "far" for the
    #: queries that lie too far from the box for that
    images: str = "all"
    #: what the walk does with a first pass: a count writes a hit mask ("write_mask"), or fills a neighbor buffer of some
    #: slots for each query ("fill_buffer"); the walk behind it reads the mask ("read_mask"), or serves the queries with
    #: more neighbors than slots ("overflow"); "" where there is none
    first_pass: str = ""
    buffer_slots: int = 0


def count_bits(slots: int) -> int:
    """Bits of a packed count that hold the number of neighbors, up to the slots of a buffer or one more.

    The other bits of the integer hold the query's place in the buffer.
    """
    return (slots + 1).bit_length()


def numbers_of_point(layout: str, dim: int) -> int:
    """Numbers that a sorted copy keeps of a point.

    "records" are four lanes a point: its coordinates, 0 where there is none, and its number. "columns" are one array
    for each coordinate and one of the points' numbers, one behind the other. "pairs" are the same, but that the first
    two coordinates stand beside each other.
    """
    return 4 if layout == "records" else dim + 1


def room_for_points(layout: str, dim: int, n: int) -> int:
    """Numbers that a sorted copy of n points has room for: in columns a batch may begin with the last of them."""
    return numbers_of_point(layout, dim) * n + (_MOST_AT_ONCE - 1 if layout == "columns" else 0)


def vector_length(dim: int) -> int:
    """Components of the smallest vector of OpenCL C that holds `dim` coordinates."""
    return next(lanes for lanes in LANES if lanes >= dim)


def components(dim: int) -> tuple[str, ...]:
    """How OpenCL C names the coordinates of a point in registers."""
    return ("",) if dim == 1 else tuple(f".s{k:x}" for k in range(dim))
