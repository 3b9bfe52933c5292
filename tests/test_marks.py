"""Lists written by the marks of a count: as by testing candidates again, whatever room there is for marks."""

import dataclasses

import numpy as np
import pytest
from conftest import POINTS, as_gpu, with_tuning

import clfrnn
from clfrnn import clouds, reference
from clfrnn.lists import columns as list_spec
from clfrnn.methods.grid import structure as cells
from clfrnn.planning.configs import room_for_points
from clfrnn.planning.traversal import plan_walk
from clfrnn.queries.make_request import make_request

pytestmark = pytest.mark.core

N = min(600, POINTS)
RADIUS = 0.2
METHODS = ["strips", "uniform_grid"]


@pytest.fixture(params=["as it is", "GPU"])
def walker(request, session):
    """The device as it is, and with the walks of a GPU."""
    return session if request.param == "as it is" else as_gpu(session)


@pytest.fixture(params=[None, 0.01, 0.3], ids=["room", "one word", "some words"])
def room(request, monkeypatch):
    """Room for marks: as planned, for the first word of a query, and for some of them."""
    if request.param is not None:
        monkeypatch.setattr(cells, "_MARKS_ROOM", request.param)
        monkeypatch.setattr(cells, "_PLACES_ROOM", request.param)


@pytest.fixture
def marked(monkeypatch):
    """What marks were made while the test ran."""
    made = []
    make = cells.make_hit_mask

    def watched(*args, **options):
        made.append(make(*args, **options))
        return made[-1]

    monkeypatch.setattr(cells, "make_hit_mask", watched)
    return made


def same(found, expected):
    found = found.to_host()
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.indices, expected.indices)
    for name in ("distances", "vectors"):
        if getattr(found, name) is not None:
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("method", METHODS)
def test_every_cloud(walker, dim, dtype, method, marked):
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    for name in ("uniform", "clustered", "shell", "duplicates"):
        points = clouds.CLOUDS[name](N, dim, dtype=dtype, seed=5)
        index = clfrnn.build_index(points, RADIUS, method=method, session=walker)

        found = index.query(sort="index")

        same(found, reference.neighbors(points, RADIUS))
    assert any(each is not None for each in marked)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "asked",
    [{"include_self": True}, {"half": True}, {"distances": True}, {"vectors": True, "distances": True}],
    ids=["self", "half", "distances", "vectors"],
)
def test_every_kind_of_list(walker, asked, marked):
    points = clouds.uniform(N, 3, seed=6)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)
    kept = {name: value for name, value in asked.items() if name in ("include_self", "half")}

    same(index.query(sort="index", **asked), reference.neighbors(points, RADIUS, **kept))
    assert marked[0] is not None


@pytest.mark.usefixtures("room")
def test_foreign_queries_with_radii(walker, marked):
    points, queries = clouds.uniform(N, 3, seed=7), clouds.uniform(N // 3, 3, seed=8) * 1.2 - 0.1
    radii = np.random.default_rng(0).uniform(0, RADIUS, len(queries)).astype(np.float32)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)

    found = index.query(queries.astype(np.float32), radius=radii, sort="index")

    same(found, reference.neighbors(points, radii, queries=queries.astype(np.float32)))
    assert marked[0] is not None


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("hint", [1, 7, 100, 10**6])
def test_lists_that_are_not_waited_for(walker, hint, marked):
    points = clouds.uniform(N, 3, seed=9)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)

    same(index.query(sort="index", hint=hint), reference.neighbors(points, RADIUS))
    assert marked[0] is not None


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("method", "asked", "away"),
    [
        ("strips", {}, 0.0),
        ("strips", {"half": True}, 0.7),
        ("uniform_grid", {"half": True}, 0.0),
        ("uniform_grid", {"include_self": True}, 0.7),
    ],
    ids=["strips", "strips, half, away", "grid, half", "grid, self, away"],
)
def test_periodic_lists_of_numbers(walker, method, asked, away, marked):
    """By whichever kernel serves the points: where all lie in the box, and where some do not."""
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, True)}
    points = clouds.uniform(N, 3, seed=12)
    points[::2, ::2] += np.float32(3 * away)
    index = clfrnn.build_index(points, RADIUS, method=method, session=walker, **domain)
    queries = points[::7] + np.float32(0.01)

    same(index.query(sort="index", **asked), reference.neighbors(points, RADIUS, **asked, **domain))
    assert marked[0] is not None
    same(index.query(queries, sort="index"), reference.neighbors(points, RADIUS, queries=queries, **domain))
    same(
        index.query(distances=True, vectors=True, sort="index", **asked),
        reference.neighbors(points, RADIUS, **asked, **domain),
    )
    ask = make_request(index, None, radius=None, include_self=False)
    assert index.make_hit_mask(ask, numbers=False) is None, "a mark does not say in which image"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", [{}, {"half": True}, {"include_self": True}], ids=["all", "half", "self"])
@pytest.mark.parametrize("radius", [0.9, 1.3])
def test_periodic_rows_in_which_points_meet_themselves(walker, method, asked, radius, marked):
    """In another image of the box; rows as short as a batch, and as they are written."""
    lengths = (1.0, 40.0, 40.0)
    points = clouds.uniform(min(300, N), 3, seed=5) * np.float32(lengths)
    domain = {"box": lengths, "periodic": True}
    index = clfrnn.build_index(points, radius, method=method, session=walker, **domain)
    expected = reference.neighbors(points, radius, **asked, **domain)
    assert (np.diff(expected.offsets) < 8).any()

    for _ in range(2):  # room is foreseen from the second on
        found = index.query(**asked).to_host()
        assert np.array_equal(found.offsets, expected.offsets)
        row = np.repeat(np.arange(len(points)), np.diff(expected.offsets))
        assert np.array_equal(found.indices[np.lexsort((found.indices, row))], expected.indices)
    assert walker.profile.kind == "gpu" or marked[0] is not None


def test_rows_of_many_neighbors(walker, marked):
    """Rows that pass through local memory in many turns, beside rows of none."""
    points = np.concatenate([clouds.uniform(N // 2, 3, seed=1) * np.float32(0.1), clouds.uniform(9, 3, seed=2) + 5])
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)

    same(index.query(sort="index"), reference.neighbors(points, RADIUS))
    assert marked[0] is not None


def test_offsets_of_eight_bytes(walker, marked, monkeypatch):
    """As those of more pairs than int32 counts."""
    monkeypatch.setattr(list_spec, "_LARGEST_INT32", 100)
    points = clouds.uniform(N, 3, seed=3)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)
    expected = reference.neighbors(points, RADIUS)

    for hint in (None, 50, 10**5):
        found = index.query(sort="index", hint=hint)
        same(found, expected)
        assert found.offsets.dtype == np.int64
    assert marked[0] is not None


@pytest.mark.parametrize("hint", [None, 10**5])
def test_a_list_does_without_where_there_is_no_memory_for_marks(walker, hint, monkeypatch):
    points = clouds.uniform(N, 3, seed=4)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=walker)
    take = clfrnn.Session._take

    def sparing(session, size, purpose):
        if "marks" in purpose:
            session._refuse(size, purpose)
        return take(session, size, purpose)

    monkeypatch.setattr(clfrnn.Session, "_take", sparing)

    same(index.query(sort="index", hint=hint), reference.neighbors(points, RADIUS))


def test_a_list_of_a_hint_takes_its_memory_once(session, monkeypatch):
    """Looking at it asks for no more than there is, where it has room already."""
    points = clouds.uniform(N, 3, seed=4)
    index = clfrnn.build_index(points, RADIUS, method="strips", session=session)
    expected = reference.neighbors(points, RADIUS)
    found = index.query(hint=len(expected.indices), sort="index")
    monkeypatch.setattr(clfrnn.Session, "available", lambda _: (1 << 30, 100))

    same(found, expected)


@pytest.mark.parametrize("offset", ["int", "long"])
def test_what_is_held_back_is_bounded(offset):
    """A compiler made wrong lists of it otherwise."""
    spec = list_spec.Columns(
        distances=False, vectors=False, sort=None, periodic=True, images=False, dim=2, dtype=np.dtype(np.float32)
    )
    dtype = np.dtype(np.int32 if offset == "int" else np.int64)
    assert "capacity" in spec.writer(dtype, bounded=False, held=8).arguments
    assert "capacity" not in spec.writer(dtype, bounded=False, held=0).arguments


def test_marks_take_a_share_of_the_memory_that_is_left(session, monkeypatch):
    def left(size, word=8, spare=0):
        monkeypatch.setattr(type(session), "available", lambda _: (size, size))
        return cells.make_hit_mask(session, units=100, room=10, size=word, spare=spare)

    assert left(1 << 30).room == 10
    assert left(8 * 100 * (8 * 4 + 4)).room == 4
    assert left(1000) is None
    assert left(8 * 100 * (4 * 12 + 4), word=4, spare=8).room == 4
    assert left(8 * 100 * (4 * 8 + 4), word=4, spare=8) is None


@pytest.mark.parametrize("real", ["float", "double"])
def test_batches_stay_within_the_sorted_copy(session, real):
    """A batch that begins with the last point's number, which is the last thing there is."""
    cpu = with_tuning(dataclasses.replace(session.profile, kind="cpu"))
    for dim in (2, 3):
        config = plan_walk(*cpu, dim=dim, real=real, periodic=False)
        for n in (1, 3, 100):
            assert config.columns
            assert dim * n + (n - 1) + config.width <= room_for_points(config.layout, dim, n)


def test_a_cpu_finds_room_for_what_few_queries_have_more_than(session):
    """Nearly all queries of an even cloud are served by what the count has left, and no more than that is held."""
    if session.profile.kind != "cpu":
        pytest.skip("marks are places on a CPU alone")
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=11), RADIUS, method="strips", session=session)
    counts = index.count().get()

    room = index.make_hit_mask(make_request(index, None, radius=None, include_self=False), numbers=True).room

    assert (counts > room).mean() < 0.05
    assert room < 4 * counts.mean() + 5
