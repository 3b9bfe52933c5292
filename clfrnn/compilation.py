"""Compilation ahead: the programs of searches to come are compiled by searching clouds made for that."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import clouds
from .api import build_index, search
from .errors import InvalidInputError
from .host.numbers import shown, whole_number
from .methods.named import check_keywords
from .points.argument_types import MethodName, MethodOptions
from .points.sessions import choose_session
from .runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["precompile"]

#: Numbers of points that are placed by different programs: on any device, and more on a GPU.
_SIZES, _MANY = (40, 100, 1_000, 20_000, 100_000), 1_000_000

#: The same where a search may test all pairs, and for simulators.
_FEW = (40, 100, 1_000)

#: Mean numbers of neighbors, for which lists are made in different ways.
_NEIGHBORS = (4, 15, 40)


def precompile(
    *,
    dim: int = 3,
    dtype: npt.DTypeLike = np.float32,
    method: MethodName = "auto",
    periodic: bool = False,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> None:
    """Compile what searches of such points need, so that the first one of them need not wait for the compiler.

    Parameters
    ----------
    dim : number of coordinates of a point
    dtype : float32 or float64
    method, session, **options : as for :func:`search`
    periodic : whether the searches are in periodic boxes

    Raises
    ------
    InvalidInputError
        The method does not serve `dim`, or the device has no numbers of `dtype`.

    Notes
    -----
    Compiled are :func:`search` and queries, without and with distances, counts and updates, for one radius of all
    queries. On a CPU this serves any number of points and neighbors, on a GPU nearly any. What else is used is compiled
    when it is first used: sorted rows, vectors, queries that are not the points, conditions, functions of your own. The
    programs stay in the session, and in the user's folder of caches, from where other processes load them.

    Cost: seconds of compiling where nothing is stored, else less than a second.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.precompile(dim=2)
    """
    check_keywords(precompile, method, options)
    session = choose_session(session)
    given: dict[str, Any] = {"method": method, "session": session, **options}
    dim, real = _check(session, dim, dtype, given)
    if periodic:
        given["box"] = (1.0,) * dim
    for n, neighbors in itertools.product(_sizes(session, dim, method), _NEIGHBORS):
        points = clouds.uniform(n, dim, dtype=real)
        radius = 0.5 * (neighbors / n) ** (1 / dim)
        for distances in (False, True):
            search(points, radius, distances=distances, **given)
            index = build_index(points, radius, **given)
            index.query(distances=distances)
            index.update(points)
            index.query(distances=distances)
        index.count()
        index.check()


def _check(session: Session, dim: object, dtype: npt.DTypeLike, given: Mapping[str, Any]) -> tuple[int, Any]:
    """`dim` and `dtype`, or an error where there are no such points, or where the method does not serve them."""
    try:
        real = np.dtype(dtype)
    except TypeError:
        real = np.dtype(object)
    if real not in (np.float32, np.float64):
        raise InvalidInputError(f"expected float32 or float64, got {shown(dtype)}; pass points.dtype", argument="dtype")
    if real == np.float64 and not session.profile.fp64:
        raise InvalidInputError(
            f"expected float32, as {session.profile} has no fp64, got float64; choose another device",
            argument="dtype",
        )
    number = whole_number(dim)
    if number is None or number < 1:
        raise InvalidInputError(
            f"expected a whole number of at least 1, got {shown(dim)}; pass points.shape[1]", argument="dim"
        )
    try:
        build_index(np.empty((0, number), real), 1.0, **given)
    except InvalidInputError as error:
        if error.argument != "points":
            raise
        raise InvalidInputError(error.problem, argument="dim") from None
    except ValueError:  # numpy has no such arrays
        raise InvalidInputError(
            f"expected as many coordinates as points have, got {shown(dim)}; pass points.shape[1]", argument="dim"
        ) from None
    return number, real


def _sizes(session: Session, dim: int, method: str) -> tuple[int, ...]:
    if session.profile.kind == "other" or dim > 3 or method == "brute_force":
        return _FEW
    return (*_SIZES, _MANY) if session.profile.kind == "gpu" else _SIZES
