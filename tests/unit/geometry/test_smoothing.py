"""Smoothed points against numpy, and against the surfaces that they came from."""

import numpy as np
import pytest
from conftest import POINTS, rows_of

import clfrnn
from clfrnn import reference
from clfrnn.geometry import smooth

N = min(POINTS, 400)


def twin(points, radius):
    """One projection by numpy, in float64."""
    found = reference.neighbors(points, radius)
    rows, columns = rows_of(found), found.indices
    own = np.arange(len(points))
    rows, columns = np.concatenate([rows, own]), np.concatenate([columns, own])
    exact = points.astype(float)
    dx = exact[columns] - exact[rows]
    weights = np.exp(-4 * (dx**2).sum(axis=1) / radius**2)
    total, sums, squares = np.zeros(len(points)), np.zeros_like(exact), np.zeros((*exact.shape, exact.shape[1]))
    np.add.at(total, rows, weights)
    np.add.at(sums, rows, weights[:, None] * dx)
    np.add.at(squares, rows, weights[:, None, None] * dx[:, :, None] * dx[:, None])
    mean = sums / total[:, None]
    spread = squares / total[:, None, None] - mean[:, :, None] * mean[:, None]
    values, vectors = np.linalg.eigh(spread)
    along = (mean * vectors[:, :, 0]).sum(axis=1) * (np.bincount(rows) > exact.shape[1])
    well = values[:, 1] > 1.5 * values[:, 0]  # the direction is not a matter of rounding
    return exact + along[:, None] * vectors[:, :, 0], well


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_smooth_is_what_numpy_computes(session, dim, dtype, offset):
    rng = np.random.default_rng(dim)
    points = rng.normal(size=(N, dim))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True) * rng.normal(1, 0.03, (N, 1)) + offset).astype(
        dtype
    )
    radius = 0.3 if dim == 2 else 0.4
    expected, well = twin(points, radius)
    found = smooth(points, radius, session=session)
    assert found.dtype == dtype
    assert well.mean() > 0.5
    assert np.allclose(found.get()[well], expected[well], rtol=0, atol=1e3 * np.finfo(dtype).eps * (1 + offset / 50))


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
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected 2 or 3 coordinates a point, got 4"):
        smooth(np.ones((9, 4)), 1.0, session=session)
