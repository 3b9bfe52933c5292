"""The fuzz target of batches: drawn systems, each in a box or cell of its own, compared with numpy bit by bit.

``CLFRNN_FUZZ_CASES`` and ``CLFRNN_FUZZ_SEED`` are those of :mod:`test_fuzz_nearest`.
"""

import os

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import FULL, POINTS, assert_counts, assert_same, by_distance

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

CASES = int(os.environ.get("CLFRNN_FUZZ_CASES", "12"))
SEED = int(os.environ.get("CLFRNN_FUZZ_SEED", "1"))
MOST = min(120, POINTS // 2)


def drawn_batch(rng, n):
    """The system of each row: few or many systems, in any order, of any numbers."""
    kind = rng.integers(5)
    batch = rng.integers(0, rng.integers(1, 6), n)
    if kind == 1:
        batch = rng.integers(0, max(n, 1), n)
    elif kind == 2:
        batch = np.sort(batch)
    elif kind == 3:
        batch = batch * 10**12 - 5
    elif kind == 4 and n:
        batch[:] = 0
        batch[rng.integers(n)] = 3
    return batch.astype(rng.choice([np.int64, np.int32])) if kind != 3 else batch


def drawn_domain(rng, systems, dim, radius):
    """Arguments that give systems boxes or cells, one for all or one for each."""
    kind = rng.integers(8) if dim in (2, 3) else rng.integers(5)
    high = 6.0 if radius < 1 else 12.0
    lengths = rng.uniform((0.6 if dim < 3 else 1.2) * radius, high * radius, (systems, dim))
    flags = rng.random((systems, dim)) < 0.7
    if dim > 3:  # images on many axes are very many
        flags &= np.arange(dim) < 2
        kind = rng.choice([0, 3, 4])
    if kind == 0:
        return {}
    if kind == 1:
        return {"box": lengths[0], "periodic": flags[0].tolist()}
    if kind == 2:
        return {"box": lengths}
    if kind == 3:
        return {"box": lengths, "periodic": flags}
    if kind == 4:
        low = rng.uniform(-1, 1, (systems, dim))
        return {"box": np.stack([low, low + lengths], axis=1), "periodic": flags}
    skew = rng.uniform(-0.4, 0.4, (systems, dim, dim))
    cells = lengths[:, :, None] * np.eye(dim) + skew * lengths.min(axis=1)[:, None, None]
    if kind == 5:
        return {"cell": cells[0], "periodic": flags[0].tolist()}
    return {"cell": cells} if kind == 6 else {"cell": cells, "periodic": flags}


def drawn_points(rng, batch, dim, radius, dtype):
    """Points whose systems lie at the same place, apart, or far beyond their boxes."""
    points = rng.random((len(batch), dim)) * radius * rng.uniform(1, 8)
    kind = rng.integers(5)
    if kind == 1:
        _, ranks = np.unique(batch, return_inverse=True)
        points += ranks[:, None] * rng.uniform(-50, 50, dim) * radius
    elif kind == 2:
        points += rng.integers(-9, 10, points.shape) * radius
    elif kind == 3:
        points = np.round(points / radius * 2) * radius / 2
    elif kind == 4 and len(points):
        points = points[rng.integers(len(points), size=len(points))]
    return points.astype(dtype)


@pytest.mark.parametrize("seed", range(SEED, SEED + CASES))
def test_drawn_batch(session, seed):
    rng = np.random.default_rng(seed)
    method = str(rng.choice(sorted(METHODS)))
    dims = sorted(METHODS[method].dims)
    dim = int(rng.choice([each for each in dims if each <= 3])) if rng.random() < 0.85 else int(rng.choice(dims))
    dtype = np.dtype(np.float64 if session.profile.fp64 and rng.random() < 0.4 else np.float32)
    radius = float(dtype.type(10.0 ** rng.uniform(-2, 1)))
    n, m = int(rng.integers(0, MOST)), int(rng.integers(0, MOST))
    batch = drawn_batch(rng, n)
    domain = drawn_domain(rng, max(1, len(np.unique(batch))), dim, radius)
    points = drawn_points(rng, batch, dim, radius, dtype)
    asked = {"batch": batch, **domain}
    foreign = bool(rng.random() < 0.5)
    if foreign:
        others = rng.choice(np.concatenate([batch, [77]]), m)
        asked |= {"queries": drawn_points(rng, others, dim, radius, dtype), "query_batch": others}
    else:
        asked |= {"include_self": bool(rng.random() < 0.3)}
    how = {"method": method, "session": session}
    on_device = rng.random() < 0.5
    send = (lambda array: cla.to_device(session.queue, array)) if on_device and n else (lambda array: array)
    try:
        compare(rng, points, radius, send=send, foreign=foreign, asked=asked, domain=domain, how=how)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}; {method}, {dim}D {dtype}, {n} points, {domain.keys()}") from error


def compare(rng, points, radius, *, send, foreign, asked, domain, how):
    """One of five calls, compared with the reference."""
    kind = rng.integers(5)
    if kind == 0:
        k = int(rng.choice([1, 3, 8, 40]))
        reach = None if rng.random() < 0.5 else radius
        if reach is None and any(np.ndim(each) and not np.all(each) for each in [domain.get("periodic", True)]):
            k = min(k, 3)  # images on few axes: reaches grow with k
        if reach is None and domain:
            k = min(k, 8)
        expected = reference.nearest(points, k, radius=reach, **asked)
        found = clfrnn.nearest(send(points), k, radius=reach, vectors=True, **asked, **how).to_host()
        for name in ("indices", "distances", "vectors"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        return
    expected = reference.neighbors(points, radius, half=kind == 1 and not foreign, **asked)
    if kind == 1:
        found = clfrnn.search(send(points), radius, half=not foreign, **FULL, **asked, **how)
        assert_same(found, expected)
    elif kind == 2:
        found = clfrnn.search(send(points), radius, **{**FULL, "sort": "distance"}, **asked, **how)
        assert_same(found, expected, order=by_distance(expected))
    else:
        queries = {name: asked.pop(name) for name in ("queries", "query_batch", "include_self") if name in asked}
        rows = queries.pop("queries", None)
        rows = None if rows is None else send(rows) if len(rows) else rows
        index = clfrnn.build_index(points + points.dtype.type(radius), radius, **asked, **how)
        index.count(rows, **queries)
        index.update(send(points))
        assert_counts(index.count(rows, **queries), expected)
        assert_same(index.query(rows, **queries, **FULL), expected)
        index.check()
