"""Clouds that are thinned to a point a voxel, against fractions."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS, as_gpu, takes_long_as_gpu

import clfrnn
from clfrnn.answers import voxels
from clfrnn.geometry import voxel_downsample

N = min(POINTS, 400)


def cells(points, size, origin):
    """The voxel of each coordinate, without rounding."""
    return [
        tuple(math.floor((Fraction(x) - Fraction(o)) / Fraction(size)) for x, o in zip(row, origin, strict=True))
        for row in points.tolist()
    ]


def twin(points, size, origin):
    """Which points lie in each voxel, in the order of first points."""
    members = {}
    for i, cell in enumerate(cells(points, size, origin)):
        members.setdefault(cell, []).append(i)
    return list(members.values())


def from_middle(point, size, origin):
    """The squared distance to the middle of its voxel, in sizes; 0 along an axis on which voxels hold one number."""
    total = 0.0
    for x, o in zip(point.tolist(), origin, strict=True):
        place = (Fraction(x) - Fraction(o)) / Fraction(size)
        if abs(Fraction(x) / Fraction(size)) < 2**53:
            total += float(place - math.floor(place) - Fraction(1, 2)) ** 2
    return total


def check(points, size, *, session, origin=None):
    """All three reductions against the twin; returns the number of voxels."""
    corner = [0.0] * points.shape[1] if origin is None else origin
    members = twin(points, size, corner)
    labels = np.full(len(points), -1)
    for k, rows in enumerate(members):
        labels[rows] = k
    for reduce in ("mean", "first", "nearest_to_center"):
        found = voxel_downsample(points, size, origin=origin, reduce=reduce, session=session)
        assert (found.counts.dtype, found.voxel_of.dtype, found.points.dtype) == ("int32", "int32", points.dtype)
        assert np.array_equal(found.voxel_of.get(), labels)
        assert np.array_equal(found.counts.get(), [len(rows) for rows in members])
        rows = found.points.get()
        if reduce == "first":
            assert np.array_equal(rows, points[[each[0] for each in members]].reshape(rows.shape))
        for row, each in zip(rows, members, strict=True):
            mine = points[each].astype(np.longdouble)
            if reduce == "mean":
                rounding = 4 * np.finfo(points.dtype).eps * np.abs(mine).max(axis=0)
                assert (np.abs(row - mine.mean(axis=0)) <= rounding).all()
            if reduce == "nearest_to_center":
                away = [from_middle(points[i], size, corner) for i in each]
                mine = [each[k] for k, square in enumerate(away) if square <= min(away) + 1e-12]
                assert (row == points[mine]).all(axis=1).any()
    return len(members)


def even(dim, dtype):
    return np.random.default_rng(dim).uniform(-1, 1, (N, dim)).astype(dtype)


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_every_reduction(session, dim, dtype):
    assert 1 < check(even(dim, dtype), 0.3, session=session) <= N
    check(even(dim, dtype), 0.3, session=session, origin=[0.1] * dim)


def test_edges_of_voxels(session, dtype):
    """Multiples of the size, and the numbers beside them, lie where real numbers do."""
    finite = dtype.type(np.finfo(dtype).max)
    for size, origin in ((0.1, 0.0), (0.1, 0.05), (0.3, -1e9), (1 / 3, 1e-17), (0.25, 0.125), (1e-3, 7.0)):
        edges = (np.arange(-60, 60) * size + math.fmod(origin, size)).astype(dtype)
        near = [edges, np.nextafter(edges, finite), np.nextafter(edges, -finite)]
        check(np.concatenate(near)[:, None], size, session=session, origin=[origin])
    few = voxel_downsample(np.array([[0.3], [3 * 0.1], [-0.0], [0.0]], dtype), 0.1, session=session)
    # As a float64 0.3 is below three times 0.1, and as a float32 above.
    assert few.voxel_of.get().tolist() == ([0, 1, 2, 2] if dtype == np.float64 else [0, 0, 1, 1])


def test_numbers_of_any_magnitude(session, dtype):
    """Voxels beyond 32 and 64 bits, and sizes near the ends of what numbers hold."""
    draw = np.random.default_rng(3)
    most = 37 if dtype == np.float32 else 300
    points = (draw.choice([-1, 1], (N, 2)) * 10.0 ** draw.uniform(-most, most, (N, 2))).astype(dtype)
    points[::3] = points[0]
    points[1::3, 0] = np.nextafter(points[0, 0], dtype.type(0))
    for size in (1e-300, 1e-3, 1.0, 1e8, 1e30, 1e300):
        check(points, size, session=session, origin=[1e30, -1e-30])
    far = 2.0 ** draw.integers(28, 56, (N, 1)) + draw.integers(0, 4, (N, 1))
    check(far.astype(dtype), 0.7, session=session)


def test_one_voxel_of_very_many_points(session):
    """Their mean is as good as that of few, and does not overflow."""
    points = np.full((5 * N, 2), 3e38, np.float32)
    points[::2] = 2e38
    found = voxel_downsample(points, 1e39, session=session)
    assert found.counts.get().tolist() == [5 * N]
    assert np.allclose(found.points.get(), 2.5e38, rtol=1e-6)
    again = voxel_downsample(points, 1e39, session=session)
    assert found.points.get().tobytes() == again.points.get().tobytes()


def test_as_on_a_gpu(session):
    if takes_long_as_gpu(session, "strips"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    check(even(3, np.float32), 0.3, session=as_gpu(session))


def test_points_on_the_device_and_none(session):
    points = even(3, np.float32)
    here = voxel_downsample(cla.to_device(session.queue, points), 0.5)
    assert np.array_equal(here.points.get(), voxel_downsample(points, 0.5, session=session).points.get())
    for n in (0, 1):
        for reduce in ("mean", "first", "nearest_to_center"):
            few = voxel_downsample(points[:n], 0.5, reduce=reduce, session=session)
            assert np.array_equal(few.points.get(), points[:n])
            assert (few.counts.get().tolist(), few.voxel_of.get().tolist()) == ([1] * n, [0] * n)


def test_a_device_without_float64_finds_the_same(session, monkeypatch):
    points = np.concatenate([even(3, np.float32), even(3, np.float32) * np.float32(1e30)])
    expected = voxel_downsample(points, 0.1, origin=[0.05, 0, 0], reduce="nearest_to_center", session=session)
    asked = []
    find = voxels.keys_on_host
    monkeypatch.setattr(voxels, "keys_on_host", lambda *given: asked.append(1) or find(*given))
    monkeypatch.setattr(session, "profile", dataclasses.replace(session.profile, fp64=False))
    found = voxel_downsample(points, 0.1, origin=[0.05, 0, 0], reduce="nearest_to_center", session=session)
    assert asked
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.get(), other.get())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"size": 0}, "size: expected a finite number above 0, got 0"),
        ({"size": -1.0}, "size: expected a finite number above 0, got -1.0"),
        ({"size": np.nan}, "size: expected a finite number above 0, got nan"),
        ({"size": np.inf}, "size: expected a finite number above 0, got inf"),
        ({"size": 1e-320}, "size: expected at least 2.2"),
        ({"origin": [0.0]}, "origin: expected 2 finite numbers"),
        ({"origin": [0.0, np.inf]}, "origin: expected 2 finite numbers"),
        ({"reduce": "median"}, "reduce: expected 'mean', 'first' or 'nearest_to_center', got 'median'"),
        ({"points": [[0.0, np.nan]]}, "points: expected finite numbers, got NaN or inf in row 0"),
    ],
)
def test_what_is_refused(given, says):
    arguments = {"points": [[0.0, 1.0]], "size": 1.0} | given
    arguments["points"] = np.array(arguments["points"], np.float32)
    with pytest.raises(clfrnn.InvalidInputError, match=says):
        voxel_downsample(**arguments)
