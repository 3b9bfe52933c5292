"""Planning: Problem + DeviceProfile -> KernelConfig, by pure functions that need no device.

A config holds what is compiled into a program and nothing else: radius, box and counts are kernel arguments, so that
a program serves every cloud of its dimension and dtype.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from .domain import PeriodicBox
from .errors import NoDeviceError
from .profile import DeviceProfile
from .survey import Survey

__all__ = [
    "LANES",
    "REAL_SIZE",
    "GatherConfig",
    "KernelConfig",
    "PointConfig",
    "Problem",
    "ReduceConfig",
    "RowSortConfig",
    "ScanConfig",
    "SortConfig",
    "TakeConfig",
    "TileConfig",
    "VisitConfig",
    "VisitVariant",
    "WalkConfig",
    "check_turns",
    "components",
    "group_size",
    "launch_budget",
    "plan_fill",
    "plan_gather",
    "plan_images",
    "plan_reduce",
    "plan_row_sort",
    "plan_scan",
    "plan_sort",
    "plan_take",
    "plan_tile",
    "plan_walk",
    "sorts_within_turns",
    "square_root",
    "turns_refusal",
    "vector_length",
]

#: With so many registers each, as many work-items as most GPUs can hold are in flight.
_FEW_REGISTERS = 32

REAL_SIZE = {"float": 4, "double": 8}

#: The lengths that vectors of OpenCL C have, a single number among them.
LANES = (1, 2, 3, 4, 8, 16)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """What is to be searched: sizes, dtype, radius, the survey of the points, the method's options, the periodic box.

    Where an axis is periodic, the survey's extent on it is one period.
    """

    n: int
    dim: int
    real: str
    radius: float
    survey: Survey
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: the box whose images count, or None when no axis is periodic
    box: PeriodicBox | None = None
    #: why this method, in words
    why: str = ""


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
class VisitConfig(PointConfig):
    """A program that visits neighbors. ``square_root`` says how distances are rounded: see :func:`square_root`."""

    square_root: str
    #: some axis is periodic; the code for that is compiled in, which axes is said by their lengths
    periodic: bool
    #: the most registers that a work-item may hold, where the compiler is told; None leaves that to it
    registers: int | None = None

    def options(self, profile: DeviceProfile) -> list[str]:
        """The bound on registers."""
        return [] if self.registers is None else [profile.register_option.format(self.registers)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkConfig(VisitConfig):
    """A walk over cells."""

    #: the sorted copy holds columns, one for each coordinate and one for ids, not a record for each point
    columns: bool
    #: candidates that compilers are told to test at once; 1 leaves each to itself
    width: int
    #: how many of them a loop of a light function takes at a time, and how many of those that all images are looked
    #: into for; None leaves that to the compiler
    unrolled: tuple[int, int] | None
    #: work-items that go in step, each waiting for the others; 1 where each goes its own way
    lockstep: int

    in_order: ClassVar[bool] = False

    def inline(self) -> WalkConfig:
        """The same walk as a piece of another kernel."""
        return dataclasses.replace(self, width=1)


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
    #: each query has a radius of its own
    radii: bool = False
    #: each pair once, ``i < j``
    half: bool = False
    #: only queries of a range of numbers are served
    part: bool = False
    #: the walk is a piece of a user's own kernel
    inline: bool = False
    #: in a periodic box: "all", or where the method divides them, "home", which does nothing unless all points lie in
    #: the box, and "away", which does nothing if they do; "next" is "home" for the points' own queries where their
    #: windows meet no image but the next on an axis. Of walks by tiles "carried", whose candidates carry their
    #: images, and "far", which serves the queries that lie too far from the box for them
    images: str = "all"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceConfig(PointConfig):
    """Bounding box and occupancy sample: groups stride over the points."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GatherConfig(PointConfig):
    """Copies of points in another order or layout."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TakeConfig(KernelConfig):
    """Rows of any dtype in another order, copied word by word."""

    word: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScanConfig(KernelConfig):
    """Exclusive scan of int32 counts: ``items`` per work-item and tile, sums kept in ``total``, written as ``out``."""

    items: int
    total: str
    out: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class SortConfig(KernelConfig):
    """Radix sort of key-value pairs: ``digit_bits`` per pass, ``items`` per work-item."""

    items: int
    digit_bits: int
    key: str

    def names(self) -> dict[str, Any]:
        """The fields, the number of digits, and the pairs of one group."""
        return {**super().names(), "digits": 1 << self.digit_bits, "tile": self.work_group_size * self.items}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowSortConfig(PointConfig):
    """Sorting inside the rows of a list: by point, or by squared distance and point."""

    square_root: str
    by_distance: bool
    offset: str
    distances: bool
    vectors: bool
    shifts: bool

    def names(self) -> dict[str, Any]:
        """The fields, and the arrays of coordinates' type that are moved along with the points."""
        moved = ("keys",) if self.by_distance else ("distances",) if self.distances else ()
        return {**super().names(), "moved": moved}


def vector_length(dim: int) -> int:
    """Components of the smallest vector of OpenCL C that holds `dim` coordinates."""
    return next(lanes for lanes in LANES if lanes >= dim)


def components(dim: int) -> tuple[str, ...]:
    """How OpenCL C names the coordinates of a point in registers."""
    return ("",) if dim == 1 else tuple(f".s{k:x}" for k in range(dim))


def check_turns(profile: DeviceProfile, *, problem: Problem, side: float, rows: float) -> None:
    """Raise where queries could take more turns through candidates, and `rows` of cells, than the driver allows.

    A window is wider than the radius by a `side` of a cell. Items in lockstep take a turn together, also where each has
    come to another row of candidates.
    """
    images = 1.0 if problem.box is None else problem.box.images(problem.radius + side)
    turns = images * (problem.n * profile.simd_width + rows)
    if profile.loop_turns is not None and turns > profile.loop_turns:
        raise turns_refusal(profile, f"a query of {problem.n:,} points could take {turns:,.0f}")


def sorts_within_turns(profile: DeviceProfile, longest: int) -> bool:
    """Whether the driver allows as many turns as it takes to sort a row of `longest` neighbors."""
    return profile.loop_turns is None or longest * (math.log2(max(1, longest)) + 2) <= profile.loop_turns


def turns_refusal(profile: DeviceProfile, wanted: str) -> NoDeviceError:
    """The error that says which device ends loops early, what `wanted` more turns, and what to do."""
    return NoDeviceError(
        f"{profile}: its driver ends the loops of a work-item after {profile.loop_turns:,} turns and would lose what "
        f"comes behind; {wanted}. Take another device, such as the CPU through PoCL: pip install 'clfrnn[pocl]'"
    )


def group_size(profile: DeviceProfile, preferred: int) -> int:
    """The largest power of two up to `preferred` that the device allows for a work-group."""
    size = 1
    while size * 2 <= min(preferred, profile.max_work_group_size):
        size *= 2
    return size


def square_root(profile: DeviceProfile, real: str) -> str:
    """How a correctly rounded root is had: the device's own, by way of double, or mended by integer arithmetic.

    OpenCL rounds ``sqrt`` of doubles correctly but allows 3 ulp for floats.
    """
    if real == "double" or profile.rounded_sqrt:
        return "native"
    return "double" if profile.fp64 else "integer"


def launch_budget(profile: DeviceProfile) -> int:
    """Pairs that one launch may test: a cautious guess of what the device does in half a second."""
    lanes = 64 if profile.kind == "gpu" else 2
    return max(1 << 20, profile.compute_units * profile.clock * 1_000_000 * lanes // 32)


def plan_tile(profile: DeviceProfile, *, dim: int, real: str, periodic: bool) -> TileConfig:
    """The brute-force walk: a tile of one point per work-item, fewer where local memory is short."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 64)
    tile = max(size, 64)
    while tile > 1 and tile * dim * REAL_SIZE[real] > profile.usable_local_memory:
        tile //= 2
    return TileConfig(
        work_group_size=size,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        tile=tile,
    )


def plan_walk(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, edges: bool = False) -> WalkConfig:
    """A walk over cells: small groups on a GPU, where a crowded query keeps its group waiting (Chisholm 2020, §4.2).

    With `edges` for counts in a periodic box, where those who look over an edge have more to do: the others pass the
    time only if there are many of them, with few registers each (measured).
    """
    cpu = profile.kind == "cpu"
    return WalkConfig(
        work_group_size=group_size(profile, 256 if cpu else 128 if edges else 64),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        # On a CPU a work-item tests a vector at a time; on a GPU one record is one wide load, and lanes that find
        # nothing wait for the others anyway.
        columns=cpu,
        width=max(4, profile.simd_width * 4 // REAL_SIZE[real]) if cpu else 1,
        # The fewer candidates at a time, the fewer registers, hence the more work-items that hide each other's waiting;
        # where each candidate may have an image of its own, they are too many already.
        unrolled=None if cpu else (2, 4),
        lockstep=1 if cpu else profile.simd_width,
        registers=_FEW_REGISTERS if edges and profile.register_option and real == "float" else None,
    )


def plan_reduce(profile: DeviceProfile, *, dim: int, real: str) -> ReduceConfig:
    """Wide groups on a GPU; narrow ones on a CPU, where a group's items take turns and share its cache lines."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 8)
    partial = max(2 * dim * REAL_SIZE[real] + 4, 16)  # a box and a row, or two sums
    while size > 1 and size * partial > profile.usable_local_memory:
        size //= 2
    return ReduceConfig(work_group_size=size, dim=dim, real=real)


def plan_take(profile: DeviceProfile, *, word: str) -> TakeConfig:
    """One work-item per row."""
    return TakeConfig(work_group_size=group_size(profile, 128), word=word)


def plan_images(profile: DeviceProfile, *, dim: int, real: str) -> PointConfig:  # noqa: ARG001
    """One work-item: a few numbers for each axis."""
    return PointConfig(work_group_size=1, dim=dim, real=real)


def plan_fill(profile: DeviceProfile) -> KernelConfig:
    """One work-item per element."""
    return KernelConfig(work_group_size=group_size(profile, 128))


def plan_gather(profile: DeviceProfile, *, dim: int, real: str) -> GatherConfig:
    """One work-item per row, nothing shared."""
    return GatherConfig(work_group_size=group_size(profile, 128), dim=dim, real=real)


def plan_scan(profile: DeviceProfile, *, total: str, out: str) -> ScanConfig:
    """Tiles of a few thousand counts; on a CPU narrow groups with many items each."""
    gpu = profile.kind == "gpu"
    size = group_size(profile, 256 if gpu else 8)
    while size > 1 and size * 8 > profile.usable_local_memory:
        size //= 2
    return ScanConfig(work_group_size=size, items=8 if gpu else 64, total=total, out=out)


def plan_sort(profile: DeviceProfile, *, key: str) -> SortConfig:
    """Four bits a pass: a counter for each digit and work-item then fits the local memory of every device."""
    gpu = profile.kind == "gpu"
    size = group_size(profile, 128 if gpu else 8)
    digit_bits = 4
    while size > 1 and _sort_memory(size, digit_bits) > profile.usable_local_memory:
        size //= 2
    return SortConfig(work_group_size=size, items=8 if gpu else 256, digit_bits=digit_bits, key=key)


def _sort_memory(size: int, digit_bits: int) -> int:
    """Bytes of local memory of one radix-sort group: counters, their sums, and the digits' first ranks."""
    return 4 * ((size << digit_bits) + size + (1 << digit_bits))


def plan_row_sort(
    profile: DeviceProfile,
    *,
    dim: int,
    real: str,
    by_distance: bool,
    offset: str,
    distances: bool,
    vectors: bool,
    shifts: bool,
) -> RowSortConfig:
    """One work-item per row."""
    return RowSortConfig(
        work_group_size=group_size(profile, 64),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        by_distance=by_distance,
        offset=offset,
        distances=distances,
        vectors=vectors,
        shifts=shifts,
    )
