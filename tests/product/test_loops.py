"""Loops over time steps: what they allocate, what they compile, and how often the host waits."""

import functools
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
    rows_of,
    truth,
)

import clfrnn
from clfrnn import clouds
from clfrnn.methods import METHODS

N = min(300, POINTS)
STEPS = 150 if POINTS >= 300 else 60
#: From then on a list is held, and each is made while the one before it is still there.
WARM = 5
RADIUS = 0.15
CLOUD = clouds.uniform(N, 3, seed=1)
#: A tree that is never built again: one that may be waits for the step before to tell, see test_aabb_tree.py.
ASKED = {name: {"method": name} for name in METHODS} | {
    "aabb_tree": {"method": "aabb_tree", "rebuild_threshold": math.inf}
}


@pytest.fixture
def waits(calls_of, unsliced):
    """How often the host has waited so far: for reads of the library, and for events and queues by anybody."""
    reads, finishes = calls_of(clfrnn.Session, "read"), calls_of(cl.CommandQueue, "finish")
    events = calls_of(cl.Event, "wait"), calls_of(cl, "wait_for_events")
    return lambda: {"read": len(reads), "event": sum(map(len, events)), "finish": len(finishes)}


_RNG = np.random.default_rng(2)
#: A few positions that differ a little, taken in turn.
MOVED = [(CLOUD + _RNG.normal(0, 1e-3, CLOUD.shape)).astype(np.float32) for _ in range(5)]


def steps_of(queue):
    """Device arrays of the positions: a loop makes no arrays of its own."""
    return [cla.to_device(queue, each) for each in MOVED]


@functools.cache
def answers(periodic):
    """The reference for each of them."""
    return [truth(points, RADIUS, **domain_of(periodic)) for points in MOVED]


def domain_of(periodic):
    return {"box": (1.0, 1.0, 1.0), "periodic": True} if periodic else {}


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_loop_of_lists_allocates_and_compiles_nothing(counted, method, periodic):
    """Beyond what its first steps took, while a list of an early step is held and stays as it was."""
    domain = domain_of(periodic)
    arrays = steps_of(counted.queue)
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=counted, **domain)
    expected = answers(periodic)
    held = None
    after_first = after_warm = None
    for step in range(WARM + (STEPS // 4 if periodic else STEPS)):
        which = step % len(arrays)
        index.update(arrays[which])
        found = index.query(**FULL)
        if step == 0:
            after_first = counted.programs.compiled
        if step == 1:
            held = found, expected[which]
        if step == WARM - 1:
            after_warm = counted._pool.allocations
        assert found.num_pairs == expected[which].offsets[-1]

    assert counted.programs.compiled == after_first
    assert counted._pool.allocations == after_warm
    assert_same(*held)
    assert_same(found, expected[which])


VISITOR = clfrnn.NeighborFunction(
    arguments="global int *out", state="int c = 0;", per_neighbor="c += j + 1;", finish="out[i] = c;"
)


@pytest.mark.parametrize("n", [400, 2000, 4500])
@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
def test_clouds_that_grow_compile_nothing(counted, method, n):
    """Into more cells, and then fewer than there were at first: how they are filled is settled by how many come."""
    cloud = clouds.uniform(n, 3, seed=9)
    every_pair = clfrnn.build_index(cloud, 0.12, method="brute_force", session=counted)
    every_pair.count()
    index = clfrnn.build_index(cloud, 0.12, method=method, session=counted)
    index.count()
    index.query()
    compiled, grids = counted.programs.compiled, set()
    for scale in (1.0, 1.6, 4.0, 0.1, 40.0):
        moved = cloud * np.float32(scale)
        index.update(moved)
        every_pair.update(moved)
        assert np.array_equal(index.count().get(), every_pair.count().get())
        index.query()
        grids.add(index._traversal.structure.cell_grid.cells)
    assert len(grids) > 1
    assert counted.programs.compiled == compiled


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_loop_that_makes_no_list_does_not_wait(counted, method, periodic, waits):
    """update, count, visit and nearest: nothing allocated, nothing compiled, and checks come eight at a time."""
    domain = domain_of(periodic)
    arrays = steps_of(counted.queue)
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=counted, **domain)
    out = cla.zeros(counted.queue, N, np.int32)
    steps = 2 * 16 + STEPS // 4
    for step in range(steps):
        which = step % len(arrays)
        index.update(arrays[which])
        counts = index.count()
        nearest = index.nearest()
        out.events.clear()  # pyopencl's own list, which it waits for when it grows: see the test of visits below
        index.visit(VISITOR, out=out)
        if step == 0:
            compiled = counted.programs.compiled
        if step == 2 * 16 - 1:  # the checks of a caller who never waits have come and gone
            allocated, read = counted._pool.allocations, waits()["read"]
    finished = waits()

    assert counted.programs.compiled == compiled
    assert counted._pool.allocations == allocated
    assert finished["read"] == read
    assert finished["event"] <= steps // 8, "for copies that were started eight checks before"
    assert finished["finish"] == 0
    expected = answers(periodic)[which]
    sums = np.zeros(N, int)
    np.add.at(sums, rows_of(expected), expected.indices + 1)
    assert_counts(counts, expected)
    assert_nearest(nearest, expected)
    assert np.array_equal(out.get(), sums)
    index.check()


@pytest.mark.core
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_waits_of_each_call(session, method, periodic, waits):
    """One wait for a list, none for what needs no number of pairs; a hinted list reads when it is looked at."""
    domain = domain_of(periodic)
    arrays = steps_of(session.queue)
    queries = cla.to_device(session.queue, clouds.uniform(40, 3, seed=3))
    radii = cla.to_device(session.queue, np.full(N, RADIUS / 2, np.float32))
    out = cla.zeros(session.queue, N, np.int32)
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=session, **domain)
    index.query()
    index.count(radius=radii)  # a tree learns here whether its points are crowded, once

    def during(call):
        before = waits()
        result = call()
        return {name: many - before[name] for name, many in waits().items()}, result

    none = {"read": 0, "event": 0, "finish": 0}
    one, looked = none | {"event": 1}, none | {"event": 2}  # of a list made without waiting, and of its checks
    for call in (
        lambda: index.update(arrays[0]),
        index.count,
        lambda: index.count(queries),
        lambda: index.count(radius=radii),
        index.nearest,
        lambda: index.nearest(queries),
        lambda: index.visit(VISITOR, out=out),
        lambda: index.order,
        lambda: index.reorder(arrays[1]),
    ):
        assert during(call)[0] == none
    for call in (
        index.query,
        lambda: index.query(**{**FULL, "sort": "distance"}),
        lambda: index.query(queries, **FULL),
        lambda: index.query(radius=radii, **FULL),
    ):
        index.update(arrays[1])
        assert during(call)[0] == one
    for asked in ({}, {"queries": queries, **FULL}, {"radius": radii, **FULL}):
        for hint in (10, 10**5):
            index.update(arrays[2])
            waited, hinted = during(lambda: index.query(hint=hint, **asked))
            assert waited == none
            assert during(lambda: len(hinted))[0] == none
            assert during(lambda: hinted.indices)[0] == looked
            assert during(lambda: (hinted.num_pairs, hinted.offsets))[0] == none


def test_visits_that_write_to_one_array_do_not_wait_for_each_other(session, method, waits):
    """pyopencl waits for an array's events when five have gathered: they must not gather."""
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=session)
    out, before = cla.zeros(session.queue, N, np.int32), waits()["event"]
    for _ in range(20):
        index.visit(VISITOR, out=out)

    assert waits()["event"] == before


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_loop_of_hinted_lists(counted, method, periodic):
    """The same, with room foreseen; lists are looked at one step later."""
    domain = domain_of(periodic)
    arrays = steps_of(counted.queue)
    expected = answers(periodic)
    hint = int(1.2 * max(answer.offsets[-1] for answer in expected))
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=counted, **domain)
    last = None
    for step in range(WARM + STEPS // 10):
        which = step % len(arrays)
        index.update(arrays[which])
        found = index.query(sort="index", hint=hint)
        if last is not None:
            assert last[0].num_pairs == last[1].offsets[-1]
        last = found, expected[which]
        if step == 0:
            compiled = counted.programs.compiled
        if step == WARM:
            allocated = counted._pool.allocations

    assert counted.programs.compiled == compiled
    assert counted._pool.allocations == allocated
    assert_same(*last)


def test_a_loop_of_blocks_compiles_nothing(counted, method):
    arrays = steps_of(counted.queue)
    index = clfrnn.build_index(CLOUD, RADIUS, **ASKED[method], session=counted)
    for step in range(20):
        index.update(arrays[step % len(arrays)])
        pairs = sum(part.num_pairs for part in index.query_blocks(max_bytes=6000))
        if step == 0:
            compiled = counted.programs.compiled

    assert pairs
    assert counted.programs.compiled == compiled


def test_checks_that_come_with_a_total_in_two_pieces(session):
    """Boxes of updates that the host has not looked at since, some of them in slots that were full before the last."""
    fresh = as_gpu(session)
    good, bad = cla.to_device(fresh.queue, CLOUD), CLOUD.copy()
    bad[7] = np.nan
    index = clfrnn.build_index(good, RADIUS, method="strips", session=fresh)
    for _ in range(8):
        index.update(good)
    index.query()
    index.update(cla.to_device(fresh.queue, bad))
    for _ in range(10):
        index.update(good)
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 7"):
        index.query(half=True)  # the first of its kind, which launches no walk that writes rows before the wait
    assert index.query().num_pairs == truth(CLOUD, RADIUS).offsets[-1]


@pytest.mark.core
def test_checks_that_come_late(session):
    """They say nothing of points that came since; a bad array among them is named by the next call that waits."""
    index = clfrnn.build_index(CLOUD, RADIUS, method="strips", session=session)
    moved, bad = (cla.to_device(session.queue, each) for each in (MOVED[0], MOVED[1]))
    bad[7, 1] = np.nan
    for step in range(8):
        index.update(bad if step == 3 else moved)
    newest = np.asarray(MOVED[2] + 1)
    index.update(newest)
    for _ in range(8):
        index.count(moved)
    box = index._traversal.checks.box_of_points()
    assert box is not None
    assert np.array_equal(box.low, newest.min(0))
    with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 7\b"):
        index.check()
    index.check()
    assert index.query().num_pairs == index.query(newest, include_self=True).num_pairs - len(newest)
