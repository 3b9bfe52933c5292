"""What many systems at once have alone; test_conformance.py goes over them with all other spaces."""

import gc
import itertools
import weakref

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import FULL, assert_counts, assert_rows, assert_same, structure_of
from spaces import NUMBERS, space_of

import clfrnn
from clfrnn import reference

N, RADIUS = 90, 0.4
BATCH = NUMBERS[np.random.default_rng(3).integers(0, len(NUMBERS), N)]


def cloud(dim, dtype, n=N):
    return np.random.default_rng(dim).random((n, dim)).astype(dtype)


@pytest.mark.parametrize("kind", ["open", "boxes", "outside"])
def test_a_layout_stays_while_points_lie_in_it(session, method, kind):
    """Points that move a little keep their systems' layout; those that leave it, or draw closer, have another."""
    draw, radius = np.random.default_rng(8), 0.12
    domain = {"box": np.full(3, 0.3)} if kind == "outside" else space_of(f"systems.{kind}", 3).domain
    points = (0.1 + 0.5 * cloud(3, np.float32)).astype(np.float32)
    index = clfrnn.build_index(points, radius, method=method, session=session, batch=BATCH, **domain)
    queries, layouts = points[::3] + np.float32(0.01), []
    near = {"queries": queries, "query_batch": BATCH[::3]}
    for step in (0.02, 0.0005, 0.0005, 0.0005, -0.1, 5.0):
        moved = points + step * draw.standard_normal(points.shape) if step > 0 else -step * points
        points = moved.astype(np.float32)
        index.update(points)
        layouts.append(structure_of(index).images.tables)
        expected = reference.neighbors(points, radius, batch=BATCH, **domain)
        assert_same(index.query(**FULL), expected)
        assert_counts(index.count(), expected)
        nearest = reference.nearest(points, 3, radius=radius, batch=BATCH, **near, **domain)
        assert_rows(index.nearest(**near, k=3), nearest)
    kept = [later is earlier for earlier, later in itertools.pairwise(layouts)]
    assert kept == [True, True, True, False, False]

    bad = points.copy()
    bad[5, 1] = np.nan
    with pytest.raises(clfrnn.InvalidInputError, match="row 5"):
        index.update(bad)
    index.update(points)
    assert_same(index.query(**FULL), expected)


def test_layouts_go_with_their_points(session, method):
    """No circle of references holds the memory of systems that were laid out anew."""
    gc.disable()
    try:
        index = clfrnn.build_index(cloud(3, np.float32), RADIUS, method=method, session=session, batch=BATCH)
        held = []
        for step in range(4):
            index.update((cloud(3, np.float32) + np.float32(step)).astype(np.float32))
            index.count()
            held.append(weakref.ref(structure_of(index).images.tables))
        assert [each() is not None for each in held].count(True) <= 2, (
            "the newest, and one that a launch may still read"
        )
        index.check()
        del index
        assert not any(each() for each in held)
    finally:
        gc.enable()


@pytest.mark.core
def test_k_nearest_however_far(session, method):
    """Rows are as long as systems are, and systems do not see each other, however far apart their points are."""
    points = cloud(3, np.float32) * 10 ** (BATCH % 5)[:, None].astype(np.float32)
    for domain, k in [*itertools.product(({}, {"box": np.full(3, 3e4)}), (1, 8)), ({}, 40)]:
        known = {"batch": BATCH, **domain}
        found = clfrnn.nearest(points, k, method=method, session=session, **known)
        assert_rows(found, reference.nearest(points, k, **known))


def test_boxes_of_very_different_size(session):
    """A query in a small box need not look as far as one in a large box."""
    draw = np.random.default_rng(1)
    points = np.concatenate([draw.random((30, 3)), draw.random((30, 3)) * 300]).astype(np.float32)
    known = {"batch": np.repeat([0, 1], 30), "box": [[1] * 3, [300] * 3]}
    for k in (3, 40):
        found = clfrnn.nearest(points, k, vectors=True, session=session, **known)
        assert_rows(found, reference.nearest(points, k, **known))


@pytest.mark.core
@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
def test_a_stray_point(session, method):
    """A system with a point far away keeps its cells, on a torus."""
    points = np.random.default_rng(1).random((300, 3)).astype(np.float32)
    points[7] = 1e4
    batch = np.arange(300) % 2
    index = clfrnn.build_index(points, 0.2, method=method, batch=batch, session=session)
    assert_same(index.query(**FULL), reference.neighbors(points, 0.2, batch=batch))


def test_a_condition_that_ends_in_a_comment(session):
    points = np.zeros((4, 2), np.float32)
    where = clfrnn.Condition("1 // all")
    assert clfrnn.search(points, 1, batch=[0, 0, 1, 1], where=where, session=session).num_pairs == 4


@pytest.mark.core
@pytest.mark.parametrize("numbers", [[0, 0, 0], [-128, 127, -128], [5, -3, 5], [2**62, 0, 2**62], [1, 2, 3]])
def test_numbers(session, numbers):
    points = np.zeros((3, 2), np.float32)
    kind = np.int8 if min(numbers) == -128 else np.int64
    pairs = clfrnn.search(points, 1, batch=np.array(numbers, kind), session=session, sort="index").to_host()
    assert pairs.counts.tolist() == [numbers.count(number) - 1 for number in numbers]


def test_empty_systems(session):
    """Systems without points, or without queries; boxes by number; nothing at all."""
    points, batch = np.float32([[0.1], [0.9], [0.1]]), [2, 2, 0]
    boxes = np.float32([[5], [7], [1]])
    found = clfrnn.search(points, 0.3, batch=batch, box=boxes, method="brute_force", session=session)
    assert found.to_host().counts.tolist() == [1, 1, 0]
    asked = {"queries": points, "query_batch": [1, 2, 3], "session": session}
    assert clfrnn.search(points, 0.3, batch=batch, **asked).to_host().counts.tolist() == [0, 1, 0]
    none = np.zeros((0, 1), np.float32)
    assert len(clfrnn.search(none, 0.3, batch=[], session=session)) == 0
    assert clfrnn.search(none, 0.3, batch=[], **asked).to_host().counts.tolist() == [0, 0, 0]


def test_more_systems_than_a_group_has_points(session):
    """As many systems as points, and one that is far larger than the others."""
    n = 3000
    points = np.random.default_rng(0).random((n, 3)).astype(np.float32) * 4
    batch = np.where(np.arange(n) < n // 2, np.arange(n), 10**6)
    expected = reference.neighbors(points, 0.5, batch=batch)
    assert_same(clfrnn.search(points, 0.5, batch=batch, method="strips", session=session, **FULL), expected)


REFUSED = {
    "length": ({"batch": [1, 2]}, r"batch: expected shape \(4,\).*got shape \(2,\)"),
    "dtype": ({"batch": [0.5] * 4}, "batch: expected an integer for each row.*float64"),
    "no queries' batch": (
        {"batch": [0] * 4, "queries": np.zeros((1, 2), np.float32)},
        "query_batch: expected the system of each",
    ),
    "no batch": ({"queries": [[0.0, 0.0]], "query_batch": [0]}, "query_batch: expected batch with it"),
    "no queries": ({"batch": [0] * 4, "query_batch": [0] * 4}, "query_batch: expected none without queries"),
    "boxes": (
        {"batch": [0, 0, 1, 9], "box": [[1, 1]] * 5},
        "box: expected one entry for all systems, or one for each of the 3",
    ),
    "more boxes than systems": (
        {"batch": [0, 0, 0, 1], "box": [[1, 1]] * 4},
        r"box: .*the 2 systems.*got 4.*shape \(2, 2\)",
    ),
    "a flat box": (
        {"batch": [0, 0, 1, 2], "box": [[1, 1], [1, -1], [1, 1]]},
        "box: of system 1: .*positive, finite length on axis 1",
    ),
    "a flat cell": ({"batch": [0, 0, 3, 3], "cell": [np.eye(2), [[1, 0], [2, 0]]]}, "cell: of system 3: .*independent"),
    "far": ({"batch": [0, 0, 3, 3], "box": [[1, 1], [1e-8, 1]]}, "points: expected positions near.*system 3"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(session, name):
    given, message = REFUSED[name]
    points = np.float32([[0.1, 0.2], [0.3, 0.2], [0.3, 0.9], [0.3, 0.1]])
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        clfrnn.search(points, 1e-9 if name == "far" else 0.1, session=session, **given)


def test_refused_later(session):
    index = clfrnn.build_index(np.zeros((4, 2), np.float32), 1, batch=[0, 0, 1, 1], session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected 4 points, as many as batch has numbers"):
        index.update(np.zeros((5, 2), np.float32))
    assert "systems: 2" in index.explain()
    with pytest.raises(clfrnn.InvalidInputError, match="box: expected none, as there was no box when it was built"):
        index.update(np.zeros((4, 2), np.float32), box=(1, 1))
    plain = clfrnn.build_index(np.zeros((4, 2), np.float32), 1, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="query_batch: expected none, as points have no batch"):
        plain.count(np.zeros((1, 2), np.float32), query_batch=[0])


@pytest.mark.parametrize("method", ["strips", "brute_force"])
def test_an_update_that_fails(session, method, monkeypatch):
    """The index has its old points, which lie outside of their boxes, and finds their neighbors."""
    points = cloud(3, np.float32) + np.float32(3)
    points[0] -= 6
    known = {"batch": BATCH, "box": np.ones(3)}
    index = clfrnn.build_index(points, RADIUS, method=method, session=session, **known)

    def refuse(*_):
        raise clfrnn.DeviceMemoryError("no memory", needed=1, available=0)

    monkeypatch.setattr(type(index._traversal.structure), "update", refuse)
    for moved in (cloud(3, np.float32), cla.to_device(session.queue, cloud(3, np.float32))):
        with pytest.raises(clfrnn.DeviceMemoryError):
            index.update(moved)
        assert_counts(index.count(), reference.neighbors(points, RADIUS, **known))


@pytest.mark.parametrize("numbers", [[0, 0], [1, 1], [7, 7], [-3, -3]])
def test_two_rows_are_corners_of_one_system(session, numbers):
    """Whatever its number: a loop over parts of a batch has the same box in each."""
    points = np.float32([[1.1, 2, 2], [4.9, 2, 2]])
    corners = np.array([[1.0, 1, 1], [5, 5, 5]])
    known = {"batch": numbers, "box": corners}
    assert clfrnn.search(points, 0.3, method="brute_force", session=session, **known).num_pairs == 2
    assert reference.neighbors(points, 0.3, **known).offsets[-1] == 2
    assert clfrnn.search(points, 0.3, box=corners, method="brute_force", session=session).num_pairs == 2


#: Name -> numbers of systems, box, periodic, and the pairs.
BOXES = {
    "lengths of two": ([0, 5], [[4, 4], [7, 7]], None, 2),
    "corners of three": ([0, 1, 2], [[1, 1], [5, 5]], None, 6),
    "corners of two": ([0, 5], [[0, 0], [4, 4]], None, 4),
    "corners of each": ([0, 5], [[[1, 1], [5, 5]], [[1, 1], [8, 8]]], None, 2),
    "corners of each of one": ([3], [[[1, 1], [5, 5]]], None, 2),
    "a list of lengths and corners": ([0, 5], [[4, 4], [[1, 1], [8, 8]]], None, 2),
    "lengths of two, of which one axis repeats": ([0, 5], [[4, 0], [4, 0]], [True, False], 4),
    "lengths of two, of which each has its axes": ([0, 5], [[4, -7], [7, 4]], [[True, False], [True, True]], 2),
    "lengths of two, of which one repeats": ([0, 5], [[4, 4, 4], [-7, 0, 0]], [True, False], 2),
}


@pytest.mark.parametrize("name", sorted(BOXES))
def test_boxes_of_systems(session, name):
    """Each system has two points that are 0.2 apart through the edge of a box of length 4, and of no other box."""
    numbers, box, periodic, pairs = BOXES[name]
    points = np.tile(np.float32([[1.1, 2, 2], [4.9, 2, 2]]), (len(numbers), 1))[:, : 3 if "one repeats" in name else 2]
    known = {"batch": np.repeat(numbers, 2), "box": box, "periodic": periodic}
    assert clfrnn.search(points, 0.3, method="brute_force", session=session, **known).num_pairs == pairs
    if "list" not in name:
        assert reference.neighbors(points, 0.3, **known).offsets[-1] == pairs


def test_updates_to_another_batch(session, method):
    """Other numbers of points and systems, none included, in one box for all and in a box of each."""
    draw = np.random.default_rng(5)
    index = clfrnn.build_index(
        cloud(2, np.float32), RADIUS, method=method, session=session, batch=BATCH, box=[1.0, 1.1]
    )
    for n, many in ((30, 2), (0, 1), (N, 7), (12, 12)):
        points, batch = cloud(2, np.float32, n), 3 * draw.permutation(np.arange(n) % many)
        known = {"box": [1.0, 1.1], "batch": batch}
        index.update(points, batch=batch, box=[1.0, 1.1])
        assert_same(index.query(**FULL), reference.neighbors(points, RADIUS, **known))
        index.update(points + np.float32(0.5), batch=batch)
        assert_counts(index.count(), reference.neighbors(points + np.float32(0.5), RADIUS, **known))
        if n:
            known["box"] = draw.uniform(0.8, 1.5, (many, 2, 2)) * [[[0], [1]]]
            index.update(cla.to_device(session.queue, points), batch=batch, box=known["box"])
            assert_same(index.query(**FULL), reference.neighbors(points, RADIUS, **known))


UPDATES = {
    "no batch before": ({}, {"batch": [0, 1, 1]}, "batch: expected none, as there was none when it was built"),
    "another length": ({"batch": [0, 0, 1]}, {"batch": [0, 1]}, "points: expected 2 points.*pass batch"),
    "not of integers": ({"batch": [0, 0, 1]}, {"batch": [0.5] * 3}, "batch: expected an integer for each row"),
    "not a row": ({"batch": [0, 0, 1]}, {"batch": [[0, 0, 1]]}, r"batch: expected shape \(n,\)"),
    "a number without a box": (
        {"batch": [0, 0, 1], "box": [[1, 1], [2, 2]]},
        {"batch": [0, 1, 2]},
        "batch: expected numbers of systems that there were before, as their boxes differ, got 2; pass box",
    ),
    "a number without axes": (
        {"batch": [0, 0, 4], "box": [[1, 1], [2, 2]], "periodic": [[True, False], [True, True]]},
        {"batch": [0, 1, 2], "box": [[1, 1]] * 3},
        "batch: expected numbers of systems.*as their periodic axes differ, got 1; build anew",
    ),
}


@pytest.mark.parametrize("name", sorted(UPDATES))
def test_updates_that_are_refused(session, name):
    """The index has its old points."""
    known, given, message = UPDATES[name]
    points = np.float32([[0.1, 0.2], [0.3, 0.2], [0.3, 0.9]])
    index = clfrnn.build_index(points, 0.3, session=session, method="brute_force", **known)
    before = index.count().get()
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        index.update(points, **given)
    assert np.array_equal(index.count().get(), before)
