"""Heights of points in a cell, compared with numpy to the last bit."""

import numpy as np
import pytest

from clfrnn.arrays import REAL_OF
from clfrnn.domain.lattice import periodic_cell
from clfrnn.methods.domain_tables.image_table import ImageTable


@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_heights(session, dim, dtype, n):
    rows = np.random.default_rng(dim).normal(size=(dim, dim)).astype(dtype)
    cell = periodic_cell(tuple(map(tuple, rows.tolist())), REAL_OF[dtype])
    points = np.random.default_rng(n).normal(scale=100, size=(n, dim)).astype(dtype)

    found = ImageTable(session, cell, points.dtype).heights(session.upload(points, purpose="points")).get()

    normals = np.array(cell.normals, dtype)
    expected = normals[:, 0] * points[:, :1] + normals[:, 1] * points[:, 1:2]
    if dim == 3:
        expected = expected + normals[:, 2] * points[:, 2:]
    assert np.array_equal(found, expected)
