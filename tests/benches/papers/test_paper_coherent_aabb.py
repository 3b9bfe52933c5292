"""The experiments on trees: their scenes are what they say, and their claims are reckoned the right way up."""

import importlib
import itertools

import numpy as np
import pytest

import clfrnn

pytest.importorskip("asv_benches.papers.coherent_aabb", reason="benchmarks come with a checkout")
configurations, experiments, published, scenes, steps, claims, clock, paper = (
    importlib.import_module(f"asv_benches.papers.{name}")
    for name in (
        "coherent_aabb.configurations",
        "coherent_aabb.experiments",
        "coherent_aabb.published",
        "coherent_aabb.scenes",
        "coherent_aabb.steps",
        "coherent_aabb.claims",
        "clock",
        "paper",
    )
)
AXES = configurations.AXES["paper"]


def results(numbers):
    return paper.Results(scale="paper", plan=configurations.plan("paper"), numbers=numbers, failures={})


# --- scenes -----------------------------------------------------------------------------------------------------------


def test_points_move_within_the_range_and_stay_in_the_cube():
    start = scenes.cube(500)
    path = [start, *scenes.displacements(start, 0.05, 4)]
    most = 0.05 * scenes.diagonal()
    for before, after in itertools.pairwise(path):
        assert after.dtype == np.float32
        assert np.abs(after).max() <= 1
        assert 0 < np.abs(after - before).max() <= most * (1 + 1e-5)
    assert np.abs(path[-1] - start).max() > most


@pytest.mark.parametrize("dim", [2, 5])
def test_a_radius_finds_so_many_neighbors(session, dim):
    points = scenes.cube(600, dim)
    radius = scenes.radius_of(points, 20, queries=600)
    counts = clfrnn.build_index(points, radius, method="brute_force", session=session).count().get()
    assert counts.mean() == pytest.approx(20, abs=0.1)


def test_groups_have_radii_and_sides_alike():
    scene = scenes.groups(3000, 0.01)
    assert scene.points.shape == (3000, 3)
    assert scene.largest == scene.radii.max()
    radii, sides = np.unique(scene.radii), []
    for radius in radii:
        group = scene.points[scene.radii == radius]
        assert len(group) == 1000
        sides.append(np.ptp(group, axis=0).mean())
    np.testing.assert_allclose(radii / radii[0], [1, 2, 3], rtol=1e-5)
    np.testing.assert_allclose(np.array(sides) / sides[0], [1, 2, 3], rtol=0.02)
    upper_left, bottom = (scene.points[scene.radii == radius].mean(axis=0) for radius in (radii[2], radii[0]))
    assert upper_left[1] > bottom[1]


# --- measurements -----------------------------------------------------------------------------------------------------


def test_a_way_that_differs_has_failed(session, monkeypatch):
    axes = configurations.AXES["tiny"]
    case = configurations.ball(axes, 0.1, "aabb_tree")
    monkeypatch.setattr(steps, "expected", lambda *_, **__: np.zeros(axes.spheres, np.int32))
    with pytest.raises(
        steps.DisagreementError, match=r"neighbors where 0 are expected, and other counts at \d+ points"
    ):
        steps.measure(session, case)


@pytest.mark.parametrize("way", ["refit", "rebuild"])
def test_a_rebuild_is_timed_apart_from_refits(session, monkeypatch, way):
    axes, launched = configurations.AXES["tiny"], []

    def seconds(_, stages):
        with session.recorded() as launches:
            for stage in stages:
                stage()
        launched.append([name for name, _ in launches])
        return [clock.Seconds(1.0, 1.0)] * (len(stages) + 1)

    monkeypatch.setattr(steps, "stage_seconds", seconds)
    monkeypatch.setattr(steps, "ENOUGH", 60.0)  # however long this machine takes for as many
    assert steps.measure(session, configurations.update(axes, 400, way))["timed"] == steps.MOST
    rebuilds = [names for names in launched if "fit_ordered" in names]
    assert bool(rebuilds) == (way == "rebuild")
    assert not [names for names in rebuilds[2:] if "fit_again" in names]


def test_the_primary_scheme_has_no_packs(session):
    axes = configurations.AXES["tiny"]
    primary = steps.measure(session, configurations.scheme(axes, 400, 0.1, "primary"))
    coherent = steps.measure(session, configurations.scheme(axes, 400, 0.1, "coherent"))
    assert primary["packed"] == 0
    assert coherent["packed"] == (session.profile.kind == "gpu")
    assert primary["neighbors"] == coherent["neighbors"] > 0


# --- claims -----------------------------------------------------------------------------------------------------------


def test_claims_are_reckoned_the_right_way_up():
    seconds = {"aabb_tree": 0.001, "uniform_grid": 0.002, "strips": 0.004}
    numbers = {}
    for n in AXES.moving:
        for reach in AXES.ranges:
            for k, radius in enumerate(AXES.radii):
                for way, second in seconds.items():
                    slow = 10 if way == "aabb_tree" and reach == AXES.ranges[-1] else 1
                    grown = 1 + k * (way == "uniform_grid")
                    case = configurations.moving(AXES, n, reach, radius, way)
                    numbers[case] = {"step": slow * second * grown, "count": second * grown}
    for n in AXES.schemes:
        for radius in AXES.radii:
            for way, second in zip(configurations.SCHEMES, (0.006, 0.002), strict=True):
                numbers[configurations.scheme(AXES, n, radius, way)] = {"count": second, "packed": 1.0}
    for k, radius in enumerate(AXES.sphere_radii):
        found = {"lists": 1 + k, "nearest": 1 + k / 9, "lists_bytes": 10.0 ** (1 + k), "nearest_bytes": 1.0}
        numbers[configurations.ball(AXES, radius, "aabb_tree")] = found
    for dim in AXES.dims:
        numbers[configurations.dimension(AXES, dim, "aabb_tree")] = {"count": float(dim)}
    for n in AXES.updated:
        for way, second in zip(configurations.UPDATES, (0.001, 0.003, 0.004, 0.004), strict=True):
            numbers[configurations.update(AXES, n, way)] = {"update": second}
    for n, second in zip(AXES.groups, (0.001, 0.02), strict=True):
        for radius in AXES.group_radii:
            for way, each in (("aabb_tree", second), ("uniform_grid", 0.01)):
                numbers[configurations.group(n, radius, way)] = {"step": each}
    section = claims.claims(results(numbers), AXES)
    assert [tuple(row[2:]) for row in section.tables[0].rows] == [
        ("3.00x", "holds"),
        ("2.00 to 6.00x", "holds"),
        ("0.20 to 0.60x", "holds"),
        ("3.00x", "holds"),
        ("10.0x", "holds"),
        ("2.0x", "holds"),
        ("1000000000.0x", "does not hold"),
        ("1.0x", "holds"),
        ("4.00x", "holds"),
        ("4.00x", "holds"),
        ("3.00x", "does not hold"),
        ("10.00x", "holds"),
        ("0.50x", "does not hold"),
    ]


def test_nothing_measured_claims_nothing():
    section = claims.claims(results({}), AXES)
    assert {row[3] for row in section.tables[0].rows} == {""}
    assert {row[2] for row in section.tables[0].rows} == {paper.NOTHING}


def test_tables_show_the_papers_numbers_beside_the_runs():
    by_title = {section.title: section for section in experiments.sections(results({}))}
    rows = by_title["Table 1: larger radii"].tables[0].rows
    assert rows[0][2:6] == ["101", "91", "18", "17"]
    assert rows[-1][2:6] == ["1848", "1397", "1,271", "159"]
    assert by_title["Table 2: refit and rebuild"].tables[0].rows[0][:3] == ["100,000", "0.624", "18.5"]
    assert by_title["Figure 20: three groups with radii 3 r, 2 r and r"].tables[0].rows[2][3:5] == ["62", "0.4"]
    assert set(published.RADII) == set(AXES.sphere_radii)
