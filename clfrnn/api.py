"""The public calls search() and build_index(), which check their arguments."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .answers.lists.query import ListArguments, query_list
from .answers.lists.state import ListState
from .arrays import REAL_OF, is_device_array, is_scalar, one_radius, round_radii
from .conditions import Condition
from .errors import InvalidInputError
from .host.keywords import hint, keywords_of, unexpected
from .host.numbers import shown
from .index import Index
from .methods import METHODS, Method, choose_method, is_worth_binning
from .methods.domain_tables.periodic_images import place_in
from .methods.structure import SearchStructure
from .methods.traversal import Traversal
from .points.argument_types import Flags, MethodName, MethodOptions, Numbers, Radius, Rows, Sort
from .points.batches import domain_of_points
from .points.conditions import arrays_of
from .points.deferred_checks import DeferredChecks
from .points.rounding import largest_of, warn_of_rounding
from .points.sessions import choose_session
from .points.surveys import take_survey
from .points.transfer import check_context, common_real, fetch, take_points
from .primitives.reduce import bounding_box
from .problem import Problem
from .results import NeighborList
from .runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["build", "build_index", "check_keywords", "check_method", "refuse_dim", "search"]


def search(
    points: Rows,
    radius: Radius,
    *,
    queries: Rows | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    distances: bool = False,
    vectors: bool = False,
    sort: Sort | None = None,
    half: bool = False,
    max_bytes: int | None = None,
    where: Condition | None = None,
    batch: Any = None,
    query_batch: Any = None,
    to_host: bool = False,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> NeighborList:
    """Find every point within `radius` of every query, exactly, and list them on the device.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; numpy, nested sequences, or ``pyopencl.array.Array``;
        integers become float64
    radius : scalar, or (m,) for one radius per query, in the points' unit; the ball is closed, ``d <= radius`` counts
    queries : (m, dim); the points themselves when not given; wider arrays of them make all be computed in float64
    method : "auto", "brute_force", "uniform_grid", "strips", "fenns" or "aabb_tree"
    box : (dim,) lengths, or (2, dim) low and high corners, of the periodic domain; points need not lie inside
    cell : (dim, dim) lattice vectors as rows, in place of `box`, of any directions; see :doc:`cells`
    periodic : bool, or one for each axis or lattice vector; every image within the radius counts once; by default True
        where `box` or `cell` is given
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    distances, vectors : whether the list has them; with periodic axes, vectors come with shifts
    sort : None, "index" or "distance", the order inside a row
    half : whether each pair is listed once, with ``i < j``; a point and its own image once, by the sign of the shift
    max_bytes : largest number of bytes of the list on the device
    where : a :class:`Condition`; a pair counts only where it holds
    batch, query_batch : (n,) and (m,) integers, the system of each point and query: neighbors are of one system.
        `box`, `cell` and `periodic` may then have one entry for each system; two rows of `box` are lengths where
        there are two systems, else corners; see :doc:`batches`
    to_host : whether the list has numpy arrays, as :meth:`NeighborList.to_host` gives them; type checkers know these
        arrays only by that method
    session : a :class:`Session`; by default that of the device arrays given, else :func:`default_session`
    **options : options of the method, see :doc:`methods`

    Returns
    -------
    NeighborList, on the device, or with numpy arrays where `to_host` says so

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The list does not fit the device or `max_bytes`; nothing is cut off.
    NoDeviceError
        There is no OpenCL device, or its driver bounds the loops of this search.

    Notes
    -----
    Cost: about five passes over the points, then two visits of every query.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.search([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)[1].tolist()
    [0]
    """
    check_keywords(search, method, options)
    session = choose_session(session, points, queries, radius, batch, *arrays_of(where))
    with session.lock:
        if is_device_array(radius):
            check_context(session, radius, "radius")
            radius = fetch(session, radius)
        per_query = not is_scalar(radius)
        structure, _ = build(
            points,
            radius,
            method=method,
            domain=(box, cell, periodic),
            session=session,
            options=options,
            per_query=per_query,
            queried_once=points if queries is None else queries,
            batch=batch,
            query_batch=query_batch,
        )
        own_radii = radius if per_query else None
        given = ListArguments(
            own_radii, include_self, distances, vectors, sort, half, max_bytes, None, where, query_batch
        )
        found = query_list(Traversal(structure), ListState(session), queries, given, loops=False)
        return found.to_host() if to_host else found


def build_index(
    points: Rows,
    radius: float,
    *,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    batch: Any = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Index:
    """Build an index on the device over `points`, for many queries with radii up to `radius`.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; copied, never changed
    radius : scalar, the largest radius of later queries, in the points' unit
    method, box, cell, periodic, batch : as for :func:`search`
    session : a :class:`Session`; by default that of `points` on a device, else :func:`default_session`
    **options : options of the method, see :doc:`methods`

    Returns
    -------
    Index

    Raises
    ------
    InvalidInputError
        The points or the radius cannot be searched.
    NoDeviceError
        As for :func:`search`.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    Cost: about five passes over the points and one wait; compiles at first use.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0, method="strips", bin_width=0.5)
    >>> index.update([[0.0, 0.0], [3.0, 4.1]])
    >>> index.count().get().tolist()
    [0, 0]
    """
    check_keywords(build_index, method, options)
    session = choose_session(session, points)
    with session.lock:
        domain = box, cell, periodic
        structure, chosen = build(
            points, radius, method=method, domain=domain, session=session, options=options, per_query=False, batch=batch
        )
        return Index(chosen, structure, has_box=box is not None or cell is not None, chosen=method == "auto")


def build(
    points: Any,
    radius: Any,
    *,
    method: str,
    domain: tuple[Any, Any, Any],
    session: Session,
    options: Mapping[str, Any],
    per_query: bool,
    queried_once: Any = None,
    batch: Any = None,
    query_batch: Any = None,
) -> tuple[SearchStructure, Method]:
    """Build the structure, and return it with its method.

    `queried_once` are the queries of a single search, or None for an index; `query_batch` are their systems.
    """
    chosen = check_method(method, options)
    real = common_real(session, points, queried_once)
    array, pending, rows, largest_coordinate = take_points(session, points, "points", real=real)
    n, dim = array.shape
    varied = False
    if per_query:
        radii = round_radii(radius, np.size(radius), array.dtype)
        largest = float(radii.max(initial=0))
        varied = bool((radii < largest).any())
    else:
        largest = one_radius(radius, array.dtype)
    refuse_dim(chosen, dim)
    checked = chosen.check(dict(options)) if chosen is not None else {}
    facts: dict[str, Any] = {"n": n, "dim": dim, "dtype": array.dtype, "radius": largest}
    box = domain_of_points(session, domain, batch, query_batch, **facts)
    placed = place_in(session, box, array)
    raw = pending
    if placed is not array:  # plans and checks know points in a cell by their heights
        pending = None
    # Queries are checked after the structure is built. Until then, queries without a length count as `n`.
    m = None if queried_once is None else operator.length_hint(queried_once, n)
    if chosen is not None:
        crowding = chosen.surveys_occupancy
    else:
        crowding = is_worth_binning(n, session.profile, session.tuning, dim=dim, queries=m, periodic=box is not None)
    if pending is None and (box is not None or crowding):
        pending = bounding_box(session, placed)
    survey = take_survey(session, placed, largest, pending, crowding=crowding, box=box)
    warn_of_rounding(session, array, largest, largest_coordinate or largest_of(raw), rows=rows)
    facts = {"n": n, "dim": dim, "real": REAL_OF[array.dtype], "radius": largest, "box": box}
    problem = Problem(**facts, survey=survey, options=checked, why="asked for by name")
    if chosen is None:
        chosen, why = choose_method(problem, session.profile, session.tuning, queries=m, varied=varied)
        problem = dataclasses.replace(problem, options=chosen.check({}), why=why)
    checks = DeferredChecks(session, dtype=array.dtype, dim=dim, radius=largest, box=box, points=pending)
    return chosen.build(session, problem, checks, array, pending), chosen


def check_method(method: object, options: Mapping[str, Any]) -> Method | None:
    """The method of that name, or None for "auto"; raises TypeError for an option that the method does not have."""
    if not isinstance(method, str) or (method != "auto" and method not in METHODS):
        likely = hint(method, METHODS) if isinstance(method, str) else ""
        raise InvalidInputError(
            f"method: expected 'auto' or one of {', '.join(METHODS)}, got {shown(method)}; "
            f"{likely or 'leave it out to have one chosen'}"
        )
    known = METHODS[method].options if method in METHODS else frozenset()
    if unknown := sorted(set(options) - known):
        advice = "; name the method to set its options" if method == "auto" else ""
        raise TypeError(f"unexpected option {', '.join(map(repr, unknown))}: {_taken_by(method)}{advice}")
    return METHODS.get(method)


def check_keywords(call: Callable[..., Any], method: object, options: Mapping[str, Any]) -> None:
    """Raise TypeError for one of `options` that is none of any method: a keyword of `call` that was mistyped."""
    if options and (unknown := options.keys() - MethodOptions.__annotations__.keys()):
        own = METHODS[method].options if method in METHODS else MethodOptions.__annotations__.keys()
        message = unexpected(call.__name__, unknown, keywords_of(call), likely=keywords_of(call) | own)
        raise TypeError(f"{message}; {_taken_by(method)}")


def _taken_by(method: object) -> str:
    options = METHODS[str(method)].options if method in METHODS else frozenset[str]()
    return f"method {method!r} takes {', '.join(sorted(options)) or 'no options'}"


def refuse_dim(chosen: Method | None, dim: int, name: str = "points") -> None:
    """Raise where the method, or for "auto" every method, does not serve `dim` coordinates; `name` is the argument."""
    method = chosen or METHODS["brute_force"]
    if dim in method.dims:
        return
    serving = [name for name, other in METHODS.items() if dim in other.dims]
    served = f"{min(method.dims)} to {max(method.dims)}"
    if not serving:
        most = max(max(other.dims) for other in METHODS.values())
        raise InvalidInputError(
            f"{name}: expected at most {most} coordinates a point, got {dim}; no method serves that many: leave out "
            "columns that are no coordinates, or project the points"
        )
    raise InvalidInputError(
        f"{name}: expected {served} coordinates a point for method {method.name!r}, got {dim}; "
        f"method={' or '.join(map(repr, serving))} serves it"
    )
