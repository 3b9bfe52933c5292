"""The Circles model: its start, its force against numpy, and its steps; test_rings.py has where they lead."""

import numpy as np
import pyopencl as cl
import pytest
from conftest import POINTS
from model_steps import step_without_memory, waits_of_host

import clfrnn
from clfrnn.models import Circles

N = min(300, POINTS)
NEIGHBORS = 8.0

WAYS = {
    "strips": {"method": "strips"},
    "strips_sort": {"method": "strips", "construction": "sort", "bin_width": 0.5},
    "uniform_grid": {"method": "uniform_grid"},
    "brute_force": {"method": "brute_force"},
}


def place(model, positions):
    """Put the actors elsewhere."""
    model.points.set(np.asarray(positions, model.dtype))
    model.update()


def numpy_forces(points, radius, damping):
    """The offsets, and the sum of the lengths that went into each, in float64."""
    towards = points[None].astype(float) - points[:, None].astype(float)
    distance = np.linalg.norm(towards, axis=2)
    near = (distance > 0) & (distance <= radius)
    apart = np.where(near, distance, 1.0)
    pull = np.where(near, np.sin(-2 * np.pi * apart / radius) * damping, 0.0)
    return (pull[..., None] * towards / apart[..., None]).sum(axis=1), np.abs(pull).sum(axis=1)


def rows(vectors):
    return np.linalg.norm(vectors, axis=-1)


# --- the start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [1.0, 2.5])
def test_the_side_gives_so_many_neighbors_away_from_the_border(session, dim, radius):
    n = 10 * N
    model = Circles(n, 6, dim=dim, radius=radius, session=session, seed=3)

    points = model.points.get()
    inner = ((points > radius) & (points < model.side - radius)).all(axis=1)
    found = model.index.count().get()[inner]
    # Neighbors are about Poisson; counts of actors near each other are not independent, hence the wide margin.
    assert inner.sum() > 10
    assert abs(found.mean() - 6) < 6 * np.sqrt(6 / inner.sum()) * 3
    assert points.min() >= 0
    assert points.max() <= model.side
    assert points.max() > 0.9 * model.side
    ball = np.pi * radius**2 if dim == 2 else 4 / 3 * np.pi * radius**3
    assert (n - 1) * ball / model.side**dim == pytest.approx(6)


def test_what_a_model_says_of_itself(session, dim, dtype):
    model = Circles(N, 5, dim=dim, radius=0.7, damping=0.01, dtype=dtype, session=session, method="uniform_grid")

    assert (model.n, model.dim, model.neighbors, model.steps_done) == (N, dim, 5.0, 0)
    assert (model.radius, model.damping) == (float(dtype.type(0.7)), float(dtype.type(0.01)))
    by_default = Circles(N, 5, dim=dim, radius=0.7, dtype=dtype, session=session)
    assert by_default.damping == pytest.approx(0.05 * 0.7 / 5)
    assert model.session is session
    assert model.index.session is session
    assert (model.index.method, model.index.radius) == ("uniform_grid", model.radius)
    assert (model.points.shape, model.points.dtype, model.dtype) == ((N, dim), dtype, dtype)
    assert f"{N} actors in {dim}D, {dtype}, after 0 steps" in repr(model)


def test_another_seed_is_another_start(session):
    one, same, other = (Circles(N, 5, seed=seed, session=session).points.get() for seed in (1, 1, 2))

    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


# --- the force --------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_forces_are_those_of_numpy(session, way, dim, dtype):
    model = Circles(N, 12, dim=dim, radius=0.8, damping=0.03, dtype=dtype, session=session, **way)

    found = model.forces()

    expected, lengths = numpy_forces(model.points.get(), model.radius, model.damping)
    # The angle is rounded where it is about 2π, so errors are some ulps of the damping for each neighbor.
    error = np.finfo(dtype).eps * (20 * lengths + 60 * model.damping)
    assert lengths.max() > 3 * model.damping
    assert found.dtype == dtype
    assert (rows(found - expected) <= error).all()
    assert model.residual() == pytest.approx(rows(expected).max() / model.damping, rel=1e-4)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nothing_is_pushed_as_a_whole(session, way, dim, dtype):
    """What one actor does to another, that does to it: before borders, the offsets cancel."""
    model = Circles(N, 12, dim=dim, dtype=dtype, session=session, **way)

    total = model.forces().astype(float).sum(axis=0)

    lengths = numpy_forces(model.points.get(), model.radius, model.damping)[1]
    assert rows(total) <= 20 * np.finfo(dtype).eps * lengths.sum()


def test_actors_at_one_place_exert_no_force(session, dim, dtype):
    model = Circles(5, 1, dim=dim, dtype=dtype, session=session)
    corner = np.zeros((5, dim))
    corner[3:, 0] = 0.25
    place(model, corner)

    found = model.forces()

    assert np.allclose(found[:, 0], model.damping * np.array([-2, -2, -2, 3, 3]))
    assert not found[:, 1:].any()


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_step_moves_by_the_forces_and_stays_inside(session, way, dim, dtype):
    model = Circles(N, 10, dim=dim, damping=0.5, dtype=dtype, session=session, **way)
    start, forces = model.points.get(), model.forces()

    model.step()

    moved = start + forces
    assert ((moved < 0) | (moved > model.side)).any()
    assert np.array_equal(model.points.get(), np.clip(moved, 0, dtype.type(model.side)))
    assert model.steps_done == 1
    expected, _ = numpy_forces(model.points.get(), model.radius, model.damping)
    assert np.abs(model.forces() - expected).max() < 1e-3 * model.damping, "the index holds the new positions"


def test_half_steps(session):
    model = Circles(N, 10, session=session, repeatable=True)
    whole = Circles(N, 10, session=session, repeatable=True)
    start = model.points.get()

    event = model.visit()
    model.visit()
    assert isinstance(event, cl.Event)
    assert np.array_equal(model.points.get(), start)
    assert model.steps_done == 0
    model.update()
    once = model.points.get()
    assert not np.array_equal(once, start)
    model.update()  # nothing was visited since: the same positions again
    assert np.array_equal(model.points.get(), once)
    assert model.steps_done == 1
    whole.step()
    whole.step(0)
    assert np.array_equal(whole.points.get(), once)


def test_an_update_that_fails_leaves_the_actors_where_they_were(session, monkeypatch):
    model = Circles(N, 10, session=session, repeatable=True)
    start, forces = model.points.get(), model.forces()

    step_without_memory(model, monkeypatch)

    assert np.array_equal(model.points.get(), start)
    assert np.array_equal(model.forces(), forces)
    assert model.steps_done == 0


@pytest.mark.usefixtures("unsliced")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_loop_allocates_compiles_and_waits_for_nothing(counted, way, dim, calls_of):
    waits = waits_of_host(calls_of)
    model = Circles(N, NEIGHBORS, dim=dim, session=counted, **way)
    memory = {model.points.base_data.int_ptr, model._moved.base_data.int_ptr}
    model.step()
    compiled = counted.programs.compiled
    model.step(2 * 16)  # by then the checks of a caller who never waits have come and gone
    allocated = counted._pool.allocations
    del waits[:]

    model.step(40)

    assert len(waits) <= 40 // 8, "for checks that were sent eight steps before"
    assert counted.programs.compiled == compiled
    assert counted._pool.allocations == allocated
    assert {model.points.base_data.int_ptr, model._moved.base_data.int_ptr} == memory
    model.index.check()


@pytest.mark.parametrize("way", [{}, *WAYS.values()], ids=["auto", *WAYS])
def test_repeatable_runs_are_the_same_to_the_last_bit(session, way, dim):
    if way.get("method") == "strips":
        way = {**way, "bin_width": 0.5}
    runs = []
    for _ in range(2):
        model = Circles(N, 20, dim=dim, seed=4, repeatable=True, session=session, **way)
        model.step(20)
        runs.append((model.points.get().tobytes(), model.forces().tobytes()))

    assert runs[0] == runs[1]


def test_repeatable_says_how(session):
    assert "construction: sort" in Circles(N, 5, repeatable=True, session=session).index.explain(long=True)
    with pytest.raises(
        clfrnn.InvalidInputError, match=r"construction: expected 'sort' for repeatable=True, got 'count"
    ):
        Circles(N, 5, repeatable=True, method="strips", construction="counting", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="method: expected one that sums in the same order.*'fenns'"):
        Circles(N, 5, repeatable=True, method="fenns", session=session)


def test_methods_agree_to_rounding(session, dim, dtype):
    after = []
    for way in WAYS.values():
        model = Circles(N, NEIGHBORS, dim=dim, dtype=dtype, session=session, **way)
        model.step(10)
        after.append(model.points.get())

    start = Circles(N, NEIGHBORS, dim=dim, dtype=dtype, session=session)
    assert rows(after[0] - start.points.get()).max() > start.damping
    for points in after[1:]:
        assert np.abs(points - after[0]).max() < 1e4 * np.finfo(dtype).eps


@pytest.mark.parametrize("method", ["fenns", "aabb_tree"])
def test_the_other_methods_agree_too(session, method):
    after = []
    for each in (method, "brute_force"):
        model = Circles(N, NEIGHBORS, dim=2, method=each, session=session, repeatable=each == "aabb_tree")
        model.step(10)
        assert model.positions is model.points
        after.append(model.points.get())
    assert np.abs(after[1] - after[0]).max() < 1e-3


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, r"n: expected a whole number of at least 1, got 0; pass"),
        ({"n": -3}, r"n: .*got -3"),
        ({"n": 2.5}, r"n: .*got 2.5"),
        ({"n": True}, r"n: .*got True"),
        ({"neighbors": 0}, r"neighbors: expected a finite number above 0 in float64, got 0; pass"),
        ({"neighbors": -1.0}, r"neighbors: .*got -1.0"),
        ({"neighbors": np.nan}, r"neighbors: .*got nan"),
        ({"neighbors": "8"}, r"neighbors: .*got '8'"),
        ({"neighbors": 1e-200}, r"neighbors: expected a mean that leads to a side within float32, got 1e-200"),
        ({"radius": 0.0}, r"radius: expected a finite number above 0 in float32, got 0.0; pass"),
        ({"radius": np.inf}, r"radius: .*got inf"),
        ({"radius": 1e39}, r"radius: .*got 1e\+39"),
        ({"radius": 1e-60}, r"radius: .*got 1e-60"),
        ({"radius": [1.0]}, r"radius: .*got \[1.0\]"),
        ({"damping": np.nan}, r"damping: expected a finite number above 0 in float32, got nan; pass"),
        ({"damping": 0}, r"damping: .*got 0"),
        ({"damping": 10**400}, r"damping: .*got 1000"),
        ({"damping": False}, r"damping: .*got False"),
        ({"dim": 1}, r"dim: expected 2 or 3, got 1; pass 2 for rings"),
        ({"dim": 4}, r"dim: .*got 4"),
        ({"dim": "3"}, r"dim: .*got '3'"),
        ({"dtype": np.int32}, r"dtype: expected float32 or float64, got .*int32.*; pass"),
        ({"dtype": "no such"}, r"dtype: .*'no such'"),
        ({"seed": -1}, r"seed: expected a whole number of at least 0, got -1; pass"),
        ({"seed": None}, r"seed: .*got None"),
    ],
)
def test_arguments_that_make_no_sense(session, given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Circles(**{"n": 10, "neighbors": 5, "session": session, **given})


def test_options_are_those_of_the_index(session):
    assert Circles(10, 5, session=session, method="strips", bin_width=0.4).index.method == "strips"
    with pytest.raises(TypeError, match="unexpected option 'bin_width'"):
        Circles(10, 5, session=session, method="brute_force", bin_width=0.4)
    with pytest.raises(TypeError, match="unexpected option 'construction'"):
        Circles(10, 5, session=session, method="brute_force", construction="sort", repeatable=True)
    with pytest.raises(clfrnn.InvalidInputError, match="steps: expected a whole number of at least 0, got -1"):
        Circles(10, 5, session=session).step(-1)


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_actors(session, dim, n):
    model = Circles(n, 3, dim=dim, session=session)
    start = model.points.get()
    model.step(3)

    assert np.isfinite(model.points.get()).all()
    assert (model.points.get() == start).all() == (n == 1)
    assert (model.residual() == 0) == (n == 1)
