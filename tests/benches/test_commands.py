"""Commands: each prints its table, whose rows agree with each other and find neighbors."""

import dataclasses
import importlib
from types import SimpleNamespace

import numpy as np
import pyopencl
import pytest
from click import ClickException
from click.testing import CliRunner
from conftest import position

pytest.importorskip("asv_benches", reason="benchmarks come with a checkout")
cluster, devices, faces, models, nearest, pair_counts, parts, quick, verlet, versions = (
    importlib.import_module(f"asv_benches.{name}")
    for name in (
        "cluster",
        "devices",
        "faces",
        "models",
        "nearest",
        "pair_counts",
        "parts",
        "quick",
        "verlet",
        "versions",
    )
)
choice, clocks, clouds, floors, geometry, growth, parts_plan, served, sides, split, steps, systems, trees = (
    importlib.import_module(f"asv_benches.tools.{name}")
    for name in [
        "choice",
        "clocks",
        "clouds",
        "floors",
        "geometry",
        "growth",
        "parts_plan",
        "served",
        "sides",
        "split",
        "steps",
        "systems",
        "trees",
    ]
)
common = importlib.import_module("asv_benches.benchmarks.common")

pytestmark = pytest.mark.long


def rows_of(output):
    """The cells of the tables in what a command has printed, titles and rules among them."""
    lines = (line for line in output.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines]


@pytest.fixture
def printed(session):
    """The rows that a command prints for the device under test."""

    def run(module, *arguments):
        done = CliRunner().invoke(module.main, [*arguments, "--device", position(session)])
        assert done.exit_code == 0, done.output
        return rows_of(done.output)

    return run


@pytest.fixture
def tiny(monkeypatch):
    """One small cloud in the place of those of CPUs, and two steps of each kind."""
    for module in (quick, trees):
        monkeypatch.setattr(module, "SMALL", {"tiny": lambda: (clouds.cube(800), 0.2)})
    for module in (clocks, quick):
        monkeypatch.setattr(module, "STEPS", 2)


def test_two_checkouts_in_turns(session, printed):
    """Both are this one here: a row for each step and clock."""
    _, _, *rows = printed(versions, str(versions.ROOT), "--rounds", "2", "--scale", "256")

    known = ["wall", "loop", *(["span"] if session.device.profiling_timer_resolution else [])]
    assert len(rows) == 2 * len(served.CLOUDS) * len(known)
    assert rows[0][:3] == ["256, 3 neighbors", "counts", "wall"]
    assert {row[2] for row in rows} == set(known)
    assert all(float(time) > 0 for row in rows for time in row[3:])


def test_a_process_that_finds_another_clfrnn(session, tmp_path):
    """Its times would be those of this checkout under the name of the other."""
    (tmp_path / "clfrnn").mkdir()
    served = f"print({str(versions.ROOT / 'clfrnn')!r}, 'a device', sep='\\t')"
    (tmp_path / "served.py").write_text(served)

    with pytest.raises(ClickException, match="found the clfrnn of"):
        versions.Checkout(tmp_path, position(session), 256, served=tmp_path / "served.py")


def test_a_gas_over_a_list_and_over_an_index(printed, monkeypatch):
    """The list is made again in a part of the steps alone."""
    monkeypatch.setattr(verlet, "SMALL", (1500,))
    monkeypatch.setattr(verlet, "LARGE", (1500,))

    _, _, row = printed(verlet)

    assert row[0] == "1,500"
    assert all(float(time) > 0 for time in row[1:4])
    made, steps = map(int, row[4].removesuffix(" steps").split(" in "))
    assert 0 < made <= steps / 10


def test_histograms_beside_a_peer(printed, monkeypatch):
    monkeypatch.setattr(pair_counts, "CASES", ((500, 0.2),))

    _, _, row = printed(pair_counts)

    assert int(row[1].replace(",", "")) > 0
    assert float(row[3]) > 0


def test_where_the_wall_time_of_a_step_goes(printed, monkeypatch):
    """To launches and copies, that are counted, to waiting, and to Python, in columns that add up."""
    for name, value in (("NAMES", split.NAMES[-1:]), ("WAITED", 8), ("LOOPS", 4)):
        monkeypatch.setattr(split, name, value)
    before = pyopencl.enqueue_nd_range_kernel, pyopencl.enqueue_copy, pyopencl.CommandQueue.finish

    _, _, *rows = printed(split, "--scale", "256")

    assert (pyopencl.enqueue_nd_range_kernel, pyopencl.enqueue_copy, pyopencl.CommandQueue.finish) == before
    assert [row[1] for row in rows] == ["count", "count, in a loop", "lists", "lists, in a loop"]
    for row in rows:
        launches = int(row[4].split()[1].strip("()"))
        assert launches >= (4 if "lists" in row[1] else 2)
        assert float(row[-1]) > 0, "Python takes some of it"


def test_a_call_within_another_is_counted_once(monkeypatch):
    """Waiting for a copy may start it."""
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
    monkeypatch.setattr(choice, "HOPELESS", 1.0)
    cloud = choice.Kind("uniform", 250, 0.1)

    found = choice.measure(session, cloud, ["strips", "aabb_tree"])

    assert set(found.counts) == {"strips", "aabb_tree"}
    (sooner,) = found.lists
    other = next(name for name in found.counts if name != sooner)
    assert choice.times_the_best(found.lists, sooner) == "1.00"
    assert choice.times_the_best(found.lists, other) == "> 1"


def test_what_is_no_checkout_is_refused(tmp_path):
    done = CliRunner().invoke(versions.main, [str(tmp_path)])

    assert done.exit_code == 2
    assert f"expected a checkout with a folder clfrnn, got {tmp_path}" in done.output.replace("\n", "")


def test_the_methods_that_auto_chooses_from(session, printed):
    """Rows of both methods, which agree in what they find, and what auto takes."""
    _, _, *rows = printed(choice, "--points", "1500", "--neighbors", "3")

    assert len(rows) == (5 if session.profile.fp64 else 4)
    assert {row[0] for row in rows} == {"1,500"}
    assert {row[-1] for row in rows} <= {"strips", "fenns"}


def test_all_methods_beside_each_other(printed):
    """A row for each cloud of so many points, with the time of each method and how far auto is from the best."""
    titles, _, few, many, periodic = printed(choice, "--set", "--points", "250")

    assert periodic[0] == "uniform, periodic"
    for row in (few, many, periodic):
        assert len(row) == len(titles) == 17
        own = choice.ALL.index(row[14])
        for kind, over in ((row[4:9], row[15]), (row[9:14], row[16])):
            # what a busy machine delays is taken for hopeless, and has no time
            best = min(float(each) for each in kind if each)
            expected = float(kind[own]) / best if kind[own] else choice.HOPELESS
            assert float(over.removeprefix("> ")) == pytest.approx(expected, rel=0.1)


def test_dimensions_that_no_grid_serves_have_no_times_of_grids(printed):
    _, _, *rows = printed(choice, "--set", "--points", "500")

    assert [row[0] for row in rows] == [f"uniform, {dim}D" for dim in (1, 4, 6, 12)]
    timed = {name for row in rows for name, time in zip(choice.ALL, row[4:9], strict=True) if time}
    assert timed == {"aabb_tree", "brute_force"}


@pytest.mark.parametrize("many", [[], ["--queries", "300"]], ids=["their own", "queries"])
def test_few_points_are_searched_once(printed, monkeypatch, many):
    """In a session as users have it, where launches take no longer than theirs."""
    monkeypatch.setattr(choice, "FEW", choice.FEW[:1])
    asked, clock = [], choice.timed_in_turn
    monkeypatch.setattr(
        choice, "timed_in_turn", lambda session, *given: asked.append(session) or clock(session, *given)
    )

    *_, cells = printed(choice, "--once", *many)

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
    done = CliRunner().invoke(choice.main, arguments)

    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("\u2502", " ").split())


def test_trees_beside_grids(printed, tiny, monkeypatch):
    """Times of making, fitting and searching a tree, and how it stands beside a grid."""
    monkeypatch.setattr(trees, "FEW_POINTS", 2000)

    titles, _, (name, *figures), _, _, *radii = printed(trees, "--small")

    assert (name, len(figures)) == ("tiny", len(titles) - 1)
    *times, step, grid, over = map(float, figures)
    assert min(times) > 0
    assert over == pytest.approx(step / grid, rel=0.05)
    assert [float(row[0]) for row in radii] == pytest.approx([8.06 * each for each in trees.LARGEST], rel=0.01)
    assert all(float(row[1]) > 0 for row in radii[1:])


def test_many_systems_beside_one(printed, monkeypatch):
    """As many neighbors in boxes that repeat, and fewer at the faces of systems without."""
    monkeypatch.setattr(systems, "ROWS", ((True, 12), (False, 12)))
    monkeypatch.setattr(clocks, "STEPS", 2)

    titles, _, *rows = printed(systems, "--points", "4096")

    assert len(titles) == 7
    assert [row[0] for row in rows] == ["periodic", "periodic", "open", "open"]
    assert [row[3] for row in rows] == ["count", "list"] * 2
    assert [int(row[1]) for row in rows] == pytest.approx([12, 12, 11, 11], abs=1)
    assert [int(row[2]) for row in rows] == pytest.approx([12, 12, 8, 8], abs=1)
    assert all(float(cell) > 0 for row in rows for cell in row[4:])


def test_steps_of_models(printed, monkeypatch):
    rows = [row._replace(settled=2) for row in models._small(200) if row.name in {"Spheres", "Keratinocytes"}]
    monkeypatch.setattr(models, "_small", lambda n: rows)
    monkeypatch.setattr(models, "LAP", 2)

    _, _, spheres, cells = printed(models, "--small")

    assert spheres[:3] == ["Spheres", "200", "2"]
    assert float(spheres[4]) > 0
    assert float(spheres[6].replace(",", "")) == pytest.approx(1e3 / float(spheres[5]), rel=0.01)
    assert int(cells[1]) >= 200


@pytest.mark.parametrize(
    ("option", "firsts"),
    [
        ("--foreign", ["the points", "800", "200", "50"]),
        ("--carried", ["open", "periodic"]),
        ("--where", ["count", "lists"]),
        ("--beside", [None]),
        ("--ordered", [None]),
    ],
)
def test_tables_of_queries(printed, tiny, option, firsts):
    """Queries that are no points, what lists carry, conditions, periodic boxes beside none, and points in order."""
    titles, _, *rows = printed(quick, "--small", "--method", "strips", option)

    words = 1 if firsts == [None] else 2
    assert [row[:words] for row in rows] == [["tiny", *[first] * (first is not None)] for first in firsts]
    for row in rows:
        assert len(row) == len(titles)
        assert all(float(each.split()[0]) > 0 for each in row[words:])


def test_kernels_of_a_step(session, tiny):
    done = CliRunner().invoke(quick.main, ["--device", position(session), "--small", "--kernels"])

    if not session.device.profiling_timer_resolution:
        assert "does not tell how long kernels take" in done.output
        return
    assert done.exit_code == 0, done.output
    _, _, *rows = rows_of(done.output)
    assert [row[:2] for row in rows] == [["tiny", "count"], ["tiny", "lists"]]
    for _, _, together, kernels in rows:
        times = [float(each.split()[1]) for each in kernels.split(", ")]
        assert sum(times) == pytest.approx(float(together), abs=0.06 * len(times))
        assert "frnn_visit" in kernels


def test_lists_too_long_for_memory_are_measured_by_blocks(session, printed, tiny, monkeypatch):
    for name, value in (("MOST_PAIRS", 100), ("BLOCK", 20_000)):
        monkeypatch.setattr(steps, name, value)
    found = steps.steps_of(session, clouds.cube(700), 0.2, "strips")
    assert found.by_blocks
    assert found.lists() == round(700 * found.neighbors)

    *_, row = printed(quick, "--small")

    assert [cell.endswith(", in blocks") for cell in row[2:]] == [False, False, True, True]


def test_a_loop_is_waited_for_at_its_end(monkeypatch):
    monkeypatch.setattr(clocks, "STEPS", 3)
    called = []
    queue = SimpleNamespace(finish=lambda: called.append("finish"))
    assert clocks.in_a_loop(SimpleNamespace(queue=queue), lambda: called.append("step")) > 0
    assert called == ["finish", "step", "step", "step", "finish"] * 6


@pytest.mark.parametrize("options", [[], ["--loop"]], ids=["one by one", "in a loop"])
def test_the_bars_are_printed(printed, tiny, monkeypatch, options):
    loops = []
    monkeypatch.setattr(quick, "in_a_loop", lambda *asked: loops.append(asked) or 7.5)
    *_, row = printed(quick, "--method", "strips", "--small", *options)
    assert row[0] == "tiny"
    assert (len(loops), row.count("7.500")) == ((2, 2) if options else (0, 0))


def test_order_of_space_and_small_moves():
    points, radius = clouds.cube(5000, 180.0), 9.0
    ordered = common.in_order(points, radius)
    away = np.linalg.norm(clouds.moved(ordered, radius) - ordered, axis=1)
    assert sorted(map(tuple, ordered)) == sorted(map(tuple, points))
    assert (
        np.linalg.norm(np.diff(ordered, axis=0), axis=1).mean()
        < 0.5 * np.linalg.norm(np.diff(points, axis=0), axis=1).mean()
    ), "points that follow each other lie beside each other"
    assert 0 < away.mean() < 0.25 * radius


def test_sides_of_cells_and_their_prices(printed, monkeypatch):
    monkeypatch.setattr(sides, "UNIFORM", {(3, "float32"): (0.5, 40.0), (2, "float32"): (20.0,)})
    monkeypatch.setattr(sides, "FEW_POINTS", 700)
    monkeypatch.setattr(sides, "STEPS", 2)

    titles, _, *found, names, _, in_3d, in_2d = printed(sides, "--small")

    uniform = ["3D, 0.5 neighbors", "3D, 40 neighbors", "2D, 20 neighbors"]
    assert [row[0] for row in found] == [*uniform, "shell, 50 neighbors", "clusters, 8 neighbors"]
    for _, *times, over in found:
        assert len(times) == len(titles) - 2
        bold = [time for time in times if time.startswith("**")]
        assert len(bold) == 1, "one is taken"
        least = min(float(time.strip("*")) for time in times if time)
        assert float(over) == pytest.approx(float(bold[0].strip("*")) / least, abs=0.1)
    assert found[0][1], "sparse points have cells of their own"
    assert not found[1][1]
    assert len(names) == len(in_3d) == len(in_2d) == 7
    assert all(float(price) >= 0 for price in (*in_3d[1:6], *in_2d[1:6]))


def test_prices_are_found_again():
    """Those that times were made of."""
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
    cloud = sides.Cloud("made up", np.zeros((10, 3)), 1.0)
    rows = []
    for many in (1.0, 20.0, 300.0):
        part = {"rows": many, "candidates": many**2, "strangers": many**0.5, "cells": many}
        foreseen = sides.SideCost(sides=(1.0,) * 3, wrapped=False, cost=0.0, **part)
        rows.append(sides.Measured(cloud, 1e-9, 1e-9, foreseen))

    found, test, _ = sides.fit_prices(rows)

    assert test == sides.LEAST
    assert found.query > 0


def test_growth(printed, monkeypatch):
    """A row for each number of points, and the ratio of the slowest to the quickest."""
    for name, value in (("FEW_POWERS", range(6, 9)), ("FEW_COMPARED", 7)):
        monkeypatch.setattr(growth, name, value)
    monkeypatch.setattr(clocks, "STEPS", 2)
    monkeypatch.setattr(steps, "MOST_PAIRS", 500)

    _, _, *found = printed(growth, "--small")

    rows = [row for row in found if row[0].startswith("2^")]
    assert [(row[0], row[1]) for row in rows] == [(f"2^{k}", each) for each in ("3", "49") for k in (6, 7, 8)]
    few, many = (row for row in found if "slowest over quickest" in row[0])
    for column in (2, 3):
        times = [float(row[column]) for row in rows[1:3]]
        assert float(few[column].rstrip(" x")) == pytest.approx(max(times) / min(times), rel=0.05)
    assert not many[4], "longer lists are left out"


@pytest.mark.parametrize("flags", [(), ("--kernels",), ("--unbounded",)], ids="".join)
def test_the_k_nearest(printed, monkeypatch, flags):
    """By every way, each over both clouds."""
    monkeypatch.setattr(nearest, "KS", (3,))
    monkeypatch.setattr(clocks, "STEPS", 2)
    ways = [*nearest.UNBOUNDED] if flags == ("--unbounded",) else [*nearest.WAYS][: None if flags else 1]

    _, _, *rows = printed(nearest, "--points", "900", *flags)

    assert [row[:3] for row in rows] == [[f"{cloud}, 900", "3", way] for cloud in ("even", "halos") for way in ways]
    assert all(float(row[3]) > 0 for row in rows)


def test_clusters(printed):
    """By kernel: both searches of each cloud, whose kernels add up."""
    titles, _, *rows = printed(cluster, "--points", "900", "--kernels")

    assert [row[:2] for row in rows] == [
        [f"{cloud}, 900", f"`{search}`"] for cloud in {**clouds.CLOUDS, **clouds.CROWDS} for search in cluster.SEARCHES
    ]
    for row in rows:
        assert len(row) == len(titles)
        assert float(row[3]) > 0
        times = [float(each.split()[1]) for each in row[5].split(", ")]
        assert sum(times) == pytest.approx(float(row[4]), abs=0.01 * len(times))


def test_parts(printed, session, monkeypatch):
    """Of several devices, where there are some, and within a byte budget."""
    monkeypatch.setattr(parts, "TIMES", 1)
    monkeypatch.setattr(parts, "devices_of", lambda session: [session])
    searches = ["count", "list", "friends_of_friends"]

    _, _, *rows = printed(parts, "--points", "900")

    assert [row[:2] for row in rows] == [[name, search] for name in ("even", "halos") for search in searches]
    assert all(float(row[3]) > 0 for row in rows)
    _, _, *rows = printed(parts, "--points", "90000", "--budget")
    assert [row[0] for row in rows] == ["none", "1,440,000"]


def test_devices(printed, session, monkeypatch, tmp_path):
    """What is foretold of parts is what they hold, within what a sample of so few points tells."""
    monkeypatch.setattr(devices, "devices_of", lambda session, many: [session] * many)
    names = ("count", "nearest", "spheres")
    sizes = ("--points", "3000", "--many", "0", "--spheres", "3000", "--devices", "1,3", "--times", "1")
    picture = tmp_path / "growth.png"
    only = [word for name in names for word in ("--only", name)]

    _, _, *rows = printed(devices, *sizes, *only, "--picture", str(picture))

    assert [row[:3] for row in rows] == [
        [name, growth, many] for name in names for growth in ("strong", "weak") for many in ("1", "3")
    ]
    for row in rows:
        halo, foretold = (float(word.strip("(%)")) for word in row[4].split())
        assert foretold == pytest.approx(halo, rel=0.1)
        assert (halo > 0) == (row[2] == "3")
    assert picture.stat().st_size


def test_a_plan_on_paper():
    """Of 27 cubes as many points as those of their bisection, and their halos, of even points."""
    reach = parts_plan.radius_of(1e6, 49)
    cubes = parts_plan.Plan.of_cubes(1e6, 27, reach)
    cut = parts_plan.Plan.of(np.random.default_rng(1).random((1 << 18, 3)), 1e6, 27, reach)
    assert cut.owned.sum() == pytest.approx(1e6)
    assert 0.5 * cubes.halo_share < cut.halo_share < cubes.halo_share  # outer faces of the unit cube have no halo
    rate = parts_plan.Rate.of((100, 3.0), (200, 5.0))
    assert (rate.fixed, rate.each) == pytest.approx((1, 0.02))
    done = CliRunner().invoke(parts_plan.main, ["--points", "1e6", "--devices", "27", "--each", "1"])
    assert done.exit_code == 0, done.output
    assert rows_of(done.output)[2][1] == "37,037"


def test_faces(printed, monkeypatch):
    """Each beside its library, whose results are compared first."""
    pytest.importorskip("scipy")
    monkeypatch.setattr(faces, "TURNS", 1)
    monkeypatch.setattr(faces, "FACES", {"KDTree": faces.trees})

    _, _, *rows = printed(faces, "--points", "900")

    assert [row[:3] for row in rows] == [["`KDTree`", "900", "clfrnn"], ["`KDTree`", "900", "scipy, workers=2"]]
    assert float(rows[0][4]) == 1
    assert float(rows[1][4]) == pytest.approx(float(rows[1][3]) / float(rows[0][3]), rel=0.2)


def test_normals(printed, monkeypatch):
    monkeypatch.setattr(geometry, "SMALL", 900)

    titles, _, *rows = printed(geometry, "--small", "--kernels")

    assert [row[0] for row in rows] == ["30", "100"]
    assert all(len(row) == len(titles) and float(row[1]) > 0 for row in rows)


def test_floors(session, monkeypatch):
    """A step takes longer than its bytes and its neighbors alone."""
    for name, value in (("FEW_POINTS", 4096), ("FEW_PAIRS", 512), ("STEPS", 2)):
        monkeypatch.setattr(floors, name, value)
    monkeypatch.setattr(clocks, "STEPS", 2)

    done = CliRunner().invoke(floors.main, ["--device", position(session), "--small"])

    if not session.device.profiling_timer_resolution:
        assert "does not tell how long kernels take" in done.output
        return
    assert done.exit_code == 0, done.output
    titles, _, *rows = rows_of(done.output)
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
