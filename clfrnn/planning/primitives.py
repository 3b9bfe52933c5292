"""Primitives, which know nothing of searches: what is compiled into each, and how that is planned. Pure functions."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from ..profile import DeviceProfile
from ..survey import Sample, occupancy_sample
from .configs import REAL_SIZE, KernelConfig, PointConfig
from .groups import group_size, square_root
from .tuning import Tuning

__all__ = [
    "DIGIT_BITS",
    "BufferToRowsConfig",
    "PairConfig",
    "PartConfig",
    "ReduceConfig",
    "RowSortConfig",
    "ScanConfig",
    "SortConfig",
    "TakeConfig",
    "WidenConfig",
    "plan_buffer_to_rows",
    "plan_fill",
    "plan_gather",
    "plan_images",
    "plan_pairs",
    "plan_part",
    "plan_reduce",
    "plan_row_sort",
    "plan_sample",
    "plan_scan",
    "plan_short_scan",
    "plan_sort",
    "plan_take",
    "plan_widen",
]

#: Bits of a key that a pass of a sort goes by: a counter for each digit and work-item fits every local memory.
DIGIT_BITS = 4

#: Bytes of a key.
_KEY_SIZE = {"uint": 4, "ulong": 8}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceConfig(PointConfig):
    """Bounding box and occupancy sample: groups stride over the points."""

    @property
    def local_memory(self) -> int:
        """Bytes of a group: a box and a row, or three sums, of each item."""
        return self.work_group_size * max(2 * self.dim * REAL_SIZE[self.real] + 4, 24)


def plan_reduce(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> ReduceConfig:
    """Groups whose results fit local memory."""
    size = group_size(profile, tuning.primitives.reduce_group)
    return _fitting(profile, ReduceConfig(work_group_size=size, dim=dim, real=real))


def plan_sample(tuning: Tuning, n: int) -> Sample:
    """The occupancy sample of n points."""
    numbers = tuning.primitives
    return occupancy_sample(
        n, points=numbers.sampled_points, counted=numbers.counted_points, slots=numbers.sample_slots
    )


def plan_images(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> PointConfig:  # noqa: ARG001
    """One work-item: a few numbers for each axis."""
    return PointConfig(work_group_size=1, dim=dim, real=real)


def plan_fill(profile: DeviceProfile, tuning: Tuning) -> KernelConfig:
    """One work-item per element."""
    return KernelConfig(work_group_size=group_size(profile, tuning.primitives.copy_group))


def plan_gather(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> PointConfig:
    """One work-item per row, nothing shared."""
    return PointConfig(work_group_size=group_size(profile, tuning.primitives.copy_group), dim=dim, real=real)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TakeConfig(KernelConfig):
    """Rows of any dtype in another order, copied word by word."""

    word: str


def plan_take(profile: DeviceProfile, tuning: Tuning, *, word: str) -> TakeConfig:
    """One work-item per row."""
    return TakeConfig(work_group_size=group_size(profile, tuning.primitives.copy_group), word=word)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WidenConfig(KernelConfig):
    """Numbers from bytes, ``items`` fours for a work-item."""

    items: int


def plan_widen(profile: DeviceProfile, tuning: Tuning) -> WidenConfig:
    """Some for a work-item, as groups that find nothing to do should be few."""
    numbers = tuning.primitives
    return WidenConfig(work_group_size=group_size(profile, numbers.copy_group), items=numbers.widen_items)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartConfig(KernelConfig):
    """Pairs of two of ``word`` taken apart, ``items`` for a work-item."""

    items: int
    word: str


def plan_part(profile: DeviceProfile, tuning: Tuning, *, word: str) -> PartConfig:
    """As :func:`plan_widen`."""
    numbers = tuning.primitives
    return PartConfig(work_group_size=group_size(profile, numbers.copy_group), items=numbers.unpack_items, word=word)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BufferToRowsConfig(KernelConfig):
    """Rows from a neighbor buffer of ``buffer_slots`` for each query, by offsets of the type ``offset``."""

    buffer_slots: int
    offset: str

    @property
    def local_memory(self) -> int:
        """Bytes of a group: the rows of its items, and a sum of each."""
        return self.work_group_size * (4 * self.buffer_slots + 8)


def plan_buffer_to_rows(
    profile: DeviceProfile, tuning: Tuning, *, buffer_slots: int, offset: str
) -> BufferToRowsConfig:
    """Groups whose rows fit local memory."""
    size = group_size(profile, tuning.primitives.buffer_rows_group)
    return _fitting(profile, BufferToRowsConfig(work_group_size=size, buffer_slots=buffer_slots, offset=offset))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScanConfig(KernelConfig):
    """Exclusive scan of int32 counts: ``items`` per work-item and tile, sums in ``total``, written as ``out``."""

    items: int
    #: slots of the neighbor buffer whose rows hold the counts, see ``first_pass/packed_counts.mako``; 0 without one
    buffer_slots: int
    total: str
    out: str
    #: counts and starts pass through local memory, so that items beside each other load and write what is
    through_local: bool

    @property
    def local_memory(self) -> int:
        """Bytes of local memory, were all sums of the widest type."""
        return 8 * self.work_group_size * (1 + (self.items + 1) * self.through_local)


def plan_scan(profile: DeviceProfile, tuning: Tuning, *, total: str, out: str, buffer_slots: int = 0) -> ScanConfig:
    """Tiles of a few thousand counts."""
    config = ScanConfig(
        work_group_size=group_size(profile, tuning.primitives.scan_group),
        items=tuning.primitives.scan_items,
        buffer_slots=buffer_slots,
        total=total,
        out=out,
        through_local=profile.kind == "gpu",
    )
    return _fitting(profile, config)


def plan_short_scan(
    profile: DeviceProfile, tuning: Tuning, *, total: str, out: str, buffer_slots: int = 0
) -> ScanConfig:
    """Tiles of one size, by groups as wide as can be, smaller where these are narrow."""
    numbers = tuning.primitives
    size = group_size(profile, numbers.short_scan_group)
    config = ScanConfig(
        work_group_size=size,
        items=max(1, min(numbers.short_scan_tile // size, numbers.short_scan_items)),
        buffer_slots=buffer_slots,
        total=total,
        out=out,
        through_local=False,
    )
    return _fitting(profile, config)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SortConfig(KernelConfig):
    """Radix sort of key-value pairs: ``digit_bits`` per pass, ``items`` per work-item."""

    items: int
    digit_bits: int
    key: str
    #: keys stay in registers, and are sorted in local memory before they are moved
    held: bool

    def names(self) -> dict[str, Any]:
        """The fields, the number of digits, and the pairs of one group."""
        return {**super().names(), "digits": self.digits, "tile": self.work_group_size * self.items}

    @property
    def digits(self) -> int:
        """Values of a digit."""
        return 1 << self.digit_bits

    @property
    def local_memory(self) -> int:
        """Bytes of a group: counters, their sums, the places of digits; the pairs of a tile, and sums of others."""
        pair = _KEY_SIZE[self.key] + 4
        counters = 4 * (self.work_group_size * (self.digits + 1) + self.digits)
        others = 8 * max(self.work_group_size, self.digits)
        return counters + (self.work_group_size * self.items * pair + others if self.held else 0)


def plan_sort(profile: DeviceProfile, tuning: Tuning, *, key: str) -> SortConfig:
    """Groups whose counters, and keys where these are held, fit local memory."""
    numbers = tuning.primitives
    config = SortConfig(
        work_group_size=group_size(profile, numbers.sort_group),
        items=numbers.sort_items,
        digit_bits=DIGIT_BITS,
        key=key,
        held=numbers.sort_items <= numbers.sort_register_items,
    )
    return _fitting(profile, config)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairConfig(PointConfig):
    """What a list carries of pairs, ``items`` of them for a work-item; ``distances`` are "root", "square" or none."""

    items: int
    square_root: str
    offset: str
    distances: str
    vectors: bool
    shifts: bool
    periodic: bool


def plan_pairs(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, **carried: Any) -> PairConfig:
    """Some pairs for each work-item; what is ``carried`` is said by the fields of :class:`PairConfig`."""
    return PairConfig(
        work_group_size=group_size(profile, tuning.primitives.pair_group),
        items=tuning.primitives.pair_items,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        **carried,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowSortConfig(PointConfig):
    """Sorting inside the rows of a list: by point, or by squared distance and point.

    Rows of up to ``tile`` entries are sorted in local memory, where they carry nothing else.
    """

    tile: int
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


def plan_row_sort(
    profile: DeviceProfile,
    tuning: Tuning,
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
    numbers = tuning.primitives
    return RowSortConfig(
        work_group_size=group_size(profile, numbers.short_row_group if together else numbers.row_sort_group),
        tile=numbers.short_row_entries if together else 0,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        by_distance=by_distance,
        offset=offset,
        distances=distances,
        vectors=vectors,
        shifts=shifts,
    )


Sharing = TypeVar("Sharing", ReduceConfig, BufferToRowsConfig, ScanConfig, SortConfig)


def _fitting(profile: DeviceProfile, config: Sharing) -> Sharing:
    """With groups that local memory has room for."""
    while config.work_group_size > 1 and config.local_memory > profile.usable_local_memory:
        config = dataclasses.replace(config, work_group_size=config.work_group_size // 2)
    return config
