"""Points that come and go, and boxes that change: an index is updated with any number of points, in any box."""

import dataclasses
import math

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_same,
    before_allocations,
    joined,
    refusing,
    rows_of,
    structure_of,
    takes_long_as_gpu,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds, reference
from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.methods import METHODS
from clfrnn.problem import Problem
from clfrnn.runtime.memory import SpareSizes
from clfrnn.survey import Survey

N = min(240, POINTS)
#: Of a loop over all ways of searching.
FEW = min(100, POINTS)
RADIUS = 0.17

SUM_OF_IDS = clfrnn.NeighborFunction(
    arguments="global int *out", state="int sum = 0;", per_neighbor="sum += j + 1;", finish="out[i] = sum;"
)

pytestmark = [pytest.mark.core, pytest.mark.product]


@pytest.fixture(params=["open", "periodic"])
def flags(request, dim):
    """Which axes repeat: none, or all but the last."""
    return (request.param == "periodic",) * (dim - 1) + (False,)


def domain_of(flags, lengths):
    """As build_index and the reference take it."""
    return {"box": lengths, "periodic": flags} if any(flags) else {}


def box_of(flags, lengths):
    """As update takes it."""
    return {"box": lengths} if any(flags) else {}


def sums_of(expected):
    """What SUM_OF_IDS finds."""
    sums = np.zeros(len(expected.offsets) - 1, int)
    np.add.at(sums, rows_of(expected), expected.indices + 1)
    return sums


# --- what is found --------------------------------------------------------------------------------------------------


def test_growing_and_shrinking(session, way, dim, dtype, flags):
    """Little by little and at once, to no point at all and back; the box grows and shrinks too."""
    rng = np.random.default_rng(3)
    name, options = way
    points = clouds.uniform(FEW, dim, dtype=dtype, seed=2)
    index = clfrnn.build_index(
        points, RADIUS, method=name, session=session, **domain_of(flags, (1.0,) * dim), **options
    )
    for n, length in (
        (FEW + 20, 1.1),
        (FEW - 30, 0.9),
        (1, 0.9),
        (0, 0.3),
        (FEW, 1.2),
        (6 * FEW, 1.7),
        (FEW // 9, 0.8),
    ):
        lengths = (length,) * dim
        points = (rng.random((n, dim)) * length).astype(dtype)
        assert index.update(points, **box_of(flags, lengths)) is None
        expected = reference.neighbors(points, RADIUS, **domain_of(flags, lengths))
        assert_same(index.query(**FULL), expected)
        assert_counts(index.count(), expected)
        assert (index.num_points, index.last_update) == (n, "rebuilt")
        assert np.array_equal(np.sort(index.order.get()), np.arange(n))
    moved = (points * dtype.type(0.99)).copy()
    index.update(moved)
    assert_same(index.query(**FULL), reference.neighbors(moved, RADIUS, **domain_of(flags, lengths)))


@pytest.mark.parametrize("name", ["brute_force", "aabb_tree"])
@pytest.mark.parametrize("dimension", [1, 5])
def test_in_other_dimensions(session, name, dimension):
    index = clfrnn.build_index(clouds.uniform(50, dimension, seed=1), 0.4, method=name, session=session)
    for n in (80, 0, 7, 300):
        points = clouds.uniform(n, dimension, seed=n)
        index.update(points)
        assert_same(index.query(**FULL), reference.neighbors(points, 0.4))


@pytest.mark.parametrize("method_of", ["auto", *sorted(METHODS)])
def test_from_no_points(session, method_of):
    index = clfrnn.build_index(np.empty((0, 3), np.float32), RADIUS, method=method_of, session=session)
    for n in (0, 3 * N, 1, 2):
        points = clouds.uniform(n, 3, seed=n)
        index.update(points)
        assert_same(index.query(**FULL), reference.neighbors(points, RADIUS))
        assert method_of in {index.method, "auto"}


def test_the_method_is_chosen_again_for_far_more_points(session):
    """All pairs of what became a large cloud would never end; with fewer points, the first choice comes back."""
    fresh = tuned(session, auto={"pairs_in_loop": 1000})
    index = clfrnn.build_index(clouds.uniform(20, 3, seed=1), RADIUS, session=fresh)
    first = index.method
    assert first == "brute_force"
    for n in (20_000, 20, 19_000):
        points = clouds.uniform(n, 3, seed=n)
        index.update(points)
        assert (index.method == first) == (n == 20)
        assert_counts(index.count(points[:40]), reference.neighbors(points, RADIUS, queries=points[:40]))
        assert index.explain().startswith(f"{index.method}: ")
    assert len(index._updates._plans) == 2


class Sequence:
    """Random updates of an index; what was made of earlier points is compared when everything is over."""

    def __init__(self, session, method, *, flags, seed):
        self.session, self.flags, self.rng = session, flags, np.random.default_rng(seed)
        self.dim = len(flags)
        self.lengths = (1.0,) * self.dim
        self.points = clouds.uniform(N, self.dim, seed=seed)
        self.index = clfrnn.build_index(
            self.points, RADIUS, method=method, session=session, **domain_of(flags, self.lengths)
        )
        self.held = []

    def step(self):
        rng = self.rng
        n = int(rng.choice([0, 1, 2, N, len(self.points), rng.integers(N // 2, N), rng.integers(1, 3 * N)]))
        given = {}
        if any(self.flags) and rng.random() < 0.6:
            # In boxes shorter than the radius, many images of a point are its neighbors.
            lengths = rng.uniform(0.1, 0.4, self.dim) if n < 20 else rng.uniform(0.5, 2.0, self.dim)
            self.lengths = tuple(lengths.tolist())
            given = {"box": self.lengths if rng.random() < 0.5 else ((-0.2,) * self.dim, self.lengths)}
            low = np.float32(0) if np.ndim(given["box"]) == 1 else np.float32(-0.2)
            self.lengths = tuple((np.float32(self.lengths) - low).tolist())
        spread = rng.choice([1.0, 1.0, 3.0])  # some leave the box
        self.points = (spread * (rng.random((n, self.dim)) - 0.1) * self.lengths).astype(np.float32)
        on_device = rng.random() < 0.6
        self.index.update(cla.to_device(self.session.queue, self.points) if on_device else self.points, **given)

    def expected(self, **asked):
        return reference.neighbors(self.points, RADIUS, **domain_of(self.flags, self.lengths), **asked)

    def use(self):
        """Begin what outlives the next updates, and compare what is over at once."""
        index, expected = self.index, self.expected()
        self.held.append((index.query(hint=5, **FULL), expected))
        self.held.append((index.query(**FULL), expected))
        blocks = index.query_blocks(max_bytes=200_000, **FULL) if len(self.points) else iter(())
        parts = [part for part in (next(blocks, None),) if part is not None]
        if parts:
            self.held.append((parts, blocks, expected))
        counts, nearest = index.count(), index.nearest()
        out = cla.zeros(self.session.queue, len(self.points), np.int32) if len(self.points) else None
        if out is not None:
            index.visit(SUM_OF_IDS, out=out)
        assert_counts(counts, expected)
        assert_nearest(nearest, expected)
        assert out is None or np.array_equal(out.get(), sums_of(expected))
        queries = clouds.uniform(int(self.rng.integers(0, 60)), self.dim, seed=int(self.rng.integers(1000)))
        assert_same(index.query(queries, **FULL), self.expected(queries=queries))
        own = np.linspace(0, RADIUS, len(self.points)).astype(np.float32)
        assert_counts(
            index.count(radius=own), reference.neighbors(self.points, own, **domain_of(self.flags, self.lengths))
        )

    def compare_held(self):
        for each in self.held:
            if len(each) == 2:
                assert_same(*each)
            else:
                parts, blocks, expected = each
                assert_same(joined([*parts, *blocks]), expected)


@pytest.mark.parametrize("seed", range(2))
def test_random_sequences(session, method, flags, seed):
    """Points and boxes of any size in any order; lists, hinted lists and blocks of all of them outlive the updates."""
    sequence = Sequence(session, method, flags=flags, seed=seed)
    for _ in range(6):
        sequence.step()
        sequence.use()
    sequence.index.check()
    sequence.compare_held()


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_random_sequences_as_on_a_gpu(session, method, periodic):
    if takes_long_as_gpu(session, method):
        pytest.skip("takes a minute to compile")
    sequence = Sequence(as_gpu(session), method, flags=(periodic, False), seed=9)
    for _ in range(4):
        sequence.step()
        sequence.use()
    sequence.compare_held()


def test_radii_beyond_the_new_box(session, method):
    """What fits tiles and windows of the first box need not fit those of a box that the radius goes around often."""
    index = clfrnn.build_index(
        clouds.uniform(N, 2, seed=1), 0.3, method=method, box=(1, 1), periodic=True, session=session
    )
    for n, length in ((4, 0.02), (10, 0.11), (N, 1.0), (3, 1e-3 * 8)):
        points = (length * clouds.uniform(n, 2, seed=n)).astype(np.float32)
        index.update(points, box=(length, length))
        assert_same(index.query(**FULL), reference.neighbors(points, 0.3, box=(length, length), periodic=True))


# --- what it costs ----------------------------------------------------------------------------------------------------

#: Sizes of a loop; the largest comes first.
SIZES = [N, N - 17, N - 3, N - 21, N - 12, N - 1, N - 8, N - 25, N - 5]


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_loop_allocates_and_compiles_nothing(counted, method, periodic):
    """Once it had as many points, as large a box and as many pairs; no size is met twice after that."""
    rng = np.random.default_rng(4)
    index = clfrnn.build_index(
        clouds.uniform(N - 10, 3, seed=1),
        RADIUS,
        method=method,
        session=counted,
        **domain_of((periodic,) * 3, (1.0,) * 3),
    )

    def step(n, length):
        points = (length * rng.random((n, 3))).astype(np.float32)
        array = cla.to_device(counted.queue, points)
        index.update(array, **box_of((periodic,) * 3, (length,) * 3))
        counts, nearest, found = index.count(), index.nearest(), index.query(**FULL)
        expected = reference.neighbors(points, RADIUS, **domain_of((periodic,) * 3, (length,) * 3))
        assert_same(found, expected)
        assert_counts(counts, expected)
        assert_nearest(nearest, expected)

    for n, length in ((N, 1.05), (N - 1, 1.05), (N, 1.0), (N - 1, 1.0), (N, 1.0)):
        step(n, length)
    compiled, allocated = counted.programs.compiled, counted._pool.allocations
    for n in SIZES[1:]:
        step(n, float(rng.uniform(1.01, 1.05)))
    assert counted.programs.compiled == compiled
    assert counted._pool.allocations == allocated


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_loop_on_device_arrays_does_not_wait(session, method, periodic, calls_of, unsliced):
    waits = calls_of(cl.Event, "wait"), calls_of(cl.CommandQueue, "finish"), calls_of(clfrnn.Session, "read")
    index = clfrnn.build_index(
        clouds.uniform(N, 3, seed=1), RADIUS, method=method, session=session, **domain_of((periodic,) * 3, (1.0,) * 3)
    )
    steps = [cla.to_device(session.queue, clouds.uniform(n, 3, seed=n)) for n in SIZES[1:7]]
    index.check()
    before = [len(each) for each in waits]
    for k, array in enumerate(steps):
        index.update(array, **box_of((periodic,) * 3, (1.0 + 0.01 * k,) * 3))
        counts = index.count()
    assert [len(each) for each in waits] == before
    lengths = (1.0 + 0.01 * k,) * 3
    assert_counts(counts, reference.neighbors(array.get(), RADIUS, **domain_of((periodic,) * 3, lengths)))


def test_sizes_that_come_back_are_planned_once(session, method, calls_of):
    """Far more points and far fewer in turn: each has a plan of its own, which is remembered."""
    plans = calls_of(type(METHODS[method]), "plan")
    few, many = clouds.uniform(80, 3, seed=1), clouds.uniform(5 * N, 3, seed=2)
    index = clfrnn.build_index(few, RADIUS, method=method, session=session)
    index.update(many)
    index.update(few)
    planned = len(plans)
    for points in (many, few, many):
        index.update(points)
        assert_counts(index.count(), reference.neighbors(points, RADIUS))
    assert len(plans) == planned


def test_spare_sizes():
    sizes = SpareSizes()
    assert sizes.fit(1600, "points") == 1800
    assert [sizes.fit(needed, "points") for needed in (1800, 1, 1700)] == [1800] * 3
    assert sizes.fit(1600, "cells") == 1800
    assert sizes.fit(1801, "points") == 2026
    large = sizes.fit(1 << 24, "points")
    assert large == (1 << 24) * 9 // 8
    assert sizes.fit((1 << 24) + 5, "points") == large
    assert sizes.fit(1 << 21, "points") < large / 4, "what has shrunk takes less"
    assert sizes.fit(900, "points") == 2026


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_plans_are_fitted_with_the_same_kernels(profile, name, periodic):
    """On every device, for up to four times as many points or as few."""
    box = PeriodicBox(lengths=(1.0 if periodic else 0.0,) * 3, low=None)
    survey = Survey(n=100_000, low=(0.0,) * 3, high=(1.0,) * 3, others=12.0)
    method = METHODS[name]
    problem = Problem(
        n=100_000,
        domain=box,
        real="float",
        radius=0.05,
        survey=survey,
        options=method.check({}),
        why="",
    )
    facts = with_tuning(profile)
    plan = method.plan(problem, *facts)
    for n, length in ((30_000, 0.8), (100_001, 1.01), (390_000, 1.5)):
        other = PeriodicBox(lengths=(length if periodic else 0.0,) * 3, low=None)
        fitted = method.refit(plan, problem.grown(n, other, (0.0,) * 3, (length,) * 3), *facts)
        assert fitted.config == plan.config
        if hasattr(fitted, "grid"):
            extent = [many * side for many, side in zip(fitted.grid.shape, fitted.grid.sides, strict=True)]
            assert fitted.grid.wrapped or extent == pytest.approx([length] * 3, rel=0.3)


def test_sides_do_not_drift_with_the_box(profile):
    """A whole number of cells fills each box; the sides of one box are no start for those of the next."""
    method, rng = METHODS["uniform_grid"], np.random.default_rng(5)
    survey = Survey(n=1000, low=(0.0,) * 2, high=(1.0,) * 2, others=12.0)
    box = PeriodicBox(lengths=(1.0,) * 2, low=None)
    problem = Problem(
        n=1000,
        domain=box,
        real="float",
        radius=0.05,
        survey=survey,
        options=method.check({"bin_width": 1}),
    )
    facts = with_tuning(profile)
    plan = method.plan(problem, *facts)
    for length in rng.uniform(0.7, 1.3, 50):
        other = PeriodicBox(lengths=(float(length),) * 2, low=None)
        plan = method.refit(plan, problem.grown(1000, other, (0.0,) * 2, (float(length),) * 2), *facts)
    assert all(0.05 * (1 - 1e-5) <= side <= 0.05 * (1 + 1 / 12) for side in plan.grid.sides)


@pytest.mark.parametrize(
    ("n", "length", "outgrown"),
    [
        *((1000, 1.0, False), (251, 1.0, False), (249, 1.0, True), (4000, 1.0, False), (4001, 1.0, True)),
        *((1000, 4.0, False), (1000, 4.1, True), (1000, 0.24, True), (0, 1.0, True)),
    ],
)
def test_when_points_have_outgrown_their_survey(n, length, outgrown):
    survey, box = Survey(n=1000, low=(0.0,), high=(1.0,)), PeriodicBox(lengths=(1.0,), low=None)
    problem = Problem(n=1000, domain=box, real="float", radius=0.1, survey=survey)
    grown = problem.grown(n, PeriodicBox(lengths=(length,), low=None), (0.0,), (length,))
    assert not problem.has_outgrown_survey
    assert grown.has_outgrown_survey == outgrown


def test_few_points_outgrow_nothing():
    survey = Survey(n=0, low=(0.0,), high=(0.0,))
    problem = Problem(n=0, domain=open_space(1), real="float", radius=0.1, survey=survey)
    assert [problem.grown(n, open_space(1), (0.0,), (1.0,)).has_outgrown_survey for n in (0, 1, 256, 257)] == [
        0,
        0,
        0,
        1,
    ]


# --- what is refused --------------------------------------------------------------------------------------------------


def test_boxes_that_do_not_fit_the_index(session, method):
    points = clouds.uniform(50, 2, seed=1)
    bare = clfrnn.build_index(points, 0.2, method=method, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="box: expected none, as there was no box when it was built"):
        bare.update(points, box=(1, 1))
    periodic = clfrnn.build_index(points, 0.2, method=method, box=(1, 1), periodic=(True, False), session=session)
    expected = reference.neighbors(points, 0.2, box=(1, 1), periodic=(True, False))
    for bad in ((0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), (1,), (1, 1, 1), "1", ((1, 0), (1, 1))):
        with pytest.raises(clfrnn.InvalidInputError, match="box: expected"):
            periodic.update(points, box=bad)
    with pytest.raises(clfrnn.InvalidInputError, match="neighbors; 2"):
        periodic.update(points, box=(1e-9, 1))
    assert_same(periodic.query(**FULL), expected)
    periodic.update(points, box=(2, 0))  # the length of an axis that does not repeat is of no importance
    assert_same(periodic.query(**FULL), reference.neighbors(points, 0.2, box=(2, 1), periodic=(True, False)))


def test_a_box_that_is_only_a_hint(session, method):
    points = clouds.uniform(50, 2, seed=1)
    index = clfrnn.build_index(points, 0.2, method=method, box=(1, 1), periodic=False, session=session)
    for box in ((2, 2), ((0, 0), (3, 3))):
        index.update(points[::-1].copy(), box=box)
        assert_same(index.query(**FULL), reference.neighbors(points[::-1], 0.2))
    with pytest.raises(clfrnn.InvalidInputError, match="box: expected 2 lengths"):
        index.update(points, box=(1, 1, 1))


@pytest.mark.parametrize("where", ["host", "device"])
def test_arrays_that_do_not_fit_the_index(session, method, where):
    def given(array):
        return array if where == "host" else cla.to_device(session.queue, np.ascontiguousarray(array))

    points = clouds.uniform(60, 2, seed=1)
    index = clfrnn.build_index(points, 0.2, method=method, session=session)
    with pytest.raises(
        clfrnn.InvalidInputError, match=r"points: expected shape \(n, 2\), as the points before, got \(70, 3\)"
    ):
        index.update(given(clouds.uniform(70, 3, seed=1)))
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected"):
        index.update(given(points[:, 0]))
    if session.profile.fp64:
        with pytest.raises(clfrnn.InvalidInputError, match="points: expected float32, as the points before"):
            index.update(given(clouds.uniform(70, 2, dtype=np.float64, seed=1)))
    bad = clouds.uniform(70, 2, seed=2)
    bad[11] = np.nan
    if where == "host":
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 11"):
            index.update(bad)
        assert_same(index.query(**FULL), reference.neighbors(points, 0.2))
    else:
        index.update(given(bad))
        assert index.count().get()[11] == 0
        for _ in range(2):
            with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 11"):
                index.check()
    index.update(given(points[:20]))
    assert_same(index.query(**FULL), reference.neighbors(points[:20], 0.2))


def test_bad_points_that_are_surveyed_are_refused_at_once(session):
    """As a survey waits; the index still has its old points."""
    points = clouds.uniform(60, 2, seed=1)
    bad = clouds.uniform(2000, 2, seed=2)
    bad[11] = np.inf
    index = clfrnn.build_index(points, 0.2, method="strips", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 11"):
        index.update(cla.to_device(session.queue, bad))
    index.check()
    assert_same(index.query(**FULL), reference.neighbors(points, 0.2))


@pytest.mark.parametrize("where", ["host", "device"])
def test_points_far_from_the_new_box(session, method, where):
    """By the box that came with them: at once from the host, by the next call that waits from the device."""
    points = clouds.uniform(60, 2, seed=1)
    index = clfrnn.build_index(points, 1e-4, method=method, box=(1, 1), periodic=True, session=session)
    given = points[:50].copy() * np.float32(1e3)
    box = (1e-5, 1e3)
    if where == "host":
        with pytest.raises(clfrnn.InvalidInputError, match="points: expected coordinates of at most"):
            index.update(given, box=box)
        assert_same(index.query(**FULL), reference.neighbors(points, 1e-4, box=(1, 1), periodic=True))
        return
    array = cla.to_device(session.queue, given)

    def update():
        index.update(array, box=box)
        index.check()

    with pytest.raises(clfrnn.InvalidInputError, match="points: expected coordinates of at most"):
        update()
    index.update(cla.to_device(session.queue, points), box=(1, 1))
    assert_same(index.query(**FULL), reference.neighbors(points, 1e-4, box=(1, 1), periodic=True))


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("where", ["host", "device"])
def test_no_memory_for_more_points(session, method, periodic, where):
    """Whatever is refused, the index has its old points in their old box; the next update takes the new ones."""
    domain = domain_of((periodic,) * 2, (1.0, 1.0))
    points, more = clouds.uniform(100, 2, seed=1), clouds.uniform(170, 2, seed=2)
    given = more if where == "host" else cla.to_device(session.queue, more)
    index = clfrnn.build_index(points, 0.2, method=method, session=session, **domain)
    failed, larger = 0, box_of((periodic,) * 2, (1.3, 1.3))
    for words in (("",), ("copy",), ("cells", "points", "nodes"), ("starts", "sections")):
        with refusing(*words):
            try:
                index.update(given, **larger)
            except clfrnn.DeviceMemoryError:
                failed += 1
            else:  # it did without: back to the old points
                index.update(points, **box_of((periodic,) * 2, (1.0, 1.0)))
        assert index.num_points == 100
        assert_same(index.query(**FULL), reference.neighbors(points, 0.2, **domain))
    assert failed
    index.update(given, **larger)
    assert_same(index.query(**FULL), reference.neighbors(more, 0.2, **domain_of((periodic,) * 2, (1.3, 1.3))))


def test_spare_memory_is_not_insisted_on(session, method):
    """Where there is no memory for an eighth more, there may be for what is needed."""
    points, more, sizes = clouds.uniform(100, 2, seed=1), clouds.uniform(380, 2, seed=2), []

    def grown(most=None):
        index = clfrnn.build_index(points, 0.2, method=method, session=session)
        index.update(points[:90])
        spacious = index._updates._spacious
        if most is not None:
            spacious.profile = dataclasses.replace(session.profile, max_allocation=most)
        index.update(more)
        return index

    with before_allocations(lambda _, size, __: sizes.append(size)):
        grown()
    assert_counts(grown(most=max(sizes)).count(), reference.neighbors(more, 0.2))


# --- what it says -----------------------------------------------------------------------------------------------------


def test_what_the_index_says_follows(session, method):
    index = clfrnn.build_index(
        clouds.uniform(N, 2, seed=1), RADIUS, method=method, box=(1, 1), periodic=True, session=session
    )
    before = index.nbytes
    index.update(clouds.uniform(2 * N, 2, seed=2), box=(2, 1.5))
    assert index.session is session
    assert f"{2 * N:,} points" in repr(index)
    assert index.nbytes.keys() == before.keys()
    assert sum(index.nbytes.values()) > sum(before.values())
    text = index.explain(long=True)
    assert f"points: {2 * N:,} in 2D" in text
    assert "periodic: axis 0 of length 2, axis 1 of length 1.5" in text
    assert f"plan: that of {N:,} points, fitted to these" in text
    assert "last update: rebuilt" in text
    with session.recorded() as launches:
        index.count()
    assert "frnn_visit" in [name for name, _ in launches]
    assert np.array_equal(index.reorder(np.arange(2 * N)).get(), index.order.get())
    assert structure_of(index).problem.n == 2 * N
