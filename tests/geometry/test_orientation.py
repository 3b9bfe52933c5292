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
