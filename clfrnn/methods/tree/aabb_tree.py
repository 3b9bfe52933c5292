"""AABB-tree: a balanced tree of bounding boxes that follows points as they move (Xing, Wang, Hui 2016)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

import pyopencl.array as cla

from ...config import VisitVariant
from ...functions import WalkFunction
from ...points.argument_types import MethodName
from ...points.deferred_checks import DeferredChecks
from ...primitives.readback import Box, PendingBox
from ...problem import Problem
from ...profile import DeviceProfile
from ...runtime.launch_limits import check_turns
from ...runtime.rendering import own_function
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from ..domain_tables.tables import Images
from ..first_pass.plan import ListFacts
from ..options import check_construction, check_leaf_size, check_threshold
from ..request import QueryRequest
from ..structure import NewPoints, Readers, SearchStructure
from ..visit_plan import VisitPlan
from .build import Tree, TreeBuilder
from .build_plan import MOST_LEAVES, count_leaves, needed_leaves
from .first_bounds import find_first_bounds
from .plan import CONSTRUCTION_ADVICE, TREE_CONSTRUCTIONS, TreePlan, plan_aabb_tree
from .walk_plan import TreeWalkConfig, are_few_queries, divides_uneven_queries, is_crowded, without_packets

__all__ = ["AabbTree", "TreeStructure"]


class AabbTree:
    """The method: a balanced tree of bounding boxes over points in the order of a space-filling curve."""

    name: MethodName = "aabb_tree"
    stem = "methods/tree/aabb_tree"
    dims = frozenset(range(1, 13))
    options = frozenset({"construction", "leaf_size", "rebuild_threshold"})
    surveys_occupancy = True
    variations: tuple[dict[str, Any], ...] = ({}, {"construction": "median", "leaf_size": 3})

    def check(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with defaults filled in; a leaf size of None is the default of the device."""
        return {
            "construction": check_construction(
                options.get("construction", "morton"), TREE_CONSTRUCTIONS, CONSTRUCTION_ADVICE
            ),
            "leaf_size": check_leaf_size(options.get("leaf_size")),
            "rebuild_threshold": check_threshold(options.get("rebuild_threshold", 10)),
        }

    def plan(self, problem: Problem, profile: DeviceProfile, tuning: Tuning) -> TreePlan:
        """Plan leaves of the requested size, or of the default of the device."""
        return plan_aabb_tree(problem, profile, tuning)

    def refit(
        self,
        plan: TreePlan,
        problem: Problem,
        profile: DeviceProfile,  # noqa: ARG002
        tuning: Tuning,  # noqa: ARG002
    ) -> TreePlan | None:
        """Leaves of the same size, as long as their number is an int32."""
        if problem.has_outgrown_survey or needed_leaves(problem.n, plan.leaf_size) > MOST_LEAVES:
            return None
        return plan

    def arrange(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: TreePlan,
        *,
        new: NewPoints,
    ) -> TreeStructure:
        """Sort the points, and fit bounding boxes to them."""
        return TreeStructure(session, problem, checks, plan, new=new)

    build = arrange


class TreeStructure(SearchStructure):
    """Points in the order of a tree, and a bounding box for each node.

    On the device: the coordinates and index of each point (dim + 1 numbers), two corners for each node, and one number
    for each leaf.
    """

    stem: ClassVar[str] = AabbTree.stem

    def __init__(
        self,
        session: Session,
        problem: Problem,
        checks: DeferredChecks,
        plan: TreePlan,
        *,
        new: NewPoints,
    ) -> None:
        super().__init__(session, problem, checks)
        self._plan = plan
        leaves = count_leaves(self.problem.n, plan.leaf_size)
        check_turns(session.profile, problem=problem, side=problem.radius, rows=4 * leaves)
        self._builder = TreeBuilder(session, problem, plan, self.dtype)
        #: the crowding of the points when it was first needed
        self._crowding: float | None = None
        #: the last growth of a leaf, and whether the last order of points was outgrown by a single update
        self._growth, self._outgrown_at_once = 0.0, False
        self._tree = self._build(new, problem.starts)

    @property
    def config(self) -> TreeWalkConfig:
        return self._plan.config

    def config_for(self, function: WalkFunction, variant: VisitVariant) -> TreeWalkConfig:
        """The config for single queries where close neighbors come first or idle work-items must not run `function`."""
        session = self.session
        if function.waiting is not None:
            return self.config.taking_together(function.waiting.slots, session.tuning)
        ranked = variant.radii and self._is_crowded()
        config = self.config.ranked(session.tuning) if ranked else self.config
        config = dataclasses.replace(config, divided=variant.shared)
        together = function.idles and not function.lowers
        return config if together else without_packets(config, session.profile, session.tuning)

    def plan_visit(self, function: WalkFunction, request: QueryRequest) -> VisitPlan:
        """Foreign queries that are not sorted are served in the caller's order."""
        by_number = request.queries is not None and not self.config.sorts
        return self._plan_launches(request.images, by_number=by_number, divided=self._divides(function, request.m))

    def _divides(self, function: WalkFunction, m: int) -> bool:
        """For sums over few queries, and over uneven crowds, where the device would wait for the last queries."""
        if not (function.light and self.config.packed):
            return False
        tuning = self.session.tuning
        if are_few_queries(m, self.session.profile, tuning):
            return True
        return divides_uneven_queries(self.problem.survey, m, tuning) and self._is_crowded()

    def first_bounds(self, k: int, slots: int, *, radius: float, alike: float) -> Scratch | None:
        problem, session, config = self.problem, self.session, self.config
        if problem.periodic or problem.real != "float" or not config.packed:
            return None
        if config.taking_together(slots, session.tuning).local_memory > session.profile.usable_local_memory:
            return None
        limits = self.dtype.type(radius), self.dtype.type(alike)
        facts: dict[str, Any] = {"dim": problem.dim, "real": problem.real}
        return find_first_bounds(session, self._tree.points, problem.n, k, limits=limits, **facts)

    @functools.cached_property
    def list_facts(self) -> ListFacts:
        return ListFacts(by_sectors=self.config.many)

    def _is_crowded(self) -> bool:
        """Whether points crowd within the radius; the first call may wait for the device."""
        if not self.config.packed:
            return False
        return is_crowded(self._measure()[1] if self._crowding is None else self._crowding, self.session.tuning)

    def _measure(self) -> tuple[float, float]:
        """Wait for the growth of the leaves and the crowding of the points; the crowding is that of the first call."""
        growth, crowd = self._builder.growth()
        if self._crowding is None:
            self._crowding = crowd
        return growth, self._crowding

    def order_queries(self, queries: cla.Array | None, bounds: PendingBox | None, radii: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """The order of foreign queries along the curve; in a crowd, queries with own radii are sorted by radius."""
        ranks = radii is not None and self._is_crowded()
        tree, builder = self._tree, self._builder
        order = None
        if queries is not None and self.config.sorts:
            order = builder.order.of_queries(queries, tree.bulk, tree.images)
        if ranks:
            order = builder.order.by_radii(radii, tree.points, self.problem.n, queries, order)
        return () if order is None else (order.base_data,)

    def describe(self) -> list[str]:
        plan = self._plan
        levels = self._builder.leaves.bit_length() - 1
        count = own_function("count")
        config = self.config_for(count, VisitVariant(shared=self._divides(count, self.problem.n)))
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
            f"tree: {self._builder.used_leaves:,} leaves of {plan.leaf_size} points, {levels} levels above them",
            f"queries: {going}, as on a {self.session.profile.kind}; about {neighbors:.3g} neighbors were foreseen",
            f"construction: {plan.construction}, {anew}",
        ]

    def find_bounds(self, points: cla.Array) -> NewPoints:
        """The launch that fits the boxes also finds the bounds, except in a periodic box."""
        if self.problem.periodic:
            return self.bounded(points)
        return NewPoints(points, self.checks.slot(), self._tree.images.tables)

    def update(self, new: NewPoints, box: Box | None) -> str:
        """Fit the boxes to the points in their old order, or sort the points anew where a leaf has outgrown it."""
        tree = self._tree
        starts = tree.images.starts if box is None else self.problem.space.starts(box.low, box.high)
        outgrown = self._outgrown()
        if not outgrown:
            refitted = self._builder.refit(tree, new, starts)
            # Where a single update has outgrown an order, the next one may too: check the boxes before a query uses
            # them.
            outgrown = self._outgrown_at_once = self._outgrown_at_once and self._outgrown()
            if not outgrown:
                self._tree = refitted
            del refitted  # the pool gives its memory to the new tree
        if outgrown:
            self._tree = self._build(new, starts)
            self._growth = 0.0
        return "rebuilt" if outgrown else "refit"

    def _outgrown(self) -> bool:
        """Whether a leaf of the newest tree has grown more than the threshold; waits until its boxes are fitted.

        The structure also notes whether a single update was enough to outgrow the order: the growth of the update
        before was at most the square root of the threshold.
        """
        if math.isinf(self._plan.rebuild_threshold):
            return False
        before, (self._growth, _) = self._growth, self._measure()
        most = math.log2(self._plan.rebuild_threshold)
        if self._growth > most:
            self._outgrown_at_once = before <= most / 2
        return self._growth > most

    def _build(self, new: NewPoints, starts: tuple[float, ...]) -> Tree:
        """Build a tree over points in a new order."""
        if not new.known_bounds.placed:
            new.tables.bound(new.points, new.bounds)
        return self._builder.build(new, starts)

    def inherit(self, before: SearchStructure) -> None:
        """The crowding stays that of the points for which it was first needed."""
        if isinstance(before, TreeStructure):
            self._crowding = before._crowding  # noqa: SLF001 — of its own kind

    def arguments(self) -> tuple[Any, ...]:
        tree, builder = self._tree, self._builder
        points, nodes = tree.points.base_data, tree.nodes.base_data
        return (builder.numbers[0], points, nodes, *builder.numbers[1:], *tree.images.arguments)

    @property
    def images(self) -> Images:
        return self._tree.images

    def buffers(self) -> dict[str, cla.Array | Scratch]:
        tree = self._tree
        buffers = {"sorted_points": tree.points, "nodes": tree.nodes, "leaf_volumes": tree.volumes}
        return buffers if tree.images.table is None else {**buffers, "images": tree.images.table}

    def readers(self) -> Readers:
        return Readers(self._builder.kernels, self._builder.config.work_group_size, self._tree.points)

    @functools.cached_property
    def tests_of_query(self) -> float:
        """Candidates in the leaves that a query touches, as if leaves were cubes, and the nodes above these."""
        survey, size = self.problem.survey, self._plan.leaf_size
        most = self.problem.n * self.problem.images
        density = survey.density(self.problem.radius) if self.problem.radius > 0 else 0.0
        if not 0 < density < math.inf:
            return min(most, size) + 4.0 * self._builder.leaves.bit_length()
        wide = math.log(2 * self.problem.radius + (size / density) ** (1 / self.problem.dim))
        tests = min(most, math.exp(min(700.0, math.log(density) + self.problem.dim * wide)))
        return tests * (1 + 4 / size) + 4.0 * self._builder.leaves.bit_length()
