"""The order of a tree's points, and of queries that are none: along a curve, in halves, by medians, or by radii."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...inputs.arrays import fetch
from ...period import PeriodicBox
from ...planning.tree_build import Cut, TreeConfig, cut_of
from ...primitives.radix_sort import sort_positions
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch
from ...runtime.session import Session
from .medians import order_by_medians

__all__ = ["TreeOrder"]

_UINT, _ULONG = np.dtype(np.uint32), np.dtype(np.uint64)


class TreeOrder:
    """Orders points for leaves of a size."""

    def __init__(self, session: Session, kernels: Mapping[str, cl.Kernel], making: TreeConfig, leaf_size: int) -> None:
        self._session, self._kernels, self._making, self._leaf_size = session, kernels, making, leaf_size

    def along_curve(self, points: cla.Array, bounds: PendingBox, images: tuple[Scratch, ...]) -> Scratch:
        """The points on a curve, those in the same place, or short part of it, in the order of input.

        Where blocks fit local memory, their leaves are made compact.
        """
        making, n = self._making, points.shape[0]
        if not making.slots(self._leaf_size) or n <= self._leaf_size:
            return self._by_place(points, bounds, images)
        cut = cut_of(n)
        ranges = self._cut(points, cut, bounds, images)
        keys = self._session.scratch(n, _UINT, purpose="the places of points on a curve")
        self._session.launch(
            self._kernels["curve_parts"],
            n,
            making.work_group_size,
            np.int32(n),
            points.base_data,
            *bounds.arguments,
            *(each.base_data for each in images),
            np.int32(cut.sampled),
            np.int32(cut.parts),
            ranges.base_data,
            keys.base_data,
        )
        order = sort_positions(self._session, keys, cut.bits)[1]
        self._halve(points, order, images)
        return order

    def _by_place(self, points: cla.Array, bounds: PendingBox, images: tuple[Scratch, ...]) -> Scratch:
        """By all the bits of a place: what lies in a leaf is then up to the curve alone."""
        making, n = self._making, points.shape[0]
        keys = self._session.scratch(n, _ULONG, purpose="the places of points on a curve")
        self._session.launch(
            self._kernels["curve_places"],
            n,
            making.work_group_size,
            np.int32(n),
            points.base_data,
            *bounds.arguments,
            *(each.base_data for each in images),
            keys.base_data,
        )
        return sort_positions(self._session, keys, making.curve_bits * making.dim)[1]

    def _cut(self, points: cla.Array, cut: Cut, bounds: PendingBox, images: tuple[Scratch, ...]) -> Scratch:
        """Where the ranges of the curve begin that hold about as many points each, and its end."""
        session, size = self._session, self._making.work_group_size
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
            *bounds.arguments,
            *(each.base_data for each in images),
            keys.base_data,
        )
        session.launch(
            self._kernels["sort_sample"],
            self._making.comparing(cut.sampled),
            size,
            np.int32(cut.sampled),
            keys.base_data,
            ranges.base_data,
        )
        return ranges

    def of_queries(self, queries: cla.Array, nodes: Scratch, images: tuple[Scratch, ...]) -> Scratch:
        """The order of queries along the curve through the root of a tree, by as many bits as tell so many apart."""
        making, m = self._making, queries.shape[0]
        bits = making.query_bits(m)
        keys = self._session.scratch(m, _UINT, purpose="the order of queries")
        self._session.launch(
            self._kernels["curve_keys"],
            m,
            making.work_group_size,
            np.int32(m),
            np.int32(making.curve_bits * making.dim - bits),
            queries.base_data,
            nodes.base_data,
            *(each.base_data for each in images),
            keys.base_data,
        )
        return sort_positions(self._session, keys, bits)[1]

    def by_radii(
        self, radii: cla.Array, points: Scratch, n: int, queries: cla.Array | None, order: Scratch | None
    ) -> Scratch:
        """Queries in `order` by their radii, block by block of it; without `queries`, the n `points` in their own."""
        making, m = self._making, radii.shape[0]
        ranked = self._session.scratch(m, INT, purpose="the order of queries")
        self._session.launch(
            self._kernels["order_by_radii"],
            -(-m // making.block) * making.work_group_size,
            making.work_group_size,
            np.int32(m),
            np.int32(n),
            np.int32(queries is None),
            points.base_data,
            (points if order is None else order).base_data,  # not looked at where points are in their order
            (points if queries is None else queries).base_data,
            radii.base_data,
            ranked.base_data,
        )
        return ranked

    def by_medians(self, points: cla.Array, periodic: PeriodicBox | None, starts: tuple[float, ...]) -> Scratch:
        """The points divided at medians, on the host, which waits for them."""
        host = fetch(self._session, points)
        if periodic is not None:
            turns = np.where(np.greater(periodic.lengths, 0), periodic.lengths, np.inf)
            with np.errstate(invalid="ignore"):  # rows that are not finite are refused later
                host = host - np.floor((host - np.array(starts)) / turns) * periodic.lengths
        order = self._session.upload(order_by_medians(host, self._leaf_size), purpose="the order of points")
        return Scratch(order.base_data, order.size, order.dtype)

    def _halve(self, points: cla.Array, order: Scratch, images: tuple[Scratch, ...]) -> None:
        """Each block of the order halved down to leaves."""
        making, n = self._making, points.shape[0]
        slots = making.slots(self._leaf_size)
        blocks = -(-n // (making.halved // slots * self._leaf_size))
        self._session.launch(
            self._kernels["order_by_halves"],
            blocks * making.work_group_size,
            making.work_group_size,
            np.int32(n),
            np.int32(self._leaf_size),
            np.int32(slots),
            points.base_data,
            *(each.base_data for each in images),
            order.base_data,
        )
