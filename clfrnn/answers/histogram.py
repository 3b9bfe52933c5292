"""Histograms: how many pairs of queries and points lie in each bin of distances, and their weights; without a list."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import INT, LONG
from ..errors import PrecisionWarning
from ..host.warning import warn
from ..methods.request import QueryRequest
from ..methods.traversal import Traversal
from ..primitives.column_sums import sum_columns, sum_weighted_columns
from ..primitives.fill import fill
from ..runtime.rendering import histogram_function
from ..runtime.scratch import Scratch

__all__ = ["Bins", "Weights", "count_pairs"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bins:
    """Bins by squared edges, in the dtype of points, and along a line of sight by those of another axis."""

    squares: npt.NDArray[np.floating[Any]]
    pi_squares: npt.NDArray[np.floating[Any]] | None
    #: the axis of the line of sight
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins, and of those along the line of sight."""
        first = len(self.squares) - 1
        return (first,) if self.pi_squares is None else (first, len(self.pi_squares) - 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weights:
    """The finite weights of points, (n,), and of queries, (m,)."""

    of_points: npt.NDArray[np.float64]
    of_queries: npt.NDArray[np.float64]


#: Weights of at least this number of units have six digits.
_DIGITS = 1e6


class _Words:
    """Weights of points as whole numbers in two words, so that sums of these do not depend on their order.

    The first counts in units of 2 ** -bits of the largest weight, the second in units of 2 ** -bits of that. As many as
    `most` of them can be added without an overflow.
    """

    def __init__(self, weights: npt.NDArray[np.float64], most: float) -> None:
        bits = max(8, min(50, 61 - math.ceil(math.log2(max(2.0, most)))))
        self.exponent = int(np.frexp(np.abs(weights).max(initial=0.0))[1]) - bits
        first = np.rint(scaled := np.ldexp(weights, -self.exponent))
        self.unit = 2.0**-bits
        self.words = np.stack([first, np.rint((scaled - first) / self.unit)], axis=1).astype(LONG)
        smallest = float(np.abs(weights[weights != 0]).min(initial=math.inf))
        if np.ldexp(smallest, -self.exponent) < self.unit * _DIGITS:
            warn(
                f"weights: the smallest, {smallest:.3g}, is {np.abs(weights).max() / smallest:.1g} times less than the "
                "largest, and sums of such weights are rounded to fewer than six digits; count those of each magnitude "
                "by themselves",
                PrecisionWarning,
            )


def count_pairs(
    traversal: Traversal, request: QueryRequest, bins: Bins, weights: Weights | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]:
    """The number of pairs in each bin, and the sums of products of their weights, of the shape of the bins.

    The queries are visited in ranges whose rows of counts fit the memory that is set apart for them. Waits.
    """
    session, numbers, columns = traversal.session, traversal.session.tuning.queries, math.prod(bins.shape)
    # Each pair has the same distance from both ends, and no point has an image of its own among its neighbors.
    ahead = request.queries is None and request.where is None and not traversal.problem.repeats
    function = histogram_function(
        bins=bins.shape[0],
        pi_bins=bins.shape[1] if bins.pi_squares is not None else 0,
        axis=bins.axis,
        dim=traversal.dim,
        from_zero=bool(bins.squares[0] == 0) and bins.shape[0] > 1,
        weighted=weights is not None,
        most_edges=numbers.counted_edges,
        ahead=ahead and traversal.structure.looks_ahead,
    )
    # The walk then meets one point of each pair by itself, another one than the condition of half would leave.
    visited = request._replace(half=False) if function.ahead else request
    edges = session.upload(bins.squares, purpose="the squared edges")
    along = [] if bins.pi_squares is None else [session.upload(bins.pi_squares, purpose="the squared edges")]
    most = traversal.num_points * max(1.0, traversal.problem.domain.most_images(traversal.radius))
    words = None if weights is None else _Words(weights.of_points, most)
    summed = [] if words is None else [session.upload(words.words, purpose="the weights of points")]
    counts, products = np.zeros(columns, np.int64), np.zeros(columns)
    rows = max(1, min(request.m, numbers.histogram_bytes // (columns * (4 if words is None else 20))))
    for first in range(0, request.m, rows):
        end = min(request.m, first + rows)
        part = visited if rows >= request.m else traversal.structure.part_of(visited, first, end)
        table = session.scratch((end - first) * columns, INT, purpose="the histograms of queries")
        sums = [] if words is None else [session.scratch(2 * table.size, LONG, purpose="the sums of weights")]
        if not function.edges:  # adds to what is there
            fill(session, table)
            for each in sums:
                fill(session, Scratch(each.base_data, 2 * each.size, INT))
        traversal.run(function, part, [edges, table, np.int32(first), *along, *summed, *sums])
        counts += sum_columns(session, table, columns)
        if weights is not None and words is not None:
            products += _of_rows(traversal, sums[0], columns, words, weights.of_queries[first:end])
    traversal.checks.settle()
    if function.ahead:
        counts = _of_all(counts, request, bins)
    return counts.reshape(bins.shape), None if weights is None else products.reshape(bins.shape)


def _of_all(counts: npt.NDArray[np.int64], request: QueryRequest, bins: Bins) -> npt.NDArray[np.int64]:
    """The counts that are asked for, by those of one point of each pair."""
    found = counts if request.half else 2 * counts
    if request.include_self and bins.squares[0] == 0:
        found[0] += request.m
    return found


def _of_rows(
    traversal: Traversal, sums: Any, columns: int, words: _Words, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The products of the weights of queries and of the sums of their rows, all added up."""
    exponent = int(np.frexp(np.abs(weights).max(initial=0.0))[1])
    found = sum_weighted_columns(traversal.session, sums, columns, words.unit, np.ldexp(weights, -exponent))
    return np.ldexp(found, words.exponent + exponent)
