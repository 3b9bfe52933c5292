"""Smoothing: points of a noisy cloud move onto the surface that their neighbors suggest."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import build_index
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import shown, whole_number
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Rows
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import take_cloud, whole
from .covariance import JACOBI, falloff, spread, unit_of
from .heights import ARGUMENTS, fitted_height

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["smooth"]


def smooth(
    points: Rows,
    radius: float,
    *,
    iterations: int = 1,
    degree: int = 1,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> DeviceArray[np.floating[Any]]:
    """Move the points of a noisy cloud onto a smooth surface, or a smooth curve in 2D, through them.

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device
    radius : scalar, of the ball whose points tell where the surface is, in the points' unit; a ball should hold some
        twenty points and be small against the surface's bends
    iterations : how often all points are moved; the surface is that of the points where they are by then
    degree : of the polynomial over the plane of a ball; 1 projects on the plane itself, 2 follows bends, shrinks them
        far less, and leaves more of the noise
    method, session, **options : as for :func:`clfrnn.build_index`

    Returns
    -------
    (n, dim) array on the device, of the points' dtype and in their order; the call does not wait for it

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    A point x is projected on the plane through the weighted mean of its ball, along the direction in which the ball
    spreads least: ``x' = x + ((a - x) . n) n``, where ``a = sum(theta_j p_j) / sum(theta_j)``, and n is the eigenvector
    of the smallest eigenvalue of ``sum(theta_j (p_j - a) (p_j - a)')``, with ``theta_j = exp(-|p_j - x|^2 / h^2)`` and
    ``h = radius / 2``; the sums include the point itself. Points with fewer than dim neighbors stay where they are.

    With ``degree=2``, ``x' = x + g(0) n``, where g is the polynomial of degree 2 over the plane through x across n
    for which ``sum(theta_j (g(u_j) - (p_j - x) . n)^2)`` is least, and u_j is the place of p_j in that plane. A ball
    whose points do not determine g has the plane instead: it holds fewer than 6 points, in 2D 3, or they lie on a line
    or a conic.

    Of noise across a flat surface about ``sqrt(2 / N)`` remains, with N points in a ball, and ``sqrt(5 / N)`` with
    degree 2. Where the surface bends with a radius R, planes move it to the inside by about ``(dim - 1) radius^2 /
    (16 R)`` in each iteration, and polynomials of degree 2 to the outside by less than ``radius^4 / (64 R^3)``. Sums
    run in the order in which neighbors are met, so that last digits may differ from run to run.

    Cost: that of building an index, one visit for each iteration, two with degree 2, and an update of the index
    between two iterations.

    Source: Alexa, Behr, Cohen-Or, Fleishman, Levin and Silva, *Point set surfaces* (2001), for the weights, the
    operator and the polynomial; Alexa and Adamson, *On normals and projection operators for surfaces defined by point
    sets* (2004), for the plane through the mean, in place of a search for the plane.

    Examples
    --------
    >>> from clfrnn.geometry import smooth
    >>> smooth([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0], [3.0, 0.5], [4.0, 0.0]], 2.5).get().round(2)[2].tolist()
    [2.0, 0.22]
    """
    check_keywords(smooth, method, options)
    many = whole("iterations", iterations, "the number of times that points are moved")
    bends = _degree(degree) == 2
    session = choose_session(session, points)
    with session.lock:
        array, n, dim = take_cloud(session, points)
        index = build_index(array, radius, method=method, session=session, **options)
        unit, scale = unit_of(index.radius, index.dtype), falloff(4.0, index.radius, index.dtype)
        moved = index.empty((n, dim))
        if many == 0:
            moved[...] = array
        across = {"across": index.empty((n, dim))} if bends else {}
        for iteration in range(many):
            if iteration:
                index.update(moved)
                array, moved = moved, index.empty((n, dim))
            given: dict[str, Any] = {"points": array, "moved": moved, "unit": unit, "scale": scale, **across}
            index.visit(_projection(dim, bends=bends), **given)
            if bends:
                index.visit(fitted_height(dim), **given)
        return moved


def _degree(value: Any) -> int:
    """1 or 2, or an error."""
    number = whole_number(value)
    if number not in (1, 2):
        raise InvalidInputError(
            f"expected 1 or 2, got {shown(value)}; pass 1 for planes, 2 for polynomials that follow bends",
            argument="degree",
        )
    return number


_FINISH = """
real v[DIM * DIM], along = 0;
for (int p = 0; p < DIM; ++p) sums[p] /= total;
for (int p = 0; p < DIM; ++p)
    for (int q = 0; q < DIM; ++q) {
        products[p * DIM + q] = products[p * DIM + q] / total - sums[p] * sums[q];
        v[p * DIM + q] = p == q;
    }
clfrnn_jacobi(products, v);
int least = 0;
for (int p = 1; p < DIM; ++p) least = products[p * DIM + p] < products[least * DIM + least] ? p : least;
for (int p = 0; p < DIM; ++p) along += sums[p] * v[p * DIM + least];
along = found < DIM ? 0 : along / unit;
for (int p = 0; p < DIM; ++p) moved[i * (size_t)DIM + p] = points[i * (size_t)DIM + p] + along * v[p * DIM + least];
"""

_KEEP = "for (int p = 0; p < DIM; ++p) across[i * (size_t)DIM + p] = v[p * DIM + least];"


@functools.cache
def _projection(dim: int, *, bends: bool) -> NeighborFunction:
    """The function that projects points, and keeps normals where it `bends`; a point itself has the weight 1."""
    pieces = spread(dim, "weight")
    return NeighborFunction(
        arguments=f"{ARGUMENTS}{', global real *across' if bends else ''}",
        preamble=JACOBI % dim,
        state=f"int found = 0; real total = 1; {pieces.state}",
        per_neighbor=f"const real weight = exp(scale * d2); ++found; total += weight;{pieces.add}",
        finish=f"{pieces.mirror}\n{_FINISH}{_KEEP if bends else ''}",
    )
