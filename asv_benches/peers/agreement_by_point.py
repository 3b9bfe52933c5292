"""Agreement of answers that are no pairs: rows of the nearest, labels of clusters, and normals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .agreement import ULPS, Agreement, distances
from .peer import Array

#: A normal may turn by this many roundings, times the largest variance over the difference of the two least ones.
ROUNDINGS = 128
#: A normal that roundings may turn by more than this is anybody's: the two least variances are equal.
FREE = 0.1


class Labels(NamedTuple):
    """What clfrnn found: a cluster for each point, negative for noise, and whether the point is core."""

    labels: Array
    core: Array


def compare_rows(points: Array, ours: Array, theirs: Array) -> Agreement:
    """Rows of the nearest are equal in their distances: of points equally far, to rounding, anyone may be named."""
    if theirs.shape != ours.shape or theirs.min(initial=0) < 0 or theirs.max(initial=0) >= len(points):
        return Agreement(points=len(points))
    mine, other = np.sort(ours, axis=1), np.sort(theirs, axis=1)
    differing = np.flatnonzero((mine != other).any(axis=1))
    mine, other = mine[differing], other[differing]
    near, far = (np.sort(distances(points, differing[:, None], rows), axis=1) for rows in (mine, other))
    apart = np.abs(near - far) > ULPS * np.spacing(near.astype(np.float32))
    wrong = int((apart.any(axis=1) | (other[:, 1:] == other[:, :-1]).any(axis=1)).sum())
    return Agreement(boundary=len(differing) - wrong, points=wrong)


def compare_labels(
    ours: Labels, within: tuple[Labels, Labels], theirs: Array, attached: Callable[[Array, Array], Array]
) -> Agreement:
    """Clusters are equal, but that the boundary may join or part them and that border points may choose.

    `within` is what clfrnn finds within a distance that is less by rounding, and within one that is more: clusters of
    the first lie in theirs, and theirs in those of the second. Points that are no core points of the first have the
    label of a core point within the distance: `attached` tells of which of these points that is so.
    """
    less, more = within
    noise = theirs < 0
    wrong = np.where(noise, less.labels >= 0, more.labels < 0)
    taken = less.core & ~noise
    wrong |= _parted(less.labels, theirs, taken) | _parted(theirs, more.labels, taken)
    border = np.flatnonzero(~noise & ~less.core & ~wrong)
    wrong[border] = ~attached(border, theirs)
    taken = ours.core & ~noise
    differing = noise != (ours.labels < 0)
    differing |= _parted(ours.labels, theirs, taken) | _parted(theirs, ours.labels, taken)
    return Agreement(boundary=int((differing & ~wrong).sum()), points=int(wrong.sum()))


def compare_normals(ours: Array, variances: Array, free: Array, theirs: Array) -> Agreement:
    """Normals are equal up to their sign and to rounding, but where they are `free`, or the least variance is none."""
    least, second, largest = variances.astype(np.float64).T
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = ROUNDINGS * np.finfo(np.float32).eps * largest / (second - least)
        apart = np.linalg.norm(np.cross(ours.astype(np.float64), theirs.astype(np.float64)), axis=1)
        differing = ~(apart <= np.fmin(allowed, FREE)) | ~(np.abs(np.linalg.norm(theirs, axis=1) - 1) < FREE)
        any_way = free | ~(allowed <= FREE) | ~np.isfinite(ours).all(axis=1)
    return Agreement(boundary=int((differing & any_way).sum()), points=int((differing & ~any_way).sum()))


def _parted(labels: Array, others: Array, taken: Array) -> Array:
    """Whether a taken point has another one of the other labels than the first taken point of its cluster."""
    found = np.zeros(len(labels), bool)
    _, first, which = np.unique(labels[taken], return_index=True, return_inverse=True)
    found[taken] = others[taken] != others[taken][first][which]
    return found
