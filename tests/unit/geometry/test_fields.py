"""Distance fields against numpy."""

import numpy as np
import pytest

import clfrnn
from clfrnn.geometry import distance_field, fields


def twin(points, normals, nodes, radius):
    """The field by numpy, in the points' dtype and with the same roundings; one row of nodes by one."""
    values = np.full(len(nodes), np.nan, points.dtype)
    reach = points.dtype.type(radius) * points.dtype.type(radius)
    for k, node in enumerate(nodes):
        dx = points - node
        squares = dx[:, 0] * dx[:, 0]
        along = dx[:, 0] * normals[:, 0]
        for axis in range(1, points.shape[1]):
            squares = squares + dx[:, axis] * dx[:, axis]
            along = along + dx[:, axis] * normals[:, axis]
        j = int(np.argmin(squares))
        if squares[j] <= reach and not np.isnan(along[j]):
            values[k] = np.sqrt(squares[j]) * (-1 if along[j] > 0 else 1)
    return values


def nodes_of(field, dtype):
    axes = [
        start + field.spacing * np.arange(size) for start, size in zip(field.origin, field.values.shape, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).astype(dtype).reshape(-1, len(axes))


@pytest.mark.parametrize("at_once", [2**22, 100])
def test_a_field_is_what_numpy_computes(session, dim, dtype, at_once, monkeypatch):
    """To the bit; points on a lattice are as far as others from many nodes."""
    monkeypatch.setattr(fields, "_NODES_AT_ONCE", at_once)
    rng = np.random.default_rng(dim)
    points = (rng.integers(0, 9, (60, dim)) / 8 + rng.choice([0, 0.03], (60, 1))).astype(dtype)
    normals = rng.normal(size=points.shape).astype(dtype)
    normals[::10] = np.nan
    field = distance_field(points, normals, spacing=0.125, radius=0.25, session=session)
    assert np.array_equal(field.origin, points.min(axis=0).astype(float) - 0.25)
    nodes = nodes_of(field, dtype)
    assert (nodes.reshape(*field.values.shape, dim)[(-1,) * dim] >= points.max(axis=0) + 0.25 - 1e-6).all()
    expected = twin(points, normals, nodes, 0.25)
    assert 0 < np.isnan(expected).sum() < len(expected)
    assert np.array_equal(field.values.get().ravel(), expected, equal_nan=True)


def test_bounds_give_as_many_nodes_as_they_say(session):
    points = np.random.default_rng(0).random((20, 3), dtype=np.float32)
    field = distance_field(points, points, spacing=1 / 10, radius=0.2, bounds=[[0, 0, 0], [1, 0.7, 0]], session=session)
    assert field.values.shape == (11, 8, 1)
    assert field.spacing == 0.1
    empty = distance_field(points[:0], points[:0], spacing=0.5, radius=0.2, bounds=[[0] * 3, [1] * 3], session=session)
    assert np.isnan(empty.values.get()).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spacing": 0}, "spacing: expected a finite number above 0, got 0"),
        ({"spacing": 1e-12}, "spacing: expected at most"),
        ({"bounds": [0, 1]}, "bounds: expected two corners of 3 finite numbers"),
        ({"bounds": [[1, 1, 1], [0, 2, 2]]}, "bounds: expected two corners of 3 finite numbers"),
        ({"normals": np.zeros((3, 3))}, r"normals: expected shape \(4, 3\), a vector for each point, got \(3, 3\)"),
        ({"normals": "up"}, "normals: expected shape .* got str 'up'"),
        ({"points": np.zeros((0, 3)), "normals": np.zeros((0, 3))}, "bounds: expected corners for the grid of a cloud"),
        ({"radius": -1}, "radius: expected"),
    ],
)
def test_bad_arguments(session, change, message):
    cloud = np.zeros((4, 3), np.float32)
    given = {"points": cloud, "normals": cloud, "spacing": 0.5, "radius": 1.0} | change
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        distance_field(**given, session=session)
