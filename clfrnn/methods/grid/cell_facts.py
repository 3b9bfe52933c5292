"""CellFacts: what follows from a grid for its windows and for plans of lists."""

from __future__ import annotations

import dataclasses
import functools
import math

from ...config import INT, WalkConfig
from ...domain.cells import CellGrid, padded_radius
from ...problem import Problem
from ..domain_tables.tables import SystemGrids
from ..first_pass.plan import ListFacts

__all__ = ["CellFacts"]

#: Words of a hit mask, as a share of those that follow from the rows and runs of a window. With a smaller share,
#: queries of uniform clouds exceed them.
_WORDS = 0.85


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CellFacts:
    """Facts that follow from a grid, each computed when it is first needed."""

    problem: Problem
    grid: CellGrid
    config: WalkConfig
    #: slots of a neighbor buffer for each query
    slots: int
    #: the mean number of neighbors from which on a list is written from a hit mask, several indices at once
    mask_neighbors: float
    #: whether the candidates of a row of cells are one run; otherwise those of each cell are
    rows_are_runs: bool
    #: the grids of systems, which walks go through in place of `grid`, where there are many
    grids: SystemGrids | None = None

    @functools.cached_property
    def pieces(self) -> float:
        """The number of runs of a row, where cells narrower than the radius divide its candidates into more than one.

        Cells of side r count as one run, as the measured numbers below count them.
        """
        narrow = 0.0 if self.rows_are_runs else self.problem.radius / self.grid.sides[0]
        return max(1.0, narrow)

    @functools.cached_property
    def window(self) -> tuple[float, float]:
        """The expected runs and candidates in a query's window.

        The candidates follow from the crowding of the survey; on a torus, points that share the addresses are added.
        """
        grid, survey, problem = self.grid, self.problem.survey, self.problem
        radius = max(problem.radius, max(grid.sides) * 1e-6)
        crowded, share, rows = 1.0 + survey.others, 1.0, 1.0
        for axis, (side, many, period) in enumerate(zip(grid.sides, grid.shape, grid.periods, strict=True)):
            window = 2.0 * radius / side + 2.0
            crowded *= window * side / radius
            share *= min(1.0, window / many)
            if axis:
                rows *= window if period else min(window, many)
        most = problem.images * problem.n
        return self.pieces * rows, min(most, crowded + share * most * grid.wrapped)

    @functools.cached_property
    def wraps_once(self) -> bool:
        """Whether the window of a query in the box crosses at most one edge of each axis, and meets no cell twice."""
        if self.grids is not None:
            return self.grids.wraps_once
        box, radius = self.problem.space, padded_radius(self.problem.radius, self.problem.real)
        # Half a padding more covers the rounding of the window itself.
        reaches = [radius * (1 + box.growth) + 1.5 * pad for pad in box.pads(self.grid.low, self.problem.real)]
        return box.exceeds_windows(reaches) and self.grid.has_unique_addresses(reaches)

    @functools.cached_property
    def lists(self) -> ListFacts:
        """The facts that plans of lists depend on."""
        config, survey, radius = self.config, self.problem.survey, self.problem.radius
        found, columns = survey.neighbors(radius), config.columns
        if columns:
            words = min(found + 4 * survey.spread(radius), 4 * found) + 4
            size, spare = INT.itemsize, config.width
        else:
            words = min(self._words_of_bits(found), found + 4 * math.sqrt(found) + 4)
            size, spare = 2 * INT.itemsize, 0
        return ListFacts(
            slots=self.slots,
            mask_words=words if found >= self.mask_neighbors else 0.0,
            mask_word_bytes=size,
            mask_spare=spare,
            by_sectors=not columns and found >= self.mask_neighbors,
        )

    def _words_of_bits(self, found: float) -> float:
        """Words of a hit mask that few queries with `found` neighbors exceed.

        A ball meets some rows of cells, and the run of candidates in each row takes a word for every 32 candidates, and
        at least one. Where points crowd unevenly, runs are longer.
        """
        along, *across = [side / max(self.problem.radius, max(self.grid.sides) * 1e-6) for side in self.grid.sides]
        radius, area = self.problem.radius, math.prod(across)
        # The rows that a disc meets. The run of a row holds a share of the candidates in the ball.
        rows = 1.0 + sum([2.0 / side for side in across])
        ball = math.pi
        if self.problem.dim == 3:
            rows += math.pi / area
            ball *= 4.0 / 3.0
        run = found * (2.0 + 2.0 * along) * area / ball
        excess = max(0.0, self.problem.survey.spread(radius) ** 2 - found)
        run *= 1.0 + 2.0 * math.sqrt(excess) / max(found, 1.0)
        return _WORDS * rows * (self.pieces + run / 32)
