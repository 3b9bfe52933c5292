"""The exactness contract, as one product: way of searching x device x dimension x dtype, against the reference.

Clouds are many here and what is asked of them is little; every kind of question is in test_laws.py.
"""

import functools

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import FULL, POINTS, WAYS, assert_counts, assert_same, structure_of, truth

import clfrnn
from clfrnn import clouds, reference
from clfrnn.verify import Case, edge_cloud

pytestmark = [pytest.mark.core, pytest.mark.optimized]


def radius_for(points, neighbors=12):
    """A radius that finds about as many neighbors in a uniform cloud of the unit cube."""
    n, dim = points.shape
    ball = np.pi if dim == 2 else 4 / 3 * np.pi
    return float((neighbors / (max(n, 2) * ball)) ** (1 / dim))


def search(points, radius, way, session, **asked):
    """The list with all columns: what asks alike shares the programs."""
    method, options = way
    return clfrnn.search(points, radius, method=method, session=session, **FULL, **asked, **options)


@functools.cache
def sampled(name, dim, dtype):
    """A cloud, a radius for it, and the reference, computed once for all ways."""
    many = POINTS // 3 if name == "multiscale" else POINTS  # of which nearly all are neighbors of each other
    points = clouds.CLOUDS[name](many, dim, dtype=dtype, seed=7)
    radius = radius_for(points)
    return points, radius, reference.neighbors(points, radius)


@pytest.mark.parametrize("cloud", sorted(clouds.CLOUDS))
def test_every_cloud(session, way, dim, dtype, cloud):
    points, radius, expected = sampled(cloud, dim, dtype)

    found = search(points, radius, way, session)

    assert_same(found, expected)


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 127, 129])
def test_few_points(session, way, dim, dtype, n):
    """Lists of indices alone, as most are."""
    points = clouds.uniform(n, dim, dtype=dtype, seed=n)
    method, options = way

    found = clfrnn.search(points, 0.4, method=method, session=session, sort="index", **options)

    assert_same(found, truth(points, 0.4))
    assert found.distances is found.vectors is found.shifts is None


@functools.cache
def degenerate_truth(name, dim, dtype):
    """Such a cloud, its radius, and the reference, computed once for all ways."""
    points, radius = degenerate(name, min(POINTS, 700), dim, dtype)
    return points, radius, reference.neighbors(points, radius)


def degenerate(name, n, dim, dtype):
    """Clouds on which careless code fails, with a radius for each."""
    uniform = clouds.uniform(n, dim, dtype=dtype, seed=3)
    if name == "coincident":
        return np.full((min(n, 300), dim), 0.3, dtype), 0.1
    if name == "coincident, radius zero":
        return clouds.duplicates(n, dim, dtype=dtype), 0.0
    if name == "collinear":
        return uniform * np.eye(1, dim, dim - 1, dtype=dtype), 0.02
    if name == "lattice":
        points = clouds.lattice(n, dim, dtype=dtype)
        return points, float(np.diff(np.unique(points[:, 0]))[0])
    if name == "decades":
        rng = np.random.default_rng(5)
        return (rng.standard_normal((n, dim)) * 10.0 ** rng.uniform(-6, 3, (n, 1))).astype(dtype), 0.01
    if name == "far":
        return uniform + dtype.type(1e6 if dtype == np.float32 else 1e14), 0.25
    if name == "negative":
        return uniform - dtype.type(0.5), radius_for(uniform)
    if name == "outlier":
        uniform[n // 2] = 1e6
        return uniform, radius_for(uniform)
    if name == "clusters far apart":
        uniform[::2] += dtype.type(1e6)
        return uniform, 0.3
    if name == "huge extent, tiny radius":
        return (uniform - dtype.type(0.5)) * dtype.type(1e30), 1e-6
    if name == "tiny":
        return uniform * dtype.type(1e-15), 1e-16
    if name == "everything in reach":
        return uniform[:250], 3.0
    if name == "squares that vanish":
        return uniform[:200] * dtype.type(1e-30 if dtype == np.float32 else 1e-200), 0.0
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name",
    [
        "coincident",
        "coincident, radius zero",
        "collinear",
        "lattice",
        "decades",
        "far",
        "negative",
        "outlier",
        "clusters far apart",
        "huge extent, tiny radius",
        "tiny",
        "everything in reach",
        "squares that vanish",
    ],
)
def test_degenerate_clouds(session, way, dim, dtype, name):
    points, radius, expected = degenerate_truth(name, dim, dtype)

    found = search(points, radius, way, session)

    assert_same(found, expected)


@pytest.mark.parametrize("far", [False, True], ids=["held", "wrapped"])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_on_cell_edges(session, way, dim, dtype, seed, far):
    radius = float(dtype.type(np.random.default_rng([seed, dim]).uniform(0.05, 1.5)))
    case = Case(method=way[0], options=way[1], dim=dim, dtype=dtype, seed=seed, points=max(POINTS, 1200))
    points = edge_cloud(session, case, radius=radius, seed=seed, far=far)
    expected = reference.neighbors(points, radius)
    grid = structure_of(clfrnn.build_index(points, radius, method=way[0], session=session, **way[1])).cell_grid

    # The cells of FENNS follow what a sample tells of these very points, on a GPU in small clouds as well.
    if grid is not None and not (way[0] == "fenns" and (far or session.profile.kind == "gpu")):
        assert grid.wrapped == far
        steps = (points[1 : len(points) // 2] - np.asarray(grid.low)) / np.asarray(grid.sides)
        assert np.abs(steps - np.round(steps)).max() < 1e-3, "the points lie on the edges of these very cells"
    assert expected.offsets[-1] > 0
    assert_same(search(points, radius, way, session), expected)


def test_foreign_queries_far_away_and_none(session, way, dim, dtype):
    points = clouds.uniform(200, dim, dtype=dtype, seed=1)
    far = np.full((3, dim), 1e20, dtype)

    assert search(points, 0.1, way, session, queries=far).num_pairs == 0
    assert len(search(points, 0.1, way, session, queries=far[:0])) == 0
    assert len(search(points[:0], 0.1, way, session, queries=far)) == 3


def test_updates(session, way, dim, dtype):
    """Points may go anywhere between two steps, out of the box and back."""
    rng = np.random.default_rng(10)
    points = clouds.uniform(min(POINTS, 600), dim, dtype=dtype, seed=10)
    radius = radius_for(points)
    index = clfrnn.build_index(points, radius, method=way[0], session=session, **way[1])
    held = index.query(**FULL)
    first = truth(points, radius)
    for step in range(5):
        points = (points + rng.normal(0, 0.2, points.shape)).astype(dtype)
        if step == 2:
            points = points * dtype.type(40)
        if step == 3:
            points = points / dtype.type(400)

        assert index.update(points) is None

        assert_same(index.query(**FULL), truth(points, radius))
    assert index.last_update == "rebuilt" or way[0] == "aabb_tree"
    assert_same(held, first)


def test_updates_far_beyond_the_cells(session, way, dim, dtype):
    """Device arrays are binned before their box is known: coordinates may then lie beyond every integer."""
    rng = np.random.default_rng(20)
    index = clfrnn.build_index(rng.random((400, dim)).astype(dtype), 0.1, method=way[0], session=session, **way[1])
    for cells in (2.0**29, 2.0**31, 2.0**40, -(2.0**31)):
        points = (0.1 * cells + rng.uniform(-0.4, 0.4, (400, dim))).astype(dtype)

        index.update(cla.to_device(session.queue, points))

        assert_counts(index.count(), truth(points, 0.1))


# --- dimensions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 4, 7, 12])
def test_brute_force_in_other_dimensions(session, dtype, dimension):
    """One for each length of vectors that the product above leaves out; every dimension is a program of its own."""
    if dtype == np.float64 and dimension in {4, 7}:
        pytest.skip("float64 is tested in the shortest vectors and the longest")
    points = clouds.uniform(200, dimension, dtype=dtype, seed=dimension)
    queries = clouds.uniform(65, dimension, dtype=dtype, seed=99)
    radius = 0.4 * dimension**0.5

    own = search(points, radius, WAYS["brute_force"], session)
    foreign = search(points, radius, WAYS["brute_force"], session, queries=queries)

    assert_same(own, reference.neighbors(points, radius))
    assert_same(foreign, reference.neighbors(points, radius, queries=queries))
