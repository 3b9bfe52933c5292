"""What a user changes of a model that runs: by the widgets of windows, driven by their events, and in a notebook."""

import inspect
import io

import numpy as np
import pytest
from conftest import needs_pyvista

import clfrnn
from clfrnn.models import Boids, Spheres
from clfrnn.models.pictures import canvas
from clfrnn.models.pictures.canvas import Flat

BALL = (0.2, 0.0, -0.5)


def heap(session, dim):
    return Spheres(60, dim=dim, collider=(BALL[:dim], 0.2), session=session, method="brute_force")


def test_spheres_are_dropped_and_put_back(session, dim):
    if dim == 1:
        return
    model = heap(session, dim)
    start = model.positions.get()
    model.step(5)
    for _ in range(3):
        model.drop_ball(25)
    found = model.positions.get()
    dropped = found[:, -1] > 0
    # The last call took spheres 50 to 59 and, from the beginning, 0 to 14; 15 to 49 are where calls before put them.
    assert dropped.all()
    last = found[np.r_[50:60, 0:15]]
    gaps = np.linalg.norm(last[:, None] - last, axis=2) + 9 * np.eye(25)
    assert gaps.min() > 2 * model.radius
    assert found.max() <= 1 - model.radius
    assert not model.velocities.get()[np.r_[50:60, 0:15]].any()
    model.reset()
    assert np.array_equal(model.positions.get(), start)
    assert not model.velocities.get().any()
    with pytest.raises(clfrnn.InvalidInputError, match="n: expected at most 60, the number of spheres, got 61"):
        model.drop_ball(61)


def test_a_window_of_three_dimensions(session):
    needs_pyvista()
    model = heap(session, 3)
    easel = canvas(model, 160)
    easel.offer(model.controls())
    easel.draw(model.frame())
    plotter = easel.plotter
    shown = getattr(plotter, "widgets", plotter)  # where newer versions have them
    for slider, value in zip(shown.slider_widgets, (0.5, 0.99, 3.0, 7.0), strict=True):
        slider.GetRepresentation().SetValue(value)
        slider.InvokeEvent("InteractionEvent")
    assert [model.gravity, model.global_damping, model.damping, model.attraction] == pytest.approx([0.5, 0.99, 3, 7])
    (ball,) = shown.sphere_widgets
    ball.SetCenter(0.1, 0.3, -0.2)
    ball.InvokeEvent("InteractionEvent")
    assert model.collider[0] == pytest.approx((0.1, 0.3, -0.2))
    start = model.positions.get()
    press(plotter, "2")
    assert (model.positions.get() != start).any(axis=1).sum() == 7
    press(plotter, "1")
    assert np.array_equal(model.positions.get(), start)
    easel.draw(model.frame())
    assert easel.pixels().std() > 1
    easel.close()


def press(plotter, key):
    plotter.iren.interactor.SetKeySym(key)
    plotter.iren.interactor.InvokeEvent("KeyPressEvent")


def test_a_window_of_two_dimensions(session):
    backend = pytest.importorskip("matplotlib.backend_bases", reason="pictures need the extra `plot`")
    if "buttons" not in inspect.signature(backend.MouseEvent).parameters:
        pytest.skip("this matplotlib makes no events of moves with buttons down")
    model = heap(session, 2)
    easel = canvas(model, 160)
    easel.offer(model.controls())
    easel.draw(model.frame())
    easel._offered[0].set_val(0.25)
    assert model.gravity == 0.25
    drawn, start = easel._figure.canvas, model.positions.get()
    backend.KeyEvent("key_press_event", drawn, "2")._process()
    backend.KeyEvent("key_press_event", drawn, "x")._process()
    assert (model.positions.get() != start).any(axis=1).sum() == 7
    x, y = easel._axes.transData.transform((-0.5, 0.1))
    backend.MouseEvent("motion_notify_event", drawn, x, y, buttons=[1], button=1)._process()
    assert model.collider[0] == pytest.approx((-0.5, 0.1), abs=1e-5)
    easel.close()


def test_a_notebook(session):
    widgets = pytest.importorskip("ipywidgets", reason="notebooks need the extra `notebook`")
    images = pytest.importorskip("PIL.Image", reason="pictures need the extra `plot`")
    model = heap(session, 2)
    box = model.notebook(steps=5, every=2)
    picture, inputs = box.children
    play, *others = inputs.children
    named = {each.description: each for each in others}
    before = picture.value
    for tick in (1, 2, 3):
        play.value = tick
    assert play.max == 3
    assert model.steps_done == 5, "the last tick takes what is left"
    assert picture.value != before
    named["gravity"].value = 0.5
    named["ball y"].value = 0.25
    assert model.gravity == pytest.approx(0.5)
    assert model.collider[0] == pytest.approx((0.2, 0.25))
    before = model.positions.get()
    named["drop a ball"].click()
    assert (model.positions.get() != before).any(axis=1).sum() == 7
    assert isinstance(named["reset"], widgets.Button)
    assert images.open(io.BytesIO(picture.value)).size[0] > 100


def test_a_notebook_that_cannot_be_drawn_gives_its_canvas_back(session, monkeypatch):
    pytest.importorskip("ipywidgets", reason="notebooks need the extra `notebook`")
    pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")
    closed = []
    monkeypatch.setattr(Flat, "close", lambda _: closed.append(True))
    model = heap(session, 2)
    monkeypatch.setattr(model, "frame", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.notebook()
    assert closed == [True]


def test_most_models_have_nothing_to_change(session):
    found = Boids(20, session=session).controls()
    assert (found.sliders, found.actions, found.handle) == ((), (), None)
