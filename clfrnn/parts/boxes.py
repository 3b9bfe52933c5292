"""Boxes: a space divided by recursive bisection of a sample of its points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.numbers import real_array, shown
from .axes import Axes, Domain
from .rows import as_rows, at_least_one, real_of, survey

__all__ = ["Boxes", "bisect", "check_boxes", "split"]

#: (parts, 2, dim) float64: the low and the high corner of each box.
Boxes = npt.NDArray[np.float64]

#: Share of the sample at each end of an axis that its spread leaves out, so that a stray does not choose the axis.
_TAIL = 1 / 16

#: Points of a sample by which the axis of a cut is chosen.
_FEW = 4096


def split(
    sample: Any,
    parts: int,
    *,
    weights: Any = None,
    box: Any = None,
    cell: Any = None,
    periodic: Any = None,
) -> Boxes:
    """Divide space into boxes that hold about equal shares of a sample of points.

    Parameters
    ----------
    sample : (s, dim) float32 or float64, finite: some of the points, or all of them
    parts : number of boxes, at least 1; it may exceed that of the points, and some boxes are then empty
    weights : (s,) the work that each point of the sample stands for, in any unit; equal by default
    box, cell, periodic : the domain of the points, as for :func:`clfrnn.search`

    Returns
    -------
    (parts, 2, dim) float64, the low and the high corner of each box, in the points' unit. A point belongs to a box
    where ``low <= x < high`` on every axis; the boxes are disjoint and together hold every point, so that outer corners
    are infinite. On a periodic axis, `x` is the image of the point in the box of the domain. In a `cell`, `x` are
    distances along the normals of its faces, from the origin, of the image in the cell.

    Raises
    ------
    InvalidInputError
        A number is NaN or infinite, or an argument has a wrong shape; the message says which one.

    Notes
    -----
    The sample is halved at the median of the axis along which it spreads most, and each half again. Where coordinates
    are equal, halves are as even as they allow, on the axis where they allow most. Cost: log2(parts) sorts.

    Source: Berger and Bokhari (1987), recursive coordinate bisection.

    Examples
    --------
    >>> from clfrnn.parts import split
    >>> split([[0.0], [1.0], [2.0], [3.0]], 2).tolist()
    [[[-inf], [2.0]], [[2.0], [inf]]]
    """
    rows = as_rows(sample, "sample")
    many = at_least_one("parts", parts, "the number of boxes")
    survey(rows, "sample")
    axes = Axes.of((box, cell, periodic), int(rows.shape[1]), real_of(rows))
    load = np.ones(len(rows)) if weights is None else real_array(weights)
    if load is None or load.shape != (len(rows),) or not ((load >= 0) & np.isfinite(load)).all():
        raise InvalidInputError(
            f"expected {len(rows)} finite numbers of at least 0, one for each point of the sample, got "
            f"{shown(weights)}; leave them out for equal ones",
            argument="weights",
        )
    return bisect(axes.places(np.asarray(rows)), load, many)


def bisect(places: npt.NDArray[np.float64], load: npt.NDArray[np.float64], parts: int) -> Boxes:
    """Boxes of about equal load, by where a sample lies along the axes."""
    dim = places.shape[1]
    found: list[npt.NDArray[np.float64]] = []
    # Boxes that are still to be divided, with the sample in each and the number of parts that it becomes. The first
    # half is taken first, so that the boxes of each half follow each other.
    left = [(np.arange(len(places)), np.array([[-np.inf] * dim, [np.inf] * dim]), parts)]
    while left:
        inside, box, many = left.pop()
        if many == 1:
            found.append(box)
            continue
        axis, cut = _cut(places[inside], load[inside], (many // 2) / many, box)
        below, above = box.copy(), box.copy()
        below[1, axis] = above[0, axis] = cut
        is_below = places[inside, axis] < cut
        left.append((inside[~is_below], above, many - many // 2))
        left.append((inside[is_below], below, many // 2))
    return np.stack(found)


def _cut(
    places: npt.NDArray[np.float64], load: npt.NDArray[np.float64], share: float, box: npt.NDArray[np.float64]
) -> tuple[int, float]:
    """The axis and the coordinate by which about that `share` of the load lies below."""
    if not len(places):
        return 0, _within(box[:, 0])
    few = places[:: max(1, len(places) // _FEW)]  # which tell how far all of them spread
    tail = int(len(few) * _TAIL)
    ordered = np.sort(few, axis=0)
    with np.errstate(over="ignore"):
        spread = ordered[len(few) - 1 - tail] - ordered[tail]
        whole = places.max(axis=0) - places.min(axis=0)
    best = (np.inf, 0, float(places[:, 0].min()))
    for axis in np.lexsort((-whole, -spread)).tolist():
        imbalance, cut = _cut_along(places[:, axis], load, share)
        best = min(best, (imbalance, axis, cut), key=lambda each: each[0])
        if imbalance <= _TAIL:
            break
    return best[1], best[2]


def _cut_along(x: npt.NDArray[np.float64], load: npt.NDArray[np.float64], share: float) -> tuple[float, float]:
    """How far the share below the best cut is from `share`, and that cut: one of the coordinates."""
    order = np.argsort(x)
    x = x[order]
    total = float(load.sum())
    weights = load[order] / total if total > 0 else np.full(len(x), 1 / len(x))
    first = np.flatnonzero(np.concatenate([[True], x[1:] > x[:-1]]))  # of equal coordinates
    below = np.concatenate([[0.0], np.cumsum(weights)])[first]
    k = int(np.argmin(np.abs(below - share)))
    return abs(float(below[k]) - share), float(x[first[k]])


def _within(ends: npt.NDArray[np.float64]) -> float:
    """A coordinate of an interval without points."""
    low, high = float(ends[0]), float(ends[1])
    if np.isinf(low):
        return high if np.isfinite(high) else 0.0
    return low


def check_boxes(boxes: Any, dim: int) -> Boxes:
    """Boxes of a caller, or raise."""
    given = real_array(boxes)
    if given is None or given.ndim != 3 or given.shape[1:] != (2, dim) or np.isnan(given).any() or not len(given):
        raise InvalidInputError(
            f"expected the low and the high corner of each box, shape (parts, 2, {dim}), got {shown(boxes)}; pass what "
            "split() gives",
            argument="boxes",
        )
    return given


def domain_axes(domain: Domain, points: Any) -> Axes:
    """The axes along which an array of points is divided."""
    return Axes.of(domain, int(points.shape[1]), real_of(points))
