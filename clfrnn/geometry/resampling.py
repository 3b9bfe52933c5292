"""Resampling: few particles that spread evenly over the surface in a noisy cloud of many points."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..api import build_index, nearest
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.numbers import shown, whole_number
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Rows
from ..points.on_device import as_points, to_device
from ..points.sessions import choose_session
from ..runtime.session import Session
from .arguments import finite, take_cloud, whole
from .covariance import falloff

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["wlop"]

#: Distances below this part of the radius count as such, as weights have them as divisors.
_LEAST_DISTANCE = 1e-3

#: The radius by default, in distances of evenly spread particles, by the dimension. Weights fall to 1/e within a
#: quarter of the radius, where by these about seven particles are, on curves and on surfaces. Of fewer, those that
#: stand off the surface push others across it by more than points pull back, and noise grows.
_REACH = {2: 14, 3: 6}

#: This number of nearest particles tells how far particles will be from each other.
_NEAREST = 12


def wlop(
    points: Rows,
    particles: int | Rows,
    radius: float | Literal["auto"] = "auto",
    *,
    iterations: int = 100,
    repulsion: float = 0.45,
    seed: int | None = None,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> DeviceArray[np.floating[Any]]:
    """Spread particles, new points, evenly over the surface in a cloud, by weighted locally optimal projection (WLOP).

    Parameters
    ----------
    points : (n, 2) or (n, 3) float32 or float64, finite; on the host or the device; noisy, and not evenly dense
    particles : the number of particles, which begin at points that are drawn; or their first positions, (m, dim)
    radius : scalar, of the ball of points that attract a particle, and of particles that repel it, in the points' unit;
        ``"auto"`` takes 6 times the distance that particles will have from each other, in 2D 14 times, by which noise
        falls where it is at most half of that distance
    iterations : how often all particles move
    repulsion : how far particles move away from each other, the mu of the paper; from 0 to less than 0.5
    seed : whole number for the draw; without effect on positions
    method, session, **options : as for :func:`clfrnn.build_index`

    Returns
    -------
    (m, dim) array on the device, of the points' dtype, in the order of particles; the call does not wait for it

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    With ``theta(r) = exp(-16 r^2 / radius^2)``, a particle x moves to ``sum_j a_j p_j / sum_j a_j + mu sum_k b_k (x -
    x_k) / sum_k b_k``, where ``a_j = theta(r) / (r v_j)`` for a point p_j at the distance r, ``b_k = w_k theta(r) / r``
    for another particle x_k, and v and w are the densities ``1 + sum theta`` of points among points and of particles
    among particles. In the first iteration a_j is ``theta(r) / v_j``, as particles would stay at the points where they
    begin. The w are those of the iteration before: the visit that uses them finds the next ones. A particle without
    points in its ball moves by the second sum alone, and particles at the same place do not repel each other.

    Sums run in the order in which neighbors are met, so that results of a seed differ in their last digits.

    Cost: that of two indices, two visits for each iteration, one of the points and one of the particles, and an update
    of the index of the particles; where particles are drawn, a copy of the points to the host.

    Source: Huang, Li, Zhang, Ascher and Cohen-Or, *Consolidation of unorganized point clouds for surface
    reconstruction* (2009); Lipman, Cohen-Or, Levin and Tal-Ezer, *Parameterization-free projection for geometry
    reconstruction* (2007), for the first step.

    Examples
    --------
    >>> import numpy as np
    >>> from clfrnn.geometry import wlop
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 2_000)
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> even = wlop(circle, 16, 1.8, seed=1).get()
    >>> steps = np.diff(np.sort(np.arctan2(*even.T)))
    >>> bool(np.allclose(steps, 2 * np.pi / 16, atol=0.06))
    True
    """
    check_keywords(wlop, method, options)
    many = whole("iterations", iterations, "the number of times that particles move")
    away = finite("repulsion", repulsion, "0.45")
    if not 0 <= away < 0.5:
        raise InvalidInputError(
            f"expected a number from 0 to less than 0.5, got {shown(repulsion)}; pass 0.45", argument="repulsion"
        )
    session = choose_session(session, points, particles)
    with session.lock:
        array, _, dim = take_cloud(session, points)
        begin = _first_positions(session, array, particles, seed)
        if isinstance(radius, str) and radius == "auto":
            radius = _radius(session, begin)
        index = build_index(array, radius, method=method, session=session, **options)
        _check_square(index.radius, index.dtype, radius)
        scale = falloff(16.0, index.radius, index.dtype)
        m = begin.shape[0]
        among = build_index(begin, radius, method=method, session=session, **options)
        of_points, density, next_density = index.empty(index.num_points), index.empty(m), index.empty(m)
        index.visit(_DENSITY, density=of_points, scale=scale)
        among.visit(_DENSITY, density=density, scale=scale)
        now, then = index.empty((m, dim)), index.empty((m, dim))
        now[...] = begin
        least = index.radius
        for iteration in range(many):
            if iteration:
                among.update(now)
            given: dict[str, Any] = {"moved": then, "least": least, "scale": scale}
            index.visit(_attraction(dim), now, density=of_points, particles=now, **given)
            given["least"] = least = _LEAST_DISTANCE * index.radius
            among.visit(_repulsion(dim), density=density, next_density=next_density, strength=away, **given)
            now, then, density, next_density = then, now, next_density, density
        return now


def _check_square(rounded: float, dtype: np.dtype[Any], given: Any) -> None:
    """Raise for a radius of 0, and for one whose square vanishes in `dtype`: weights divide by it."""
    if rounded * rounded < np.finfo(dtype).tiny:
        raise InvalidInputError(
            f"expected a number above {float(np.finfo(dtype).tiny) ** 0.5:.2g}, whose square {dtype} can hold, "
            f"got {shown(given)}; pass the radius of the ball that attracts a particle, or multiply the points and the "
            "radius by one number",
            argument="radius",
        )


def _radius(session: Session, particles: DeviceArray[Any]) -> float:
    """The radius by default: by the area, in 2D the length, on which particles drawn at random are so near."""
    m, dim = particles.shape
    if m < 2:
        raise InvalidInputError(
            f'expected a number, as no radius follows from {m} particles, got "auto"; pass the radius of the ball '
            "that attracts a particle",
            argument="radius",
        )
    k = min(_NEAREST, m - 1)
    reach = float(nearest(particles, k, session=session).distances.get()[:, -1].mean(dtype=np.float64))
    radius = _REACH[dim] * reach * (2 / k if dim == 2 else math.sqrt(math.pi / k))
    limits = np.finfo(particles.dtype)
    if not float(limits.tiny) < radius * radius < float(limits.max):
        raise InvalidInputError(
            f"expected a number, as no radius whose square {particles.dtype} can hold follows from particles that "
            f'begin {reach:.2g} away from the nearest {k} of the others, got "auto"; pass the radius of the ball that '
            "attracts a particle, or first positions that differ, or multiply the points by one number",
            argument="radius",
        )
    return radius


def _first_positions(session: Session, points: DeviceArray[Any], particles: Any, seed: int | None) -> DeviceArray[Any]:
    """Where particles begin, on the device: at some of the points, or where the caller says."""
    n, dim = points.shape
    if isinstance(particles, (list, tuple)) or bool(getattr(particles, "ndim", None)):
        begin = as_points(particles, dtype=points.dtype, name="particles", session=session)
        if begin.shape[1] != dim:
            raise InvalidInputError(
                f"expected {dim} coordinates, as points have, got {begin.shape[1]}; pass as many for each particle",
                argument="particles",
            )
        return begin
    many = whole_number(particles)
    if many is None or not 0 <= many <= n:
        raise InvalidInputError(
            f"expected a number from 0 to {n:,}, the number of points, or positions, got "
            f"{shown(particles)}; pass how many particles to draw from the points",
            argument="particles",
        )
    if seed is not None:
        seed = whole("seed", seed, "0, say, or None")
    chosen = np.random.default_rng(seed).choice(n, many, replace=False)
    return to_device(points.get()[chosen], name="particles", session=session)


#: How dense points are around each of them, by weights that fall with the distance.
_DENSITY = NeighborFunction(
    arguments="global real *density, const real scale",
    state="real sum = 1;",
    per_neighbor="sum += exp(scale * d2);",
    finish="density[i] = sum;",
)


@functools.cache
def _attraction(dim: int) -> NeighborFunction:
    """The function that moves particles to the weighted mean of points."""
    moves = " ".join(
        f"moved[i * (size_t){dim} + {k}] = particles[i * (size_t){dim} + {k}] + share * toward.s{k};"
        for k in range(dim)
    )
    return NeighborFunction(
        arguments="global const real *density, global const real *particles, global real *moved, const real least, "
        "const real scale",
        state="real total = 0; real_vec toward = 0;",
        per_neighbor="""
const real weight = exp(scale * d2) / (density[j] * fmax(sqrt(d2), least));
total += weight;
toward += weight * dx;
""",
        finish=f"const real share = total > 0 ? 1 / total : 0; {moves}",
    )


@functools.cache
def _repulsion(dim: int) -> NeighborFunction:
    """The function that moves particles away from each other, and finds how dense they are."""
    moves = " ".join(f"moved[i * (size_t){dim} + {k}] -= share * toward.s{k};" for k in range(dim))
    return NeighborFunction(
        arguments="global const real *density, global real *next_density, global real *moved, const real least, "
        "const real strength, const real scale",
        state="real sum = 1, total = 0; real_vec toward = 0;",
        per_neighbor="""
const real theta = exp(scale * d2), weight = d2 > 0 ? density[j] * theta / fmax(sqrt(d2), least) : 0;
sum += theta;
total += weight;
toward += weight * dx;
""",
        finish=f"const real share = total > 0 ? strength / total : 0; {moves} next_density[i] = sum;",
    )
