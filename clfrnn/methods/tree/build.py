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
from ...primitives.readback import PendingBox, Readback
from ...runtime.scratch import INT, Scratch
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
    #: where the periodic box begins, if there is one
    starts: tuple[float, ...]


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
            leaves=leaves_of_group(session.profile, self.leaves),
        )
        self.order = TreeOrder(session, self.kernels, self.config, plan.leaf_size)
        #: whether the growth of leaves decides when points are ordered again
        self._decides = not math.isinf(plan.rebuild_threshold)
        #: the largest ratio of a leaf's volumes now and when the order was made, as a logarithm; and the sum over points
        #: of how many a cube of side radius holds where they are
        self._growth = Readback(session, items=problem.n if self._decides else 0)
        self._groups = max(1, self.leaves // self.config.leaves)
        #: what each group leaves for the last one, and how many have ended; zero whenever no boxes are being made
        self._between = cleared(session, self._groups * self._ints_of_group + 1, purpose="what groups found of a tree")

    @property
    def _ints_of_group(self) -> int:
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

    def growth(self) -> tuple[float, float]:
        """Wait for how far a leaf of the newest tree has grown, as a logarithm, and for how crowded its points are.

        That is the number of points in a cube of side radius, in the mean over points. Where growth does not decide, both
        are those of the tree whose order was made last.
        """
        self._growth.wait()
        growth, crowd = np.frombuffer(self._growth.host, self._dtype, 2)
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
        if self._decides:
            self._growth.wait()  # a copy beside kernels may still be reading what the next launch writes
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
            self._growth.buffer,
            bounds.placed,
            *bounds.arguments,
        )
        if fresh or self._decides:
            self._growth.start()
        return Tree(
            points=sorted_points,
            nodes=nodes,
            volumes=volumes,
            images=images,
            starts=starts,
        )
