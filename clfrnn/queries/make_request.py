"""From the arguments of a query to a request: checked, and its arrays on the device."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import pyopencl.array as cla

from ..arrays import is_device_array, is_scalar, one_radius, round_radii
from ..errors import InvalidInputError
from ..inputs.arrays import take_points, take_radii
from ..inputs.deferred_checks import check_largest
from ..inputs.periodic_box import check_host_near
from ..inputs.request import QueryRequest
from ..primitives.readback import PendingBox
from ..primitives.reduce import bounding_box

if TYPE_CHECKING:
    from ..index import Index

__all__ = ["make_request", "natural"]


def make_request(index: Index, queries: Any, *, radius: Any, include_self: bool, half: bool = False) -> QueryRequest:
    """Check a query's arguments and bring its arrays to the device."""
    index.session.check_process()
    if queries is None and radius is None:
        return _request_of_points(index, include_self=bool(include_self), half=bool(half))
    checks: list[tuple[str, PendingBox]] = []
    array = pending = None
    m = index.num_points
    if queries is not None:
        array, pending, host = take_points(
            index.session,
            queries,
            "queries",
            real=index.dtype,
            find_box=lambda taken: index.find_box_of_queries(_as_wide(index, taken)),
        )
        _as_wide(index, array)
        if host is not None and host.size and index.problem.box is not None:
            check_host_near("queries", index.problem.box, host)
        m = array.shape[0]
    scalar, radii = _take_radius(index, radius, m, checks)
    if half and array is not None:
        raise InvalidInputError(
            f"half: expected no queries, got {array.shape[0]:,} of them; pairs between queries and points have no "
            "half: leave one of the two out"
        )
    if half and radii is not None:
        raise InvalidInputError(
            f"half: expected one radius for all, got one per query, of shape ({m},), and the relation is not symmetric "
            "then; pass one radius, or leave half out"
        )
    placed = index.place_queries(array, pending, radii)
    if pending is not None:
        checks.append(("queries", pending))
    for check in checks:
        index.watch.other(*check)
    return QueryRequest(
        queries=array,
        m=m,
        radius=scalar,
        radii=radii,
        include_self=bool(include_self),
        half=bool(half),
        walk=index.walk_arguments(),
        images=index.images_served(foreign=array is not None),
        placed=placed,
        copied=index.copies_queries and array is not None and bool(placed),
        borrowed=is_device_array(queries) or is_device_array(radius),
        checks=tuple(checks),
    )


def _request_of_points(index: Index, *, include_self: bool, half: bool) -> QueryRequest:
    """What most loops ask, once in each of their steps: by place, as names take the host twice as long."""
    of_points = index.num_points, index.radius, None, include_self, half
    return QueryRequest(None, *of_points, index.walk_arguments(), index.images_served(foreign=False))


def _as_wide(index: Index, queries: cla.Array) -> cla.Array:
    """The queries, when they have as many coordinates as the points."""
    if queries.shape[1] != index.dim:
        raise InvalidInputError(
            f"queries: expected shape (m, {index.dim}), as the points have, got {queries.shape}; "
            f"pass {index.dim} coordinates for each query"
        )
    return queries


def _take_radius(
    index: Index, radius: Any, m: int, checks: list[tuple[str, PendingBox]]
) -> tuple[float, cla.Array | None]:
    """A scalar, or a device array of one radius per query; what is being checked of it joins the `checks`."""
    if radius is None:
        return index.radius, None
    if is_device_array(radius):
        radii = take_radii(index.session, radius, m, index.dtype)
        checks.append(("radius", bounding_box(index.session, radii, index.watch.room_of_radii())))
        return index.radius, radii
    if is_scalar(radius):
        scalar = one_radius(radius, index.dtype)
        check_largest(scalar, index.radius)
        return scalar, None
    values = round_radii(radius, m, index.dtype)
    check_largest(float(values.max(initial=0)), index.radius)
    return index.radius, index.session.upload(values, purpose="the radii")


def natural(name: str, value: Any) -> int | None:
    """A whole number of at least 0, or None."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InvalidInputError(f"{name}: expected a whole number of at least 0, got {value!r}; pass it as an int")
    return number
