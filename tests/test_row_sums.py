"""Rows that are written while their offsets are found, by sums that the count has added up."""

import dataclasses
import gc
import itertools
import weakref

import numpy as np
import pyopencl as cl
import pytest
from conftest import POINTS, as_gpu, takes_long_as_gpu, tuned, with_profile
from test_stash import watch

import clfrnn
from clfrnn import clouds, reference
from clfrnn.errors import DeviceMemoryError
from clfrnn.first_pass import block_sums as row_sums
from clfrnn.first_pass import neighbor_buffer as stash
from clfrnn.lists import columns as list_spec
from clfrnn.methods.fenns import fenns
from clfrnn.methods.grid import structure as cells
from clfrnn.queries.make_request import make_request

N = min(700, POINTS)
RADIUS = 0.1
EVEN = clouds.uniform(N, 3, seed=5)
#: the same points in half the space on each axis: about eight times as many pairs
DENSE = EVEN * np.float32(0.5)
EXPECTED = {id(points): reference.neighbors(points, RADIUS) for points in (EVEN, DENSE)}


@pytest.fixture
def index(session, monkeypatch):
    """One that puts by twelve numbers, of a GPU or of what counts as one."""
    watch(monkeypatch, 12)
    return clfrnn.build_index(EVEN, RADIUS, method="strips", session=as_gpu(session))


def same(found, expected):
    found = found.to_host()
    assert np.array_equal(found.offsets, expected.offsets)
    rows = np.repeat(np.arange(len(found)), found.counts)
    assert np.array_equal(found.indices[np.lexsort((found.indices, rows))], expected.indices)


def launched(index, call):
    with index.session.recorded() as launches:
        found = call()
    return [name for name, _ in launches], found


@pytest.mark.core
@pytest.mark.parametrize("shares", [1 << 10, 2], ids=["short shares", "long shares"])
def test_lists_that_outgrow_their_room_and_do_not(index, monkeypatch, shares):
    """Rows of several groups' tiles; the first list, and one that is longer than foreseen, are written by offsets."""
    monkeypatch.setattr(row_sums, "_MOST_SHARES", shares)
    placed = []
    for points in (EVEN, EVEN, DENSE, DENSE, EVEN, EVEN):
        index.update(points)
        names, found = launched(index, index.query)
        same(found, EXPECTED[id(points)])
        placed.append(("place_stashed_rows" in names, "stashed_rows" in names))

    assert placed == [(False, True), (True, False), (True, True), (True, False), (True, False), (True, False)]


@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
@pytest.mark.parametrize(
    "asked",
    [{}, {"half": True}, {"include_self": True}, {"radius": True}, {"queries": True}, {"box": 1.0}, {"box": 0.9}],
    ids=["plain", "half", "self", "radii", "queries", "home", "away"],
)
def test_every_kind_of_list(session, monkeypatch, method, asked, dim, dtype):
    """In every dimension and precision, by the launch that finds offsets: rows put by, and rows that are not."""
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    watch(monkeypatch, 4)
    monkeypatch.setattr(cells, "many_queries", lambda *_, **__: 1)
    points, radius = clouds.uniform(N, dim, dtype=dtype, seed=3), RADIUS if dim == 3 else 0.03
    points[:40] *= dtype.type(0.3)
    kept = {**asked}
    domain = {"box": (kept.pop("box"),) * dim, "periodic": True} if "box" in kept else {}
    if "queries" in kept:
        kept["queries"] = clouds.uniform(300, dim, dtype=dtype, seed=4)
    alike = {**kept}
    if alike.pop("radius", False):
        kept["radius"] = radius = np.random.default_rng(1).uniform(0, radius, N).astype(dtype)
    expected = reference.neighbors(points, radius, **domain, **alike)
    assert 0 < (np.diff(expected.offsets) > 4).sum() < len(expected.offsets) - 1
    index = clfrnn.build_index(points, np.max(radius), method=method, session=as_gpu(session), **domain)
    for step in range(4):
        names, found = launched(index, lambda: index.query(**kept))
        same(found, expected)
        assert ("place_stashed_rows" in names) == (step > 0)


def test_a_list_in_one_launch_less_than_by_a_scan(index):
    for _ in range(2):  # the sums of one count are cleared behind the next
        index.query()
    names, _ = launched(index, index.query)

    assert [name for name in names if name != "frnn_visit"] == ["place_stashed_rows"]


def test_indexes_and_lists_in_turn(index, session):
    """Two indexes of as many points share their sums, and lists that nobody has looked at take some, too."""
    other = clfrnn.build_index(DENSE, RADIUS, method="strips", session=index.session)
    held = []
    for _ in range(3):
        for each, points in ((index, EVEN), (other, DENSE)):
            held += [(each.query(), points), (each.query(hint=10**5), points), (each.query(hint=10), points)]
            held.append((each.query(sort="index"), points))
    for found, points in held:
        same(found, EXPECTED[id(points)])


@pytest.mark.parametrize("hint", [None, 10**5])
def test_without_memory_for_the_rows(index, monkeypatch, hint):
    """Offsets are scanned instead, by the same sums."""
    index.query()
    place, failing = stash.NeighborBuffer.place, [True]

    def failed(kept, session, offsets, indices):
        if failing:
            raise DeviceMemoryError("indices", needed=1, available=0)
        return place(kept, session, offsets, indices)

    monkeypatch.setattr(stash.NeighborBuffer, "place", failed)
    same(index.query(hint=hint), EXPECTED[id(EVEN)])
    failing.clear()
    for points in (EVEN, DENSE, EVEN):
        index.update(points)
        same(index.query(hint=hint), EXPECTED[id(points)])


def test_sums_that_an_int_may_not_hold_are_not_made(session, monkeypatch):
    """Of many rows, and of queries with many neighbors in many images; nor on a CPU."""

    def sums_of(m, radius=0.1, **domain):
        index = clfrnn.build_index(EVEN, radius, method="strips", session=as_gpu(session), **domain)
        return row_sums.row_sums_for(
            index, make_request(index, np.zeros((m, 3), np.float32), radius=None, include_self=False)
        )

    torus = {"box": (1.0, 1.0, 1.0), "periodic": True}
    assert sums_of(0) is None
    assert sums_of(1).shares == 1
    assert sums_of(1).shift == 8
    assert sums_of(257).shares == 2
    assert sums_of(300, **torus) is not None
    assert sums_of(300, radius=20.0, **torus) is None, "a row of 700 points in 79,507 images"
    monkeypatch.setattr(row_sums, "_MOST_ROWS", 299)
    assert sums_of(300) is None
    monkeypatch.setattr(row_sums, "_MOST_ROWS", 1 << 24)
    monkeypatch.setattr(row_sums, "_MOST_SHARES", 1)
    assert sums_of(1 << 13).shift == 13
    if session.profile.kind == "cpu":
        index = clfrnn.build_index(EVEN, 0.1, method="strips", session=session)
        assert row_sums.row_sums_for(index, make_request(index, None, radius=None, include_self=False)) is None


@pytest.mark.parametrize("shares", [1 << 10, 2], ids=["short shares", "long shares"])
@pytest.mark.parametrize("asked", [{}, {"sort": "index"}, {"include_self": True}], ids=str)
def test_counts_that_are_scanned_by_one_launch(session, monkeypatch, shares, asked):
    """Of marks, and of numbers that are put by where rows are sorted; where more rows are not added up, by two."""
    monkeypatch.setattr(row_sums, "_MOST_SHARES", shares)
    monkeypatch.setattr(cells, "_FEW_ELSEWHERE", 0.0)
    gpu = tuned(as_gpu(session), primitives={"one_launch_counts": 0})
    for few, many in itertools.product((False, True), repeat=2):
        monkeypatch.setattr(stash, "slots_for", lambda *_, few=few: (12,) if few else ())
        monkeypatch.setattr(row_sums, "_MOST_ROWS", N - 1 if many else N)
        index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=gpu)
        for step, points in enumerate((EVEN, DENSE, DENSE, EVEN)):
            index.update(points)
            names, found = launched(index, lambda index=index: index.query(**asked))
            kept = {name: value for name, value in asked.items() if name == "include_self"}
            same(found, reference.neighbors(points, RADIUS, **kept))
            placed = few and not many and "sort" not in asked and step > 0
            scans = {"scan_summed", "sum_shares", "scan_shares", "scan_few", "place_stashed_rows"} & set(names)
            alone = {"sum_shares", "scan_shares"} if many else {"scan_summed"}
            assert scans == ({"place_stashed_rows"} if placed else alone)
            assert ("stashed_rows" in names) == (few and not (placed and step != 1))


def test_few_counts_are_not_added_up(session, monkeypatch):
    """Where a scan takes one launch as it is, marks do without."""
    monkeypatch.setattr(cells, "_FEW_ELSEWHERE", 0.0)
    monkeypatch.setattr(stash, "slots_for", lambda *_: ())
    index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=as_gpu(session))
    for _ in range(2):
        names, found = launched(index, index.query)
        same(found, EXPECTED[id(EVEN)])
        assert names == ["frnn_visit", "scan_few", "frnn_visit"]


def test_shares_cover_all_rows(monkeypatch):
    for rows, most in itertools.product((1, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 19), (1, 3, 1 << 10)):
        monkeypatch.setattr(row_sums, "_MOST_SHARES", most)
        shift, shares = row_sums.shared_out(rows)
        assert (shares - 1) << shift < rows <= shares << shift
        assert shares <= max(most, -(-rows // 256))


def test_a_session_with_sums_goes_with_its_last_holder(session, monkeypatch):
    """Not only when the garbage collector comes: its pool holds memory of the device."""
    watch(monkeypatch, 12)
    own = with_profile(session, kind="gpu")
    index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=own)
    index.query()
    gone = weakref.ref(own)
    gc.collect()
    gc.disable()
    try:
        del own, index
        assert gone() is None
    finally:
        gc.enable()


def test_one_stash_for_lists_of_other_lengths(session, monkeypatch):
    """The points' own and foreign queries in turn: room is kept for as many rows alone, and said."""
    watch(monkeypatch, 12)
    monkeypatch.setattr(cells, "many_queries", lambda *_, **__: 1)
    index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=as_gpu(session))
    seen = []
    for m in (None, None, 300, N, None, 257, 300, None):
        asked = {} if m is None else {"queries": clouds.uniform(m, 3, seed=m)}
        kept = index.kept_stash
        same(index.query(**asked), reference.neighbors(EVEN, RADIUS, **asked))
        rows = m or N
        assert index.nbytes["stash_rows"] == 4 * rows
        assert index.nbytes["stash_numbers"] == 4 * 12 * rows
        seen.append(index.kept_stash is kept)
    assert seen == [False, True, False, False, True, False, False, False]


def test_a_stash_is_kept_where_it_is_small_and_nobody_waits_for_it(index, monkeypatch):
    index.query()
    kept = index.kept_stash
    assert kept is not None
    found = [index.query(hint=hint) for hint in (10**5, 10)]
    assert index.kept_stash is kept, "nothing of it is needed when somebody looks at the list"
    index.query(include_self=True)
    assert index.kept_stash is kept
    for each in found:
        same(each, EXPECTED[id(EVEN)])
    held = sum(size for name, size in index.nbytes.items() if name.startswith("stash"))
    for most, keeps in ((held - 1, False), (held, True)):
        monkeypatch.setattr(stash, "_MOST_KEPT", most)
        same(index.query(), EXPECTED[id(EVEN)])
        assert (index.kept_stash is not None) == keeps


@pytest.fixture
def keeping(session, monkeypatch):
    """An index in a session of its own, that has kept a stash."""
    monkeypatch.setattr(stash, "slots_for", lambda *_: (12,))
    index = clfrnn.build_index(EVEN, RADIUS, method="strips", session=with_profile(session, kind="gpu"))
    index.query()
    assert index.kept_stash is not None
    return index


def test_a_kept_stash_gives_way(keeping):
    """To whatever else needs its memory, of the same index or of another."""
    own, index = keeping.session, keeping
    whole = own.profile
    for call in (
        index.count,
        lambda: index.update(EVEN),
        lambda: [part.num_pairs for part in index.query_blocks(max_bytes=40_000)],
        lambda: own.allocate(N, np.int64, purpose="something else"),
    ):
        own.profile = whole
        for _ in range(2):
            index.query()
        assert index.kept_stash is not None
        own.profile = dataclasses.replace(whole, global_memory=own._pool.active_bytes + 1000)
        call()
        assert index.kept_stash is None
    own.profile = dataclasses.replace(whole, global_memory=own._pool.active_bytes + 1000)
    with pytest.raises(DeviceMemoryError, match="something else needs"):
        own.allocate(N, np.int64, purpose="something else")


def test_a_kept_stash_gives_way_to_a_list_that_does_without(keeping):
    """Whose counts and offsets have room beside it, but not its pairs."""
    own = keeping.session
    own.profile = dataclasses.replace(own.profile, global_memory=own._pool.active_bytes + 12 * N)

    found = keeping.query(distances=True)

    assert keeping.kept_stash is None
    same(found, EXPECTED[id(EVEN)])


@pytest.mark.parametrize("ask", ["list", "array"])
def test_what_is_left_is_said_without_what_is_kept(keeping, ask):
    """Where one allocation is too large for the device, however much it has."""
    own = keeping.session
    pairs = len(EXPECTED[id(EVEN)].indices)
    own.profile = dataclasses.replace(own.profile, max_allocation=8 * N if ask == "array" else 4 * pairs)
    with pytest.raises(DeviceMemoryError) as raised:  # noqa: PT012 — one of two calls
        if ask == "list":
            keeping.query(distances=True, vectors=True)
        else:
            own.allocate(3 * N, np.int32, purpose="an array")

    assert keeping.kept_stash is None
    assert raised.value.available >= own.available()[1] - 40 * N
    assert raised.value.available > own.profile.global_memory - own.pooled_bytes


def test_a_kept_stash_gives_way_where_the_driver_has_no_more(keeping):
    """Who knows better than its profile."""
    own = keeping.session

    class Scarce:
        def __init__(self, pool):
            self._pool = pool
            self.active_bytes = pool.active_bytes

        def allocate(self, size):
            if keeping.kept_stash is not None:
                raise cl.MemoryError("clEnqueueWriteBuffer", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, "no more")
            return self._pool.allocate(size)

    own._pool = Scarce(own._pool)
    assert own.allocate(N, np.int32, purpose="an array").size == N
    assert keeping.kept_stash is None


def test_no_memory_for_offsets(index, monkeypatch):
    """The count has added up rows that nobody comes to read: the next begins at zero all the same."""
    index.query()
    index.query()
    allocate, failing = clfrnn.Session.allocate, [True]

    def failed(session, shape, dtype, *, purpose, rows=None):
        if failing and "offsets" in purpose:
            raise DeviceMemoryError(purpose, needed=1, available=0)
        return allocate(session, shape, dtype, purpose=purpose, rows=rows)

    monkeypatch.setattr(clfrnn.Session, "allocate", failed)
    with pytest.raises(DeviceMemoryError):
        index.query()
    failing.clear()
    for points in (EVEN, DENSE, EVEN):
        index.update(points)
        same(index.query(), EXPECTED[id(points)])


def test_offsets_of_eight_bytes_are_scanned(index, monkeypatch):
    """What rows find is four bytes long."""
    index.query()
    monkeypatch.setattr(list_spec, "_LARGEST_INT32", 100)
    for _ in range(3):
        names, found = launched(index, index.query)
        same(found, EXPECTED[id(EVEN)])
        assert "place_stashed_rows" not in names
        assert found.offsets.dtype == np.int64


def test_lists_of_local_grids(session, monkeypatch):
    """FENNS puts numbers by as well."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    watch(monkeypatch, 12)
    monkeypatch.setattr(fenns, "_WORTH_A_STASH", 0.0)
    index = clfrnn.build_index(EVEN, RADIUS, method="fenns", session=as_gpu(session))
    placed = []
    for points in (EVEN, EVEN, DENSE, EVEN):
        index.update(points)
        names, found = launched(index, index.query)
        same(found, EXPECTED[id(points)])
        placed.append("place_stashed_rows" in names)
    assert placed == [False, True, True, True]
