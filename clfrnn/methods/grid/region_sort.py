"""Binning of very many points: into regions, runs of buckets, first, then each region into its buckets and cells."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

from ...planning.binning import BinningPlan
from ...planning.bucket_sort import plan_regions
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session
from ..grid_arguments import PackedGrid
from .bucket_sort import Buckets, BucketSort

__all__ = ["RegionSort"]


class RegionSort:
    """A bucket sort in two passes. See :class:`~clfrnn.methods.grid.binning.Binning`.

    The device decides by the order in which points come whether the two passes sort them or the one pass of the bucket
    sort: where they come nearly in the order of cells, each group enters few buckets.
    """

    finds_box = True

    def __init__(
        self, session: Session, cells: PackedGrid, plan: BinningPlan, *, n: int, layout: str, tiles: bool = False
    ) -> None:
        self.buckets = BucketSort(session, cells, plan, n=n, layout=layout, tiles=tiles)
        self.finds_starts = self.buckets.finds_starts
        self._session, self._cells, self._n = session, cells, n
        self._kernels, config = session.planned("grid/region_pass", plan_regions, **cells.facts)
        self._size, self._tile = config.work_group_size, config.tile
        #: where regions start, the number of points, and whether the two passes serve them
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
        """Five launches, one or two of which find nothing to do; memory as for the bucket sort."""
        arguments = self._cells.arguments(images)
        buckets = self.buckets.count(points, arguments)
        self._sort_by_regions(points, arguments, buckets, places)
        self.buckets.fill(buckets, arguments, starts, places, box)

    def _sort_by_regions(
        self, points: cla.Array, arguments: tuple[Any, ...], buckets: Buckets, places: Scratch
    ) -> None:
        """Enqueue the two passes. Between them records lie in `places`, if the sorted copy is long enough for them."""
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
            (n // self._tile + plan.regions) * size,  # each region ends with a tile of its own
            size,
            *divided,
            *passed,
            between.base_data,
            buckets.records.base_data,
        )
