"""Lists that are written before their number of pairs is known: by what the lists before them had."""

import dataclasses
import gc

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    COLUMNS,
    FULL,
    POINTS,
    as_gpu,
    assert_same,
    own_session,
    refusing,
    same_rows,
    truth,
    visits,
    with_slots,
)

import clfrnn
from clfrnn import clouds
from clfrnn.answers.lists import columns as list_spec
from clfrnn.answers.lists import two_pass as lists
from clfrnn.answers.lists.capacity import Capacity
from clfrnn.methods.first_pass.base import make_hit_mask
from clfrnn.primitives.readback import Readback

pytestmark = pytest.mark.usefixtures("unsliced")

N = min(300, POINTS)
RADIUS = 0.15
EVEN = clouds.uniform(N, 3, seed=1)
#: the same points in half the space on each axis: about eight times as many pairs
DENSE = EVEN * np.float32(0.5)
#: and in twice as much
SPARSE = EVEN * np.float32(2)
EXPECTED = {id(points): truth(points, RADIUS) for points in (EVEN, DENSE, SPARSE)}
PAIRS = len(EXPECTED[id(EVEN)].indices)
UNIT = {"box": (1.0, 1.0, 1.0), "periodic": True}


@pytest.fixture
def index(session, method):
    """An index that has answered once."""
    made = clfrnn.build_index(EVEN, RADIUS, method=method, session=session)
    made.query()
    return made


@pytest.fixture
def strips(session):
    made = clfrnn.build_index(EVEN, RADIUS, method="strips", session=session)
    made.query()
    return made


def by_walks_alone(index):
    """No neighbor buffer, from which rows are written without a second walk."""
    return with_slots(index, 0)


def same(found, expected):
    """Sorted lists as they are; in others rows may be in any order."""
    (assert_same if found.distances is not None else same_rows)(found, expected)


@pytest.mark.core
def test_all_is_enqueued_before_the_wait(index, monkeypatch):
    """The second visit too, from the second list of a kind on."""
    by_walks_alone(index)
    enqueued = []
    wait = Readback.wait

    def waiting(readback):
        enqueued.append([name for name, _ in launches].count("frnn_visit"))
        return wait(readback)

    monkeypatch.setattr(Readback, "wait", waiting)
    with index.session.recorded() as launches:
        found = index.query()
        alike = index.query(distances=True)
        other = index.query(half=True)

    assert enqueued == [2, 4, 5], "the half list is the first of its kind"
    assert found.num_pairs == alike.num_pairs == 2 * other.num_pairs == PAIRS
    assert [sorted(row) for row in alike] == [sorted(row) for row in index.query(sort="index")]


def test_a_driver_that_ends_loops_sorts_nothing_unseen(session):
    """There the longest row is looked at before it is sorted, when there is nothing else to wait for."""
    small = own_session(session, loop_turns=10**7)
    index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=small)
    for _ in range(3):
        assert_same(index.query(**FULL), EXPECTED[id(EVEN)])
        assert index._lists.capacity.foreseen((None, index.radius, False, False, None)) >= PAIRS
    small.profile = dataclasses.replace(small.profile, loop_turns=1)
    with pytest.raises(clfrnn.NoDeviceError, match="sorting a row"):
        index.query(**FULL)
    bad = EVEN.copy()
    bad[2] = np.nan
    index.update(cla.to_device(small.queue, bad))
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 2"):
        index.query(**FULL)


@pytest.mark.core
@pytest.mark.parametrize("carried", [{"sort": "index"}, FULL], ids=["bare", "full"])
@pytest.mark.parametrize("where", ["host", "device"])
def test_a_list_much_longer_or_shorter_than_foreseen(index, carried, where):
    for points in (DENSE, EVEN, SPARSE, SPARSE, DENSE, EVEN):
        index.update(points if where == "host" else cla.to_device(index.session.queue, points))
        assert_same(index.query(**carried), EXPECTED[id(points)])


def test_visits_that_a_list_takes(strips):
    """Two; a third where more is found than there is room for, once; never one for pairs that are fewer."""
    by_walks_alone(strips)
    taken = []
    for points in (EVEN, DENSE, DENSE, EVEN, SPARSE, DENSE):
        strips.update(points)
        many, found = visits(strips.session, strips.query)
        assert found.num_pairs == len(EXPECTED[id(points)].indices)
        taken.append(many)

    assert taken == [2, 3, 2, 2, 2, 2]


@pytest.mark.core
@pytest.mark.parametrize("domain", [{}, UNIT], ids=["open", "periodic"])
@pytest.mark.parametrize("asked", [{}, {"half": True}, FULL], ids=str)
def test_clouds_that_draw_together_and_apart_on_a_gpu(session, domain, asked):
    """By cells filled together: beyond the room that the list before left, within it, and with room to spare."""
    index = by_walks_alone(clfrnn.build_index(EVEN, RADIUS, method="strips", session=as_gpu(session), **domain))
    index.query(**asked)
    taken = []
    for points in (EVEN, DENSE, DENSE, EVEN, SPARSE):
        index.update(cla.to_device(index.session.queue, points))
        many, found = visits(index.session, lambda: index.query(**asked))
        expected = truth(points, RADIUS, half=asked.get("half", False), **domain)
        assert found.indices.shape == expected.indices.shape
        same(found, expected)
        taken.append(many)

    passes = min(taken) // 2
    waits_first = asked.get("sort") and index.session.profile.loop_turns is not None
    assert waits_first or taken == [2 * passes, 3 * passes, 2 * passes, 2 * passes, 2 * passes]


@pytest.mark.parametrize("hint", [None, 5, 3 * PAIRS])
def test_lists_held_at_the_same_time_have_memory_of_their_own(index, hint):
    """Also those of one kind, in room foreseen from each other."""
    held = []
    for points in (EVEN, SPARSE, DENSE, EVEN, DENSE):
        index.update(cla.to_device(index.session.queue, points))
        held.append((index.query(hint=hint, **FULL), points))
    buffers = [getattr(found, name).base_data for found, _ in held for name in COLUMNS[:4]]

    assert len({id(buffer) for buffer in buffers}) == len(buffers)
    for found, points in held:
        assert_same(found, EXPECTED[id(points)])


def test_what_differs_between_lists_is_no_kind_of_the_others(session, method):
    """Other queries, radii, halves and self in turn: each as the reference has it, and none is written twice."""
    index = clfrnn.build_index(EVEN, RADIUS, method=method, session=session)
    queries = clouds.uniform(40, 3, seed=3)
    radii = np.linspace(0, RADIUS, N).astype(np.float32)
    asked = (
        ({}, {}),
        ({"queries": queries}, {"queries": queries}),
        ({"radius": radii}, {}),
        ({"radius": RADIUS / 2}, {}),
        ({"half": True}, {"half": True}),
        ({"include_self": True}, {"include_self": True}),
    )
    for _ in range(3):
        for call, known in asked:
            many, found = visits(session, lambda: index.query(**call, **FULL))
            assert many == 2
            assert_same(found, truth(EVEN, call.get("radius", RADIUS), **known))
    assert len(index._lists.capacity._kinds) == len(asked)
    index.query(radius=radii / 4)

    assert_same(index.query(radius=radii, **FULL), truth(EVEN, radii))


def test_lists_in_a_periodic_box(session, method):
    index = clfrnn.build_index(EVEN, RADIUS, method=method, session=session, **UNIT)
    for points in (EVEN, DENSE, EVEN, SPARSE, DENSE):
        index.update(cla.to_device(session.queue, points))
        assert_same(index.query(**FULL), truth(points, RADIUS, **UNIT))


def test_no_pairs_and_no_queries(session, method):
    index = clfrnn.build_index(EVEN, RADIUS, method=method, session=session)
    for radius in (0, 0, RADIUS, 0):
        assert index.query(radius=radius).num_pairs == (PAIRS if radius else 0)
    for points in (EVEN * np.float32(1000), EVEN, EVEN * np.float32(1000)):
        index.update(points)
        assert_same(index.query(**FULL), truth(points, RADIUS))
    for _ in range(2):
        assert index.query(EVEN[:0]).num_pairs == 0


# --- budgets and memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [DENSE, EVEN, SPARSE], ids=["dense", "even", "sparse"])
def test_a_budget_to_the_byte_whatever_was_foreseen(index, points):
    index.update(cla.to_device(index.session.queue, points))
    pairs = len(EXPECTED[id(points)].indices)
    needed = 4 * (N + 1 + pairs)

    for _ in range(2):
        assert index.query(max_bytes=needed).num_pairs == pairs
        assert index.query(max_bytes=2 * needed).num_pairs == pairs
        with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes: .*Nothing was truncated") as caught:
            index.query(max_bytes=needed - 1)
        assert (caught.value.needed, caught.value.available) == (needed, needed - 1)


def test_memory_goes_back_to_the_pool(session, index):
    """After lists as foreseen, longer and shorter ones, and errors."""
    session = index.session
    gc.collect()
    index.check()
    before = session._pool.active_bytes
    for points in (DENSE, EVEN, SPARSE, EVEN):
        index.update(points)
        index.query(**FULL)
        with pytest.raises(clfrnn.DeviceMemoryError):
            index.query(max_bytes=10)
    gc.collect()

    assert session._pool.active_bytes <= before + 2**16, "the cells of an index may have grown, lists may not stay"


def test_a_list_has_no_more_than_twice_its_memory(session):
    """What is much shorter than the lists before it does not sit in their room."""
    index = clfrnn.build_index(DENSE, RADIUS, method="brute_force", session=session)
    room = index.query(**FULL)
    del room
    index.update(SPARSE)
    gc.collect()
    before = session._pool.active_bytes
    few = len(EXPECTED[id(SPARSE)].indices)

    found = index.query(**FULL)
    gc.collect()

    assert session._pool.active_bytes - before <= sum(max(16, getattr(found, name).nbytes) * 2 for name in COLUMNS[:4])
    assert found.num_pairs == few


def test_a_list_that_nobody_looks_at_keeps_no_first_pass(session, monkeypatch):
    """Only what it takes to give its pairs room after all."""
    made = []
    monkeypatch.setattr(
        lists, "make_hit_mask", lambda *given, **named: made.append(make_hit_mask(*given, **named)) or made[-1]
    )
    index = clfrnn.build_index(DENSE, RADIUS, method="strips", session=as_gpu(session))
    by_walks_alone(index)
    pairs = len(EXPECTED[id(DENSE)].indices)
    before = index.session._pool.active_bytes

    found = index.query(hint=pairs)
    assert made.pop() is not None
    gc.collect()

    assert index.session._pool.active_bytes - before <= 4 * (N + 1 + pairs + N) + 16
    assert found.num_pairs == pairs


def test_no_memory_for_what_is_foreseen(index):
    """A pool in pieces, say: the list is made when its length is known."""
    index.update(SPARSE)
    most = index._lists.capacity.foreseen((None, index.radius, False, False, None))
    with refusing(f"of {most:,} pairs") as refused:
        same_rows(index.query(), EXPECTED[id(SPARSE)])
    assert refused


def test_no_memory_for_a_copy_of_a_much_shorter_list(index):
    """The list then stays in the memory that was allocated for what was foreseen."""
    index.update(DENSE)
    index.query()
    index.update(SPARSE)
    expected = EXPECTED[id(SPARSE)]
    with refusing(f"of {len(expected.indices):,} pairs") as refused:
        same_rows(index.query(), expected)
    assert refused


def test_a_list_that_is_refused_what_should_fit(session):
    """It is tried again with the memory of the first pass given back, and without room to spare."""
    index = clfrnn.build_index(DENSE, RADIUS, method="strips", session=as_gpu(session))
    expected = EXPECTED[id(DENSE)]
    with refusing(f"of {len(expected.indices):,} pairs", most=1) as refused:
        assert_same(index.query(**FULL), expected)
    assert len(refused) == 1
    with refusing(f"of {len(expected.indices):,} pairs"), pytest.raises(clfrnn.DeviceMemoryError, match="query_blocks"):
        clfrnn.search(DENSE, RADIUS, method="strips", session=index.session)


def test_offsets_stay_narrow_where_only_the_capacity_is_wide(strips, monkeypatch):
    """Room to spare may be for more pairs than int32 counts."""
    monkeypatch.setattr(list_spec, "_LARGEST_INT32", PAIRS + 1)
    for _ in range(3):
        many, found = visits(strips.session, lambda: strips.query(**FULL))
    assert many == 2
    assert found.offsets.dtype == np.int32
    assert_same(found, EXPECTED[id(EVEN)])

    for points, dtype in ((DENSE, np.int64), (DENSE, np.int64), (EVEN, np.int32), (EVEN, np.int32)):
        strips.update(points)
        many, found = visits(strips.session, lambda: strips.query(**FULL))
        assert found.offsets.dtype == dtype
        assert_same(found, EXPECTED[id(points)])
    assert many == 2


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_points_are_reported_by_the_list_itself(index, bad):
    points = EVEN.copy()
    points[7, 1] = bad
    on_device = cla.to_device(index.session.queue, points)
    for _ in range(2):
        index.update(on_device)
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 7"):
            index.query()
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 7"):
            index.query(**FULL)
    index.update(cla.to_device(index.session.queue, DENSE))

    assert_same(index.query(**FULL), EXPECTED[id(DENSE)])


def test_bad_queries_and_radii_are_reported_by_the_list_itself(index):
    queries, radii = EVEN.copy(), np.full(N, RADIUS, np.float32)
    good = [cla.to_device(index.session.queue, each) for each in (queries, radii)]
    queries[11, 2], radii[5] = np.nan, -1
    bad = [cla.to_device(index.session.queue, each) for each in (queries, radii)]
    for _ in range(3):
        index.query(good[0])
        index.query(radius=good[1])
        with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 11"):
            index.query(bad[0])
        with pytest.raises(clfrnn.InvalidInputError, match="radius: "):
            index.query(radius=bad[1])

    assert_same(index.query(radius=good[1], **FULL), EXPECTED[id(EVEN)])


def test_an_error_comes_before_a_budget_that_bad_points_would_keep(index):
    points = EVEN.copy()
    points[3] = np.nan
    index.update(cla.to_device(index.session.queue, points))

    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 3"):
        index.query(max_bytes=10)


# --- capacity ---------------------------------------------------------------------------------------------------------


def test_capacities_keep_their_size():
    capacity = Capacity()
    assert capacity.foreseen("a") is None
    assert capacity.settle("a", 800) == capacity.foreseen("a") == 900
    assert [capacity.settle("a", pairs) for pairs in (900, 450, 500)] == [900, 900, 900]
    assert capacity.settle("a", 449) == 449, "not one more than it has"
    assert capacity.foreseen("a") == 900, "the next may be long again"
    assert capacity.settle("a", 1000) == capacity.foreseen("a") == 1125


def test_capacities_that_stay_too_large_shrink():
    capacity = Capacity()
    capacity.settle("a", 800)
    given = [(capacity.settle("a", 80), capacity.foreseen("a")) for _ in range(9)]

    assert given[:7] == [(80, 900)] * 7
    assert given[7:] == [(90, 90)] * 2


def test_overflows_of_many_kinds_are_noted():
    capacity = Capacity()
    for kind in range(200):
        capacity.settle_overflow(kind, overflowed=True)
        assert capacity.overflows(kind)
    capacity.settle_overflow(199, overflowed=False)
    assert not capacity.overflows(199)


def test_capacities_of_other_kinds():
    """About as long as the longest they share its size, and so its memory; else each has its own."""
    capacity = Capacity()
    capacity.settle("a", 800)
    assert [capacity.settle("b", 500), capacity.settle("c", 80)] == [900, 90]
    assert capacity.settle("d", 10_000, 10_500) == capacity.foreseen("d") == 10_500
    assert capacity.foreseen("a") == 900
    for kind in range(1000):
        capacity.settle(kind, 10)
    assert len(capacity._kinds) < 100


@pytest.mark.core
def test_a_hinted_list_of_bad_points_says_so_however_long_ago_they_came(session):
    points = clouds.uniform(200, 3, seed=4)
    bad = points.copy()
    bad[7, 1] = np.nan
    index = clfrnn.build_index(points, 0.1, method="strips", session=session)
    index.update(cla.to_device(session.queue, bad))
    good = cla.to_device(session.queue, points)
    for _ in range(20):
        index.count(good)
    held = index.query(hint=1000)
    index.update(good)
    with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 7\b"):
        held.to_host()
