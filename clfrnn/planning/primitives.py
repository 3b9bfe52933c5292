"""Planning: Problem + DeviceProfile -> KernelConfig, by pure functions that need no device."""

from __future__ import annotations

import dataclasses

from ..profile import DeviceProfile
from .configs import REAL_SIZE, KernelConfig, PointConfig
from .groups import group_size, square_root
from .primitive_configs import (
    BufferToRowsConfig,
    GatherConfig,
    PairConfig,
    PartConfig,
    ReduceConfig,
    RowSortConfig,
    ScanConfig,
    SortConfig,
    TakeConfig,
    WidenConfig,
)

__all__ = [
    "DIGIT_BITS",
    "plan_buffer_to_rows",
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
    "plan_take",
    "plan_widen",
]

#: Bits of a key that a pass of a sort goes by.
DIGIT_BITS = 4


#: Counts that a group scans of few (measured on an H200: half as many, or groups half as wide, take longer).
_SHORT_TILE = 4096

#: Counts that an item of such a group keeps in registers, at most.
_MOST_SCANNED = 16


#: Work-items of a group on a CPU that goes through an array once: no barriers, which take compilers for CPUs a quarter of
#: a second each kernel where a group has eight, and the kernels no longer (measured with PoCL and Intel's runtime: scans
#: of 20,000 to 4,000,000 counts in 0.5 to 1.0 times the time, boxes and samples in 0.8 to 1.1).
_ALONE = 1


def plan_reduce(profile: DeviceProfile, *, dim: int, real: str) -> ReduceConfig:
    """Wide groups on a GPU; work-items by themselves on a CPU."""
    size = group_size(profile, 256 if profile.kind == "gpu" else _ALONE)
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


def plan_buffer_to_rows(profile: DeviceProfile, *, buffer_slots: int, offset: str) -> BufferToRowsConfig:
    """Groups whose rows fit local memory, beside a sum of each."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 8)
    while size > 1 and (4 * buffer_slots + 8) * size > profile.usable_local_memory:
        size //= 2
    return BufferToRowsConfig(work_group_size=size, buffer_slots=buffer_slots, offset=offset)


def plan_scan(profile: DeviceProfile, *, total: str, out: str, buffer_slots: int = 0) -> ScanConfig:
    """Tiles of a few thousand counts; on a CPU work-items by themselves, with many counts each."""
    gpu = profile.kind == "gpu"
    size, items = group_size(profile, 256 if gpu else _ALONE), 8 if gpu else 64
    return _fitting(
        profile,
        ScanConfig(
            work_group_size=size, items=items, buffer_slots=buffer_slots, total=total, out=out, through_local=gpu
        ),
    )


def plan_short_scan(profile: DeviceProfile, *, total: str, out: str, buffer_slots: int = 0) -> ScanConfig:
    """On a GPU tiles of one size, by groups as wide as can be, smaller where these are narrow; else one group."""
    gpu = profile.kind == "gpu"
    size = group_size(profile, _SHORT_TILE // 4 if gpu else _ALONE)
    items = min(_SHORT_TILE // size, _MOST_SCANNED) if gpu else 512
    return _fitting(
        profile,
        ScanConfig(
            work_group_size=size, items=items, buffer_slots=buffer_slots, total=total, out=out, through_local=False
        ),
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
