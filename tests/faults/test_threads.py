"""Any thread may call anything: eight threads on one session and on shared indices, switched every microsecond.

``CLFRNN_TEST_SECONDS=60`` runs each test for a minute, instead of a few rounds.
"""

import contextlib
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pytest
from conftest import own_session, truth

import clfrnn
from clfrnn import clouds

THREADS, ROUNDS, RADIUS = 8, 6, 0.1
SECONDS = float(os.environ.get("CLFRNN_TEST_SECONDS", "0"))

CLOUDS = [clouds.uniform(count, 3, seed=count) for count in (200, 311, 423, 577)]
#: positions that an index is updated with while others search it
STATES = [clouds.uniform(300, 3, seed=seed) for seed in (1, 2)]

DEGREE = clfrnn.NeighborFunction(
    arguments="global int *counts", state="int count = 0;", per_neighbor="++count;", finish="counts[i] = count;"
)


@pytest.fixture
def restless(session):
    if not session.profile.concurrent:
        pytest.skip("the driver serves one thread at a time")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield session
    sys.setswitchinterval(before)


def in_threads(work):
    """Run ``work(random numbers, round)`` in each thread, for some rounds or some time; its errors are raised."""
    end, start = time.monotonic() + SECONDS, threading.Barrier(THREADS)

    def repeat(thread):
        rng = np.random.default_rng(thread)
        start.wait(timeout=60)
        turn = 0
        while turn < ROUNDS or time.monotonic() < end:
            work(rng, turn)
            turn += 1
        return turn

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(repeat, range(THREADS)))


def wanted(points):
    """The reference, computed before threads begin."""
    return truth(points, RADIUS)


def right(found, points):
    """Whether a list, sorted by index, is that of these points."""
    known, found = wanted(points), found.to_host()
    return np.array_equal(found.offsets, known.offsets) and np.array_equal(found.indices, known.indices)


def test_searches(restless):
    """On the default session, where the device is its own."""
    given = None if clfrnn.default_session().device == restless.device else restless
    for points in CLOUDS:
        wanted(points)

    def work(rng, turn):
        points = CLOUDS[rng.integers(len(CLOUDS))]
        to_host = bool(rng.integers(2))
        method = "brute_force" if turn % 2 else "strips"
        found = clfrnn.search(points, RADIUS, method=method, sort="index", to_host=to_host, session=given)
        assert right(found, points)

    assert in_threads(work) >= THREADS * ROUNDS


def test_a_shared_index(restless):
    points = CLOUDS[-1]
    index = clfrnn.build_index(points, RADIUS, method="strips", session=restless)
    counts, nearest = np.diff(wanted(points).offsets), index.nearest().indices.get()
    some = points[:50]
    of_some = truth(points, RADIUS, queries=some)

    def visit():
        out = index.zeros(index.num_points, np.int32)
        index.visit(DEGREE, counts=out)
        return np.array_equal(out.get(), counts)

    def blocks():
        parts = [part.counts for part in index.query_blocks(max_bytes=8000)]
        return np.array_equal(np.concatenate(parts), counts)

    ways = [
        lambda: np.array_equal(index.count(to_host=True), counts),
        lambda: np.array_equal(index.count(some).get(), np.diff(of_some.offsets)),
        lambda: right(index.query(sort="index"), points),
        lambda: right(index.query(sort="index", hint=10), points),
        lambda: index.query(some, hint=100_000).num_pairs == of_some.offsets[-1],
        lambda: np.array_equal(np.asarray(index.nearest().indices), nearest),
        lambda: np.array_equal(np.sort(index.order.get()), np.arange(len(points))),
        lambda: sum(index.nbytes.values()) > 0,
        visit,
        blocks,
    ]

    def work(rng, turn):
        way = (turn + rng.integers(len(ways))) % len(ways)
        assert ways[way](), way

    assert in_threads(work) >= THREADS * ROUNDS


def test_updates_of_a_shared_index(restless):
    """Each call sees all points of one update, never some of two."""
    index = clfrnn.build_index(STATES[0], RADIUS, method="strips", session=restless)
    counts = [np.diff(wanted(points).offsets) for points in STATES]
    hinted = [index.query(sort="index", hint=20_000)]

    def work(rng, turn):
        match rng.integers(5):
            case 0:
                index.update(STATES[rng.integers(2)])
            case 1:
                found = index.count(to_host=True)
                assert any(np.array_equal(found, each) for each in counts)
            case 2:
                found = index.query(sort="index", distances=True)
                assert any(right(found, points) for points in STATES)
            case 3:  # read by another thread than the one that made it
                found, hinted[0] = hinted[0], index.query(sort="index", hint=20_000)
                assert any(right(found, points) for points in STATES)
            case _:
                out = index.empty(index.num_points, np.int32)
                index.visit(DEGREE, counts=out)
                assert any(np.array_equal(out, each) for each in counts)

    assert in_threads(work) >= THREADS * ROUNDS
    index.check()


def test_one_list_and_one_iterator_for_all(restless):
    """A list that waits is settled once; blocks go to those who come, each once."""
    points = CLOUDS[-1]
    index = clfrnn.build_index(points, RADIUS, method="strips", session=restless)
    for _ in range(ROUNDS):
        hinted, blocks = index.query(sort="index", hint=10), index.query_blocks(max_bytes=4000)
        with ThreadPoolExecutor(THREADS) as pool:
            assert all(pool.map(lambda _: right(hinted, points), range(THREADS)))
            parts = list(pool.map(lambda _: [len(part) for part in blocks], range(THREADS)))
        assert sum(map(sum, parts)) == len(points)


def test_steps_of_a_model(restless):
    """A step is two calls, and whole: as many steps as were asked for, of a model that one thread would have, too."""
    from clfrnn.models import Circles

    model, alone = (Circles(200, 10, repeatable=True, seed=3, session=restless) for _ in range(2))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: model.step(3), range(THREADS)))
    alone.step(3 * THREADS)

    assert model.steps_done == 3 * THREADS
    assert np.array_equal(np.asarray(model.points), np.asarray(alone.points))


def test_sessions_do_not_wait_for_each_other(restless):
    """Nor do they where each is given the arrays of the other."""
    other = clfrnn.Session(cl.CommandQueue(restless.context, restless.device))
    with restless.lock, ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: clfrnn.search(CLOUDS[0], RADIUS, sort="index", session=other).to_host())
        assert right(found.result(timeout=120), CLOUDS[0])

    sessions = [restless, other]
    arrays = [session.upload(CLOUDS[0], purpose="a test") for session in sessions]

    def work(rng, turn):
        mine = int(rng.integers(2))
        found = clfrnn.search(arrays[1 - mine], RADIUS, sort="index", session=sessions[mine])
        assert right(found, CLOUDS[0])

    assert in_threads(work) >= THREADS * ROUNDS


def test_sessions_that_come_and_go(restless):
    """While others look for the session of an array among them."""
    array = restless.upload(CLOUDS[0], purpose="a test")
    made = []

    def work(rng, turn):
        if rng.integers(2):
            made.append(clfrnn.Session(restless.queue))
            with contextlib.suppress(IndexError):
                made.pop(0)
        else:
            assert clfrnn.search(array, RADIUS, method="brute_force").num_pairs == wanted(CLOUDS[0]).offsets[-1]

    assert in_threads(work) >= THREADS * ROUNDS


def test_the_default_session_is_one():
    """However many threads want the first."""
    from clfrnn.points import sessions

    sessions._default_session.cache_clear()
    with ThreadPoolExecutor(THREADS) as pool:
        found = set(pool.map(lambda _: clfrnn.default_session(), range(THREADS)))

    assert len(found) == 1


def test_programs_are_compiled_by_several_threads(restless):
    """Of sessions of their own, with warnings shown as before."""
    import warnings

    before = list(warnings.filters)
    sessions = [own_session(restless) for _ in range(3)]

    def work(session):
        return right(clfrnn.search(CLOUDS[0], RADIUS, method="strips", sort="index", session=session), CLOUDS[0])

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, sessions))
    assert list(warnings.filters) == before
