"""Smoothed points against numpy, and against the surfaces that they came from."""

import numpy as np
import pytest
from conftest import POINTS, rows_of

import clfrnn
from clfrnn import reference
from clfrnn.geometry import smooth

N = min(POINTS, 400)


def balls(points, radius):
    """Each point beside every point of its ball, itself too, by rows: vectors and weights, in float64."""
    found = reference.neighbors(points, radius)
    own = np.arange(len(points))
    rows, columns = np.concatenate([rows_of(found), own]), np.concatenate([found.indices, own])
    exact = points.astype(float)
    dx = exact[columns] - exact[rows]
    return rows, dx, np.exp(-4 * (dx**2).sum(axis=1) / radius**2)


def twin(points, radius):
    """One projection by numpy, in float64; the normals; and where these are no matter of rounding."""
    rows, dx, weights = balls(points, radius)
    exact = points.astype(float)
    total, sums, squares = np.zeros(len(points)), np.zeros_like(exact), np.zeros((*exact.shape, exact.shape[1]))
    np.add.at(total, rows, weights)
    np.add.at(sums, rows, weights[:, None] * dx)
    np.add.at(squares, rows, weights[:, None, None] * dx[:, :, None] * dx[:, None])
    mean = sums / total[:, None]
    spread = squares / total[:, None, None] - mean[:, :, None] * mean[:, None]
    values, vectors = np.linalg.eigh(spread)
    along = (mean * vectors[:, :, 0]).sum(axis=1) * (np.bincount(rows) > exact.shape[1])
    return exact + along[:, None] * vectors[:, :, 0], vectors[:, :, 0], values[:, 1] > 1.5 * values[:, 0]


def bent_twin(points, radius):
    """The same by polynomials of degree 2: positions, and where neither normal nor polynomial is one of rounding."""
    rows, dx, weights = balls(points, radius)
    _, normals, well = twin(points, radius)
    moved = points.astype(float)
    for i, normal in enumerate(normals):
        ball, root = dx[rows == i] / radius, np.sqrt(weights[rows == i])
        u = ball @ np.linalg.svd(normal[None])[2][1:].T
        products = [u[:, p] * u[:, q] for p in range(u.shape[1]) for q in range(p, u.shape[1])]
        monomials = np.stack([np.ones(len(u)), *u.T, *products], axis=1)
        found, _, rank, sizes = np.linalg.lstsq(root[:, None] * monomials, root * (ball @ normal), rcond=None)
        well[i] &= rank == monomials.shape[1] and bool(sizes[-1] > 0.03 * sizes[0])
        moved[i] += radius * found[0] * normal
    return moved, well


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_smooth_is_what_numpy_computes(session, dim, dtype, offset):
    rng = np.random.default_rng(dim)
    points = rng.normal(size=(N, dim))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True) * rng.normal(1, 0.03, (N, 1)) + offset).astype(
        dtype
    )
    radius = 0.3 if dim == 2 else 0.4
    expected, _, well = twin(points, radius)
    found = smooth(points, radius, session=session)
    assert found.dtype == dtype
    assert well.mean() > 0.5
    assert np.allclose(found.get()[well], expected[well], rtol=0, atol=1e3 * np.finfo(dtype).eps * (1 + offset / 50))


def test_polynomials_are_those_of_numpy(session, dim, dtype):
    rng = np.random.default_rng(dim)
    points = rng.normal(size=(N, dim))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True) * rng.normal(1, 0.03, (N, 1)) + 2).astype(dtype)
    radius = 0.2 if dim == 2 else 0.4
    expected, well = bent_twin(points, radius)
    found = smooth(points, radius, degree=2, session=session).get()
    assert found.dtype == dtype
    assert well.mean() > 0.5
    assert np.allclose(found[well], expected[well], rtol=0, atol=3e3 * np.finfo(dtype).eps)


def test_polynomials_follow_bends(session):
    """Points on a sphere stay on it, where planes move them inside; of noise there is less left than there was."""
    rng = np.random.default_rng(3)
    sphere = rng.normal(size=(4 * N, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    radius = 0.35
    off = {
        degree: np.abs(np.linalg.norm(smooth(sphere, radius, degree=degree, session=session).get(), axis=1) - 1)
        for degree in (1, 2)
    }
    assert off[2].max() < radius**4 / 64 < off[1].min()
    noisy = sphere * rng.normal(1, 0.03, (4 * N, 1))
    left = np.linalg.norm(smooth(noisy, radius, degree=2, session=session).get(), axis=1).std()
    assert left < 1.6 * 0.03 * np.sqrt(5 / (4 * N * radius**2 / 4))


def test_balls_that_determine_no_polynomial_have_planes(session):
    """Five points, and points of a plane that lie on two lines."""
    rng = np.random.default_rng(4)
    few = rng.uniform(size=(5, 3)).astype(np.float32)
    t = np.linspace(-1, 1, 9, dtype=np.float32)
    lines = np.stack([np.append(t, 0 * t), np.append(0 * t, t), np.zeros(18, np.float32)], axis=1)[:-1]
    for points in (few, lines):
        planes = smooth(points, 3.0, session=session).get()
        assert np.allclose(smooth(points, 3.0, degree=2, session=session).get(), planes, rtol=0, atol=1e-6)
    assert smooth(np.empty((0, 3)), 1.0, degree=2, session=session).shape == (0, 3)


def test_noise_of_a_plane_goes_by_the_expected_factor(session):
    """It is that of weighted means: sqrt(2 / N) with N points in a ball."""
    rng = np.random.default_rng(1)
    side, radius, noise = 1.0, 0.15, 0.01
    points = np.stack([*rng.uniform(0, side, (2, 4 * N)), rng.normal(0, noise, 4 * N)], axis=1).astype(np.float32)
    inside = ((points[:, :2] > radius) & (points[:, :2] < side - radius)).all(axis=1)
    many = 4 * N * np.pi * radius**2
    left = smooth(points, radius, session=session).get()[inside, 2].std()
    assert 0.6 < left / (noise * np.sqrt(2 / many)) < 1.5
    again = smooth(points, radius, iterations=3, session=session).get()[inside, 2].std()
    assert again < left


def test_a_noisy_sphere_gets_rounder(session):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(4 * N, 3))
    points *= rng.normal(1, 0.03, (4 * N, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    radius = 0.35
    distances = np.linalg.norm(smooth(points, radius, session=session).get(), axis=1)
    many = 4 * N * radius**2 / 4
    assert distances.std() < 1.6 * 0.03 * np.sqrt(2 / many)
    assert abs(1 - distances.mean() - radius**2 / 8) < 0.005  # what the docstring says of bent surfaces


def test_few_points_and_bad_arguments(session):
    alone = np.float32([[0, 0, 0], [1, 0, 0], [50, 0, 0]])
    assert np.array_equal(smooth(alone, 2.0, session=session).get(), alone)
    assert np.array_equal(smooth(alone, 2.0, iterations=0, session=session).get(), alone)
    assert np.array_equal(smooth(np.ones((9, 2)), 0, session=session).get(), np.ones((9, 2)))
    assert smooth(np.empty((0, 3)), 1.0, session=session).shape == (0, 3)
    with pytest.raises(clfrnn.InvalidInputError, match="iterations: expected a whole number of at least 0, got 1.5"):
        smooth(alone, 2.0, iterations=1.5, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match=r"degree: expected 1 or 2, got 3; pass 1 for planes"):
        smooth(alone, 2.0, degree=3, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected 2 or 3 coordinates a point, got 4"):
        smooth(np.ones((9, 4)), 1.0, session=session)
