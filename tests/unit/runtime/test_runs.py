"""How long a launch may take, by a clock that the tests set; no test waits for time to pass."""

import types

import numpy as np
import pyopencl as cl
import pytest
from conftest import assert_counts, own_session, truth, visits

import clfrnn
from clfrnn import clouds
from clfrnn.runtime import launcher
from clfrnn.runtime.runs import Runs

LIMIT = 1.0
POINTS = clouds.uniform(2000, 3, seed=1)


class Event:
    """A launch that is over when the test says so, and that knows how often it was asked."""

    def __init__(self, *, over=True):
        self.over, self.asked = over, 0

    @property
    def command_execution_status(self):
        self.asked += 1
        status = cl.command_execution_status
        return status.COMPLETE if self.over else status.SUBMITTED


def sliced(runs, units, now, seconds):
    """Whether a launch of so many units is sliced, which takes so long then."""
    if runs.expected(units, now, LIMIT, LIMIT / 64) <= LIMIT:
        return False
    runs.measured(units, seconds, LIMIT)
    return True


def launches(runs, times, *, units=1000, seconds=0.001):
    """At which of these times a launch is sliced, all runs being over when the next one comes."""
    found = []
    for now in times:
        if sliced(runs, units, now, seconds):
            found.append(now)
        else:
            runs.observe(Event(), units, now)
    return found


def test_a_quick_loop_is_never_sliced_and_seldom_looked_at():
    runs, events = Runs(), []
    for k in range(10_000):
        assert runs.expected(1000, 1e-3 * k, LIMIT, LIMIT / 64) <= LIMIT
        events.append(Event())
        runs.observe(events[-1], 1000, 1e-3 * k)
    assert sum(event.asked for event in events) <= 10 / LIMIT * 64 + 1


def test_a_run_that_took_too_long_is_followed_by_slices():
    assert launches(Runs(), [0.0, 0.1, 5.0], seconds=5) == [5.0]


def test_slices_go_on_while_they_take_too_long_together_and_no_longer():
    runs = Runs()
    runs.observe(Event(), 1000, 0.0)
    assert sliced(runs, 1000, 5.0, seconds=5.0)
    assert sliced(runs, 1000, 10.0, seconds=1.1)
    assert not sliced(runs, 900, 11.1, seconds=1.0), "fewer units, at the same pace"
    assert sliced(runs, 1000, 11.2, seconds=0.5)
    assert not sliced(runs, 1000, 11.7, seconds=0.5)


def test_who_comes_by_now_and_then_is_sliced_once():
    assert launches(Runs(), np.arange(100) * 7.0) == [7.0]


def test_who_comes_by_ever_later_is_sliced_a_few_times():
    times = np.cumsum(1.2 ** np.arange(40))
    assert 5 < len(launches(Runs(), times)) < 12


def test_a_cloud_that_draws_together_is_noticed():
    """By runs that take more than twice what was taken for idle time; after a long break, once the loop goes on."""
    runs = Runs()
    assert launches(runs, [0.0, 7.0, 14.0, 21.0]) == [7.0]
    assert launches(runs, [36.0]) == [36.0]
    runs = Runs()
    assert launches(runs, [0.0, 3600.0]) == [3600.0]
    quick = 3601 + 0.02 * np.arange(200)
    assert launches(runs, quick) == []
    assert launches(runs, [quick[-1] + 2]) == [quick[-1] + 2]


def test_idle_time_is_not_believed_from_slices_that_took_long():
    runs = Runs()
    assert launches(runs, [0.0, 7.0], seconds=7.0) == [7.0]
    assert launches(runs, [14.0], seconds=0.01) == [14.0]
    assert launches(runs, [21.0, 28.0], seconds=0.01) == [28.0]


def test_a_run_that_is_not_over_is_never_believed():
    """It is watched until it is, and sliced after the limit; until then nothing is known, and nothing else watched."""
    runs, slow, later = Runs(), Event(over=False), Event()
    assert launches(runs, [0.0, 7.0]) == [7.0]
    runs.observe(slow, 1000, 7.0)
    assert not sliced(runs, 1000, 7.9, seconds=0.001)
    runs.observe(later, 1000, 7.9)
    assert sliced(runs, 1000, 8.1, seconds=0.001)
    assert slow.asked == 2
    assert later.asked == 0


def test_a_run_is_scaled_to_more_units_and_never_to_fewer():
    for units, expected in ((1000, False), (2000, True), (1, False)):
        runs = Runs()
        runs.observe(Event(), 1000, 0.0)
        assert sliced(runs, units, 0.6, seconds=0.001) == expected
    runs = Runs()
    runs.observe(Event(), 1000, 0.0)
    assert sliced(runs, 10, 5.0, seconds=0.001)


@pytest.fixture
def clock(monkeypatch):
    """What sessions take for the time; it stands still while they slice."""
    fake = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(launcher, "time", types.SimpleNamespace(perf_counter=lambda: fake.now))
    return fake


def impatient(session):
    """A session of its own that times runs, however few points there are."""
    fresh = own_session(session)
    fresh.tuning = fresh.tuning.but(runtime={"surely_short": np.inf})
    return fresh


@pytest.mark.parametrize("method", ["strips", "aabb_tree"])
def test_a_session_slices_by_the_clock(session, clock, method):
    """Once after a break, and exactly; not a second time after another one."""
    fresh = impatient(session)
    index = clfrnn.build_index(POINTS, 0.1, method=method, session=fresh)
    runs = []
    for _ in range(4):
        many, counts = visits(fresh, index.count)
        assert_counts(counts, truth(POINTS, 0.1))
        runs.append(many)
        clock.now += 100
    assert runs[1] > 1
    assert runs == [1, runs[1], 1, 1]


def test_one_launch_does_not_wait(session, clock, monkeypatch):
    """Neither for its own end, nor for what was enqueued before; slices do."""
    fresh = impatient(session)
    waits = []
    monkeypatch.setattr(fresh, "queue", types.SimpleNamespace(finish=lambda: waits.append("queue")))

    def launch(kernel, items, work_group_size, *arguments):
        event = Event()
        event.wait = lambda: waits.append("slice")
        return event

    monkeypatch.setattr(fresh, "launch", launch)
    kernel = object()
    for _ in range(50):
        fresh.launch_sliced(kernel, 10_000, 64, pairs=1.0)
        clock.now += 0.01
    assert waits == []
    clock.now += 100
    fresh.launch_sliced(kernel, 10_000, 64, pairs=1.0)
    assert waits[0] == "queue"
    assert set(waits[1:]) == {"slice"}


def test_nothing_to_do_is_no_launch(session):
    """However long ago the last one was."""
    fresh = impatient(session)
    assert fresh.launch_sliced(object(), 0, 64, pairs=1.0) is None
    assert not fresh._runs
