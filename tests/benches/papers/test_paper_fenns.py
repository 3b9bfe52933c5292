"""The experiments of `fenns`: the paper's figures, the grids of its cells, and the checks of its conclusions."""

import importlib
import types

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import structure_of

import clfrnn

pytest.importorskip("matplotlib", reason="plots need matplotlib")
pytest.importorskip("asv_benches.papers.fenns", reason="benchmarks come with a checkout")
claims, configurations, findings, published, steps, building, campaign, paper_parts, record_file = (
    importlib.import_module(f"asv_benches.papers.{name}")
    for name in (
        *(f"fenns.{part}" for part in ("claims", "configurations", "findings", "published", "steps")),
        *("building", "campaign", "paper", "record"),
    )
)
papers = importlib.import_module("asv_benches.papers")
AXES, case, plan = configurations.AXES, configurations.case, configurations.plan
PAPER = AXES["paper"]


# --- the paper's figures --------------------------------------------------------------------------------------------


def test_the_tables_are_whole_and_stand_in_their_columns():
    assert len(published.TIMES) == 3 * 5 * 4 * 3
    known = {
        (1, 1_024, 0.2, "Hoetzlein"): (62.84, 97.71),
        (1, 4_194_304, 1.0, "FENNS"): (35.29, 59.71),
        (2, 524_288, 0.8, "Green"): (8.40, 14.50),
        (3, 4_194_304, 0.3, "FENNS"): (15.57, 27.00),
    }
    for printed, times in known.items():
        assert published.TIMES[published.Printed(*printed)] == times


def test_every_time_of_the_paper_is_measured_again():
    every = set(plan("paper"))
    for scenario, n, radius, way in published.TIMES:
        assert case(PAPER, scenario, n, radius, way) in every
    for scenario, radius in ((1, 0.1), (3, 0.2)):
        assert all(case(PAPER, scenario, n, radius, way) in every for n in PAPER.sizes for way in configurations.WAYS)


@pytest.mark.parametrize(
    ("scenario", "radius", "across"),
    [
        (1, 0.2, 450),
        (1, 0.5, 180),
        (1, 0.8, 112),
        (1, 1.0, 90),
        (1, 0.1, 900),
        (2, 0.2, 18),
        (3, 0.3, 600),
        (3, 0.2, 900),
    ],
)
def test_the_grids_are_those_of_table_4(scenario, radius, across):
    assert configurations.grid_cells(PAPER, scenario, radius) == across**3


def test_the_formulas_of_memory():
    assert published.fenns_bytes(18**3) == 46_656
    assert published.grid_bytes(4_194_304, 450**3) == 33_554_432 + 364_500_000
    assert [findings.bytes_text(number) for number in (12.0, 46_656.0, 398_054_432.0, 5e9, None)] == [
        "12 B",
        "46.7 kB",
        "398 MB",
        "5 GB",
        "-",
    ]


def test_scenarios_1_and_2_share_what_has_no_grid_of_the_papers():
    for way in configurations.WAYS:
        shared = case(PAPER, 1, 1_024, 0.5, way) == case(PAPER, 2, 1_024, 0.5, way)
        assert shared == (way not in configurations.GRIDS)


# --- what is measured -----------------------------------------------------------------------------------------------


@pytest.fixture
def cloud(session):
    return cla.to_device(session.queue, np.random.default_rng(5).random((700, 3), np.float32) * np.float32(10))


@pytest.mark.parametrize("construction", ["counting", "sort"])
@pytest.mark.parametrize("side", [1.4, 2.5])
def test_a_grid_of_a_side_has_it_and_finds_the_same(session, cloud, construction, side):
    index = building.build_by(steps.GridOfSide(side), session, cloud, 0.7, construction=construction)
    assert structure_of(index).cell_grid.sides == pytest.approx((side,) * 3)
    expected = clfrnn.build_index(cloud, 0.7, method="brute_force", session=session).count().get()
    assert expected.any()
    assert np.array_equal(index.count().get(), expected)
    index.update(cloud)
    assert structure_of(index).cell_grid.sides == pytest.approx((side,) * 3)
    assert np.array_equal(index.count().get(), expected)
    index.check()
    assert any(construction in line for line in structure_of(index).describe())


def measurement(**facts):
    dense = {"n": 400, "scene": 8.0, "radius": 1.0, "steps": 2, "method": "strips"}
    return paper_parts.Measurement.of(**{**dense, **facts})


def test_memory_is_what_one_index_takes_whatever_was_measured_before(session):
    grid = {"method": "uniform_grid", "side": 2.0}
    first = steps.measure(session, measurement(construction="counting", **grid))
    steps.measure(session, measurement(construction="sort", **grid))
    second = steps.measure(session, measurement(construction="counting", **grid))
    lanes = 4 * 4 * 400
    assert first["copy"] in (lanes, lanes + 4 * 7), "room for a batch of candidates behind the last"
    assert first["kept"] == second["kept"] == 4 * (4**3 + 1)
    assert first["build"] == second["build"] > first["kept"] + 3 * 4 * 400 - lanes
    assert first["neighbors"] == second["neighbors"] > 1


def test_a_way_that_counts_otherwise_has_failed(session, tmp_path, monkeypatch):
    honest = steps._counts(session, 400, 8.0, 1.0)
    wrong = honest.copy()
    wrong[[0, 1]] += np.int32([1, -1])  # the totals agree
    monkeypatch.setattr(steps, "_counts", lambda *_: wrong)
    with pytest.raises(steps.DisagreementError, match=r"counts at 2 points"):
        steps.measure(session, measurement())
    facts = {**dict.fromkeys(record_file.DECISIVE, "x"), "scale": "tiny", "paper": "fenns", "date": "2020-02-02"}
    record = record_file.Record.open(tmp_path, facts)
    outcome = campaign.measure_missing(session, papers.PAPERS["fenns"], [measurement()], record)
    assert (outcome.measured, outcome.failed) == (1, 1)
    monkeypatch.undo()
    assert campaign.measure_missing(session, papers.PAPERS["fenns"], [measurement()], record).failed == 0


@pytest.mark.parametrize(("most", "seconds", "timed"), [(2, 0.0, 2), (40, 0.0, 40), (40, 0.2, 5), (40, 0.07, 8)])
def test_steps_are_timed_until_there_are_enough(monkeypatch, most, seconds, timed):
    now = [0.0]

    def stages(session, stages):
        now[0] += seconds
        return []

    monkeypatch.setattr(steps, "stage_seconds", stages)
    monkeypatch.setattr(steps, "time", types.SimpleNamespace(perf_counter=lambda: now[0]))
    index = types.SimpleNamespace(update=None, count=None)
    assert len(steps._laps(None, index, None, most)) == timed


def test_a_step_has_quartiles_and_the_number_of_its_runs():
    found = steps._typical([[steps.Seconds(span, span / 2)] * 3 for span in (1.0, 2.0, 3.0, 4.0, 9.0)])
    assert found | {"step": 3.0, "step_low": 2.0, "step_high": 4.0, "kernels": 1.5, "timed": 5.0} == found
    one = measurement()
    results = paper_parts.Results(scale="tiny", plan=[one], numbers={one: found}, failures={})
    assert results.spread(one, "step", ".1f") == "3.0 (2.0 to 4.0)"
    assert results.spread(one, "kernels", ".1f", scale=10) == "15.0"


# --- the conclusions ------------------------------------------------------------------------------------------------


def made(seconds, *, failures=()):
    """Results of the paper's plan: what `seconds` says of a scenario, n, radius and way, and memory in proportion."""
    numbers = {}
    memory = {"Hoetzlein": 3e6, "Green": 4e6, "FENNS": 46_660.0, "FENNS, default": 1e5, "strips": 2e6}
    for scenario in configurations.SCENES:
        for n in PAPER.sizes:
            for radius in PAPER.radii[scenario]:
                for way in configurations.WAYS:
                    step = seconds(scenario, n, radius, way)
                    if step is not None:
                        found = {"step": step, "kernels": step / 2, "kept": memory[way], "build": 2 * memory[way]}
                        numbers[case(PAPER, scenario, n, radius, way)] = found
    for each in failures:
        numbers.pop(each, None)
    return paper_parts.Results(scale="paper", plan=plan("paper"), numbers=numbers, failures=dict(failures))


def told(results):
    """By conclusion: whether it holds, and the columns of this run."""
    section = claims.claims(results, PAPER)
    return {row[0]: (row[2], *row[-2:]) for table in section.tables for row in table.rows}


def as_the_paper_says(scenario, n, radius, way):
    """FENNS is slower with the radius and faster in scenario 3, grids fall, on coarse cells they are level and slow."""
    if way in configurations.FENNS_WAYS:
        return (0.010 if scenario < 3 else 0.005) * (1 + radius) * (1 if way == "FENNS" else 2)
    if scenario == 2 and way in configurations.GRIDS:
        return 0.080
    return 0.030 / radius


def test_conclusions_that_hold():
    found = told(made(as_the_paper_says))
    assert found["scenario 1: FENNS is faster than both grids"] == ("holds", "20 of 20", "15 of 20")
    assert found["scenario 1: FENNS is faster than both grids, in kernels"] == ("", "20 of 20", "15 of 20")
    # 0.1 s to 0.0065 s at r = 0.3 in scenario 3
    assert found["scenarios 1 and 3: FENNS's largest lead over a grid"] == ("does not hold", "15.4x", "7.69x")
    assert found["scenario 1: FENNS over the faster grid, at the most"] == ("holds", "0.67x", "1.33x")
    assert found["scenario 1: FENNS takes longer as the radius grows"] == ("holds", *["1.67x (1.67x)"] * 2)
    assert found["scenario 1: grid by sorting is faster as the radius grows"] == ("holds", *["5x (5x)"] * 2)
    assert found["scenario 2: grid by counting, most over least"] == ("holds", "1.00x", "1.00x")
    assert found["scenario 2: grids over FENNS, most points"] == ("holds", "4.00 to 6.67x", "2.00 to 3.33x")
    assert found["FENNS in scenario 1 over scenario 3, most points"] == ("holds", "2.00x", "2.00x")
    assert found["strips over FENNS"][1] == "1.50 to 15.38x"
    assert found["FENNS keeps beside the points"] == ("holds; by default does not hold", "46.7 kB", "100 kB")
    assert found["grids over FENNS, memory beside the points"] == ("holds", "64.3 to 85.7x", "30.0 to 40.0x")
    assert found["grids at r = 0.1 in scenario 1 and 0.2 in 3"] == ("does not hold", *["6 MB, 6 MB"] * 2)


def test_conclusions_that_do_not_hold():
    def otherwise(scenario, n, radius, way):
        if way in configurations.FENNS_WAYS:
            return 0.040 / (1 + radius) * (2 if scenario == 3 else 1)
        return 0.010 * (1 + radius)

    found = told(made(otherwise))
    assert found["scenario 1: FENNS is faster than both grids"] == ("does not hold", *["0 of 20"] * 2)
    assert found["scenario 2: FENNS over the faster grid, at the most"] == ("holds", *["2.78x"] * 2)
    assert found["scenario 3: FENNS over the faster grid, at the most"] == ("does not hold", *["4.73x"] * 2)
    assert found["scenario 1: FENNS takes longer as the radius grows"][0] == "does not hold"
    assert found["scenario 1: grid by counting is faster as the radius grows"][0] == "does not hold"
    assert found["scenario 2: grid by sorting, most over least"] == ("does not hold", *["1.67x"] * 2)
    assert found["scenario 2: grids over FENNS, most points"][0] == "does not hold"
    assert found["FENNS in scenario 1 over scenario 3, most points"][:2] == ("does not hold", "0.50x")


def test_the_papers_own_tables_are_reckoned_the_same_way():
    times = findings.paper_times(PAPER, 0)
    assert findings.wins(times, 1) == ("13 of 20", True)
    assert findings.grows(times) == ("2.06x (1.09 to 2.06x)", True)
    assert findings.falls(times, "Hoetzlein") == ("3.33x (3.33 to 86.1x)", True)
    assert findings.flat(times, "Hoetzlein") == ("1.00x", True)
    assert findings.likes_room(times) == ("1.36 to 1.48x", True)
    assert findings.leads_on_coarse_cells(times) == ("11.74 to 24.66x", True)


def test_what_is_not_measured_decides_nothing():
    def grids_only(scenario, n, radius, way):
        return 0.03 / radius if way in configurations.GRIDS else None

    found = told(made(grids_only))
    assert found["scenario 1: FENNS is faster than both grids"] == ("not measured", "-", "-")
    assert found["scenario 1: grid by sorting is faster as the radius grows"][0] == "holds"
    assert found["FENNS keeps beside the points"] == ("not measured", "-", "-")
    missing = told(made(lambda *at: None if at[:3] == (3, 4_194_304, 0.8) else as_the_paper_says(*at)))
    assert missing["FENNS in scenario 1 over scenario 3, most points"][0] == "not measured"


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("DeviceMemoryError: needs 9 bytes", ("holds", "no room", "no room")),
        ("Error: lost", ("not measured", "-", "-")),
    ],
)
def test_only_a_lack_of_memory_is_no_room(why, expected):
    failed = case(PAPER, 1, PAPER.sizes[-1], 0.1, "Hoetzlein")
    found = told(made(as_the_paper_says, failures={failed: why}))
    assert found["grids at r = 0.1 in scenario 1 and 0.2 in 3"] == expected


def test_tables_show_the_papers_times_and_this_runs_in_one_row():
    results = made(as_the_paper_says)
    by_title = {section.title: section for section in papers.PAPERS["fenns"].sections(results)}
    rows = by_title["Scenario 1: a cube of side 180"].tables[0].rows
    (row,) = (row for row in rows if row[:2] == ["4,194,304", "0.5"])
    assert row[3:] == [
        "29.13 / 36.72",
        "26.27 / 38.34",
        "24.47 / 41.06",
        "60.000",
        "60.000",
        "15.000",
        "30.000",
        "60.000",
    ]
    (row,) = (row for row in rows if row[:2] == ["1,024", "0.1"])
    assert row[3:6] == ["no room", "no room", "not run"]
    (row,) = (row for row in by_title["Additional memory"].tables[0].rows if row[:2] == ["1", "0.1"])
    assert row[2:5] == ["900³", "2.95 GB", "3 MB, 6 MB"]
    lines = by_title["Time over the radius"].plot.panels[2].series["FENNS"]
    assert lines == ([0.2, 0.3, 0.5, 0.8, 1.0], pytest.approx([6.0, 6.5, 7.5, 9.0, 10.0]))
