"""MovingParts: after any walk the bits of a search of the whole; parts that nothing has touched stay."""

import numpy as np
import pytest
from conftest import FULL, assert_same, before_allocations, own_session

import clfrnn
from clfrnn import clouds, parts

RADIUS = 0.11
BOX = {"box": (1.0, 1.0, 1.0)}
CELL = {"cell": ((1.0, 0.0, 0.0), (0.3, 1.0, 0.0), (0.0, -0.2, 0.9))}


def walk(rng, points, step):
    """The next points: adjacent floats, steps of any length up to that of the cloud, and at times other numbers."""
    moved = points.copy()
    some = rng.random(len(points)) < (0.02, 0.3, 1.0)[step % 3]
    moved[some] += (
        rng.normal(size=(int(some.sum()), points.shape[1])).astype(points.dtype) * (0.001, 0.05, 0.3)[step % 3]
    )
    moved[::17] = np.nextafter(moved[::17], points.dtype.type(np.inf))
    if step == 3:
        return np.concatenate([moved[40:], points[:11] + points.dtype.type(RADIUS)])
    if step == 4:
        return (moved + 40).astype(points.dtype)  # beyond what the reach of the boxes was made for
    return moved


def assert_as_one(moving, points, session, **domain):
    for asked in (FULL, {**FULL, "half": True}, {**FULL, "include_self": True}):
        expected = clfrnn.search(points, RADIUS, session=session, **asked, **domain)
        assert_same(parts.join(moving.query(**asked)), expected)
    expected = clfrnn.build_index(points, RADIUS, session=session, **domain).count(to_host=True)
    assert np.array_equal(moving.count(), expected)
    assert np.array_equal(moving.count(include_self=True) > 0, np.ones(len(points), bool))
    for given in ({"vectors": True}, {"include_self": True}):
        found = moving.nearest(3, **given)
        expected = clfrnn.nearest(points, 3, radius=RADIUS, session=session, **given, **domain).to_host()
        for mine, wanted in zip(found, expected, strict=True):
            assert np.array_equal(mine, wanted)


@pytest.mark.parametrize("domain", [{}, BOX, CELL], ids=["open", "box", "cell"])
@pytest.mark.parametrize("many", [1, 3, 7])
def test_after_any_walk_the_answers_are_those_of_the_whole(session, domain, many):
    rng = np.random.default_rng(many)
    points = clouds.edges(300, 3, seed=many, radius=RADIUS, sides=(RADIUS,) * 3)
    moving = parts.MovingParts(points, RADIUS, sessions=[session], parts=many, **domain)
    assert_as_one(moving, points, session, **domain)
    for step in range(6):
        points = walk(rng, points, step)
        moving.update(points)
        assert moving.num_points == len(points)
        assert_as_one(moving, points, session, **domain)


def test_parts_that_no_point_has_touched_are_kept(session):
    points = np.linspace(0, 1, 400, dtype=np.float32).reshape(-1, 1)
    moving = parts.MovingParts(points, 0.01, sessions=[session, own_session(session)], parts=4)
    moving.count()
    owned = [part.owned for part in moving.parts]
    points[10] += np.float32(0.001)
    moving.update(points)
    assert moving.last_update == ("updated", "same", "same", "same")
    points[10] = 0.6
    moving.update(points)
    assert moving.last_update == ("updated", "same", "updated", "same")
    assert 10 in moving.parts[2].owned
    assert np.array_equal(moving.parts[2].owned[1:], owned[2])
    moving.update(points)
    assert moving.last_update == ("same",) * 4
    points[:] = np.linspace(3, 4, 400).reshape(-1, 1)
    moving.update(points)  # all would be in the last box
    assert moving.last_update == ("built",) * 4
    assert [len(part.owned) for part in moving.parts] == [100] * 4
    assert np.array_equal(moving.count(), clfrnn.build_index(points, 0.01, session=session).count(to_host=True))


def test_signs_of_zeros_are_those_of_the_points(session):
    points = np.zeros((3, 1), np.float32)
    moving = parts.MovingParts(points, 1.0, sessions=[session], parts=2)
    moving.count()
    points[1] = -0.0
    moving.update(points)
    found = parts.join(moving.query(sort="index", vectors=True))
    expected = clfrnn.search(points, 1.0, session=session, sort="index", vectors=True, to_host=True)
    assert np.array_equal(np.signbit(found.vectors), np.signbit(expected.vectors))


def test_what_fails_leaves_the_old_points(session):
    points = clouds.edges(200, 3, seed=5, radius=RADIUS, sides=(RADIUS,) * 3)
    moving = parts.MovingParts(points, RADIUS, sessions=[session], parts=3)
    moving.count()
    wrong = points.copy()
    wrong[7] = np.nan
    for bad, said in ((wrong, "row 7 with"), (points[:, :2], "3 float32"), (points.astype(np.float64), "float64")):
        with pytest.raises(clfrnn.InvalidInputError, match=said) as caught:
            moving.update(bad)
        assert caught.value.argument == "points"
    moves = [0]

    def refused(owner, size, purpose):
        moves[0] += 1
        if moves[0] > 3:
            raise clfrnn.DeviceMemoryError("no more")

    with before_allocations(refused), pytest.raises(clfrnn.DeviceMemoryError, match="no more"):
        moving.update(points[:150])
    assert_as_one(moving, points, session)


def test_lists_of_a_part_fit_a_budget(session):
    points = clouds.uniform(20_000, 2, seed=1)
    moving = parts.MovingParts(points, 0.02, sessions=[session], max_bytes=3 << 20)
    lists = list(moving.query(sort="index"))
    assert len(lists) > len(moving.parts) > 1
    assert_same(parts.join(lists), clfrnn.search(points, 0.02, session=session, sort="index"))


def test_lists_are_of_the_points_of_the_call(session):
    points = clouds.uniform(300, 2, seed=1)
    moving = parts.MovingParts(points, 0.1, sessions=[session], parts=4)
    lists = moving.query()
    next(lists)
    moving.update(points[::-1])
    with pytest.raises(clfrnn.InvalidInputError, match="take all lists before"):
        list(lists)
    with pytest.raises(clfrnn.InvalidInputError, match="sort"):
        moving.query(sort="id")
    with pytest.raises(TypeError, match="pickle the points"):
        moving.__reduce__()
    with pytest.raises(TypeError, match="MovingParts"):
        parts.MovingParts(points, 0.1, skin=0.1)
