"""The paper's algorithms as printed find what the library finds, and their lanes are counted as a warp has them."""

import importlib

import numpy as np
import pytest

import clfrnn

pytest.importorskip("asv_benches.papers.coherent_aabb", reason="benchmarks come with a checkout")
trees, searches, scenes = (
    importlib.import_module(f"asv_benches.papers.coherent_aabb.{name}")
    for name in ("printed.tree", "printed.searches", "scenes")
)

pytestmark = pytest.mark.long


def test_boxes_are_those_of_the_points_below_them_wherever_nodes_lie(session):
    points = scenes.cube(500)
    leaves = trees.PaperTree(session, points).leaves
    order, starts = trees.median_order(points, leaves.bit_length() - 1)
    assert set(np.diff(starts)) <= {500 // leaves, 500 // leaves + 1}
    assert np.array_equal(np.sort(order), np.arange(500))
    for scattered in (False, True):
        low, high = trees.PaperTree(session, points, scattered=scattered).boxes()
        for node in range(1, 2 * leaves):
            below = leaves >> (node.bit_length() - 1)
            first = (node * below) - leaves
            own = points[order[starts[first] : starts[first + below]]]
            assert np.array_equal([low[node], high[node]], [own.min(axis=0), own.max(axis=0)])


def test_both_algorithms_find_the_same_rows(session):
    points, radius = scenes.cube(500), 0.06 * scenes.diagonal()
    expected = clfrnn.search(points, radius, method="brute_force", session=session).to_host()
    counts = np.diff(expected.offsets)
    tree = trees.PaperTree(session, points)
    for balanced in (False, True):
        counted = searches.Primary(tree, radius, listed=False, balanced=balanced)
        counted.search()
        assert np.array_equal(counted.keys.get(), counts)
    for search in (searches.Primary(tree, radius), searches.Coherent(tree, radius)):
        for stage in search.stages().values():
            stage()
        offsets, indices = search.rows.offsets.get(), search.rows.indices.get()
        assert np.array_equal(offsets, expected.offsets)
        rows = np.repeat(np.arange(len(points)), counts)
        assert np.array_equal(indices[np.lexsort((indices, rows))], expected.indices)


def test_lanes_that_do_the_same_are_all_active(session):
    """32 queries at each place: the lanes of a warp differ in nothing but in that none finds itself."""
    places = scenes.cube(64)
    alike = searches.lanes(trees.PaperTree(session, np.repeat(places, 32, axis=0)), 0.1)
    apart = searches.lanes(trees.PaperTree(session, scenes.cube(2048)), 0.1)
    assert alike["primary"] > 0.96
    assert alike["pack"] == 1.0
    assert all(0 < share < 1 for share in apart.values())
    assert apart["primary"] < apart["sorted"] < alike["primary"]
    assert min(apart["pack"], apart["traverse"], apart["extract"]) < apart["coherent"]
