"""Trees: what is compiled in for a tree of bounding boxes, and its shape. Pure functions, as :mod:`clfrnn.plan`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .configs import REAL_SIZE, PointConfig, RunConfig
from .plan import Problem, group_size, plan_walk
from .profile import DeviceProfile
from .survey import Survey

__all__ = [
    "MOST_LEAVES",
    "TreeConfig",
    "TreeWalkConfig",
    "are_few",
    "count_leaves",
    "curve_bits",
    "default_leaf_size",
    "is_crowd",
    "most_curve_bits",
    "needed_leaves",
    "pays_to_divide",
    "plan_tree",
    "plan_tree_walk",
    "query_bits",
    "without_packs",
]

#: Points of a leaf. On a CPU a leaf is some vectors. On a GPU small leaves mean fewer candidates out of reach and more
#: boxes: so many points for so many neighbors at the most (measured). No number between: candidates are taken eight at
#: a time.
_LEAF_OF_CPU = 32
_LEAVES_OF_GPU = ((60.0, 8), (160.0, 16), (math.inf, 32))

#: Nodes for each point, at the most: of 32 bytes in three dimensions with four more for a leaf, they take 12 a point.
_NODES_OF_POINT = 0.358

#: Work-items and leaves of a group that makes boxes, so that points are loaded by all of them, leaves made by some.
_GROUP, _LEAVES = 256, 128

#: Queries that go down the tree together, as many as a number has bits; fewer than a node has descendants three levels
#: down would leave some of these untested.
_PACK, _LEAST_PACK = 32, 8

#: Packs that are so many times as wide as they look ask for each query whether it touches a node (measured). Not where
#: queries are sorted by their radii: packs are wide there, and touch most of what lies between.
_WIDE_PACK = 32

#: Queries of a pack that look into the same leaves, by neighbors: more of them load fewer addresses, fewer look into
#: fewer leaves (measured).
_BANDS = ((60.0, 4), (math.inf, 8))

#: Candidates that a band takes at a time: as all are loaded from one address, many loads under way cost little.
_UNROLLED = (8, 8)

#: Leaves whose bits are kept in one number.
_WORD = 32

#: Bits of a key, and of one coordinate in it: no more than the numbers themselves tell apart.
_KEY_BITS = 63
_COORDINATE_BITS = {"float": 24, "double": 31}

#: Bits of a coordinate beyond those of cubes that hold about a point: fewer where blocks of the curve are halved, as it
#: says nothing within them, unless points crowd so unevenly that one of these cubes may hold many blocks.
_SPARE_BITS, _BITS_OF_HALVES, _EVEN = 2, -1, 2.0

#: Points of such a block, at the most, and for each item of its group: code is written out for those of an item.
_HALVED, _HALVED_OF_ITEM = 1024, 16

#: Queries that follow each other on the curve and are sorted by their radii: of larger blocks, packs lie farther apart.
_BLOCK = 512

#: Blocks that are wider than so many of the largest radius in them keep the order of the curve (measured).
_WIDE = 8.0

#: So do those whose largest radius is no more than so many times the smallest.
_ALIKE = 1.5

#: From so many neighbors on in the mean, leaves are looked at as a whole and lists written by sectors: sooner with 380
#: (measured), no sooner with 140.
_MANY = 300.0

#: From so many points in a cube of side radius on, in the mean over points, queries with radii of their own are sorted
#: by these (measured); and where the survey finds them so uneven, each is counted by several items: sooner from 4 on in
#: the cloud of three decades, later in even ones (measured), what lies between was not tried.
_CROWD = 100.0
_UNEVENNESS = 3.0
_MOST_DIVIDED = 1 << 27

#: So are up to so many queries for each compute unit, as there are too few packs to keep it busy.
_FEW_OF_UNIT = 256

#: The numbers of nodes are ints, and so is that behind the last one.
MOST_LEAVES = 1 << 29

#: Records hold so many coordinates beside an id.
_OF_RECORD = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeConfig(PointConfig):
    """Making a tree, and fitting its boxes to points that have moved."""

    periodic: bool
    #: how the sorted copy keeps points: see :func:`~clfrnn.configs.numbers_of_point`
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

    def names(self) -> dict[str, Any]:
        """The fields, how many largest radii wide a block may be to be sorted, and how alike radii are that stay."""
        return {**super().names(), "wide": _WIDE, "alike": _ALIKE}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeWalkConfig(RunConfig):
    """The walk over a tree."""

    #: the queries of a group go down the tree together; else each goes by itself
    packed: bool
    #: queries that are no points are sorted along the curve, so that neighbors search beside each other
    sorts: bool
    #: queries with radii of their own are sorted by these, so that those beside each other have alike to do
    ranks: bool
    #: so many neighbors that many leaves lie within reach as a whole, and that lists are written a sector at a time
    many: bool
    #: queries of a pack that look into the same leaves
    band: int
    #: sums are made by several items for each query, who divide the leaves among them
    divided: bool

    @property
    def room(self) -> int:
        """Leaves that a pack looks into at a time, at most."""
        return 128 if self.dim <= _OF_RECORD else 64

    @property
    def stack(self) -> int:
        """Nodes that a pack has yet to look below: those of a few steps, and of one by one from there to the leaves."""
        return 384

    @property
    def local_memory(self) -> int:
        """Bytes that a pack takes."""
        numbers = self.sides * (self.work_group_size + 2 + self.parts) + corners(self.dim) * self.room
        return REAL_SIZE[self.real] * numbers + 4 * (
            self.room + self.stack + 4 + 2 * self.bands * -(-self.room // _WORD)
        )

    @property
    def sides(self) -> int:
        """Numbers that say where the queries of a pack are, and how far they look."""
        return 3 * self.dim + 2 if self.periodic else 2 * self.dim + 1

    @property
    def parts(self) -> int:
        """Parts of a pack, each of which is gone through by one item for one of these numbers."""
        parts = 1
        while 2 * parts * self.sides <= self.work_group_size:
            parts *= 2
        return parts

    @property
    def bands(self) -> int:
        """Bands of a pack."""
        return max(1, self.work_group_size // self.band)

    @property
    def _together(self) -> bool:
        """Packs, unless a driver allows groups too small to test a node's descendants side by side."""
        return self.packed and self.work_group_size >= _LEAST_PACK

    @property
    def shares(self) -> int:
        """Items that divide a query's leaves among them: one of each band."""
        return self.bands if self.divided and self._together else 1

    def units(self, m: int) -> int:
        """Items of a launch for m queries: the last that is needed is the last share of the last query."""
        size = self.work_group_size
        of_group = size // self.shares
        whole, rest = divmod(m, of_group)
        return size * whole + (size - of_group + rest if rest else 0)

    def names(self) -> dict[str, Any]:
        """The fields, and what a pack holds."""
        return {
            **super().names(),
            "packed": self._together,
            "shares": self.shares,
            "room": self.room,
            "stack": self.stack,
            "bands": self.bands,
            "word": _WORD,
            "sides": self.sides,
            "wide": _WIDE_PACK,
            "parts": self.parts,
        }

    def inline(self) -> TreeWalkConfig:
        """The same walk as a piece of another kernel, whose work-items need not stay together."""
        return dataclasses.replace(self, width=1, packed=False)


def corners(dim: int) -> int:
    """Numbers of the box of a node: its corners, padded to vectors in three dimensions."""
    return 8 if dim == 3 else 2 * dim


def default_leaf_size(profile: DeviceProfile, n: int, neighbors: float) -> int:
    """Points of a leaf, when the caller does not say: twice as many where so many nodes would take too much memory."""
    size = _LEAF_OF_CPU if profile.kind == "cpu" else _for_neighbors(_LEAVES_OF_GPU, neighbors)
    nodes = count_leaves(n, size) + needed_leaves(n, size)
    return size if nodes <= max(2.0, _NODES_OF_POINT * n) else 2 * size


def _for_neighbors(sizes: tuple[tuple[float, int], ...], neighbors: float) -> int:
    """Of sizes, each for so many neighbors at the most, the first that serves."""
    return next(size for most, size in sizes if not neighbors > most)


def needed_leaves(n: int, leaf_size: int) -> int:
    """Leaves that hold n points, one at the least."""
    return max(1, -(-n // leaf_size))


def count_leaves(n: int, leaf_size: int) -> int:
    """Leaves of a tree over n points: as many as are needed, and up to a power of two."""
    return 1 << (needed_leaves(n, leaf_size) - 1).bit_length()


def _layout(profile: DeviceProfile, dim: int) -> str:
    """Columns on a CPU, elsewhere records where they are full, else pairs where there are two coordinates.

    The queries of a band load one address, and three loads of it take longer than a wide one (measured).
    """
    if profile.kind == "cpu" or dim == 1:
        return "columns"
    return "records" if dim == _OF_RECORD else "pairs"


def plan_tree(profile: DeviceProfile, *, dim: int, real: str, periodic: bool) -> TreeConfig:
    """Wide groups on a GPU, narrow ones on a CPU; as many leaves as local memory has room for."""
    size = group_size(profile, _GROUP if profile.kind == "gpu" else 8)
    leaves = _LEAVES
    of_leaf = (2 * dim + 2) * REAL_SIZE[real] + 4
    while leaves > 2 and leaves * of_leaf > profile.usable_local_memory:
        leaves //= 2
    while size > 1 and size * (2 * REAL_SIZE[real] + 4) > profile.usable_local_memory:
        size //= 2
    # Wide groups only for whole blocks: their own numbers would take what a block could have.
    while size > _LEAVES and _room_for_block(profile, size, real) < _BLOCK:
        size //= 2
    return TreeConfig(
        work_group_size=size,
        dim=dim,
        real=real,
        periodic=periodic,
        layout=_layout(profile, dim),
        leaves=leaves,
        halved=_halved(profile, size, dim, real) if profile.kind == "gpu" else 0,
        block=max(1, min(_BLOCK, _room_for_block(profile, size, real))),
        pack=_PACK,
    )


def _halved(profile: DeviceProfile, size: int, dim: int, real: str) -> int:
    """Points with their keys and numbers that fit local memory beside a box for each item of a group."""
    of_point, of_item = dim * REAL_SIZE[real] + 8, 2 * dim * REAL_SIZE[real]
    halved = min(_HALVED, _HALVED_OF_ITEM * size)
    while halved >= size and halved * of_point + size * of_item > profile.usable_local_memory:
        halved //= 2
    return halved if halved >= size else 0


def _room_for_block(profile: DeviceProfile, size: int, real: str) -> int:
    """Queries with radii that fit local memory beside a number for each item of a group."""
    return (profile.usable_local_memory - size * REAL_SIZE[real]) // (REAL_SIZE[real] + 4)


def most_curve_bits(dim: int, real: str) -> int:
    """Bits of a coordinate on the curve that keys have room for, as far as coordinates are told apart."""
    return min(_COORDINATE_BITS[real], _KEY_BITS // dim)


def curve_bits(problem: Problem, *, halved: bool = False) -> int:
    """Bits of a coordinate on the curve: cubes that hold about a point where points crowd, and a few more or less."""
    survey, dim = problem.survey, problem.dim
    most = most_curve_bits(dim, problem.real)
    extent = max(high / 2 - low / 2 for low, high in zip(survey.low, survey.high, strict=True)) * 2
    if not (0 < extent < math.inf and problem.radius > 0 and survey.n > 1):
        return most if extent > 0 else 1
    across = math.log2(extent) - math.log2(problem.radius) + math.log2(1 + survey.others) / dim
    spare = _BITS_OF_HALVES if halved and survey.unevenness < _EVEN else _SPARE_BITS
    return max(1, min(most, math.ceil(across) + spare))


def plan_tree_walk(
    profile: DeviceProfile, *, dim: int, real: str, periodic: bool, neighbors: float = 0.0
) -> TreeWalkConfig:
    """As walks over cells, a leaf being a run of candidates as a row of cells is; in packs on a GPU."""
    walk = plan_walk(profile, dim=dim, real=real, periodic=periodic)
    alone = TreeWalkConfig(
        work_group_size=walk.work_group_size,
        dim=dim,
        real=real,
        square_root=walk.square_root,
        periodic=periodic,
        layout=_layout(profile, dim),
        width=walk.width,
        unrolled=walk.unrolled,
        fused=False,
        packed=False,
        sorts=False,
        ranks=False,
        many=False,
        band=1,
        divided=False,
    )
    packed = dataclasses.replace(
        alone,
        work_group_size=group_size(profile, _PACK),
        unrolled=_UNROLLED,
        packed=True,
        sorts=True,
        many=neighbors >= _MANY,
        band=_for_neighbors(_BANDS, neighbors),
    )
    fits = packed.local_memory <= profile.usable_local_memory and packed.work_group_size >= _LEAST_PACK
    return packed if profile.kind == "gpu" and fits else alone


def is_crowd(points: float) -> bool:
    """Whether a cube whose side is the largest radius holds so many that a device would wait for its last queries."""
    return points >= _CROWD


def pays_to_divide(survey: Survey, m: int) -> bool:
    """Whether m queries of a crowd are served by several items each: where few have so many more neighbors than others.

    The numbers of items are ints, too.
    """
    return survey.unevenness >= _UNEVENNESS and m <= _MOST_DIVIDED


def are_few(m: int, profile: DeviceProfile) -> bool:
    """Whether m queries are too few to keep the device busy, unless each is served by several items."""
    return m <= _FEW_OF_UNIT * profile.compute_units


def query_bits(m: int, dim: int, most: int) -> int:
    """Bits of a coordinate by which m queries are sorted: no more than tell them apart."""
    return max(1, min(most, 32 // dim, -(-m.bit_length() // dim) + 1))


def without_packs(config: TreeWalkConfig, profile: DeviceProfile) -> TreeWalkConfig:
    """The same walk for queries that go by themselves."""
    if not config.packed:
        return config
    walk = plan_walk(profile, dim=config.dim, real=config.real, periodic=config.periodic)
    return dataclasses.replace(config, work_group_size=walk.work_group_size, unrolled=walk.unrolled, packed=False)
