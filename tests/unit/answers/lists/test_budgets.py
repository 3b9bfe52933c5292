"""Budgets: max_bytes, lists in parts, hints, what does not fit, and lists that look at themselves late."""

import dataclasses
import gc
import itertools
import pickle
import re

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    as_gpu,
    assert_counts,
    assert_same,
    joined,
    nbytes,
    own_session,
    same_rows,
    truth,
    tuned,
)

import clfrnn
from clfrnn import clouds
from clfrnn.primitives.readback import Readback

N = min(300, POINTS)
CLOUD = clouds.clustered(N, 3, seed=1, clusters=12, width=0.05)
RADIUS = 0.12
EXPECTED = truth(CLOUD, RADIUS)
PAIRS = len(EXPECTED.indices)
UNIT = {"box": (1.0, 1.0, 1.0), "periodic": True}


@pytest.fixture
def index(session, method):
    return clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)


# --- max_bytes --------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("carried", [{}, {"distances": True}, {"vectors": True}, FULL], ids=["bare", "d", "v", "full"])
def test_a_list_within_its_budget_to_the_byte(index, session, carried):
    whole = index.query(**carried)
    needed = nbytes(whole)

    assert index.query(max_bytes=needed, **carried).num_pairs == PAIRS
    for call in (
        lambda: index.query(max_bytes=needed - 1, **carried),
        lambda: clfrnn.search(CLOUD, RADIUS, method=index.method, max_bytes=needed - 1, session=session, **carried),
    ):
        with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes: .*Nothing was truncated") as caught:
            call()
        assert caught.value.needed == needed
        assert caught.value.available == needed - 1
        assert f"{PAIRS:,} pairs needs {needed:,} bytes, {needed - 1:,} were allowed" in str(caught.value)


def test_the_call_that_the_message_names_works(index):
    with pytest.raises(clfrnn.DeviceMemoryError) as caught:
        index.query(max_bytes=2000, **FULL)

    named = re.search(r"index\.query_blocks\(max_bytes=(\d+)\)", str(caught.value))
    parts = list(index.query_blocks(max_bytes=int(named[1]), **{**FULL, "vectors": False}))
    assert_same(joined(parts), index.query(**{**FULL, "vectors": False}))
    assert "index.count()" in str(caught.value)
    assert_counts(index.count(), EXPECTED)


@pytest.mark.parametrize("name", ["max_bytes", "hint"])
@pytest.mark.parametrize("value", [-1, 1.5, "100", True, np.nan, [1]])
def test_budgets_and_hints_are_whole_numbers(session, name, value):
    index = clfrnn.build_index(CLOUD, RADIUS, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match=rf"{name}: expected a whole number of at least 0, got "):
        index.query(**{name: value})
    if name == "max_bytes":
        for call in (
            lambda: clfrnn.search(CLOUD, RADIUS, max_bytes=value, session=session),
            lambda: index.query_blocks(max_bytes=value),
        ):
            with pytest.raises(clfrnn.InvalidInputError, match="max_bytes: expected a whole number"):
                call()


def test_numpy_integers_are_whole_numbers(session):
    index = clfrnn.build_index(CLOUD, RADIUS, session=session)

    assert index.query(max_bytes=np.int64(10**9), hint=np.uint32(PAIRS)).num_pairs == PAIRS


def test_blocks_need_a_budget(session):
    index = clfrnn.build_index(CLOUD, RADIUS, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="max_bytes: expected a number of bytes, got None"):
        index.query_blocks(max_bytes=None)
    with pytest.raises(TypeError, match="max_bytes"):
        index.query_blocks()


# --- query_blocks -----------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"include_self": True},
        {"half": True},
        {"queries": clouds.uniform(N // 2, 3, seed=2)},
        {"radius": np.linspace(0, RADIUS, N).astype(np.float32)},
        {"radius": 0.07, "half": True, "include_self": True},
    ],
    ids=["own", "self", "half", "foreign", "radii", "smaller"],
)
def test_parts_joined_are_the_whole(index, asked):
    whole = index.query(**asked, **FULL)
    longest = int(whole.counts.max())
    least = 8 + 20 * longest
    for budget in (nbytes(whole), max(least, nbytes(whole) // 2), max(least, nbytes(whole) // 7), least):
        parts = list(index.query_blocks(max_bytes=budget, **asked, **FULL))
        assert all(nbytes(part) <= budget for part in parts)
        assert sum(len(part) for part in parts) == len(whole)
        assert all(part.num_points == N for part in parts)
        assert_same(joined(parts), whole)
        assert (len(parts) == 1) == (budget >= nbytes(whole))


@pytest.mark.parametrize("sort", [None, "distance"])
@pytest.mark.parametrize("distances", [False, True])
def test_parts_in_any_order_and_by_distance(index, sort, distances):
    whole = index.query(sort="distance", distances=distances).to_host()

    parts = list(index.query_blocks(max_bytes=nbytes(whole) // 4, sort=sort, distances=distances))

    assert len(parts) > 2
    (assert_same if sort else same_rows)(joined(parts), whole)
    assert (joined(parts).distances is None) == (not distances)


def test_parts_take_as_many_queries_as_fit(index):
    """A part and the first row of the next would exceed the budget."""
    budget = 3000
    parts = [part.to_host() for part in index.query_blocks(max_bytes=budget, sort="index")]

    for part, following in itertools.pairwise(parts):
        assert nbytes(part) + 4 + 4 * following.counts[0] > budget


def test_a_row_too_large_for_the_budget(index):
    counts = np.diff(EXPECTED.offsets)
    row, longest = int(counts.argmax()), int(counts.max())
    needed = 8 + 4 * longest
    assert (counts == longest).sum() >= 1

    parts = index.query_blocks(max_bytes=needed - 1, sort="index")
    with pytest.raises(clfrnn.DeviceMemoryError, match=rf"max_bytes: row {row} alone has {longest} pairs") as caught:
        list(parts)

    assert (caught.value.needed, caught.value.available) == (needed, needed - 1)
    assert "Nothing was truncated" in str(caught.value)
    again = int(re.search(r"Pass max_bytes=(\d+)", str(caught.value))[1])
    assert_same(joined(index.query_blocks(max_bytes=again, sort="index")), index.query(sort="index"))


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_the_index_may_be_updated_between_two_parts(session, method, periodic):
    domain = UNIT if periodic else {}
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session, **domain)
    whole = index.query(**FULL).to_host()
    parts = index.query_blocks(max_bytes=nbytes(whole) // 5, **FULL)

    found = [next(parts)]
    for step, part in enumerate(parts):
        moved = CLOUD[::-1] * np.float32(step + 2)
        index.update(moved if step % 2 else cla.to_device(session.queue, moved))
        found.append(part)
    index.update(CLOUD)
    untouched = index.query_blocks(max_bytes=nbytes(whole) // 5, **FULL)
    index.update(CLOUD * np.float32(50))

    assert len(found) > 4
    assert_same(joined(found), whole)
    assert_same(joined(untouched), whole)


def test_queries_of_the_caller_may_change_between_two_parts(session, method):
    """Host queries were uploaded when the call was made."""
    queries = CLOUD[::2].copy()
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    whole = index.query(queries, **FULL).to_host()

    parts = index.query_blocks(queries, max_bytes=nbytes(whole) // 4, **FULL)
    queries[:] = 0

    assert_same(joined(parts), whole)


def test_no_queries_no_parts(session, method):
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    empty = clfrnn.build_index(CLOUD[:0], RADIUS, method=method, session=session)

    assert list(index.query_blocks(CLOUD[:0], max_bytes=100)) == []
    assert list(empty.query_blocks(max_bytes=100)) == []
    parts = list(empty.query_blocks(CLOUD, max_bytes=100))
    assert sum(len(part) for part in parts) == N
    assert sum(part.num_pairs for part in parts) == 0


def test_wrong_arguments_are_refused_before_the_first_part(index):
    for asked, message in (
        ({"half": True, "queries": CLOUD}, "half: "),
        ({"sort": "d"}, "sort: "),
        ({"radius": 1.0}, "radius: expected at most"),
        ({"queries": CLOUD[:, :2]}, "queries: "),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            index.query_blocks(max_bytes=10**6, **asked)


def test_bad_device_queries_raise_before_the_first_part(session, index):
    queries = CLOUD.copy()
    queries[9, 1] = np.nan
    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 9"):
        index.query_blocks(cla.to_device(session.queue, queries), max_bytes=10**6)


# --- what does not fit on the device ----------------------------------------------------------------------------------


@pytest.fixture
def small(session):
    """A session of its own, whose device seems to have less and less."""
    return own_session(session)


@pytest.mark.parametrize("short", ["one allocation", "all"])
def test_a_list_that_does_not_fit(small, method, short):
    """The error tells what is needed and what there is, and the call that it names works."""
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=small)
    whole = index.query(**FULL)
    bare = index.query(sort="index").to_host()
    needed = nbytes(whole)
    expected = whole.to_host()
    del whole
    gc.collect()
    room = small._pool.active_bytes + needed // 2
    small.profile = dataclasses.replace(
        small.profile,
        **({"max_allocation": PAIRS * 6} if short == "one allocation" else {"global_memory": room}),
    )

    with pytest.raises(clfrnn.DeviceMemoryError, match=rf"list of {PAIRS:,} pairs needs {needed:,} bytes") as caught:
        index.query(**FULL)

    error = caught.value
    assert error.needed == needed
    if short == "one allocation":
        assert error.largest_allocation == PAIRS * 6
        assert f"{12 * PAIRS:,} of them in one allocation for its vectors" in str(error)
    else:
        assert 0 < error.available < needed
        assert f"has about {error.available:,} left" in str(error)
    assert isinstance(error, MemoryError)
    assert "Nothing was truncated" in str(error)
    budget = int(re.search(r"index\.query_blocks\(max_bytes=(\d+)\)", str(error))[1])
    parts = [part.to_host() for part in index.query_blocks(max_bytes=budget, **FULL)]
    assert_same(joined(parts), expected)
    assert_counts(index.count(), EXPECTED)
    assert_same(index.query(sort="index"), bare)  # a list that fits is made


def test_points_that_lists_are_measured_by_make_way_for_them(session):
    """Where memory is short, lists of a GPU are written as those of others are."""
    walker = tuned(as_gpu(session), lists={"attributes_apart": 0, "attributes_apart_of_point": 0})
    small = own_session(walker, kind="gpu", fma=True)
    small.tuning = walker.tuning
    index = clfrnn.build_index(CLOUD, RADIUS, method="strips", session=small)
    whole = index.query(**FULL)
    expected, needed = whole.to_host(), nbytes(whole)
    del whole
    gc.collect()

    def with_room(size, ask):
        gc.collect()
        small.profile = dataclasses.replace(walker.profile, global_memory=small._pool.active_bytes + size)
        try:
            return ask()
        finally:
            small.profile = walker.profile

    part = CLOUD.nbytes // 2
    assert_same(with_room(needed + 4 * N + part, lambda: index.query(**FULL)), expected)
    hinted = index.query(hint=10, **FULL)
    assert_same(with_room(needed, hinted.to_host), expected)
    parts = index.query_blocks(max_bytes=needed // 2, **FULL)
    first = next(parts).to_host()
    assert_same(joined([first, with_room(needed // 2 - part, lambda: next(parts).to_host()), *parts]), expected)


def test_an_index_that_does_not_fit(small, method):
    small.profile = dataclasses.replace(small.profile, max_allocation=1000)

    with pytest.raises(clfrnn.DeviceMemoryError, match=r"the .* needs [\d,]+ bytes in one allocation") as caught:
        clfrnn.build_index(CLOUD, RADIUS, method=method, session=small)

    assert caught.value.needed > 1000
    assert caught.value.largest_allocation == 1000
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is clfrnn.DeviceMemoryError
    assert (again.needed, again.available) == (caught.value.needed, caught.value.available)


def test_room_to_spare_is_not_taken_where_there_is_none(small, method):
    """A list in a loop leaves room for the next; where only the list itself fits, it is made without."""
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=small)
    small.profile = dataclasses.replace(small.profile, max_allocation=4 * PAIRS)
    if max(index.nbytes.values()) > 4 * PAIRS:
        pytest.skip("the index is larger than its list")

    assert_same(index.query(sort="index"), EXPECTED)


# --- hint -------------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("hint", [0, 1, PAIRS // 2, PAIRS - 1, PAIRS, PAIRS + 1, 3 * PAIRS])
@pytest.mark.parametrize("carried", [{"sort": "index"}, FULL, {"sort": "distance"}], ids=["bare", "full", "distance"])
def test_a_hint_never_changes_the_list(index, hint, carried):
    plain = index.query(**carried)

    hinted = index.query(hint=hint, **carried)

    assert len(hinted) == N
    assert hinted.num_pairs == PAIRS
    assert hinted.indices.shape == (PAIRS,)
    assert_same(hinted, plain)
    assert (hinted.distances is None) == (plain.distances is None)
    assert (hinted.vectors is None) == (plain.vectors is None)
    assert [row.tolist() for row in hinted] == [row.tolist() for row in plain]


@pytest.mark.parametrize("hint", [10, PAIRS + 50])
def test_hints_for_other_queries(index, hint):
    queries = clouds.uniform(N // 3, 3, seed=2)
    radii = np.linspace(0, RADIUS, N).astype(np.float32)

    assert_same(index.query(queries, hint=hint, **FULL), truth(CLOUD, RADIUS, queries=queries))
    assert_same(index.query(radius=radii, hint=hint, **FULL), truth(CLOUD, radii))
    half = index.query(half=True, include_self=True, hint=hint, **FULL)
    assert_same(half, truth(CLOUD, RADIUS, half=True, include_self=True))
    assert index.query(CLOUD[:0], hint=hint).num_pairs == 0


@pytest.mark.parametrize("hint", [PAIRS // 3, PAIRS, 2 * PAIRS], ids=["small", "exact", "generous"])
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_the_index_may_be_updated_before_a_hinted_list_is_looked_at(session, method, hint, periodic):
    domain = UNIT if periodic else {}
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session, **domain)
    queries = cla.to_device(session.queue, CLOUD[::2].copy())
    own = index.query(hint=hint, **FULL)
    foreign = index.query(queries, hint=hint, **FULL)
    for step in range(3):
        index.update(cla.to_device(session.queue, CLOUD * np.float32(0.2 * step + 0.1)))
    del index
    gc.collect()
    for _ in range(3):
        clfrnn.search(CLOUD[::-1].copy(), 0.2, method=method, session=session, **FULL)

    assert_same(own, truth(CLOUD, RADIUS, **domain))
    assert_same(foreign, truth(CLOUD, RADIUS, queries=CLOUD[::2], **domain))


def test_a_hint_within_a_budget(index):
    """What is foreseen may exceed the budget when the list itself does not; a list that does raises when looked at."""
    needed = nbytes(index.query())

    assert index.query(hint=10 * PAIRS, max_bytes=needed).num_pairs == PAIRS
    assert index.query(hint=PAIRS, max_bytes=needed).num_pairs == PAIRS
    late = index.query(hint=10, max_bytes=needed - 1)
    with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes: "):
        late.num_pairs  # noqa: B018
    with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes: "):
        late.indices  # noqa: B018
    with pytest.raises(clfrnn.DeviceMemoryError, match="max_bytes: "):
        index.query(hint=10 * PAIRS, max_bytes=needed - 1).to_host()


def test_a_hint_beyond_the_device(small, method):
    """Room that is not there is not asked for; the list is made as without a hint."""
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=small)

    found = index.query(hint=small.profile.max_allocation, sort="index")

    assert_same(found, EXPECTED)


def test_bad_device_points_are_reported_when_a_hinted_list_is_looked_at(session, index):
    bad = CLOUD.copy()
    bad[31] = np.nan
    index.update(cla.to_device(session.queue, bad))

    found = index.query(hint=PAIRS)

    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 31"):
        found.num_pairs  # noqa: B018
    index.update(CLOUD)
    assert_same(index.query(sort="index", hint=PAIRS), EXPECTED)


# --- late looks and long lives ----------------------------------------------------------------------------------------


def test_len_does_not_look_but_repr_does(index, calls_of):
    reads = calls_of(Readback, "wait")

    found = index.query(hint=2 * PAIRS)

    assert len(found) == N
    assert found.num_points == N
    assert found.dtype == np.float32
    assert reads == []
    assert f"{PAIRS:,} pairs of {N:,} queries" in repr(found)
    looked = len(reads)
    assert looked > 0
    assert found.num_pairs == len(found.to_host().indices)
    assert len(reads) == looked, "looked at once"


@pytest.mark.parametrize("made", ["plain", "hint", "blocks"])
def test_a_list_outlives_its_index(session, method, made):
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    if made == "blocks":
        held = list(index.query_blocks(max_bytes=5000, **FULL))
    else:
        held = [index.query(**FULL, **({"hint": PAIRS + 9} if made == "hint" else {}))]
    del index
    gc.collect()
    for seed in range(3):
        clfrnn.search(clouds.uniform(N, 3, seed=seed), 0.15, method=method, session=session, **FULL)

    assert_same(joined(held), EXPECTED)


def test_buffers_go_back_to_the_pool(session, method):
    index = clfrnn.build_index(CLOUD, RADIUS, method=method, session=session)
    index.query(**FULL)
    gc.collect()
    before = session._pool.active_bytes

    held = index.query(**FULL)
    during = session._pool.active_bytes
    del held
    gc.collect()

    assert during >= before + PAIRS * 20
    assert session._pool.active_bytes == before


@pytest.mark.parametrize("made", ["plain", "hint", "blocks", "periodic"])
def test_host_lists_pickle(session, made):
    domain = UNIT if made == "periodic" else {}
    index = clfrnn.build_index(CLOUD, RADIUS, session=session, **domain)
    asked = {**FULL, **({"hint": PAIRS} if made == "hint" else {})}
    found = next(index.query_blocks(max_bytes=9000, **FULL)) if made == "blocks" else index.query(**asked)
    with pytest.raises(TypeError, match="cannot be pickled; pickle its to_host"):
        pickle.dumps(found)

    again = pickle.loads(pickle.dumps(found.to_host()))

    assert_same(again, found)
    assert (again.shifts is None) == (found.shifts is None)
    assert (len(again), again.num_points, again.dtype) == (len(found), N, np.float32)
    assert repr(again) == repr(found.to_host())


def test_a_pickled_list_still_knows_of_several_images(session):
    found = clfrnn.search(CLOUD[:20], 0.9, session=session, sort="index", **UNIT)

    again = pickle.loads(pickle.dumps(found.to_host()))

    with pytest.raises(clfrnn.InvalidInputError, match="several images"):
        again.to_scipy()
