"""Geometry of point clouds against numpy."""

import numpy as np
import pytest
from conftest import POINTS, counts_of, rows_of
from scipy.spatial import KDTree

import clfrnn
from clfrnn import clouds, reference
from clfrnn.geometry import normals, radius_outliers, statistical_outliers
from clfrnn.primitives.readback import Readback

N = min(POINTS, 400)


def sphere(n, dim, dtype, *, offset=0.0, seed=0):
    """Points of a sphere of radius 1 with a little noise."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, dim))
    points *= (1 + 0.01 * rng.normal(size=n) / np.linalg.norm(points, axis=1))[:, None] / np.linalg.norm(
        points, axis=1, keepdims=True
    )
    return (points + offset).astype(dtype)


def twin(points, radius):
    """Eigenvalues and eigenvectors of each ball by numpy, in float64, and the numbers of points in balls."""
    found = reference.neighbors(points, radius)
    rows, many = rows_of(found), counts_of(found) + 1
    dx = points[found.indices].astype(float) - points[rows].astype(float)
    sums, squares = np.zeros((len(points), points.shape[1])), np.zeros((len(points), *points.shape[1:] * 2))
    np.add.at(sums, rows, dx)
    np.add.at(squares, rows, dx[:, :, None] * dx[:, None])
    means = sums / many[:, None]
    return *np.linalg.eigh(squares / many[:, None, None] - means[:, :, None] * means[:, None]), many


def angles(found, expected):
    """The angle between lines in radians."""
    found = found.astype(float)
    across = found - (found * expected).sum(axis=1, keepdims=True) * expected
    return np.arcsin(np.minimum(1, np.linalg.norm(across, axis=1)))


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_normals_of_a_sphere(session, dim, dtype, offset):
    points = sphere(N, dim, dtype, offset=offset)
    radius = {2: min(120 / N, 0.8), 3: 10 * N**-0.5}[dim]
    found = normals(points, radius, session=session)
    values, vectors, many = twin(points, radius)
    assert np.array_equal(found.counts.get(), many)
    known = many > dim
    assert known.any()
    rounding = 16 * np.finfo(dtype).eps * values[:, -1:]
    assert (np.abs(found.eigenvalues.get() - values) <= rounding)[known].all()
    well = known & (values[:, 1] > 2 * values[:, 0]) & (values[:, 0] > 1e-3 * values[:, -1])
    far = angles(found.normals.get()[well], vectors[well, :, 0])
    assert (far < 1e-3).mean() > 0.999
    assert np.allclose(found.curvature.get()[known], (values[:, 0] / values.sum(axis=1))[known], atol=1e-5)
    lengths = np.linalg.norm(found.normals.get()[known], axis=1)
    assert np.allclose(lengths, 1, atol=1e-5)
    for each in (found.normals, found.curvature, found.eigenvalues):
        assert np.isnan(each.get()[~known]).all()
        assert not np.isnan(each.get()[known]).any()


def test_normals_point_to_the_viewpoint(session, dim):
    points = sphere(N, dim, np.float32, offset=3.0)
    found = normals(points, 0.6, viewpoint=[3.0] * dim, session=session).normals.get()
    known = ~np.isnan(found[:, 0])
    assert known.any()
    assert (((3.0 - points) * found).sum(axis=1)[known] > 0).all()
    free = normals(points, 0.6, session=session).normals.get()[known]
    assert (free[np.arange(len(free)), np.abs(free).argmax(axis=1)] > 0).all()


def test_few_and_flat_points(session):
    assert normals(np.empty((0, 3), np.float32), 1.0, session=session).normals.shape == (0, 3)
    same = normals(np.ones((9, 3), np.float32), 1.0, session=session)
    assert np.allclose(np.linalg.norm(same.normals.get(), axis=1), 1)
    assert np.array_equal(same.eigenvalues.get(), np.zeros((9, 3)))
    flat = normals(clouds.uniform(N, 3, seed=2) * np.float32([1, 1, 0]), 0.4, session=session)
    assert np.array_equal(np.abs(flat.normals.get()), np.tile([0, 0, 1], (N, 1)))
    assert np.array_equal(flat.curvature.get(), np.zeros(N))


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_radius_outliers(session, dim):
    points = clouds.duplicates(N, dim, seed=1)
    counts = counts_of(reference.neighbors(points, 0.1))
    for least in (0, 1, 3, N, 2**40):
        stays = radius_outliers(points, 0.1, least, session=session)
        assert stays.dtype == np.dtype(bool)
        assert np.array_equal(stays.get(), counts >= least)


@pytest.mark.parametrize("n", [0, 1, 2, 5, N])
def test_statistical_outliers(session, dim, dtype, n):
    points = np.random.default_rng(3).standard_cauchy((n, dim)).astype(dtype)
    for k, ratio in ((1, 0.0), (6, 1.0)):
        stays = statistical_outliers(points, k, ratio, session=session)
        assert stays.dtype == np.dtype(bool)
        if n < 2:
            assert stays.get().tolist() == [True] * n
            continue
        found = KDTree(points.astype(float)).query(points.astype(float), min(k + 1, n))[0][:, 1:].mean(axis=1)
        limit = found.mean() + ratio * found.std(ddof=1)
        clear = np.abs(found - limit) > 1e-5 * limit
        assert np.array_equal(stays.get()[clear], (found <= limit)[clear])
        assert n < N or 0 < stays.get().sum() < n


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: normals(p, -1.0), "radius: expected a finite number of at least 0"),
        (lambda p: normals(p[:, :1], 1.0), "points: expected 2 or 3 coordinates a point, got 1"),
        (lambda p: normals(p, 1.0, viewpoint=[0.0]), "viewpoint: expected 3 finite numbers"),
        (lambda p: normals(p, 1.0, viewpoint="above"), "viewpoint: expected 3 finite numbers"),
        (lambda p: radius_outliers(p, 1.0, -1), "min_neighbors: expected a whole number of at least 0, got -1"),
        (lambda p: statistical_outliers(p, 0, 1.0), "k: expected a whole number of at least 1"),
        (lambda p: statistical_outliers(p, 3, "far"), "ratio: expected a finite number, got 'far'"),
        (lambda p: radius_outliers(p, 1.0, 1.5), "min_neighbors: expected a whole number of at least 0, got 1.5"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        call(np.zeros((4, 3), np.float32))
    assert str(caught.value).startswith(message)


def twin_of_rows(points, k, radius=np.inf):
    """Eigenvalues and eigenvectors of the k nearest points within a radius, the point among them, and their numbers."""
    far, near = KDTree(points.astype(float)).query(points.astype(float), k, distance_upper_bound=radius)
    far, near = far.reshape(len(points), -1), near.reshape(len(points), -1)
    values, vectors = np.zeros(points.shape), np.zeros((*points.shape, points.shape[1]))
    for i, row in enumerate(near):
        mine = points[row[np.isfinite(far[i])]].astype(float)
        values[i], vectors[i] = np.linalg.eigh(np.cov(mine.T, bias=True)) if len(mine) > 1 else (0, 0)
    return values, vectors, np.isfinite(far).sum(axis=1)


@pytest.mark.parametrize("radius", [None, 0.15])
def test_normals_of_the_k_nearest(session, dim, dtype, radius):
    points = sphere(N, dim, dtype, offset=3.0)
    k = 12
    found = normals(points, radius, k=k, session=session)
    values, vectors, many = twin_of_rows(points, k, np.inf if radius is None else radius)
    assert np.array_equal(found.counts.get(), many)
    known = many > dim
    assert 0 < known.sum() <= N
    assert np.allclose(found.eigenvalues.get()[known], values[known], atol=1e-5 * values.max())
    well = known & (values[:, 1] > 2 * values[:, 0]) & (values[:, 0] > 1e-3 * values[:, -1])
    assert (angles(found.normals.get()[well], vectors[well, :, 0]) < 1e-2).mean() > 0.99
    assert np.isnan(found.normals.get()[~known]).all()
    again = normals(points, radius, k=k, session=session)
    assert all(one.get().tobytes() == other.get().tobytes() for one, other in zip(found, again, strict=True))
    inward = normals(points, radius, k=k, viewpoint=[3.0] * dim, session=session).normals.get()[known]
    assert (((3.0 - points[known]) * inward).sum(axis=1) > 0).all()


def test_k_nearest_of_few_and_equal_points(session, dtype):
    """A k above the number of points takes all of them; points at one place have no direction but a normal."""
    few = sphere(5, 3, dtype)
    for k in (40, 10**9):
        assert normals(few, k=k, session=session).counts.get().tolist() == [5] * 5
    same = normals(np.ones((9, 3), dtype), k=4, session=session)
    assert np.allclose(np.linalg.norm(same.normals.get(), axis=1), 1)
    assert np.array_equal(same.eigenvalues.get(), np.zeros((9, 3)))
    for n in (0, 1):
        alone = normals(few[:n], k=4, session=session)
        assert alone.normals.shape == (n, 3)
        assert np.isnan(alone.normals.get()).all()
    for scale in (1e-12, 1e12):
        scaled = normals(few * dtype.type(scale), k=5, session=session).normals.get()
        assert np.allclose(scaled, normals(few, k=5, session=session).normals.get(), atol=1e-3)


def test_normals_of_points_on_the_device(session, calls_of, dtype):
    """The search alone looks at the points, and waits for them; rows of the nearest become normals without a wait."""
    points = clfrnn.to_device(sphere(N, 3, dtype), session=session)
    waits = calls_of(Readback, "start"), calls_of(clfrnn.Session, "read")
    clfrnn.nearest(points, 12, include_self=True, vectors=True, session=session)
    of_search = sum(map(len, waits))
    normals(points, k=12, session=session)
    assert sum(map(len, waits)) == 2 * of_search > 0
    points[7] = np.nan
    for given in ({"k": 12}, {"radius": 0.5}):
        with pytest.raises(clfrnn.InvalidInputError, match="points: expected finite numbers.* in row 7"):
            normals(points, **given, session=session)


def test_normals_of_neither_radius_nor_k(session):
    with pytest.raises(clfrnn.InvalidInputError, match="radius, k: expected a radius, or k, got neither"):
        normals(np.ones((9, 3), np.float32), session=session)
    for k in (0, 3, -1, 2.5, True, "8"):
        with pytest.raises(clfrnn.InvalidInputError, match="k: expected a whole number of at least 4"):
            normals(np.ones((9, 3), np.float32), k=k, session=session)
