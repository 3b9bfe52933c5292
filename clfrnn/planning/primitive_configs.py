"""Configs of primitives, which know nothing of searches: reductions, copies, scans, sorts, and pairs of a list."""

from __future__ import annotations

import dataclasses
from typing import Any

from .configs import KernelConfig, PointConfig

__all__ = [
    "BufferToRowsConfig",
    "GatherConfig",
    "PairConfig",
    "PartConfig",
    "ReduceConfig",
    "RowSortConfig",
    "ScanConfig",
    "SortConfig",
    "TakeConfig",
    "WidenConfig",
]

#: Keys that a work-item loads at once and keeps in registers, at most; and bytes of a key.
_MOST_HELD = 16
_KEY_SIZE = {"uint": 4, "ulong": 8}


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
class WidenConfig(KernelConfig):
    """Numbers from bytes, ``items`` fours for a work-item."""

    items: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartConfig(KernelConfig):
    """Pairs of two of ``word`` taken apart, ``items`` for a work-item."""

    items: int
    word: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class BufferToRowsConfig(KernelConfig):
    """Rows of up to so many numbers that a count has ``buffer_slots``, for a list whose offsets have the type ``offset``."""

    buffer_slots: int
    offset: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScanConfig(KernelConfig):
    """Exclusive scan of int32 counts: ``items`` per work-item and tile, sums kept in ``total``, written as ``out``."""

    items: int
    #: slots of the stash whose rows hold the counts, see ``first_pass/packed_counts.mako``; 0 of counts by themselves
    buffer_slots: int
    total: str
    out: str
    #: counts and starts pass through local memory, so that items beside each other load and write what is
    through_local: bool

    @property
    def local_memory(self) -> int:
        """Bytes of local memory, were all sums of the widest type."""
        return 8 * self.work_group_size * (1 + (self.items + 1) * self.through_local)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SortConfig(KernelConfig):
    """Radix sort of key-value pairs: ``digit_bits`` per pass, ``items`` per work-item, few of them ``held``."""

    items: int
    digit_bits: int
    key: str

    def names(self) -> dict[str, Any]:
        """The fields, the number of digits, and the pairs of one group."""
        return {**super().names(), "digits": self.digits, "tile": self.work_group_size * self.items, "held": self.held}

    @property
    def digits(self) -> int:
        """Values of a digit."""
        return 1 << self.digit_bits

    @property
    def held(self) -> bool:
        """Whether keys stay in registers, and are sorted in local memory before they are moved."""
        return self.items <= _MOST_HELD

    @property
    def local_memory(self) -> int:
        """Bytes of a group: counters, their sums, the places of digits; the pairs of a tile, and sums of others."""
        pair = _KEY_SIZE[self.key] + 4
        counters = 4 * (self.work_group_size * (self.digits + 1) + self.digits)
        others = 8 * max(self.work_group_size, self.digits)
        return counters + (self.work_group_size * self.items * pair + others if self.held else 0)


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
