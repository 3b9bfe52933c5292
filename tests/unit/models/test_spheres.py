"""The Spheres model: steps against numpy, the laws of collisions, walls, and the ball that pushes."""

import numpy as np
import pytest
from conftest import POINTS
from spheres_twin import numpy_energy, numpy_step

import clfrnn
from clfrnn.models import Spheres
from clfrnn.models.spheres.particles import Particles
from clfrnn.models.spheres.start import block_radius

N = min(120, POINTS)

METHODS = ("strips", "uniform_grid", "fenns", "aabb_tree", "brute_force")
RESTS = {"gravity": 0.0, "damping": 0.0, "shear": 0.0}  # nothing is taken away


def crowd(session, dim, **given):
    """Spheres that fly about, with all forces at work."""
    center = (0.2,) * dim
    model = Spheres(N, dim=dim, session=session, **{"attraction": 30.0, "collider": (center, 0.5), **given})
    rng = np.random.default_rng(5)
    start = model.positions.get() * 0.97  # a little into each other
    model.place(start, rng.normal(0, 1, (N, dim)))
    return model


def state(model):
    return model.positions.get().astype(float), model.velocities.get().astype(float)


@pytest.mark.core
@pytest.mark.parametrize("walls", [True, False], ids=["walls", "free"])
def test_steps_are_those_of_numpy(session, dim, dtype, walls):
    model = crowd(session, dim, dtype=dtype, walls=walls, global_damping=0.99, method="strips")
    x, v = state(model)
    touched = 0
    for _ in range(6):
        assert model.energy() == pytest.approx(numpy_energy(model, x, v), rel=1e-4 if dtype == np.float32 else 1e-10)
        x, v = numpy_step(model, x, v)
        model.step()
        touched += (np.abs(x) == 1 - model.radius).sum()

    error = 1e4 * np.finfo(dtype).eps
    found = state(model)
    assert np.abs(found[0] - x).max() < error
    assert np.abs(found[1] - v).max() < 10 * error
    assert (touched > 0) == walls
    assert model.steps_done == 6
    assert model.time == pytest.approx(6 * model.dt)


def test_methods_agree_to_rounding(session, dim):
    after = []
    for method in METHODS:
        model = crowd(session, dim, method=method)
        model.step(5)
        assert model.index.method == method
        after.append(model.positions.get())
    for positions in after[1:]:
        assert np.abs(positions - after[0]).max() < 1e-4


@pytest.mark.parametrize("method", [None, "uniform_grid", "aabb_tree", "brute_force"])
def test_repeatable_runs_are_the_same_to_the_last_bit(session, method):
    way = {} if method is None else {"method": method}
    runs = []
    for _ in range(2):
        model = crowd(session, 2, repeatable=True, **way)
        model.step(25)
        runs.append((model.positions.get().tobytes(), model.velocities.get().tobytes()))
    assert runs[0] == runs[1]


def pair(session, speed, dim=3, **given):
    """Two spheres that fly at each other, a little beside their centers."""
    model = Spheres(2, dim=dim, radius=0.05, dt=1e-3, session=session, method="brute_force", **given)
    at = np.zeros((2, dim))
    at[:, 0], at[:, 1] = (-0.1, 0.1), (0.01, -0.01)
    fly = np.zeros((2, dim))
    fly[:, 0] = speed, -speed
    model.place(at, fly)
    return model


def test_momentum_stays_without_walls_and_gravity(session, dim):
    model = crowd(session, dim, walls=False, gravity=0.0, collider=None, method="strips")
    before = model.velocities.get().astype(float).sum(axis=0)
    start = model.velocities.get()
    model.step(20)
    after = model.velocities.get()
    assert np.abs(after - start).max() > 0.1
    assert after.astype(float).sum(axis=0) == pytest.approx(before, abs=1e-5 * float(np.abs(after).sum()))


def test_two_spheres_bounce_and_keep_their_energy(session, dim):
    both = pair(session, 0.5, dim, stiffness=1e4, **RESTS)
    before, touched = both.energy(), False
    for _ in range(60):
        both.step(5)
        touched |= bool(both.index.count().get().any())
        # In contact, positions are half a step ahead of velocities: of a phase of dt * sqrt(2 * stiffness) / 2 = 0.07.
        assert both.energy() == pytest.approx(before, rel=0.08)
    assert touched
    assert both.energy() == pytest.approx(before, rel=0.005)
    assert both.velocities.get()[0, 0] < -0.3


@pytest.mark.long
def test_a_crowd_without_losses_keeps_its_energy(session):
    model = crowd(session, 3, restitution=1.0, **{**RESTS, "attraction": 0.0, "collider": None}, method="strips")
    model.step(10)
    before = model.energy()
    for _ in range(10):
        model.step(20)
        assert model.energy() == pytest.approx(before, rel=0.03)


def test_a_dashpot_takes_energy_away(session):
    both = pair(session, 0.5, gravity=0.0, stiffness=1e4, damping=40.0)
    before = both.energy()
    both.step(300)
    assert both.velocities.get()[0, 0] < 0 < both.velocities.get()[1, 0]
    assert both.energy() < 0.7 * before


def test_attraction_sticks_spheres_together(session):
    fly_apart, stick = (
        pair(session, 0.2, gravity=0.0, stiffness=1e3, damping=5.0, attraction=attraction)
        for attraction in (0.0, 100.0)
    )
    for model in (fly_apart, stick):
        model.step(800)
    assert not fly_apart.index.count().get().any()
    assert stick.index.count().get().all()


@pytest.mark.parametrize("axis", [0, -1])
def test_a_ball_bounces_between_walls(session, axis):
    model = Spheres(1, dim=2, radius=0.1, dt=0.01, gravity=0.0, restitution=1.0, session=session)
    fly = np.zeros((1, 2))
    fly[0, axis] = 1.0
    model.place([[0.0, 0.0]], fly)
    turns, places = 0, []
    for _ in range(400):
        before = model.velocities.get()[0, axis]
        model.step()
        turns += model.velocities.get()[0, axis] == -before
        places.append(model.positions.get()[0, axis])
    assert np.abs(np.ptp(places) - 1.8) < 0.02
    assert turns == 2


def test_a_ball_that_falls_loses_height(session):
    model = Spheres(1, dim=3, radius=0.1, dt=0.005, restitution=0.5, session=session)
    model.place([[0.0, 0.0, 0.5]])
    heights = []
    for _ in range(200):
        model.step(5)
        heights.append(model.positions.get()[0, 2])
    assert min(heights) == np.float32(-0.9)
    assert heights[-1] == pytest.approx(-0.9, abs=0.01)
    # After the first bounce a ball rises to a quarter of its height.
    bounce = int(np.argmax(np.array(heights) < -0.85))
    assert max(heights[bounce:]) == pytest.approx(-0.9 + 1.4 / 4, abs=0.03)


def test_the_collider_pushes(session):
    model = Spheres(1, dim=2, radius=0.1, gravity=0.0, damping=0.0, shear=0.0, session=session)
    model.place([[0.5, 0.0]])
    model.step(20)
    assert np.array_equal(model.velocities.get(), [[0, 0]])
    model.move_collider((0.25, 0.0), 0.2)
    assert model.energy() > 0
    model.step(20)
    assert model.velocities.get()[0, 0] > 0
    assert model.velocities.get()[0, 1] == 0
    model.move_collider((0.25, 0.5))
    assert model.collider == ((0.25, 0.5), np.float32(0.2))


@pytest.mark.long
def test_a_heap_comes_to_rest_on_the_floor(session):
    model = Spheres(60, session=session, repeatable=True)
    start = model.positions.get()
    model.step(200)
    fastest = np.abs(model.velocities.get()).max()
    model.gravity *= 2
    model.step(800)
    positions = model.positions.get()
    assert np.abs(positions).max() <= 1 - np.float32(model.radius)
    assert positions[:, 2].mean() < start[:, 2].mean()
    assert np.square(model.velocities.get()).sum(axis=1).mean() < 0.05 * fastest**2
    assert model.index.nearest().distances.get().min() > 0.9 * 2 * model.radius


def test_the_start(session, dim):
    model = Spheres(N, dim=dim, session=session, seed=3)
    positions = model.positions.get()
    assert not model.index.count().get().any(), "no two touch"
    assert np.abs(positions).max() <= 1 - model.radius
    assert positions.min(axis=0) == pytest.approx(model.radius - 1, abs=0.03 * model.radius)
    assert np.array_equal(positions, Spheres(N, dim=dim, session=session, seed=3).positions.get())
    assert not np.array_equal(positions, Spheres(N, dim=dim, session=session, seed=4).positions.get())
    assert f"<Spheres: {N} in {dim}D, float32, after 0 steps" in repr(model)
    assert block_radius(65_536, 3) == 1 / 64, "the paper's"


def test_halves_of_a_step(session):
    model, whole = (crowd(session, 2, repeatable=True) for _ in range(2))
    start = model.positions.get()
    model.visit()
    model.visit()
    assert np.array_equal(model.positions.get(), start)
    model.update()
    model.update()  # nothing was visited since
    whole.step()
    assert model.steps_done == 1
    assert np.array_equal(model.positions.get(), whole.positions.get())
    assert np.array_equal(model.velocities.get(), whole.velocities.get())


def test_a_loop_allocates_and_compiles_nothing(counted):
    model = crowd(counted, 2, method="strips")
    rng = np.random.default_rng(1)
    model.place(rng.uniform(-1, 1, (N, 2)), rng.normal(0, 1, (N, 2)))  # all over the box, so that they do not spread
    model.step(33)  # by then the checks of a caller who never waits have come and gone
    compiled, allocated = counted.programs.compiled, counted._pool.allocations
    model.step(20)
    assert (counted.programs.compiled, counted._pool.allocations) == (compiled, allocated)
    model.index.check()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n: expected a whole number of at least 1, got 0; pass"),
        ({"dim": 4}, "dim: expected 2 or 3, got 4; pass"),
        ({"dim": np.array([2, 3])}, r"dim: expected 2 or 3, got array\(\[2, 3\]\); pass"),
        ({"radius": 1e-200, "dtype": float}, "stiffness: expected a finite number of at least 0, got inf"),
        ({"radius": -1.0}, "radius: expected a finite number above 0 in float32, got -1.0; pass"),
        ({"radius": 0.5}, "radius: expected one of which 3 spheres along an edge .* got 0.5, .* take a smaller radius"),
        ({"dt": 0}, "dt: expected a finite number above 0"),
        ({"dt": 1.0}, r"dt: expected so short a step .* got 1, .* take a shorter dt"),
        ({"stiffness": -1}, "stiffness: expected a finite number of at least 0, got -1; pass"),
        ({"damping": np.nan}, "damping: expected a finite number of at least 0, got nan; pass"),
        ({"shear": "1"}, "shear: expected a finite number of at least 0, got '1'; pass"),
        ({"attraction": np.inf}, "attraction: expected a finite number of at least 0, got inf; pass"),
        ({"global_damping": 1.1}, "global_damping: expected a finite number from 0 to 1, got 1.1; pass"),
        ({"gravity": None}, "gravity: expected a finite number, got None; pass"),
        ({"restitution": -0.5}, "restitution: expected a finite number from 0 to 1, got -0.5; pass"),
        ({"collider": 0.5}, r"collider: expected \(center, radius\), got 0.5; pass"),
        ({"collider": ((0, 0), 0.5)}, r"collider: expected a center of 3 finite numbers, got \(0, 0\); pass"),
        ({"collider": ((0, 0, np.nan), 0.5)}, "collider: expected a center of 3 finite numbers"),
        ({"collider": ((0, 0, 0), 0)}, "collider: expected a finite number above 0 in float32, got 0; pass"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1; pass"),
        ({"dtype": int}, "dtype: expected float32 or float64"),
        ({"repeatable": True, "method": "fenns"}, "method: expected one that sums in the same order.*'fenns'"),
    ],
)
def test_arguments_that_make_no_sense(session, given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Spheres(**{"n": 10, "session": session, **given})


def test_places_that_make_no_sense(session):
    model = Spheres(3, dim=2, session=session)
    start = model.positions.get()
    for given, message in (
        (([[0, 0]],), r"positions: expected finite numbers of shape \(3, 2\), got shape \(1, 2\); pass"),
        (([[0, np.nan]] * 3,), r"positions: .* got NaN or inf"),
        (([[0, 0]] * 3, [1, 2, 3]), r"velocities: .* got shape \(3,\)"),
        (([["a", "b"]] * 3,), r"positions: .*"),
        (([[0, 0], [0, 0], [0]],), "positions: .* got rows of unequal lengths"),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            model.place(*given)
    with pytest.raises(clfrnn.InvalidInputError, match="radius: expected that of the collider, as there was none"):
        model.move_collider((0, 0))
    assert np.array_equal(model.positions.get(), start)


def test_a_place_without_memory_leaves_spheres_where_they_were(session, monkeypatch):
    model = Spheres(3, dim=2, session=session)
    model.velocities.fill(1)
    start = model.positions.get()

    def full(*_):
        raise clfrnn.DeviceMemoryError("none left")

    with monkeypatch.context() as patched:
        patched.setattr(model.index, "update", full)
        with pytest.raises(clfrnn.DeviceMemoryError):
            model.place([[0, 0]] * 3)
    assert np.array_equal(model.positions.get(), start)
    assert (model.velocities.get() == 1).all()


def test_a_place_is_no_step(session):
    model = Spheres(3, dim=2, session=session)
    model.visit()
    model.place([[0, 0], [0.5, 0], [0, 0.5]], [[1, 0]] * 3)
    model.update()
    assert model.steps_done == 0
    assert np.array_equal(model.positions.get(), np.array([[0, 0], [0.5, 0], [0, 0.5]], np.float32))


def test_a_visit_passes_what_the_function_names(session):
    """An argument whose name has that of another in it is none of its own."""
    particles = Particles(np.zeros((3, 2), np.float32), 0.1, ordered=False, session=session, options={})
    found = particles.index.empty(3, np.int32)
    function = clfrnn.NeighborFunction(
        arguments="global const real *positions, global const real *velocities, global int *spheres_near",
        state="int many = 0;",
        per_neighbor="++many;",
        finish="spheres_near[i] = many;",
    )
    particles.visit(function, spheres_near=found)
    assert found.get().tolist() == [2, 2, 2]
