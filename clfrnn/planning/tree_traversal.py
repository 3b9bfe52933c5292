"""How queries go through a tree, each by itself or in packets. Pure functions."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ..profile import DeviceProfile
from ..survey import Survey
from .configs import REAL_SIZE, RunConfig
from .groups import group_size
from .traversal import plan_walk
from .tree_build import OF_RECORD, PACK, for_neighbors, layout_of
from .tuning import Tuning

__all__ = [
    "TreeWalkConfig",
    "are_few",
    "is_crowd",
    "pays_to_divide",
    "plan_tree_walk",
    "without_packs",
]

#: Fewer queries of a pack than a node has descendants three levels down would leave some of these untested.
_LEAST_PACK = 8

#: Leaves whose bits are in one number.
_WORD = 32

#: The numbers of items are ints: queries that several items serve between them are no more than this.
_MOST_DIVIDED = 1 << 27


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
    #: points that a band fetches together
    chunk: int
    #: sums are made by several items for each query, who divide the leaves among them
    divided: bool
    #: packets that are so many times as wide as they reach have each query say whether it touches a node
    wide: int

    @property
    def room(self) -> int:
        """Leaves that a pack looks into at a time, at most."""
        return 128 if self.dim <= OF_RECORD else 64

    @property
    def stack(self) -> int:
        """Nodes that a pack has yet to look below: those of a few steps, and of one by one from there to the leaves."""
        return 256

    @property
    def local_memory(self) -> int:
        """Bytes that a pack takes."""
        numbers = self.sides * (self.work_group_size + 2 + self.parts) + 2 * self.dim * self.room
        numbers += self.bands * (self.chunk + 1) * (4 if self.layout == "records" else self.dim + 1)
        return REAL_SIZE[self.real] * numbers + 4 * (
            self.room + self.stack + 4 + self.band + 2 * self.bands * -(-self.room // _WORD)
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
            # a driver may have made groups smaller
            "band": min(self.band, self.work_group_size),
            "bands": self.bands,
            "word": _WORD,
            "sides": self.sides,
            "parts": self.parts,
        }

    def ranked(self, tuning: Tuning) -> TreeWalkConfig:
        """The same walk for queries that are sorted by their radii."""
        band = min(self.band, tuning.tree.ranked_band)
        chunk = min(self.chunk, band * _most_fetched(tuning, self.dim))
        return dataclasses.replace(self, ranks=True, band=band, chunk=chunk)

    def inline(self) -> TreeWalkConfig:
        """The same walk as a piece of another kernel, whose work-items need not stay together."""
        return dataclasses.replace(self, width=1, packed=False)


def plan_tree_walk(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: bool,
    leaf_size: int,
    neighbors: float = 0.0,
) -> TreeWalkConfig:
    """As walks over cells, a leaf being a run of candidates as a row of cells is; in packs on a GPU."""
    band, many = for_neighbors(tuning.tree.bands, neighbors), neighbors >= tuning.tree.many_neighbors
    facts: dict[str, Any] = {"dim": dim, "real": real, "periodic": periodic, "leaf_size": leaf_size}
    return _tree_walk(profile, tuning, **facts, band=band, many=many)


@functools.lru_cache(maxsize=64)
def _tree_walk(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: bool,
    leaf_size: int,
    band: int,
    many: bool,
) -> TreeWalkConfig:
    """By the band in step, and whether queries have `many` neighbors. Remembered, as it takes longer than a launch."""
    walk = plan_walk(profile, tuning, dim=dim, real=real, periodic=periodic)
    alone = TreeWalkConfig(
        work_group_size=walk.work_group_size,
        dim=dim,
        real=real,
        square_root=walk.square_root,
        periodic=periodic,
        layout=layout_of(profile, dim),
        width=walk.width,
        unrolled=walk.unrolled,
        fused=False,
        held=walk.held,
        ahead=walk.ahead,
        stage=walk.stage,
        packed=False,
        sorts=False,
        ranks=False,
        many=False,
        band=1,
        chunk=1,
        divided=False,
        wide=tuning.tree.wide_packet,
    )
    size = group_size(profile, PACK)
    band = min(size, band)
    packed = dataclasses.replace(
        alone,
        work_group_size=size,
        unrolled=tuning.tree.unrolled,
        packed=True,
        sorts=True,
        many=many,
        band=band,
        chunk=_chunk(tuning, band, leaf_size, dim),
    )
    # More bands take more of it.
    local_memory = max(packed.local_memory, packed.ranked(tuning).local_memory)
    fits = local_memory <= profile.usable_local_memory and packed.work_group_size >= _LEAST_PACK
    return packed if profile.kind == "gpu" and fits else alone


def _chunk(tuning: Tuning, band: int, leaf_size: int, dim: int) -> int:
    """Points that a band fetches together, as many for each item."""
    of_item, wanted = 1, min(max(tuning.tree.least_chunk, leaf_size), tuning.tree.largest_chunk)
    while of_item < _most_fetched(tuning, dim) and of_item * band < wanted:
        of_item *= 2
    return of_item * band


def _most_fetched(tuning: Tuning, dim: int) -> int:
    """Points that an item holds of a chunk, at most: a power of two."""
    return 1 << max(1, tuning.tree.fetched_numbers // (dim + 1)).bit_length() - 1


def is_crowd(points: float, tuning: Tuning) -> bool:
    """Whether a cube whose side is the largest radius holds so many that a device would wait for its last queries."""
    return points >= tuning.tree.crowd


def pays_to_divide(survey: Survey, m: int, tuning: Tuning) -> bool:
    """Whether m queries of a crowd are served by several items each: where few have far more neighbors than others."""
    return survey.unevenness_beyond_chance >= tuning.tree.uneven_crowd and m <= _MOST_DIVIDED


def are_few(m: int, profile: DeviceProfile, tuning: Tuning) -> bool:
    """Whether m queries are too few to keep the device busy, unless each is served by several items."""
    return m <= tuning.tree.few_queries_a_unit * profile.compute_units


def without_packs(config: TreeWalkConfig, profile: DeviceProfile, tuning: Tuning) -> TreeWalkConfig:
    """The same walk for queries that go by themselves."""
    if not config.packed:
        return config
    walk = plan_walk(profile, tuning, dim=config.dim, real=config.real, periodic=config.periodic)
    return dataclasses.replace(config, work_group_size=walk.work_group_size, unrolled=walk.unrolled, packed=False)
