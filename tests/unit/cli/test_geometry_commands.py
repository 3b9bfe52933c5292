"""``clfrnn clean``, ``normals`` and ``surface``, as a user runs them."""

import sys

import numpy as np
import pytest
from test_cli import run

from clfrnn import geometry
from clfrnn.cli.pictures import outside, shows
from clfrnn.files import read

RANDOM = np.random.default_rng(5)

#: A ball's surface, and two points that stand alone.
BALL = RANDOM.normal(size=(1500, 3))
BALL /= np.linalg.norm(BALL, axis=1, keepdims=True)
STRAY = np.array([[1.8, 0, 0], [0, -4.0, 0]])


@pytest.fixture
def cloud(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, np.concatenate([STRAY[:1], BALL, STRAY[1:]]))
    return path


@pytest.fixture
def plyfile():
    return pytest.importorskip("plyfile", reason="plyfile is an extra")


@pytest.fixture
def extra():
    for module in ("plyfile", "scipy", "skimage", "trimesh"):
        pytest.importorskip(module, reason=f"{module} is an extra")


def vertices(plyfile, path):
    """The properties of the vertices, and their array."""
    found = plyfile.PlyData.read(str(path))["vertex"].data
    return found.dtype.names, found


@pytest.mark.parametrize("way", [("--radius", 0.5, "--min-neighbors", 3), ("--k", 4, "--ratio", 3)])
def test_points_that_stand_alone_are_left_out(place, cloud, tmp_path, plyfile, way):
    output = tmp_path / "out.ply"
    status, printed = run("clean", cloud, "--device", place, *way, "-o", output)
    assert status == 0, printed
    assert "points   1,502 in 3D, float64" in printed
    assert "stay     1,500; left out are 2, 0.13%" in printed
    assert "out.ply: 1,500 vertices with x, y, z" in printed
    assert np.array_equal(read(output).points, BALL)


def test_cleaning_counts_in_any_dimension(place, tmp_path):
    np.savetxt(tmp_path / "cloud.csv", [[0, 0], [1, 0], [0, 1], [7, 7]], delimiter=",")
    way = ("--radius", 1.2, "--min-neighbors", 1, "--device", place)
    status, printed = run("clean", tmp_path / "cloud.csv", *way)
    assert status == 0, printed
    assert "stay     3; left out are 1, 25.00%" in printed
    pytest.importorskip("plyfile", reason="plyfile is an extra")
    status, printed = run("clean", tmp_path / "cloud.csv", *way, "-o", tmp_path / "out.ply")
    assert status == 1
    assert "cloud.csv: expected 3 coordinates a point, got 2; choose" in printed


def test_one_point_of_each_voxel_stays(place, session, cloud, tmp_path, plyfile):
    """Of those that the other options let stay."""
    output = tmp_path / "out.ply"
    for way, points in (((), read(cloud).points), (("--k", 4, "--ratio", 3), BALL)):
        status, printed = run("clean", cloud, "--device", place, *way, "--voxel", 0.4, "-o", output)
        assert status == 0, printed
        middle = geometry.voxel_downsample(points, 0.4, reduce="nearest_to_center", session=session).points.get()
        assert f"voxels   {len(middle):,} of side 0.4, for {len(points):,} points" in printed
        written = read(output).points
        assert sorted(map(tuple, written)) == sorted(map(tuple, middle))
        assert len(written) < len(points)


def test_normals_of_the_k_nearest(place, session, cloud, tmp_path, plyfile):
    output = tmp_path / "out.ply"
    status, printed = run("normals", cloud, "--device", place, "--k", 8, "-o", output)
    assert status == 0, printed
    _, written = vertices(plyfile, output)
    expected = geometry.normals(read(cloud).points, k=8, session=session).normals.get()
    assert np.allclose(np.stack([written[name] for name in ("nx", "ny", "nz")], axis=1), expected, equal_nan=True)


@pytest.mark.parametrize("single", [True, False])
def test_normals_stand_beside_points(place, session, cloud, tmp_path, plyfile, single):
    output = tmp_path / "out.ply"
    said = ("--viewpoint", 0, 0, 0, *["--float32"] * single)
    status, printed = run("normals", cloud, "--device", place, "--radius", 0.3, "-o", output, *said)
    assert status == 0, printed
    assert "normals  1,500; 2 points have fewer than 3 neighbors, and nan" in printed
    names, found = vertices(plyfile, output)
    assert names == ("x", "y", "z", "nx", "ny", "nz", "curvature")
    real = np.float32 if single else np.float64
    assert {found.dtype[name] for name in names} == {np.dtype(real)}
    points = np.load(cloud).astype(real)
    assert np.array_equal(np.stack([found[name] for name in "xyz"], axis=1), points)
    expected = geometry.normals(points, 0.3, viewpoint=(0, 0, 0), session=session)
    written = np.stack([found[name] for name in ("nx", "ny", "nz")], axis=1)
    assert np.allclose(written, expected.normals.get(), atol=1e-4, equal_nan=True)
    assert np.allclose(found["curvature"], expected.curvature.get(), atol=1e-4, equal_nan=True)
    assert (np.einsum("ka,ka->k", written, points)[1:-1] < 0).all()  # seen from the center


def test_normals_are_oriented(place, cloud, tmp_path, plyfile):
    pytest.importorskip("scipy", reason="scipy is an extra")
    output = tmp_path / "out.ply"
    status, printed = run("normals", cloud, "--device", place, "-r", 0.3, "-o", output, "--orient")
    assert status == 0, printed
    _, found = vertices(plyfile, output)
    assert (np.sum([found[name] * found[f"n{name}"] for name in "xyz"], axis=0)[1:-1] > 0).all()


@pytest.mark.parametrize(("ending", "distance"), [(".ply", None), (".obj", 0.3), (".stl", -0.3)])
def test_surfaces(place, cloud, tmp_path, extra, ending, distance):
    import trimesh

    output = tmp_path / f"out{ending}"
    said = () if distance is None else ("--distance", distance)
    sizes = ("--spacing", 0.1, "--radius", 0.3)
    status, printed = run("surface", cloud, "--device", place, *sizes, "-o", output, *said)
    assert status == 0, printed
    assert "triangles" in printed
    found = trimesh.load_mesh(str(output))
    radius = 1 + (distance or 0)
    far = np.linalg.norm(found.vertices, axis=1)
    assert np.abs(far - radius).max() < 0.15
    assert found.is_watertight
    assert abs(found.volume / (4 / 3 * np.pi * radius**3) - 1) < 0.06
    assert not list(tmp_path.glob(".clfrnn-*"))


def test_surfaces_far_from_the_origin(place, tmp_path, extra):
    """Where float32 has steps of a quarter of a unit, as in maps."""
    import trimesh

    np.save(tmp_path / "far.npy", BALL + np.array([500_000, 4_100_000, 0]))
    sizes = ("--device", place, "--spacing", 0.1, "--radius", 0.3)
    status, printed = run("surface", tmp_path / "far.npy", *sizes, "-o", tmp_path / "out.ply")
    assert status == 0, printed
    assert "faces" in printed
    found = trimesh.load_mesh(str(tmp_path / "out.ply"), process=False)
    assert np.abs(np.linalg.norm(found.vertices - [500_000, 4_100_000, 0], axis=1) - 1).max() < 0.15
    status, printed = run("surface", tmp_path / "far.npy", *sizes, "-o", tmp_path / "out.stl")
    assert status == 0, printed
    assert "out.stl: .stl files hold float32, which shifts vertices by up to 0.12" in printed


def test_no_surface(place, tmp_path, extra):
    np.save(tmp_path / "few.npy", [[0.0, 0, 0], [5, 5, 5]])
    output = tmp_path / "out.ply"
    output.write_text("an older file")
    status, printed = run(
        "surface", tmp_path / "few.npy", "--device", place, "--spacing", 0.5, "--radius", 1, "-o", output
    )
    assert status == 1
    assert "got no triangle for 2 points" in printed
    assert output.read_text() == "an older file"


PICTURES = {
    "clean": ("--radius", 0.5, "--min-neighbors", 3, "--plot"),
    "normals": ("--radius", 0.3, "-o", "out.ply", "--plot"),
    "surface": ("--radius", 0.3, "--spacing", 0.1, "-o", "out.ply", "--plot"),
}


@pytest.mark.parametrize("command", PICTURES)
def test_pictures(place, cloud, tmp_path, monkeypatch, extra, command):
    imread = pytest.importorskip("matplotlib.image", reason="plots need matplotlib").imread
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("clfrnn.cli.geometry.pictures._MOST_TRIANGLES", 500)
    status, printed = run(command, cloud, *PICTURES[command], "picture.png", "--device", place)
    assert status == 0, printed
    drawn = {
        "clean": "1,502 points, 1,501 of them",
        "normals": "1,502 points, 1,500 of them",
        "surface": ", 500 of them",
    }
    assert drawn[command] in printed.partition("drawn    picture.png: ")[2]
    pixels = imread("picture.png")[..., :3]
    assert pixels.std() > 0.02
    red = np.all(np.abs(pixels - [0xD5 / 255, 0x5E / 255, 0]) < 0.1, axis=-1)
    assert red.any() == (command == "clean")
    assert not list(tmp_path.glob(".clfrnn-*"))


@pytest.mark.parametrize("far", [1e6, 1e30, np.finfo(np.float64).max])
def test_pictures_leave_out_what_is_far(far):
    # The far point is among those that a picture tells of, and strays above them are not.
    tile = np.random.default_rng(0).random((1_000, 3)) * [200, 200, 10] + [500_000, 5_400_000, 300]
    cloud = np.concatenate([tile, [[500_000, 5_400_000, 400 + 10 * i] for i in range(-8, 9)], [[5e5, 5.4e6, far]]])
    known = np.arange(len(cloud)) != 1_000
    known[1_001:1_017] = False
    near = cloud[:, 2] <= tile[:, 2].max() + 99
    assert np.array_equal(shows(cloud, known), near)
    assert shows(cloud[:3], known[:3]).all()
    assert shows(tile[:0], known[:0]).shape == (0,)
    assert outside(int((~near).sum())) == f"\n{(~near).sum()} points outside the picture"


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((5, 2)), np.float64([[0], [1], [9]]), BALL[:5]])
def test_pictures_of_clouds_without_a_surface(place, tmp_path, extra, points):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    np.save(tmp_path / "cloud.npy", points)
    said = (tmp_path / "cloud.npy", "--radius", 0.01, "--device", place, "--plot", tmp_path / "picture.pdf")
    status, printed = run("clean", *said, "--min-neighbors", 1)
    assert status == 0, printed
    if points.shape[1] == 3:
        status, printed = run("normals", *said, "-o", tmp_path / "out.ply")
        assert status == 0, printed
        assert "picture.pdf: 5 points, 0 of them in the picture" in printed


@pytest.mark.parametrize("command", PICTURES)
def test_pictures_want_a_package_and_a_format(cloud, tmp_path, monkeypatch, extra, command):
    monkeypatch.chdir(tmp_path)
    for name, message in {
        "a.bmp2": "--plot: expected a name that ends in .png, .pdf or .svg, got a.bmp2",
        "no/a.png": "--plot: there is no folder no; make it first",
        "a.png": "--plot: pictures are drawn by matplotlib, which is not installed; pip install 'clfrnn[plot]'",
    }.items():
        if name == "a.png":
            monkeypatch.setitem(sys.modules, "matplotlib", None)
        status, printed = run(command, cloud, *PICTURES[command], name)
        assert status == (2 if "/" in name else 1)
        assert message in printed
        assert "points" not in printed, "it is said before the work"


CLEAN = "expected --radius with --min-neighbors, --k with --ratio, or --voxel, got"


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("clean {cloud}", 2, f"{CLEAN} none; say which points stay, as in --k 16 --ratio 2"),
        ("clean {cloud} --k 3", 2, f"{CLEAN} --k; say"),
        ("clean {cloud} --min-neighbors 3", 2, f"{CLEAN} --min-neighbors; say"),
        (
            "clean {cloud} --k 3 --ratio 1 --radius 2",
            2,
            "or --k with --ratio, got some of both; leave out those of one way",
        ),
        ("clean {cloud} --k 3 --ratio nan", 1, "ratio: expected a finite number"),
        ("clean {cloud} --k 3 --ratio 1 -o out.xyz", 2, "a name that ends in .ply, got out.xyz; call it, say, out.ply"),
        ("clean {cloud} --k 3 --ratio 1 -o no/out.ply", 2, "--output: there is no folder no; make it first"),
        ("clean", 2, "Missing argument 'POINTS'; add it, as in: clfrnn clean cloud.npy --k 16"),
        ("normals {cloud} --radius 1", 2, "'-o'; add it, as in: clfrnn normals cloud.npy --radius 0.1 -o normals.ply"),
        ("normals {cloud} --radius 1 -o a.ply --orient --viewpoint 0 0 1", 2, "--orient, --viewpoint: expected one of"),
        ("normals {cloud} --radius 1 -o a.ply --viewpoint 0 0 no", 2, "'no' is not a valid float"),
        ("normals {cloud} -o a.ply", 2, "Missing option '--radius' or '--k': say how far the points of a normal"),
        ("normals {cloud} --k 8 --orient -o a.ply", 2, "Missing option '--radius': say how far neighbors may be"),
        ("normals {cloud} --k 3 -o a.ply", 2, "pass a whole number of at least 4"),
        ("clean {cloud} --voxel 0", 2, "pass a number above 0"),
        ("surface {cloud} --spacing 0.2 --radius 0.3 -o a.ply", 2, "--spacing: expected at most half of --radius, got"),
        ("surface {cloud} --spacing 0 --radius 0.3 -o a.ply", 2, "pass a number above 0 (the side of the cubes"),
        ("surface {cloud} --spacing 1 --radius nan -o a.ply", 2, "nan is not finite"),
        ("surface {cloud} --spacing 1 --radius 2 -o a.vtk", 2, "that ends in .ply, .obj or .stl, got a.vtk; call it"),
    ],
)
def test_wrong_usage(cloud, command, status, message):
    found, printed = run(*command.format(cloud=cloud).split())
    assert found == status
    assert message in " ".join(printed.split())


def test_a_file_that_is_read_is_not_replaced(tmp_path, plyfile):
    path = tmp_path / "cloud.ply"
    path.write_text("ply")
    status, printed = run("clean", path, "--k", 3, "--ratio", 1, "-o", path)
    assert status == 2
    assert "--output: cloud.ply is read by this command; name another file" in printed


@pytest.mark.parametrize(
    ("module", "said", "message"),
    [
        ("plyfile", ("clean", "--k", 3, "--ratio", 1), "plyfile, which is not installed; pip install 'clfrnn[files]'"),
        ("plyfile", ("normals", "-r", 1), "plyfile, which is not installed; pip install 'clfrnn[files]'"),
        ("scipy.sparse.csgraph", ("surface", "-r", 1, "--spacing", 0.1), "scipy, which is not installed"),
    ],
)
def test_extras_that_are_missing(monkeypatch, cloud, tmp_path, plyfile, module, said, message):
    monkeypatch.setitem(sys.modules, module, None)
    status, printed = run(said[0], cloud, *said[1:], "-o", tmp_path / "out.ply")
    assert status == 1
    assert message in printed
    assert not (tmp_path / "out.ply").exists()
