"""Particles of weighted locally optimal projection against numpy, and on the surface that points came from."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS
from scipy.spatial import KDTree

import clfrnn
from clfrnn.geometry import wlop

N = min(POINTS, 400)


def twin(points, particles, radius, iterations, mu):
    """The same by numpy, of all pairs in the ball."""

    def pairs(x, y, *, own):
        dx = x[:, None] - y[None]
        r = np.linalg.norm(dx, axis=2)
        theta = np.where(
            (r <= radius) & ~(own & np.eye(len(x), len(y), dtype=bool)), np.exp(-16 * (r / radius) ** 2), 0
        )
        return dx, r, theta

    v = 1 + pairs(points, points, own=True)[2].sum(axis=1)
    w = 1 + pairs(particles, particles, own=True)[2].sum(axis=1)
    x, least = particles, radius
    for _ in range(iterations):
        dx, r, theta = pairs(x, points, own=False)
        a = theta / v / np.maximum(r, least)
        toward = -(a[:, :, None] * dx).sum(axis=1) / np.maximum(a.sum(axis=1), 1e-300)[:, None]
        least = 1e-3 * radius
        dx, r, theta = pairs(x, x, own=True)
        b = w * theta / np.maximum(r, least)
        w = 1 + theta.sum(axis=1)
        x = x + toward + mu * (b[:, :, None] * dx).sum(axis=1) / np.maximum(b.sum(axis=1), 1e-300)[:, None]
    return x


def noisy_ball(n, dim, dtype, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, dim)) * np.linspace(1, 2, dim)  # denser at some places
    return (points / np.linalg.norm(points, axis=1, keepdims=True) * rng.normal(1, 0.03, (n, 1))).astype(dtype)


def test_wlop_is_what_numpy_computes(session, dim, dtype):
    points = noisy_ball(N, dim, dtype)
    begin = points[::8] + dtype.type(0.01)
    found = wlop(points, begin, 0.8, iterations=3, repulsion=0.3, session=session)
    assert found.dtype == dtype
    expected = twin(points.astype(float), begin.astype(float), 0.8, 3, 0.3)
    assert np.allclose(found.get(), expected, rtol=0, atol=200 * np.finfo(dtype).eps)


def test_particles_are_even_and_near_the_surface(session):
    points = noisy_ball(2400, 3, np.float32)
    apart = np.sqrt(4 * np.pi / 200)
    found = wlop(points, 200, 5 * apart, iterations=20, seed=3, session=session).get()
    assert (np.linalg.norm(found, axis=1) - 1).std() < 0.7 * 0.03

    def unevenness(cloud):
        nearest = KDTree(cloud).query(cloud, 2)[0][:, 1]
        return nearest.std() / nearest.mean()

    assert unevenness(found) < 0.5 * unevenness(points[:200])


@pytest.mark.parametrize("dim", [2, 3])
def test_noise_falls_by_the_default_radius(session, dim):
    """Noise of a quarter of the distance of particles; with two of these distances for the radius it grows."""
    many, m = (3000, 100) if dim == 2 else (3000, 300)
    apart = 2 * np.pi / m if dim == 2 else np.sqrt(4 * np.pi / m)
    rng = np.random.default_rng(7)
    points = rng.normal(size=(many, dim))
    points *= rng.normal(1, apart / 4, (many, 1)) / np.linalg.norm(points, axis=1, keepdims=True)

    def noise(**given):
        found = wlop(points, m, iterations=20, seed=4, session=session, **given).get()
        return (np.linalg.norm(found, axis=1) - 1).std()

    assert noise() < 0.5 * apart / 4 < apart / 4 < noise(radius=2 * apart)
    for few in (0, 1):
        with pytest.raises(
            clfrnn.InvalidInputError, match=f"radius: expected a number, as no radius follows from {few} "
        ):
            wlop(points, few, session=session)


def test_where_particles_begin(session):
    points = noisy_ball(N, 3, np.float32)
    drawn = [wlop(points, 9, 0.5, iterations=0, seed=seed, session=session).get() for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert (drawn[0][:, None] == points).all(axis=2).any(axis=1).all()
    far = np.float32([[9, 9, 9], [50, 50, 50]])
    assert np.array_equal(wlop(points, far, 0.5, session=session).get(), far)
    assert np.array_equal(wlop(points, far.tolist(), 0.5, session=session).get(), far)
    far[1] = np.inf
    with pytest.raises(clfrnn.InvalidInputError, match="particles: expected finite numbers, got NaN or inf in row 1"):
        wlop(points, cla.to_device(session.queue, far), 0.5, session=session)
    assert wlop(points, 0, 0.5, session=session).shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"particles": 5}, "particles: expected a number from 0 to 4, the number of points, or positions, got 5"),
        ({"particles": 2.5}, "particles: expected a number from 0 to 4"),
        ({"particles": np.zeros((2, 2))}, "particles: expected 3 coordinates, as points have, got 2"),
        ({"particles": True}, "particles: expected a number from 0 to 4"),
        ({"particles": [[1, 2, np.nan]]}, "particles: expected finite numbers"),
        ({"repulsion": 0.5}, "repulsion: expected a number from 0 to less than 0.5, got 0.5"),
        ({"iterations": -1}, "iterations: expected a whole number"),
        ({"seed": "x"}, "seed: expected a whole number"),
    ],
)
def test_bad_arguments(session, change, message):
    given = {"particles": 2, "radius": 1.0} | change
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        wlop(np.zeros((4, 3)), **given, session=session)


@pytest.mark.parametrize(("size", "apart"), [(0, "0"), (1e25, "inf")])
@pytest.mark.filterwarnings("ignore::clfrnn.PrecisionWarning")
def test_particles_from_which_no_radius_follows(session, size, apart):
    points = np.random.default_rng(0).random((50, 3), np.float32) * np.float32(size)
    message = (
        f'radius: expected a number, .* begin {apart} away from the nearest 12 of the others, got "auto"; pass the'
    )
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        wlop(points, 20, seed=0, session=session)
