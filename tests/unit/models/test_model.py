"""What all models share: frames of a run, animations, and that models are made of public names alone."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_pyvista

import clfrnn
from clfrnn import models
from clfrnn.models import Circles, Frame, Model, Spheres


def test_frames_of_a_run(session):
    model = Spheres(30, dim=2, session=session)
    frames = model.run(10, every=4, progress=False)
    assert model.steps_done == 0, "steps are taken when frames are asked for"
    first = next(frames)
    assert isinstance(first, Frame)
    assert isinstance(model, Model)
    assert first.positions.tobytes() == model.positions.get().tobytes()
    rest = list(frames)
    assert [frame.step for frame in (first, *rest)] == [0, 4, 8, 10]
    assert rest[-1].time == pytest.approx(10 * model.dt)
    assert rest[-1].positions.tobytes() == model.positions.get().tobytes() != first.positions.tobytes()
    assert first.colors.shape == (30,)
    assert [frame.step for frame in model.run(0)] == [10]
    assert Circles(5, 2, session=session).frame().colors is None


def test_a_model_may_be_changed_between_frames(session):
    model = Spheres(30, dim=2, gravity=0.0, walls=False, session=session)
    for frame in model.run(3, every=1):
        model.gravity = float(frame.step == 1)
    assert model.velocities.get()[:, 1] == pytest.approx(-model.dt)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": -1}, "steps: expected a whole number of at least 0, got -1; pass"),
        ({"steps": 1, "every": 0}, "every: expected a whole number of at least 1, got 0; pass"),
    ],
)
def test_runs_that_make_no_sense(session, given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Spheres(5, dim=2, session=session).run(**given)
    with pytest.raises(clfrnn.InvalidInputError, match="n: expected a whole number of at least 0, got 1.5"):
        Spheres(5, dim=2, session=session).step(1.5)


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["gif", "png", "mp4"])
def test_animations(session, dim, ending, tmp_path):
    images = pytest.importorskip("PIL.Image", reason="pictures need the extra `plot`")
    if dim == 3:
        needs_pyvista()
    if ending == "mp4":
        pytest.importorskip("imageio_ffmpeg", reason="videos need the extra `plot3d`")
    corner = (-0.5,) * (dim - 1) + (0.5,)
    model = Spheres(40, dim=dim, collider=(corner, 0.3), session=session, method="brute_force")
    path = tmp_path / f"spheres.{ending}"
    model.animate(path, steps=40, every=20, size=96, progress=False)
    assert model.steps_done == 40
    if ending == "mp4":
        assert b"ftypisom" in path.read_bytes()[:16]
        return
    with images.open(path) as image:
        assert image.size == (96, 96)
        assert getattr(image, "n_frames", 1) == (3 if ending == "gif" else 1)
        if ending == "gif":
            assert image.info["duration"] == 40
            image.seek(2)
        pixels = np.asarray(image.convert("RGB")).astype(int)
    red = (pixels[..., 0] > pixels[..., 1] + 60).mean()
    assert 0.015 < red < 0.3, "the collider"
    assert (np.ptp(pixels, axis=2) > 30).mean() > red + 0.03, "the spheres"


def test_an_animation_may_change_its_model(session, tmp_path):
    pytest.importorskip("PIL", reason="pictures need the extra `plot`")
    model, seen = Spheres(5, dim=2, collider=((0, 0), 0.1), session=session), []

    def change(each):
        seen.append(each.steps_done)
        each.move_collider((0.1 * each.steps_done, 0))

    model.animate(tmp_path / "a.png", steps=4, every=2, change=change, size=32, progress=False)
    assert seen == [0, 2, 4]
    assert model.collider[0] == (np.float32(0.4), 0)


@pytest.mark.parametrize("ending", [".gif", ".mp4", ".png"])
def test_an_animation_that_is_not_finished_leaves_the_file_that_was_there(session, tmp_path, ending):
    pytest.importorskip("PIL", reason="pictures need the extra `plot`")
    if ending == ".mp4":
        pytest.importorskip("imageio_ffmpeg", reason="videos need the extra `plot3d`")
    path = tmp_path / f"a{ending}"
    path.write_text("what was there")

    def interrupted(model):
        if model.steps_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Spheres(5, dim=2, session=session).animate(path, steps=4, every=1, change=interrupted, size=32, progress=False)

    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_shows_the_ball_where_it_was_with_its_frame(session, tmp_path):
    """Changes after the last frame are in no picture."""
    images = pytest.importorskip("PIL.Image", reason="pictures need the extra `plot`")
    given = {"steps": 2, "every": 2, "size": 32, "progress": False}
    found = []
    for change in (lambda model: None, lambda model: model.steps_done and model.move_collider((0.5, 0.5))):
        model = Spheres(5, dim=2, collider=((0, 0), 0.3), session=session, method="brute_force")
        model.animate(tmp_path / "a.png", change=change, **given)
        found.append(np.asarray(images.open(tmp_path / "a.png")))

    assert model.collider[0] == (0.5, 0.5)
    assert np.array_equal(*found)


def test_animations_that_make_no_sense(session, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")
    model = Spheres(5, dim=2, session=session)
    for given, message in (
        ({"path": "a.avi"}, "path: expected a name that ends in .gif, .mp4, .png, got 'a.avi'; change its ending"),
        ({"path": tmp_path / "no" / "a.gif"}, "path: there is no folder .*no; make it first"),
        ({"path": "a.gif", "fps": 0}, "fps: expected a finite number above 0"),
        ({"path": tmp_path / "a.gif", "fps": 1e-4}, "fps: expected at least 0.0015 for a .gif, got 0.0001; pass more"),
        ({"path": "a.gif", "size": 8}, "size: expected a whole number of at least 16, got 8"),
        ({"path": "a.gif", "every": 0}, "every: expected a whole number of at least 1"),
        ({"path": "a.gif", "steps": -2}, "steps: expected a whole number of at least 0"),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            model.animate(**given)

    for each, name, extra in ((model, "matplotlib.figure", "plot"), (Spheres(5, session=session), "pyvista", "plot3d")):
        monkeypatch.setitem(sys.modules, name, None)  # as where it is not installed
        told = rf"needs {name.partition('.')[0]}, which is not installed; pip install 'clfrnn\[{extra}\]'"
        with pytest.raises(clfrnn.ClfrnnError, match=told):
            each.animate(tmp_path / "a.gif")
    assert model.steps_done == 0


# --- the folder of models ---------------------------------------------------------------------------------------------


#: Modules that no public name stands for.
INSIDE = {"host.foreign_warnings", "host.libraries", "host.numbers", "host.progress"}


def test_models_are_made_of_public_names_alone():
    """But for checks of numbers, progress bars, and what keeps other libraries' warnings away behind one lock."""
    home = Path(models.__file__).parent
    for path in home.rglob("*.py"):
        depth = len(path.relative_to(home).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "clfrnn":
                assert node.attr in clfrnn.__all__, path
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name.startswith("clfrnn.")], path
            if isinstance(node, ast.ImportFrom) and node.module not in INSIDE:
                assert node.level <= depth, path
                assert node.level or not node.module.startswith("clfrnn"), path


def test_importing_clfrnn_imports_no_model():
    code = "import sys, clfrnn; print('clfrnn.models' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_importing_models_imports_nothing_that_draws():
    code = (
        "import sys, clfrnn.models\n"
        "from clfrnn.host.progress import progress_bar\n"
        "with progress_bar('steps', 2, shown=False) as done:\n"
        "    done(1)\n"
        "print({'matplotlib', 'pyvista', 'PIL', 'rich'} & set(sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
