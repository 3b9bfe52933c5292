"""Readback and DeferredChecks: small numbers on their way to the host, and bad arrays that the device finds."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import own_session, refusing, truth

import clfrnn
from clfrnn import clouds
from clfrnn.config import INT
from clfrnn.domain.box import open_space
from clfrnn.methods import METHODS
from clfrnn.points.deferred_checks import Check, DeferredChecks
from clfrnn.primitives.fill import fill
from clfrnn.primitives.readback import PendingBox, Readback
from clfrnn.primitives.reduce import bounding_box
from clfrnn.runtime.scratch import Scratch

N, RADIUS = 120, 0.25
CLOUD = clouds.uniform(N, 3, seed=1)
MOVED = CLOUD[::-1] * np.float32(0.9)
EXPECTED, EXPECTED_MOVED = (np.diff(truth(points, RADIUS).offsets) for points in (CLOUD, MOVED))


def spoilt(points, row):
    points = points.copy()
    points[row, 1] = np.nan
    return points


@pytest.fixture
def to_device(session):
    return lambda array: cla.to_device(session.queue, np.ascontiguousarray(array))


@pytest.fixture
def index(session):
    return clfrnn.build_index(CLOUD, RADIUS, method="strips", session=session)


@pytest.fixture
def counted(calls_of):
    """How many copies to the host were enqueued, and how many events were waited for, so far."""
    copies, waits = calls_of(Readback, "start"), calls_of(cl.Event, "wait")
    return lambda: {"copies": len(copies), "waits": len(waits)}


# --- Readback ---------------------------------------------------------------------------------------------------------


def test_boxes_come_to_the_host_eight_at_a_time(session, dtype, to_device, counted):
    """Each is right, whichever slot it had; the copy of eight is waited for when the next one starts."""
    readback = Readback(session, dim=2, dtype=dtype)
    arrays = [np.arange(-k, 3 * k + 2, dtype=dtype).reshape(-1, 2) for k in range(50)]
    boxes = []
    for k, array in enumerate(arrays):
        boxes.append(bounding_box(session, to_device(array), PendingBox(readback, 2)))
        assert counted()["copies"] == k // 8
        assert sum(box.box is not None for box in boxes) == 8 * max(0, k // 8 - 1)
    assert len({box.arguments for box in boxes[-10:-2]}) == 8, "a slot each"
    boxes[-1].read()
    assert counted() == dict.fromkeys(("copies", "waits"), 50 // 8 + 1)
    assert [box.box for box in boxes] == [(tuple(each[0]), tuple(each[-1]), None) for each in arrays]


def test_boxes_of_radii_take_slots_of_the_same_buffer(session, dtype, to_device):
    readback = Readback(session, dim=3, dtype=dtype)
    points, radii = np.array([[1, 2, 3], [np.inf, 0, 0], [4, 5, -6]], dtype), np.array([3, 1, np.nan], dtype)
    box, of_radii = PendingBox(readback, 3), PendingBox(readback, 1)
    bounding_box(session, to_device(radii), of_radii)
    bounding_box(session, to_device(points), box)
    assert not PendingBox(readback, 3).placed
    assert of_radii.read() == ((1.0,), (3.0,), 2)
    assert box.box == ((1.0, 2.0, -6.0), (4.0, 5.0, 3.0), 1)
    nothing = bounding_box(session, to_device(np.full((2, 3), np.nan, dtype)), PendingBox(readback, 3))
    assert nothing.read() == ((0.0,) * 3, (0.0,) * 3, 0)


@pytest.mark.core
def test_a_copy_takes_what_was_written_before_it(session):
    readback, much = Readback(session), session.scratch(1 << 20, INT, purpose="a test")
    front = Scratch(readback.buffer, 6, INT)
    for k in range(1, 10):
        fill(session, much, k)
        fill(session, front, k)
        readback.start()
        fill(session, front, -k)
        assert readback.wait() == (k << 32 | k,) * 3
    fill(session, front, 5)
    readback.start()
    fill(session, front, 7)
    readback.start()  # waits for the one before
    assert readback.wait() == readback.wait() == readback.read() == (7 << 32 | 7,) * 3


def test_readbacks_share_memory_of_the_host_in_turn(session):
    fresh = own_session(session)
    first = Readback(fresh, dim=3, dtype=np.dtype(np.float32))
    pinned = first._pinned.ctypes.data
    second = Readback(fresh, dim=3, dtype=np.dtype(np.float32))
    assert second._pinned.ctypes.data != pinned
    del first
    assert Readback(fresh, dim=3, dtype=np.dtype(np.float32))._pinned.ctypes.data == pinned


# --- DeferredChecks ---------------------------------------------------------------------------------------------------


@pytest.fixture
def checks(session):
    return DeferredChecks(session, dtype=CLOUD.dtype, dim=3, radius=RADIUS, space=open_space(3))


def found(session, checks, points):
    return bounding_box(session, cla.to_device(session.queue, points), checks.slot())


def test_bad_points_raise_until_others_take_their_place(session, checks):
    checks.settle()
    checks.new_points(found(session, checks, spoilt(CLOUD, 7)))
    assert checks.box_of_points() is checks.newest_box() is checks.bad_points() is None
    for _ in range(3):
        with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 7\b"):
            checks.settle()
    known = checks.points_change()
    checks.settle()
    checks.points_stay(known)
    with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 7\b"):
        checks.settle()
    checks.new_points(found(session, checks, CLOUD))
    checks.settle()
    assert checks.box_of_points().low == tuple(CLOUD.min(axis=0))


def test_errors_are_raised_one_at_a_time_the_earliest_first(session, checks, to_device):
    radii = to_device(np.array([0.1, 0.4], np.float32))
    checks.add(Check("queries", found(session, checks, spoilt(CLOUD, 3))))
    checks.new_points(found(session, checks, CLOUD))
    checks.add(Check("radius", bounding_box(session, radii, checks.slot_of_radii())))
    for message in (r"queries: .*row 3\b", "radius: expected at most"):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            checks.settle()
    checks.settle()


def test_a_box_of_points_that_were_replaced_is_no_news(session, checks):
    """Where that of the newer ones is known, as of those that came over the host."""
    old, new = found(session, checks, CLOUD), found(session, checks, MOVED)
    checks.new_points(old)
    assert checks.of_points() == [("points", old)]
    new.read()
    checks.good_points(new)
    checks.settle()
    assert checks.of_points() == []
    assert checks.newest_box() is checks.box_of_points() is new.box


def test_checks_are_judged_by_themselves(session, checks):
    bad, good = (Check("points", found(session, checks, each)) for each in (spoilt(CLOUD, 1), CLOUD))
    checks.judge([good])
    for _ in range(2):
        with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 1\b"):
            checks.judge([good, bad])


# --- by the public calls ----------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("method", sorted(METHODS))
def test_bad_rows_are_named_by_the_next_call_that_waits(session, method, to_device):
    """By the name of their array and by their row, whatever came since; calls that do not wait answer meanwhile."""
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    bad = [to_device(spoilt(CLOUD, row)) for row in (5, 9)]
    index.update(bad[0])
    assert index.count().get()[5] == 0
    index.update(to_device(MOVED))
    assert index.count(bad[1]).get()[9] == 0
    for message in (r"points: .*row 5\b", r"queries: .*row 9\b"):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            index.query()
    assert np.array_equal(np.diff(index.query().to_host().offsets), EXPECTED_MOVED)


@pytest.mark.parametrize("call", ["update", "count", "radius"])
def test_a_caller_who_never_waits_has_checks_read_eight_at_a_time(session, index, to_device, counted, call):
    """One copy and one wait for eight calls, no memory; the first bad array is named all the same."""
    good, radii = to_device(CLOUD), to_device(np.full(N, 0.1, np.float32))
    calls = {
        "update": lambda: index.update(good),
        "count": lambda: index.count(good),
        "radius": lambda: index.count(radius=radii),
    }
    index.check()
    before = counted()
    index.count(to_device(spoilt(CLOUD, 11)))
    for k in range(1, 100):
        calls[call]()
        if k == 40:
            held = session._pool.active_bytes
    assert counted()["copies"] - before["copies"] == 99 // 8
    assert counted()["waits"] - before["waits"] == 99 // 8 - 1
    assert session._pool.active_bytes <= held + 4 * N + 64  # of a count
    with pytest.raises(clfrnn.InvalidInputError, match=r"queries: .*row 11\b"):
        index.check()
    index.check()


def test_lists_wait_once(session, index, to_device, counted):
    """For the number of pairs and for what was checked since the list before."""
    index.query()
    for updates in (0, 1, 5):
        for _ in range(updates):
            index.update(to_device(MOVED))
        before = counted()
        assert index.query().num_pairs == (EXPECTED_MOVED if updates else EXPECTED).sum()
        assert {name: many - before[name] for name, many in counted().items()} == {"copies": 1, "waits": 1}


@pytest.mark.core
@pytest.mark.parametrize("looked", ["at once", "after check()", "after ten updates"])
def test_hinted_lists_carry_the_checks_of_their_own_points(session, index, to_device, looked):
    """And those of their queries; nobody else's."""
    good, bad = to_device(MOVED), to_device(spoilt(CLOUD, 4))
    index.update(good)
    before = index.query(hint=10)
    index.update(bad)
    own, foreign = index.query(hint=10), index.query(good, hint=10)
    index.update(good)
    after, queried = index.query(hint=10), index.query(bad, hint=10)
    if looked == "after check()":
        for name in ("points", "queries"):
            with pytest.raises(clfrnn.InvalidInputError, match=rf"{name}: .*row 4\b"):
                index.check()
        index.check()
    if looked == "after ten updates":
        for _ in range(10):
            index.update(good)
    for each, name in ((own, "points"), (foreign, "points"), (queried, "queries")):
        for _ in range(2):
            with pytest.raises(clfrnn.InvalidInputError, match=rf"{name}: .*row 4\b"):
                _ = each.indices
    for each in (before, after):
        assert np.array_equal(np.diff(each.to_host().offsets), EXPECTED_MOVED)


def test_a_list_of_points_that_are_known_to_be_bad(index, to_device):
    """Their check is over when it is made."""
    index.update(to_device(spoilt(CLOUD, 4)))
    for call in (index.check, lambda: index.query(hint=10).indices, index.query):
        with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 4\b"):
            call()


@pytest.mark.parametrize("method", ["strips", "aabb_tree"])
def test_an_update_that_fails_leaves_the_checks_of_the_old_points(session, method, to_device):
    """Good ones answer, bad ones are still named; however often it fails, no slot is taken twice at a time."""
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    good, bad = to_device(MOVED), to_device(spoilt(CLOUD, 8))

    def fail(times):
        with refusing(""):
            for _ in range(times):
                with pytest.raises(clfrnn.DeviceMemoryError):
                    index.update(good)

    index.count(bad)
    fail(30)
    assert np.array_equal(index.count().get(), EXPECTED)
    with pytest.raises(clfrnn.InvalidInputError, match=r"queries: .*row 8\b"):
        index.check()
    index.update(bad)
    fail(3)
    for _ in range(2):
        with pytest.raises(clfrnn.InvalidInputError, match=r"points: .*row 8\b"):
            index.check()
    index.update(good)
    index.check()
    assert np.array_equal(index.count().get(), EXPECTED_MOVED)
