"""Parts of a cloud: the rows that each box owns, and those that it must see besides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from .axes import Axes
from .boxes import Boxes, check_boxes, domain_axes
from .rows import as_rows, check_radius, in_threads, number_dtype, real_of, slices, survey

__all__ = ["BoxTree", "Part", "assign", "assign_rows"]


class Part(NamedTuple):
    """The rows of the whole cloud that one part needs: those of the points in its box, and those in its halo.

    `owned` are the rows of the points in the box, and `halo` those of points within the radius of the box. Both are
    arrays in ascending order, int32, or int64 from 2**31 rows on, and share no row.
    """

    owned: npt.NDArray[np.integer[Any]]
    halo: npt.NDArray[np.integer[Any]]

    @property
    def rows(self) -> npt.NDArray[np.integer[Any]]:
        """All rows of the part, in ascending order."""
        return self.merged()[0]

    def merged(self) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.intp]]:
        """All rows of the part, in ascending order, and where those that it owns stand among them."""
        if not len(self.halo):
            return self.owned, np.arange(len(self.owned))
        is_owned = np.ones(len(self.owned) + len(self.halo), bool)
        is_owned[np.searchsorted(self.owned, self.halo) + np.arange(len(self.halo))] = False
        rows = np.empty(len(is_owned), self.owned.dtype)
        rows[is_owned], rows[~is_owned] = self.owned, self.halo
        return rows, np.flatnonzero(is_owned)


def assign(
    points: Any,
    boxes: Any,
    radius: float,
    *,
    box: Any = None,
    cell: Any = None,
    periodic: Any = None,
) -> list[Part]:
    """Find the rows of the points in each box, and its halo: the rows of all others that may be neighbors of these.

    Parameters
    ----------
    points : (n, dim), finite; an array of numpy, a memory-mapped one, or one that is read by slices, as those of Zarr
        and HDF5. It is read in slices
    boxes : (parts, 2, dim), half-open boxes as :func:`split` gives them, of the same domain
    radius : scalar, the largest distance of a neighbor, in the points' unit
    box, cell, periodic : the domain of the points, as for :func:`clfrnn.search`

    Returns
    -------
    a :class:`Part` for each box. Its halo holds every row within the radius of the box, or of one of its images,
    whatever lies between, and some that lie a rounding farther. A box that is empty has no halo.

    Raises
    ------
    InvalidInputError
        A number is NaN or infinite, with its row; a point lies in no box, or in several.

    Notes
    -----
    A search of the owned rows among the rows of their part, in the same domain, finds the neighbors that it would find
    in the whole. Distances from boxes are computed in float64, and compared with the radius and the most that
    rounding in the points' dtype may add. Cost: one reading, two in a periodic domain; about log2(parts) comparisons
    for each coordinate; 4 bytes of host memory for each row of a part.

    Examples
    --------
    >>> from clfrnn.parts import assign, split
    >>> points = [[0.0], [1.0], [2.0], [3.0]]
    >>> [(part.owned.tolist(), part.halo.tolist()) for part in assign(points, split(points, 2), 1.0)]
    [([0, 1], [2, 3]), ([2, 3], [1])]
    """
    rows = as_rows(points, "points")
    within = check_radius(radius)
    axes = domain_axes((box, cell, periodic), rows)
    farthest = survey(rows, "points").farthest if axes.repeats else 0.0
    tree = BoxTree(check_boxes(boxes, int(rows.shape[1])), axes, axes.reach(within, real_of(rows), farthest))
    return assign_rows(rows, tree, "points")


def assign_rows(points: Any, tree: BoxTree, name: str) -> list[Part]:
    """The parts of an array that was checked; errors call it by its `name`."""
    dtype = number_dtype(int(points.shape[0]))
    none = np.zeros(0, dtype)
    owned: list[list[npt.NDArray[Any]]] = [[none] for _ in range(tree.parts)]
    halo: list[list[npt.NDArray[Any]]] = [[none] for _ in range(tree.parts)]

    def divide(given: tuple[int, npt.NDArray[Any]]) -> list[tuple[int, npt.NDArray[Any], npt.NDArray[Any]]]:
        start, rows = given
        owners = np.zeros(len(rows), np.int32)
        found = []
        for number, inside, near in tree.divide(tree.axes.places(rows)):
            owners[inside] += 1
            found.append((number, (inside + start).astype(dtype), (near + start).astype(dtype)))
        if (owners != 1).any():
            row = int(np.argmax(owners != 1))
            raise InvalidInputError(
                f"expected boxes of which one holds each point, got {owners[row]} that hold row {start + row} of "
                f"{name}, {rows[row].tolist()}; pass what split() gives, and the same box, cell and periodic to both",
                argument="boxes",
            )
        return found

    for found in in_threads(divide, slices(points, name)):
        for number, inside, near in found:
            owned[number].append(inside)
            halo[number].append(near)
    return [Part(np.concatenate(own), np.concatenate(near)) for own, near in zip(owned, halo, strict=True)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Node:
    """Boxes that follow each other, within two corners."""

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    #: the number of the box where it is one; -1 for several
    number: int
    halves: tuple[_Node, ...]
    #: the axes along which the corners are others than those of the node that this one is a half of
    axes: tuple[int, ...]
    #: the axis and the coordinate that part the halves, where one does and the boxes of each fill its side of it
    cut: tuple[int, float] | None


class _Cuts(NamedTuple):
    """The nodes of a tree of boxes that fill space, as arrays: from the root, `depth` cuts lead to the box of a place.

    Behind a node is the half below its cut, `halves[2 * node]`, or the other; behind a box, the box.
    """

    depth: int
    axes: npt.NDArray[np.intp]
    places: npt.NDArray[np.float64]
    halves: npt.NDArray[np.intp]
    #: the number of the box of a node that is one, of the least dtype, by which places are sorted fastest
    numbers: npt.NDArray[Any]

    @classmethod
    def of(cls, root: _Node) -> _Cuts:
        """The arrays of a tree."""
        nodes, level, depth = [root], [root], 0
        halves: list[int] = []
        while level:
            level = [half for node in level for half in node.halves]
            depth += bool(level)
            nodes += level
        behind = 1
        for at, node in enumerate(nodes):
            halves += [behind, behind + 1] if node.halves else [at, at]
            behind += len(node.halves)
        cuts = [node.cut or (0, np.inf) for node in nodes]
        return cls(
            depth=depth,
            axes=np.array([axis for axis, _ in cuts]),
            places=np.array([place for _, place in cuts]),
            halves=np.array(halves),
            numbers=np.array([node.number for node in nodes]).astype(np.min_scalar_type(len(nodes))),
        )


class BoxTree:
    """Boxes in a tree, by which places find those that own them and those that they touch.

    Parameters
    ----------
    boxes : (parts, 2, dim)
    axes : the axes of the domain
    reach : how far from a place a box may lie to be touched
    """

    def __init__(self, boxes: Boxes, axes: Axes, reach: float) -> None:
        self.boxes, self.axes, self.reach = boxes, axes, reach
        self.parts = len(boxes)
        # On an axis that repeats, distances are those to the box within one period.
        self._low = np.maximum(boxes[:, 0], axes.low)
        self._high = np.minimum(boxes[:, 1], axes.high)
        # Of an image, a distance is rounded once more than that of the place itself.
        self._reaches = reach + 2.0**-45 * (np.abs(axes.starts) + axes.periods)
        numbers = np.flatnonzero((boxes[:, 0] < boxes[:, 1]).all(axis=1) & (self._low <= self._high).all(axis=1))
        everything = np.full(boxes.shape[2], np.inf)
        self._root = self._node(numbers, -everything, everything) if len(numbers) else None
        space = np.stack([-everything, everything])
        #: where the boxes fill space, the cuts that tell which one holds a place
        self._cuts = _Cuts.of(self._root) if self._root and _fills(self._root, boxes, space) else None

    def _node(
        self, numbers: npt.NDArray[np.intp], low_above: npt.NDArray[np.float64], high_above: npt.NDArray[np.float64]
    ) -> _Node:
        half = len(numbers) // 2
        low, high = self._low[numbers].min(axis=0), self._high[numbers].max(axis=0)
        below, above = self.boxes[numbers[:half]], self.boxes[numbers[half:]]
        meet: Any = np.flatnonzero(below[:, 1].max(axis=0) == above[:, 0].min(axis=0)) if half else []
        return _Node(
            low=low,
            high=high,
            number=-1 if half else int(numbers[0]),
            halves=(self._node(numbers[:half], low, high), self._node(numbers[half:], low, high)) if half else (),
            axes=tuple(np.flatnonzero((low != low_above) | (high != high_above)).tolist()),
            cut=(int(meet[0]), float(above[:, 0].min(axis=0)[meet[0]])) if len(meet) else None,
        )

    def divide(
        self, places: npt.NDArray[np.float64], reaches: npt.NDArray[np.float64] | None = None
    ) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """For each box that is touched: its number, the places that it owns, and the others within the reach of it.

        With `reaches`, each place has its own.
        """
        columns = np.ascontiguousarray(places.T)
        everything = np.arange(len(places))
        if self._cuts is None or reaches is not None:
            yield from self._touch(columns, everything, reaches)
            return
        # Most places lie far from the faces of their box, and touch no other one.
        owners, is_near = self._owners(places, self._cuts)
        halos = {number: near for number, _, near in self._touch(columns, np.flatnonzero(is_near), None)}
        order = np.argsort(owners, kind="stable")
        ends = np.cumsum(np.bincount(owners, minlength=self.parts))[:-1]
        for number, inside in enumerate(np.split(order, ends)):
            near = halos.get(number, everything[:0])
            if len(inside) or len(near):
                yield number, inside, near

    def _owners(self, places: npt.NDArray[np.float64], cuts: _Cuts) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """The number of the box that holds each place, and whether the place lies within the reach of a face of it."""
        coordinates, first = places.ravel(), np.arange(len(places)) * places.shape[1]
        nodes = np.zeros(len(places), np.intp)
        for _ in range(cuts.depth):
            x = coordinates.take(first + cuts.axes.take(nodes))
            nodes = cuts.halves.take(2 * nodes + (x >= cuts.places.take(nodes)))
        owners = cuts.numbers.take(nodes)
        is_near = np.zeros(len(places), bool)
        for axis, reach in enumerate(self._reaches):
            column = places[:, axis]
            for face, sign in ((self._low[:, axis], 1), (self._high[:, axis], -1)):
                if np.isfinite(face).any():
                    is_near |= sign * (column - face.take(owners)) <= reach
        return owners, is_near

    def _touch(
        self,
        columns: npt.NDArray[np.float64],
        candidates: npt.NDArray[np.intp],
        reaches: npt.NDArray[np.float64] | None,
    ) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """What :meth:`divide` yields, of some places."""
        left = [] if self._root is None else [(self._root, candidates)]
        while left:
            node, candidates = left.pop()
            for axis in node.axes:
                reach = self.reach if reaches is None else reaches[candidates]
                candidates = candidates[self._touched(columns[axis][candidates], axis, node, reach)]
            if node.halves:
                left += [(half, candidates) for half in node.halves if len(candidates)]
                continue
            inside = np.ones(len(candidates), bool)
            for column, low, high in zip(columns, *self.boxes[node.number], strict=True):
                if low > -np.inf or high < np.inf:
                    x = column[candidates]
                    inside &= (x >= low) & (x < high)
            yield node.number, candidates[inside], candidates[~inside]

    def _touched(self, x: npt.NDArray[np.float64], axis: int, node: _Node, reach: Any) -> npt.NDArray[np.bool_]:
        """Whether places lie within the reach of the corners of a node along an axis, or images of them do."""
        low, high, period = node.low[axis], node.high[axis], self.axes.periods[axis]
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.maximum(low - x, x - high)
            if period:
                beyond = np.minimum(beyond, np.minimum(low - (x - period), (x + period) - high))
            return np.asarray(beyond <= reach)


def _fills(node: _Node, boxes: Boxes, space: npt.NDArray[np.float64]) -> bool:
    """Whether the cuts of a node divide a space, (2, dim), into its boxes."""
    if not node.halves:
        return np.array_equal(boxes[node.number], space)
    if node.cut is None:
        return False
    axis, cut = node.cut
    below, above = space.copy(), space.copy()
    below[1, axis] = above[0, axis] = cut
    return _fills(node.halves[0], boxes, below) and _fills(node.halves[1], boxes, above)
