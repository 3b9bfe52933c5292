"""K nearest: rows of the k nearest neighbors of each query, and the vectors and shifts of their entries."""

from __future__ import annotations

from typing import Any

import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...config import INT
from ...errors import InvalidInputError
from ...host.numbers import shown, whole_number
from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...results import Nearest
from ...runtime.rendering import row_function
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ..requests import systems_of
from .plan import is_even, plan_rows
from .rounds import ShortRows, measure_rows

__all__ = ["check_k", "fill_rows", "find_k_nearest", "first_bounds", "holds_images", "measure", "publish", "rows_for"]

_MOST_NEIGHBORS = 2**31 - 1


def check_k(k: Any) -> int:
    """Return a number of neighbors of at least 1, which kernels count in int32."""
    number = whole_number(k)
    if number is None or not 1 <= number <= _MOST_NEIGHBORS:
        expected = "at most 2,147,483,647" if number and number > 0 else "at least 1"
        raise InvalidInputError(
            f"expected a whole number of {expected}, got {shown(k)}; pass how many neighbors to find", argument="k"
        )
    return number


def find_k_nearest(traversal: Traversal, request: QueryRequest, k: int, *, vectors: bool) -> Nearest:
    """The k nearest neighbors of each query within its radius; not waited for."""
    found = rows_for(traversal, request.m, k, vectors=vectors)
    event = fill_rows(traversal, request, found)
    if vectors and request.m:
        points = traversal.structure.positions()
        assert points is not None, "every structure has its points"
        queries_taken = points if request.queries is None else request.queries
        systems = systems_of(request, traversal.structure.images.tables)
        event = measure(traversal, found, points, queries_taken, known=holds_images(traversal), systems=systems)
    publish(traversal.session, event, found)
    return found


def publish(session: Session, event: cl.Event | None, found: Nearest) -> None:
    """Make other queues wait for the last event that writes to the arrays of a result."""
    arrays = found.indices, found.distances, found.vectors, found.shifts
    session.publish(event, *[array for array in arrays if array is not None])


def rows_for(traversal: Traversal, m: int, k: int, *, vectors: bool) -> Nearest:
    """Allocate rows for m queries, with shifts where the caller gets them or a row may hold several images."""
    session, dim, periodic = traversal.session, traversal.dim, traversal.problem.domain.has_images
    shape = m, k
    indices = session.allocate(shape, INT, purpose=f"the {k:,} nearest neighbors")
    distances = session.allocate(shape, traversal.dtype, purpose=f"the distances of the {k:,} nearest neighbors")
    of_entries = shifts = None
    if vectors:
        of_entries = session.allocate((*shape, dim), traversal.dtype, purpose="the vectors of the nearest neighbors")
    if vectors and periodic:
        shifts = session.allocate((*shape, dim), INT, purpose="the shifts of the nearest neighbors")
    return Nearest(indices, distances, of_entries, shifts)


def holds_images(traversal: Traversal) -> bool:
    """Whether a row may hold several images of a point, so that the walk has to write shifts."""
    return traversal.problem.repeats


def first_bounds(traversal: Traversal, request: QueryRequest, k: int) -> Scratch | None:
    """First bounds of the rows of a request: see :meth:`~clfrnn.methods.structure.SearchStructure.first_bounds`.

    Rows may then be empty, whose queries need searches of their own. None where queries are not the points, have radii
    of their own or a condition, or where rows are too long.
    """
    if request.queries is not None or request.radii is not None or request.where is not None:
        return None
    session, images = traversal.session, holds_images(traversal)
    plan = plan_rows(session.profile, session.tuning, k=k, real=REAL_OF[traversal.dtype], images=images)
    if plan.way != "registers" or plan.vector:
        return None
    slots = session.tuning.nearest.waiting
    return traversal.structure.first_bounds(k, slots, radius=request.radius, alike=session.tuning.nearest.alike)


def fill_rows(
    traversal: Traversal,
    request: QueryRequest,
    found: Nearest,
    *,
    bounds: Scratch | None = None,
    again: ShortRows | None = None,
    of_points: bool = False,
) -> cl.Event | None:
    """Enqueue the walk that fills the rows of the queries of a request, within first `bounds` where these are known.

    Where queries are searched for `again`, the request has their positions, and they fill the rows that `again` names;
    `of_points` says that each of them is the point of that number, which is not its own neighbor.
    """
    session, (m, k), dim = traversal.session, found.indices.shape, traversal.dim
    real, images = REAL_OF[traversal.dtype], holds_images(traversal)
    even = is_even(traversal.problem.survey, session.tuning)
    plan = plan_rows(session.profile, session.tuning, k=k, real=real, images=images, even=even)
    kinds: dict[str, Any] = {"shifts": images, "again": again is not None}
    if bounds is not None:
        request = request._replace(radii=bounds)
        plan = plan._replace(capacity=1 << (k - 1).bit_length())
        kinds["waits"] = session.tuning.nearest.waiting
    function = row_function(**plan._asdict(), real=real, dim=dim, **kinds)
    values: list[Any] = [found.indices, found.distances, k]
    if images and found.shifts is None:
        values.append(session.scratch(m * k * dim, INT, purpose="the shifts of the nearest neighbors"))
    elif images:
        values.append(found.shifts)
    if again is not None:
        values += [again.rows, int(of_points)]
    return traversal.run(function, request, values)


def measure(
    traversal: Traversal,
    found: Nearest,
    points: cla.Array,
    queries: cla.Array,
    *,
    known: bool,
    systems: cla.Array | None,
) -> cl.Event | None:
    """Enqueue the computation of vectors, and of shifts in a periodic box unless they are `known`.

    `points` and `queries` are in the caller's order, and so are the `systems` of queries, if there are any.
    """
    images = traversal.structure.images
    period = None if found.shifts is None else images.tables.period_at(images.starts)
    return measure_rows(
        traversal.session,
        found.indices,
        points=points,
        queries=queries,
        period=period,
        periodic="" if period is None else traversal.problem.periodic,
        systems=systems,
        vectors=found.vectors,
        shifts=found.shifts,
        known=known,
    )
