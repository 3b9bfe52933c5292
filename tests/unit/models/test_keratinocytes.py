"""The Keratinocytes model: each decision against a numpy twin, the laws of its growth, and how it repeats."""

import ast
from pathlib import Path

import numpy as np
import pytest
from skin_twin import COMMITTED, STEM, TRANSIT, WHOLE, Twin, cells, philox

import clfrnn
from clfrnn.models import Keratinocytes, keratinocytes
from clfrnn.models.keratinocytes import Rules

#: Cells that live fast: within some steps there is everything that can happen.
FAST = Rules(stem_cycle=7, transit_cycle=4, most_stem=3, edge_contacts=3, patience=4, niche_across=2.0, signal_reach=3)

#: Small enough for simulators of devices, which have no time for more.
START = {"n": 60, "side": 7.0, "stem_share": 0.3, "seed": 2}


def test_the_twin_draws_what_the_paper_of_philox_draws():
    """Two of the known answers that come with the authors' program."""
    assert philox(np.zeros((1, 4), int), (0, 0)).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]
    ones = np.full((1, 4), 0xFFFFFFFF)
    assert philox(ones, ones[0, :2]).tolist() == [[0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]]


def follows(model, steps, error):
    """The model takes the steps of its twin: decisions are the same, and positions are to rounding."""
    twin = Twin(model)
    for _ in range(steps):
        twin.step()
        model.step()
        assert model.n == len(twin.kinds)
        for name, values in zip(WHOLE, cells(model, *WHOLE), strict=True):
            assert np.array_equal(values, getattr(twin, name)), name
        for name in ("positions", "noise", "motility"):
            assert np.abs(cells(model, name)[0] - getattr(twin, name)).max() < error, name
        turns = cells(model, "headings")[0] - twin.headings
        assert np.abs(turns - 2 * np.round(turns / 2)).max() < error
    assert model.energy() == pytest.approx(twin.energy(), abs=1e3 * error)
    return twin


@pytest.mark.core
def test_steps_are_those_of_numpy(session):
    model = Keratinocytes(**START, rules=FAST, session=session, method="brute_force")
    before = model.counts()

    twin = follows(model, 10, 2e-5)

    after = model.counts()
    assert model.n > before.stem + before.transit
    assert after.committed > 0 < after.stem
    assert (twin.resting > 0).any()
    assert twin.positions[:, 2].max() > FAST.basement


def test_steps_in_double_precision_are_those_of_numpy(session, dtype):
    if dtype != np.float64:
        pytest.skip("the test above is in single precision")
    follows(Keratinocytes(**START, rules=FAST, session=session, dtype=dtype, method="brute_force"), 12, 1e-12)


def test_a_colony_of_stem_cells_grows_as_in_numpy(session):
    rules = Rules(stem_cycle=20, most_stem=99)
    model = Keratinocytes(**{**START, "stem_share": 1.0}, rules=rules, session=session, method="brute_force")

    follows(model, 8, 2e-5)

    assert model.n == model.counts().stem > 1.1 * START["n"]


def test_stem_cells_that_leave_the_basement_become_transit_amplifying(session):
    model = Keratinocytes(**START, rules=FAST, session=session, method="brute_force")
    heights = model.positions.get()
    heights[:, 2] = np.linspace(0.2, 0.4, model.n)
    model.positions.set(heights)
    model.relax(0)
    raised = (model.kinds.get() == STEM) & (heights[:, 2] >= FAST.basement)

    follows(model, 1, 2e-5)

    assert raised.sum() > 3
    assert (model.kinds.get()[: START["n"]][raised] == TRANSIT).sum() > 0
    assert not (model.kinds.get()[: START["n"]][raised] == STEM).any()


def test_cells_that_rest_for_long_become_committed(session):
    """Though there is a stem cell near each."""
    rules = Rules(most_contacts=0, patience=3, signal_reach=20, niche_across=18, most_stem=99)
    model = Keratinocytes(**START, rules=rules, session=session, method="brute_force")
    follows(model, 3, 2e-5)
    assert model.counts().committed == 0
    resting = model._cells["resting"].get()[: model.n] >= rules.patience

    follows(model, 1, 2e-5)

    (committed,) = np.nonzero(model.kinds.get()[: len(resting)] == COMMITTED)
    assert len(committed) > 10
    assert resting[committed].all()


@pytest.mark.parametrize("method", ["strips", "uniform_grid", "fenns", "aabb_tree"])
def test_every_method_takes_the_same_steps(session, method):
    one, other = (Keratinocytes(**START, rules=FAST, session=session, method=each) for each in (method, "brute_force"))
    one.step(5)
    other.step(5)

    assert one.n == other.n > START["n"]
    assert one.index.method == one.signals.method == method
    for name in WHOLE:
        assert np.array_equal(*cells(one, name), *cells(other, name)), name
    assert np.abs(one.positions.get() - other.positions.get()).max() < 1e-5


@pytest.mark.core
def test_repeatable_runs_are_the_same_to_the_last_bit(session):
    runs = []
    for _ in range(2):
        model = Keratinocytes(**START, rules=FAST, session=session, repeatable=True)
        model.step(8)
        runs.append((model.n, *(values.tobytes() for values in cells(model, "positions", "headings", *WHOLE))))

    assert runs[0] == runs[1]
    assert runs[0][0] > 1.1 * START["n"]


def test_repeatable_takes_an_order_of_neighbors(session):
    model = Keratinocytes(**START, session=session, repeatable=True)
    assert "construction: sort" in model.index.explain(long=True)
    with pytest.raises(clfrnn.InvalidInputError, match="method: expected one that sums in the same order.*'fenns'"):
        Keratinocytes(9, session=session, repeatable=True, method="fenns")


# --- the laws ---------------------------------------------------------------------------------------------------------


def test_a_dish_fills_up_and_comes_to_rest(session):
    """No cell vanishes, none goes back to a kind before, and cells that have no room stop growing."""
    rules = Rules(stem_cycle=24, transit_cycle=12, patience=60, speed=0.05)
    model = Keratinocytes(50, side=8.0, stem_share=0.3, rules=rules, session=session, seed=5, method="brute_force")
    kinds, sizes = model.kinds.get(), [model.n]
    for frame in model.run(480, every=20, progress=False):
        now = frame.colors
        assert len(now) == len(frame.positions) == model.n >= len(kinds)
        assert (now[: len(kinds)] >= kinds).all()
        assert sum(model.counts()) == model.n
        assert frame.positions.min() >= 0
        assert frame.positions[:, :2].max() <= model.side
        kinds = now
        sizes.append(model.n)

    assert sizes[-1] > 3 * sizes[0]
    half = len(sizes) // 2
    assert sizes[half] - sizes[0] > 10 * (sizes[-1] - sizes[-6])
    counts = model.counts()
    assert counts.stem > 0
    assert counts.committed > counts.transit
    model.relax(60)
    assert model.counts() == counts
    assert model.index.nearest().distances.get().min() > 0.5
    upper = model.bounds[1]
    assert upper[2] > np.median(model.positions.get()[:, 2]) > 0.5, "several layers"


def test_relaxing_lowers_the_energy_and_changes_nothing_else(session):
    model = Keratinocytes(**START, rules=FAST, session=session, method="brute_force")
    before, kept = model.energy(), [values.tobytes() for values in cells(model, "kinds", "ages", "headings")]
    energies = []
    for _ in range(4):
        model.relax(10)
        energies.append(model.energy())

    assert all(np.diff([before, *energies]) < 0)
    assert [values.tobytes() for values in cells(model, "kinds", "ages", "headings")] == kept
    assert (model.n, model.steps_done, model.time) == (START["n"], 0, 0)


def test_a_daughter_lies_beside_her_mother(session):
    rules = Rules(stem_cycle=2)
    model = Keratinocytes(1, stem_share=1.0, rules=rules, session=session, method="brute_force", side=3.0)
    while model.n == 1:
        mother = model.positions.get()
        model.step()

    both = model.positions.get()
    assert model.counts() == (2, 0, 0)
    assert np.linalg.norm(both[0, :2] - mother[0, :2]) < 1e-6
    assert np.linalg.norm(both[1] - both[0]) == pytest.approx(0.1, rel=1e-4)
    model.relax(200)
    assert np.linalg.norm(np.diff(model.positions.get(), axis=0)) == pytest.approx(1, abs=0.02)


def test_cells_at_one_place_part(session):
    model = Keratinocytes(2, stem_share=1.0, session=session, method="brute_force", side=3.0)
    model.positions.set(np.ones((2, 3), np.float32))
    model.relax()
    model.relax(500)

    one, other = model.positions.get()
    assert np.isfinite([one, other]).all()
    assert np.linalg.norm(one - other) > 0.5


def test_memory_doubles_where_cells_need_it(session):
    model = Keratinocytes(**START, rules=FAST, session=session, method="brute_force")
    while model.n <= START["n"]:
        model.step()
    assert len(model._cells["kinds"]) == len(model._cells["moved"]) == 2 * START["n"]
    assert len(model.positions) == len(model.kinds) == model.n < 2 * START["n"]


@pytest.mark.parametrize("where", ["index.update", "signals.update", "_reserve"])
def test_a_step_that_fails_is_finished_by_the_next(session, monkeypatch, where):
    model, other = (Keratinocytes(**START, rules=FAST, session=session, method="brute_force") for _ in range(2))
    owner, name = (getattr(model, where.split(".")[0]), "update") if "." in where else (model, where)

    plain = getattr(owner, name)

    def refuse(rows):
        if (rows if name == "_reserve" else len(rows)) > START["n"]:
            raise clfrnn.DeviceMemoryError("none left")
        plain(rows)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, refuse)
        with pytest.raises(clfrnn.DeviceMemoryError):
            model.step(20)
    assert model.n == START["n"]
    model.step()
    other.step(model.steps_done)

    assert model.n == other.n > START["n"]
    for name in ("positions", *WHOLE):
        assert np.array_equal(*cells(model, name), *cells(other, name)), name


@pytest.mark.usefixtures("unsliced")
def test_a_population_at_rest_allocates_and_compiles_nothing(counted):
    model = Keratinocytes(40, stem_share=0.0, session=counted, method="brute_force")
    model.step(12)
    assert model.counts() == (0, 0, 40)
    compiled, allocated = counted.programs.compiled, counted._pool.allocations

    model.step(12)

    assert (counted.programs.compiled, counted._pool.allocations) == (compiled, allocated)
    model.index.check()
    model.signals.check()


def test_another_seed_is_another_run(session):
    runs = []
    for seed in (1, 1, 2):
        model = Keratinocytes(**{**START, "seed": seed}, rules=FAST, session=session, method="brute_force")
        model.step(6)
        runs.append(cells(model, "ages")[0].tolist())

    assert runs[0] == runs[1] != runs[2]


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n: expected a whole number of at least 1, got 0"),
        ({"side": -1.0}, "side: expected a finite number above 0"),
        ({"stem_share": 1.5}, "stem_share: expected a number from 0 to 1, got 1.5"),
        ({"stem_share": "half"}, "stem_share: expected a number from 0 to 1, got 'half'"),
        ({"rules": {"speed": 1}}, r"rules: expected clfrnn.models.keratinocytes.Rules, got dict; pass Rules\(...\)"),
        ({"seed": -1}, "seed: expected a whole number of at least 0"),
        ({"dtype": np.int32}, "dtype: expected float32 or float64"),
    ],
)
def test_wrong_arguments_are_named(session, given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Keratinocytes(**{"n": 9, "session": session, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repulsion": -1.0}, "repulsion: expected a number of at least 0, got -1.0"),
        ({"grip": (1.0, 2.0)}, r"grip: expected three finite numbers of at least 0, got \(1.0, 2.0\)"),
        ({"transit_cycle": 2.5}, "transit_cycle: expected a whole number of at least 0, got 2.5"),
        ({"contact_reach": 1.0}, "contact_reach: expected more than the diameter of a cell, 1, got 1"),
        ({"signal_reach": 5.0}, "signal_reach: expected at least 1.1 times the longer semi-axis of the niche, 5.5"),
    ],
)
def test_wrong_rules_are_named(given, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        Rules(**given)


def test_the_model_is_made_of_public_names_alone():
    for path in Path(keratinocytes.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "clfrnn":
                assert node.attr in clfrnn.__all__, path
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1 or node.module in ("model", "arguments", "host.numbers"), path
                assert node.level or not node.module.startswith("clfrnn"), path
