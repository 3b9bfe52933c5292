"""``clfrnn demo``: models that one can run and watch."""

import pytest
from conftest import needs_pyvista, position
from test_cli import run

import clfrnn.models
from clfrnn.cli.demo.registry import DEMOS
from clfrnn.models import pictures


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.setattr(pictures.window.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_display")
def test_without_a_display_a_model_runs_and_is_timed(session):
    status, output = run(
        "demo", "spheres", "-n", 50, "--steps", 30, "--device", position(session), "--method", "brute_force"
    )
    assert status == 0, output
    assert "model    Spheres, 50 particles in 3D, float32\nmethod   brute_force\ndevice   " in output
    assert "there is no display here, and nothing is drawn; --animate out.gif writes a file" in output
    assert "frames per second" in output
    assert "30 steps in " in output


def test_an_animation_is_written(session, tmp_path):
    images = pytest.importorskip("PIL.Image", reason="pictures need the extra `plot`")
    path = tmp_path / "out.gif"
    status, output = run("demo", "circles", "-n", 60, "--steps", 3, "--device", position(session), "--animate", path)
    assert status == 0, output
    assert f"written  {path}: " in output
    assert "drawing included" in output
    with images.open(path) as image:
        assert image.n_frames == 4


def test_a_window_shows_frames_until_it_is_closed(session, monkeypatch):
    drawn = []

    class Window:
        def offer(self, controls):
            drawn.append([each.name for each in controls.actions])

        def draw(self, frame):
            drawn.append(frame.step)

        def show(self):
            return len(drawn) < 4

        def close(self):
            drawn.append("closed")

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(pictures.window, "canvas", lambda *_, window: Window() if window else None)
    status, output = run("demo", "spheres", "-n", 20, "--steps", 50, "--device", position(session))
    assert status == 0, output
    assert drawn == [["reset", "drop a ball"], 0, 1, 2, "closed"]
    assert "3.0 frames" not in output
    assert "2 steps in " in output


def test_a_display_that_does_not_open(session, monkeypatch):
    needs_pyvista()
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    status, output = run("demo", "spheres", "-n", 20, "--steps", 5, "--device", position(session))
    assert status == 1
    assert "a window needs a display that opens, and ':77', which the environment names, does not; unset" in output


@pytest.mark.parametrize("name", DEMOS)
def test_the_demos_are_models(session, name):
    model = DEMOS[name].make(40, session=session, seed=2)
    assert isinstance(model, clfrnn.models.Model)
    assert isinstance(model, getattr(clfrnn.models, DEMOS[name].model))
    assert model.n == 40
    assert DEMOS[name].about in run("demo", "--help")[1].replace("\n  ", " ")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("", 2, "Missing argument 'NAME'; add it, as in: clfrnn demo spheres --animate out.gif"),
        ("sphere", 2, "'sphere' is not one of circles, "),
        ("spheres -n 0", 2, "0 is not in the range x>=1; pass a whole number of at least 1"),
        ("spheres --method grid", 2, "'grid' is not one of auto, brute_force"),
        ("spheres --animate no/out.gif", 2, "--animate: there is no folder no; make it first"),
        ("spheres --animate out.avi", 1, "path: expected a name that ends in .gif, .mp4, .png, got 'out.avi'"),
    ],
)
def test_wrong_words(monkeypatch, tmp_path, words, status, said):
    monkeypatch.chdir(tmp_path)
    assert run("demo", *words.split())[0] == status
    assert said in run("demo", *words.split())[1]
