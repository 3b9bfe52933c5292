"""UnboundedSearch: the k nearest neighbors however far they are, by searches that reach farther and farther."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ...arrays import one_radius
from ...conditions import Condition
from ...domain.system_layout import SystemBounds
from ...errors import PrecisionWarning
from ...host.warning import warn
from ...methods import Method
from ...methods.brute_force.brute_force import BruteForce
from ...methods.grid.strips import Strips
from ...methods.named import refuse_dim
from ...methods.structure import SearchStructure
from ...methods.traversal import Traversal
from ...methods.tree.aabb_tree import AabbTree
from ...methods.tree.build_plan import default_leaf_size
from ...points.batches import QuerySystems, domain_of_points, take_query_systems, take_systems
from ...points.rounding import largest_of, warn_of_rounding
from ...points.transfer import take_searched
from ...prepare import Cloud, choose
from ...primitives.readback import PendingBox
from ...primitives.reduce import bounding_box
from ...results import Nearest
from ...runtime.session import Session
from ...survey import Survey
from ..coincident import FirstPoints, first_points
from ..requests import make_request, systems_of
from .few_queries import fill_rows_of_few
from .plan import first_reach, foreseen_neighbors, largest_reach, shorter_reach, spanning_reach
from .rounds import ShortRows, find_short_rows
from .rows import fill_rows, first_bounds, holds_images, measure, publish, rows_for

__all__ = ["UnboundedSearch"]

#: Surveys with shorter and shorter reaches, at most: crowds of one ten-billionth of the cloud's width are resolved.
_MOST_SURVEYS = 12

#: Methods that take longer the farther they reach, also where neighbors lie near.
_BY_CELLS = {"uniform_grid", "strips", "fenns"}


class _Step(NamedTuple):
    """One search: its method with options, its radius, and the survey that it is planned from."""

    method: Method
    options: dict[str, Any]
    radius: float
    survey: Survey
    #: the largest radius of later searches by the same method; None where no query can miss a neighbor
    wider: float | None = None


class UnboundedSearch:
    """A search without a radius, in steps: each searches again for the queries that have found fewer than k."""

    def __init__(
        self,
        session: Session,
        points: Any,
        k: int,
        *,
        named: Method | None,
        domain: tuple[Any, Any, Any],
        options: Mapping[str, Any],
        queries: Any,
        batch: tuple[Any, Any] = (None, None),
    ) -> None:
        self.session, self.k, self.named = session, k, named
        self.given: dict[str, Any] = {"named": named, "domain": domain, "options": options}
        self.batch = batch[0]
        array, self.raw, _, self.largest = take_searched(session, points, queries)
        self.n, dim = array.shape
        refuse_dim(named, dim)
        self.options = {} if named is None else named.check(dict(options))
        lies_in = domain_of_points(session, domain, *batch, n=self.n, dim=dim, dtype=array.dtype, radius=0.0)
        self.space = lies_in.space
        self.cloud = Cloud.of(session, array, lies_in, radius=0.0, bounds=self.raw).bounded()
        #: the largest radius with a finite square
        self.farthest = largest_reach(self.cloud.real)
        self.foreign = queries is not None
        #: whether queries are the points, of which all others may be neighbors
        self.together = False
        #: whether very many points lie so near to each other that no reach tells them apart
        self.may_coincide = False
        #: how far apart some more than k points of an even cloud are; 0 where that is not known
        self.even_reach = 0.0
        #: the queries, once they are known, and whether each is known to have found k neighbors
        self.sources, self.is_full = array, False
        #: the bounds of foreign queries in each system, once they are known
        self.around: SystemBounds | None = None
        # Until queries are checked, those without a length count as the points.
        self.many = self.n if queries is None else operator.length_hint(queries, self.n)

    def run(
        self, queries: Any, *, include_self: bool, vectors: bool, where: Condition | None, query_batch: Any = None
    ) -> Nearest:
        """Search, and search again as long as there are queries with fewer than k neighbors."""
        session = self.session
        self.together = queries is None and where is None
        step = self._first_step()
        if where is None and (few := self._few_of_each_place(step, 0 if include_self else 1)) is not None:
            return self._search_among(few, queries, include_self=include_self, vectors=vectors, query_batch=query_batch)
        traversal = Traversal(self._build(step))
        asking = take_query_systems(session, self.cloud.tables.domain, query_batch, _rows_of(queries))
        radii = self.cloud.tables.radii(self.k, step.radius, asking and asking.ranks, self.around)
        asked: dict[str, Any] = {"include_self": include_self, "where": where}
        request = make_request(traversal, queries, radius=radii, query_batch=asking, **asked)
        if asking is not None:
            self.around = self.cloud.tables.bound_systems(request.queries, asking.ranks)
        systems = systems_of(request, self.cloud.tables)
        sources = self.cloud.points if request.queries is None else request.queries
        found = rows_for(traversal, request.m, self.k, vectors=vectors)
        bounds = None if step.method.name in _BY_CELLS else first_bounds(traversal, request, self.k)
        event = fill_rows(traversal, request, found, bounds=bounds)
        complete = step.wider is None and bounds is None
        short = None if complete else find_short_rows(session, found.indices, sources)
        traversal.checks.settle()
        while short is not None:
            before, itself = traversal, request.queries is None and not include_self
            near = self._wider_reach(traversal, step, short.rows.size)
            if where is None and near is None and self._are_few(short):
                event = fill_rows_of_few(session, self.cloud.points, short, found, of_points=itself)
                step = step._replace(wider=None)
                break
            if bounds is None:
                step = self._wider_step(step, sources) if near is None else step._replace(radius=near)
                traversal = self._farther(traversal, step, short.rows.size)
            bounds = None  # the same structure serves queries that first bounds have left out
            if vectors and holds_images(traversal) and not holds_images(before):
                measure(before, found, self.cloud.points, sources, known=False, systems=systems)
            asking = None if systems is None else self._systems_of_rows(systems, short.rows)
            radii = self.cloud.tables.radii(self.k, step.radius, asking and asking.ranks, self.around)
            asked["include_self"] = True
            again = make_request(traversal, short.positions, radius=radii, query_batch=asking, known=True, **asked)
            event = fill_rows(traversal, again, found, again=short, of_points=itself)
            short = None if step.wider is None else find_short_rows(session, found.indices, sources, short)
        if vectors and request.m:
            event = measure(
                traversal, found, self.cloud.points, sources, known=holds_images(traversal), systems=systems
            )
        publish(session, event, found)
        self.sources, self.is_full = sources, step.wider is not None
        return found

    def _few_of_each_place(self, step: _Step, itself: int) -> FirstPoints | None:
        """The first points of each place, among which are the k nearest of any query; None where few coincide.

        That a reach holds far more points than are wanted, although it was shortened where points crowd, says that they
        may coincide. `itself` is 1 where a query is not its own neighbor.
        """
        if not (self.may_coincide or (self.n > self._most_resolved and step.survey.low == step.survey.high)):
            return None
        batch = None if self.batch is None else take_systems(self.session, self.batch, "batch", self.n)
        return first_points(self.session, self.cloud.points, self.k + itself, batch=batch)

    def _search_among(
        self, few: FirstPoints, queries: Any, *, include_self: bool, vectors: bool, query_batch: Any
    ) -> Nearest:
        """Search for one neighbor more among the first points of each place, and leave out the query itself."""
        itself, shifted = queries is None and not include_self, self.cloud.domain.has_images
        batch = few.batch, few.batch_of_all if queries is None else query_batch
        queries = self.cloud.points if queries is None else queries
        search = UnboundedSearch(self.session, few.points, self.k + itself, **self.given, queries=queries, batch=batch)
        more = vectors or shifted
        found = search.run(queries, include_self=True, vectors=more, where=None, query_batch=batch[1])
        self.sources, self.is_full = search.sources, search.is_full
        return few.name_rows(found, self.k, itself=itself, vectors=vectors)

    def warn_of_rounding(self) -> None:
        """Warn where the rounding of coordinates decides which neighbors are the nearest."""
        largest = self.largest or largest_of(self.raw)
        warn_of_rounding(self.session, self.cloud.points, self.even_reach, largest, of="the distance of even points")

    def warn_of_overflow(self, found: Nearest) -> None:
        """Warn where points are missing in a result because their squared distances overflow."""
        if (span := self._span_beyond_squares(found)) is not None:
            dtype, farthest = self.cloud.points.dtype, self.farthest
            warn(
                f"points: coordinates are up to {span:.3g} apart, and squares of distances above {farthest:.3g} are "
                f"not finite in {dtype}: pairs that far apart are no neighbors, and some rows are not full; multiply "
                "points and queries by a small power of two, or pass wider numbers",
                PrecisionWarning,
            )

    def _span_beyond_squares(self, found: Nearest) -> float | None:
        """How far apart points and queries lie, where squares of that overflow and rows are not full; None elsewhere.

        Points whose squared distance is not finite are no neighbors. Cost: passes over the last column and over foreign
        queries, where the last search was one without a radius.
        """
        if self.is_full or not self.n or self.space.kind:
            return None
        boxes = [self._pending.read()]
        if self.foreign:
            if find_short_rows(self.session, found.indices, self.sources) is None:
                return None
            boxes.append(bounding_box(self.session, self.sources).read())
        lows = zip(*(box.low for box in boxes), strict=True)
        highs = zip(*(box.high for box in boxes), strict=True)
        span = max(max(high) - min(low) for low, high in zip(lows, highs, strict=True))
        if span <= self.farthest / len(self.space.lengths) ** 0.5:
            return None
        if not self.foreign and find_short_rows(self.session, found.indices, self.sources) is None:
            return None
        return span

    def _systems_of_rows(self, systems: cla.Array, rows: cla.Array) -> QuerySystems:
        """The systems of the queries that fill some rows; conditions know them by the numbers of all queries."""
        ranks = self.session.read(systems)[self.session.read(rows)]
        return QuerySystems(ranks, self.session.upload(ranks, purpose="the systems of queries"), systems)

    def _are_few(self, short: ShortRows) -> bool:
        """Whether going through all points takes less time for these queries than a structure built for them."""
        numbers, queries = self.session.tuning.nearest, short.rows.size
        few = queries <= numbers.few_queries and queries * self.n <= numbers.few_pairs
        return few and self.k <= numbers.most_of_few and not self.cloud.tables.domain.kind

    @property
    def _pending(self) -> PendingBox:
        assert self.cloud.bounds is not None, "a search without a radius begins with the bounds of its points"
        return self.cloud.bounds

    def _build(self, step: _Step) -> SearchStructure:
        """The structure for a step."""
        self.cloud = self.cloud.reaching(step.radius)
        return self.cloud.build(step.method, self.cloud.problem(step.radius, step.survey, options=step.options))

    def _serve(self, before: Traversal, radius: float, queries: int) -> bool:
        """Whether few queries go through the cells that there are: points need not be sorted again then.

        Queries are few where they look over no more space than all points did.
        """
        structure = before.structure
        return structure.reaches(radius) and queries * (radius / structure.problem.radius) ** before.dim <= self.n

    def _farther(self, before: Traversal, step: _Step, queries: int) -> Traversal:
        """The traversal for a wider step, through the cells that there are if these serve the queries."""
        if step.method.name in _BY_CELLS:
            if self._serve(before, step.radius, queries):
                return Traversal(before.structure, step.radius)
            # The queries that are left lie where points are few.
            step = step._replace(survey=dataclasses.replace(step.survey, others=0.0, sample=None))
        # The bounds of queries have taken the slot of those of points.
        self.cloud = self.cloud._replace(bounds=self._pending.again())
        return Traversal(self._build(step))

    def _first_step(self) -> _Step:
        """The first search, and the waits for the bounds and the crowding of the points."""
        cloud = self.cloud if self.n else self.cloud._replace(bounds=None)
        survey = cloud.survey(0.0, crowding=False)
        if not self.n:
            return self._step_of_all(self.named or BruteForce(), survey, 0.0)
        low, high = survey.without_strays
        reach = first_reach(self.session.tuning, n=self.n, k=self.k, low=low, high=high, lengths=self.space.sides)
        if reach is None or not (reach := self._rounded(reach)) > 0:
            return self._step_of_all(self.named or BruteForce(), survey)
        if reach < self.farthest:
            self.even_reach = reach
        even = wider = reach
        if self.named.name != BruteForce.name if self.named is not None else self.cloud.is_worth_binning(self.many):
            survey, reach, wider = self._survey(even)
            self.may_coincide = survey.neighbors(reach) > self._most_resolved
        method = self.named or self._choose(survey, reach)
        if method.name not in _BY_CELLS:
            if not self.cloud.tables.domain.kind:
                return self._step_of_all(method, survey)
            reach = even
        wider = self._rounded(self.session.tuning.nearest.farther * wider)
        return _Step(method, self._options(method), reach, survey, wider)

    def _survey(self, even: float) -> tuple[Survey, float, float]:
        """The survey of crowding, a reach that is shorter where points crowd, and a reach for sparser places.

        The last is `even`, that of an even cloud, unless balls of that radius hold far too many points.
        """
        tuning, reach, crowds = self.session.tuning, even, False
        for number in range(_MOST_SURVEYS):
            survey = self.cloud.survey(reach, crowding=True)
            if number == 0:
                crowds = survey.neighbors(even) > tuning.nearest.most_foreseen * foreseen_neighbors(tuning, self.k)
            shorter = shorter_reach(tuning, survey, k=self.k, reach=reach)
            if shorter is None or not (shorter := self._rounded(shorter)) > 0:
                break
            reach = shorter
        return survey, reach, reach if crowds else even

    @property
    def _most_resolved(self) -> float:
        """The number of points within the first reach from which on these may coincide."""
        return self.session.tuning.nearest.coincident * foreseen_neighbors(self.session.tuning, self.k)

    def _rounded(self, reach: float) -> float:
        """A reach as kernels have it."""
        return one_radius(min(reach, self.farthest), self.cloud.points.dtype)

    def _choose(self, survey: Survey, reach: float) -> Method:
        """The method of "auto": that of a search with this radius, and cells for crowds, as reaches widen.

        A tree where points coincide, which no reach tells apart.
        """
        method, _ = choose(self.session, self.cloud.problem(reach, survey, options={}), queries=self.many)
        if self.may_coincide or self._crowds(survey):
            return AabbTree()
        return Strips() if method.name == "aabb_tree" and survey.dim in Strips.dims else method

    def _crowds(self, survey: Survey) -> bool:
        """Whether packets of queries go through a tree, as points crowd so much that one reach serves few of them."""
        numbers = self.session.tuning.nearest
        if not (self.together and survey.unevenness > numbers.uneven and self.k <= numbers.register_places):
            return False
        return self.cloud.real == "float" and not self.cloud.tables.domain.kind

    def _options(self, method: Method) -> dict[str, Any]:
        """The options of a method; leaves of a tree are those for somewhat more than k neighbors."""
        options = self.options if method is self.named else method.check({})
        if "leaf_size" in options and options["leaf_size"] is None:
            tuning, periodic = self.session.tuning, bool(self.cloud.tables.domain.kind)
            foreseen = foreseen_neighbors(tuning, self.k)
            return {**options, "leaf_size": default_leaf_size(tuning, self.n, foreseen, periodic=periodic)}
        return options

    def _step_of_all(self, method: Method, survey: Survey, radius: float | None = None) -> _Step:
        """A search in which no query can miss a neighbor."""
        if radius is None and (reaches := self.cloud.tables.spanning_reaches(self.k)) is not None:
            span = self._rounded(float(reaches.max(initial=0.0)))
            # Foreign queries, whose bounds are not known yet, may lie farther away.
            return _Step(method, self._options(method), span, survey, span if self.foreign else None)
        reach = self.farthest if radius is None else radius
        return _Step(method, self._options(method), reach, survey)

    def _wider_reach(self, before: Traversal, step: _Step, queries: int) -> float | None:
        """The reach of the next search, where it goes through the cells that there are; None where it does not.

        Beyond the reach of an even cloud, ``wider``, a window may hold any number of points: few queries go there.
        """
        beyond = queries * self.n <= self.session.tuning.nearest.far_pairs
        reach = self._next_reach(step, beyond=beyond)
        return reach if reach is not None and self._serve(before, reach, queries) else None

    def _next_reach(self, step: _Step, *, beyond: bool) -> float | None:
        """The reach of a search over cells after this step, beyond ``wider`` if allowed; None where there is none."""
        if step.wider is None or step.method.name not in _BY_CELLS:
            return None
        reach = self._rounded(self.session.tuning.nearest.farther * step.radius)
        if not beyond:
            reach = min(reach, step.wider)
        return reach if step.radius < reach else None

    def _wider_step(self, step: _Step, sources: cla.Array) -> _Step:
        """The search for the queries that have fewer than k neighbors."""
        if (reach := self._next_reach(step, beyond=False)) is not None:
            return step._replace(radius=reach)
        if (reaches := self.cloud.tables.spanning_reaches(self.k, self.around)) is not None:
            return self._step_of_all(AabbTree(), step.survey, self._rounded(float(reaches.max(initial=0.0))))
        low, high = step.survey.low, step.survey.high
        if self.space.kind and not all(self.space.lengths):
            around = self.cloud.tables.bound(self.cloud.tables.heights(sources)).read()
            low, high = tuple(map(min, low, around.low)), tuple(map(max, high, around.high))
        spans = self.space.spans
        span = spanning_reach(real=self.cloud.real, n=self.n, k=self.k, low=low, high=high, lengths=spans)
        return self._step_of_all(AabbTree(), step.survey, self._rounded(span))


def _rows_of(queries: Any) -> int | None:
    """The number of queries, which are checked later; None where they are the points."""
    if queries is None:
        return None
    rows = operator.length_hint(queries, -1)
    if rows < 0:  # what numpy makes an array of need not have a length
        array = np.asarray(queries)
        rows = len(array) if array.ndim else 0
    return rows
