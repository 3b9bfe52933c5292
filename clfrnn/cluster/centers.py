"""Centers of clusters: the means of members, whose images are those that links join across the edges of a box.

Along an axis that repeats, most clusters leave a gap that is wider than a link is long: no link passes it, and the
members beside it tell where the cluster begins. That needs no pairs. The links of the other clusters are gone through,
and each member gets the image at which links reach it; a cluster that links join to an image of itself has no mean
along that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..answers.linking.spaces import Spaces

__all__ = ["Links", "find_centers"]

_Ints = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.float64]

#: By how many roundings of its coordinates, and by what share, a gap must be wider than a link.
_ROUNDINGS, _WIDER = 64.0, 1e-5

#: The share of a vector's length below which its coordinate along an axis is 0 but for rounding.
_ALONG = 1e-9


class Links(NamedTuple):
    """Some pairs within reach: the number of a point, that of a neighbor, and how often each lattice vector counts."""

    first: _Ints
    second: _Ints
    shifts: _Ints


class _Members(NamedTuple):
    """The members of clusters, one cluster behind the other."""

    #: the members, and where each cluster begins
    order: _Ints
    starts: _Ints
    #: the cluster of each of these members
    owner: _Ints


def find_centers(
    points: npt.NDArray[np.floating],
    labels: npt.NDArray[np.int32],
    core: npt.NDArray[np.bool_],
    many: int,
    *,
    distance: float,
    spaces: Spaces | None,
    list_links: Callable[[], Iterable[Links]],
) -> _Numbers:
    """The centers of clusters, (many, dim); NaN on an axis along which a cluster reaches itself.

    Parameters
    ----------
    points : (n, dim), where they were linked
    labels, core, many, distance : as :class:`.Clusters` has them
    spaces : where axes repeat; None where none does
    list_links : lists the pairs of all points, some at a time; both directions of each
    """
    positions = points.astype(np.float64)
    if not many:
        return np.empty((0, points.shape[1]))
    members = _members_of(labels, many)
    if spaces is not None:
        trees = _Trees(labels, many, spaces)
        rounding = _ROUNDINGS * float(np.finfo(points.dtype).eps)
        moves, is_open = _moves_by_gaps(positions, members, distance, spaces, rounding)
        if is_open.any():
            chosen = (labels >= 0) & is_open[labels]
            for block in list_links():
                inside = chosen[block.first] & core[block.second] & (labels[block.first] == labels[block.second])
                links = Links(*(each[inside] for each in block))
                of_core = core[links.first]
                trees.unite(Links(*(each[of_core] for each in links)))
                trees.hold(Links(*(each[~of_core] for each in links)))
            trees.place_borders()
            moves[chosen] = np.einsum("nk,nkd->nd", trees.images, spaces.vectors[spaces.rank])[chosen]
        positions += moves
    first = positions[members.order[members.starts]]
    away = positions[members.order] - first[members.owner]
    centers = first + np.add.reduceat(away, members.starts) / np.bincount(members.owner)[:, None]
    if spaces is not None:
        for _ in range(2):  # rounding may move a center to the far edge
            centers = _into_box(centers, spaces, spaces.rank[members.order[members.starts]])
            centers = centers.astype(points.dtype).astype(np.float64)
        centers[trees.endless] = np.nan
    return centers


def _members_of(labels: npt.NDArray[np.int32], many: int) -> _Members:
    there = np.flatnonzero(labels >= 0)
    order = there[np.argsort(labels[there], kind="stable")]
    owner = labels[order].astype(np.int64)
    return _Members(order, np.searchsorted(owner, np.arange(many)), owner)


def _moves_by_gaps(
    positions: _Numbers, members: _Members, distance: float, spaces: Spaces, rounding: float
) -> tuple[_Numbers, npt.NDArray[np.bool_]]:
    """The translation of each point that brings clusters together, (n, dim), and which clusters have no gap."""
    order, owner = members.order, members.owner
    rank = spaces.rank[order]
    places = np.einsum("nd,nkd->nk", positions[order], spaces.normals[rank])
    period = spaces.heights[rank]
    images = np.zeros_like(places)
    is_open = np.zeros(len(members.starts), bool)
    for axis in np.flatnonzero((spaces.heights > 0).any(axis=0)):
        length = np.where(period[:, axis] > 0, period[:, axis], np.inf)
        whole = np.floor(places[:, axis] / length)
        inside = places[:, axis] - np.where(whole == 0, 0, whole * length)
        begin, widest = _behind_widest_gap(inside, length, members)
        far = np.maximum.reduceat(np.abs(positions[order]).max(axis=1), members.starts)
        least = distance * (1 + _WIDER) + rounding * (far + distance + np.where(np.isinf(widest), 0, widest))
        is_open |= widest <= least
        images[:, axis] = (inside < begin[owner]) - whole
    repeated = np.where(period > 0, images, 0.0)
    moves = np.zeros_like(positions)
    moves[order] = np.einsum("nk,nkd->nd", repeated, spaces.steps[rank])
    return moves, is_open


def _behind_widest_gap(inside: _Numbers, length: _Numbers, members: _Members) -> tuple[_Numbers, _Numbers]:
    """Where each cluster begins on a circle, behind the widest gap between its members, and that gap."""
    by_place = np.lexsort((inside, members.owner))
    ascending = inside[by_place]
    ends = np.append(members.starts[1:], len(inside)) - 1
    before = np.append(0.0, ascending[:-1])
    before[members.starts] = ascending[ends] - length[members.starts]
    gaps = ascending - before
    widest = np.maximum.reduceat(gaps, members.starts)
    is_widest = np.flatnonzero(gaps == widest[members.owner])
    chosen = is_widest[np.unique(members.owner[is_widest], return_index=True)[1]]
    return ascending[chosen], widest


class _Trees:
    """Trees of linked points: the root of each point's tree, and its image there."""

    def __init__(self, labels: npt.NDArray[np.int32], many: int, spaces: Spaces) -> None:
        n, dim = len(labels), spaces.vectors.shape[1]
        self._labels, self._spaces = labels, spaces
        self._roots = np.arange(n)
        #: (n, dim), how often each lattice vector counts
        self.images = np.zeros((n, dim), np.int64)
        #: (many, dim), on which axes each cluster reaches itself
        self.endless = np.zeros((many, dim), bool)
        #: the lowest core point within reach of each point at a border, n where there is none, and the shift to it
        self._holders, self._from_holders = np.full(n, n), np.zeros((n, dim), np.int64)

    def unite(self, links: Links) -> None:
        """Join the trees of core points."""
        while True:
            one, other = self._roots[links.first], self._roots[links.second]
            between = self.images[links.first] + links.shifts - self.images[links.second]
            self._note_ways_around(links.first, between, (one == other) & between.any(axis=1))
            apart = one != other
            if not apart.any():
                return
            links = Links(*(each[apart] for each in links))
            self._hook(one[apart], other[apart], between[apart])

    def _note_ways_around(self, points: _Ints, between: _Ints, around: npt.NDArray[np.bool_]) -> None:
        """Note along which axes links lead from a point to another image of it."""
        ways = np.column_stack([self._labels[points], self._spaces.rank[points], between])[around]
        for label, rank, *times in np.unique(ways, axis=0).tolist():
            way = np.abs(np.array(times) @ self._spaces.vectors[rank])
            self.endless[label] |= way > _ALONG * way.max()

    def _hook(self, one: _Ints, other: _Ints, between: _Ints) -> None:
        """Make each root that has a link to a lower one its child, and all points children of roots."""
        high = np.maximum(one, other)
        joined, at = np.unique(high, return_index=True)
        parents, steps = np.arange(len(self._roots)), np.zeros_like(self.images)
        parents[joined] = np.minimum(one, other)[at]
        steps[joined] = np.where((high == other)[at, None], between[at], -between[at])
        while ((beyond := parents[parents]) != parents).any():
            steps += steps[parents]
            parents = beyond
        self.images += steps[self._roots]
        self._roots = parents[self._roots]

    def hold(self, links: Links) -> None:
        """Note the lowest core point of each point at a border, and its lowest shift."""
        order = np.lexsort((*links.shifts.T[::-1], links.second, links.first))
        first, at = np.unique(links.first[order], return_index=True)
        lowest = order[at]
        lower = links.second[lowest] < self._holders[first]
        self._holders[first[lower]] = links.second[lowest][lower]
        self._from_holders[first[lower]] = links.shifts[lowest][lower]

    def place_borders(self) -> None:
        """Give points at borders the images at which their core points reach them."""
        held = np.flatnonzero(self._holders < len(self._holders))
        self.images[held] = self.images[self._holders[held]] - self._from_holders[held]


def _into_box(centers: _Numbers, spaces: Spaces, rank: npt.NDArray[np.int32]) -> _Numbers:
    """The images of centers in the box."""
    places = np.einsum("nd,nkd->nk", centers, spaces.normals[rank])
    length = np.where(spaces.heights[rank] > 0, spaces.heights[rank], np.inf)
    whole = np.floor((places - spaces.starts[rank]) / length)
    found: _Numbers = centers - np.einsum("nk,nkd->nd", whole, spaces.steps[rank])
    return found
