"""Warnings of other libraries are neither errors nor printed where clfrnn calls them; its own are as they were."""

import threading
import warnings

import numpy as np
import pytest

from clfrnn import geometry, models
from clfrnn.files import read
from clfrnn.host.foreign_warnings import ignored_warnings

POINTS = np.random.default_rng(0).random((20, 3))


def warning(function):
    """The function of a library, as it will be when it uses what is deprecated."""

    def warns(*arguments, **options):
        for kind in (DeprecationWarning, FutureWarning, UserWarning, RuntimeWarning):
            warnings.warn("a library does what another one deprecates", kind, stacklevel=1)
        return function(*arguments, **options)

    return warns


def written_ply(folder):
    plyfile = pytest.importorskip("plyfile", reason="plyfile is an extra")
    vertices = np.array(list(map(tuple, POINTS)), [(axis, "f8") for axis in "xyz"])
    plyfile.PlyData([plyfile.PlyElement.describe(vertices, "vertex")]).write(str(folder / "a.ply"))
    return folder / "a.ply"


def written_las(folder):
    laspy = pytest.importorskip("laspy", reason="laspy is an extra")
    scan = laspy.LasData(laspy.LasHeader(version="1.2", point_format=3))
    scan.xyz = POINTS
    scan.write(folder / "a.las")
    return folder / "a.las"


def written_cif(folder):
    rows = "".join(f"H {a:.5f} {b:.5f} {c:.5f}\n" for a, b, c in POINTS)
    cell = "".join(f"_cell_length_{axis} 9\n" for axis in "abc")
    cell += "".join(f"_cell_angle_{angle} 90\n" for angle in ("alpha", "beta", "gamma"))
    tags = "".join(f"_atom_site_{name}\n" for name in ("label", "fract_x", "fract_y", "fract_z"))
    (folder / "a.cif").write_text(f"data_a\n{cell}loop_\n{tags}{rows}")
    return folder / "a.cif"


@pytest.mark.parametrize(
    ("module", "name", "write"),
    [
        ("plyfile", "PlyData.read", written_ply),
        ("laspy", "open", written_las),
        ("gemmi.cif", "read_string", written_cif),
    ],
)
def test_readers(tmp_path, monkeypatch, module, name, write):
    library = pytest.importorskip(module, reason=f"{module} is of an extra")
    path = write(tmp_path)
    *owner, last = name.split(".")
    holder = getattr(library, owner[0]) if owner else library
    monkeypatch.setattr(holder, last, warning(getattr(holder, last)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(path).points) == 20


@pytest.mark.parametrize(("name", "dim"), [("marching_cubes", 3), ("find_contours", 2)])
def test_surfaces(monkeypatch, name, dim):
    measure = pytest.importorskip("skimage.measure", reason="scikit-image is of the extra geometry")
    monkeypatch.setattr(measure, name, warning(getattr(measure, name)))
    heights = np.add.outer(np.zeros((4,) * (dim - 1)), np.arange(4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = geometry.isosurface(geometry.Field(heights, np.zeros(dim), 1.0), 1.5)
    assert (found.vertices[:, -1] == 1.5).all()
    assert len(found.faces)


@pytest.mark.parametrize(
    ("ending", "module", "name"),
    [
        (".ply", "plyfile", "PlyElement.describe"),
        (".ply", "plyfile", "PlyData.write"),
        (".stl", "trimesh", "Trimesh.export"),
    ],
)
def test_writers(tmp_path, monkeypatch, ending, module, name):
    library = pytest.importorskip(module, reason=f"{module} is of an extra")
    holder, last = name.split(".")
    holder = getattr(library, holder)
    changed = warning(getattr(holder, last))
    monkeypatch.setattr(holder, last, staticmethod(changed) if last == "describe" else changed)
    surface = geometry.Surface(np.eye(3), np.array([[0, 1, 2]], np.int32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface.save(tmp_path / f"a{ending}")
    assert (tmp_path / f"a{ending}").stat().st_size


def test_pictures(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure", reason="plots need matplotlib")
    from clfrnn.cli.pictures import check_picture, draw_counts

    monkeypatch.setattr(figure.Figure, "add_subplot", warning(figure.Figure.add_subplot))
    monkeypatch.setattr(figure.Figure, "savefig", warning(figure.Figure.savefig))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_picture(tmp_path / "a.png")
        draw_counts(POINTS, np.arange(20), tmp_path / "a.png", title="a")
    assert (tmp_path / "a.png").stat().st_size


@pytest.mark.parametrize("ending", [".gif", ".png"])
def test_pictures_of_models(tmp_path, monkeypatch, session, ending):
    axes = pytest.importorskip("matplotlib.axes", reason="pictures need the extra `plot`")
    monkeypatch.setattr(axes.Axes, "scatter", warning(axes.Axes.scatter))
    model = models.Spheres(5, dim=2, session=session)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.animate(tmp_path / f"a{ending}", steps=2, every=1, progress=False)
    assert (tmp_path / f"a{ending}").stat().st_size


def test_the_filters_of_the_caller_are_in_force_again():
    before = list(warnings.filters)
    with ignored_warnings():
        warnings.warn("not seen", DeprecationWarning, stacklevel=1)
    assert warnings.filters == before
    with pytest.raises(DeprecationWarning, match="seen"):
        warnings.warn("seen", DeprecationWarning, stacklevel=1)


def test_the_filters_of_several_threads_do_not_mix():
    """One that began later and ends earlier would otherwise leave warnings ignored for good."""
    before = list(warnings.filters)
    begun, over = threading.Event(), threading.Event()
    second_in = threading.Event()

    def first():
        with ignored_warnings():
            begun.set()
            over.wait(10)

    def second():
        begun.wait(10)
        with ignored_warnings():
            second_in.set()

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    assert not second_in.wait(0.2), "the second begins when the first is through"
    over.set()
    for thread in threads:
        thread.join(10)
    assert second_in.is_set()
    assert warnings.filters == before
