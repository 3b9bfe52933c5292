"""The k nearest of a few queries by passes over all points, beside numpy."""

import numpy as np
import pytest

from clfrnn.answers.nearest.few_queries import fill_rows_of_few
from clfrnn.answers.nearest.rows import ShortRows
from clfrnn.config import INT
from clfrnn.results import Nearest


@pytest.mark.parametrize("n", [1, 256, 257, 70_000])
@pytest.mark.parametrize("of_points", [False, True])
def test_rows_of_few_queries(session, dtype, n, of_points):
    """Many points share each place, so that numbers decide, of one to three bytes."""
    draw, k, rows = np.random.default_rng(n), 40, np.arange(0, n, max(1, n // 3), dtype=INT)
    points = draw.integers(0, 4, (n, 2)).astype(dtype)
    queries = points[rows]
    on_device = [session.upload(array, purpose="a test") for array in (points, rows, queries)]
    found = Nearest(session.allocate((n, k), INT, purpose="a test"), session.allocate((n, k), dtype, purpose="a test"))
    fill_rows_of_few(session, on_device[0], ShortRows(*on_device[1:]), found, of_points=of_points)
    indices, distances = found.indices.get(), found.distances.get()
    for row, query in zip(rows, queries, strict=True):
        squares = ((points - query) ** 2).sum(axis=1)
        order = [j for j in np.lexsort((np.arange(n), squares)) if not (of_points and j == row)][:k]
        assert indices[row].tolist() == order + [-1] * (k - len(order))
        assert distances[row, : len(order)].tolist() == np.sqrt(squares[order]).tolist()
