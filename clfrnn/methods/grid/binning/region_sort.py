"""Binning of many points in three steps: into regions, which are runs of buckets, into buckets, and into cells."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

from ....config import INT
from ....primitives.readback import PendingBox
from ....runtime.scratch import Scratch
from ....runtime.session import Session
from ...grid_arguments import PackedGrid
from .bucket_sort import Buckets, BucketSort
from .config import plan_regions
from .plan import BinningPlan

__all__ = ["RegionSort"]


class RegionSort:
    """A bucket sort with two passes in place of one. See :class:`~clfrnn.methods.grid.binning.binning.Binning`.

    The device decides from the order of the points whether the two passes run or the one pass of the bucket sort: where
    points come nearly in the order of cells, each group writes to few buckets, and one pass is faster.
    """

    finds_box = True

    def __init__(
        self, session: Session, cells: PackedGrid, plan: BinningPlan, *, n: int, layout: str, tiles: bool = False
    ) -> None:
        self.buckets = BucketSort(session, cells, plan, n=n, layout=layout, tiles=tiles)
        self.finds_starts = self.buckets.finds_starts
        self._session, self._cells, self._n = session, cells, n
        self._kernels, config = session.planned("methods/grid/binning/region_pass", plan_regions, **cells.facts)
        self._size, self._tile = config.work_group_size, config.tile
        #: the starts of regions, the number of points, and a flag that is not 0 where the two passes run
        self._starts = session.scratch(plan.regions + 2, INT, purpose="the starts of regions")
        self.disorder = Scratch(self._starts.base_data, 1, INT, INT.itemsize * (plan.regions + 1))

    def sort(
        self,
        points: cla.Array,
        starts: Scratch | None,
        places: Scratch,
        box: PendingBox | None,
        images: Scratch | None = None,
    ) -> None:
        """Five launches, of which one or two return at once. Memory as for the bucket sort."""
        arguments = self._cells.arguments(images)
        buckets = self.buckets.count(points, arguments)
        self._sort_by_regions(points, arguments, buckets, places)
        self.buckets.fill(buckets, arguments, starts, places, box)

    def _sort_by_regions(
        self, points: cla.Array, arguments: tuple[Any, ...], buckets: Buckets, places: Scratch
    ) -> None:
        """Enqueue the two passes. Records in the order of regions lie in `places` where these have enough memory."""
        session, plan, size, n = self._session, self.buckets.plan, self._size, self._n
        between = places
        if places.size < buckets.records.size:
            purpose = "the points in the order of regions"
            between = session.scratch(buckets.records.size, self._cells.dtype, purpose=purpose)
        divided = plan.shift, plan.span, plan.buckets, plan.regions
        passed = *arguments, buckets.counts.base_data, self._starts.base_data, buckets.ends.base_data
        session.launch(
            self._kernels["sort_regions"],
            -(-n // self._tile) * size,
            size,
            n,
            *divided,
            points.base_data,
            *passed,
            between.base_data,
            plan.entered,
        )
        session.launch(
            self._kernels["sort_within_regions"],
            (n // self._tile + plan.regions) * size,  # the last tile of each region may be partly filled
            size,
            *divided,
            *passed,
            between.base_data,
            buckets.records.base_data,
        )
