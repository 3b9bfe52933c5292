"""Conditions on pairs, in every method and every kind of query, against the reference."""

import numpy as np
import pyopencl.array as cla
import pytest
from condition_cases import CASES, spread
from conftest import (
    FULL,
    POINTS,
    WAYS,
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_same,
    by_distance,
    counts_of,
    joined,
    rows_of,
    same_rows,
    takes_long_as_gpu,
    tuned,
    with_slots,
)

import clfrnn
from clfrnn import clouds, reference

pytestmark = pytest.mark.product

SIZE = min(POINTS, 260)
RADIUS = {1: 0.05, 2: 0.19, 3: 0.3, 5: 0.6}


def drawn(name, dim, dtype, *, queries=False, seed=0):
    """Points, queries or None, a radius, and a condition with its twin."""
    rng = np.random.default_rng([seed, dim])
    points = clouds.uniform(SIZE, dim, dtype=dtype, seed=seed)
    asked = clouds.uniform(SIZE // 2, dim, dtype=dtype, seed=seed + 1) if queries else None
    radius = RADIUS[dim]
    condition, met = CASES[name](rng, SIZE, SIZE // 2 if queries else SIZE, dim, np.dtype(dtype), radius)
    return points, asked, radius, condition, met


def domain(periodic, dim):
    return {"box": (1,) * dim, "periodic": True} if periodic else {}


def visited(index, queries, m, condition, **asked):
    """What a user's function finds: the number of neighbors and the sum of their numbers."""
    queue = index.session.queue
    many, total = cla.zeros(queue, max(m, 1), np.int32), cla.zeros(queue, max(m, 1), np.int64)
    index.visit(spread(), queries, where=condition, many=many, total=total, kind=1, **asked)
    return many.get()[:m], total.get()[:m]


def check_all(index, expected, condition, *, queries=None, **asked):
    """Every kind of query of an index under a condition."""
    given = {"queries": queries, "where": condition, **asked}
    assert_counts(index.count(**given), expected)
    same_rows(index.query(**given), expected)
    assert_same(index.query(**given, **FULL), expected)
    assert_nearest(index.nearest(**given), expected)
    many, total = visited(index, queries, len(expected.offsets) - 1, condition, **asked)
    assert np.array_equal(many, counts_of(expected))
    sums = np.zeros(len(many), np.int64)
    np.add.at(sums, rows_of(expected), expected.indices.astype(np.int64) + 1)
    assert np.array_equal(total, sums)


@pytest.mark.core
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_lists_and_counts(session, way, name, periodic):
    points, _, radius, condition, met = drawn(name, 3, np.float32)
    method, options = way
    expected = reference.neighbors(points, radius, where=met, **domain(periodic, 3))
    index = clfrnn.build_index(points, radius, method=method, session=session, **domain(periodic, 3), **options)

    assert_counts(index.count(where=condition), expected)
    assert_same(index.query(where=condition, **FULL), expected)


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("name", ["species", "sides"])
def test_every_kind_of_query(session, way, dim, dtype, name, periodic):
    points, _, radius, condition, met = drawn(name, dim, dtype)
    method, options = way
    expected = reference.neighbors(points, radius, where=met, **domain(periodic, dim))
    index = clfrnn.build_index(points, radius, method=method, session=session, **domain(periodic, dim), **options)

    check_all(index, expected, condition)


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("name", ["exclusions", "always"])
@pytest.mark.parametrize("method", sorted({name for name, _ in WAYS.values()}))
def test_queries_that_are_no_points_with_radii_of_their_own(session, method, name, periodic):
    points, queries, radius, condition, met = drawn(name, 2, np.float32, queries=True)
    radii = (radius * np.random.default_rng(3).random(len(queries))).astype(np.float32)
    index = clfrnn.build_index(points, radius, method=method, session=session, **domain(periodic, 2))

    expected = reference.neighbors(points, radius, queries=queries, where=met, **domain(periodic, 2))
    check_all(index, expected, condition, queries=queries)
    expected = reference.neighbors(points, radii, queries=queries, where=met, **domain(periodic, 2))
    assert_same(index.query(queries, radius=radii, where=condition, **FULL), expected)
    assert_counts(index.count(queries, radius=radii, where=condition), expected)


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("name", ["always", "species", "shell", "of_queries", "sides"])
@pytest.mark.parametrize("method", ["strips", "uniform_grid", "aabb_tree", "fenns"])
def test_arrangements_of_gpus(session, method, name, periodic):
    """Records and pairs, hit masks of bits, neighbor buffers, packets."""
    if takes_long_as_gpu(session, method) and name != "species":
        pytest.skip("takes long to compile here")
    points, _, radius, condition, met = drawn(name, 3, np.float32)
    expected = reference.neighbors(points, radius, where=met, **domain(periodic, 3))
    index = clfrnn.build_index(points, radius, method=method, session=as_gpu(session), **domain(periodic, 3))

    assert_counts(index.count(where=condition), expected)
    same_rows(index.query(where=condition), expected)
    assert_same(index.query(where=condition, **FULL), expected)


@pytest.mark.parametrize("name", ["species", "shell", "of_queries", "numbers"])
@pytest.mark.parametrize("method", ["strips", "aabb_tree"])
def test_crowds_on_gpus(session, method, name):
    """Fused tests of pairs, and leaves that are counted as a whole."""
    rng = np.random.default_rng(5)
    n = min(POINTS, 700)
    points = (rng.random((n, 2)) * 0.1).astype(np.float32)
    radius = 0.09
    condition, met = CASES[name](rng, n, n, 2, np.dtype(np.float32), radius)
    expected = reference.neighbors(points, radius, where=met)
    index = clfrnn.build_index(points, radius, method=method, session=as_gpu(session))

    assert_counts(index.count(where=condition), expected)
    same_rows(index.query(where=condition), expected)
    assert_counts(
        index.count(where=condition, include_self=True),
        reference.neighbors(points, radius, where=met, include_self=True),
    )


@pytest.mark.parametrize("slots", [4, 12])
@pytest.mark.parametrize("name", ["species", "always"])
def test_neighbor_buffers(session, name, slots):
    """The first pass has those neighbors alone that count; queries with more than slots are searched again."""
    points, _, _, condition, met = drawn(name, 3, np.float32)
    radius = 0.17
    expected = reference.neighbors(points, radius, where=met)
    index = clfrnn.build_index(points, radius, method="strips", session=as_gpu(session))

    for _ in range(3):
        same_rows(with_slots(index, slots).query(where=condition), expected)
        same_rows(index.query(), reference.neighbors(points, radius))


@pytest.mark.parametrize("name", ["both_ends", "of_queries", "of_points", "numbers"])
def test_oneself(session, way, name):
    """A point counts as its own neighbor where it is included and the condition holds for it."""
    points, _, radius, condition, met = drawn(name, 2, np.float32)
    points[::3] = points[1]
    method, options = way
    index = clfrnn.build_index(points, radius, method=method, session=session, **options)
    for include_self in (False, True):
        expected = reference.neighbors(points, radius, include_self=include_self, where=met)

        assert_counts(index.count(include_self=include_self, where=condition), expected)
        assert_nearest(index.nearest(include_self=include_self, where=condition), expected)


def test_a_nearer_point_that_does_not_count_hides_none(session, way):
    """It must not lower the reach of the walk."""
    points = np.float32([[0, 0], [0.1, 0], [0, 0.3], [0.5, 0]])
    method, options = way
    index = clfrnn.build_index(points, 1.0, method=method, session=session, **options)

    found = index.nearest(where=clfrnn.Condition("kind[i] != kind[j]", kind=[0, 0, 1, 1]))

    assert found.indices.get().tolist() == [2, 2, 0, 1]


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_half_lists(session, way, periodic):
    points, _, radius, _, _ = drawn("shell", 2, np.float32)
    kind = np.random.default_rng(4).integers(0, 2, SIZE).astype(np.uint8)
    condition = clfrnn.Condition("kind[i] != kind[j]", kind=kind)
    method, options = way
    expected = reference.neighbors(
        points, radius, half=True, where=lambda i, j, d2, dx, shift: kind[i] != kind[j], **domain(periodic, 2)
    )

    found = clfrnn.search(
        points,
        radius,
        half=True,
        where=condition,
        method=method,
        session=session,
        **FULL,
        **domain(periodic, 2),
        **options,
    )

    assert_same(found, expected)


@pytest.mark.parametrize("dimension", [1, 5])
@pytest.mark.parametrize("method", ["brute_force", "aabb_tree"])
def test_other_dimensions(session, method, dimension):
    points, _, radius, condition, met = drawn("sides", dimension, np.float32)
    expected = reference.neighbors(points, radius, where=met)
    index = clfrnn.build_index(points, radius, method=method, session=session)

    check_all(index, expected, condition)


def test_lists_of_a_loop_in_blocks_and_with_hints(session, way):
    """Conditions alternate, so that the length of one list says nothing about the next."""
    points, _, radius, _, _ = drawn("shell", 3, np.float32)
    method, options = way
    index = clfrnn.build_index(points, radius, method=method, session=session, **options)
    made = [
        CASES[name](np.random.default_rng(6), SIZE, SIZE, 3, np.dtype(np.float32), radius)
        for name in ("of_points", "never")
    ]
    made.append((None, None))
    for _ in range(3):
        for condition, met in made:
            expected = reference.neighbors(points, radius, where=met)
            same_rows(index.query(where=condition), expected)
            assert_same(
                index.query(where=condition, sort="distance", distances=True), expected, order=by_distance(expected)
            )
    condition, met = made[0]
    expected = reference.neighbors(points, radius, where=met)
    for hint in (1, 10 * len(expected.indices)):
        same_rows(index.query(where=condition, hint=hint), expected)
    same_rows(joined(list(index.query_blocks(where=condition, max_bytes=4000))), expected)


def test_lists_that_are_written_later_keep_the_values_of_the_call(session):
    """A list with a hint and lists in blocks own copies of the caller's arrays."""
    points, _, radius, _, _ = drawn("shell", 2, np.float32)
    alive = np.random.default_rng(2).random(SIZE) < 0.5
    held = cla.to_device(session.queue, alive.astype(np.uint8))
    index = clfrnn.build_index(points, radius, session=session)
    expected = reference.neighbors(points, radius, where=lambda i, j, d2, dx, shift: alive[j])
    condition = clfrnn.Condition("alive[j]", alive=held)

    hinted = index.query(where=condition, hint=1)
    blocks = index.query_blocks(where=condition, max_bytes=4000)
    held.fill(1)

    same_rows(hinted, expected)
    same_rows(joined(list(blocks)), expected)


def test_values_on_the_device_are_read_at_each_call(session):
    points, _, radius, _, _ = drawn("shell", 2, np.float32)
    held = cla.zeros(session.queue, SIZE, np.int32)
    condition = clfrnn.Condition("alive[j]", alive=held)
    index = clfrnn.build_index(points, radius, session=session)

    assert not index.count(where=condition).get().any()
    held.fill(1)
    assert_counts(index.count(where=condition), reference.neighbors(points, radius))


def test_host_arrays_are_those_of_the_time_when_the_condition_was_made(session):
    points, _, radius, _, _ = drawn("shell", 2, np.float32)
    alive = np.ones(SIZE, np.int32)
    condition = clfrnn.Condition("alive[j]", alive=alive)
    alive[:] = 0

    found = clfrnn.build_index(points, radius, session=session).count(where=condition)

    assert_counts(found, reference.neighbors(points, radius))


@pytest.mark.parametrize("method", ["strips", "aabb_tree"])
def test_a_loop_compiles_and_copies_nothing_after_its_first_step(session, method, calls_of):
    points, _, radius, _, _ = drawn("shell", 3, np.float32)
    kind = cla.to_device(session.queue, np.arange(SIZE, dtype=np.int32) % 2)
    condition = clfrnn.Condition("kind[i] != kind[j] && weight[i] > least", kind=kind, weight=np.ones(SIZE), least=0.5)
    index = clfrnn.build_index(points, radius, method=method, session=session)
    on_device = cla.to_device(session.queue, points)

    def step():
        index.update(on_device)
        index.count(where=condition)
        index.nearest(where=condition)
        return index.query(where=condition)

    step()
    step()
    compiled, uploads = session.programs.compiled, calls_of(type(session), "upload")
    for _ in range(3):
        step()

    assert session.programs.compiled == compiled
    assert not uploads


def test_a_search_finds_the_session_of_the_arrays(session):
    points, _, radius, _, _ = drawn("shell", 2, np.float32)
    alive = cla.zeros(session.queue, SIZE, np.int32)

    found = clfrnn.search(points, radius, where=clfrnn.Condition("alive[j]", alive=alive))

    assert found.indices.context == session.context
    assert found.num_pairs == 0


def test_more_pairs_than_foreseen_and_other_sessions(session):
    """A condition serves any number of sessions and dtypes."""
    condition = clfrnn.Condition("d2 > least && kind[j] == 1", least=0.01, kind=[0, 1] * (SIZE // 2))
    other = clfrnn.Session(session.device)
    for dtype in (np.float32, np.float64) if session.profile.fp64 else (np.float32,):
        points = clouds.uniform(SIZE, 2, dtype=dtype, seed=1)
        expected = reference.neighbors(
            points, 0.2, where=lambda i, j, d2, dx, shift: (d2 > d2.dtype.type(0.01)) & (j % 2 == 1)
        )
        for each in (session, other):
            assert_counts(clfrnn.build_index(points, 0.2, session=each).count(where=condition), expected)


def test_blocks_of_sorted_queries_know_their_numbers(session):
    """A block of queries that are sorted into cells may get a copy, in which they have other numbers."""
    one = tuned(as_gpu(session), grid={"many_queries": 1, "least_to_sort_for": 0})
    points, queries = clouds.uniform(SIZE, 3, seed=1), clouds.uniform(SIZE, 3, seed=2)
    active = np.random.default_rng(3).random(SIZE) < 0.5
    index = clfrnn.build_index(points, 0.2, method="strips", session=one)
    expected = reference.neighbors(points, 0.2, queries=queries, where=lambda i, *_: active[i])
    for expression in ("active[i]", "active[i] && j >= 0"):
        where = clfrnn.Condition(expression, active=active)
        parts = list(index.query_blocks(queries, where=where, max_bytes=SIZE * 8, distances=True))
        assert len(parts) > 2
        same_rows(joined(parts), expected)
