"""The shape of a tree of bounding boxes, and the plan of its construction. Pure functions."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ...config import REAL_SIZE, PointConfig
from ...groups import busy_units, group_size
from ...primitives.config import DIGIT_BITS
from ...profile import DeviceProfile
from ...tuning import Tuning
from .packet_plan import packet_queries

__all__ = [
    "MOST_LEAVES",
    "RECORD_COORDINATES",
    "CurveDivision",
    "TreeConfig",
    "corners",
    "count_leaves",
    "default_leaf_size",
    "leaves_of_group",
    "needed_leaves",
    "plan_curve_cut",
    "plan_tree",
    "tree_layout",
    "value_for_neighbors",
]

#: Bits of a key, of a word, and of one coordinate in a key: no more than the coordinates' type distinguishes.
_KEY_BITS, _WORD_BITS = 63, 32
_COORDINATE_BITS = {"float": 24, "double": 31}

#: Largest number of bits by which a range of the curve is divided: floats distinguish as many parts.
_MOST_PARTS = 24

#: Largest number of leaves: the numbers of nodes, and one more, are int32.
MOST_LEAVES = 1 << 29

#: Number of coordinates that a record holds beside an index.
RECORD_COORDINATES = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeConfig(PointConfig):
    """Building a tree, and fitting its boxes to points that have moved."""

    periodic: str
    #: the layout of the sorted copy: see :func:`~clfrnn.config.numbers_per_point`
    layout: str
    #: leaves of a group, a power of two, at least two
    leaves: int
    #: points of a group that are halved down to leaves, a power of two; 0 to leave them in the order of the curve
    halved: int
    #: queries of a group that are sorted by radius: a block
    block: int
    #: queries of a packet
    packet: int
    #: width of a block, in its largest radii, above which the block is not sorted
    wide: float
    #: ratio of a block's largest radius to its smallest up to which the block is not sorted
    alike: float
    #: work-items that compare some sampled points with all others, and how many points these compare together
    comparing: int
    compared: int

    @property
    def corners(self) -> int:
        """The number of values of a node's box."""
        return corners(self.dim)

    def slots(self, leaf_size: int) -> int:
        """Places of a leaf in a halved block, a power of two; 0 where a block does not fit two leaves."""
        if not self.halved:
            return 0
        slots = max(1 << (leaf_size - 1).bit_length(), self.halved // self.work_group_size)
        return slots if 2 * slots <= self.halved else 0

    @property
    def curve_bits(self) -> int:
        """Bits of a coordinate in a key: as many as fit, and no more than coordinates distinguish."""
        return min(_COORDINATE_BITS[self.real], _KEY_BITS // self.dim, 2 * (_WORD_BITS // self.dim))

    def query_bits(self, m: int) -> int:
        """Bits of keys by which m queries are sorted: no more than distinguish m queries."""
        return min(_WORD_BITS, self.curve_bits * self.dim, m.bit_length() + self.dim)

    def comparing_items(self, sampled: int) -> int:
        """Work-items of a launch that compares `sampled` points with each other."""
        return -(-sampled // self.compared) * min(self.comparing, self.work_group_size)

    def names(self) -> dict[str, Any]:
        """The fields, and the bits of a coordinate in a key."""
        return {**super().names(), "curve_bits": self.curve_bits}


def corners(dim: int) -> int:
    """The number of values of a node's box: two corners, padded to vectors of four in three dimensions."""
    return 8 if dim == 3 else 2 * dim


def default_leaf_size(tuning: Tuning, n: int, neighbors: float, *, periodic: bool = False) -> int:
    """The default number of points of a leaf, doubled where nodes would take too much memory."""
    size = value_for_neighbors(tuning.tree.leaf_sizes, neighbors)
    if periodic:
        size = min(size, tuning.tree.periodic_leaf)
    nodes = count_leaves(n, size) + needed_leaves(n, size)
    return size if nodes <= max(2.0, tuning.tree.nodes_of_point * n) else 2 * size


def value_for_neighbors(sizes: tuple[tuple[float, int], ...], neighbors: float) -> int:
    """The first of `sizes` whose limit of neighbors is not exceeded, or the last."""
    return next((size for most, size in sizes if not neighbors > most), sizes[-1][1])


def needed_leaves(n: int, leaf_size: int) -> int:
    """The number of leaves that hold n points, at least one."""
    return max(1, -(-n // leaf_size))


def count_leaves(n: int, leaf_size: int) -> int:
    """The number of leaves of a tree over n points, rounded up to a power of two."""
    return 1 << (needed_leaves(n, leaf_size) - 1).bit_length()


def tree_layout(profile: DeviceProfile, dim: int) -> str:
    """The layout of points: columns on a CPU, elsewhere records where these are full, else pairs.

    A wide load of a point takes less time than three loads (measured while every query loaded its own candidates).
    """
    if profile.kind == "cpu" or dim == 1:
        return "columns"
    return "records" if dim == RECORD_COORDINATES else "pairs"


def leaves_of_group(profile: DeviceProfile, tuning: Tuning, leaves: int) -> int:
    """The number of leaves that a group builds, a power of two."""
    numbers = tuning.tree
    of_group = max(1, leaves // (numbers.build_groups_a_unit * busy_units(profile)))
    return max(numbers.least_group_leaves, min(numbers.most_group_leaves, 1 << (of_group.bit_length() - 1)))


def plan_tree(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str, leaves: int) -> TreeConfig:
    """Plan wide groups on a GPU and narrow ones on a CPU, with as many leaves as fit local memory."""
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
        layout=tree_layout(profile, dim),
        leaves=leaves,
        halved=_halved(profile, tuning, size, dim, real) if profile.kind == "gpu" else 0,
        block=max(1, min(numbers.block_queries, _block_capacity(profile, size, real))),
        packet=packet_queries(profile, tuning),
        wide=numbers.wide_block,
        alike=numbers.alike_radii,
        comparing=numbers.comparing_items,
        compared=numbers.compared_points,
    )


def _halved(profile: DeviceProfile, tuning: Tuning, size: int, dim: int, real: str) -> int:
    """Points of a halved block that fit local memory with keys, indices, and a box for each work-item."""
    of_point, of_item = dim * REAL_SIZE[real] + 8, 2 * dim * REAL_SIZE[real] + 4
    halved = min(tuning.tree.halved_points, tuning.tree.halved_of_item * size)
    while halved > size and halved * of_point + size * of_item > profile.usable_local_memory:
        halved //= 2
    return halved if halved > size else 0


def _block_capacity(profile: DeviceProfile, size: int, real: str) -> int:
    """The number of queries whose radii and indices fit local memory beside a number for each work-item."""
    return (profile.usable_local_memory - size * REAL_SIZE[real]) // (REAL_SIZE[real] + 4)


class CurveDivision(NamedTuple):
    """A division of the curve into ranges with about as many points each, and of each range into equal parts.

    Of each `apart` points one is sampled; the `sampled` points, a power of two, are where ranges begin. A range has two
    to the power of `parts` parts, and all parts together are two to the power of `bits`.
    """

    sampled: int
    apart: int
    parts: int
    bits: int


def plan_curve_cut(n: int, tuning: Tuning) -> CurveDivision:
    """Plan parts of a few points each in the mean, for an order of which each block is then halved.

    The time to compare the sampled points is proportional to the time of a pass over all points.
    """
    numbers = tuning.tree
    bits = -(-(n // numbers.part_points).bit_length() // DIGIT_BITS) * DIGIT_BITS
    sampled = (numbers.sample_pairs * n).bit_length() // 2
    sampled = max(0, min(sampled, bits, (n // numbers.least_apart).bit_length() - 1))
    parts = min(_MOST_PARTS, bits - sampled)
    return CurveDivision(sampled=1 << sampled, apart=max(1, n >> sampled), parts=parts, bits=sampled + parts)
