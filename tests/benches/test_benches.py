"""The benchmarks run, and find neighbors."""

import dataclasses
import importlib
import inspect
import pkgutil
import time

import numpy as np
import pyopencl
import pytest
from click import ClickException
from click.testing import CliRunner
from conftest import position

benchmarks = pytest.importorskip("asv_benches.benchmarks", reason="benchmarks come with a checkout")
common = importlib.import_module("asv_benches.benchmarks.common")
named = importlib.import_module("asv_benches.named")

pytestmark = pytest.mark.long

MODULES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "common")


def classes():
    """Every benchmark of every module."""
    for name in MODULES:
        module = importlib.import_module(f"asv_benches.benchmarks.{name}")
        yield from (
            pytest.param(value, id=f"{name}-{value.__name__}")
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and not inspect.isabstract(value)
        )


@pytest.fixture
def small(monkeypatch, session):
    """Every logical device is the one under test, every cloud small."""
    original, timed = common.cloud, common.profiled(session.device)
    for name in MODULES:
        module = importlib.import_module(f"asv_benches.benchmarks.{name}")
        for fake, value in (("session", lambda _: timed), ("cloud", lambda name, _, k: original(name, 2000, k))):
            for place in (module, common):
                if hasattr(place, fake):
                    monkeypatch.setattr(place, fake, value)
    public = importlib.import_module("asv_benches.benchmarks.public")
    monkeypatch.setattr(public, "POINTS", dict.fromkeys(public.POINTS, 2000))
    monkeypatch.setattr(public, "ENOUGH", 0)
    yield
    common.case.cache_clear()
    common.wall_case.cache_clear()
    periodic = importlib.import_module("asv_benches.benchmarks.periodic")
    periodic.periodic_case.cache_clear()
    periodic.cell_case.cache_clear()
    importlib.import_module("asv_benches.benchmarks.batches").batch_case.cache_clear()
    importlib.import_module("asv_benches.benchmarks.models").model_case.cache_clear()


@pytest.mark.parametrize("bench", list(classes()))
def test_every_benchmark_runs_and_finds_neighbors(small, bench):
    parameters = [axis[0] if axis[0] != 65_536 else 2000 for axis in getattr(bench, "params", ())]
    if parameters and bench.__module__.endswith("startup"):
        pytest.skip("a process of its own, which knows nothing of the device under test")
    bench = bench()
    if hasattr(bench, "setup"):
        bench.setup(*parameters)
    names = [name for name in dir(bench) if name.startswith(("time_", "track_"))]
    assert names
    for name in names:
        value = getattr(bench, name)(*parameters)
        if name.startswith("track_"):
            assert value > 0
            assert getattr(bench, name).unit in {"seconds", "bytes"}
    if hasattr(bench, "case"):
        assert bench.case.pairs > 0


@pytest.mark.parametrize(("name", "neighbors"), [("uniform", 10), ("uniform", 50), ("shell", 10), ("shell", 50)])
def test_clouds_have_about_so_many_neighbors(session, name, neighbors):
    points, radius = common.cloud(name, 20_000, neighbors)
    found = common.Case(session, points, radius).pairs / len(points)
    assert 0.7 * neighbors < found < 1.2 * neighbors


def test_times_on_the_device_and_by_the_wall(session):
    """Kernels take less than the step, gaps and waits included; on a plain queue there is the wall clock alone."""
    timed = common.profiled(session.device)
    assert common.has_event_times(timed) == (session.device.profiling_timer_resolution > 0)
    for each in (session, timed):
        case = common.Case(each, *common.cloud("uniform", 2000, 10), method="strips")
        times = common.timed(each, case.index.count, 5)
        assert 0 < times.kernels <= times.span
        assert not common.has_event_times(session)
        if not common.has_event_times(each):
            assert times.kernels == times.span == times.wall


def test_steps_in_turn(session):
    """Each as often as the others, after warm-up; one that takes long its third time alone."""
    done = []

    def slow():
        done.append("slow")
        time.sleep(0.02)

    quick, long, other = common.timed_in_turn(
        session, [lambda: done.append("quick"), slow, lambda: done.append("other")], repeats=8, enough=0.1
    )

    assert done[:7] == ["quick", "quick", "slow", "slow", "other", "other", "slow"]
    rounds = list(zip(done[7::2], done[8::2], strict=True))
    assert all(set(each) == {"quick", "other"} for each in rounds)
    assert len(set(rounds)) == 2, "in either order"
    assert 5 <= len(rounds) - 1 <= 8
    assert min(quick.wall, long.wall, other.wall) > 0


def test_two_checkouts_in_turns(session):
    """Both are this one here: a row for each step and clock."""
    versions = importlib.import_module("asv_benches.versions")
    served = importlib.import_module("asv_benches.served")
    asked = [str(versions.ROOT), "--device", position(session), "--rounds", "2", "--scale", "256"]

    done = CliRunner().invoke(versions.main, asked)

    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{session.profile}, 2 rounds")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.output.splitlines()[4:]]
    clocks = ["wall", "loop", *(["span"] if session.device.profiling_timer_resolution else [])]
    assert len(rows) == 2 * len(served.CLOUDS) * len(clocks)
    assert rows[0][:3] == ["256, 3 neighbors", "counts", "wall"]
    assert {row[2] for row in rows} == set(clocks)
    assert all(float(time) > 0 for row in rows for time in row[3:])


def test_a_process_that_finds_another_clfrnn(session, tmp_path):
    """Its times would be those of this checkout under the name of the other."""
    versions = importlib.import_module("asv_benches.versions")
    (tmp_path / "clfrnn").mkdir()
    served = f"print({str(versions.ROOT / 'clfrnn')!r}, 'a device', sep='\\t')"
    (tmp_path / "served.py").write_text(served)

    with pytest.raises(ClickException, match="found the clfrnn of"):
        versions.Checkout(tmp_path, position(session), 256, served=tmp_path / "served.py")


def test_where_the_wall_time_of_a_step_goes(session, monkeypatch):
    """To launches and copies, that are counted, to waiting, and to Python, in columns that add up."""
    split = importlib.import_module("asv_benches.split")
    monkeypatch.setattr(split, "NAMES", split.NAMES[-1:])
    monkeypatch.setattr(split, "WAITED", 8)
    monkeypatch.setattr(split, "LOOPS", 4)
    before = pyopencl.enqueue_nd_range_kernel, pyopencl.enqueue_copy, pyopencl.CommandQueue.finish

    done = CliRunner().invoke(split.main, ["--device", position(session), "--scale", "256"])

    assert done.exit_code == 0, done.output
    assert (pyopencl.enqueue_nd_range_kernel, pyopencl.enqueue_copy, pyopencl.CommandQueue.finish) == before
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.output.splitlines()[4:]]
    assert [row[1] for row in rows] == ["count", "count, in a loop", "lists", "lists, in a loop"]
    for row in rows:
        launches = int(row[4].split()[1].strip("()"))
        assert launches >= (4 if "lists" in row[1] else 2)
        assert float(row[-1]) > 0, "Python takes some of it"


def test_a_call_within_another_is_counted_once(monkeypatch):
    """Waiting for a copy may start it."""
    split = importlib.import_module("asv_benches.split")
    clock = iter([0.0, 1.0, 5.0, 7.0, 10.0, 12.0])
    monkeypatch.setattr(split.time, "perf_counter", lambda: next(clock))
    ledger = split.Ledger()
    copy = ledger._timed("copies", lambda: None)
    wait = ledger._timed("waiting", copy)

    wait()
    copy()

    assert ledger.seconds == {"copies": 4 + 2, "waiting": 7 - 4}
    assert ledger.calls == {"copies": 2, "waiting": 1}


def test_a_method_that_takes_far_too_long_is_timed_once(session, monkeypatch):
    choice = importlib.import_module("asv_benches.choice")
    monkeypatch.setattr(choice, "HOPELESS", 1.0)
    cloud = choice.Kind("uniform", 250, 0.1)

    steps = choice.measure(session, cloud, ["strips", "aabb_tree"])

    assert set(steps.counts) == {"strips", "aabb_tree"}
    (sooner,) = steps.lists
    other = next(name for name in steps.counts if name != sooner)
    assert choice.times_the_best(steps.lists, sooner) == "1.00"
    assert choice.times_the_best(steps.lists, other) == "> 1"


def test_what_is_no_checkout_is_refused(tmp_path):
    versions = importlib.import_module("asv_benches.versions")

    done = CliRunner().invoke(versions.main, [str(tmp_path)])

    assert done.exit_code == 2
    assert f"expected a checkout with a folder clfrnn, got {tmp_path}" in done.output.replace("\n", "")


def test_an_absent_device_is_skipped():
    absent = [
        name
        for name, platform in common.PLATFORMS.items()
        if not any(platform in device.platform.name for device in common.list_devices())
    ]
    for name in absent:
        with pytest.raises(NotImplementedError, match=name):  # what asv takes for "skip"
            common.session.__wrapped__(name)


def test_the_methods_that_auto_chooses_from(session):
    """Rows of both methods, which agree in what they find, and what auto takes."""
    choice = importlib.import_module("asv_benches.choice")
    arguments = ["--device", position(session), "--points", "1500", "--neighbors", "3"]

    done = CliRunner().invoke(choice.main, arguments)

    assert done.exit_code == 0, done.output
    rows = [line for line in done.output.splitlines() if line.startswith("| 1,500 |")]
    assert len(rows) == (5 if session.profile.fp64 else 4)
    assert {row.split(" | ")[-1] for row in rows} <= {"strips |", "fenns |"}


def test_all_methods_beside_each_other(session):
    """A row for each cloud of so many points, with the time of each method and how far auto is from the best."""
    choice = importlib.import_module("asv_benches.choice")

    done = CliRunner().invoke(choice.main, ["--device", position(session), "--set", "--points", "250"])

    assert done.exit_code == 0, done.output
    *_, titles, _, few, many, periodic = (line.strip("| ").split(" | ") for line in done.output.splitlines())
    assert periodic[0] == "uniform, periodic"
    for row in (few, many, periodic):
        assert len(row) == len(titles) == 17
        own = choice.ALL.index(row[14])
        for kind, over in ((row[4:9], row[15]), (row[9:14], row[16])):
            # what a busy machine delays is taken for hopeless, and has no time
            best = min(float(each) for each in kind if each)
            expected = float(kind[own]) / best if kind[own] else choice.HOPELESS
            assert float(over.removeprefix("> ")) == pytest.approx(expected, rel=0.1)


def test_dimensions_that_no_grid_serves_have_no_times_of_grids(session):
    choice = importlib.import_module("asv_benches.choice")

    done = CliRunner().invoke(choice.main, ["--device", position(session), "--set", "--points", "500"])

    assert done.exit_code == 0, done.output
    rows = [line.removeprefix("|").split("|") for line in done.output.splitlines() if line.startswith("| uniform, ")]
    assert [row[0].strip() for row in rows] == [f"uniform, {dim}D" for dim in (1, 4, 6, 12)]
    timed = {name for row in rows for name, time in zip(choice.ALL, row[4:9], strict=True) if time.strip()}
    assert timed == {"aabb_tree", "brute_force"}


@pytest.mark.parametrize("many", [[], ["--queries", "300"]], ids=["their own", "queries"])
def test_few_points_are_searched_once(session, monkeypatch, many):
    """In a session as users have it, where launches take no longer than theirs."""
    choice = importlib.import_module("asv_benches.choice")
    monkeypatch.setattr(choice, "FEW", choice.FEW[:1])
    asked, clock = [], choice.timed_in_turn
    monkeypatch.setattr(
        choice, "timed_in_turn", lambda session, *steps: asked.append(session) or clock(session, *steps)
    )

    done = CliRunner().invoke(choice.main, ["--device", position(session), "--once", *many])

    assert done.exit_code == 0, done.output
    cells = [each.strip() for each in done.output.splitlines()[-1].strip("|").split("|")]
    assert not many or cells.pop(3) == many[-1]
    *times, auto, over = map(float, cells[3:])
    assert len(times) == 5
    assert over == pytest.approx(auto / min(times), rel=0.1)
    assert len(asked) == 1
    assert not any(common.has_event_times(each) for each in asked)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "--points", "77"], "no cloud of the set has 77 points, but 250, 500, 1000"),
        (["--set", "--neighbors", "3"], "--neighbors is for strips beside fenns"),
        (["--once", "--points", "250"], "--points is not for --once"),
        (["--set", "--once"], "ask for one of them"),
        (["--once", "--kind", "shell"], "--kind is for --set"),
        (["--queries", "100"], "--queries is for --once"),
    ],
)
def test_options_of_other_tables_are_refused(arguments, said):
    choice = importlib.import_module("asv_benches.choice")

    done = CliRunner().invoke(choice.main, arguments)

    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("\u2502", " ").split())


def test_trees_beside_grids(session, monkeypatch):
    """Times of making, fitting and searching a tree, and how it stands beside a grid."""
    trees, quick = (importlib.import_module(f"asv_benches.{name}") for name in ("trees", "quick"))
    monkeypatch.setattr(trees, "SMALL", {"tiny": lambda: (named.cube(700), 0.2)})
    monkeypatch.setattr(trees, "FEW_POINTS", 2000)
    for module in (trees, quick):
        monkeypatch.setattr(module, "STEPS", 2)

    done = CliRunner().invoke(trees.main, ["--device", position(session), "--small"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines() if line.startswith("|")]
    titles, _, (name, *figures), _, _, *radii = rows
    assert (name, len(figures)) == ("tiny", len(titles) - 1)
    *times, step, grid, over = map(float, figures)
    assert min(times) > 0
    assert over == pytest.approx(step / grid, rel=0.05)
    assert [float(row[0]) for row in radii] == pytest.approx([8.06 * each for each in trees.LARGEST], rel=0.01)
    assert all(float(row[1]) > 0 for row in radii[1:])


def test_steps_of_models(session, monkeypatch):
    models = importlib.import_module("asv_benches.models")
    rows = [row._replace(settled=2) for row in models._small(200) if row.name in {"Spheres", "Keratinocytes"}]
    monkeypatch.setattr(models, "_small", lambda n: rows)
    monkeypatch.setattr(models, "LAP", 2)

    done = CliRunner().invoke(models.main, ["--device", position(session), "--small"])

    assert done.exit_code == 0, done.output
    _, _, spheres, cells = [line.strip("| ").split(" | ") for line in done.output.splitlines() if line.startswith("|")]
    assert spheres[:3] == ["Spheres", "200", "2"]
    assert float(spheres[4]) > 0
    assert float(spheres[6].replace(",", "")) == pytest.approx(1e3 / float(spheres[5]), rel=0.01)
    assert int(cells[1]) >= 200


def test_queries_that_are_no_points(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(800), 0.2)})
    monkeypatch.setattr(quick, "STEPS", 2)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--foreign"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines()[-4:]]
    assert [row[:2] for row in rows] == [["tiny", each] for each in ("the points", "800", "200", "50")]
    assert all(float(each) > 0 for row in rows for each in row[2:])


def test_what_lists_carry(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(800), 0.2)})
    monkeypatch.setattr(quick, "STEPS", 2)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--carried"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines()[-2:]]
    assert [row[:2] for row in rows] == [["tiny", "open"], ["tiny", "periodic"]]
    assert all(float(each) > 0 for row in rows for each in row[2:])


def test_conditions_beside_plain_queries(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(800), 0.2)})
    monkeypatch.setattr(quick, "STEPS", 2)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--where"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines()[-2:]]
    assert [row[:2] for row in rows] == [["tiny", "count"], ["tiny", "lists"]]
    assert all(float(each.split()[0]) > 0 for row in rows for each in row[2:])


def test_sides_of_cells_and_their_prices(session, monkeypatch):
    sides = importlib.import_module("asv_benches.sides")
    monkeypatch.setattr(sides, "UNIFORM", {(3, "float32"): (0.5, 40.0), (2, "float32"): (20.0,)})
    monkeypatch.setattr(sides, "FEW_POINTS", 700)
    monkeypatch.setattr(sides, "STEPS", 2)

    done = CliRunner().invoke(sides.main, ["--device", position(session), "--small"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("|").split("|") for line in done.output.splitlines() if line.startswith("|")]
    titles, _, *clouds, names, _, in_3d, in_2d = [[cell.strip() for cell in row] for row in rows]
    assert [row[0] for row in clouds] == [
        "3D, 0.5 neighbors",
        "3D, 40 neighbors",
        "2D, 20 neighbors",
        "shell, 50 neighbors",
        "clusters, 8 neighbors",
    ]
    for _, *times, over in clouds:
        assert len(times) == len(titles) - 2
        bold = [time for time in times if time.startswith("**")]
        assert len(bold) == 1, "one is taken"
        least = min(float(time.strip("*")) for time in times if time)
        assert float(over) == pytest.approx(float(bold[0].strip("*")) / least, abs=0.1)
    assert clouds[0][1], "sparse points have cells of their own"
    assert not clouds[1][1]
    assert len(names) == len(in_3d) == len(in_2d) == 7
    assert all(float(price) >= 0 for price in (*in_3d[1:6], *in_2d[1:6]))


def test_prices_are_found_again():
    """Those that times were made of."""
    sides = importlib.import_module("asv_benches.sides")
    rng = np.random.default_rng(0)
    prices = sides.Prices(query=130.0, row=12.0, stranger=2.5, cell=5.0)
    cloud = sides.Cloud("made up", np.zeros((10, 3)), 1.0)
    rows = []
    for _ in range(20):
        met = {name: float(rng.random() * 100) for name in ("rows", "candidates", "strangers", "cells")}
        foreseen = sides.SideCost(sides=(1.0,) * 3, wrapped=False, cost=0.0, **met)
        update = 30 + prices.cell * met["cells"]
        count = 100 + prices.row * met["rows"] + met["candidates"] + prices.stranger * met["strangers"]
        rows.append(sides.Measured(cloud, 2e-12 * update, 2e-12 * count, foreseen))

    found, test, error = sides.fit_prices(rows)

    assert test == pytest.approx(2e-12)
    assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(prices))
    assert error < 1e-6


def test_tests_that_took_no_time_have_a_price():
    sides = importlib.import_module("asv_benches.sides")
    cloud = sides.Cloud("made up", np.zeros((10, 3)), 1.0)
    rows = []
    for many in (1.0, 20.0, 300.0):
        part = {"rows": many, "candidates": many**2, "strangers": many**0.5, "cells": many}
        foreseen = sides.SideCost(sides=(1.0,) * 3, wrapped=False, cost=0.0, **part)
        rows.append(sides.Measured(cloud, 1e-9, 1e-9, foreseen))

    found, test, _ = sides.fit_prices(rows)

    assert test == sides.LEAST
    assert found.query > 0


def test_kernels_of_a_step(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(700), 0.2)})
    monkeypatch.setattr(quick, "STEPS", 2)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--kernels"])

    if not session.device.profiling_timer_resolution:
        assert "does not tell how long kernels take" in done.output
        return
    assert done.exit_code == 0, done.output
    for row, what in zip(done.output.splitlines()[-2:], ("count", "lists"), strict=True):
        name, step, together, kernels = row.strip("| ").split(" | ")
        assert (name, step) == ("tiny", what)
        times = [float(each.split()[1]) for each in kernels.split(", ")]
        assert sum(times) == pytest.approx(float(together), abs=0.06 * len(times))
        assert "frnn_visit" in kernels


def test_points_in_order_beside_others(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(700), 0.2)})
    monkeypatch.setattr(named, "STEPS", 2)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--ordered"])

    assert done.exit_code == 0, done.output
    name, *times = done.output.splitlines()[-1].strip("| ").split(" | ")
    assert name == "tiny"
    assert len(times) == 9
    assert all(float(each) > 0 for each in times)


def test_order_of_space_and_small_moves():
    points, radius = named.cube(5000, 180.0), 9.0
    ordered = common.in_order(points, radius)
    away = np.linalg.norm(named.moved(ordered, radius) - ordered, axis=1)
    assert sorted(map(tuple, ordered)) == sorted(map(tuple, points))
    assert (
        np.linalg.norm(np.diff(ordered, axis=0), axis=1).mean()
        < 0.5 * np.linalg.norm(np.diff(points, axis=0), axis=1).mean()
    ), "points that follow each other lie beside each other"
    assert 0 < away.mean() < 0.25 * radius


def test_lists_too_long_for_memory_are_measured_by_blocks(session, monkeypatch):
    quick = importlib.import_module("asv_benches.quick")
    monkeypatch.setattr(quick, "SMALL", {"tiny": lambda: (named.cube(700), 0.2)})
    monkeypatch.setattr(named, "STEPS", 2)
    for name, value in (("MOST_PAIRS", 100), ("BLOCK", 20_000)):
        monkeypatch.setattr(quick, name, value)
    steps = quick.steps_of(session, named.cube(700), 0.2, "strips", {})
    assert steps.by_blocks
    assert steps.lists() == round(700 * steps.neighbors)

    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small"])

    assert done.exit_code == 0, done.output
    assert done.output.count(", in blocks |") == 2


def test_growth(session, monkeypatch):
    """A row for each number of points, and the ratio of the slowest to the quickest."""
    growth = importlib.import_module("asv_benches.growth")
    for name, value in (("FEW_POWERS", range(6, 9)), ("FEW_COMPARED", 7), ("STEPS", 2), ("MOST_PAIRS", 500)):
        monkeypatch.setattr(growth, name, value)

    done = CliRunner().invoke(growth.main, ["--device", position(session), "--small"])

    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines() if line.startswith("| 2^")]
    assert [(row[0], row[1]) for row in rows] == [(f"2^{k}", each) for each in ("3", "49") for k in (6, 7, 8)]
    few, many = (line.strip("| ").split(" | ") for line in done.output.splitlines() if "slowest over quickest" in line)
    for column in (2, 3):
        times = [float(row[column]) for row in rows[1:3]]
        assert float(few[column].rstrip(" x")) == pytest.approx(max(times) / min(times), rel=0.05)
    assert len(many) < 6 or not many[4].strip(), "longer lists are left out"


@pytest.mark.parametrize("flags", [(), ("--kernels",), ("--unbounded",)], ids="".join)
def test_the_k_nearest(session, monkeypatch, flags):
    """By every way, each over both clouds."""
    nearest = importlib.import_module("asv_benches.nearest")
    for name, value in (("KS", (3,)), ("STEPS", 2), ("PEER_REPEATS", 1)):
        monkeypatch.setattr(nearest, name, value)
    ways = [*nearest.UNBOUNDED] if flags == ("--unbounded",) else [*nearest.WAYS][: None if flags else 1]

    done = CliRunner().invoke(nearest.main, ["--device", position(session), "--points", "900", *flags])

    assert done.exit_code == 0, done.output
    rows = [
        line.strip("| ").split(" | ") for line in done.output.splitlines() if line.startswith(("| even", "| halos"))
    ]
    assert [row[:3] for row in rows] == [[f"{cloud}, 900", "3", way] for cloud in ("even", "halos") for way in ways]
    assert all(float(row[3]) > 0 for row in rows)


def test_floors(session, monkeypatch):
    """A step takes longer than its bytes and its neighbors alone."""
    floors = importlib.import_module("asv_benches.floors")
    for name, value in (("FEW_POINTS", 4096), ("FEW_PAIRS", 512), ("STEPS", 2)):
        monkeypatch.setattr(floors, name, value)

    done = CliRunner().invoke(floors.main, ["--device", position(session), "--small"])

    if not session.device.profiling_timer_resolution:
        assert "does not tell how long kernels take" in done.output
        return
    assert done.exit_code == 0, done.output
    titles, _, *rows = (line.strip("| ").split(" | ") for line in done.output.splitlines() if line.startswith("|"))
    assert {row[1] for row in rows} == {"count", "lists"}
    for row in rows:
        assert len(row) == len(titles)
        update, sort, over, asked, moved, neighbors, candidates, floor, over_it, over_all = map(float, row[2:])
        own = sort if "random queries" in row[0] else 0.0
        assert floor == pytest.approx(max(moved, own + neighbors), abs=0.2)
        for took, least, times in (
            (update, sort, over),
            (asked, floor, over_it),
            (update + asked, sort + floor, over_all),
        ):
            assert took == pytest.approx(times * least, abs=0.11 * (times + least + 1)), "each is rounded"
        assert candidates > 0
