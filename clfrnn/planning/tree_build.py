"""Trees: how a tree of bounding boxes is made, and its shape. Pure functions, as :mod:`clfrnn.planning.primitives`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

from ..profile import DeviceProfile
from .configs import REAL_SIZE, PointConfig
from .groups import group_size
from .primitives import DIGIT_BITS

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

#: Points of a leaf. On a CPU a leaf is some vectors. On a GPU small leaves mean fewer candidates out of reach and more
#: boxes: so many points for so many neighbors at the most (measured). No number between: packs fetch points by powers
#: of two.
_LEAF_OF_CPU = 32
_LEAVES_OF_GPU = ((60.0, 8), (160.0, 16), (math.inf, 32))

#: Nodes for each point, at the most: of 32 bytes in three dimensions with four more for a leaf, they take 12 a point.
_NODES_OF_POINT = 0.358

#: Work-items of a group that makes trees, by kind of device: on a GPU so many that each keeps eight points of a block.
_GROUP = {"gpu": 128}
_GROUP_ELSEWHERE = 8

#: Leaves of such a group: on a GPU so many that each compute unit has some groups, but few of these in all, as one of
#: them goes through what all have found (measured).
_LEAVES, _FEWEST_LEAVES, _MOST_LEAVES_OF_GROUP, _GROUPS_OF_UNIT = 128, 64, 256, 2

#: Queries that go down the tree together, as many as a number has bits.
PACK = 32

#: Bits of a key, and of one coordinate in it: no more than the numbers themselves tell apart.
_KEY_BITS, _WORD_BITS = 63, 32
_COORDINATE_BITS = {"float": 24, "double": 31}

#: A part of the curve holds at most two to this power points in the mean (measured: counts take up to 3 %
#: longer with four bits less). So many pairs of points for each point are compared to find where ranges begin, by which
#: there are the more of these (with half as many, counts of clusters take 2 % longer).
_POINTS_OF_PART, _PAIRS_OF_POINT = 3, 64

#: There are at most two to this power parts of a range: floats tell the points in it apart.
_MOST_PARTS = 24

#: One of so many points is sampled at most.
_LEAST_APART = 10

#: Items that compare sampled points with all others, and how many of them together.
_COMPARING, _COMPARED = 64, 4

#: Points of a block that is halved, at the most, and for each item of its group: code is written out for as many.
_HALVED, _HALVED_OF_ITEM = 1024, 8

#: Queries that follow each other on the curve and are sorted by their radii: of larger blocks, packs lie farther apart.
_BLOCK = 512

#: Blocks that are wider than so many of the largest radius in them keep the order of the curve (measured).
_WIDE = 8.0

#: So do those whose largest radius is no more than so many times the smallest.
_ALIKE = 1.5

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

    def comparing(self, sampled: int) -> int:
        """Items of a launch that compare so many points with each other."""
        return -(-sampled // _COMPARED) * min(_COMPARING, self.work_group_size)

    def names(self) -> dict[str, Any]:
        """The fields, what is sorted by radii, who compares a sample, and the bits of the curve.

        A block may be so many largest radii wide to be sorted, and radii so much alike to stay.
        """
        return {
            **super().names(),
            "wide": _WIDE,
            "alike": _ALIKE,
            "comparing": _COMPARING,
            "compared": _COMPARED,
            "curve_bits": self.curve_bits,
        }


def corners(dim: int) -> int:
    """Numbers of the box of a node: its corners, padded to vectors in three dimensions."""
    return 8 if dim == 3 else 2 * dim


def default_leaf_size(profile: DeviceProfile, n: int, neighbors: float) -> int:
    """Points of a leaf, when the caller does not say: twice as many where so many nodes would take too much memory."""
    size = _LEAF_OF_CPU if profile.kind == "cpu" else for_neighbors(_LEAVES_OF_GPU, neighbors)
    nodes = count_leaves(n, size) + needed_leaves(n, size)
    return size if nodes <= max(2.0, _NODES_OF_POINT * n) else 2 * size


def for_neighbors(sizes: tuple[tuple[float, int], ...], neighbors: float) -> int:
    """Of sizes, each for so many neighbors at the most, the first that serves."""
    return next(size for most, size in sizes if not neighbors > most)


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


def leaves_of_group(profile: DeviceProfile, leaves: int) -> int:
    """Leaves that a group makes of all those of a tree, a power of two."""
    if profile.kind != "gpu":
        return _LEAVES
    of_group = max(1, leaves // (_GROUPS_OF_UNIT * profile.compute_units))
    return max(_FEWEST_LEAVES, min(_MOST_LEAVES_OF_GROUP, 1 << (of_group.bit_length() - 1)))


def plan_tree(
    profile: DeviceProfile, *, dim: int, real: str, periodic: bool, leaves: int = _MOST_LEAVES_OF_GROUP
) -> TreeConfig:
    """Wide groups on a GPU, narrow ones on a CPU; up to so many leaves as local memory has room for."""
    size = group_size(profile, _GROUP.get(profile.kind, _GROUP_ELSEWHERE))
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
        halved=_halved(profile, size, dim, real) if profile.kind == "gpu" else 0,
        block=max(1, min(_BLOCK, _room_for_block(profile, size, real))),
        pack=PACK,
    )


def _halved(profile: DeviceProfile, size: int, dim: int, real: str) -> int:
    """Points with their keys and numbers that fit local memory beside a box for each item of a group."""
    of_point, of_item = dim * REAL_SIZE[real] + 8, 2 * dim * REAL_SIZE[real] + 4
    halved = min(_HALVED, _HALVED_OF_ITEM * size)
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


def cut_of(n: int) -> Cut:
    """Parts of a few points each in the mean, for an order of which each block is halved.

    To compare a sample's points takes as many times as long as to go through all points, however many there are.
    """
    bits = -(-(n >> _POINTS_OF_PART).bit_length() // DIGIT_BITS) * DIGIT_BITS
    sampled = (_PAIRS_OF_POINT * n).bit_length() // 2
    sampled = max(0, min(sampled, bits, (n // _LEAST_APART).bit_length() - 1))
    parts = min(_MOST_PARTS, bits - sampled)
    return Cut(sampled=1 << sampled, apart=max(1, n >> sampled), parts=parts, bits=sampled + parts)
