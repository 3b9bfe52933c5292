"""Binning in two steps: points are sorted into buckets, which are runs of cells, and each bucket into its cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyopencl.array as cla

from ....config import INT
from ....primitives.fill import cleared
from ....primitives.readback import PendingBox
from ....runtime.scratch import Scratch
from ....runtime.session import Session
from ...grid_arguments import PackedGrid
from .config import bucket_groups, plan_bucket_cells, plan_buckets
from .plan import BinningPlan

__all__ = ["BucketSort", "Buckets"]


class Buckets(NamedTuple):
    """Points in the order of buckets: their records, the end of each bucket, and the counters of the buckets."""

    records: Scratch
    ends: Scratch
    counts: Scratch


class BucketSort:
    """Work-groups count and fill buckets, then cells. See :class:`~clfrnn.methods.grid.binning.binning.Binning`.

    With `tiles` no starts of cells are found: each tile of a bucket is sorted by cell on its own, so that several
    groups share a bucket with many points.

    Atomic operations are used: the order inside a cell is not repeatable.
    """

    finds_box = True
    disorder = None

    def __init__(
        self, session: Session, cells: PackedGrid, plan: BinningPlan, *, n: int, layout: str, tiles: bool = False
    ) -> None:
        facts = cells.facts
        self.plan = plan
        self.finds_starts = not tiles
        self._session, self._cells, self._n = session, cells, n
        self._kernels, config = session.planned(
            "methods/grid/binning/bucket_pass", plan_buckets, **facts, buckets=1 << (plan.buckets - 1).bit_length()
        )
        stem = "methods/grid/binning/bucket_to_tiles" if tiles else "methods/grid/binning/bucket_to_cells"
        cells_of_bucket = None if tiles else 1 << plan.shift
        self._fillers, filling = session.planned(stem, plan_bucket_cells, **facts, layout=layout, cells=cells_of_bucket)
        self._size, self._filling_size, self._tile = config.work_group_size, filling.work_group_size, filling.tile
        self._groups = bucket_groups(session.profile, session.tuning, n, self._size)
        self._boxes = session.scratch(
            self._groups * (2 * cells.dim + 1), cells.dtype, purpose="the bounding boxes of groups"
        )

    def sort(
        self,
        points: cla.Array,
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
        images: Scratch | None = None,
    ) -> None:
        """Three launches. Memory: a second copy of the points, and 4 bytes for each bucket and group."""
        arguments = self._cells.arguments(images)
        self.fill(self.count(points, arguments), arguments, starts, places, box)

    def count(self, points: cla.Array, arguments: tuple[Any, ...]) -> Buckets:
        """Enqueue the count of buckets and the sort into them; the device skips that sort where regions are used."""
        session, plan, size, groups = self._session, self.plan, self._size, self._groups
        buckets, regions = plan.buckets, plan.regions
        ends = session.scratch(buckets, INT, purpose="the ends of buckets")
        counted = buckets + (2 * regions + 1 if regions else 0)
        counts = cleared(session, counted, purpose="the counts of buckets")
        records = session.scratch(4 * self._n, self._cells.dtype, purpose="the points in the order of buckets")
        group_counts = session.scratch(groups * buckets, INT, purpose="the counts of groups")
        shared = (
            self._n,
            plan.shift,
            buckets,
            points.base_data,
            *arguments,
            counts.base_data,
            group_counts.base_data,
        )
        session.launch(
            self._kernels["count_buckets"],
            groups * size,
            size,
            *shared,
            self._boxes.base_data,
            regions,
            plan.span,
            plan.entered,
        )
        session.launch(
            self._kernels["sort_buckets"],
            groups * size,
            size,
            *shared,
            ends.base_data,
            records.base_data,
            regions,
            plan.entered,
        )
        return Buckets(records, ends, counts)

    def fill(
        self,
        buckets: Buckets,
        arguments: tuple[Any, ...],
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
    ) -> None:
        """Enqueue the sort of buckets into cells or tiles, which leaves the counters at zero for the next sort."""
        assert box is not None
        if self.finds_starts:
            assert starts is not None
            self._fill_cells(buckets, arguments, starts, places, box)
        else:
            self._sort_tiles(buckets, arguments, places, box)
        self._session.keep_cleared(buckets.counts)

    def _fill_cells(
        self, buckets: Buckets, arguments: tuple[Any, ...], starts: Scratch, places: Scratch, box: PendingBox
    ) -> None:
        self._session.launch(
            self._fillers["fill_cells"],
            self.plan.buckets * self._filling_size,
            self._filling_size,
            self._n,
            self.plan.shift,
            self._cells.grid.cells,
            self._groups,
            *arguments,
            buckets.ends.base_data,
            buckets.records.base_data,
            self._boxes.base_data,
            starts.base_data,
            places.base_data,
            buckets.counts.base_data,
            *box.arguments,
        )

    def _sort_tiles(self, buckets: Buckets, arguments: tuple[Any, ...], places: Scratch, box: PendingBox) -> None:
        tiles = self._n // self._tile + self.plan.buckets  # the last tile of each bucket may be partly filled
        self._session.launch(
            self._fillers["sort_tiles"],
            tiles * self._filling_size,
            self._filling_size,
            self._n,
            self.plan.shift,
            self.plan.buckets,
            self._groups,
            *arguments,
            buckets.ends.base_data,
            buckets.records.base_data,
            self._boxes.base_data,
            places.base_data,
            buckets.counts.base_data,
            *box.arguments,
        )
