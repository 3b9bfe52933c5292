"""Oriented normals of closed and open surfaces in several parts."""

import sys

import numpy as np
import pytest

import clfrnn
from clfrnn.geometry import normals, orient


def two_balls(dim, dtype, n=300):
    """Points of two balls of radius 1, and their true normals, in any order."""
    rng = np.random.default_rng(dim)
    true = rng.normal(size=(2 * n, dim))
    true /= np.linalg.norm(true, axis=1, keepdims=True)
    points = true + np.where(np.arange(2 * n) < n, 0, 5)[:, None]
    order = rng.permutation(2 * n)
    return points[order].astype(dtype), true[order].astype(dtype)


def test_normals_of_closed_surfaces_point_outside(session, dim, dtype):
    points, true = two_balls(dim, dtype)
    given = true * np.random.default_rng(0).choice([-1, 1], (len(true), 1)).astype(dtype)
    given[7] = np.nan
    given[8] *= 3
    found = orient(points, given, 0.6, session=session)
    assert found.dtype == dtype
    found, known = found.get(), np.arange(len(points)) != 7
    assert np.isnan(found[7]).all()
    assert ((found * true).sum(axis=1)[known] > 0).all()
    assert np.array_equal(np.abs(found), np.abs(given), equal_nan=True)


def faces(rectangles, per_unit):
    """Points of rectangles, each (corner, edge, edge, normal), with the normals of these faces."""
    points, true = [], []
    for corner, one, other, normal in np.array(rectangles, float):
        many = [max(1, round(per_unit * np.linalg.norm(edge))) for edge in (one, other)]
        steps = np.stack(np.meshgrid(*[(np.arange(k) + 0.5) / k for k in many]), axis=-1).reshape(-1, 2)
        points.append(corner + steps @ [one, other])
        true.append(np.tile(normal, (len(steps), 1)))
    return np.concatenate(points), np.concatenate(true)


def block(outline, parts, depth=1.0):
    """The faces of an outline in x and z, counterclockwise, along y; `parts` are the rectangles of its two ends."""
    found = []
    for (x0, z0), (x1, z1) in zip(outline, [*outline[1:], outline[0]], strict=True):
        along = np.array([x1 - x0, z1 - z0]) / np.hypot(x1 - x0, z1 - z0)
        found.append(((x0, 0, z0), (x1 - x0, 0, z1 - z0), (0, depth, 0), (along[1], 0, -along[0])))
    for x0, z0, x1, z1 in parts:
        found += [((x0, y, z0), (x1 - x0, 0, 0), (0, 0, z1 - z0), (0, side, 0)) for y, side in ((0, -1), (depth, 1))]
    return found


CUBE = block([(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 0, 1, 1)])
SOLIDS = {
    "cube": CUBE,
    "wall": block([(0, 0), (3, 0), (3, 2), (0, 2)], [(0, 0, 3, 2)], depth=0.3),
    "L": block([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], [(0, 0, 2, 1), (0, 1, 1, 2)]),
    "U": block(
        [(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)], [(0, 0, 3, 1), (0, 1, 1, 2), (2, 1, 3, 2)]
    ),
    "stairs": block(
        [(0, 0), (3, 0), (3, 1), (2, 1), (2, 2), (1, 2), (1, 3), (0, 3)], [(0, 0, 3, 1), (0, 1, 2, 2), (0, 2, 1, 3)]
    ),
    "roof": block([(0, 0), (2, 0), (2, 1), (1, 2), (0, 1)], [(0, 0, 2, 1)]),
    "two cubes": [*CUBE, *(((x + 1.15, y, z), *rest) for (x, y, z), *rest in CUBE)],
}
TILT = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]


@pytest.mark.parametrize("turned", [False, True], ids=["upright", "tilted"])
@pytest.mark.parametrize("name", SOLIDS)
def test_normals_pass_edges_of_right_angles(session, name, turned):
    """In any order of points, of which many are the highest, on faces that look up and to the side."""
    points, true = faces(SOLIDS[name], 10)
    if turned:
        points, true = points @ TILT, true @ TILT
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(points))
        given = (true * rng.choice([-1.0, 1.0], (len(true), 1)))[order]
        found = orient(points[order], given, 0.22, session=session).get()
        assert ((found * true[order]).sum(axis=1) > 0).all()


@pytest.mark.parametrize("first", ["side", "caps"])
def test_the_side_of_a_tin_does_not_decide(session, first):
    """The highest points are on the side, with level normals, on the rim and on the cap."""
    angle, heights = np.linspace(0, 2 * np.pi, 60, endpoint=False), np.linspace(0, 1, 11)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    side = [(*p, z, *p, 0.0) for z in heights for p in around]
    caps = [(*(q * p), z, 0.0, 0.0, 2 * z - 1) for z in (0.0, 1.0) for q in np.linspace(0.05, 0.97, 11) for p in around]
    rows = np.array(side + caps if first == "side" else caps + side)
    points, true = rows[:, :3], rows[:, 3:]
    for seed in range(3):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (len(rows), 1))
        assert np.array_equal(orient(points, true * signs, 0.16, session=session).get(), true)


def test_open_tubes_and_upright_planes(session):
    """Level normals: those of a tube point away from its middle, and those of a plane to one side."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    tube = np.array([(np.cos(a), np.sin(a), z) for z in np.linspace(0, 2, 21) for a in angle])
    given = tube * [1, 1, 0] * np.random.default_rng(0).choice([-1.0, 1.0], (len(tube), 1))
    assert np.allclose(orient(tube, given, 0.16, session=session).get(), tube * [1, 1, 0])
    plane = tube * [1, 0, 1]
    found = orient(plane, [0.0, 1.0, 0.0] * given[:, :1] / np.abs(given[:, :1]), 0.16, session=session).get()
    assert (found[:, 1] == found[0, 1]).all()


def test_normals_that_were_found(session):
    points, true = two_balls(3, np.float32)
    found = orient(points, normals(points, 0.6, session=session).normals, 0.6, session=session).get()
    assert ((found * true).sum(axis=1) > 0.8).all()


def test_a_long_wave_keeps_its_side(session):
    """Signs go along thousands of points, one by one."""
    x = np.linspace(0, 60, 6001)
    points = np.stack([x, np.sin(x)], axis=1)
    true = np.stack([-np.cos(x), np.ones_like(x)], axis=1)
    given = true * np.random.default_rng(0).choice([-1.0, 1.0], (len(x), 1))
    assert np.array_equal(orient(points, given, 0.03, session=session).get(), true)


def test_few_points_and_bad_arguments(session, monkeypatch):
    assert orient(np.empty((0, 3)), np.empty((0, 3)), 1.0, session=session).shape == (0, 3)
    alone = orient([[0.0, 0.0], [9.0, 0.0]], [[1.0, -1.0], [np.nan, 0.0]], 1.0, session=session).get()
    assert np.array_equal(alone, [[-1.0, 1.0], [np.nan, 0.0]], equal_nan=True)
    with pytest.raises(clfrnn.InvalidInputError, match="normals: expected shape"):
        orient(np.zeros((3, 3)), np.zeros((2, 3)), 1.0, session=session)
    monkeypatch.setitem(sys.modules, "scipy.sparse.csgraph", None)
    with pytest.raises(clfrnn.ClfrnnError, match=r"orient needs scipy.*clfrnn\[geometry\]"):
        orient(np.zeros((3, 3)), np.zeros((3, 3)), 1.0, session=session)
