"""The fuzz target of conditions: drawn clouds, conditions and calls, each result compared with numpy's to the last bit.

``CLFRNN_FUZZ_CASES`` is the number of cases on each device, ``CLFRNN_FUZZ_SEED`` the seed. A case follows from the seed
and its number alone: ``CLFRNN_FUZZ_CASE=17`` runs number 17. ``CLFRNN_FUZZ_METHODS=strips,fenns`` draws among these.
"""

import os

import numpy as np
import pyopencl.array as cla
import pytest
from condition_cases import CASES, spread
from conftest import (
    FULL,
    POINTS,
    WAYS,
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_same,
    by_distance,
    counts_of,
    joined,
    rows_of,
    same_rows,
    takes_long_as_gpu,
)

import clfrnn
from clfrnn import clouds, reference
from clfrnn.methods import METHODS

NUMBER = int(os.environ.get("CLFRNN_FUZZ_CASES", "12"))
SEED = int(os.environ.get("CLFRNN_FUZZ_SEED", "1"))
ONE_CASE = os.environ.get("CLFRNN_FUZZ_CASE", "")
CHOSEN = os.environ.get("CLFRNN_FUZZ_METHODS", "").split(",")

CALLS = ("rows", "full", "by distance", "hint", "blocks", "loop", "count", "nearest", "visit", "half", "budget")


def draw(number, session):
    """A case: what is searched, and how."""
    rng = np.random.default_rng([SEED, number])
    ways = [way for name, way in sorted(WAYS.items()) if CHOSEN == [""] or way[0] in CHOSEN]
    method, options = ways[rng.integers(len(ways))]
    dim = int(rng.choice([dim for dim in (1, 2, 2, 3, 3, 5) if dim in METHODS[method].dims]))
    dtype = np.dtype(np.float64 if session.profile.fp64 and rng.random() < 0.3 else np.float32)
    n = min(POINTS, int(rng.choice([1, 7, 65, 130, 200])))
    cloud = sorted(clouds.CLOUDS)[rng.integers(len(clouds.CLOUDS))]
    points = clouds.CLOUDS[cloud](n, dim, dtype=dtype, seed=int(rng.integers(1 << 30)))
    n = len(points)
    periodic = rng.random(dim) < 0.7 if dim <= 3 and rng.random() < 0.5 else np.zeros(dim, bool)
    low, high = points.min(0).astype(float), points.max(0).astype(float)
    lengths = np.maximum(high - low, 1e-3) * rng.uniform(1, 1.3)
    neighbors = rng.uniform(0.5, 25)
    radius = float(np.prod(lengths) ** (1 / dim) * (neighbors / max(n, 2)) ** (1 / dim) * 0.6)
    radius = min(radius, float(lengths[periodic].min(initial=np.inf)) * 1.2)
    queries = None
    call = CALLS[rng.integers(len(CALLS))]
    if call != "half" and rng.random() < 0.35:
        m = min(POINTS, int(rng.integers(0, 150)))
        queries = (low + rng.random((m, dim)) * (high - low)).astype(dtype)
    m = n if queries is None else len(queries)
    name = sorted(CASES)[rng.integers(len(CASES))]
    condition, met = CASES[name](rng, n, m, dim, dtype, radius)
    asked = {"include_self": bool(rng.random() < 0.3)}
    if call == "half":
        kind = rng.integers(0, 3, n)
        condition = clfrnn.Condition("kind[i] != kind[j]", kind=kind)
        met = lambda i, j, d2, dx, shift: kind[i] != kind[j]  # noqa: E731
    elif rng.random() < 0.25:
        asked["radius"] = (radius * rng.random(m)).astype(dtype)
    domain = {"box": np.maximum(lengths, 1e-3), "periodic": periodic} if periodic.any() else {}
    gpu = rng.random() < 0.3 and not takes_long_as_gpu(session, method)
    text = f"case {number} of seed {SEED}: {call} {name} {method} {options} {dim}D {dtype} {cloud} {n=} {m=} {gpu=}"
    return text, (points, radius, method, options, domain), queries, (condition, met), asked, call, gpu


def settle(index, call, given, expected):
    """Make a call and compare its result."""
    if call == "rows":
        same_rows(index.query(**given), expected)
    elif call == "full":
        assert_same(index.query(**given, **FULL), expected)
    elif call == "by distance":
        assert_same(index.query(**given, sort="distance", distances=True), expected, order=by_distance(expected))
    elif call == "hint":
        found = index.query(**given, hint=len(expected.indices) // 2)
        same_rows(found, expected)
        same_rows(index.query(**given, hint=2 * len(expected.indices)), expected)
    elif call == "blocks":
        widest = int(counts_of(expected).max(initial=0))
        parts = list(index.query_blocks(**given, max_bytes=64 + 40 * widest, distances=True))
        if parts:
            same_rows(joined(parts), expected)
    elif call == "loop":
        for _ in range(3):
            same_rows(index.query(**given), expected)
            index.query(**{**given, "where": None}, hint=1)
    elif call == "count":
        assert_counts(index.count(**given), expected)
    elif call == "nearest":
        assert_nearest(index.nearest(**given), expected)
    elif call == "half":
        assert_same(index.query(**given, half=True, **FULL), expected)
    elif call == "budget":
        needed = 4 * len(expected.offsets) + 4 * len(expected.indices)
        same_rows(index.query(**given, max_bytes=needed), expected)
        if len(expected.indices):
            with pytest.raises(clfrnn.DeviceMemoryError):
                index.query(**given, max_bytes=needed - 1)
    else:
        visit(index, given, expected)


def visit(index, given, expected):
    m, queue = len(expected.offsets) - 1, index.session.queue
    many, total = cla.zeros(queue, max(1, m), np.int32), cla.zeros(queue, max(1, m), np.int64)
    index.visit(spread(), **given, many=many, total=total, kind=1)
    sums = np.zeros(m, np.int64)
    np.add.at(sums, rows_of(expected), expected.indices.astype(np.int64) + 1)
    assert np.array_equal(many.get()[:m], counts_of(expected))
    assert np.array_equal(total.get()[:m], sums)


@pytest.mark.core
@pytest.mark.optimized
def test_drawn_conditions(session):
    for number in [int(ONE_CASE)] if ONE_CASE else range(NUMBER):
        text, (points, radius, method, options, domain), queries, (condition, met), asked, call, gpu = draw(
            number, session
        )
        half = {"half": True} if call == "half" else {}
        truth = {"radius": radius, **asked, **half}
        if "radius" in asked and not len(asked["radius"]):
            del asked["radius"]
            truth["radius"] = radius
        expected = reference.neighbors(points, truth.pop("radius"), queries=queries, where=met, **truth, **domain)
        one = as_gpu(session) if gpu else session
        try:
            index = clfrnn.build_index(points, radius, method=method, session=one, **domain, **options)
            settle(index, call, {"queries": queries, "where": condition, **asked}, expected)
        except Exception as error:
            raise AssertionError(text) from error
