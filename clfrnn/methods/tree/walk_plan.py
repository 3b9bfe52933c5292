"""Plans of the walk over a tree, by single queries or by packets of queries. Pure functions."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from ...config import REAL_SIZE, RunConfig
from ...domain.box import CELLS, SYSTEMS
from ...groups import busy_units, group_size
from ...profile import DeviceProfile
from ...survey import Survey
from ...tuning import Tuning
from ..walk_plan import plan_walk
from .build_plan import RECORD_COORDINATES, tree_layout, value_for_neighbors
from .packet_plan import LEAST_PACKET, packet_widths

__all__ = [
    "TreeWalkConfig",
    "are_few_queries",
    "divides_uneven_queries",
    "is_crowded",
    "plan_tree_walk",
    "without_packets",
]

#: Leaves, or work-items, that have a bit in one integer.
_WORD = 32

#: Bands of a packet that is wider than an integer, at most: as many as of one of 32 queries.
_MOST_BANDS = 8

#: Largest number of queries that several work-items each serve: the number of work-items is an int32.
_MOST_DIVIDED = 1 << 27


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeWalkConfig(RunConfig):
    """The walk over a tree."""

    #: whether the queries of a group go down the tree together, as a packet
    packed: bool
    #: whether foreign queries are sorted along the curve, so that adjacent queries search together
    sorts: bool
    #: whether queries with radii of their own are sorted by radius, so that adjacent queries have as much to do
    ranks: bool
    #: whether queries have enough neighbors that whole leaves lie within the radius, and lists are written by sectors
    many: bool
    #: queries of a packet that test the same leaves: a band
    band: int
    #: points that a band loads together: a chunk
    chunk: int
    #: whether several work-items add up each query's sum and share its leaves
    divided: bool
    #: width of a packet, in padded radii, from which on each query tests whether it touches a node
    wide: int
    #: neighbors of each query that may wait in local memory, for functions that take them together
    waiting: int = 0
    #: leaves after which a packet whose queries keep neighbors waiting gives up
    waiting_leaves: int = 0

    @property
    def leaf_capacity(self) -> int:
        """The largest number of leaves that a packet collects before it tests them."""
        return 128 if self.dim <= RECORD_COORDINATES else 64

    @property
    def stack(self) -> int:
        """The capacity of a packet's stack: the nodes of several steps of three levels, and of single steps below."""
        return 256

    @property
    def local_memory(self) -> int:
        """Bytes of local memory of a packet."""
        numbers = self.sides * (self.work_group_size + 2 + self.parts) + 2 * self.dim * self.leaf_capacity
        numbers += self.bands * (self.chunk + 1) * (4 if self.layout == "records" else self.dim + 1)
        waiting = 8 * (self.waiting + 1) * self.work_group_size + 8 if self.waiting else 0
        return (
            waiting
            + REAL_SIZE[self.real] * numbers
            + 4
            * (
                self.leaf_capacity
                + self.stack
                + 4 * self.hit_words
                + self.band
                + 2 * self.bands * -(-self.leaf_capacity // _WORD)
            )
        )

    @property
    def sides(self) -> int:
        """The number of values that bound a packet: the box of its queries, how far they reach, and their images."""
        if self.periodic in CELLS:
            return 4 * self.dim + 2
        return 3 * self.dim + 2 if self.periodic else 2 * self.dim + 1

    @property
    def parts(self) -> int:
        """The number of parts of a packet; one work-item reduces a part to one of the values of :attr:`sides`."""
        parts = 1
        while 2 * parts * self.sides <= self.work_group_size:
            parts *= 2
        return parts

    @property
    def hit_words(self) -> int:
        """The number of integers that hold a bit for each work-item of a packet."""
        return -(-self.work_group_size // _WORD)

    @property
    def bands(self) -> int:
        """The number of bands of a packet."""
        return max(1, self.work_group_size // self.band)

    @property
    def _forms_packets(self) -> bool:
        """Whether queries form packets; not where a driver allows groups too small for a node's descendants."""
        return self.packed and self.work_group_size >= LEAST_PACKET

    @property
    def shares(self) -> int:
        """The number of work-items that share a query's leaves: one of each band."""
        return self.bands if self.divided and self._forms_packets else 1

    def units(self, m: int, cells: int = 0) -> int:  # noqa: ARG002
        """The number of work-items of a launch for m queries, up to the last one that serves a query."""
        size = self.work_group_size
        of_group = size // self.shares
        whole, rest = divmod(m, of_group)
        return size * whole + (size - of_group + rest if rest else 0)

    def names(self) -> dict[str, Any]:
        """The fields, and the values of a packet."""
        return {
            **super().names(),
            "packed": self._forms_packets,
            "shares": self.shares,
            "leaf_capacity": self.leaf_capacity,
            "stack": self.stack,
            # a driver may allow smaller groups
            "band": min(self.band, self.work_group_size),
            "bands": self.bands,
            "word": _WORD,
            "hit_words": self.hit_words,
            "sides": self.sides,
            "parts": self.parts,
        }

    def ranked(self, tuning: Tuning) -> TreeWalkConfig:
        """The same walk for queries that are sorted by radius."""
        band = min(self.band, tuning.tree.ranked_band)
        chunk = min(self.chunk, band * _most_fetched(tuning, self.dim))
        return dataclasses.replace(self, ranks=True, band=band, chunk=chunk)

    def taking_together(self, slots: int, tuning: Tuning) -> TreeWalkConfig:
        """The same walk for functions that take neighbors together, of which `slots` may wait."""
        band, most = min(self.band, tuning.tree.waiting_band), tuning.tree.waiting_chunk
        chunk = max(band, min(self.chunk, most, band * _most_fetched(tuning, self.dim)))
        leaves = tuning.tree.waiting_leaves
        return dataclasses.replace(self, waiting=slots, waiting_leaves=leaves, band=band, chunk=chunk)

    def inline(self) -> TreeWalkConfig:
        """The same walk as a part of another kernel, whose work-items need not run together."""
        return dataclasses.replace(self, width=1, packed=False)


def plan_tree_walk(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: str,
    leaf_size: int,
    neighbors: float = 0.0,
) -> TreeWalkConfig:
    """Plan the walk: a leaf is a run of candidates, as a row of cells is; on a GPU queries form packets."""
    band, many = value_for_neighbors(tuning.tree.bands, neighbors), neighbors >= tuning.tree.many_neighbors
    facts: dict[str, Any] = {"dim": dim, "real": real, "periodic": periodic, "leaf_size": leaf_size}
    return _tree_walk(profile, tuning, **facts, band=band, many=many)


@functools.lru_cache(maxsize=64)
def _tree_walk(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: str,
    leaf_size: int,
    band: int,
    many: bool,
) -> TreeWalkConfig:
    """Plan the walk by the size of bands and whether neighbors are `many`; cached, as it takes longer than a launch."""
    walk = plan_walk(profile, tuning, dim=dim, real=real, periodic=periodic)
    alone = TreeWalkConfig(
        work_group_size=walk.work_group_size,
        dim=dim,
        real=real,
        square_root=walk.square_root,
        periodic=periodic,
        layout=tree_layout(profile, dim),
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
    # A packet goes through the images of one box.
    if profile.kind != "gpu" or periodic in SYSTEMS:
        return alone
    widths = packet_widths(profile, tuning)
    facts: dict[str, Any] = {"band": band, "many": many, "leaf_size": leaf_size}
    packets = (_packet(alone, tuning, size=group_size(profile, width), **facts) for width in widths)
    return next((packet for packet in packets if _fits(packet, profile, tuning)), alone)


def _packet(
    alone: TreeWalkConfig, tuning: Tuning, *, size: int, band: int, many: bool, leaf_size: int
) -> TreeWalkConfig:
    """The walk by packets of `size` queries; wide ones have bands no smaller than their share of the work-items."""
    band = min(size, band if size <= _WORD else max(band, size // _MOST_BANDS))
    return dataclasses.replace(
        alone,
        work_group_size=size,
        unrolled=tuning.tree.unrolled,
        packed=True,
        sorts=True,
        many=many,
        band=band,
        chunk=_chunk(tuning, band, leaf_size, alone.dim),
    )


def _fits(packet: TreeWalkConfig, profile: DeviceProfile, tuning: Tuning) -> bool:
    """Whether the device has the local memory of a packet, of which smaller bands take more, and groups that large."""
    local_memory = max(packet.local_memory, packet.ranked(tuning).local_memory)
    return local_memory <= profile.usable_local_memory and packet.work_group_size >= LEAST_PACKET


def _chunk(tuning: Tuning, band: int, leaf_size: int, dim: int) -> int:
    """The number of points that a band loads together, the same number for each work-item."""
    of_item, wanted = 1, min(max(tuning.tree.least_chunk, leaf_size), tuning.tree.largest_chunk)
    while of_item < _most_fetched(tuning, dim) and of_item * band < wanted:
        of_item *= 2
    return of_item * band


def _most_fetched(tuning: Tuning, dim: int) -> int:
    """The largest number of points of a chunk that a work-item holds, a power of two."""
    return 1 << max(1, tuning.tree.fetched_numbers // (dim + 1)).bit_length() - 1


def is_crowded(points: float, tuning: Tuning) -> bool:
    """Whether `points` in a cube whose side is the largest radius make a device wait for its last queries."""
    return points >= tuning.tree.crowd


def divides_uneven_queries(survey: Survey, m: int, tuning: Tuning) -> bool:
    """Whether several work-items serve each of m queries in a crowd, where few have far more neighbors than others."""
    return survey.unevenness_beyond_chance >= tuning.tree.uneven_crowd and m <= _MOST_DIVIDED


def are_few_queries(m: int, profile: DeviceProfile, tuning: Tuning) -> bool:
    """Whether m queries are too few to occupy the device with one work-item each."""
    return m <= tuning.tree.few_queries_a_unit * busy_units(profile)


def without_packets(config: TreeWalkConfig, profile: DeviceProfile, tuning: Tuning) -> TreeWalkConfig:
    """The same walk for single queries."""
    if not config.packed:
        return config
    walk = plan_walk(profile, tuning, dim=config.dim, real=config.real, periodic=config.periodic)
    return dataclasses.replace(config, work_group_size=walk.work_group_size, unrolled=walk.unrolled, packed=False)
