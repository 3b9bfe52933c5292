"""The paper's simulations on trees: runs that hold together, and tables that say what was measured."""

import importlib
import types

import numpy as np
import pytest

import clfrnn

pytest.importorskip("asv_benches.papers.coherent_aabb", reason="benchmarks come with a checkout")
coherent_aabb, falling, fluid_tables, fluids, paper = (
    importlib.import_module(f"asv_benches.papers.{name}")
    for name in (
        "coherent_aabb",
        "coherent_aabb.falling",
        "coherent_aabb.fluid_tables",
        "coherent_aabb.fluids",
        "paper",
    )
)
SIZES = fluids.SCALES_OF_FLUIDS["paper"]


def results(numbers):
    return paper.Results(scale="paper", plan=coherent_aabb.plan("paper"), numbers=numbers, failures={})


@pytest.mark.parametrize("experiment", ["fluid", "springs", "falling"])
def test_a_run_counts_its_new_orders_and_shows_its_course(session, experiment):
    sizes = fluids.SCALES_OF_FLUIDS["tiny"]
    case = {
        "fluid": fluids.fluid(sizes, sizes.fluid[0], "aabb_tree"),
        "springs": fluids.springs(sizes, sizes.fluid[0], "aabb_tree"),
        "falling": fluids.falling(sizes, sizes.radii[0], "aabb_tree"),
    }[experiment]

    numbers = coherent_aabb.measure(session, case)

    steps = case.to_dict()["steps"]
    parts = [value for name, value in numbers.items() if name.startswith("part_")]
    assert len(parts) == min(steps, fluids.PARTS_OF_RUN)
    assert min(parts) <= numbers["step"] <= max(parts) <= numbers["longest"]
    assert 0 <= numbers["rebuilt"] <= steps
    assert numbers["neighbors"] > 0
    assert numbers["rate"] > 0


def test_groups_fall_within_the_box_and_push_each_other_alike(session):
    groups = falling.Falling(300, 0.02, session=session, method="strips")
    start = groups.positions.get()
    groups.step(20)
    moved = groups.positions.get()
    momentum = groups.velocities.get().astype(float).sum(axis=0)

    assert moved.min() >= 0
    assert moved.max() <= 1
    assert (moved[:, 1] < start[:, 1]).mean() > 0.5
    assert momentum[2] == pytest.approx(0, abs=1e-2), "across the box nobody is near a wall"


def test_tables_show_the_papers_rates_beside_the_runs():
    numbers = {}
    for way, second in zip(fluids.WAYS, (0.002, 0.005, 0.001), strict=True):
        found = {"step": second, "rate": 1 / second, "rebuilt": 7.0, "longest": 0.01, "neighbors": 50.0, "part_00": 1.0}
        numbers[fluids.fluid(SIZES, 250_000, way)] = found
        numbers[fluids.springs(SIZES, 250_000, way)] = found
        numbers[fluids.falling(SIZES, 0.01, way)] = found
    springs, fluid, groups = coherent_aabb.sections(results(numbers))
    ours = ["50.0", "2.000", "5.000", "1.000", "500.0", "200.0", "1,000.0", "7", "10.000", "2.50x"]

    assert springs.tables[0].rows == fluid.tables[0].rows
    assert fluid.tables[0].rows == [["250,000", "13.84", "3.662", *ours]]
    assert groups.tables[0].rows == [["0.01", "62", "0.4", *ours]]
    assert len(fluid.tables[0].header) == len(fluid.tables[0].rows[0])
    assert fluid.plot.panels[0].series["aabb_tree"][1][:2] == [1000.0, None]
    assert np.diff(fluid.plot.panels[0].series["strips"][0]) == pytest.approx(SIZES.steps / fluids.PARTS_OF_RUN)


def test_a_run_whose_counts_differ_has_failed(session):
    points = np.random.default_rng(0).random((50, 3), np.float32)
    run = types.SimpleNamespace(index=clfrnn.build_index(points, 0.3, session=session), positions=points)
    assert fluids._compared(session, run) > 0
    run.positions = 2 * points
    with pytest.raises(fluids.DisagreementError, match="other counts at the end"):
        fluids._compared(session, run)
