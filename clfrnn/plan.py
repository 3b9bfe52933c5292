"""Planning: Problem + DeviceProfile -> KernelConfig, by pure functions that need no device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .configs import REAL_SIZE, KernelConfig, PointConfig, TileConfig, WalkConfig
from .period import PeriodicBox
from .primitive_configs import (
    GatherConfig,
    PairConfig,
    PartConfig,
    ReduceConfig,
    RowSortConfig,
    ScanConfig,
    SortConfig,
    StashedRowsConfig,
    TakeConfig,
    WidenConfig,
)
from .profile import DeviceProfile
from .survey import Survey

__all__ = [
    "DIGIT_BITS",
    "Problem",
    "group_size",
    "plan_fill",
    "plan_gather",
    "plan_images",
    "plan_pairs",
    "plan_part",
    "plan_reduce",
    "plan_row_sort",
    "plan_scan",
    "plan_short_scan",
    "plan_sort",
    "plan_stashed_rows",
    "plan_take",
    "plan_tile",
    "plan_walk",
    "plan_widen",
    "square_root",
]

#: Bits of a key that a pass of a sort goes by.
DIGIT_BITS = 4

#: Bytes of the vectors that a CPU tests candidates in; compilers split them where its own are shorter.
_BATCH = 32

#: With so many registers each, as many work-items as most GPUs can hold are in flight.
_FEW_REGISTERS = 32

#: Counts that a group scans of few (measured on an H200: half as many, or groups half as wide, take longer).
_SHORT_TILE = 4096

#: Counts that an item of such a group keeps in registers, at most.
_MOST_SCANNED = 16


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


def plan_walk(
    profile: DeviceProfile, *, dim: int, real: str, periodic: bool, edges: bool = False, crowded: bool = False
) -> WalkConfig:
    """A walk over cells: small groups on a GPU, where a crowded query keeps its group waiting (Chisholm 2020, §4.2).

    With `edges` for counts in a periodic box, where those who look over an edge have more to do: the others pass the
    time only if there are many of them, with few registers each (measured). `crowded` where queries have runs of some
    candidates to go through, and no box is periodic.
    """
    cpu = profile.kind == "cpu"
    ahead = crowded and not cpu
    return WalkConfig(
        work_group_size=group_size(profile, 256 if cpu else 128 if edges else 64),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        # On a CPU a work-item tests a vector at a time; on a GPU one record is one wide load, and lanes that find
        # nothing wait for the others anyway. Of many candidates no more is loaded than is asked for.
        layout="columns" if cpu else "pairs" if crowded else "records",
        width=_BATCH // REAL_SIZE[real] if cpu else 1,
        # The fewer candidates at a time, the fewer registers, hence the more work-items that hide each other's waiting;
        # where each candidate may have an image of its own, they are too many already.
        unrolled=None if cpu else (4, 4) if ahead else (2, 4),
        # Two operations less for each candidate.
        fused=ahead and profile.fma and real == "float",
        lockstep=1 if cpu else profile.simd_width,
        registers=_FEW_REGISTERS if edges and profile.register_option and real == "float" else None,
    )


def plan_reduce(profile: DeviceProfile, *, dim: int, real: str) -> ReduceConfig:
    """Wide groups on a GPU; narrow ones on a CPU, where a group's items take turns and share its cache lines."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 8)
    partial = max(2 * dim * REAL_SIZE[real] + 4, 24)  # a box and a row, or three sums
    while size > 1 and size * partial > profile.usable_local_memory:
        size //= 2
    return ReduceConfig(work_group_size=size, dim=dim, real=real)


def plan_take(profile: DeviceProfile, *, word: str) -> TakeConfig:
    """One work-item per row."""
    return TakeConfig(work_group_size=group_size(profile, 128), word=word)


def plan_widen(profile: DeviceProfile) -> WidenConfig:
    """Some for a work-item, as groups that find nothing to do should be few."""
    return WidenConfig(work_group_size=group_size(profile, 128), items=4)


def plan_part(profile: DeviceProfile, *, word: str) -> PartConfig:
    """Likewise."""
    return PartConfig(work_group_size=group_size(profile, 128), items=8, word=word)


def plan_images(profile: DeviceProfile, *, dim: int, real: str) -> PointConfig:  # noqa: ARG001
    """One work-item: a few numbers for each axis."""
    return PointConfig(work_group_size=1, dim=dim, real=real)


def plan_fill(profile: DeviceProfile) -> KernelConfig:
    """One work-item per element."""
    return KernelConfig(work_group_size=group_size(profile, 128))


def plan_gather(profile: DeviceProfile, *, dim: int, real: str) -> GatherConfig:
    """One work-item per row, nothing shared."""
    return GatherConfig(work_group_size=group_size(profile, 128), dim=dim, real=real)


def plan_stashed_rows(profile: DeviceProfile, *, stashed: int, offset: str) -> StashedRowsConfig:
    """Groups whose rows fit local memory, beside a sum of each."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 8)
    while size > 1 and (4 * stashed + 8) * size > profile.usable_local_memory:
        size //= 2
    return StashedRowsConfig(work_group_size=size, stashed=stashed, offset=offset)


def plan_scan(profile: DeviceProfile, *, total: str, out: str, stashed: int = 0) -> ScanConfig:
    """Tiles of a few thousand counts; on a CPU narrow groups with many items each."""
    gpu = profile.kind == "gpu"
    size, items = group_size(profile, 256 if gpu else 8), 8 if gpu else 64
    return _fitting(
        profile, ScanConfig(work_group_size=size, items=items, stashed=stashed, total=total, out=out, through_local=gpu)
    )


def plan_short_scan(profile: DeviceProfile, *, total: str, out: str, stashed: int = 0) -> ScanConfig:
    """On a GPU tiles of one size, by groups as wide as can be, smaller where these are narrow; else one group."""
    gpu = profile.kind == "gpu"
    size = group_size(profile, _SHORT_TILE // 4 if gpu else 8)
    items = min(_SHORT_TILE // size, _MOST_SCANNED) if gpu else 512
    return _fitting(
        profile,
        ScanConfig(work_group_size=size, items=items, stashed=stashed, total=total, out=out, through_local=False),
    )


def _fitting(profile: DeviceProfile, config: ScanConfig) -> ScanConfig:
    """With groups that local memory has room for."""
    while config.work_group_size > 1 and config.local_memory > profile.usable_local_memory:
        config = dataclasses.replace(config, work_group_size=config.work_group_size // 2)
    return config


def plan_sort(profile: DeviceProfile, *, key: str) -> SortConfig:
    """Few bits a pass: a counter for each digit and work-item then fits the local memory of every device."""
    gpu = profile.kind == "gpu"
    size = group_size(profile, 128 if gpu else 8)
    config = SortConfig(work_group_size=size, items=16 if gpu else 256, digit_bits=DIGIT_BITS, key=key)
    while config.work_group_size > 1 and config.local_memory > profile.usable_local_memory:
        config = dataclasses.replace(config, work_group_size=config.work_group_size // 2)
    return config


#: Entries of a row that are sorted in local memory, at most: twice as many keys of 12 bytes fit every device.
_SHORT_ROW = 512


def plan_pairs(
    profile: DeviceProfile,
    *,
    dim: int,
    real: str,
    offset: str,
    distances: str,
    vectors: bool,
    shifts: bool,
    periodic: bool,
) -> PairConfig:
    """Some pairs for each work-item: the rows of a group are looked for once."""
    return PairConfig(
        work_group_size=group_size(profile, 256),
        items=8,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        offset=offset,
        distances=distances,
        vectors=vectors,
        shifts=shifts,
        periodic=periodic,
    )


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
    """One work-item per row; on a GPU each entry of a short one by itself."""
    together = profile.kind == "gpu" and not (vectors or shifts or (distances and not by_distance))
    return RowSortConfig(
        work_group_size=group_size(profile, 256 if together else 64),
        tile=_SHORT_ROW if together else 0,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        by_distance=by_distance,
        offset=offset,
        distances=distances,
        vectors=vectors,
        shifts=shifts,
    )
