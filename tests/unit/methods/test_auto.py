"""What "auto" takes, on recorded devices."""

import dataclasses
import gc
import itertools
import math
import weakref

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import RECORDED, as_gpu, own_session, truth, with_tuning

import clfrnn
from clfrnn import clouds
from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.groups import busy_units
from clfrnn.methods import choose_method, is_worth_binning
from clfrnn.methods.grid.strips import Strips
from clfrnn.primitives.config import plan_sample
from clfrnn.problem import Problem
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning

#: Recorded GPUs, without the device that was made up to offer little.
GPUS = [name for name, profile in RECORDED.items() if profile.kind == "gpu" and name != "awkward"]
CPUS = [name for name, profile in RECORDED.items() if profile.kind == "cpu"]


def even(*, neighbors, n=4_194_304, dim=3, real="float", periodic=False, crowding=1.0):
    """Points spread evenly over the unit box, or over one part in `crowding` of it, with so many neighbors each."""
    ball = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    radius = (neighbors / (ball * n * crowding)) ** (1 / dim)
    survey = Survey(n=n, low=(0.0,) * dim, high=(1.0,) * dim, others=n * crowding * radius**dim)
    box = PeriodicBox(lengths=(1.0,) * dim, low=None) if periodic else None
    return Problem(n=n, domain=box or open_space(dim), real=real, radius=radius, survey=survey, options={})


def choice(problem, name):
    chosen = choose_method(problem, *with_tuning(RECORDED[name]))
    assert chosen.why.startswith("chosen by auto, as ")
    return chosen.method.name, chosen.why


@pytest.mark.parametrize("name", [*GPUS, *CPUS])
@pytest.mark.parametrize("dim", [2, 3])
def test_strips_where_points_lie_evenly(name, dim):
    """However many they are, with few neighbors or with some."""
    numbers = 100, 1_000, 60_000, 13_000 * busy_units(RECORDED[name]), 1 << 28
    for n, neighbors, periodic in itertools.product(numbers, (0.02, 0.9, 30), (False, True)):
        method, why = choice(even(neighbors=neighbors, n=n, dim=dim, periodic=periodic), name)
        assert method == "strips"
        assert why.endswith("no other method was measured to be much sooner for such points")


@pytest.mark.parametrize("name", [*GPUS, *CPUS])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_tree_where_few_points_have_most_neighbors(name, dim):
    """On a GPU, which would wait for these few; not where all points have as many, nor where neighbors are few."""
    crowd = even(neighbors=400, n=1_000_000, dim=dim)
    for others, unevenness, tree in ((90, 3, True), (90, 1.5, False), (20, 9, True), (20, 3, False), (8, 9, False)):
        survey = dataclasses.replace(crowd.survey, others=others, unevenness=unevenness)
        method, why = choice(dataclasses.replace(crowd, survey=survey), name)
        assert method == ("aabb_tree" if tree and name in GPUS else "strips")
        assert (f"a point has {others} others in its cell on average" in why) == (method == "aabb_tree")


@pytest.mark.parametrize("name", GPUS)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_tree_for_few_points_sooner(name, dim):
    """A device waits for their last queries the sooner: those of a filament, but of no cluster by itself."""
    few = min(1 << 16, 512 * busy_units(RECORDED[name]))
    for n, others, unevenness, method in (
        (few, 50, 1.7, "aabb_tree"),
        (few, 50, 1.57, "strips"),
        (few, 45, 1.7, "strips"),
        (few + 1, 50, 1.7, "strips"),
        (few + 1, 50, 2.3, "aabb_tree"),
    ):
        cloud = even(neighbors=400, n=n, dim=dim)
        survey = dataclasses.replace(cloud.survey, others=others, unevenness=unevenness)
        assert choice(dataclasses.replace(cloud, survey=survey), name)[0] == method


@pytest.mark.parametrize(("n", "method"), [(1 << 27, "aabb_tree"), (1 << 30, "strips")])
def test_crowds_that_may_be_chance_are_none(n, method):
    """One of 128 points is counted, or one of 1,024, of which two that meet in one cell stand for a million pairs."""
    cloud, sample = even(neighbors=50, n=n), plan_sample(Tuning.default("gpu"), n)
    survey = dataclasses.replace(cloud.survey, others=12, unevenness=6, sample=sample)
    problem = dataclasses.replace(cloud, survey=survey)
    assert choice(problem, "h200")[0] == method


@pytest.mark.parametrize("name", GPUS)
def test_a_tree_where_neighbors_are_many(name):
    """From fewer on where an index is kept than where lists are made once, or radii are mostly smaller."""
    few, thousands = min(65_536, 512 * busy_units(RECORDED[name])), 13_000 * busy_units(RECORDED[name])
    for n, asked, least in (
        (thousands, {}, 1_200),
        (thousands, {"queries": thousands}, 1_500),
        (thousands, {"queries": thousands, "varied": True}, 2_000),
        (few, {}, 1_200),
        (few, {"queries": few}, 1_500),
        (few, {"queries": few, "varied": True}, 4_000),
    ):
        fewer, more = (
            choose_method(even(neighbors=factor * least, n=n), *with_tuning(RECORDED[name]), **asked)
            for factor in (0.98, 1.02)
        )
        if "queries" in asked and n <= Tuning.default("gpu").auto.pairs_once:
            # Few points of a device of few units are so few that all pairs are tested sooner.
            assert (fewer.method.name, more.method.name) == ("brute_force", "brute_force")
            continue
        assert (fewer.method.name, more.method.name) == ("strips", "aabb_tree")
        within = "the largest of the radii" if "varied" in asked else "the radius"
        assert more.why.endswith(f"neighbors within {within}")


@pytest.mark.parametrize("name", CPUS)
def test_cells_on_a_cpu_however_many_neighbors(name):
    assert choice(even(neighbors=5_000, n=262_144), name)[0] == "strips"


def anew(session, find, *facts):
    """Nothing is known of earlier searches."""
    return find(session, *facts)


def test_a_plan_is_made_once_for_the_same_points(session, monkeypatch):
    """That of a batch is not kept, as it would hold the systems of all points."""
    fresh, planned = own_session(session), []

    def plan(self, problem, profile, tuning, plan=Strips.plan):
        planned.append(problem)
        return plan(self, problem, profile, tuning)

    monkeypatch.setattr(Strips, "plan", plan)
    points = clouds.uniform(3000, 3, seed=4)
    expected = truth(points, 0.1).offsets
    for searched, many in ((points, 1), (points, 1), (points[:2000], 2), (points, 2)):
        found = clfrnn.search(searched, 0.1, method="strips", session=fresh)
        assert len(planned) == many
    assert np.array_equal(found.offsets.get(), expected)
    for many in (3, 4):
        clfrnn.search(points, 0.1, method="strips", batch=np.zeros(3000, np.int32), session=fresh)
        assert len(planned) == many
    systems = weakref.ref(planned.pop().domain)
    planned.clear()
    gc.collect()
    assert systems() is None


def test_radii_of_queries_are_told_to_vary(session, monkeypatch):
    told = []

    def heard(*about, varied, **asked):
        told.append(varied)
        return choose_method(*about, varied=varied, **asked)

    monkeypatch.setattr("clfrnn.prepare.choose_method", heard)
    monkeypatch.setattr(clfrnn.Session, "once", anew)
    points = clouds.uniform(400, 3)
    radii = np.full(400, 0.1, np.float32)
    on_device = cla.to_device(session.queue, radii)
    for radius, known in ((0.1, 0.1), (radii, radii), (on_device, radii), (np.linspace(0.01, 0.1, 400),) * 2):
        found = clfrnn.search(points, radius, session=session)
        assert np.array_equal(found.offsets.get(), truth(points, known).offsets)
    assert told == [False, False, False, True]


def test_a_search_is_one_of_so_many_queries_and_an_index_is_kept(session, monkeypatch):
    asked = []

    def listen(name, decide):
        def heard(*about, queries, **told):
            asked.append((name, queries))
            return decide(*about, queries=queries, **told)

        monkeypatch.setattr(f"clfrnn.prepare.{name}", heard)

    listen("is_worth_binning", is_worth_binning)
    listen("choose_method", choose_method)
    monkeypatch.setattr(clfrnn.Session, "once", anew)
    points = clouds.uniform(400, 3)
    on_device = cla.to_device(session.queue, points[:7])
    neighbors = clfrnn.search(points, 0.1, session=session)
    index = clfrnn.build_index(points, 0.1, session=session)
    for queries in (points[:3], list(points[:4]), on_device, points[:0], Bare(points[:5])):
        clfrnn.search(points, 0.1, queries=queries, session=session)
    expected = (400, None, 3, 4, 7, 0, 400)
    assert asked == [(name, m) for m in expected for name in ("is_worth_binning", "choose_method")]
    assert index.method == "strips"
    assert np.array_equal(index.count().get(), np.diff(neighbors.offsets.get()))
    # A search of as many on a line is one of all pairs on any device, an index of them a tree.
    assert clfrnn.build_index(clouds.uniform(400, 1), 0.001, session=session).method == "aabb_tree"


class Bare:
    """An array that tells no length."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_huge_radii_and_none(session):
    """Numbers whose powers no float holds, and coincident points."""
    huge = clouds.uniform(1100, 3, dtype=np.float64) * 1e150 if session.profile.fp64 else clouds.uniform(1100) * 1e15
    for radius in (float(huge.max()) / 9, 0.0):
        index = clfrnn.build_index(huge, radius, session=as_gpu(session))
        assert index.method == "strips"


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("dim", [3, 4])
def test_few_points_for_many_queries_and_many_for_few(name, dim):
    """What counts is the pairs; but each work-item goes through all points, however few of them there are."""
    gpu = RECORDED[name].kind == "gpu"
    few = 6000 if gpu else 512

    def taken(n, m):
        worth = is_worth_binning(n, *with_tuning(RECORDED[name]), dim=dim, queries=m, periodic=False)
        chosen = choose_method(even(neighbors=0.01, dim=dim, n=n), *with_tuning(RECORDED[name]), queries=m)
        assert worth == (chosen.method.name != "brute_force")
        assert worth or f"as {n:,} points, for {m:,} queries, are not worth" in chosen.why.replace("and ", "as ")
        return chosen.method.name

    few_queries = "aabb_tree" if dim != 3 else "uniform_grid" if gpu else "strips"
    more = "aabb_tree" if dim != 3 else "strips"
    pairs = 1 << 29 if gpu else few * few
    assert [taken(few // 4, pairs // (few // 4) + extra) for extra in (0, 1)] == ["brute_force", more]
    assert taken(500, pairs // 500 + 1) == more
    assert taken(500, 300_000) == ("brute_force" if gpu else more)
    assert [taken(4 * few, few // 4 + extra) for extra in (0, 1)] == [
        few_queries if gpu else "brute_force",
        few_queries,
    ]
    for queries in (0, 1, 16):
        most = few if gpu else few * few // 16
        assert [taken(most + extra, queries) for extra in (0, 1)] == ["brute_force", few_queries]


@pytest.mark.parametrize("name", GPUS)
def test_few_points_that_are_searched_once_go_into_cells_of_any_side(name):
    """Before anybody knows the best; more of them, more queries, more neighbors, and an index, go into strips."""

    def taken(n, m, neighbors=10.0):
        return choose_method(even(neighbors=neighbors, n=n), *with_tuning(RECORDED[name]), queries=m).method.name

    assert taken(1 << 16, 1 << 16) == "uniform_grid"
    assert taken(1 << 16, 1 << 16, 51.0) == taken((1 << 16) + 1, 1 << 16) == taken(1 << 16, (1 << 16) + 1) == "strips"
    assert choose_method(even(neighbors=10.0, n=1 << 16), *with_tuning(RECORDED[name])).method.name == "strips"


@pytest.mark.parametrize("name", GPUS)
def test_few_queries_in_a_periodic_box(name):
    """All pairs of twice as many points, as all queries go at once."""
    worth = {
        (n, m): is_worth_binning(n, *with_tuning(RECORDED[name]), dim=3, queries=m, periodic=True)
        for n in (500, 501, 1000, 1001)
        for m in (1, 256, 257, 1000)
    }
    assert [at for at, binned in worth.items() if not binned] == [
        *((500, m) for m in (1, 256, 257, 1000)), *((n, m) for n in (501, 1000) for m in (1, 256))
    ]  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_few_points_and_other_dimensions(name):
    """Of few points all pairs are tested, by those who keep an index of fewer than those who search once."""
    gpu = RECORDED[name].kind == "gpu"

    def fewest(dim, *, once=False, periodic=False):
        """How many points are worth more than that."""
        for n in range(1, 10_000):
            problem = even(neighbors=0.01, dim=dim, n=n, periodic=periodic)
            if (
                choose_method(problem, *with_tuning(RECORDED[name]), queries=n if once else None).method.name
                != "brute_force"
            ):
                return n
        return None

    none = even(neighbors=0.01, n=1)
    none = dataclasses.replace(none, n=0, survey=dataclasses.replace(none.survey, n=0))
    assert choice(none, name) == ("brute_force", "chosen by auto, as there are no points")
    for dim in (1, 2, 3, 4, 12):
        grids = dim in (2, 3)
        assert fewest(dim) == (1 if gpu else 51 if grids else 151)
        assert fewest(dim, periodic=True) == (1 if gpu else 51 if grids else 101)
        assert fewest(dim, once=True) == (6001 if gpu else 513)
        assert fewest(dim, once=True, periodic=True) == (501 if gpu else 257)
        taken = choice(even(neighbors=3, dim=dim, n=200), name)[0]
        assert taken == ("strips" if grids else "aabb_tree")
    crowd = choice(even(neighbors=10_000, n=20_000, dim=6), name)
    assert crowd == (
        "brute_force",
        "chosen by auto, as no grid serves 6 dimensions and most points are neighbors of each other",
    )
