"""The AABB paper's applications to surfaces: stand-ins lie evenly on theirs, ways agree, and ratios are right."""

import importlib
import re

import numpy as np
import pytest
from scipy.spatial import KDTree

pytest.importorskip("asv_benches.papers.coherent_aabb", reason="benchmarks come with a checkout")
papers, main, geometry, tables, kd_trees, shapes, statues, steps, paper = (
    importlib.import_module(f"asv_benches.papers{name}")
    for name in (
        "",
        ".__main__",
        ".coherent_aabb.surfaces.measurements",
        ".coherent_aabb.surfaces.tables",
        ".coherent_aabb.surfaces.kd_trees",
        ".shapes",
        ".coherent_aabb.surfaces.statues",
        ".coherent_aabb.steps",
        ".paper",
    )
)
TINY = statues.SCALES_OF_STATUES["tiny"]


def results(numbers, scale="paper"):
    return paper.Results(scale=scale, plan=statues.plan(scale), numbers=numbers, failures={})


# --- stand-ins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_stand_ins_lie_evenly_on_a_surface_with_these_normals(shape):
    n, many = 20_000, 500
    points, normals = shapes.sampled(shape, n)
    assert points.shape == normals.shape == (n, 3)
    assert points.dtype == normals.dtype == np.float32
    assert np.linalg.norm(np.ptp(points, axis=0)) == pytest.approx(shapes.DIAGONAL, rel=1e-4)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
    inner = np.flatnonzero((np.abs(points - points.mean(axis=0)) < 0.45 * np.ptp(points, axis=0)).all(axis=1))[:many]
    balls = KDTree(points).query_ball_point(points[inner], 3.0)
    counts = np.array([len(ball) for ball in balls])
    assert counts.std() < 1.3 * np.sqrt(counts.mean())  # the deviation of even points is 1 of these
    for ball, normal in zip(balls, normals[inner], strict=True):
        assert abs(np.linalg.eigh(np.cov(points[ball].T))[1][:, 0] @ normal) > 0.95


def test_noise_is_across_the_surface():
    flat, rough = (shapes.sampled("knot", 5_000, noise=noise) for noise in (0.0, shapes.NOISE))
    across = ((rough.points - flat.points) * flat.normals).sum(axis=1)
    assert across.std() == pytest.approx(shapes.NOISE * shapes.DIAGONAL, rel=0.05)
    assert np.allclose(rough.points - across[:, None] * flat.normals, flat.points, atol=1e-4)


@pytest.mark.parametrize(("share", "widths"), [(0.0, 4), (0.2, 2)])
def test_a_grid_holds_all_that_is_within_reach(share, widths):
    points = shapes.sampled("knot", 3_000).points
    bounds, width, radius = geometry.grid(points, 256, share, widths)
    assert radius == pytest.approx(share * shapes.DIAGONAL + widths * width)
    assert np.allclose(np.diff(bounds, axis=0), 256 * width)
    assert (bounds[0] <= points.min(axis=0) - 0.999 * radius).all()
    assert (bounds[1] >= points.max(axis=0) + 0.999 * radius).all()


# --- measurements -----------------------------------------------------------------------------------------------------


def test_a_way_that_differs_has_failed(session, monkeypatch):
    case = statues.field(TINY, statues.FIELDS[0], "strips")
    right = geometry.distance_field
    wrong = {"strips": 1.25, "aabb_tree": 1.0}
    monkeypatch.setattr(
        geometry,
        "distance_field",
        lambda points, *given, **named: right(points * np.float32(wrong[named["method"]]), *given, **named),
    )
    with pytest.raises(steps.DisagreementError, match="another field than that of aabb_tree"):
        geometry.measure(session, case)
    moved, expected = np.zeros((2, 2000, 3))
    moved[:3] = 0.1  # two may differ
    with pytest.raises(steps.DisagreementError, match=r"up to 0\.173, at a radius of 2"):
        geometry._compare_positions(moved, expected, 2.0)
    geometry._compare_positions(moved[[*range(1, 2000), 1999]], expected, 2.0)


def test_parts_that_were_not_measured_have_no_sections():
    coherent = papers.PAPERS["coherent-aabb"]
    assert not coherent.sections(results({}))
    case = statues.field(TINY, statues.FIELDS[0], "strips")
    titles = [section.title for section in coherent.sections(results({case: {"kernels": 1.0}}, "tiny"))]
    assert titles == ["Section 5.2: surfaces and distance fields", "Table 3: distance fields"]


def test_scans_are_measured_as_shapes_are_and_left_out_where_they_are_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CLFRNN_SCANS", str(tmp_path))
    coherent = papers.PAPERS["coherent-aabb"]
    here, there = (
        statues.smoothing(TINY, statues.SMOOTHED[0], "strips"),
        statues.wlop(TINY, "strips", statues.SCANNED_KITTEN),
    )
    assert main._present(coherent, [here, there]) == [here]
    assert re.fullmatch(r"left out: .*terrain\.npz is not there; .*\n", capsys.readouterr().out)
    corners = np.float32([[0, 0, 0], [3, 0, 0], [0, 4, 0], [3, 4, 12]])
    np.savez(tmp_path / "cortex.npz", points=corners, triangles=np.int32([[0, 1, 2]]))
    flat, rough = (shapes.sampled("cortex", 5_000, noise=noise) for noise in (0.0, shapes.NOISE))
    assert np.linalg.norm(np.ptp(flat.points, axis=0)) == pytest.approx(shapes.DIAGONAL, rel=1e-4)
    assert (rough.points - flat.points)[:, 2].std() == pytest.approx(shapes.NOISE * shapes.DIAGONAL, rel=0.05)
    np.savez(tmp_path / "terrain.npz", points=corners, triangles=np.empty((0, 3), np.int32))
    assert main._present(coherent, [here, there]) == [here, there]
    returns = shapes.sampled("terrain", 4, noise=shapes.NOISE).points
    assert np.allclose(sorted(returns.tolist()), sorted((corners * np.float32(100 / 13)).tolist()))


def test_a_library_that_is_not_installed_is_left_out_and_has_no_column(monkeypatch, capsys):
    there, absent = (kd_trees.build(100_000, library) for library in ("scipy", "Open3D"))
    monkeypatch.setitem(kd_trees.LIBRARIES, "Open3D", kd_trees.LIBRARIES["Open3D"]._replace(module="absent.nns"))

    assert main._present(papers.PAPERS["coherent-aabb"], [there, absent]) == [there]
    assert capsys.readouterr().out == "left out: Open3D is not installed; pip install open3d\n"
    assert kd_trees.compared(results({there: {"build": 1.0}})) == ["scipy"]


# --- the report -------------------------------------------------------------------------------------------------------


def test_tables_show_the_papers_numbers_beside_the_runs():
    seconds = dict(zip(statues.WAYS, (0.010, 0.020, 0.005, 0.015), strict=True))
    numbers = {
        case: {"kernels": seconds[case.to_dict()["way"]], "wall": 1.0, "neighbors": 12.0, "defined": 0.25}
        for case in statues.plan("paper")
    }
    overview, smoothing, wlop, fields, scanned = tables.sections(results(numbers))
    assert [list(row) for row in overview.tables[0].rows] == [
        ["smoothing", "2.26 to 4.09x", "2.00x", "0.50x", "1.50x"],
        ["WLOP", "2.39x", "2.00x", "0.50x", "1.50x"],
        ["distance fields", "1.56 to 2.09x", "2.00x", "0.50x", "1.50x"],
    ]
    ways, wall = ["10.0", "20.0", "5.0", "15.0"], ["1,000.0"] * 4
    assert smoothing.tables[0].rows[2] == ["Nasa, 889,000", "gyroid, 889,000", "12.0", "8,430", "19,080", *ways]
    assert smoothing.tables[1].rows[2] == ["Nasa, 889,000", "gyroid, 889,000", "9,980", "22,100", *wall]
    assert wlop.tables[0].rows[0] == ["Kitten, 137,000", "tangle, 137,000", "12.0", "11,080", "26,500", *ways]
    assert wlop.tables[1].rows[0][2:4] == ["13,700", "29,700"]
    offset = ["Vase-Lion, offset, 731,000", "knot, 731,000", "0.250", "1,990", "failed", *ways[:3], paper.NOTHING]
    assert fields.tables[0].rows[2] == offset
    assert scanned.tables[0] == overview.tables[0]
    assert scanned.tables[1].rows[1][:2] == ["Japanese-Lady, 176,000", "terrain, 110,000"]
    assert scanned.tables[4].rows[0][2:4] == ["13,700", "29,700"]
    assert scanned.tables[5].rows[1][:3] == ["Buddha, 678,000", "mean-cortex, 678,000", "0.250"]


def test_only_the_offset_surface_of_the_papers_size_leaves_a_way_out():
    missing = {
        scale: [
            statues.field(sizes, one, way).key
            for one in statues.FIELDS
            for way in statues.WAYS
            if statues.field(sizes, one, way) not in statues.plan(scale)
        ]
        for scale, sizes in statues.SCALES_OF_STATUES.items()
    }
    assert missing == {
        "paper": ["cells=256 experiment=field n=731000 shape=knot share=0.2 way=fenns widths=2"],
        "small": [],
        "tiny": [],
    }
