"""Builds trees over points, and fits them again to points that have moved."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ...config import INT, sorted_copy_length
from ...primitives.fill import cleared
from ...primitives.readback import Readback
from ...primitives.reduce import find_bulk
from ...problem import Problem
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..domain_tables.tables import Images
from ..structure import NewPoints
from .build_plan import count_leaves, needed_leaves, plan_tree
from .order import TreeOrder
from .plan import TreePlan

__all__ = ["Tree", "TreeBuilder"]

#: Smallest side of a leaf, in radii, that its volume is computed from: a flat leaf would have no volume to compare.
_LEAST_SIDE = 1 / 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tree:
    """The points of a tree in search order, its nodes, and the volumes of its leaves when the order was made."""

    points: Scratch
    nodes: Scratch
    volumes: Scratch
    images: Images
    #: where most of the points lay when the order was made, see :func:`~clfrnn.primitives.reduce.find_bulk`
    bulk: Scratch


class TreeBuilder:
    """Builds trees over one number of points, and fits them to points that have moved."""

    def __init__(self, session: Session, problem: Problem, plan: TreePlan, dtype: np.dtype[Any]) -> None:
        self._session, self._problem, self._plan, self._dtype = session, problem, plan, dtype
        self.leaves = count_leaves(problem.n, plan.leaf_size)
        #: the number of leaves that hold points
        self.used_leaves = needed_leaves(problem.n, plan.leaf_size)
        #: the numbers of points and of leaves, the last node, and the number of points in a leaf, as walks take them
        self.numbers = tuple(
            map(np.int32, (problem.n, self.leaves, self.leaves + self.used_leaves - 1, plan.leaf_size))
        )
        tiny = float(np.finfo(dtype).tiny)
        #: the smallest side of a leaf that counts, and the radius
        self._lengths = dtype.type(max(_LEAST_SIDE * problem.radius, tiny)), dtype.type(problem.radius)
        self.kernels, self.config = session.planned(
            "methods/tree/build",
            plan_tree,
            dim=problem.dim,
            real=problem.real,
            periodic=problem.periodic,
            leaves=plan.group_leaves,
        )
        self.order = TreeOrder(session, self.kernels, self.config, plan.leaf_size, crowds=problem.survey.crowds_finely)
        #: whether the growth of leaves decides when points are sorted again
        self._watches_growth = not math.isinf(plan.rebuild_threshold)
        #: the logarithm of the largest growth of a leaf's volume since the order was made, and the sum over points of
        #: the number of points that a cube of side radius holds there
        self._growth = Readback(session)
        self._groups = max(1, self.leaves // self.config.leaves)
        #: the partial results of each work-group, and the number of groups that are done; all zero between launches
        self._partials = cleared(session, self._groups * self._partial_ints + 1, purpose="what groups found of a tree")

    @property
    def _partial_ints(self) -> int:
        """Int32 numbers of a group's partial results: a box, a growth, a sum, the first row that is not finite."""
        return (2 * self._problem.dim + 2) * (self._dtype.itemsize // INT.itemsize) + 1

    def build(self, new: NewPoints, starts: tuple[float, ...]) -> Tree:
        """Build a tree over points in a new order, in a periodic box with the low corner `starts`."""
        images = new.tables.images(starts, new.bounds)
        volumes = self._session.scratch(self.used_leaves, self._dtype, purpose="the volumes of leaves")
        # In cells and batches bounds are not those of coordinates, and the bulk is all between them.
        raw = self._problem.periodic in ("", "box")
        bulk = find_bulk(self._session, new.points, new.known_bounds, among=self._problem.n if raw else 0)
        if self._plan.construction == "median":
            order = self.order.by_medians(new.points, images)
        else:
            order = self.order.along_curve(new.points, bulk, images)
        return self._fit("fit_ordered", order, new, volumes=volumes, images=images, bulk=bulk)

    def refit(self, tree: Tree, new: NewPoints, starts: tuple[float, ...]) -> Tree:
        """Fit the boxes of `tree` to points that have moved."""
        images = new.tables.images(starts, new.bounds)
        return self._fit("fit_again", tree.points, new, volumes=tree.volumes, images=images, bulk=tree.bulk)

    def growth(self) -> tuple[float, float]:
        """Wait for the growth of the newest tree's leaves, as a logarithm, and for the crowding of its points.

        The crowding is the number of points in a cube of side radius, in the mean over points. Without a threshold of
        growth, both values are those of the tree whose order was made last.
        """
        self._growth.wait()
        growth, crowd = np.frombuffer(self._growth.host, self._dtype, 2)
        return float(growth), float(crowd) / max(1, self._problem.n)

    def _fit(
        self,
        kernel: str,
        order: Scratch,
        new: NewPoints,
        *,
        volumes: Scratch,
        images: Images,
        bulk: Scratch,
    ) -> Tree:
        """Enqueue the launch that copies points to their places and fits all boxes from the leaves up."""
        session, problem, leaves, config = self._session, self._problem, self.leaves, self.config
        size, bounds = config.work_group_size, new.known_bounds
        sorted_points = session.scratch(
            sorted_copy_length(config.layout, problem.dim, problem.n),
            self._dtype,
            purpose="the points in the order of a tree",
        )
        nodes = session.scratch(
            (leaves + self.used_leaves) * config.corners, self._dtype, purpose="the nodes of a tree"
        )
        reordered = kernel == "fit_ordered"
        session.launch(
            self.kernels[kernel],
            self._groups * size,
            size,
            order.base_data,
            problem.n,
            leaves,
            self._plan.leaf_size,
            reordered,
            *self._lengths,
            new.points.base_data,
            *images.arguments,
            sorted_points.base_data,
            nodes.base_data,
            volumes.base_data,
            self._partials.base_data,
            self._growth.buffer,
            bounds.placed,
            *bounds.arguments,
        )
        if reordered or self._watches_growth:
            self._growth.start()
        return Tree(points=sorted_points, nodes=nodes, volumes=volumes, images=images, bulk=bulk)
