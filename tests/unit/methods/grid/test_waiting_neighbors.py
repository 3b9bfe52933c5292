"""On CPUs the neighbors of several rows of cells wait and are offered together: none of them is lost."""

import numpy as np
import pyopencl.array as cla
import pytest

import clfrnn

SUMS = clfrnn.NeighborFunction(
    arguments="global int *counts, global int *sums",
    state="int many = 0, sum = 0;",
    per_neighbor="++many; if (j % 4 == 3) continue; sum += j + 1; if (j % 4 == 2) break; sum += i;",
    finish="counts[i] = many; sums[i] = sum;",
)

LINE = np.linspace(0, 0.99, 60)[:, None]

#: clouds whose last rows are empty, of cells with more points than are tested at a time, and along each axis
CLOUDS = {
    "corner": np.concatenate([np.random.default_rng(0).random((80, 2)) * 0.1, [[0.99, 0.99]]]),
    "one cell": np.concatenate([np.full((140, 2), 0.3), [[0.31, 0.35], [0.9, 0.9]]]),
    "along x": LINE * [1, 0],
    "along y": LINE * [0, 1],
}


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
def test_no_neighbor_that_waits_is_lost(session, method):
    for periodic in ({}, {"box": (1.0, 1.0), "periodic": True}):
        for name, cloud in CLOUDS.items():
            points = cloud.astype(np.float32)
            for given in ({}, {"where": clfrnn.Condition("d2 > 1e-4f")}):
                index = clfrnn.build_index(points, 0.12, method=method, session=session, **periodic)
                counts, sums = (cla.zeros(session.queue, len(points), np.int32) for _ in range(2))
                index.visit(SUMS, counts=counts, sums=sums, **given)
                search = {"method": "brute_force", "session": session, **periodic, **given}
                i, j = (np.asarray(each) for each in clfrnn.search(points, 0.12, **search).to_host().to_coo()[:2])
                terms = np.where(j % 4 == 3, 0, j + 1 + np.where(j % 4 == 2, 0, i))
                assert np.array_equal(counts.get(), np.bincount(i, minlength=len(points))), (name, periodic)
                assert np.array_equal(sums.get(), np.bincount(i, terms, len(points)).astype(int)), (name, periodic)
