"""How a tree of bounding boxes is made, and its shape. Pure functions."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ..profile import DeviceProfile
from .configs import REAL_SIZE, PointConfig
from .groups import group_size
from .primitives import DIGIT_BITS
from .tuning import Tuning

__all__ = [
    "MOST_LEAVES",
    "OF_RECORD",
    "PACK",
    "Cut",
    "TreeConfig",
    "corners",
    "count_leaves",
    "cut_of",
    "default_leaf_size",
    "for_neighbors",
    "layout_of",
    "leaves_of_group",
    "needed_leaves",
    "plan_tree",
]

#: Queries that go down the tree together, as many as a number has bits.
PACK = 32

#: Bits of a key, and of one coordinate in it: no more than the numbers themselves tell apart.
_KEY_BITS, _WORD_BITS = 63, 32
_COORDINATE_BITS = {"float": 24, "double": 31}

#: There are at most two to this power parts of a range: floats tell the points in it apart.
_MOST_PARTS = 24

#: The numbers of nodes are ints, and so is that behind the last one.
MOST_LEAVES = 1 << 29

#: Records hold so many coordinates beside an id.
OF_RECORD = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeConfig(PointConfig):
    """Making a tree, and fitting its boxes to points that have moved."""

    periodic: bool
    #: how the sorted copy keeps points: see :func:`~clfrnn.planning.configs.numbers_of_point`
    layout: str
    #: leaves of a group, a power of two from two on
    leaves: int
    #: places for points of a group that are halved down to leaves, a power of two; 0 where the curve's order is left
    halved: int
    #: queries of a group that are sorted by their radii
    block: int
    #: those of them that go down the tree together
    pack: int
    #: a block of more of its largest radii is too wide to be sorted
    wide: float
    #: a block whose largest radius is no more than this ratio of its smallest is not sorted
    alike: float
    #: work-items that compare some sampled points with all others, and how many of these together
    comparing: int
    compared: int

    @property
    def corners(self) -> int:
        """Numbers of the box of a node."""
        return corners(self.dim)

    def slots(self, leaf_size: int) -> int:
        """Places of a leaf in a block that is halved, a power of two; 0 where a block has no room for two leaves."""
        if not self.halved:
            return 0
        slots = max(1 << (leaf_size - 1).bit_length(), self.halved // self.work_group_size)
        return slots if 2 * slots <= self.halved else 0

    @property
    def curve_bits(self) -> int:
        """Bits of a coordinate on the curve that keys have room for, as far as coordinates are told apart."""
        return min(_COORDINATE_BITS[self.real], _KEY_BITS // self.dim, 2 * (_WORD_BITS // self.dim))

    def query_bits(self, m: int) -> int:
        """Bits of keys by which m queries are sorted: no more than tell them apart."""
        return min(_WORD_BITS, self.curve_bits * self.dim, m.bit_length() + self.dim)

    def comparing_items(self, sampled: int) -> int:
        """Items of a launch that compares sampled points with each other."""
        return -(-sampled // self.compared) * min(self.comparing, self.work_group_size)

    def names(self) -> dict[str, Any]:
        """The fields, and the bits of the curve."""
        return {**super().names(), "curve_bits": self.curve_bits}


def corners(dim: int) -> int:
    """Numbers of the box of a node: its corners, padded to vectors in three dimensions."""
    return 8 if dim == 3 else 2 * dim


def default_leaf_size(tuning: Tuning, n: int, neighbors: float) -> int:
    """Points of a leaf, when the caller does not say: twice as many where nodes would take too much memory."""
    size = for_neighbors(tuning.tree.leaf_sizes, neighbors)
    nodes = count_leaves(n, size) + needed_leaves(n, size)
    return size if nodes <= max(2.0, tuning.tree.nodes_of_point * n) else 2 * size


def for_neighbors(sizes: tuple[tuple[float, int], ...], neighbors: float) -> int:
    """Of sizes, each up to some neighbors, the first that serves; the last for more."""
    return next((size for most, size in sizes if not neighbors > most), sizes[-1][1])


def needed_leaves(n: int, leaf_size: int) -> int:
    """Leaves that hold n points, one at the least."""
    return max(1, -(-n // leaf_size))


def count_leaves(n: int, leaf_size: int) -> int:
    """Leaves of a tree over n points: as many as are needed, and up to a power of two."""
    return 1 << (needed_leaves(n, leaf_size) - 1).bit_length()


def layout_of(profile: DeviceProfile, dim: int) -> str:
    """Columns on a CPU, elsewhere records where they are full, else pairs where there are two coordinates.

    A wide load of a point takes less time than three (measured while every query loaded what it tested).
    """
    if profile.kind == "cpu" or dim == 1:
        return "columns"
    return "records" if dim == OF_RECORD else "pairs"


def leaves_of_group(profile: DeviceProfile, tuning: Tuning, leaves: int) -> int:
    """Leaves that a group makes of all those of a tree, a power of two."""
    numbers = tuning.tree
    of_group = max(1, leaves // (numbers.build_groups_a_unit * profile.compute_units))
    return max(numbers.least_group_leaves, min(numbers.most_group_leaves, 1 << (of_group.bit_length() - 1)))


def plan_tree(
    profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: bool, leaves: int
) -> TreeConfig:
    """Wide groups on a GPU, narrow ones on a CPU; up to as many leaves as local memory has room for."""
    numbers = tuning.tree
    size = group_size(profile, numbers.build_group)
    of_leaf = (2 * dim + 2) * REAL_SIZE[real] + 4
    while leaves > 2 and leaves * of_leaf > profile.usable_local_memory:
        leaves //= 2
    return TreeConfig(
        work_group_size=size,
        dim=dim,
        real=real,
        periodic=periodic,
        layout=layout_of(profile, dim),
        leaves=leaves,
        halved=_halved(profile, tuning, size, dim, real) if profile.kind == "gpu" else 0,
        block=max(1, min(numbers.block_queries, _room_for_block(profile, size, real))),
        pack=PACK,
        wide=numbers.wide_block,
        alike=numbers.alike_radii,
        comparing=numbers.comparing_items,
        compared=numbers.compared_points,
    )


def _halved(profile: DeviceProfile, tuning: Tuning, size: int, dim: int, real: str) -> int:
    """Points with their keys and numbers that fit local memory beside a box for each item of a group."""
    of_point, of_item = dim * REAL_SIZE[real] + 8, 2 * dim * REAL_SIZE[real] + 4
    halved = min(tuning.tree.halved_points, tuning.tree.halved_of_item * size)
    while halved > size and halved * of_point + size * of_item > profile.usable_local_memory:
        halved //= 2
    return halved if halved > size else 0


def _room_for_block(profile: DeviceProfile, size: int, real: str) -> int:
    """Queries with radii that fit local memory beside a number for each item of a group."""
    return (profile.usable_local_memory - size * REAL_SIZE[real]) // (REAL_SIZE[real] + 4)


class Cut(NamedTuple):
    """The curve cut into ranges that hold about as many points each, and each of these into even parts.

    One of each `apart` points is `sampled`, and says where a range begins: a power of two of them. There are two to the
    power `parts` parts of a range, and two to the power `bits` in all.
    """

    sampled: int
    apart: int
    parts: int
    bits: int


def cut_of(n: int, tuning: Tuning) -> Cut:
    """Parts of a few points each in the mean, for an order of which each block is halved.

    To compare a sample's points takes as many times as long as to go through all points, however many there are.
    """
    numbers = tuning.tree
    bits = -(-(n // numbers.part_points).bit_length() // DIGIT_BITS) * DIGIT_BITS
    sampled = (numbers.sample_pairs * n).bit_length() // 2
    sampled = max(0, min(sampled, bits, (n // numbers.least_apart).bit_length() - 1))
    parts = min(_MOST_PARTS, bits - sampled)
    return Cut(sampled=1 << sampled, apart=max(1, n >> sampled), parts=parts, bits=sampled + parts)
