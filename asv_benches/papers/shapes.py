"""Stand-ins for a paper's scanned models, with normals: points on a knot, a gyroid and a tangle, or of other scans.

A made stand-in has as many points as its model, but neither its features nor its uneven density.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tools.scans import drawn, scan

__all__ = ["DIAGONAL", "SHAPES", "Cloud", "sampled"]

Array = np.ndarray[Any, Any]

#: The diagonal of the box around each shape. The paper's supports, 20 (L / n)^(1/2) and the like, depend on the unit of
#: length; with L = 100 they hold some tens of neighbors, as the paper's times suggest.
DIAGONAL = 100.0

#: How far points that are to be smoothed stand off the surface: a standard deviation, as a share of the diagonal.
NOISE = 3e-4

#: The radius of the tube whose middle is the knot.
TUBE = 0.4


class Cloud(NamedTuple):
    """Points and their normals, each (n, 3) float32."""

    points: Array
    normals: Array


#: A draw of about so many tries, some of which are taken.
Draw = Callable[[np.random.Generator, int], Cloud]


def sampled(shape: str, n: int, *, noise: float = 0.0, seed: int = 0) -> Cloud:
    """Draw n points that lie evenly on a shape, or on a scan of that name, in random order, and the normals there.

    Each point stands off the surface by normal noise with a standard deviation of `noise` of the diagonal. Points of a
    scan without triangles have the noise of the scanner, get no more of it, and their normals are NaN.
    """
    rng = np.random.default_rng(seed)
    points, normals = _tried(SHAPES[shape], n, rng) if shape in SHAPES else drawn(scan(shape), n, rng)
    points *= DIAGONAL / np.linalg.norm(np.ptp(points, axis=0))
    points += rng.normal(0, noise * DIAGONAL, (n, 1)) * np.nan_to_num(normals)
    return Cloud(points.astype(np.float32), normals.astype(np.float32))


def _tried(draw: Draw, n: int, rng: np.random.Generator) -> Cloud:
    """The first n points of as many draws as it takes."""
    parts, many = [], 0
    while many < n:
        parts.append(draw(rng, max(4 * (n - many), 1000)))
        many += len(parts[-1].points)
    return Cloud(*(np.concatenate(columns)[:n] for columns in zip(*parts, strict=True)))


def _knot(rng: np.random.Generator, tries: int) -> Cloud:
    """Points on a tube around the trefoil knot, some of those that were tried."""
    t, around = rng.uniform(0, 2 * np.pi, (2, tries))
    middle, along, bend = _trefoil(t)
    speed = np.linalg.norm(along, axis=1, keepdims=True)
    tangent = along / speed
    inward = bend - (bend * tangent).sum(axis=1, keepdims=True) * tangent
    curvature = np.linalg.norm(inward, axis=1) / speed[:, 0] ** 2
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    normals = np.cos(around)[:, None] * inward + np.sin(around)[:, None] * np.cross(tangent, inward)
    # The inside of a bend has less area than its outside.
    area = speed[:, 0] * (1 - curvature * TUBE * np.cos(around))
    taken = rng.random(tries) * _most_area() < area
    return Cloud((middle + TUBE * normals)[taken], normals[taken])


def _trefoil(t: Array) -> tuple[Array, Array, Array]:
    """The positions of the knot, and their first and second derivatives."""
    middle = (np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t))
    along = (np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t))
    bend = (-np.sin(t) - 8 * np.sin(2 * t), -np.cos(t) + 8 * np.cos(2 * t), 9 * np.sin(3 * t))
    return np.stack(middle, axis=1), np.stack(along, axis=1), np.stack(bend, axis=1)


@functools.cache
def _most_area() -> float:
    """The most area that a step along the knot and around the tube has, and a little more."""
    _, along, bend = _trefoil(np.linspace(0, 2 * np.pi, 1000))
    speed = np.linalg.norm(along, axis=1)
    curvature = np.linalg.norm(np.cross(along, bend), axis=1) / speed**3
    return float(1.01 * (speed * (1 + curvature * TUBE)).max())


def _implicit(function: Callable[[Array], tuple[Array, Array]], low: float, high: float, reach: float) -> Draw:
    """A draw of points where a function is 0: those of a thin layer around it, which fall onto the surface.

    The function gives its values and gradients at points from `low` to `high` along each axis; `reach` is half the
    layer's thickness. Normals look to where the values grow.
    """

    def draw(rng: np.random.Generator, tries: int) -> Cloud:
        points = rng.uniform(low, high, (tries, 3))
        values, gradients = function(points)
        points = points[np.abs(values) < reach * np.linalg.norm(gradients, axis=1)]
        for _ in range(4):
            values, gradients = function(points)
            points = points - (values / (gradients**2).sum(axis=1))[:, None] * gradients
        gradients = function(points)[1]
        return Cloud(points, gradients / np.linalg.norm(gradients, axis=1, keepdims=True))

    return draw


def _gyroid(points: Array) -> tuple[Array, Array]:
    """The sum of sin x cos y over all axes in turn, and its gradient; a sheet whose edges are those of the cube."""
    sines, cosines = np.sin(points), np.cos(points)
    ahead, behind = np.roll(cosines, -1, axis=1), np.roll(sines, 1, axis=1)
    return (sines * ahead).sum(axis=1), cosines * ahead - behind * sines


def _tangle(points: Array) -> tuple[Array, Array]:
    """The sum of x^4 - 5 x^2 over all axes, plus 11.8, and its gradient; closed, with holes along every axis."""
    return (points**4 - 5 * points**2).sum(axis=1) + 11.8, 4 * points**3 - 10 * points


#: Shapes by name.
SHAPES: dict[str, Draw] = {
    "knot": _knot,
    "gyroid": _implicit(_gyroid, 0.0, 2 * np.pi, 0.05),
    "tangle": _implicit(_tangle, -2.4, 2.4, 0.02),
}
