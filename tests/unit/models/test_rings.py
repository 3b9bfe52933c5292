"""The rings and hollow spheres that the actors of Circles come to, and the steps by which they settle there."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from test_circles import NEIGHBORS, place, rows

from clfrnn.models import Circles

#: Where the force on a ring and on a hollow sphere vanishes, in radii: J1(4πR) = 0, and its like for a sphere.
REST = {2: 0.30492, 3: 0.32512}
#: How fast it turns back there, for each actor and unit of damping, in 1 / radius.
SLOPE = {2: 5.061, 3: 4.976}


def clusters(model):
    """The number of each actor's cluster, the size of it, and the actor's distance from its middle."""
    _, cluster = connected_components(model.index.query().to_host().to_scipy())
    size = np.bincount(cluster)
    points = model.points.get().astype(float)
    middles = np.stack([np.bincount(cluster, weights=axis) for axis in points.T], axis=1) / size[:, None]
    return cluster, size[cluster], rows(points - middles[cluster])


def test_near_actors_part_and_far_ones_meet(session, dtype):
    model = Circles(2, 1, dim=2, radius=2.0, damping=0.05, dtype=dtype, session=session)
    along = {}
    for distance in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25):
        place(model, [[0.1, 0.2], [0.1 + distance, 0.2]])
        left, right = model.forces() / model.damping
        assert np.array_equal(left, -right)
        assert left[1] == 0
        along[distance] = right[0]

    error = 20 * float(np.finfo(dtype).eps)
    expected = {0.25: 0.5**0.5, 0.5: 1, 0.75: 0.5**0.5, 1.0: 0, 1.25: -(0.5**0.5), 1.5: -1, 1.75: -(0.5**0.5)}
    assert along == pytest.approx({**expected, 2.0: 0, 2.25: 0}, abs=error)


@pytest.mark.parametrize("distance", [0.1, 0.45, 0.8, 0.95])
def test_two_actors_rest_at_half_the_radius(session, dim, distance):
    model = Circles(2, 0.5, dim=dim, session=session)
    place(model, model.side / 2 + np.array([[0.0] * dim, [distance] + [0.0] * (dim - 1)]))
    model.step(100)

    assert model.residual() < 1e-3
    assert rows(np.diff(model.points.get(), axis=0))[0] == pytest.approx(0.5, abs=1e-3)


def shape(dim, m, size):
    """m actors, evenly on a circle or sphere of that size."""
    if dim == 2:
        angle = 2 * np.pi * np.arange(m) / m
        return size * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    height = 1 - (2 * np.arange(m) + 1) / m  # a spiral of the golden angle
    angle = np.pi * (3 - 5**0.5) * np.arange(m)
    across = np.sqrt(1 - height**2)
    return size * np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)


def test_the_force_vanishes_on_a_ring_and_on_a_hollow_sphere(session, dim):
    """And turns back what leaves it, by the slope that the longest stable step follows from."""
    m = 200
    model = Circles(m, 20, dim=dim, radius=1.0, damping=0.01, session=session)

    def outwards(size):
        around = shape(dim, m, size)
        place(model, around + model.side / 2)
        return np.mean((model.forces() * around).sum(axis=1)) / size / (m * model.damping)

    assert outwards(REST[dim]) == pytest.approx(0, abs=2e-3)
    assert outwards(REST[dim] - 0.01) - outwards(REST[dim] + 0.01) == pytest.approx(0.02 * SLOPE[dim], rel=0.02)


@pytest.mark.long
def test_short_steps_settle_and_long_ones_swing(session, dim):
    m = 40
    for share, settles in ((0.35, True), (0.45, False)):
        model = Circles(m, 4, dim=dim, radius=1.0, damping=share / m, session=session)
        place(model, shape(dim, m, REST[dim] + 0.01) + model.side / 2)
        model.step(300)
        assert (model.residual() < 0.1) == settles, share


@pytest.mark.long
def test_actors_come_to_rest_in_rings_and_hollow_spheres(session, dim):
    """Offsets die down, distances between half and whole radius empty, and all actors of a cluster stand around it."""
    model = Circles(400, NEIGHBORS, dim=dim, repeatable=True, session=session)
    before = rows(model.forces())
    start = model.index.query(distances=True).to_host().distances
    model.step(400)
    after = rows(model.forces())
    end = model.index.query(distances=True).to_host().distances
    _, size, away = clusters(model)

    assert np.median(after) < np.median(before) / 50
    assert (start > 0.7).mean() > 0.4
    assert (end > 0.7).mean() < 0.01
    bins = np.histogram(end, bins=10, range=(0, 1))[0]
    assert bins.argmax() in (5, 6), "most stand nearly across from each other"
    large = size >= 6
    assert large.mean() > 0.8
    assert np.median(away[large]) == pytest.approx(REST[dim], abs=0.003)
    assert (np.abs(away[large] - REST[dim]) < 0.03).mean() > 0.95
    assert (away[large] > 0.2).mean() > 0.98, "hollow"


@pytest.mark.long
def test_settled_actors_are_crowded(session):
    """The model exists to make crowds and voids of an even start."""
    model = Circles(1000, NEIGHBORS, dim=3, session=session)
    before = model.index.count().get()
    model.step(200)
    after = model.index.count().get()

    assert after.mean() > 1.5 * before.mean()
    assert after.std() > 1.5 * before.std()
