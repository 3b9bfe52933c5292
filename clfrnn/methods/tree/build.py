"""A tree: points in an order of its own and boxes over them, made, and fitted again to points that have moved."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyopencl.array as cla

from ...planning.configs import room_for_points
from ...planning.problem import Problem
from ...planning.tree_build import count_leaves, leaves_of_group, needed_leaves, plan_tree
from ...primitives.fill import cleared
from ...primitives.readback import PendingBox
from ...runtime.scratch import INT, Scratch, Sent
from ...runtime.session import Session
from .order import TreeOrder
from .plan import TreePlan

__all__ = ["Tree", "TreeBuilder"]

#: A side of a leaf counts as no narrower than this share of the radius: a flat leaf has no volume to compare with.
_LEAST_SIDE = 1 / 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tree:
    """Points in the tree's order and the boxes over them; how large leaves were when their order was made."""

    points: Scratch
    nodes: Scratch
    volumes: Scratch
    images: tuple[Scratch, ...]
    #: the box of the points
    bounds: PendingBox
    #: where the periodic box begins, if there is one
    starts: tuple[float, ...]
    #: when it is known how far its leaves have grown
    measured: Sent | None


class TreeBuilder:
    """Makes trees for as many clouds as come, of as many points each, and fits them to points that have moved."""

    def __init__(self, session: Session, problem: Problem, plan: TreePlan, dtype: np.dtype[Any]) -> None:
        self._session, self._problem, self._plan, self._dtype = session, problem, plan, dtype
        self.leaves = count_leaves(problem.n, plan.leaf_size)
        #: those that hold points, which are all that are kept
        self.held = needed_leaves(problem.n, plan.leaf_size)
        #: the points, the leaves, the last node and the points of a leaf, as walks take them
        self.numbers = tuple(map(np.int32, (problem.n, self.leaves, self.leaves + self.held - 1, plan.leaf_size)))
        tiny = float(np.finfo(dtype).tiny)
        #: the least side of a leaf that has a volume, and the radius
        self._lengths = dtype.type(max(_LEAST_SIDE * problem.radius, tiny)), dtype.type(problem.radius)
        self.kernels, self.config = session.planned(
            "tree/build",
            plan_tree,
            dim=problem.dim,
            real=problem.real,
            periodic=problem.box is not None,
            leaves=leaves_of_group(session.profile, session.tuning, self.leaves),
        )
        self.order = TreeOrder(session, self.kernels, self.config, plan.leaf_size)
        #: the largest ratio of a leaf's volumes now and when the order was made, as a logarithm; and, when the order
        #: was made, the sum over points of how many were in a cube of side radius
        self._told = session.pinned(self, self._dtype)
        self._grown = session.scratch(2, self._dtype, purpose="the growth of leaves")
        self._groups = max(1, self.leaves // self.config.leaves)
        #: what groups tell the last of them, and how many have ended; zero whenever no boxes are being made
        self._between = cleared(session, self._groups * self._told_of_group + 1, purpose="what groups found of a tree")
        #: when the host is told of that beside kernels, unless it was heard: nobody may write there until then
        self._sent: Sent | None = None

    @property
    def _told_of_group(self) -> int:
        """Ints that a group leaves: a box, the growth of a leaf, a sum, and the first point that is not finite."""
        return (2 * self._problem.dim + 2) * (self._dtype.itemsize // INT.itemsize) + 1

    def build(
        self, points: cla.Array, bounds: PendingBox, starts: tuple[float, ...], images: tuple[Scratch, ...]
    ) -> Tree:
        """A tree over points in a new order."""
        volumes = self._session.scratch(self.held, self._dtype, purpose="the volumes of leaves")
        if self._plan.construction == "median":
            placed = self.order.by_medians(points, self._problem.box, starts)
        else:
            placed = self.order.along_curve(points, bounds, images)
        return self._fit("fit_ordered", placed, points, bounds, volumes=volumes, images=images, starts=starts)

    def refit(
        self, tree: Tree, points: cla.Array, bounds: PendingBox, starts: tuple[float, ...], images: tuple[Scratch, ...]
    ) -> Tree:
        """The same tree around points that have moved."""
        return self._fit("fit_again", tree.points, points, bounds, volumes=tree.volumes, images=images, starts=starts)

    def hear(self, tree: Tree) -> tuple[float, float]:
        """Wait for what a tree's boxes tell: how far a leaf has grown, as a logarithm, and how crowded points were.

        That is the number of points in a cube of side radius, in the mean over points, when the order was last made.
        """
        if tree.measured is not None:
            tree.measured.wait()
            if tree.measured is self._sent:
                self._sent = None
        growth, crowd = self._told
        return float(growth), float(crowd) / max(1, self._problem.n)

    def _fit(
        self,
        kernel: str,
        order: Scratch,
        points: cla.Array,
        bounds: PendingBox,
        *,
        volumes: Scratch,
        images: tuple[Scratch, ...],
        starts: tuple[float, ...],
    ) -> Tree:
        """Points to their places, and boxes from the leaves up, all in one launch."""
        session, problem, leaves, making = self._session, self._problem, self.leaves, self.config
        size = making.work_group_size
        sorted_points = session.scratch(
            room_for_points(making.layout, problem.dim, problem.n),
            self._dtype,
            purpose="the points in the order of a tree",
        )
        nodes = session.scratch((leaves + self.held) * making.corners, self._dtype, purpose="the nodes of a tree")
        fresh = kernel == "fit_ordered"
        if self._sent is not None:
            self._sent.wait()
        session.launch(
            self.kernels[kernel],
            self._groups * size,
            size,
            order.base_data,
            problem.n,
            leaves,
            self._plan.leaf_size,
            fresh,
            *self._lengths,
            points.base_data,
            *(each.base_data for each in images),
            sorted_points.base_data,
            nodes.base_data,
            volumes.base_data,
            self._between.base_data,
            self._grown.base_data,
            bounds.placed,
            *bounds.arguments,
        )
        measured, decides = None, not math.isinf(self._plan.rebuild_threshold)
        if fresh or decides:  # pyopencl waits for copies when they are dropped
            told = self._told if fresh else self._told[:1]
            measured = session.send(self._grown, 0, told, items=problem.n if decides else 0)
        self._sent = measured if decides else None
        return Tree(
            points=sorted_points,
            nodes=nodes,
            volumes=volumes,
            images=images,
            bounds=bounds,
            starts=starts,
            measured=measured,
        )
