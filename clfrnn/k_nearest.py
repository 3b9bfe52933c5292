"""The public call nearest(): the k nearest neighbors of every query, within a radius or however far they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .answers.count_nearest import NearestArguments, find_nearest
from .answers.nearest.rows import check_k
from .answers.nearest.unbounded import UnboundedSearch
from .api import build, check_keywords
from .arrays import is_device_array, is_scalar
from .conditions import Condition, parts_of
from .errors import InvalidInputError
from .methods.traversal import Traversal
from .points.argument_types import Flags, MethodName, MethodOptions, Numbers, Radius, Rows
from .points.conditions import arrays_of
from .points.sessions import choose_session
from .points.transfer import check_context, fetch
from .results import Nearest
from .runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["nearest"]


def nearest(
    points: Rows,
    k: int,
    *,
    radius: Radius | None = None,
    queries: Rows | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    vectors: bool = False,
    where: Condition | None = None,
    batch: Any = None,
    query_batch: Any = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Nearest:
    """Find the k nearest neighbors of every query, exactly.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; numpy, nested sequences, or ``pyopencl.array.Array``
    k : number of neighbors of each query, at least 1; it may exceed n
    radius : scalar, or (m,) for one radius per query: the largest distance of a neighbor, in the points' unit; None for
        no limit
    queries : (m, dim); the points themselves when not given
    method, box, cell, periodic, session, **options : as for :func:`search`; every image in a periodic box counts
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    vectors : whether the result has vectors; with periodic axes, these come with shifts
    where : a :class:`Condition`; a pair counts only where it holds
    batch, query_batch : as for :func:`search`

    Returns
    -------
    Nearest, on the device: each row by ascending squared distance, then index, then shift; where there are fewer
    neighbors, indices are -1, distances inf, vectors and shifts 0

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The result does not fit the device.
    NoDeviceError
        As for :func:`search`.

    Notes
    -----
    Without a radius, neighbors are those whose squared distance does not exceed the largest finite square of a number;
    a PrecisionWarning says where rows are not full because points lie farther apart.
    The first search then reaches as far as a ball of an even cloud holds somewhat more than k points, and queries with
    fewer neighbors are searched again with wider and wider reaches, at last in a tree without any. Cost: that of
    building an index, one visit, and a wait for the number of these queries, for each reach; a wait for the bounds of
    the points comes first. Even clouds take two reaches, uneven ones more.

    Examples
    --------
    >>> import clfrnn
    >>> found = clfrnn.nearest([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 1)
    >>> found.indices.get().tolist()
    [[1], [0], [1]]
    """
    check_keywords(nearest, method, options)
    k = check_k(k)
    session = choose_session(session, points, queries, radius, batch, *arrays_of(where))
    with session.lock:
        if radius is not None:
            within = NearestArguments(k, radius, include_self, vectors, where, query_batch)
            return _nearest_within(
                session,
                points,
                queries,
                within,
                method=method,
                domain=(box, cell, periodic),
                options=options,
                batch=batch,
            )
        domain = box, cell, periodic
        if isinstance(where, Condition) and parts_of(where)[0].reads("r2"):
            raise InvalidInputError(
                "radius: expected a number with a condition that reads r2, got None, and without a radius there is no "
                "r2; pass the largest distance of a neighbor, or write the condition without r2"
            )
        search = UnboundedSearch(
            session,
            points,
            k,
            method=method,
            domain=domain,
            options=options,
            queries=queries,
            batch=(batch, query_batch),
        )
        if where is not None and search.box is not None and search.box.has_images:
            raise InvalidInputError(
                "radius: expected a number with where= in a periodic box, got None; images go on without end, and the "
                "condition may hold for none of them: pass the largest distance of a neighbor"
            )
        found = search.run(
            queries, include_self=bool(include_self), vectors=bool(vectors), where=where, query_batch=query_batch
        )
        search.warn_of_rounding()
        if where is None:
            search.warn_of_overflow(found)
        return found


def _nearest_within(
    session: Session,
    points: Any,
    queries: Any,
    given: NearestArguments,
    *,
    method: str,
    domain: tuple[Any, Any, Any],
    options: Mapping[str, Any],
    batch: Any,
) -> Nearest:
    radius = given.radius
    if is_device_array(radius):
        check_context(session, radius, "radius")
        radius = fetch(session, radius)
    structure, _ = build(
        points,
        radius,
        method=method,
        domain=domain,
        session=session,
        options=options,
        per_query=not is_scalar(radius),
        queried_once=points if queries is None else queries,
        batch=batch,
        query_batch=given.query_batch,
    )
    traversal = Traversal(structure)
    found = find_nearest(traversal, queries, given._replace(radius=None if is_scalar(radius) else radius))
    traversal.checks.settle()
    return found
