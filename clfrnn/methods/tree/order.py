"""The order of a tree's points and of queries: along a curve, halved into leaves, by medians, or by radius."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...config import INT
from ...points.transfer import fetch
from ...primitives.gather import take_numbers
from ...primitives.radix_sort import sort_positions
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..domain_tables.tables import Images
from .build_plan import CurveDivision, TreeConfig, plan_curve_cut
from .medians import order_by_medians

__all__ = ["TreeOrder"]

_UINT, _ULONG = np.dtype(np.uint32), np.dtype(np.uint64)


class TreeOrder:
    """Sorts points for leaves of one size, and queries for a tree."""

    def __init__(
        self, session: Session, kernels: Mapping[str, cl.Kernel], config: TreeConfig, leaf_size: int, *, crowds: bool
    ) -> None:
        self._session, self._kernels, self._config, self._leaf_size = session, kernels, config, leaf_size
        #: whether points may crowd in the smallest cubes that a key tells apart
        self._crowds = crowds

    def along_curve(self, points: cla.Array, bulk: Scratch, images: Images) -> Scratch:
        """The order of points along the curve; points in the same part of the curve stay in the order of input.

        Where a block of the order fits local memory, it is then halved down to compact leaves.
        """
        config, n = self._config, points.shape[0]
        if not config.slots(self._leaf_size) or n <= self._leaf_size:
            return self._by_place(points, bulk, images)
        cut = plan_curve_cut(n, self._session.tuning)
        ranges = self._cut(points, cut, bulk, images)
        keys = self._session.scratch(n, _UINT, purpose="the places of points on a curve")
        self._session.launch(
            self._kernels["curve_parts"],
            n,
            config.work_group_size,
            np.int32(n),
            points.base_data,
            bulk.base_data,
            *images.arguments,
            np.int32(cut.sampled),
            np.int32(cut.parts),
            ranges.base_data,
            keys.base_data,
        )
        order = sort_positions(self._session, keys, cut.bits)[1]
        self._halve(points, order, images)
        return order

    def _by_place(self, points: cla.Array, bulk: Scratch, images: Images) -> Scratch:
        """The order by all bits of the points' keys on the curve; where points crowd, by as many bits behind them."""
        session, bits = self._session, self._config.curve_bits * self._config.dim
        keys = self._places(points, bulk, images, 0)
        if not self._crowds:
            return sort_positions(session, keys, bits)[1]
        within = sort_positions(session, self._places(points, bulk, images, 1), bits)[1]
        order = sort_positions(session, take_numbers(session, keys, within), bits)[1]
        return take_numbers(session, within, order)

    def _places(self, points: cla.Array, bulk: Scratch, images: Images, part: int) -> Scratch:
        config, n = self._config, points.shape[0]
        keys = self._session.scratch(n, _ULONG, purpose="the places of points on a curve")
        self._session.launch(
            self._kernels["curve_places"],
            n,
            config.work_group_size,
            np.int32(n),
            points.base_data,
            bulk.base_data,
            *images.arguments,
            np.int32(part),
            keys.base_data,
        )
        return keys

    def _cut(self, points: cla.Array, cut: CurveDivision, bulk: Scratch, images: Images) -> Scratch:
        """The keys at which ranges with about as many points each begin, and the end of the last range."""
        session, size = self._session, self._config.work_group_size
        keys, ranges = (
            session.scratch(many, _ULONG, purpose="a sample of the places of points on a curve")
            for many in (cut.sampled, cut.sampled + 1)
        )
        session.launch(
            self._kernels["sample_keys"],
            cut.sampled,
            size,
            np.int32(cut.sampled),
            np.int32(cut.apart),
            points.base_data,
            bulk.base_data,
            *images.arguments,
            keys.base_data,
        )
        session.launch(
            self._kernels["sort_sample"],
            self._config.comparing_items(cut.sampled),
            size,
            np.int32(cut.sampled),
            keys.base_data,
            ranges.base_data,
        )
        return ranges

    def of_queries(self, queries: cla.Array, bulk: Scratch, images: Images) -> Scratch:
        """The order of queries along the curve of the points, by as many bits as distinguish m queries."""
        config, m = self._config, queries.shape[0]
        bits = config.query_bits(m)
        keys = self._session.scratch(m, _UINT, purpose="the order of queries")
        self._session.launch(
            self._kernels["curve_keys"],
            m,
            config.work_group_size,
            np.int32(m),
            np.int32(config.curve_bits * config.dim - bits),
            queries.base_data,
            bulk.base_data,
            *images.arguments,
            keys.base_data,
        )
        return sort_positions(self._session, keys, bits)[1]

    def by_radii(
        self, radii: cla.Array, points: Scratch, n: int, queries: cla.Array | None, order: Scratch | None
    ) -> Scratch:
        """Sort queries by radius within each block of `order`; without `queries`, the n `points` in search order."""
        config, m = self._config, radii.shape[0]
        order_by_radius = self._session.scratch(m, INT, purpose="the order of queries")
        self._session.launch(
            self._kernels["order_by_radii"],
            -(-m // config.block) * config.work_group_size,
            config.work_group_size,
            np.int32(m),
            np.int32(n),
            np.int32(queries is None),
            points.base_data,
            (points if order is None else order).base_data,  # not read where queries are the points
            (points if queries is None else queries).base_data,
            radii.base_data,
            order_by_radius.base_data,
        )
        return order_by_radius

    def by_medians(self, points: cla.Array, images: Images) -> Scratch:
        """The order by medians, found on the host; waits for the points."""
        host = images.tables.into_box(fetch(self._session, points), images.starts)
        order = self._session.upload(order_by_medians(host, self._leaf_size), purpose="the order of points")
        return Scratch(order.base_data, order.size, order.dtype)

    def _halve(self, points: cla.Array, order: Scratch, images: Images) -> None:
        """Enqueue the kernel that halves each block of the order down to leaves."""
        config, n = self._config, points.shape[0]
        slots = config.slots(self._leaf_size)
        blocks = -(-n // (config.halved // slots * self._leaf_size))
        self._session.launch(
            self._kernels["order_by_halves"],
            blocks * config.work_group_size,
            config.work_group_size,
            np.int32(n),
            np.int32(self._leaf_size),
            np.int32(slots),
            points.base_data,
            *images.arguments,
            order.base_data,
        )
