"""What fails half way: launches, allocations, compilers, Ctrl-C. The index afterwards answers exactly."""

import contextlib
import dataclasses

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    as_gpu,
    assert_counts,
    assert_same,
    before_allocations,
    own_session,
    refusing,
    truth,
    tuned,
)

import clfrnn
from clfrnn import clouds
from clfrnn.methods import METHODS
from clfrnn.points.deferred_checks import DeferredChecks
from clfrnn.runtime.program import ProgramCache

N = min(90, POINTS)
RADIUS = 0.25
CLOUD = clouds.uniform(N, 3, seed=1)
QUERIES = clouds.uniform(20, 3, seed=2)
#: far from the first, outside a periodic box, in other cells
MOVED = (clouds.uniform(N, 3, seed=3) * 3 + np.random.default_rng(4).integers(-3, 4, (N, 3))).astype(np.float32)
#: no operation takes so many steps
MOST_STEPS = 200


class InjectedError(Exception):
    """No error of the library's."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """An index to be made, and what it answers before and after its points move."""

    session: clfrnn.Session
    method: str
    domain: dict

    def build(self, points=CLOUD):
        return clfrnn.build_index(points, RADIUS, method=self.method, session=self.session, **self.domain)

    def expected(self, points, queries=None):
        return truth(points, RADIUS, queries=queries, **self.domain)

    def assert_answers(self, index, points):
        """Counts and lists, of its own points and of others."""
        expected = self.expected(points)
        assert_counts(index.count(), expected)
        assert_same(index.query(**FULL), expected)
        assert_counts(index.count(QUERIES), self.expected(points, QUERIES))


SCENES = [*((name, where) for name in sorted(METHODS) for where in ("open", "periodic")), ("strips", "gpu")]


@pytest.fixture(params=SCENES, ids="-".join)
def scene(request, session):
    """Every method, open and periodic, and once in the arrangement for a GPU; few points are placed in all launches."""
    name, where = request.param
    if where == "open":
        session = tuned(session, fenns={"few_of_item": 0})
    if where == "gpu":
        session = tuned(as_gpu(session), binning={"few_of_item": 0})
    return Scene(session, name, {} if where == "open" else {"box": (1.0, 1.0, 1.0), "periodic": True})


class Fault:
    """Makes one step of the library fail: the k-th allocation, or the k-th launch, every other one as Ctrl-C does."""

    def __init__(self, kind, monkeypatch):
        self.errors = (clfrnn.DeviceMemoryError,) if kind == "allocation" else (InjectedError, KeyboardInterrupt)
        self._step = None
        self._countdown = None
        plain = clfrnn.Session.launch

        def launch(*given):
            if self._is_due():
                raise InjectedError if self._step % 2 else KeyboardInterrupt
            return plain(*given)

        if kind == "launch":
            monkeypatch.setattr(clfrnn.Session, "launch", launch)

    def _is_due(self):
        if self._countdown is None:
            return False
        self._countdown -= 1
        if self._countdown < 0:
            self._countdown = None
            return True
        return False

    def refuse(self, session, size, _):
        if self._is_due():
            session._refuse(size, "a buffer that a test does not grant")

    def during(self, step, call):
        """Whether `step` of `call` failed, which it may have made up for; False when it has fewer steps than that."""
        self._step = self._countdown = step
        try:
            call()
        except self.errors:
            return True
        finally:
            failed, self._countdown = self._countdown is None, None
        return failed


@pytest.fixture(params=["allocation", "launch"])
def fault(request, monkeypatch):
    made = Fault(request.param, monkeypatch)
    with before_allocations(made.refuse) if request.param == "allocation" else contextlib.nullcontext():
        yield made


def assert_every_step_may_fail(fault, prepare, call, afterwards, *, least=1):
    """Let each step of `call` fail in turn; `afterwards` judges what is left."""
    failed = 0
    for step in range(MOST_STEPS):
        made = prepare()
        if not fault.during(step, lambda: call(made)):
            break
        failed += 1
        afterwards(made)
    assert least <= failed < MOST_STEPS


# --- update -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("where", ["host", "device"])
def test_an_update_that_fails_leaves_the_old_points(scene, fault, where):
    """At whichever step, unless it does without what it was refused; the next update takes the new ones."""
    moved = MOVED if where == "host" else cla.to_device(scene.session.queue, MOVED)
    indexes, done = [], []

    def update(index):
        index.update(moved)
        done.append(index)

    def afterwards(index):
        scene.assert_answers(index, MOVED if done else CLOUD)
        done.clear()
        index.update(moved)
        scene.assert_answers(index, MOVED)
        index.update(CLOUD)
        indexes.append(index)

    assert_every_step_may_fail(fault, lambda: indexes[-1] if indexes else scene.build(), update, afterwards)


@pytest.mark.core
@pytest.mark.parametrize("where", ["host", "device"])
def test_an_update_that_fails_to_take_more_points_leaves_the_old_ones(scene, fault, where):
    """In their old box, at whichever step; the next update takes them, and the one after that the old ones again."""
    more = clouds.uniform(N + 40, 3, seed=5) * np.float32(1.2)
    given = more if where == "host" else cla.to_device(scene.session.queue, more)
    wider, back = ({"box": (side,) * 3} if scene.domain else {} for side in (1.2, 1.0))
    grown = dataclasses.replace(scene, domain={**scene.domain, **wider})
    indexes, done = [], []

    def update(index):
        index.update(given, **wider)
        done.append(index)

    def afterwards(index):
        if done:
            grown.assert_answers(index, more)
        else:
            scene.assert_answers(index, CLOUD)
        done.clear()
        index.update(given, **wider)
        grown.assert_answers(index, more)
        index.update(CLOUD, **back)
        scene.assert_answers(index, CLOUD)
        indexes.append(index)

    assert_every_step_may_fail(fault, lambda: indexes[-1] if indexes else scene.build(), update, afterwards)


def test_cells_follow_after_an_update_that_failed(session):
    """What was found of points that lie elsewhere is news until points were placed by it."""
    points = clouds.uniform(3000, 3, seed=4)
    for method in ("strips", "fenns"):
        index = clfrnn.build_index(points, 0.1, method=method, session=session)
        far = cla.to_device(session.queue, points + np.float32(50))
        index.update(far)
        index.check()
        with refusing(""), pytest.raises(clfrnn.DeviceMemoryError):
            index.update(far)
        assert not index._traversal.structure.cell_grid.serves((50.0,) * 3, (51.0,) * 3)
        index.update(far)
        assert index._traversal.structure.cell_grid.serves((50.0,) * 3, (51.0,) * 3)


def test_an_update_that_fails_twice_and_lists_in_between(scene, fault):
    """A list of the old points, made after the failure, outlives the next update."""
    index = scene.build()
    device = cla.to_device(scene.session.queue, MOVED)
    assert fault.during(0, lambda: index.update(device))
    between = index.query(**FULL)
    assert fault.during(0, lambda: index.update(device))
    index.update(device)

    assert np.array_equal(between.to_host().indices, scene.expected(CLOUD).indices)
    scene.assert_answers(index, MOVED)


@pytest.mark.parametrize("where", ["host", "device"])
def test_ctrl_c_between_new_points_and_their_box(scene, where, monkeypatch):
    """An interrupted update has happened or has not; what it left behind belongs together."""
    index = scene.build()
    moved = MOVED if where == "host" else cla.to_device(scene.session.queue, MOVED)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DeferredChecks, "new_points", interrupted)
        patch.setattr(DeferredChecks, "good_points", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.update(moved)

    counts = index.count().get()
    answers = [np.diff(scene.expected(points).offsets) for points in (CLOUD, MOVED)]
    assert any(np.array_equal(counts, answer) for answer in answers)
    index.update(CLOUD)
    scene.assert_answers(index, CLOUD)


def test_a_build_that_fails_leaves_the_session_working(scene, fault):
    assert_every_step_may_fail(
        fault,
        lambda: None,
        lambda _: scene.build(MOVED),
        lambda _: scene.assert_answers(scene.build(), CLOUD),
        least=2 if scene.domain else 0,  # brute force just keeps what was copied
    )


# --- queries ----------------------------------------------------------------------------------------------------------

VISITOR = clfrnn.NeighborFunction(
    arguments="global const float *mass, global float *out",
    state="float sum = 0;",
    per_neighbor="sum += mass[j];",
    finish="out[i] = sum;",
)


def visit(index):
    out = cla.zeros(index.session.queue, N, np.float32)
    index.visit(VISITOR, mass=np.ones(N, np.float32), out=out)


CALLS = {
    "query": lambda index: index.query(**{**FULL, "sort": None}),
    "foreign": lambda index: index.query(QUERIES, **{**FULL, "sort": "distance"}),
    "radii": lambda index: index.query(radius=np.linspace(0, RADIUS, N).astype(np.float32), **FULL),
    "hint": lambda index: index.query(hint=5, **FULL).num_pairs,
    "blocks": lambda index: list(index.query_blocks(max_bytes=8000, **FULL)),
    "count": lambda index: index.count(),
    "nearest": lambda index: index.nearest(QUERIES),
    "visit": visit,
    "order": lambda index: index.reorder(CLOUD, MOVED),
    "explain": lambda index: index.explain(),
}


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_call_that_fails_leaves_the_index_working(scene, fault, call):
    """At whichever step, with points given at build or taken from the device since."""
    index = scene.build()
    device = cla.to_device(scene.session.queue, MOVED)
    holds = CLOUD

    def afterwards(_):
        nonlocal holds
        scene.assert_answers(index, holds)
        if holds is CLOUD:
            index.update(device)
            holds = MOVED

    assert_every_step_may_fail(fault, lambda: index, CALLS[call], afterwards, least=0 if call == "order" else 1)
    scene.assert_answers(index, holds)


def test_a_hinted_list_that_fails_late_can_be_looked_at_again(scene, fault):
    """Its own third visit fails; the points have moved on meanwhile."""
    expected = scene.expected(CLOUD)
    for step in range(MOST_STEPS):
        index = scene.build()
        found = index.query(hint=5, **FULL)
        index.update(MOVED)
        if not fault.during(step, lambda: found.indices):
            break
        assert np.array_equal(found.to_host().indices, expected.indices)
        scene.assert_answers(index, MOVED)
    assert step > 0


def test_the_parts_before_a_failure_are_good(scene, fault):
    """The generator ends with its error; a new one begins again, the parts that were handed out stay valid."""
    index = scene.build()
    expected = scene.expected(CLOUD)
    parts = index.query_blocks(max_bytes=6000, **FULL)
    first = next(parts)
    assert fault.during(0, lambda: next(parts))
    assert list(parts) == []
    again = list(index.query_blocks(max_bytes=6000, **FULL))
    index.update(MOVED)

    assert np.array_equal(first.to_host().indices, expected.indices[: first.num_pairs])
    assert np.array_equal(np.concatenate([part.to_host().indices for part in again]), expected.indices)


def test_failed_calls_keep_no_memory(scene, fault):
    index = scene.build()
    for call in ("query", "hint", "blocks", "nearest"):
        CALLS[call](index)
    index.check()
    before = scene.session._pool.active_bytes
    for call in ("query", "hint", "blocks", "nearest"):
        for step in range(4):
            fault.during(step, lambda: CALLS[call](index))
    index.check()

    assert scene.session._pool.active_bytes <= before


# --- compilers --------------------------------------------------------------------------------------------------------


def test_a_visit_that_does_not_compile_leaves_the_index_working(scene):
    index = scene.build()
    broken = clfrnn.NeighborFunction(
        arguments="global const float *mass, global float *out", per_neighbor="out[i] += nonsense(mass[j]);"
    )
    out = cla.zeros(scene.session.queue, N, np.float32)
    for _ in range(2):
        with pytest.raises(clfrnn.KernelBuildError, match="nonsense"):
            index.visit(broken, mass=np.ones(N, np.float32), out=out)
        scene.assert_answers(index, CLOUD)
    index.visit(VISITOR, mass=np.ones(N, np.float32), out=out)

    assert np.array_equal(out.get(), np.diff(scene.expected(CLOUD).offsets))
    index.update(MOVED)
    scene.assert_answers(index, MOVED)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_compiler_that_fails_once_is_asked_again(session, name, monkeypatch):
    """Whichever program it was: the driver runs out of memory, say, and then has some again."""
    scene = Scene(session, name, {})
    plain = ProgramCache._compile
    for step in range(3):
        fresh = own_session(session)
        countdown = [step]

        def failing(cache, source, config, *, users, countdown=countdown):
            countdown[0] -= 1
            if countdown[0] == -1:
                raise cl.RuntimeError("clBuildProgram failed: BUILD_PROGRAM_FAILURE")
            return plain(cache, source, config, users=users)

        monkeypatch.setattr(ProgramCache, "_compile", failing)
        with pytest.raises(clfrnn.KernelBuildError, match="refused a kernel of clfrnn's"):
            clfrnn.build_index(CLOUD, RADIUS, method=name, session=fresh).query(**FULL)
        index = clfrnn.build_index(CLOUD, RADIUS, method=name, session=fresh)
        found = index.query(**FULL).to_host()
        assert np.array_equal(found.indices, scene.expected(CLOUD).indices)
