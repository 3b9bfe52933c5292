"""Covariances: the pieces of functions that add up how the points of a ball spread, and find the directions of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["JACOBI", "Spread", "falloff", "spread", "unit_of"]

#: The eigenvalues and eigenvectors of a small symmetric matrix; takes the dimension by %.
JACOBI = """
#define DIM %d

// Turns the symmetric matrix a into a diagonal one by rotations, whose product is v. Four rounds suffice for doubles.
void clfrnn_jacobi(real *a, real *v)
{
    for (int round = 0; round < 6; ++round)
#pragma unroll
        for (int p = 0; p < DIM - 1; ++p)
#pragma unroll
            for (int q = p + 1; q < DIM; ++q) {
                const real off = a[p * DIM + q];
                if (off == 0) continue;
                const real slope = (a[q * DIM + q] - a[p * DIM + p]) / (2 * off);
                const real t = copysign((real)1, slope) / (fabs(slope) + sqrt(slope * slope + 1));
                const real c = 1 / sqrt(t * t + 1), s = t * c;
                a[p * DIM + p] -= t * off;
                a[q * DIM + q] += t * off;
                a[p * DIM + q] = a[q * DIM + p] = 0;
#pragma unroll
                for (int k = 0; k < DIM; ++k) {
                    if (k != p && k != q) {
                        const real one = a[k * DIM + p], other = a[k * DIM + q];
                        a[k * DIM + p] = a[p * DIM + k] = c * one - s * other;
                        a[k * DIM + q] = a[q * DIM + k] = s * one + c * other;
                    }
                    const real first = v[k * DIM + p], second = v[k * DIM + q];
                    v[k * DIM + p] = c * first - s * second;
                    v[k * DIM + q] = s * first + c * second;
                }
            }
}
"""


class Spread(NamedTuple):
    """Code that adds up the vectors to the neighbors of a point, and the products of their coordinates.

    Vectors are ``dx * unit``, with the argument ``unit`` of :func:`unit_of`, so that no product overflows.
    """

    #: declares ``sums[DIM]`` and ``products[DIM * DIM]``, which begin with 0
    state: str
    #: adds a neighbor
    add: str
    #: copies the upper half of ``products``, which is added up, to the lower one
    mirror: str


def spread(dim: int, weight: str = "") -> Spread:
    """The code for points of `dim` coordinates; each counts as often as `weight` says, an expression, or once."""
    lanes = [f"way.s{k}" for k in range(dim)]
    factor = f"{weight} * " if weight else ""
    sums = "".join(f" sums[{k}] += {factor}{lane};" for k, lane in enumerate(lanes))
    products = "".join(
        f" products[{p * dim + q}] += {factor}{lanes[p]} * {lanes[q]};" for p in range(dim) for q in range(p, dim)
    )
    mirrored = "".join(
        f"products[{q * dim + p}] = products[{p * dim + q}]; " for p in range(dim) for q in range(p + 1, dim)
    )
    zeros = f"sums[DIM] = {{{', '.join(['0'] * dim)}}}, products[DIM * DIM] = {{{', '.join(['0'] * dim * dim)}}}"
    return Spread(f"real {zeros};", f" const real_vec way = dx * unit;{sums}{products}", mirrored)


def unit_of(radius: float, dtype: np.dtype[Any]) -> float:
    """The power of two by which vectors within `radius` become at most 1 long, as far as `dtype` has it."""
    return math.ldexp(1.0, min(-math.frexp(radius)[1], int(np.finfo(dtype).maxexp) - 2))


def falloff(factor: float, radius: float, dtype: np.dtype[Any]) -> float:
    """``-factor / radius^2``, the scale of squared distances in weights ``exp(scale * d2)``; finite in `dtype`."""
    largest = float(np.finfo(dtype).max)
    return -factor / max(radius * radius, factor / largest)
