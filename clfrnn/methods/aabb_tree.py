"""AABB-tree: a balanced tree of bounding boxes that follows points as they move (Xing, Wang, Hui 2016)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..configs import VisitVariant, numbers_of_point
from ..functions import NeighborFunction
from ..limits import check_turns
from ..packs import TreeWalkConfig, are_few, is_crowd, pays_to_divide, without_packs
from ..plan import Problem
from ..primitives.reduce import Box, PendingBox, bounding_box
from ..profile import DeviceProfile
from ..session import INT, Scratch, Session
from ..trees import count_leaves, most_curve_bits, needed_leaves, plan_tree, query_bits
from .ask import Ask
from .cell_plan import check_construction
from .index import Index
from .tree_order import TreeOrder
from .tree_plan import ADVICE, CONSTRUCTIONS, TreePlan, check_leaf_size, check_threshold, plan_of

__all__ = ["AabbTree", "AabbTreeIndex"]

#: Nodes beside each other that one group goes up from, at most.
_MOST_OF_GROUP = 4096
_OF_GROUP = 1024

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
    measured: cl.Event | None


class AabbTree:
    """The method: boxes within boxes over points in the order of a curve."""

    name = "aabb_tree"
    dims = frozenset(range(1, 13))
    options = frozenset({"construction", "leaf_size", "rebuild_threshold"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "median", "leaf_size": 3})

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with defaults filled in; the size of leaves is left to the device."""
        return {
            "construction": check_construction(options.get("construction", "morton"), CONSTRUCTIONS, ADVICE),
            "leaf_size": check_leaf_size(options.get("leaf_size")),
            "rebuild_threshold": check_threshold(options.get("rebuild_threshold", 10)),
        }

    def plan(self, problem: Problem, profile: DeviceProfile) -> TreePlan:
        """Leaves of the size asked for, else of the device's."""
        return plan_of(problem, profile)

    def build(self, session: Session, problem: Problem, points: cla.Array, bounds: PendingBox | None) -> AabbTreeIndex:
        """Order the points, and fit boxes around them."""
        return AabbTreeIndex(session, problem, self.plan(problem, session.profile), points, bounds)


class AabbTreeIndex(Index):
    """Points in the order of a tree, and a box for each of its nodes.

    On the device: the points' coordinates and ids (dim + 1 numbers a point), two corners for each node, and a number
    for each leaf.
    """

    stem: ClassVar[str] = "aabb_tree"

    def __init__(
        self, session: Session, problem: Problem, plan: TreePlan, points: cla.Array, bounds: PendingBox | None
    ) -> None:
        super().__init__(session, problem)
        assert bounds is not None, "the curve goes through the box of the points"
        self._plan = plan
        self._leaves = count_leaves(self.num_points, plan.leaf_size)
        #: those that hold points, which are all that are kept
        self._held = needed_leaves(self.num_points, plan.leaf_size)
        check_turns(session.profile, problem=problem, side=problem.radius, rows=4 * self._leaves)
        self._kernels, self._making = session.planned(
            "tree", plan_tree, dim=self.dim, real=problem.real, periodic=problem.box is not None
        )
        self._in_order = TreeOrder(session, self._kernels, self._making, plan.leaf_size)
        self._bits = plan.bits
        #: the largest ratio of a leaf's volumes now and when the order was made, as a logarithm; and, when the order
        #: was made, the sum over points of how many were in a cube of side radius
        self._told = session.pinned(self, self.dtype)
        self._crowd: float | None = None
        #: the growth that was last looked at; and whether the last order was outgrown in one step
        self._grown, self._restless = 0.0, False
        self._tree = self._grow(points, bounds, problem.survey.low)
        # When an order is made anew, the points may lie elsewhere than those that the bits were planned for.
        self._bits = most_curve_bits(self.dim, problem.real)

    @property
    def config(self) -> TreeWalkConfig:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        return self._plan.config

    def config_for(self, function: NeighborFunction, variant: VisitVariant) -> TreeWalkConfig:
        """By themselves where close neighbors come first, and where idle items would show."""
        config = dataclasses.replace(self.config, ranks=variant.radii and self._is_crowd())
        together = function.idles and not function.lowers
        return config if together else without_packs(config, self.session.profile)

    def divides(self, function: NeighborFunction, m: int) -> bool:
        """Sums of few queries, and in an uneven crowd, where the last queries to end would have the device wait."""
        return function.light and self._divides(m)

    def _divides(self, m: int) -> bool:
        if not self.config.packed:
            return False
        return are_few(m, self.session.profile) or (pays_to_divide(self.problem.survey, m) and self._is_crowd())

    def units(self, ask: Ask, config: TreeWalkConfig) -> int:
        """The items of a group for as many queries as it serves."""
        return config.units(ask.m)

    def writes_at_once(self) -> bool:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        return self.config.many

    def _is_crowd(self) -> bool:
        """Whether points crowd within the radius: the first who ask may wait, unless an update has waited before."""
        return self.config.packed and is_crowd(self._hear(self._tree) if self._crowd is None else self._crowd)

    def _hear(self, tree: Tree) -> float:
        """Wait for what a tree's boxes tell. Returns how crowded points are, which the first who hear of it settle."""
        if tree.measured is not None:
            tree.measured.wait()
        if self._crowd is None:
            self._crowd = float(self._told[1]) / max(1, self.num_points)
        return self._crowd

    def goes_by_number(self, function: NeighborFunction, ask: Ask, images: str) -> bool:  # noqa: ARG002
        """Foreign queries that are not sorted."""
        return ask.queries is not None and not self.config.sorts

    def place_queries(self, queries: cla.Array | None, box: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """Foreign ones along the curve; by their radii where these make much of a difference."""
        ranks = radii is not None and self._is_crowd()
        if not (ranks or (queries is not None and self.config.sorts)):
            return ()
        session, tree, making = self.session, self._tree, self._making
        m = self.num_points if queries is None else queries.shape[0]
        order = tree.points  # not looked at, as points are in their order
        if queries is not None:
            bits = query_bits(m, self.dim, self._bits)
            order = self._in_order.of_queries(queries, bits, tree.bounds, tree.images)
        if not ranks:
            return (order.base_data,)
        ranked = session.scratch(m, INT, purpose="the order of queries")
        session.launch(
            self._kernels["order_by_radii"],
            -(-m // making.block) * making.work_group_size,
            making.work_group_size,
            np.int32(m),
            np.int32(self.num_points),
            np.int32(queries is None),
            tree.points.base_data,
            order.base_data,
            (tree.points if queries is None else queries).base_data,
            radii.base_data,
            ranked.base_data,
        )
        return (ranked.base_data,)

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        plan = self._plan
        levels = self._leaves.bit_length() - 1
        config = dataclasses.replace(plan.config, divided=self._divides(self.num_points))
        going = "each by itself"
        if config.packed:
            going = f"in packs of {config.work_group_size}, the nearest each by itself"
        if config.shares > 1:
            going += f", counts by {config.shares} items each"
        neighbors = self.problem.survey.neighbors(self.radius)
        return [
            f"tree: {self._held:,} leaves of {plan.leaf_size} points, {levels} levels above them",
            f"queries: {going}, as on a {self.session.profile.kind}; about {neighbors:.3g} neighbors were foreseen",
            f"construction: {plan.construction}, again when a leaf has {plan.rebuild_threshold:g} times its volume",
        ]

    def _find_box(self, points: cla.Array) -> PendingBox:
        """Found with the boxes of the tree, unless images or a new order must be known before that."""
        if self.problem.box is not None:
            return super()._find_box(points)
        return self.watch.room()

    def _place(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> None:
        """In the order there is, unless a leaf has grown too far in the step before."""
        tree, periodic = self._tree, self.problem.box
        starts = tree.starts
        if periodic is not None and box is not None:
            starts = periodic.starts(box.low, box.high)
        outgrown = self._outgrown(tree)
        if not outgrown:
            refitted = self._refit(points, bounds, tree, starts)
            # Where one step was enough to outgrow an order, it may be again: look at the boxes before a query does.
            outgrown = self._restless = self._restless and self._outgrown(refitted)
            if not outgrown:
                self._tree = refitted
            del refitted  # its memory is what a new order takes; the old tree answers until that stands
        if outgrown:
            self._tree = self._grow(points, bounds, starts)
            self._grown = 0.0
        self.last_update = "rebuilt" if outgrown else "refit"

    def _outgrown(self, tree: Tree) -> bool:
        """Whether a leaf has grown more than it may; waits for the boxes to be fitted.

        The index is restless from then on when half of that had been too much for the update before.
        """
        if tree.measured is None or math.isinf(self._plan.rebuild_threshold):
            return False
        self._hear(tree)
        before, self._grown = self._grown, float(self._told[0])
        most = math.log2(self._plan.rebuild_threshold)
        if self._grown > most:
            self._restless = before <= most / 2
        return self._grown > most

    def _grow(self, points: cla.Array, bounds: PendingBox, starts: tuple[float, ...]) -> Tree:
        """A tree over points in a new order."""
        session = self.session
        if not bounds.placed:
            bounding_box(session, points, bounds)
        images = self._images(starts, bounds)
        volumes = session.scratch(self._held, self.dtype, purpose="the volumes of leaves")
        if self._plan.construction == "median":
            placed = self._in_order.by_medians(points, self.problem.box, starts)
        else:
            placed = self._in_order.along_curve(points, self._bits, bounds, images)
        return self._fit("fit_ordered", placed, points, bounds, volumes=volumes, images=images, starts=starts)

    def _refit(self, points: cla.Array, bounds: PendingBox, tree: Tree, starts: tuple[float, ...]) -> Tree:
        """The same tree around points that have moved."""
        images = self._images(starts, bounds)
        return self._fit("fit_again", tree.points, points, bounds, volumes=tree.volumes, images=images, starts=starts)

    def _images(self, starts: tuple[float, ...], bounds: PendingBox) -> tuple[Scratch, ...]:
        return () if self.problem.box is None else (self.images(starts, bounds),)

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
        """Points to their places, and boxes from the leaves up: two launches, a third for very many points."""
        session, n, leaves, making = self.session, self.num_points, self._leaves, self._making
        size, groups = making.work_group_size, max(1, leaves // making.leaves)
        sorted_points = session.scratch(
            numbers_of_point(making.layout, self.dim) * n, self.dtype, purpose="the points in the order of a tree"
        )
        nodes = session.scratch((leaves + self._held) * making.corners, self.dtype, purpose="the nodes of a tree")
        shares = session.scratch(3 * groups, self.dtype, purpose="what groups found of a tree")
        grown = session.scratch(2, self.dtype, purpose="the growth of leaves")
        fresh = kernel == "fit_ordered"
        session.launch(
            self._kernels[kernel],
            groups * size,
            size,
            order.base_data,
            np.int32(n),
            np.int32(leaves),
            np.int32(self._plan.leaf_size),
            np.int32(fresh),
            self.dtype.type(max(_LEAST_SIDE * self.radius, float(np.finfo(self.problem.real).tiny))),
            self.dtype.type(self.radius),
            points.base_data,
            *(each.base_data for each in images),
            sorted_points.base_data,
            nodes.base_data,
            volumes.base_data,
            shares.base_data,
        )
        self._fit_above(groups, nodes, shares, grown, bounds)
        measured = None
        if fresh or not math.isinf(self._plan.rebuild_threshold):  # pyopencl waits for copies when they are dropped
            told = self._told if fresh else self._told[:1]
            measured = cl.enqueue_copy(session.queue, told, grown.base_data, is_blocking=False)
        return Tree(
            points=sorted_points,
            nodes=nodes,
            volumes=volumes,
            images=images,
            bounds=bounds,
            starts=starts,
            measured=measured,
        )

    def _fit_above(self, groups: int, nodes: Scratch, shares: Scratch, grown: Scratch, bounds: PendingBox) -> None:
        """The boxes above those that groups of leaves have made, and what all of these have found."""
        session, size, many = self.session, self._making.work_group_size, groups
        while many > _MOST_OF_GROUP:
            above = many // _OF_GROUP
            session.launch(
                self._kernels["fit_nodes"], above * size, size, np.int32(many), np.int32(_OF_GROUP), nodes.base_data
            )
            many = above
        session.launch(
            self._kernels["fit_top"],
            size,
            size,
            np.int32(many),
            np.int32(groups),
            shares.base_data,
            nodes.base_data,
            grown.base_data,
            np.int32(bounds.placed),
            *bounds.arguments,
        )

    def walk_arguments(self) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.walker.Walker`."""
        tree = self._tree
        images = (each.base_data for each in tree.images)
        return (
            np.int32(self.num_points),
            tree.points.base_data,
            tree.nodes.base_data,
            np.int32(self._leaves),
            np.int32(self._leaves + self._held - 1),
            np.int32(self._plan.leaf_size),
            *images,
        )

    def _box_starts(self) -> tuple[float, ...]:
        return self._tree.starts

    def _buffers(self) -> dict[str, cla.Array | Scratch]:
        tree = self._tree
        kept = {"sorted_points": tree.points, "nodes": tree.nodes, "leaf_volumes": tree.volumes}
        return {**kept, "images": tree.images[0]} if tree.images else kept

    def _order(self) -> cla.Array:
        return self._read_order(self._kernels["read_order"], self._making.work_group_size, self._tree.points)

    def _tests_of_query(self) -> float:
        """Points of the leaves that a query touches, were they cubes, and the nodes on the way to these."""
        survey, size = self.problem.survey, self._plan.leaf_size
        box = self.problem.box
        most = self.num_points * (1.0 if box is None else box.images(self.radius))
        density = survey.density(self.radius) if self.radius > 0 else 0.0
        if not 0 < density < math.inf:
            return min(most, size) + 4.0 * self._leaves.bit_length()
        wide = math.log(2 * self.radius + (size / density) ** (1 / self.dim))
        tests = min(most, math.exp(min(700.0, math.log(density) + self.dim * wide)))
        return tests * (1 + 4 / size) + 4.0 * self._leaves.bit_length()
