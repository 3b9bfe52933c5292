"""Configs and plans of the device primitives, which do not depend on searches. Pure functions."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from ..config import REAL_SIZE, KernelConfig, PointConfig
from ..groups import group_size, square_root
from ..profile import DeviceProfile
from ..survey import Sample, occupancy_sample
from ..tuning import Tuning

__all__ = [
    "BULK_SAMPLE",
    "DIGIT_BITS",
    "BufferToRowsConfig",
    "ColumnSumsConfig",
    "MovedConfig",
    "PairConfig",
    "PermuteRowsConfig",
    "ReduceConfig",
    "RowSortConfig",
    "ScanConfig",
    "SortConfig",
    "UnpackBytesConfig",
    "UnpackPairsConfig",
    "plan_buffer_to_rows",
    "plan_column_sums",
    "plan_fill",
    "plan_gather",
    "plan_moved",
    "plan_pairs",
    "plan_permute_rows",
    "plan_reduce",
    "plan_row_sort",
    "plan_sample",
    "plan_scan",
    "plan_short_scan",
    "plan_sort",
    "plan_unpack_bytes",
    "plan_unpack_pairs",
]

#: Bits of a key that a pass of the radix sort goes by: counters for each digit and work-item fit every local memory.
DIGIT_BITS = 4

#: Points that are sampled to find the bulk of all, and how many times wider than the bulk the box of all must be on an
#: axis before it is left: where it is not, strays cost little.
BULK_SAMPLE, BULK_TIMES = 64, 16

_KEY_SIZE = {"uint": 4, "ulong": 8}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReduceConfig(PointConfig):
    """Bounding box, bulk and occupancy sample, over points that groups read in strides."""

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group: a box and a row, or three sums, for each item; or a sample of points."""
        of_items = self.work_group_size * max(2 * self.dim * REAL_SIZE[self.real] + 4, 24)
        return max(of_items, (BULK_SAMPLE + 2) * self.dim * REAL_SIZE[self.real])

    def names(self) -> dict[str, Any]:
        """The fields, and the numbers of the bulk."""
        return {**super().names(), "bulk_sample": BULK_SAMPLE, "bulk_times": BULK_TIMES}


def plan_reduce(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> ReduceConfig:
    """Plan groups whose results fit local memory."""
    size = group_size(profile, tuning.primitives.reduce_group)
    return _fitting(profile, ReduceConfig(work_group_size=size, dim=dim, real=real))


def plan_sample(tuning: Tuning, n: int) -> Sample:
    """Plan the occupancy sample of n points."""
    numbers = tuning.primitives
    return occupancy_sample(
        n, points=numbers.sampled_points, counted=numbers.counted_points, slots=numbers.sample_slots
    )


def plan_fill(profile: DeviceProfile, tuning: Tuning) -> KernelConfig:
    """Plan one work-item per element."""
    return KernelConfig(work_group_size=group_size(profile, tuning.primitives.copy_group))


def plan_gather(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> PointConfig:
    """Plan one work-item per row."""
    return PointConfig(work_group_size=group_size(profile, tuning.primitives.copy_group), dim=dim, real=real)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MovedConfig(PointConfig):
    """Whether points have moved, in a domain of the kind ``periodic``; with ``wraps``, how often each was shifted."""

    periodic: str
    wraps: bool


def plan_moved(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str, wraps: bool
) -> MovedConfig:
    """Plan one work-item per point."""
    size = group_size(profile, tuning.primitives.copy_group)
    return MovedConfig(work_group_size=size, dim=dim, real=real, periodic=periodic, wraps=wraps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnSumsConfig(KernelConfig):
    """Sums of columns: of int32, or ``weighted``, of whole numbers in two words."""

    weighted: bool


def plan_column_sums(profile: DeviceProfile, tuning: Tuning, *, weighted: bool) -> ColumnSumsConfig:
    """Plan one work-item per column and part of the rows."""
    size = group_size(profile, tuning.primitives.copy_group)
    return ColumnSumsConfig(work_group_size=size, weighted=weighted)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PermuteRowsConfig(KernelConfig):
    """Rows of any dtype in another order, copied in units of the type ``word``."""

    word: str


def plan_permute_rows(profile: DeviceProfile, tuning: Tuning, *, word: str) -> PermuteRowsConfig:
    """Plan one work-item per row."""
    return PermuteRowsConfig(work_group_size=group_size(profile, tuning.primitives.copy_group), word=word)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnpackBytesConfig(KernelConfig):
    """Integers from bytes, ``items`` times four bytes for each work-item."""

    items: int


def plan_unpack_bytes(profile: DeviceProfile, tuning: Tuning) -> UnpackBytesConfig:
    """Plan several integers for each work-item, so that groups without work are few."""
    numbers = tuning.primitives
    return UnpackBytesConfig(work_group_size=group_size(profile, numbers.copy_group), items=numbers.unpack_byte_items)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnpackPairsConfig(KernelConfig):
    """Pairs of two values of the type ``word`` split into two arrays, ``items`` pairs for each work-item."""

    items: int
    word: str


def plan_unpack_pairs(profile: DeviceProfile, tuning: Tuning, *, word: str) -> UnpackPairsConfig:
    """As :func:`plan_unpack_bytes`."""
    numbers = tuning.primitives
    return UnpackPairsConfig(
        work_group_size=group_size(profile, numbers.copy_group), items=numbers.unpack_items, word=word
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class BufferToRowsConfig(KernelConfig):
    """Rows of a list from a neighbor buffer with ``buffer_slots`` for each query; offsets have the type ``offset``."""

    buffer_slots: int
    offset: str

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group: a row and a sum for each item."""
        return self.work_group_size * (4 * self.buffer_slots + 8)


def plan_buffer_to_rows(
    profile: DeviceProfile, tuning: Tuning, *, buffer_slots: int, offset: str
) -> BufferToRowsConfig:
    """Plan groups whose rows fit local memory."""
    size = group_size(profile, tuning.primitives.buffer_rows_group)
    return _fitting(profile, BufferToRowsConfig(work_group_size=size, buffer_slots=buffer_slots, offset=offset))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScanConfig(KernelConfig):
    """Exclusive scan of int32 counts: ``items`` per work-item and tile, sums of type ``total``, offsets of ``out``."""

    items: int
    #: slots of the neighbor buffer whose packed counts are scanned, see ``methods/first_pass/packed_counts.mako``;
    #: 0 for plain counts
    buffer_slots: int
    total: str
    out: str
    #: whether counts and offsets pass through local memory, so that neighboring items access neighboring addresses
    through_local: bool

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group, with sums of the widest type."""
        return 8 * self.work_group_size * (1 + (self.items + 1) * self.through_local)


def plan_scan(profile: DeviceProfile, tuning: Tuning, *, total: str, out: str, buffer_slots: int = 0) -> ScanConfig:
    """Plan tiles of a few thousand counts."""
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
    """Plan tiles of one size for the widest groups; narrow groups get smaller tiles."""
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
    """Radix sort of key-value pairs: ``digit_bits`` for each pass, ``items`` for each work-item."""

    items: int
    digit_bits: int
    key: str
    #: whether keys stay in registers and are sorted in local memory before they are written
    held: bool

    def names(self) -> dict[str, Any]:
        """The fields, the number of digits, and the number of pairs of one group."""
        return {**super().names(), "digits": self.digits, "tile": self.work_group_size * self.items}

    @property
    def digits(self) -> int:
        """The number of values of a digit."""
        return 1 << self.digit_bits

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group: counters, sums and places of digits; the pairs of a tile if ``held``."""
        pair = _KEY_SIZE[self.key] + 4
        counters = 4 * (self.work_group_size * (self.digits + 1) + self.digits)
        others = 8 * max(self.work_group_size, self.digits)
        return counters + (self.work_group_size * self.items * pair + others if self.held else 0)


def plan_sort(profile: DeviceProfile, tuning: Tuning, *, key: str) -> SortConfig:
    """Plan groups whose counters, and keys where these are held, fit local memory."""
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
    """Attributes of pairs, for ``items`` pairs by each work-item; ``distances`` is "root", "square" or ""."""

    items: int
    square_root: str
    offset: str
    distances: str
    vectors: bool
    shifts: bool
    periodic: str


def plan_pairs(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, **attributes: Any) -> PairConfig:
    """Plan several pairs for each work-item; `attributes` are further fields of :class:`PairConfig`."""
    return PairConfig(
        work_group_size=group_size(profile, tuning.primitives.pair_group),
        items=tuning.primitives.pair_items,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        **attributes,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowSortConfig(PointConfig):
    """Sorts the rows of a list by index, or by squared distance and index.

    Rows of up to ``tile`` entries are sorted in local memory, where their entries have no attributes.
    """

    tile: int
    square_root: str
    by_distance: bool
    offset: str
    distances: bool
    vectors: bool
    shifts: bool

    def names(self) -> dict[str, Any]:
        """The fields, and the arrays of type ``real`` whose entries move with the indices."""
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
    """Plan one work-item per row, and on a GPU one work-item per entry of a short row."""
    one_item_per_entry = profile.kind == "gpu" and not (vectors or shifts or (distances and not by_distance))
    numbers = tuning.primitives
    return RowSortConfig(
        work_group_size=group_size(profile, numbers.short_row_group if one_item_per_entry else numbers.row_sort_group),
        tile=numbers.short_row_entries if one_item_per_entry else 0,
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
    """Halve the group until its local memory fits the device."""
    while config.work_group_size > 1 and config.local_memory > profile.usable_local_memory:
        config = dataclasses.replace(config, work_group_size=config.work_group_size // 2)
    return config
