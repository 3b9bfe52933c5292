"""AABB-tree: a balanced tree of bounding boxes that follows points as they move (Xing, Wang, Hui 2016)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

import pyopencl.array as cla

from ...first_pass.base import ListFacts
from ...functions import WalkFunction
from ...inputs.deferred_checks import DeferredChecks
from ...inputs.request import QueryRequest
from ...planning.configs import VisitVariant
from ...planning.problem import Problem
from ...planning.tree_build import count_leaves
from ...planning.tree_traversal import TreeWalkConfig, are_few, is_crowd, pays_to_divide, without_packs
from ...primitives.readback import Box, PendingBox
from ...primitives.reduce import bounding_box
from ...profile import DeviceProfile
from ...runtime.launch_limits import check_turns
from ...runtime.rendering import own_function
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..options import check_construction, check_leaf_size, check_threshold
from ..structure import Readers, SearchStructure
from .build import Tree, TreeBuilder
from .plan import ADVICE, TREE_CONSTRUCTIONS, TreePlan, plan_of

__all__ = ["AabbTree", "TreeStructure"]


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
            "construction": check_construction(options.get("construction", "morton"), TREE_CONSTRUCTIONS, ADVICE),
            "leaf_size": check_leaf_size(options.get("leaf_size")),
            "rebuild_threshold": check_threshold(options.get("rebuild_threshold", 10)),
        }

    def plan(self, problem: Problem, profile: DeviceProfile) -> TreePlan:
        """Leaves of the size asked for, else of the device's."""
        return plan_of(problem, profile)

    def build(
        self, session: Session, problem: Problem, checks: DeferredChecks, points: cla.Array, bounds: PendingBox | None
    ) -> TreeStructure:
        """Order the points, and fit boxes around them."""
        return TreeStructure(
            session, problem, checks, self.plan(problem, session.profile), points=points, bounds=bounds
        )


class TreeStructure(SearchStructure):
    """Points in the order of a tree, and a box for each of its nodes.

    On the device: the points' coordinates and ids (dim + 1 numbers a point), two corners for each node, and a number
    for each leaf.
    """

    stem: ClassVar[str] = "tree/aabb_tree"

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: TreePlan,
        *,
        points: cla.Array,
        bounds: PendingBox | None,
    ) -> None:
        super().__init__(session, problem, checks)
        assert bounds is not None, "the curve goes through the box of the points"
        self._plan = plan
        leaves = count_leaves(self.problem.n, plan.leaf_size)
        check_turns(session.profile, problem=problem, side=problem.radius, rows=4 * leaves)
        self._builder = TreeBuilder(session, problem, plan, self.dtype)
        #: how crowded points were when somebody first asked
        self._crowd: float | None = None
        #: the growth that was last looked at; and whether the last order was outgrown in one step
        self._grown, self._restless = 0.0, False
        self._tree = self._grow(points, bounds, problem.survey.low)

    @property
    def config(self) -> TreeWalkConfig:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        return self._plan.config

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> TreeWalkConfig:
        """By themselves where close neighbors come first, and where idle items would show."""
        config = self.config.ranked() if variant.radii and self._is_crowd() else self.config
        config = dataclasses.replace(config, divided=variant.shared)
        together = function.idles and not function.lowers
        return config if together else without_packs(config, self.session.profile)

    def divides(self, function: WalkFunction, m: int) -> bool:
        """Sums of few queries, and in an uneven crowd, where the last queries to end would have the device wait."""
        if not (function.light and self.config.packed):
            return False
        return are_few(m, self.session.profile) or (pays_to_divide(self.problem.survey, m) and self._is_crowd())

    def units(self, request: QueryRequest, config: TreeWalkConfig) -> int:
        """The items of a group for as many queries as it serves."""
        return config.units(request.m)

    @functools.cached_property
    def list_facts(self) -> ListFacts:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        return ListFacts(by_sectors=self.config.many)

    def _is_crowd(self) -> bool:
        """Whether points crowd within the radius: the first who request may wait, unless an update has waited before."""
        return self.config.packed and is_crowd(self._measure()[1] if self._crowd is None else self._crowd)

    def _measure(self) -> tuple[float, float]:
        """Wait for how far leaves have grown, and for how crowded points are, which is looked at once."""
        growth, crowd = self._builder.growth()
        if self._crowd is None:
            self._crowd = crowd
        return growth, self._crowd

    def by_number(self, function: WalkFunction, request: QueryRequest, images: str) -> bool:  # noqa: ARG002
        """Foreign queries that are not sorted."""
        return request.queries is not None and not self.config.sorts

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """Foreign ones along the curve; by their radii where these make much of a difference."""
        ranks = radii is not None and self._is_crowd()
        tree, builder = self._tree, self._builder
        order = None
        if queries is not None and self.config.sorts:
            order = builder.order.of_queries(queries, tree.nodes, tree.images)
        if ranks:
            order = builder.order.by_radii(radii, tree.points, self.problem.n, queries, order)
        return () if order is None else (order.base_data,)

    def describe(self) -> list[str]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        plan = self._plan
        levels = self._builder.leaves.bit_length() - 1
        count = own_function("count")
        config = self.config_for(count, VisitVariant(shared=self.divides(count, self.problem.n)))
        going = "each by itself"
        if config.packed:
            going = f"in packs of {config.work_group_size}, the nearest each by itself"
        if config.shares > 1:
            going += f", counts by {config.shares} items each"
        if config.packed:
            going += "; those with radii of their own sorted by these where points crowd"
        neighbors, threshold = self.problem.survey.neighbors(self.problem.radius), plan.rebuild_threshold
        anew = "never again" if math.isinf(threshold) else f"again when a leaf has {threshold:g} times its volume"
        return [
            f"tree: {self._builder.held:,} leaves of {plan.leaf_size} points, {levels} levels above them",
            f"queries: {going}, as on a {self.session.profile.kind}; about {neighbors:.3g} neighbors were foreseen",
            f"construction: {plan.construction}, {anew}",
        ]

    def find_bounds(self, points: cla.Array) -> PendingBox:
        """Found with the boxes of the tree, unless images or a new order must be known before that."""
        if self.problem.box is not None:
            return super().find_bounds(points)
        return self.checks.slot()

    def update(self, points: cla.Array, bounds: PendingBox, box: Box | None) -> str:
        """In the order there is, unless a leaf has grown too far in the step before."""
        tree, periodic = self._tree, self.problem.box
        starts = tree.starts
        if periodic is not None and box is not None:
            starts = periodic.starts(box.low, box.high)
        outgrown = self._outgrown()
        if not outgrown:
            refitted = self._builder.refit(tree, points, bounds, starts, self.images(starts, bounds))
            # Where one step was enough to outgrow an order, it may be again: look at the boxes before a query does.
            outgrown = self._restless = self._restless and self._outgrown()
            if not outgrown:
                self._tree = refitted
            del refitted  # its memory is what a new order takes; the old tree answers until that stands
        if outgrown:
            self._tree = self._grow(points, bounds, starts)
            self._grown = 0.0
        return "rebuilt" if outgrown else "refit"

    def _outgrown(self) -> bool:
        """Whether a leaf of the newest tree has grown more than it may; waits for its boxes to be fitted.

        The index is restless from then on when half of that had been too much for the update before.
        """
        if math.isinf(self._plan.rebuild_threshold):
            return False
        before, (self._grown, _) = self._grown, self._measure()
        most = math.log2(self._plan.rebuild_threshold)
        if self._grown > most:
            self._restless = before <= most / 2
        return self._grown > most

    def _grow(self, points: cla.Array, bounds: PendingBox, starts: tuple[float, ...]) -> Tree:
        """A tree over points in a new order."""
        if not bounds.placed:
            bounding_box(self.session, points, bounds)
        return self._builder.build(points, bounds, starts, self.images(starts, bounds))

    def arguments(self) -> tuple[Any, ...]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        tree, builder = self._tree, self._builder
        images = (each.base_data for each in tree.images)
        return (
            builder.numbers[0],
            tree.points.base_data,
            tree.nodes.base_data,
            *builder.numbers[1:],
            *images,
        )

    def box_starts(self) -> tuple[float, ...]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        return self._tree.starts

    def buffers(self) -> dict[str, cla.Array | Scratch]:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        tree = self._tree
        kept = {"sorted_points": tree.points, "nodes": tree.nodes, "leaf_volumes": tree.volumes}
        return {**kept, "images": tree.images[0]} if tree.images else kept

    def readers(self) -> Readers:
        """See :class:`~clfrnn.methods.structure.SearchStructure`."""
        return Readers(self._builder.kernels, self._builder.config.work_group_size, self._tree.points)

    @functools.cached_property
    def tests_of_query(self) -> float:
        """Points of the leaves that a query touches, were they cubes, and the nodes on the way to these."""
        survey, size = self.problem.survey, self._plan.leaf_size
        box = self.problem.box
        most = self.problem.n * (1.0 if box is None else box.images(self.problem.radius))
        density = survey.density(self.problem.radius) if self.problem.radius > 0 else 0.0
        if not 0 < density < math.inf:
            return min(most, size) + 4.0 * self._builder.leaves.bit_length()
        wide = math.log(2 * self.problem.radius + (size / density) ** (1 / self.problem.dim))
        tests = min(most, math.exp(min(700.0, math.log(density) + self.problem.dim * wide)))
        return tests * (1 + 4 / size) + 4.0 * self._builder.leaves.bit_length()
