"""Geometry of clouds of any scale: a cloud that is multiplied by a power of two has the same geometry."""

import warnings

import numpy as np
import pytest
from conftest import POINTS

import clfrnn
from clfrnn.geometry import (
    Field,
    distance_field,
    isosurface,
    normals,
    orient,
    radius_outliers,
    smooth,
    statistical_outliers,
    wlop,
)

N = min(POINTS, 300)

#: exponents of two by which clouds of about the extent 1 are multiplied, near the ends of what squares can be
EXPONENTS = {"float32": (-55, 61), "float64": (-500, 508)}


def sphere(dim, dtype, n=N):
    points = np.random.default_rng(dim).normal(size=(n, dim))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(dtype)


def stay(points, k, ratio):
    """The definition, in numbers that hold these squares."""
    wide = points.astype(np.longdouble)
    distances = np.sort(np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2)), axis=1)[:, 1 : k + 1]
    means = distances.mean(axis=1)
    return means <= means.mean() + ratio * means.std(ddof=1)


@pytest.mark.parametrize("strays", [1, 2, "at one place"])
def test_strays_do_not_stay_however_far_they_are(session, dtype, strays):
    largest = float(np.finfo(dtype).max)
    for far in (1e18, 1e20, 1e30, largest) if dtype == np.float32 else (1e150, 1e160, largest / 2):
        points = np.random.default_rng(0).random((N, 3)).astype(dtype)
        points[:2] = 0
        points[0, 0] = far
        if strays == "at one place":
            points[1] = points[0]
        elif strays == 2:
            points[1, 1] = -far
        found = statistical_outliers(points, 8, 2.0, session=session).get()
        assert np.array_equal(found, stay(points, 8, 2.0)), far
        assert found[2:].all()
        assert np.array_equal(radius_outliers(points, 0.5, 3, session=session).get(), np.arange(N) >= 2 - (strays == 1))


@pytest.mark.parametrize("exponent", [-100, -60, 60, 126])
def test_outliers_are_the_same_at_every_scale(session, dtype, exponent):
    points = np.random.default_rng(1).standard_cauchy((N, 2)).clip(-100, 100).astype(dtype) / dtype.type(256)
    expected = statistical_outliers(points, 5, 0.5, session=session).get()
    scaled = np.ldexp(points, exponent if dtype == np.float32 else 8 * exponent)
    assert 0 < expected.sum() < N
    assert np.array_equal(statistical_outliers(scaled, 5, 0.5, session=session).get(), expected)


@pytest.mark.parametrize("pairs", [3, 7, 50, 500])
def test_equal_mean_distances_stay(session, dtype, pairs):
    for gap in (0.1, 0.3, 1 / 3, 0.7):
        points = np.zeros((2 * pairs, 2), dtype)
        points[:, 0] = np.repeat(50 * np.arange(pairs), 2)
        points[1::2, 1] = gap
        for ratio in (0.0, 0.5, 2.0):
            assert statistical_outliers(points, 1, ratio, session=session).get().all()


def test_normals_at_every_scale(session, dim, dtype):
    points = sphere(dim, dtype)
    expected = normals(points, 0.9, session=session)
    for exponent in EXPONENTS[dtype.name]:
        found = normals(np.ldexp(points, exponent), np.ldexp(0.9, exponent), session=session)
        assert np.array_equal(found.counts.get(), expected.counts.get())
        for name in ("normals", "curvature"):
            one, other = getattr(found, name).get(), getattr(expected, name).get()
            assert np.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True), (name, exponent)


def test_points_without_a_direction(session, dim, dtype):
    """All at one place, or nearer to each other than squares can tell."""
    same = normals(np.ones((9, dim), dtype), 1.0, session=session)
    assert np.array_equal(same.curvature.get(), np.zeros(9))
    assert np.array_equal(same.normals.get(), np.tile([1.0, *[0.0] * (dim - 1)], (9, 1)))
    near = np.random.default_rng(0).random((9, dim)).astype(dtype) * dtype.type(
        1e-30 if dtype == np.float32 else 1e-170
    )
    found = normals(near.astype(dtype), 1.0, session=session)
    assert np.isnan(found.normals.get()).all()
    assert np.isnan(found.curvature.get()).all()
    assert np.array_equal(found.eigenvalues.get(), np.zeros((9, dim)))


def test_a_viewpoint_at_the_end_of_numbers(session, dtype):
    points = np.random.default_rng(0).random((N, 3)).astype(dtype) * dtype.type(1e-3)
    far = float(np.finfo(dtype).max)
    found = normals(points * [1, 1, 0], 0.5e-3, viewpoint=[-far, far, far], session=session).normals.get()
    assert (found[:, 2] > 0).all()


@pytest.mark.parametrize("exponent", [0, 1])
def test_smoothing_and_resampling_at_every_scale(session, dtype, exponent):
    exponent = EXPONENTS[dtype.name][exponent]
    points = sphere(2, dtype) * np.random.default_rng(0).normal(1, 0.05, (N, 1)).astype(dtype)
    scaled, radius = np.ldexp(points, exponent), float(np.ldexp(0.5, exponent))
    moved = np.ldexp(smooth(scaled, radius, session=session).get(), -exponent)
    assert np.allclose(moved, smooth(points, 0.5, session=session).get(), atol=1e-3)
    even = np.ldexp(wlop(scaled, points.shape[0] // 4, radius, iterations=3, seed=0, session=session).get(), -exponent)
    assert np.allclose(
        even, wlop(points, points.shape[0] // 4, 0.5, iterations=3, seed=0, session=session).get(), atol=1e-2
    )


def test_fields_have_the_sign_of_normals_of_any_length(session, dtype):
    points = sphere(3, dtype)
    asked = {"spacing": 0.25, "radius": 0.5, "session": session}
    expected = distance_field(points, points, **asked).values.get()
    largest = float(np.finfo(dtype).max)
    for length in (1e-30, largest / 2) if dtype == np.float32 else (1e-300, largest / 2):
        found = distance_field(points, points * dtype.type(length), **asked).values.get()
        assert np.array_equal(found, expected, equal_nan=True)
        turned = orient(points, points * dtype.type(length), 0.9, session=session).get()
        assert ((turned / dtype.type(length) * points).sum(axis=1) > 0).all()


def test_surfaces_of_fields_at_every_scale():
    pytest.importorskip("skimage.measure", reason="the extra `geometry` is not installed")
    axis = np.linspace(-1.5, 1.5, 12)
    heights = np.sqrt(sum(each**2 for each in np.meshgrid(axis, axis, axis))) - 1
    expected = isosurface(Field(heights, np.zeros(3), 1.0), 0.1)
    for scale in (1e-200, 1e-40, 1e40, 1e200):
        found = isosurface(Field(heights * scale, np.zeros(3), 1.0), 0.1 * scale)
        assert np.allclose(found.vertices, expected.vertices, atol=1e-5)
    with pytest.warns(
        UserWarning, match=r"level: the field has values from .*, and the surface at 7 is empty; pass"
    ) as seen:
        assert not len(isosurface(Field(heights, np.zeros(3), 1.0), 7.0).faces)
    assert seen[0].filename == __file__


def test_a_grid_that_the_dtype_does_not_hold(session):
    points = sphere(3, np.float32)
    asked = {"spacing": 1e38, "radius": 1e18, "session": session}
    with pytest.raises(clfrnn.InvalidInputError, match=r"bounds: expected a grid whose nodes float32 holds"):
        distance_field(points, points, bounds=[[0, 0, 0], [0, 0, 5e38]], **asked)


def test_nearest_says_where_squares_overflow(session, dtype):
    far = 1e20 if dtype == np.float32 else 1e160
    points = np.random.default_rng(0).random((N, 3)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clfrnn.nearest(points, N + 3, session=session)
    points[0] = far
    with pytest.warns(clfrnn.PrecisionWarning, match=r"points: coordinates are up to .* apart, and squares") as seen:
        found = clfrnn.nearest(points, 2, session=session)
    assert seen[0].filename == __file__
    assert np.array_equal(found.indices.get(), clfrnn.reference.nearest(points, 2).indices)
    with pytest.warns(clfrnn.PrecisionWarning, match="are no neighbors, and some rows are not full"):
        clfrnn.nearest(points[1:], 2, queries=points[:1], session=session)
