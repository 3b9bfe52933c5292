"""The Spheres model in parts: the trajectory of one device, to the last bit, where sums have an order."""

import threading
import time

import numpy as np
import pytest
from conftest import before_allocations, own_session

import clfrnn
from clfrnn import models
from clfrnn.models.spheres.particles import Particles
from clfrnn.parts.spheres import Spheres

N = 120


def some_of(session, many):
    """This number of devices: the session's own, and others of the same device."""
    return [session, *(own_session(session) for _ in range(many - 1))]


def flying(rng, model):
    """Positions, a little into each other, with a stray, and velocities."""
    positions = np.asarray(model.positions.get(), float) * 0.97
    positions[7] = 0.9
    return positions, rng.normal(0, 1, positions.shape)


def assert_same_state(many, one):
    assert np.array_equal(many.positions, one.positions.get())
    assert np.array_equal(many.velocities, one.velocities.get())
    assert many.steps_done == one.steps_done


@pytest.mark.parametrize("walls", [True, False], ids=["walls", "free"])
@pytest.mark.parametrize(("devices", "many"), [(1, 1), (2, 2), (3, 3), (2, 5)])
def test_the_trajectory_is_that_of_one_device(session, devices, many, walls):
    """Of spheres that collide, fly into other parts and halos and beyond the bounds, and of those that rest."""
    given = {"dim": 2, "repeatable": True, "collider": ((0.2, 0.2), 0.5), "attraction": 30.0, "walls": walls}
    one = models.Spheres(N, session=session, **given)
    model = Spheres(N, sessions=some_of(session, devices), parts=many, **given)
    assert len(model.parts) == many
    owned = [part.owned for part in model.parts]
    state = flying(np.random.default_rng(many), one)
    for each in (one, model):
        each.place(*state)
    divided = 0
    for step in range(40):
        if step == 20:
            one.gravity = model.gravity = 3.0
            one.move_collider((0.1, 0.1))
            model.move_collider((0.1, 0.1))
        one.step()
        model.step()
        divided += model.last_step.divided
        if step % 5 == 0:
            assert_same_state(model, one)
    assert_same_state(model, one)
    assert model.energy() == one.energy()
    assert 0 < divided < 40
    assert (many > 1) == any(not np.array_equal(a, b.owned) for a, b in zip(owned, model.parts, strict=True))
    assert np.array_equal(np.sort(np.concatenate([part.owned for part in model.parts])), np.arange(N))
    assert (model.last_step.exchanged > 0) == (model.last_step.divided or many > 1)
    assert len(model.last_step.waited) == devices


def test_the_trajectory_in_three_dimensions_of_any_method(session, dtype):
    given = {"repeatable": True, "dtype": dtype}
    one = models.Spheres(60, session=session, method="brute_force", **given)
    model = Spheres(60, sessions=[session, *some_of(session, 2)], method="aabb_tree", **given)
    for each in (one, model):
        each.step(12)
    assert_same_state(model, one)
    frame = model.frame()
    assert np.array_equal(frame.positions, one.positions.get())
    assert np.array_equal(frame.colors, one.frame().colors)


def test_spheres_that_touch_more_than_are_remembered(session):
    """Among few others, some at the same place: summed in the same order in one part and in three."""
    rng = np.random.default_rng(3)
    given = {"dim": 2, "repeatable": True, "radius": 0.02, "dt": 1e-4}
    one = models.Spheres(N, session=session, **given)
    model = Spheres(N, sessions=[session], parts=3, **given)
    positions = rng.uniform(-0.9, 0.9, (N, 2))
    positions[::2] = rng.uniform(-0.02, 0.02, (N // 2, 2))
    positions[10:20] = positions[0]
    for each in (one, model):
        each.place(positions, rng.normal(0, 1, (N, 2)) * 0)
        assert each.energy() > 0
        each.step(3)
    assert_same_state(model, one)
    assert one.index.count().get().max() > 24
    loose = models.Spheres(N, session=session, **{**given, "repeatable": False})
    loose.place(positions)
    loose.step(3)
    assert np.abs(loose.positions.get() - one.positions.get()).max() < 1e-4


@pytest.mark.parametrize("places", [1, 2])
def test_spheres_at_the_same_place_are_in_one_part(session, places):
    given = {"dim": 2, "repeatable": True}
    one, model = models.Spheres(6, session=session, **given), Spheres(6, sessions=[session], parts=4, **given)
    positions = np.full((6, 2), 0.25)
    positions[6 // places :] = 0.5
    for each in (one, model):
        each.place(positions)
        each.step(3)
    assert_same_state(model, one)
    assert model.energy() == one.energy()
    assert len(model.parts) == places


def test_a_division_that_a_device_refuses(session):
    """The spheres stay where they were, and the step is taken when there is memory for it."""
    given = {"dim": 2, "repeatable": True}
    one, model = models.Spheres(N, session=session, **given), Spheres(N, sessions=[session], parts=2, **given)
    velocities = np.full((N, 2), 3 * model.slack / model.dt)  # all leave their halos in one step
    for each in (one, model):
        each.place(each.positions, velocities)

    def refused(owner, size, purpose):
        raise clfrnn.DeviceMemoryError("no more")

    with before_allocations(refused), pytest.raises(clfrnn.DeviceMemoryError, match="no more"):
        model.step()
    assert_same_state(model, one)
    for each in (one, model):
        each.step(2)
    assert model.last_step.divided
    assert_same_state(model, one)


def test_a_step_that_one_part_refuses(session, monkeypatch):
    """When others have indexed where their spheres go: none has moved, and the step is taken later."""
    given = {"dim": 2, "repeatable": True}
    one, model = models.Spheres(N, session=session, **given), Spheres(N, sessions=[session], parts=3, **given)
    for each in (one, model):
        each.step(3)
    energy = model.energy()

    def refused(points):
        raise clfrnn.DeviceMemoryError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(model._held[1].particles.index, "update", refused)
        with pytest.raises(clfrnn.DeviceMemoryError, match="no more"):
            model.step()
    assert_same_state(model, one)
    assert model.energy() == energy
    for each in (one, model):
        each.step(20)
    assert_same_state(model, one)


def test_an_error_of_one_device_waits_for_the_others(session, monkeypatch):
    """No thread works on spheres behind the call that failed."""
    model = Spheres(N, dim=2, sessions=some_of(session, 2))
    if not session.profile.concurrent:
        pytest.skip("the devices take turns")
    first, second = model._held
    late, begun = [], threading.Event()

    def refused(*_):
        begun.wait(10)
        raise clfrnn.DeviceMemoryError("no more")

    def slow(*_):
        begun.set()
        time.sleep(0.1)
        late.append(second)
        return 0.0

    monkeypatch.setattr(first, "step", refused)
    monkeypatch.setattr(second, "step", slow)
    with pytest.raises(clfrnn.DeviceMemoryError, match="no more"):
        model.step()
    assert late == [second]


def test_another_thread_sees_whole_steps(session, monkeypatch):
    """Positions that it reads while half of the parts have swapped their states are those after the step."""
    model = Spheres(N, dim=2, sessions=[session], parts=2)
    swap, seen = Particles.swap, []
    reader = threading.Thread(target=lambda: seen.append(model.positions))

    def read_between(particles):
        if particles is model._held[1].particles:
            reader.start()
            reader.join(0.3)  # without a lock it ends at once
        swap(particles)

    monkeypatch.setattr(Particles, "swap", read_between)
    model.step()
    reader.join()
    assert np.array_equal(seen[0], model.positions)


def test_more_parts_than_spheres_and_no_threads_left(session):
    before = threading.active_count()
    model = Spheres(2, dim=2, sessions=some_of(session, 2), parts=9)
    model.step(3)
    assert len(model.parts) == 2
    assert "2 parts on 2 sessions" in repr(model)
    with pytest.raises(TypeError, match="pickle positions"):
        model.__reduce__()
    del model
    assert threading.active_count() <= before + 2


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"sessions": []}, "sessions"),
        ({"parts": 0}, "parts"),
        ({"session": clfrnn.default_session}, "session"),
        ({"radius": -1}, "radius"),
        ({"repeatable": True, "construction": "counting"}, "construction"),
    ],
)
def test_arguments_that_make_no_sense(given, argument):
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        Spheres(10, **given)
    assert caught.value.argument == argument
