"""The Boids model: its rules against numpy, the order that grows, and what moves with the flock."""

import numpy as np
import pytest
from conftest import POINTS
from model_steps import step_without_memory, waits_of_host

import clfrnn
from clfrnn.models import Boids

N = min(120, POINTS)

METHODS = ["strips", "uniform_grid", "fenns", "aabb_tree", "brute_force"]


def real_of(session):
    """float64 where the device has it."""
    return np.dtype(np.float64 if session.profile.fp64 else np.float32)


def rows(vectors):
    return np.linalg.norm(vectors, axis=-1)


def numpy_step(model, positions, velocities):
    """A step over all pairs, in float64. The box is wider than two radii: the nearest image is the only one."""
    towards = positions[None] - positions[:, None]
    towards -= model.side * np.rint(towards / model.side)
    distance = rows(towards)
    near = (distance <= model.radius) & ~np.eye(len(positions), dtype=bool)
    apart = np.where(distance > 0, distance, 1.0)
    push = np.where(near & (distance < model.separation_radius), 1 / apart - 1 / model.separation_radius, 0.0)
    change = -model.separation * (push[..., None] * towards).sum(axis=1)
    count = near.sum(axis=1, keepdims=True)
    mean = near / np.maximum(count, 1)
    change += model.alignment * (mean @ velocities - (count > 0) * velocities)
    change += model.cohesion * (mean[..., None] * towards).sum(axis=1)
    velocities = velocities + model.dt * change
    speed = rows(velocities)[:, None]
    velocities = velocities * np.clip(speed, model.min_speed, model.max_speed) / speed
    return np.mod(positions + model.dt * velocities, model.side), velocities


def apart(positions, others, side):
    """The longest distance between boids of two states, in the periodic box."""
    offsets = np.asarray(positions, float) - others
    return np.abs(offsets - side * np.rint(offsets / side)).max()


@pytest.mark.core
def test_steps_are_those_of_numpy(session, dim):
    model = Boids(N, dim=dim, neighbors=9, alignment=1.5, dtype=real_of(session), session=session, method="strips")
    positions, velocities = model.positions.get().astype(float), model.velocities.get().astype(float)
    assert model.side > 2 * model.radius
    for _ in range(4):
        model.step()
        positions, velocities = numpy_step(model, positions, velocities)

    error = 200 * np.finfo(model.dtype).eps
    assert apart(model.positions.get(), positions, model.side) < error * model.side
    assert np.abs(model.velocities.get() - velocities).max() < error
    assert model.steps_done == 4
    assert model.time == pytest.approx(4 * model.dt)
    assert model.energy() == pytest.approx(0.5 * (velocities**2).sum(), rel=1e-4)


def test_methods_agree_to_rounding(session):
    after = []
    for method in METHODS:
        model = Boids(N, dim=2, neighbors=9, session=session, method=method)
        model.step(5)
        after.append(model.positions.get())
        assert model.index.method == method

    assert apart(after[0], Boids(N, dim=2, neighbors=9, session=session).positions.get(), model.side) > model.dt
    for positions in after[1:]:
        assert apart(positions, after[0], model.side) < 1e-4


def test_repeatable_runs_are_the_same_to_the_last_bit(session):
    runs = []
    for _ in range(2):
        model = Boids(N, dim=2, neighbors=9, seed=4, repeatable=True, session=session)
        model.step(4)
        runs.append(model.positions.get().tobytes() + model.velocities.get().tobytes())

    assert runs[0] == runs[1]
    with pytest.raises(clfrnn.InvalidInputError, match="method: expected one that sums in the same order.*'fenns'"):
        Boids(N, repeatable=True, method="fenns", session=session)


@pytest.mark.long
def test_order_grows_and_speeds_stay_within_limits(session):
    flock = Boids(N, dim=2, neighbors=9, min_speed=0.6, max_speed=0.9, repeatable=True, session=session, seed=2)
    start = flock.order()
    orders = []
    for frame in flock.run(400, every=100):
        orders.append(flock.order())
        speeds = rows(flock.velocities.get().astype(float))
        assert speeds.min() >= 0.6 * (1 - 1e-6)
        assert speeds.max() <= 0.9 * (1 + 1e-6)
        assert frame.positions.min() >= 0
        assert frame.positions.max() < flock.side
        assert np.abs(frame.colors).max() <= np.pi + 1e-6

    assert start == orders[0] < 0.3
    assert orders[-1] > 0.9


def test_a_flock_that_is_moved_flies_the_same_way(session):
    """The box has no place of its own: boids that start elsewhere, and cross other faces of it, do the same."""
    dtype = real_of(session)
    here = Boids(N, dim=2, neighbors=9, dtype=dtype, session=session, method="strips")
    positions, velocities = here.positions.get(), here.velocities.get()
    by = dtype.type(here.side) * np.array([0.37, 0.81], dtype)
    there = Boids(
        N,
        dim=2,
        neighbors=9,
        dtype=dtype,
        session=session,
        method="strips",
        positions=positions + by,
        velocities=velocities,
    )
    for model in (here, there):
        model.step(5)

    error = 500 * np.finfo(dtype).eps
    assert apart(there.positions.get(), here.positions.get().astype(float) + by, here.side) < error * here.side
    assert np.abs(there.velocities.get() - here.velocities.get()).max() < error


def test_an_update_that_fails_leaves_the_boids_where_they_were(session, monkeypatch):
    model = Boids(N, dim=2, neighbors=9, session=session, method="strips")
    before = model.positions.get(), model.velocities.get()

    step_without_memory(model, monkeypatch)

    assert np.array_equal(model.positions.get(), before[0])
    assert np.array_equal(model.velocities.get(), before[1])
    assert model.steps_done == 0


@pytest.mark.usefixtures("unsliced")
def test_a_loop_allocates_compiles_and_waits_for_nothing(counted, calls_of):
    waits = waits_of_host(calls_of)
    model = Boids(N, dim=2, neighbors=9, session=counted, method="strips")
    model.step(1 + 2 * 16)  # by then the checks of a caller who never waits have come and gone
    compiled, allocated = counted.programs.compiled, counted._pool.allocations
    for calls in waits:
        calls.clear()

    model.step(40)

    assert sum(map(len, waits)) <= 3 * 40 // 8, "for checks that were sent eight steps before"
    assert (counted.programs.compiled, counted._pool.allocations) == (compiled, allocated)


@pytest.mark.parametrize(
    ("rule", "speed", "expected"),
    [
        ({"separation": 2.0}, 0.1, [-1.0, 1.0]),
        ({"cohesion": 2.0}, 0.1, [0.5, -0.5]),
        ({"alignment": 2.0}, 0.1, [-0.4, 0.4]),
    ],
    ids=["separation", "cohesion", "alignment"],
)
def test_each_rule_of_two_boids_across_a_face(session, rule, speed, expected):
    """The one flies to the right, the other, a quarter to its right, to the left."""
    rules = {"separation": 0.0, "cohesion": 0.0, "alignment": 0.0, **rule}
    given = {"positions": [[-0.125, 1.0], [0.125, 1.0]], "velocities": [[speed, 0.0], [-speed, 0.0]]}
    pair = Boids(2, dim=2, neighbors=0.1, min_speed=0, dt=0.01, session=session, method="strips", **rules, **given)
    pair.step()

    changes = (pair.velocities.get() - np.float32(given["velocities"])) / 0.01
    assert np.allclose(changes, np.transpose([expected, [0, 0]]), atol=1e-4)


def test_boids_at_one_place_and_a_boid_alone(session):
    both = Boids(2, dim=2, positions=[[1, 1], [1, 1]], velocities=[[1, 0], [0, 1]], session=session, method="strips")
    both.step(3)
    assert np.isfinite(both.positions.get()).all()
    alone = Boids(1, dim=2, neighbors=0.1, session=session, method="strips")
    velocity = alone.velocities.get()
    alone.step(3)
    assert np.allclose(alone.velocities.get(), velocity)
    assert alone.order() == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n: expected a whole number of at least 1, got 0"),
        ({"dim": 4}, "dim: expected 2 or 3, got 4"),
        ({"neighbors": 0}, "neighbors: expected a finite number above 0"),
        ({"neighbors": 1e-200}, "neighbors: expected a mean that leads to a side within float32"),
        ({"radius": -1}, "radius: .*got -1"),
        ({"separation_radius": 2.0}, "separation_radius: expected at most the radius 1, .* got 2"),
        ({"separation_radius": 0}, "separation_radius: expected a finite number above 0"),
        ({"separation": -1}, "separation: expected a finite number of at least 0, got -1"),
        ({"alignment": np.nan}, "alignment: .*got nan"),
        ({"cohesion": "1"}, "cohesion: .*got '1'"),
        ({"min_speed": 2}, "min_speed: expected at most max_speed, 1, got 2"),
        ({"max_speed": 0}, "max_speed: .*got 0"),
        ({"dt": 0}, "dt: .*got 0"),
        ({"positions": [[1, 2]]}, r"positions: expected finite numbers of shape \(5, 3\), got shape \(1, 2\)"),
        ({"velocities": np.full((5, 3), np.nan)}, "velocities: expected .*, got NaN or inf"),
        ({"dtype": int}, "dtype: expected float32 or float64"),
        ({"seed": -1}, "seed: .*got -1"),
    ],
)
def test_arguments_that_make_no_sense(session, given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Boids(**{"n": 5, "session": session, **given})


def test_options_are_those_of_the_index(session):
    with pytest.raises(TypeError, match="unexpected option 'bin_width'"):
        Boids(10, session=session, method="brute_force", bin_width=0.4)
