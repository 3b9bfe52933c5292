"""Lists of few neighbors, whose numbers a count puts by: as by searching again, however many there is room for."""

import itertools
import math

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS, as_gpu, before_allocations, takes_long_as_gpu, with_profile

import clfrnn
from clfrnn import clouds, reference
from clfrnn.first_pass import neighbor_buffer as stash
from clfrnn.lists import attributes as measures
from clfrnn.lists import columns as list_spec
from clfrnn.lists import two_pass as lists
from clfrnn.methods.fenns import fenns
from clfrnn.methods.grid import structure as cells
from clfrnn.queries.make_request import make_request

N = min(700, POINTS)
METHODS = ["strips", "uniform_grid"]


@pytest.fixture(params=[4, 12], ids=["four", "twelve"])
def stashed(request, monkeypatch):
    """Stashes made while the test ran, of so many numbers a query, for few points and many neighbors too."""
    return watch(monkeypatch, request.param)


def watch(monkeypatch, many):
    """The stash of each list, or None where it does without."""
    made, find = [], stash.stash_for

    def watched(index, ask, slots):
        found = find(index, ask, slots)
        if slots and (ask.queries is None or ask.copied):
            assert slots == many
            made.append(found)
        return found

    monkeypatch.setattr(cells, "_FEW_ELSEWHERE", math.inf)
    monkeypatch.setattr(stash, "slots_for", lambda *_: (many,))
    for walk in (cells, fenns):
        monkeypatch.setattr(walk, "stash_for", watched)
    return made


def same(found, expected):
    found = found.to_host()
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("method", METHODS)
def test_every_cloud(session, dim, dtype, method, stashed):
    """Rows of none, of few, and of more than are put by; again after an update, whose list has its room before."""
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    for name, radius in (("uniform", 0.1), ("clustered", 0.02), ("duplicates", 0.05)):
        points = clouds.CLOUDS[name](N, dim, dtype=dtype, seed=5)
        expected = reference.neighbors(points, radius)
        index = clfrnn.build_index(points, radius, method=method, session=as_gpu(session))
        for _ in range(2):
            same(index.query(sort="index"), expected)
            index.update(points)
    assert len(stashed) == 6
    assert None not in stashed


@pytest.mark.core
@pytest.mark.parametrize(
    "asked", [{"include_self": True}, {"half": True}, {"radius": True}], ids=["self", "half", "radii"]
)
def test_every_kind_of_list(session, asked, stashed):
    points = clouds.uniform(N, 3, seed=6)
    radii = np.random.default_rng(1).uniform(0, 0.15, N).astype(np.float32)
    asked = {**asked, "radius": radii} if "radius" in asked else asked
    index = clfrnn.build_index(points, 0.15, method="strips", session=as_gpu(session))
    kept = {name: value for name, value in asked.items() if name != "radius"}

    same(index.query(sort="index", **asked), reference.neighbors(points, asked.get("radius", 0.15), **kept))
    assert stashed[0] is not None


def test_lists_of_more_than_numbers_are_measured_by_them_and_foreign_queries_do_without(session, monkeypatch, stashed):
    monkeypatch.setattr(measures, "_NUMBERS", 0)
    monkeypatch.setattr(measures, "_NUMBERS_OF_POINT", 0)
    points = clouds.uniform(N, 3, seed=7)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))
    expected = reference.neighbors(points, 0.1)

    assert np.array_equal(index.query(distances=True, sort="index").to_host().distances, expected.distances)
    assert None not in stashed
    stashed.clear()
    same(index.query(points, include_self=False, sort="index"), reference.neighbors(points, 0.1, queries=points))
    assert not stashed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("radius", [0.1, 0.6], ids=["next images", "images of oneself"])
def test_periodic_boxes(session, stashed, method, radius):
    """Of points at home, of points that are not, and where windows pass several images."""
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, True)}
    points = clouds.uniform(N // 4 if radius > 0.5 else N, 3, seed=8)
    index = clfrnn.build_index(points, radius, method=method, session=as_gpu(session), **domain)
    for moved in (points, points * np.float32(1.6) - np.float32(0.3)):
        index.update(moved)
        expected = reference.neighbors(moved, radius, **domain)
        found = index.query().to_host()
        assert np.array_equal(found.offsets, expected.offsets)
        of_row = np.repeat(np.arange(len(points)), found.counts)
        assert np.array_equal(
            found.indices[np.lexsort((found.indices, of_row))], expected.indices[np.lexsort((expected.indices, of_row))]
        )
    assert len(stashed) == 2
    assert None not in stashed


@pytest.mark.parametrize("hint", [1, 7, 100, 10**6])
def test_lists_that_are_not_waited_for(session, hint, stashed):
    points = clouds.uniform(N, 3, seed=9)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))

    same(index.query(sort="index", hint=hint), reference.neighbors(points, 0.1))
    assert stashed[0] is not None


@pytest.mark.core
def test_long_rows_beside_short_ones(session, stashed):
    """A group whose rows do not fit local memory writes those it has one by one, and no other's."""
    points = np.concatenate(
        [clouds.uniform(N // 2, 3, seed=1) * np.float32(0.05), clouds.uniform(N // 2, 3, seed=2) + 1]
    )
    rows = np.random.default_rng(0).permutation(points).astype(np.float32)
    index = clfrnn.build_index(rows, 0.08, method="strips", session=as_gpu(session))

    same(index.query(sort="index"), reference.neighbors(rows, 0.08))
    assert stashed[0] is not None


def test_offsets_of_eight_bytes(session, stashed, monkeypatch):
    """As those of more pairs than int32 counts."""
    points = clouds.uniform(N, 3, seed=3)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))
    expected = reference.neighbors(points, 0.1)
    fewer = len(expected.indices) // 2
    monkeypatch.setattr(list_spec, "_LARGEST_INT32", fewer)

    for hint in (None, fewer, 10**5):
        found = index.query(sort="index", hint=hint)
        same(found, expected)
        assert found.offsets.dtype == np.int64
    assert stashed[0] is not None


@pytest.mark.parametrize("hint", [None, 10**5])
@pytest.mark.usefixtures("stashed")
def test_a_list_does_without_where_there_is_no_memory(session, hint, monkeypatch):
    points = clouds.uniform(N, 3, seed=4)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))

    def sparing(session, size, purpose):
        if "numbers of neighbors" in purpose:
            session._refuse(size, purpose)

    before_allocations(monkeypatch, sparing)

    same(index.query(sort="index", hint=hint), reference.neighbors(points, 0.1))


def sorted_rows(found):
    return [sorted(found.indices[first:end]) for first, end in itertools.pairwise(found.offsets)]


@pytest.mark.parametrize("asked", [{}, {"half": True}, {"hint": 10**5}, {"sort": "index"}], ids=str)
@pytest.mark.usefixtures("unsliced")
def test_rows_that_are_not_put_by_are_visited(session, asked, monkeypatch):
    """Never, where the count says that there are none; where the last list had some, without waiting for its word."""
    watch(monkeypatch, 12)
    numbers, tell = [], stash.NeighborBuffer.tell

    def telling(kept, total):
        tell(kept, total)
        numbers.append(kept.number)

    monkeypatch.setattr(stash.NeighborBuffer, "tell", telling)
    even = clouds.lattice(300, 3, seed=1)
    crowd = even.copy()
    crowd[:14] = 2  # as many pairs, so that the list has room for them
    radius = 0.14  # a spacing, and somewhat more
    index = clfrnn.build_index(even, radius, method="strips", session=as_gpu(session))
    expected = {
        id(points): sorted_rows(reference.neighbors(points, radius, half="half" in asked)) for points in (even, crowd)
    }
    assert max(map(len, expected[id(even)])) <= 12 < max(map(len, expected[id(crowd)]))
    seen = []
    for points in (even, even, crowd, crowd, even, even):
        index.update(points)
        with index.session.recorded() as launches:
            found = index.query(**asked)
        assert sorted_rows(found.to_host()) == expected[id(points)]
        seen.append([name for name, _ in launches].count("frnn_visit"))

    # A list that is sorted, or waits for nobody, does not wait for the word either once it has its room.
    assert seen == {"hint": [2, 2, 2, 2, 2, 2], "sort": [1, 2, 2, 2, 2, 2]}.get(
        next(iter(asked), ""), [1, 1, 2, 2, 2, 1]
    )
    # A number is kept until a count has said it, and somebody has heard that.
    assert [now != before for before, now in itertools.pairwise(numbers)] == (
        [False] * 5 if "hint" in asked else [False, False, True, True, False]
    )


def test_a_crowd_that_comes_later_compiles_nothing(session, monkeypatch):
    """The visit of rows that are not put by is made ready with the first list."""
    watch(monkeypatch, 8)
    even = clouds.lattice(N, 3, seed=1)
    for radius, pairs in ((0.08, True), (0.04, False)):
        index = clfrnn.build_index(even, radius, method="strips", session=with_profile(session, kind="gpu"))
        longest = index.query().to_host().counts.max()
        assert 0 < longest <= 8 if pairs else longest == 0
        compiled = index.session.programs.compiled
        for scale in (0.7, 0.2):
            crowd = even * np.float32(scale)
            index.update(crowd)
            assert sorted_rows(index.query().to_host()) == sorted_rows(reference.neighbors(crowd, radius))
        assert index.session.programs.compiled == compiled


@pytest.mark.usefixtures("unsliced")
def test_a_number_that_nobody_heard(session, monkeypatch):
    """A later list takes it for its own: one visit too many, once, and the same rows."""
    watch(monkeypatch, 12)
    even = clouds.lattice(300, 3, seed=1)
    crowd = even.copy()
    crowd[:14] = 2
    crowd[-1] = np.nan
    index = clfrnn.build_index(even, 0.14, method="strips", session=as_gpu(session))
    expected = sorted_rows(reference.neighbors(even, 0.14))
    index.update(cla.to_device(index.session.queue, crowd))
    with pytest.raises(clfrnn.InvalidInputError, match="points: "):
        index.query()

    seen = []
    index.update(cla.to_device(index.session.queue, even))
    for _ in range(4):
        with index.session.recorded() as launches:
            found = index.query()
        assert sorted_rows(found.to_host()) == expected
        seen.append([name for name, _ in launches].count("frnn_visit"))

    assert seen == [2, 2, 1, 1], "the second because the first had rows left, as it seemed"


@pytest.mark.parametrize("method", ["strips", "fenns"])
def test_slots_are_found_once_for_an_index(session, method, monkeypatch):
    """Not for each list, in a loop."""
    if method == "fenns" and takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    made = watch(monkeypatch, 4)
    monkeypatch.setattr(fenns, "_WORTH_A_STASH", 0.0)
    asked = []
    monkeypatch.setattr(stash, "slots_for", lambda *_: asked.append(4) or (4,))
    points = clouds.uniform(min(N, 300), 2, seed=2)
    index = clfrnn.build_index(points, 0.02, method=method, session=as_gpu(session))
    for moved in (points, points[::-1].copy()):
        index.update(moved)
        same(index.query(sort="index"), reference.neighbors(moved, 0.02))
    assert len(made) == 2
    assert None not in made
    assert asked == [4]


def test_slots_are_as_many_as_few_queries_exceed():
    assert stash.slots_for(0.1, 0.1**0.5, 16) == (4, 4)
    assert stash.slots_for(3, 3**0.5, 16) == (16, 12)
    assert stash.slots_for(4, 2, 16) == (16, 12)
    assert stash.slots_for(5, 5**0.5, 16) == (12,), "nobody has more than too many"
    assert stash.slots_for(3, 12, 16) == (), "most are stashed in vain where few have most"
    assert stash.slots_for(40, 1, 16) == ()
    assert stash.slots_for(math.inf, math.inf, 16) == ()
    assert stash.slots_for(10, 10**0.5, 20) == (20,)
    assert stash.slots_for(12, 12**0.5, 20) == ()
    counts = np.random.default_rng(0).poisson(3, 10**6)
    nobody, few = stash.slots_for(3, 3**0.5, 16)
    assert counts.max() <= nobody
    assert 0 < (counts > few).mean() < 1e-4


def test_numbers_are_put_by_or_marked(session):
    """Up to ten neighbors put by, more marked; in a periodic box as elsewhere."""
    points = clouds.uniform(N, 3, seed=2)
    for neighbors, periodic, expected in [
        (3, False, "NeighborBuffer"),
        (8, False, "NeighborBuffer"),
        (8, True, "NeighborBuffer"),
        (30, False, "HitMask"),
    ]:
        radius = (neighbors / (4.19 * N)) ** (1 / 3)
        domain = {"box": (1.0,) * 3, "periodic": True} if periodic else {}
        index = clfrnn.build_index(points, radius, method="strips", session=as_gpu(session), **domain)
        made = index.make_hit_mask(make_request(index, None, radius=None, include_self=False), numbers=True)
        assert expected == (None if made is None else type(made).__name__)
        assert np.array_equal(
            index.query(sort="index").to_host().indices, reference.neighbors(points, radius, **domain).indices
        )


def test_a_stash_takes_a_share_of_the_memory_that_is_left(session, monkeypatch):
    def left(size):
        monkeypatch.setattr(type(session), "available", lambda _: (size, size))
        return stash.make_neighbor_buffer(session, units=100, slots=8)

    assert left(1 << 20).numbers.size == 800
    assert left(8 * 3200) is not None
    assert left(8 * 3200 - 1) is None


@pytest.mark.parametrize(("slots", "most"), [(4, 1 << 29), (8, 1 << 28), (12, 1 << 28), (16, 1 << 27), (20, 1 << 27)])
def test_as_many_queries_as_have_places_in_packed_rows(session, monkeypatch, slots, most):
    """With the bits that say how many neighbors there are, up to one more than slots, these are 32."""
    monkeypatch.setattr(type(session), "available", lambda _: (2**40, 2**40))
    monkeypatch.setattr(type(session), "scratch", lambda *_, **__: None)

    assert stash.make_neighbor_buffer(session, units=most, slots=slots) is not None
    assert stash.make_neighbor_buffer(session, units=most + 1, slots=slots) is None


@pytest.mark.parametrize("wide", [False, True])
def test_offsets_that_have_come_round(session, wide):
    """Rows are as long by offsets of the other type: of more pairs than theirs count, or of fewer than they could."""
    index = clfrnn.build_index(clouds.uniform(5, 3, seed=3), 0.1, method="strips", session=session)
    rows = np.array([7, 0, 5, 3, 9] if wide else [2**30, 2**31 - 1, 0, 2**30 + 5, 2**31 - 1, 3])
    exact = np.concatenate([[0], np.cumsum(rows)])
    given = exact if wide else (exact % 2**32).astype(np.uint32).view(np.int32)
    offsets = session.upload(given, purpose="a test")

    assert lists._offsets_for(index, offsets, 2**40 if wide else 5) is offsets
    found = lists._offsets_for(index, offsets, int(exact[-1])).get()
    assert found.dtype == (np.int32 if wide else np.int64)
    assert np.array_equal(found, exact)
