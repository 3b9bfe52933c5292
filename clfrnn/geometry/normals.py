"""Normals: the direction in which the points of a ball spread least, for each point of a cloud."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..api import build_index
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import real_array, shown
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
    """The normals of a cloud, on the device."""

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
    radius: float,
    *,
    viewpoint: Numbers | None = None,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Normals:
    """Estimate the normal of a surface at each of its points.

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device
    radius : scalar, of the ball whose points are taken, in the points' unit
    viewpoint : (dim,) a position that normals point to; without it either of the two directions is given, the one whose
        largest coordinate is positive
    method, session, **options : as for :func:`clfrnn.build_index`

    Returns
    -------
    Normals, on the device, not waited for

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    The covariance of the N points of a ball, the point itself included, is ``C = sum(dx dx') / N - m m'`` with ``m =
    sum(dx) / N``, where dx is the vector from the point to each of them: sums of short vectors, so that nothing is lost
    far from the origin. The normal is the eigenvector of its smallest eigenvalue. Jacobi rotations find all eigenvalues
    with an error of a few roundings of the largest one. Sums run in the order in which neighbors are met, so that last
    digits may differ from run to run.

    Cost: that of building an index, and one visit.

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
        array, n, dim = take_cloud(session, points)
        seen_from = _position(viewpoint, dim)
        index = build_index(array, radius, method=method, session=session, **options)
        found = Normals(index.empty((n, dim)), index.empty(n), index.empty((n, dim)), index.empty(n, "int32"))
        given = {"points": array, "viewpoint": seen_from[1]} if viewpoint is not None else {}
        unit = unit_of(index.radius, index.dtype)
        index.visit(_covariance(dim, seen_from[0]), **found._asdict(), **given, unit=unit)
        return found


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


@functools.cache
def _covariance(dim: int, seen: bool) -> NeighborFunction:
    """The function that finds normals; they point to a viewpoint where these are `seen` from one."""
    pieces = spread(dim)
    apart = " || ".join(f"dx.s{k} != 0" for k in range(dim))
    toward = f"const real toward[DIM] = {{{', '.join(f'viewpoint.s{k}' for k in range(dim))}}};" if seen else ""
    return NeighborFunction(
        arguments="global real *normals, global real *curvature, global real *eigenvalues, global int *counts, "
        "const real unit" + ", global const real *points, const real_vec viewpoint" * seen,
        preamble=JACOBI % dim,
        state=f"int found = 0, apart = 0; {pieces.state}",
        per_neighbor=f"++found;{pieces.add} apart |= {apart};",
        finish=f"{toward}\n{pieces.mirror}{_FINISH.replace('SIDE', _TO_VIEWPOINT if seen else _LARGEST_POSITIVE)}",
    )
