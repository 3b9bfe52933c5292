"""search() and build_index(): arguments are checked here, and the default session is known here alone."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from .arrays import REAL_OF, is_device_array, is_scalar, one_radius, raise_non_finite, round_radii
from .errors import InvalidInputError
from .methods import METHODS, Index, Method
from .methods.intake import check_context, fetch, take_points
from .plan import Problem
from .primitives.reduce import survey_points
from .results import NeighborList
from .session import Session
from .survey import Survey

__all__ = ["build_index", "default_session", "search"]

#: Up to this many points, testing every pair is as fast as binning them.
_FEW_POINTS = 1024


@functools.cache
def default_session() -> Session:
    """The session of this process, made at first use.

    Its device is ``CLFRNN_DEVICE``, else ``PYOPENCL_CTX``, else the first GPU, else the first CPU.

    Raises
    ------
    NoDeviceError
        There is none.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.default_session() is clfrnn.default_session()
    True
    """
    return Session()


@functools.lru_cache(maxsize=8)
def _session_of_queue(queue: cl.CommandQueue) -> Session:
    in_order = not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    return Session(queue if in_order else cl.CommandQueue(queue.context, queue.device))


def _choose_session(session: Session | None, *arrays: object) -> Session:
    """The session given, else that of the first device array, else the default one."""
    if session is not None:
        if not isinstance(session, Session):
            raise InvalidInputError(
                f"session: expected a clfrnn.Session, got {type(session).__name__}; wrap it: clfrnn.Session(...)"
            )
        return session
    array = next((array for array in arrays if is_device_array(array)), None)
    if array is None:
        return default_session()
    assert isinstance(array, cla.Array)
    queue = array.queue or cl.CommandQueue(array.context)
    living = sorted(Session.living, key=lambda each: (each.queue != queue, not _is_default(each), each.number))
    same = (each for each in living if each.context == array.context and each.device == queue.device)
    return next(same, None) or _session_of_queue(queue)


def _is_default(session: Session) -> bool:
    return bool(default_session.cache_info().currsize) and session is default_session()


def search(
    points: Any,
    radius: Any,
    *,
    queries: Any = None,
    method: str = "auto",
    include_self: bool = False,
    distances: bool = False,
    vectors: bool = False,
    sort: str | None = None,
    half: bool = False,
    session: Session | None = None,
    **options: Any,
) -> NeighborList:
    """Every point within `radius` of every query, exactly.

    Parameters
    ----------
    points : (n, dim) float32 or float64 — any order, finite; numpy, nested sequences, or ``pyopencl.array.Array``
    radius : scalar, or (m,) one per query — in the points' unit; the ball is closed, ``d <= radius`` counts
    queries : (m, dim) — where to search from; the points themselves when not given
    method : "auto", "brute_force", "uniform_grid" or "strips"
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    distances, vectors : whether the list carries them
    sort : None, "index" or "distance" — the order inside a row
    half : each pair once, ``i < j``
    session : a :class:`Session`; by default that of the device arrays passed, else :func:`default_session`
    **options : the method's own, see :doc:`methods`

    Returns
    -------
    NeighborList, on the device

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which, and what to do.
    DeviceMemoryError
        The list does not fit on the device; nothing is ever cut off.
    NoDeviceError
        There is no OpenCL device.

    Notes
    -----
    Cost: about five passes over the points, then two visits to every query's surroundings.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.search([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)[1].tolist()
    [0]
    """
    session = _choose_session(session, points, queries, radius)
    if is_device_array(radius):
        check_context(session, radius, "radius")
        radius = fetch(session, radius)
    per_query = not is_scalar(radius)
    index = _build(points, radius, method=method, session=session, options=options, per_query=per_query)
    return index.query(
        queries,
        radius=radius if per_query else None,
        include_self=include_self,
        distances=distances,
        vectors=vectors,
        sort=sort,
        half=half,
    )


def build_index(
    points: Any, radius: Any, *, method: str = "auto", session: Session | None = None, **options: Any
) -> Index:
    """An index over `points` for many queries with radii up to `radius`.

    Parameters
    ----------
    points : (n, dim) float32 or float64 — any order, finite; copied, never changed
    radius : scalar — the largest that queries will use, in the points' unit
    method : "auto", "brute_force", "uniform_grid" or "strips"
    session : a :class:`Session`; by default that of `points` on a device, else :func:`default_session`
    **options : the method's own, see :doc:`methods`

    Raises
    ------
    InvalidInputError
        The points or the radius cannot be searched.
    TypeError
        The method does not take one of the options.

    Notes
    -----
    Cost: about five passes over the points and one wait; compiles on first use.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0, method="strips", bin_width=0.5)
    >>> index.update([[0.0, 0.0], [3.0, 4.1]])
    >>> index.count().get().tolist()
    [0, 0]
    """
    session = _choose_session(session, points)
    return _build(points, radius, method=method, session=session, options=options, per_query=False)


def _build(
    points: Any, radius: Any, *, method: str, session: Session, options: dict[str, Any], per_query: bool
) -> Index:
    session.check_process()
    chosen = _check_method(method, options)
    array, pending = take_points(session, points, "points")
    n, dim = array.shape
    if per_query:
        largest = float(round_radii(radius, np.size(radius), array.dtype).max(initial=0))
    else:
        largest = one_radius(radius, array.dtype)
    chosen = chosen or _choose_method(n, dim)
    if dim not in chosen.dims:
        _refuse_dim(chosen, dim)
    checked = chosen.check(options)
    if chosen.surveys_occupancy and n:
        survey, bad_row = survey_points(session, array, largest, pending)
    else:
        survey = Survey(n=n, low=(0.0,) * dim, high=(0.0,) * dim)
        bad_row = pending.read().first_bad if pending is not None else None
    if bad_row is not None:
        raise_non_finite("points", bad_row)
    problem = Problem(n=n, dim=dim, real=REAL_OF[array.dtype], radius=largest, survey=survey, options=checked)
    return chosen.build(session, problem, array)


def _check_method(method: object, options: dict[str, Any]) -> Method | None:
    """The method of that name, or None for "auto"; TypeError for options that it does not take."""
    if not isinstance(method, str) or (method != "auto" and method not in METHODS):
        raise InvalidInputError(f"method: expected 'auto' or one of {', '.join(METHODS)}, got {method!r}")
    known = METHODS[method].options if method in METHODS else frozenset()
    if unknown := sorted(set(options) - known):
        takes = f"takes {', '.join(sorted(known))}" if known else "takes no options"
        hint = "; name the method to set its options" if method == "auto" else ""
        raise TypeError(f"unexpected option {', '.join(map(repr, unknown))}: method {method!r} {takes}{hint}")
    return METHODS.get(method)


def _choose_method(n: int, dim: int) -> Method:
    """A first plain rule: strips wherever they serve, all pairs for few points and other dimensions."""
    if dim in METHODS["strips"].dims and n > _FEW_POINTS:
        return METHODS["strips"]
    return METHODS["brute_force"]


def _refuse_dim(method: Method, dim: int) -> None:
    serving = [name for name, other in METHODS.items() if dim in other.dims]
    served = ", ".join(map(str, sorted(method.dims)))
    instead = f"method={' or '.join(map(repr, serving))} serves it" if serving else "no method serves it"
    raise InvalidInputError(
        f"points: expected {served} coordinates a point for method {method.name!r}, got {dim}; {instead}"
    )
