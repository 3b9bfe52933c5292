"""Neighbors that walks count by distance before they take the k nearest, against the reference to the last bit."""

import math

import numpy as np
import pytest
from conftest import POCL, POINTS, as_gpu, assert_rows, nudged, structure_of, tuned

import clfrnn
from clfrnn import clouds, reference

N = min(240, POINTS)


def counting_gpu(session, **numbers):
    """A GPU, or PoCL as one, whose walks count neighbors first."""
    if session.profile.kind != "gpu" and session.profile.platform != POCL:
        pytest.skip("compiled for GPUs and one CPU, as each program takes long")
    return tuned(as_gpu(session), nearest={"counted_first": 1, "even": math.inf, **numbers})


def crowd():
    """Half of the points even, half of them in one place."""
    points = clouds.uniform(N, 3, seed=6)
    points[::2] *= np.float32(1e-4)
    return points


#: Some of the neighbors within a bound have no place to wait, and many are equally far.
CROWDS = {
    "crowds": crowd(),
    "lattice": np.round(crowd() * 4) / 4,
    "copies": crowd()[np.arange(N) % 12],
    "squares that vanish": crowd() * np.float32(1e-22),
    "all scales": crowd() * np.float32(10) ** np.linspace(-21, 18, N, dtype=np.float32)[:, None],
}


@pytest.mark.parametrize("kind", CROWDS)
def test_the_nearest_of_those_counted(session, kind):
    device, points = counting_gpu(session, slots_beside=0), CROWDS[kind]
    if not session.profile.subnormals and kind in ("squares that vanish", "all scales"):
        pytest.skip("the device flushes subnormal squares to zero")
    for k in (5, 8):
        assert_rows(clfrnn.nearest(points, k, method="strips", session=device), reference.nearest(points, k))
    assert any("frnn_waiting_squares" in source for source in device.programs._kernels), "neighbors were counted"
    extent = np.ptp(points)
    index = clfrnn.build_index(points, extent / 4, method="strips", session=device)
    for radius in (0, extent / 50, extent / 4):
        assert_rows(index.nearest(k=8, radius=radius), reference.nearest(points, 8, radius=radius))


def test_queries_and_images_of_those_counted(session):
    """Foreign queries, some of them far outside; and a box, whose windows are not narrowed."""
    device, points = counting_gpu(session, slots_beside=0), CROWDS["crowds"]
    queries = np.concatenate([points[:40], 3 * clouds.uniform(40, 3, seed=9) - 1])
    expected = reference.nearest(points, 8, queries=queries)
    assert_rows(clfrnn.nearest(points, 8, queries=queries, method="strips", session=device), expected)
    box = {"box": (1.0, 1.0, 1.0), "periodic": True}
    found = clfrnn.build_index(points, 0.2, method="strips", session=device, **box).nearest(k=8)
    assert_rows(found, reference.nearest(points, 8, radius=0.2, **box))


def test_neighbors_counted_that_meet_a_condition(session):
    device, points, least = counting_gpu(session), crowd(), np.arange(N) % 7 * 10
    where = clfrnn.Condition("j > least[i]", least=least)
    found = clfrnn.nearest(points, 8, method="uniform_grid", where=where, session=device)
    assert_rows(found, reference.nearest(points, 8, where=lambda i, j, *_: j > least[i]))


def left_out(grid, points, queries, bounds):
    """Whether points lie outside of windows that reach as far as the rounded root of a bound, as GPUs have windows."""
    low, inverse, reach = np.float32(grid.low[0]), np.float32(grid.inverses[0]), np.sqrt(bounds)
    cells, own, first, last = (
        np.floor((x - low) * inverse) for x in (points, queries, queries - reach, queries + reach)
    )
    whole = np.floor(reach * inverse + np.float32(0.15))
    return (cells < np.minimum(own - whole, first)) | (cells > np.maximum(own + whole, last))


def test_the_window_of_a_bound_holds_all_within_it(session):
    """Neighbors on faces of cells, just within a bound: windows that reach as far as its rounded root miss them."""
    device, rng, option = counting_gpu(session), np.random.default_rng(0), {"method": "uniform_grid", "bin_width": 0.37}
    # On lines along an axis, too far from each other for a point to be near two of them; two points are corners.
    lines = np.linspace(-0.4, 1.0, 5, dtype=np.float32)
    points = np.stack(np.meshgrid(np.zeros(1, np.float32), lines, lines), axis=-1).reshape(-1, 3)
    points = np.concatenate([points, np.full((1, 3), -0.5, np.float32), np.full((1, 3), 1.5, np.float32)])
    grid = structure_of(clfrnn.build_index(points, 0.26, session=device, **option)).cell_grid
    points[:-2, 0] = nudged(rng, nudged(rng, grid.low[0] + (1 + np.arange(25) % 16) * grid.sides[0], np.float32))
    index = clfrnn.build_index(points, 0.26, session=device, **option)
    assert structure_of(index).cell_grid == grid, "its sides depend on the radius alone"
    checked = 0
    for radius in rng.uniform(0.05, 0.26, 40).astype(np.float32):
        chosen = rng.integers(len(points) - 2, size=10_000)
        near = points[chosen]
        steps = (radius * radius).view(np.uint32) // 2**20 - rng.integers(1, 9, len(near)).astype(np.uint32)
        bounds = ((steps + 1) * 2**20 - 1).view(np.float32)
        away = nudged(rng, nudged(rng, near[:, 0] + rng.choice(np.float32([-1, 1]), len(near)) * np.sqrt(bounds)))
        squares = (near[:, 0] - away) ** 2
        hard = (squares <= bounds) & (squares.view(np.uint32) // 2**20 == steps)
        hard &= left_out(grid, near[:, 0], away, bounds)
        queries = np.column_stack([away, near[:, 1:]])[hard]
        expected = reference.nearest(points, 1, radius=radius, queries=queries)
        assert_rows(index.nearest(queries, k=1, radius=radius), expected)
        checked += int((expected.indices[:, 0] == chosen[hard]).sum())
    assert checked >= 100
