"""One measurement of the paper's section 5.2 on surfaces: smoothing, WLOP or a distance field, by a way to search."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn
from clfrnn.geometry import distance_field, smooth, wlop

from ....benchmarks.common import Seconds, timed_once
from ...clock import unprofiled
from ...paper import Measurement, Numbers
from ...shapes import DIAGONAL, NOISE, Cloud, sampled
from ..steps import DisagreementError

__all__ = ["EXPERIMENTS", "measure"]

#: So many runs are timed at the most, and no more once they have taken so many seconds.
MOST, ENOUGH = 9, 1.0

#: Sums run in other orders in other methods: so many of the points are within that share of the radius of each other.
ALIKE, CLOSE = 0.999, 1e-3

#: A run in a session, from points in the memory that they are in to a result on the device.
Run = Callable[[clfrnn.Session, Any, Any], Any]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """The numbers of a measurement: seconds in kernels and on the wall clock, and neighbors in the mean."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _smoothing(
    session: clfrnn.Session, shape: str, n: int, support: int, iterations: int, way: str, degree: int = 1
) -> Numbers:
    """Points that move onto the surface through them; two iterations are compared with those of `strips`."""
    cloud, radius = _sampled(shape, n, NOISE), reach(support, n)

    def run(session: clfrnn.Session, points: Any, _: Any, *, many: int = iterations, method: str = way) -> Any:
        return smooth(points, radius, iterations=many, degree=degree, method=method, session=session)

    twice = functools.partial(run, session, cloud.points, None, many=2)
    _compare_positions(twice().get(), twice(method="strips").get(), radius)
    return _seconds(session, run, cloud) | {"neighbors": _neighbors(session, cloud.points, radius)}


def _wlop(
    session: clfrnn.Session, shape: str, n: int, particles: int, support: int, iterations: int, way: str
) -> Numbers:
    """Particles that spread over a cloud; two iterations are compared with those of `strips`."""
    cloud, radius = _sampled(shape, n, NOISE), reach(support, particles)
    begin = cloud.points[:particles]

    def run(session: clfrnn.Session, points: Any, _: Any, *, many: int = iterations, method: str = way) -> Any:
        return wlop(points, begin, radius, iterations=many, method=method, session=session)

    twice = functools.partial(run, session, cloud.points, None, many=2)
    _compare_positions(twice().get(), twice(method="strips").get(), radius)
    return _seconds(session, run, cloud) | {
        "neighbors": _neighbors(session, cloud.points, radius, begin),
        "others": _neighbors(session, begin, radius),
    }


def _field(session: clfrnn.Session, shape: str, n: int, share: float, widths: int, cells: int, way: str) -> Numbers:
    """Signed distances at the nodes of a grid, compared bit by bit with those of `aabb_tree`."""
    cloud = _sampled(shape, n, 0.0)
    bounds, width, radius = grid(cloud.points, cells, share, widths)

    def run(session: clfrnn.Session, points: Any, normals: Any, *, method: str = way) -> Any:
        given: dict[str, Any] = {"spacing": width, "radius": radius, "bounds": bounds, "method": method}
        return distance_field(points, normals, session=session, **given).values

    found = run(session, *cloud).get()
    if not np.array_equal(found, run(session, *cloud, method="aabb_tree").get(), equal_nan=True):
        raise DisagreementError("another field than that of aabb_tree")
    return _seconds(session, run, cloud) | {"defined": float(np.isfinite(found).mean()), "nodes": float(found.size)}


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {"smoothing": _smoothing, "wlop": _wlop, "field": _field}


def reach(support: int, n: int) -> float:
    """The paper's support of a search among n points."""
    return float(support * math.sqrt(DIAGONAL / n))


def grid(
    points: np.ndarray[Any, Any], cells: int, share: float, widths: int
) -> tuple[np.ndarray[Any, Any], float, float]:
    """A cube around the points, wider by the radius of the search on every side: its corners, a width, and the radius.

    The radius is a share of the diagonal and some widths of a cell, of which there are `cells` along each axis.
    """
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    width = float((high - low).max() + 2 * share * DIAGONAL) / (cells - 2 * widths)
    corner = (low + high - cells * width) / 2
    return np.stack([corner, corner + cells * width]), width, share * DIAGONAL + widths * width


def _seconds(session: clfrnn.Session, run: Run, cloud: Cloud) -> dict[str, float]:
    """Medians: in kernels, of points on the device, and on the wall clock, from the host's memory and back to it."""
    own = unprofiled(session)
    points, normals = (cla.to_device(session.queue, each) for each in cloud)
    inside = _median(session, lambda: run(session, points, normals), "kernels")
    return {"kernels": inside, "wall": _median(own, lambda: run(own, *cloud).get(), "wall")}


def _median(session: clfrnn.Session, step: Callable[[], object], name: str) -> float:
    """The median of one of the times of a step that is compiled; the first of several runs fills the pool alone."""
    runs: list[Seconds] = []
    while len(runs) <= MOST and sum(each.wall for each in runs) < ENOUGH:
        runs.append(timed_once(session, step))
    return statistics.median(getattr(each, name) for each in runs[1:] or runs)


def _neighbors(session: clfrnn.Session, points: Any, radius: float, queries: Any = None) -> float:
    """The mean number of neighbors at the beginning."""
    return float(clfrnn.build_index(points, radius, session=session).count(queries).get().mean())


def _compare_positions(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], radius: float) -> None:
    apart = np.linalg.norm(found - expected, axis=1)
    if not (apart < CLOSE * radius).mean() >= ALIKE:
        raise DisagreementError(f"other positions than expected: up to {apart.max():.3g}, at a radius of {radius:.3g}")


@functools.lru_cache(maxsize=2)
def _sampled(shape: str, n: int, noise: float) -> Cloud:
    return sampled(shape, n, noise=noise)
