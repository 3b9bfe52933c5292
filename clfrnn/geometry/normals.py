"""Normals: the direction in which the points of a ball spread least, for each point of a cloud."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..answers.each_row import empty_rows, run_for_rows
from ..api import build_index, nearest
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import real_array, shown, whole_number
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Numbers, Rows
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import take_cloud
from .covariance import JACOBI, spread, unit_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Normals", "normals"]


class Normals(NamedTuple):
    """The normals of a cloud, with what was computed beside them; arrays on the device."""

    #: (n, dim), of length 1; NaN where a point has fewer than dim neighbors, or where all are so near that their
    #: variances vanish in the points' dtype; along the first axis where all coincide
    normals: DeviceArray[np.floating[Any]]
    #: (n,), the smallest eigenvalue over the sum of all: 0 on a plane, 1 / dim where points spread alike; NaN where the
    #: normal is, and 0 where all points coincide
    curvature: DeviceArray[np.floating[Any]]
    #: (n, dim), the variances along the principal directions, ascending; NaN where a point has fewer than dim neighbors
    eigenvalues: DeviceArray[np.floating[Any]]
    #: (n,) int32, the points in each ball, its own point included
    counts: DeviceArray[np.int32]


def normals(
    points: Rows,
    radius: float | None = None,
    *,
    k: int | None = None,
    viewpoint: Numbers | None = None,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Normals:
    """Estimate the normal of a surface at each of its points: the direction in which the points around it spread least.

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device
    radius : scalar, of the ball whose points are taken, in the points' unit
    k : the number of nearest points that are taken, the point itself among them; with a radius, of those within it. At
        least one of the two is needed, and a k above dim
    viewpoint : (dim,) a position that normals point to; without it either of the two directions is given, the one whose
        largest coordinate is positive
    method, session, **options : as for :func:`clfrnn.build_index`, with k as for :func:`clfrnn.nearest`

    Returns
    -------
    Normals, on the device; the call does not wait for it

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    The covariance of the N points of a ball, or of the k nearest, the point itself included, is
    ``C = sum(dx dx') / N - m m'`` with ``m = sum(dx) / N``, where dx is the vector from the point to each of them: sums
    of short vectors, so that nothing is lost far from the origin. The normal is the eigenvector of its smallest
    eigenvalue. Jacobi rotations find all eigenvalues with an error of a few roundings of the largest one. With a radius
    alone, sums run in the order in which neighbors are met, so that last digits may differ from run to run; the k
    nearest are added up by distance, in every run. Points whose distances have squares that overflow have no nearest
    ones, and no normal, of which a PrecisionWarning tells.

    Cost: that of building an index, and one visit; with k that of :func:`clfrnn.nearest` and of k (dim + 2) numbers a
    point, and a pass over them.

    Source: Hoppe, DeRose, Duchamp, McDonald and Stuetzle (1992), section 3.2; Pauly, Gross and Kobbelt (2002) for the
    curvature, which they call surface variation; Golub and Van Loan, *Matrix Computations*, section 8.5, for Jacobi
    rotations.

    Examples
    --------
    >>> from clfrnn.geometry import normals
    >>> flat = normals([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 5.0], [1.0, 1.0, 5.0]], 2.0)
    >>> flat.normals.get()[0].tolist(), flat.counts.get().tolist()
    ([0.0, 0.0, 1.0], [4, 4, 4, 4])
    """
    check_keywords(normals, method, options)
    session = choose_session(session, points)
    with session.lock:
        array, n, dim = take_cloud(session, points, checked=False)  # the search checks them
        seen, position = _position(viewpoint, dim)
        given: dict[str, Any] = {"points": array, "viewpoint": position} if seen else {}
        if k is not None:
            taken = min(_taken(k, dim), max(n, 1))  # there are no more points
            rows = nearest(
                array, taken, radius=radius, include_self=True, vectors=True, method=method, session=session, **options
            )
            given |= {"k": taken, "indices": rows.indices, "vectors": rows.vectors}
            found = _empty(functools.partial(empty_rows, session), array)
            run_for_rows(session, _covariance_of_rows(dim, seen), (n, dim), found._asdict() | given, dtype=array.dtype)
        elif radius is not None:
            index = build_index(array, radius, method=method, session=session, **options)
            found = _empty(index.empty, array)
            given["unit"] = unit_of(index.radius, index.dtype)
            index.visit(_covariance(dim, seen), **found._asdict(), **given)
        else:
            raise InvalidInputError(
                "expected a radius, or k, got neither; pass the radius of the ball whose points are taken, or how many "
                "nearest points",
                argument="radius, k",
            )
        return found


def _empty(make: Callable[..., DeviceArray[Any]], points: DeviceArray[np.floating[Any]]) -> Normals:
    """The arrays of the normals of points, which `make` gives by shape and dtype; their numbers are not set."""
    n, dtype = points.shape[0], points.dtype
    return Normals(make(points.shape, dtype), make(n, dtype), make(points.shape, dtype), make(n, np.int32))


def _taken(k: object, dim: int) -> int:
    """The number of nearest points as an int; raises where it is too few for a normal."""
    number = whole_number(k)
    if number is None or number <= dim:
        raise InvalidInputError(
            f"expected a whole number of at least {dim + 1}, as a normal needs {dim} points beside its own, got "
            f"{shown(k)}; pass how many nearest points are taken, the point itself among them",
            argument="k",
        )
    return number


def _position(viewpoint: Numbers | None, dim: int) -> tuple[bool, Any]:
    """Whether there is a viewpoint, and its coordinates; raises where it is no position."""
    if viewpoint is None:
        return False, None
    given = real_array(viewpoint)
    position = np.empty(0) if given is None else given
    if position.shape != (dim,) or not np.isfinite(position).all():
        raise InvalidInputError(
            f"expected {dim} finite numbers, as points have, got {shown(viewpoint)}; pass the position that "
            "normals point to, or leave it out",
            argument="viewpoint",
        )
    return True, position


#: Adds up the neighbors in a row of the nearest, whose vectors become at most 1 long along each axis.
_OF_ROW = """
int found = 0, apart = 0;
real most = 0;
while (found < k && indices[i * (size_t)k + found] >= 0) ++found;
for (size_t at = 0; at < (size_t)found * DIM; ++at) most = fmax(most, fabs(vectors[i * (size_t)k * DIM + at]));
const real unit = most > 0 ? ldexp((real)1, min(-ilogb(most) - 1, MOST_EXPONENT)) : 1;
for (int next = 0; next < found; ++next) {
    global const real *from = vectors + (i * (size_t)k + next) * DIM;
    const real_vec dx = (real_vec)(LANES);
    ADD
}
--found;  // the point itself
"""

_FINISH = """
real v[DIM * DIM], total = 0;
const real share = 1 / (real)(found + 1);
for (int p = 0; p < DIM; ++p)
    for (int q = 0; q < DIM; ++q) {
        products[p * DIM + q] = products[p * DIM + q] * share - (sums[p] * share) * (sums[q] * share);
        v[p * DIM + q] = p == q;
    }
clfrnn_jacobi(products, v);
int least = 0;
for (int p = 0; p < DIM; ++p) {
    // The rank of each eigenvalue is the number of lower ones.
    const real each = products[p * DIM + p];
    int rank = 0;
    for (int q = 0; q < DIM; ++q) rank += products[q * DIM + q] < each || (products[q * DIM + q] == each && q < p);
    eigenvalues[i * (size_t)DIM + rank] = found < DIM ? (real)NAN : fmax(each, (real)0) / unit / unit;
    total += fmax(each, (real)0);
    if (rank == 0) least = p;
}
// Points that are apart by less than numbers can tell have no direction.
const int known = found >= DIM && (total > 0 || !apart);
real side = 0, longest = 0;
for (int p = 0; p < DIM; ++p) {
    const real part = v[p * DIM + least];
    SIDE
}
for (int p = 0; p < DIM; ++p)
    normals[i * (size_t)DIM + p] = known ? (side < 0 ? -v[p * DIM + least] : v[p * DIM + least]) : (real)NAN;
curvature[i] = known ? fmax(products[least * DIM + least], (real)0) / (total > 0 ? total : 1) : (real)NAN;
counts[i] = found + 1;
"""

_TO_VIEWPOINT = "side += part * (toward[p] / 8 - points[i * (size_t)DIM + p] / 8);"  # no sum overflows
_LARGEST_POSITIVE = "if (fabs(part) > longest) { longest = fabs(part); side = part; }"


_RESULTS = "global real *normals, global real *curvature, global real *eigenvalues, global int *counts"


@functools.cache
def _covariance(dim: int, seen: bool) -> NeighborFunction:
    """The function that finds normals of balls; they point to a viewpoint where these are `seen` from one."""
    pieces = spread(dim)
    return NeighborFunction(
        arguments=f"{_RESULTS}, const real unit{_SEEN * seen}",
        preamble=JACOBI % dim,
        state=f"int found = 0, apart = 0; {pieces.state}",
        per_neighbor=f"++found;{pieces.add} apart |= {_apart(dim)};",
        finish=_finish(dim, seen),
    )


@functools.cache
def _covariance_of_rows(dim: int, seen: bool) -> NeighborFunction:
    """The same for rows of the nearest, which are found already."""
    pieces = spread(dim)
    lanes = ", ".join(f"from[{k}]" for k in range(dim))
    row = _OF_ROW.replace("LANES", lanes).replace("ADD", f"{pieces.add} apart |= {_apart(dim)};")
    return NeighborFunction(
        arguments=f"{_RESULTS}, const int k, global const int *indices, global const real *vectors{_SEEN * seen}",
        preamble=f"{JACOBI % dim}\n#define MOST_EXPONENT (sizeof(real) == 4 ? 126 : 1022)\n",
        finish=f"{pieces.state}\n{row}\n{_finish(dim, seen)}",
    )


_SEEN = ", global const real *points, const real_vec viewpoint"


def _apart(dim: int) -> str:
    return " || ".join(f"dx.s{k} != 0" for k in range(dim))


def _finish(dim: int, seen: bool) -> str:
    """The code that turns sums into a normal."""
    toward = f"const real toward[DIM] = {{{', '.join(f'viewpoint.s{k}' for k in range(dim))}}};" if seen else ""
    return f"{toward}\n{spread(dim).mirror}{_FINISH.replace('SIDE', _TO_VIEWPOINT if seen else _LARGEST_POSITIVE)}"
