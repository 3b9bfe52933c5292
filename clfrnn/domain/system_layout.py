"""The layout of many systems: a slot for each in one space, and the image table of each.

A system has a slot of its own, in which its points are placed by their coordinates, or by heights as in
:class:`~clfrnn.domain.lattice.PeriodicCell`. Distances are computed from coordinates, so where a slot lies changes no
result. Slots are so far apart that the window of a query meets no other slot, unless it is far longer than a system.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .box import EPSILON, SLACK, SYSTEMS
from .systems import SystemFacts, Systems

__all__ = [
    "SystemBounds",
    "SystemCells",
    "SystemHeights",
    "into_slots",
    "lay_out_cells",
    "lay_out_systems",
    "space_of_slots",
    "spanning_reaches",
    "table_length",
    "widened",
]

#: Distance of slots, in reaches: a query at the edge of an image of its system sees the other edge of it.
_APART = 2.02

#: The same in extents of a system, should the reach be longer than these.
_MOST_APART = 4.0

#: Cells of a system for each of its points, and in any case, at most.
_CELLS_OF_POINT, _LEAST_CELLS = 4, 8

#: Cells on an axis, at most: as many as coordinates of cells have.
_MOST_ON_AXIS = 2.0**28

#: Factor by which a side that divides a length still divides it after rounding.
_WHOLE = 1 + 1e-6

#: The least margin around points that move, and what these may leave empty on an axis before they get a closer layout,
#: in reaches.
_MARGIN, _LEFT_EMPTY = 0.1, 2.0

#: The share by which a reach that spans a system is larger than it must be.
_SPARE = 1.01

_DTYPE = {"float": np.float32, "double": np.float64}

_Numbers = npt.NDArray[np.float64]


class SystemBounds(NamedTuple):
    """The lowest and the highest heights of rows in each system, (systems, dim); infinite where there are no rows."""

    low: _Numbers
    high: _Numbers


@dataclasses.dataclass(frozen=True)
class SystemCells:
    """A grid of cells for each system, one after the other."""

    #: the image table of each system, and one for queries of no system, (systems + 1, numbers)
    tables: _Numbers
    #: (systems + 1, 4): the shape of each grid, and the address of its first cell; an empty cell stands behind the last
    shapes: npt.NDArray[np.int32]
    cells: int
    #: whether the window of each query in its box crosses at most one edge of each axis
    wraps_once: bool


def table_length(dim: int, *, reduced: bool) -> int:
    """The numbers of one system in the image table: those of a cell, and the displacements of heights and positions.

    Where images are counted along combinations of lattice vectors, `reduced`, these follow.
    """
    return (3 if reduced else 2) * dim * dim + 13 * dim + 4


class _Columns:
    """Views of the columns of tables by name: see ``domain/period_numbers.mako`` and ``domain/lattice.mako``."""

    def __init__(self, tables: _Numbers, dim: int) -> None:
        ends = np.cumsum([*[dim] * 7, 1, 1, 1, 1, *[dim] * 4, dim * dim, dim * dim, dim, dim])
        parts = np.split(tables, ends, axis=1)
        self.lengths, self.inverses, self.image_inverses, self.starts, self.pads, self.first, self.last = parts[:7]
        self.in_box, self.growth, self.pad, self.far_pad = parts[7:11]
        self.weights, self.most, self.lowest, self.highest, self.normals, self.vectors = parts[11:17]
        self.displacement, self.moved, self.combinations = parts[17:]


class SystemHeights:
    """Where points of each system lie: bounds of their heights, and the period or the extent of each axis.

    All are (systems, dim). A system without points has an infinite `low`.
    """

    def __init__(self, systems: Systems, bounds: SystemBounds) -> None:
        low, high = bounds
        facts, filled = systems.facts, np.isfinite(low) & np.isfinite(high)
        self.low, self.high = np.where(filled, low, 0.0), np.where(filled, high, 0.0)
        self.periodic = facts.lengths > 0
        self.starts = _starts(facts, self.low, self.high)
        self.begin = np.where(self.periodic, self.starts, self.low)
        self.end = np.where(self.periodic, self.starts + facts.lengths, self.high)
        self.far = np.maximum(np.abs(self.low), np.abs(self.high))
        self._facts, self._bounds = facts, bounds
        #: whether all points lie inside the domains of their systems
        self.in_box = self._hold(self.low, self.high)

    def inside(self, low: _Numbers, high: _Numbers) -> npt.NDArray[np.bool_]:
        """Of each system and axis, whether what lies between `low` and `high` leaves no period."""
        slack = SLACK / 2 * self._facts.lengths
        within = (low >= self.starts - slack) & (high <= self.starts + self._facts.lengths + slack)
        return ~self.periodic | within

    def _hold(self, low: _Numbers, high: _Numbers) -> bool:
        near = np.maximum(np.abs(low), np.abs(high)) <= self._facts.extents / 2
        return bool((self.inside(low, high) & near).all())

    def serve(self, bounds: SystemBounds, reach: float) -> bool:
        """Whether a layout for these heights serves points with `bounds`: they lie within and fill half of each axis.

        A layout for bounds serves all points between them, but cells may be too wide for points that drew closer, and
        images are looked for where points lay outside of their boxes.
        """
        (low, high), mine = bounds, self._bounds
        with np.errstate(invalid="ignore"):  # a system without points
            filled = 2 * (high - low) + _LEFT_EMPTY * reach >= mine.high - mine.low
        lies = bool(((low >= mine.low) & (high <= mine.high) & (filled | self.periodic)).all())
        return lies and (self.in_box or not self._hold(low, high))

    def served(self, reach: float, most: float) -> _Numbers | None:
        """The lowest low corner, the highest high corner, and the least extents of what :meth:`serve` says yes to.

        (systems, 3, dim). They lie within `most`, and where images can be distinguished. None where points of the
        layout lie outside of their boxes: bounds alone do not tell then.
        """
        if not self.in_box:
            return None
        (low, high), limits = self._bounds, np.minimum(self._facts.limits, most)
        with np.errstate(invalid="ignore"):  # a system without points
            least = np.where(self.periodic, 0.0, np.maximum(0.0, (high - low - _LEFT_EMPTY * reach) / 2))
        return np.stack([np.maximum(low, -limits), np.minimum(high, limits), least], axis=1)


def widened(systems: Systems, bounds: SystemBounds, reach: float) -> SystemBounds:
    """Wider bounds, so that the layout for them serves points that move on: up to the edges of cells of a reach.

    Points that lie in a period have no more than that.
    """
    heights = SystemHeights(systems, bounds)
    extents = heights.high - heights.low
    margin = np.maximum(_MARGIN * reach, 0.49 * (reach - np.fmod(extents, reach)))
    margin = np.minimum(margin, extents.max(initial=0.0))  # of a reach far beyond all points
    held = heights.periodic & heights.inside(heights.low, heights.high)
    first = np.where(held, np.minimum(heights.starts, bounds.low), -np.inf)
    last = np.where(held, np.maximum(heights.starts + systems.facts.lengths, bounds.high), np.inf)
    return SystemBounds(np.maximum(bounds.low - margin, first), np.minimum(bounds.high + margin, last))


def spanning_reaches(systems: Systems, heights: SystemHeights, k: int, queries: SystemBounds | None) -> _Numbers:
    """For each system a radius within which a query sees all of its points, or more than k images of them.

    `queries` are the bounds of queries, None where these are the points.
    """
    begin, end = heights.begin, heights.end
    if queries is not None:
        begin, end = np.minimum(begin, queries.low), np.maximum(end, queries.high)
    counts, axes = systems.counts, heights.periodic.sum(axis=1)
    beside = np.zeros(len(counts))
    while True:
        few = (axes > 0) & (counts > 0) & (counts * (2 * beside + 1.0) ** axes <= k)
        if not few.any():
            break
        beside[few] = np.maximum(beside[few] + 1, np.floor(0.45 * (k / counts[few]) ** (1 / axes[few])))
    sides = np.where(heights.periodic, (beside[:, None] + 0.5) * systems.facts.spans, end - begin)
    far = np.maximum(np.abs(begin), np.abs(end)).max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):
        longest = _SPARE * np.sqrt((sides**2).sum(axis=1))
    found: _Numbers = longest + 64 * EPSILON[systems.real] * math.sqrt(systems.dim) * far
    return found


def space_of_slots(heights: SystemHeights, reach: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The corners of the space that all slots fill; arguments as for :func:`lay_out_systems`."""
    many, dim = heights.begin.shape
    pitch, gap = _pitch(heights.end - heights.begin, reach)
    _, counts = _slots(many, dim)
    return (0.0,) * dim, tuple((counts * pitch - gap).tolist())


def lay_out_systems(systems: Systems, heights: SystemHeights, reach: float) -> _Numbers:
    """The image tables of systems with points of these heights, each in a slot, (systems + 1, :func:`table_length`).

    `reach` is the largest half width of a window. The last table is for queries of no system.
    """
    facts, dim, many = systems.facts, systems.dim, len(systems.numbers)
    begin, end = heights.begin, heights.end
    slots, _ = _slots(many, dim)
    # Where points lie by heights, and by coordinates: for a box the same.
    pitch, _ = _pitch(end - begin, reach)
    displacement = slots * pitch - begin
    inverse = systems.inverse_normals
    middle = np.einsum("sab,sb->sa", inverse, (begin + end) / 2)
    halves = np.einsum("sab,sb->sa", np.abs(inverse), (end - begin) / 2)
    pitch_of_positions, _ = _pitch(2 * halves, reach)
    moved = slots * pitch_of_positions - (middle - halves)
    tables = np.zeros((many + 1, table_length(dim, reduced=systems.kind == SYSTEMS[1])))
    table = _Columns(tables[:many], dim)
    table.starts[:] = heights.starts + displacement
    table.first[:] = np.where(heights.periodic, table.starts, -np.inf)
    table.last[:] = np.where(heights.periodic, table.starts + facts.lengths, np.inf)
    scale = 16 * EPSILON[systems.real] * facts.weights
    placed = np.maximum(np.abs(heights.low + displacement), np.abs(heights.high + displacement))
    rounded = 2 * (heights.far + placed) + np.abs(heights.starts) + np.abs(table.starts) + facts.lengths
    rounded += np.abs(displacement)
    pad = (scale * rounded).sum(axis=1) + 16 * EPSILON[systems.real] * np.abs(moved).sum(axis=1)
    _fill(table, systems, heights, scale, pad)
    table.most[:] = 2 * facts.limits + np.abs(displacement)
    table.lowest[:], table.highest[:] = begin + displacement, end + displacement
    table.displacement[:], table.moved[:] = displacement, moved
    tables[many:] = tables[:1]
    return tables


def _fill(table: _Columns, systems: Systems, heights: SystemHeights, scale: _Numbers, pad: _Numbers) -> None:
    """The columns that follow from domains, from the pads of coordinates and heights, and from `scale`, (systems, dim).

    `scale` is the pad of a query for each unit of its heights.
    """
    facts, many = systems.facts, len(pad)
    table.lengths[:] = facts.lengths
    table.inverses[:] = np.where(heights.periodic, 1 / np.where(heights.periodic, facts.lengths, 1), 0)
    table.image_inverses[:] = 0 if heights.in_box else table.inverses
    table.pads[:] = pad[:, None] + SLACK * facts.lengths
    table.in_box[:] = heights.in_box
    table.growth[:, 0] = 1 + scale.sum(axis=1)
    table.pad[:, 0], table.far_pad[:, 0] = pad, 2 * pad
    table.weights[:] = scale
    table.normals[:] = facts.normals.reshape(many, -1)
    table.vectors[:] = facts.vectors.reshape(many, -1)
    if table.combinations.size:
        table.combinations[:] = facts.combinations.reshape(many, -1)


def _starts(facts: SystemFacts, low: _Numbers, high: _Numbers) -> _Numbers:
    """The low corner of each system's domain, as :meth:`PeriodicBox.starts` finds it."""
    slack = SLACK / 2 * facts.lengths
    starts = low
    for usual in (-0.5 * facts.lengths, 0 * facts.lengths):
        fits = (low >= usual - slack) & (high <= usual + facts.lengths + slack)
        starts = np.where(fits, usual, starts)
    starts = np.where(np.isnan(facts.given), starts, facts.given)
    return np.where(facts.lengths > 0, starts, 0.0)


def _slots(many: int, dim: int) -> tuple[_Numbers, _Numbers]:
    """The slot of each system on each axis, (systems, dim), and the number of slots on each axis."""
    counts, left = [], many
    for axis in range(dim, 0, -1):
        counts.append(max(1, math.ceil(left ** (1 / axis) - 1e-9)))
        left = -(-left // counts[-1])
    return np.stack(np.unravel_index(np.arange(many), counts), axis=1).astype(float), np.array(counts, float)


def _pitch(extents: _Numbers, reach: float) -> tuple[_Numbers, float]:
    """How far slots lie apart on each axis, and the empty space between two of them."""
    widest = extents.max(axis=0, initial=0.0)
    most = float(widest.max())
    gap = min(_APART * reach, _MOST_APART * most) if most > 0 else min(_APART * reach, 1.0)
    if not gap > 0:
        gap = most or 1.0
    return widest + gap, gap


def into_slots(systems: Systems, tables: _Numbers, positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The images of `positions`, (n, dim), in the slots of their systems, about as kernels find them."""
    facts, ranks = systems.facts, systems.ranks
    table = _Columns(tables[ranks], systems.dim)
    heights = np.einsum("nab,nb->na", facts.normals[ranks], positions.astype(np.float64)) + table.displacement
    lengths = facts.lengths[ranks]
    with np.errstate(invalid="ignore"):  # rows that are not finite are refused later
        images = np.floor((heights - table.starts) / np.where(lengths > 0, lengths, np.inf))
    return positions - np.einsum("na,nab->nb", images, facts.steps[ranks]) + table.moved


def lay_out_cells(systems: Systems, heights: SystemHeights, sides: tuple[float, ...], reach: float) -> SystemCells:
    """A grid of cells for each system, about of these `sides`, around points of these heights.

    Of a periodic axis a whole number of cells fills a period. A system has at most four cells for each of its points.
    Where there would be more, an open system has a torus of about two for each point, around which its cells are
    wrapped; its shape is then negative. A periodic one has wider cells.
    """
    facts, dim, many = systems.facts, systems.dim, len(systems.numbers)
    extents = heights.end - heights.begin
    counts = systems.counts
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.where(heights.periodic, np.floor(extents / sides * _WHOLE), np.floor(extents / sides) + 1)
    wanted = np.clip(np.nan_to_num(wanted, nan=1.0), 1, _MOST_ON_AXIS)
    most = np.maximum(_CELLS_OF_POINT * counts, _LEAST_CELLS)
    wrapped = (wanted.prod(axis=1) > most) & ~heights.periodic.any(axis=1)
    own_sides = np.maximum(extents / _MOST_ON_AXIS, sides)
    wanted[wrapped] = _torus(wanted[wrapped], counts[wrapped])
    while (crowded := ~wrapped & (wanted.prod(axis=1) > most)).any():
        wanted[crowded] = np.maximum(1, np.floor(wanted[crowded] / 2))
    shape = wanted.astype(np.int64)
    with np.errstate(divide="ignore"):
        divided = np.where(heights.periodic, extents / shape, np.maximum(extents / shape, sides))
    own_sides = np.where(wrapped[:, None], own_sides, divided)
    inverses = (1 / own_sides.astype(_DTYPE[systems.real])).astype(np.float64)
    tables = np.zeros((many + 1, table_length(dim, reduced=systems.kind == SYSTEMS[1])))
    table = _Columns(tables[:many], dim)
    scale = 16 * EPSILON[systems.real] * facts.weights
    pad = (scale * (2 * heights.far + np.abs(heights.starts) + facts.lengths)).sum(axis=1)
    _fill(table, systems, heights, scale, pad)
    table.starts[:], table.most[:] = heights.starts, 2 * facts.limits
    table.first[:] = np.where(heights.periodic, heights.starts, -np.inf)
    table.last[:] = np.where(heights.periodic, heights.starts + facts.lengths, np.inf)
    table.lowest[:], table.highest[:] = heights.begin, heights.end
    table.displacement[:], table.moved[:] = heights.begin, inverses
    tables[many:] = tables[:1]
    cells = shape.prod(axis=1)
    shapes = np.ones((many + 1, 4), np.int64)
    shapes[:many, :dim] = np.where(wrapped[:, None], -shape, shape)
    shapes[1:, 3], shapes[0, 3] = np.cumsum(cells), 0
    reaches = reach * table.growth + 1.5 * table.pads
    once = ~heights.periodic | (2 * reaches < 0.99 * facts.lengths)
    return SystemCells(tables, shapes.astype(np.int32), int(cells.sum()) + 1, bool(once.all()))


def _torus(extents: _Numbers, counts: npt.NDArray[np.int64]) -> _Numbers:
    """Powers of two whose product is about twice `counts`, so that each axis wraps about equally often."""
    shape = np.ones_like(extents)
    while (few := shape.prod(axis=1) < 2 * counts).any():
        axis = np.argmax(extents[few] / shape[few], axis=1)
        shape[np.flatnonzero(few), axis] *= 2
    return shape
