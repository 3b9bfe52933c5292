"""Makes requests: checks the arguments of a query, and brings its arrays to the device."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

from ..arrays import is_device_array, is_scalar, one_radius, round_radii
from ..errors import InvalidInputError
from ..host.numbers import shown, whole_number
from ..methods.domain_tables.tables import DomainTables
from ..methods.request import QueryRequest
from ..methods.traversal import Traversal
from ..points.batches import QuerySystems, in_one_system, take_query_systems
from ..points.conditions import BoundCondition, bind_condition
from ..points.deferred_checks import Check, check_largest
from ..points.half import check_half
from ..points.periodic_box import check_host_near
from ..points.transfer import take_points, take_radii
from ..primitives.reduce import bounding_box

__all__ = ["make_request", "natural", "request_of_points", "systems_of"]


def make_request(
    traversal: Traversal,
    queries: Any,
    *,
    radius: Any,
    include_self: bool,
    half: bool = False,
    where: Any = None,
    query_batch: Any = None,
    known: bool = False,
) -> QueryRequest:
    """Check a query's arguments and bring its arrays to the device.

    `query_batch` may be :class:`QuerySystems` that were taken before, and `known` queries are some of those.
    """
    structure, session, checks = traversal.structure, traversal.session, traversal.checks
    by_system = query_batch is not None or traversal.problem.domain.num_points is not None
    m, condition = traversal.num_points, None
    if queries is None and radius is None:
        if where is not None:
            condition = bind_condition(session, where, traversal.dtype, m=m, n=m)
        if by_system:
            _, condition = _in_systems(traversal, None, query_batch, condition)
        return request_of_points(traversal, include_self=bool(include_self), half=bool(half), where=condition)
    running: list[Check] = []
    array = bounds = systems = None
    if known:
        array, m = queries, queries.shape[0]
    elif queries is not None:
        array, _, host, _ = take_points(session, queries, "queries", real=traversal.dtype, bounded=False)
        _check_width(traversal, array)
        if host is None:
            bounds = structure.find_bounds_of_queries(array)
        elif host.size and traversal.problem.space.kind:
            check_host_near("queries", traversal.problem.space, host)
        m = array.shape[0]
    scalar, radii = _take_radius(traversal, radius, m, running)
    if half:
        check_half(queries=None if array is None else int(array.shape[0]), radii=None if radii is None else m)
    if where is not None:
        condition = bind_condition(session, where, traversal.dtype, m=m, n=traversal.num_points)
    if by_system:
        systems, condition = _in_systems(traversal, array, query_batch, condition)
    order = structure.order_queries(array, bounds, radii)
    if bounds is not None:
        running.append(Check("queries", bounds))
    for check in running:
        checks.add(check)
    return QueryRequest(
        queries=array,
        m=m,
        radius=scalar,
        radii=radii,
        include_self=bool(include_self),
        half=bool(half),
        arguments=structure.arguments(),
        images=structure.images_served(foreign=array is not None),
        query_order=order,
        reads_copy=structure.copies_queries and array is not None and bool(order),
        borrowed=is_device_array(queries) or is_device_array(radius),
        checks=tuple(running),
        where=condition,
        systems=systems,
    )


def request_of_points(
    traversal: Traversal, *, include_self: bool = False, half: bool = False, where: BoundCondition | None = None
) -> QueryRequest:
    """The request for the points themselves, as in most loops; positional, as keywords take the host twice as long."""
    structure = traversal.structure
    of_points = traversal.num_points, traversal.radius, None, include_self, half
    request = QueryRequest(None, *of_points, structure.arguments(), structure.images_served(foreign=False))
    return request if where is None else request._replace(where=where)


def systems_of(request: QueryRequest, tables: DomainTables) -> cla.Array | None:
    """The system of each query of a request, (m,) int32; None where points do not lie in many."""
    return tables.ranks if request.systems is None else request.systems


def _in_systems(
    traversal: Traversal, queries: cla.Array | None, query_batch: Any, where: BoundCondition | None
) -> tuple[cla.Array | None, BoundCondition | None]:
    """The systems of queries, and the condition that a neighbor is of the query's system."""
    tables, taken = traversal.structure.images.tables, query_batch
    if not isinstance(taken, QuerySystems):
        m = None if queries is None else queries.shape[0]
        taken = take_query_systems(traversal.session, traversal.problem.domain, query_batch, m)
        if taken is not None:
            tables.bound_systems(queries, taken.ranks)
    assert tables.ranks is not None, "a batch of queries is refused where points have none"
    return taken and taken.array, in_one_system(tables.ranks, taken, where)


def _check_width(traversal: Traversal, queries: cla.Array) -> None:
    """Raise where queries have not as many coordinates as the points."""
    if queries.shape[1] != traversal.dim:
        raise InvalidInputError(
            f"expected shape (m, {traversal.dim}), as the points have, got {queries.shape}; "
            f"pass {traversal.dim} coordinates for each query",
            argument="queries",
        )


def _take_radius(traversal: Traversal, radius: Any, m: int, running: list[Check]) -> tuple[float, cla.Array | None]:
    """A scalar, or a device array of one radius per query, whose pending check is added to `running`."""
    session, largest, dtype = traversal.session, traversal.radius, traversal.dtype
    if radius is None:
        return largest, None
    if is_device_array(radius):
        radii = take_radii(session, radius, m, dtype)
        running.append(Check("radius", bounding_box(session, radii, traversal.checks.slot_of_radii())))
        return largest, radii
    if is_scalar(radius):
        scalar = one_radius(radius, dtype)
        check_largest(scalar, largest)
        return scalar, None
    values = round_radii(radius, m, dtype)
    check_largest(float(values.max(initial=0)), largest)
    return largest, session.upload(values, purpose="the radii")


def natural(name: str, value: Any) -> int | None:
    """Return a whole number of at least 0, or None."""
    if value is None:
        return None
    number = whole_number(value)
    if number is None or number < 0:
        raise InvalidInputError(
            f"expected a whole number of at least 0, got {shown(value)}; pass it as an int", argument=name
        )
    return number
