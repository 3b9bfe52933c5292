"""The fuzz target of k nearest neighbors: drawn clouds, boxes and calls, each row compared with numpy's, bit by bit.

``CLFRNN_FUZZ_CASES`` is the number of cases on each device, ``CLFRNN_FUZZ_SEED`` the first seed. A case follows from
its seed alone. A failure names the seed; with ``CLFRNN_FUZZ_CASES=1`` and that seed it runs alone.
"""

import os
from typing import NamedTuple

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS, WAYS

import clfrnn
from clfrnn import clouds, reference

CASES = int(os.environ.get("CLFRNN_FUZZ_CASES", "12"))
SEED = int(os.environ.get("CLFRNN_FUZZ_SEED", "1"))

#: Most points and queries of a case.
MOST = min(120, POINTS // 2)

#: Images times points that the reference looks at for a query, at most.
MOST_IMAGES = 20_000

#: Programs are compiled for these numbers of neighbors, rounded up, so that few serve thousands of cases.
KS = [1, 2, 4, 7, 8, 13, 16, 33, 60, 150]


class Case(NamedTuple):
    """What one seed draws."""

    method: str
    options: dict
    points: np.ndarray
    k: int
    asked: dict
    on_device: bool
    through_index: bool


def drawn_cloud(rng, n, dim, dtype):
    """Points with ties, in crowds, on lines or lattices, far away, or at any scale."""
    kind = rng.integers(8)
    points = rng.random((n, dim))
    if kind == 1:
        points = np.round(points * 3) / 4
    elif kind == 2:
        points[: n // 2] = points[: n // 2] * 1e-3 + 0.5
    elif kind == 3 and n:
        points[rng.integers(n)] += 10.0 ** rng.integers(0, 7)
    elif kind == 4:
        points[:, rng.integers(dim)] = 0.25
    elif kind == 5:
        points = points[rng.integers(max(n // 4, 1), size=n)] if n else points
    elif kind == 6:
        points = points * 10.0 ** rng.uniform(-3, 3, (n, 1))
    elif kind == 7:
        points = clouds.edges(n, dim, dtype=dtype, seed=int(rng.integers(1 << 30)), radius=0.25, sides=(0.25,) * dim)
    return points


def drawn_case(seed, session):
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    dim = int(rng.choice([2, 3, 3, 1, 4, 7, 12], p=[0.3, 0.3, 0.15, 0.1, 0.05, 0.05, 0.05]))
    dtype = np.dtype(rng.choice(["float32", "float64"], p=[0.7, 0.3]) if session.profile.fp64 else "float32")
    ways = [way for way in WAYS.values() if dim in (2, 3) or way[0] in ("brute_force", "aabb_tree")]
    method, options = ways[rng.integers(len(ways))] if rng.random() < 0.7 else ("auto", {})
    n, k = int(rng.integers(0, MOST)), int(rng.choice(KS))
    points = drawn_cloud(rng, n, dim, dtype)
    asked = {}
    if dim <= 3 and rng.random() < 0.4:
        flags = rng.random(dim) < 0.7
        asked = {"box": tuple(float(dtype.type(side)) for side in rng.uniform(0.4, 2, dim)), "periodic": flags}
        points = points % 2 + rng.integers(-1, 2) if np.abs(points).max(initial=0) > 10 else points
    scale = 2.0 ** rng.integers(-20, 20) if not asked else 1.0
    points = (points * scale).astype(dtype)
    if rng.random() < 0.3:
        asked["queries"] = (rng.uniform(-0.5, 1.5, (int(rng.integers(0, MOST)), dim)) * scale).astype(dtype)
    asked["include_self"] = bool(rng.random() < 0.2)
    if rng.random() < 0.5 or (asked.get("box") and k > 4 * n):
        asked["radius"] = float(rng.choice([0, 0.1, 0.25, 0.5, 0.9], p=[0.05, 0.25, 0.3, 0.2, 0.2])) * scale
    periodic = bool(asked.get("box")) and bool(np.any(asked["periodic"]))
    if not periodic:
        asked.pop("box", None), asked.pop("periodic", None)
    return Case(method, options, points, k, asked, rng.random() < 0.3, rng.random() < 0.5)


def run(case, session):
    """What clfrnn finds."""
    asked = dict(case.asked)
    points = cla.to_device(session.queue, case.points) if case.on_device and len(case.points) else case.points
    if asked.get("radius") is None or not case.through_index:
        given = {"method": case.method, "session": session, "vectors": True, **case.options}
        return clfrnn.nearest(points, case.k, **asked, **given)
    domain = {name: asked.pop(name) for name in ("box", "periodic") if name in asked}
    index = clfrnn.build_index(points, asked["radius"], method=case.method, session=session, **domain, **case.options)
    return index.nearest(asked.pop("queries", None), k=case.k, vectors=True, **asked)


@pytest.mark.parametrize("number", range(CASES))
def test_fuzz_of_nearest(session, number):
    seed = SEED + number
    case = drawn_case(seed, session)

    expected = reference.nearest(case.points, case.k, **case.asked)
    found = run(case, session).to_host()

    for name in ("indices", "distances", "vectors", "shifts"):
        mine = getattr(found, name)
        if mine is not None:
            shown = case._replace(points=case.points.shape)
            assert np.array_equal(mine, getattr(expected, name)), f"seed {seed}, {name}: {shown}"
