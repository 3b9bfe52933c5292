"""Heights: where the polynomial of degree 2 that lies best through the points of a ball has the ball's middle."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ..functions import NeighborFunction

__all__ = ["ARGUMENTS", "fitted_height"]

#: What the function takes, and another that moves points along normals, which has them written to `across`.
ARGUMENTS = "global const real *points, global real *moved, const real unit, const real scale"

#: Exponents of the monomials of a polynomial in one and in two variables; the constant is the last one.
_MONOMIALS: Mapping[int, list[tuple[int, ...]]] = {
    2: [(2,), (1,), (0,)],
    3: [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)],
}

#: Two directions of the plane, or one of the line, that `normal` stands on.
_TANGENTS = {
    2: "const real_vec first = (real_vec)(-normal.s1, normal.s0);",
    3: """
const real sign = copysign((real)1, normal.s2), part = -1 / (sign + normal.s2), twist = normal.s0 * normal.s1 * part;
const real_vec first = (real_vec)(1 + sign * normal.s0 * normal.s0 * part, sign * twist, -sign * normal.s0);
const real_vec second = (real_vec)(twist, sign + normal.s1 * normal.s1 * part, -normal.s1);
""",
}

#: Solves the normal equations by elimination from the first monomial to the constant, which is last: the constant of
#: the solution is then the only one that is left. The first that follows from those before it, up to rounding, ends it.
_SOLVE = """
int determined = 1;
for (int p = 0; p < MANY; ++p) {
    const real pivot = matrix[p * MANY + p];
    if (!(pivot > 64 * MANY * ROUNDING * sizes[p])) { determined = 0; break; }
    for (int q = p + 1; q < MANY; ++q) {
        const real factor = matrix[q * MANY + p] / pivot;
        for (int k = p; k < MANY; ++k) matrix[q * MANY + k] -= factor * matrix[p * MANY + k];
        heights[q] -= factor * heights[p];
    }
}
"""


@functools.cache
def fitted_height(dim: int) -> NeighborFunction:
    """The function that moves points along the normals in ``across`` to the polynomial; to none that is undetermined.

    Points of a ball are weighted, the middle with 1. Coordinates are twice those of :func:`.covariance.unit_of`, so
    that the weights fall over about one unit, and sums of powers are alike in size.
    """
    monomials = _MONOMIALS[dim]
    many = len(monomials)
    sums = sorted({_product(p, q) for p in monomials for q in monomials})
    place = {exponents: k for k, exponents in enumerate(sums)}
    middle = [1 if not any(exponents) else 0 for exponents in sums]
    vector = ", ".join(f"across[i * (size_t){dim} + {k}]" for k in range(dim))
    adds = "".join(f" sums[{k}] += {_power(exponents)};" for exponents, k in place.items())
    lifts = "".join(f" heights[{k}] += height * ({_power(each)});" for k, each in enumerate(monomials))
    matrix = ", ".join(f"sums[{place[_product(p, q)]}]" for p in monomials for q in monomials)
    sizes = ", ".join(f"sums[{place[_product(p, p)]}]" for p in monomials)
    shifts = " ".join(
        f"moved[i * (size_t){dim} + {k}] = points[i * (size_t){dim} + {k}] + along * normal.s{k};" for k in range(dim)
    )
    return NeighborFunction(
        arguments=f"{ARGUMENTS}, global const real *across",
        preamble=f"#define MANY {many}\n#define ROUNDING (sizeof(real) > 4 ? 0x1p-52f : 0x1p-23f)",
        state=f"""
const real_vec normal = (real_vec)({vector});
{_TANGENTS[dim]}
real sums[{len(sums)}] = {{{", ".join(map(str, middle))}}}, heights[MANY] = {{{", ".join(["0"] * many)}}};
""",
        per_neighbor=f"""
const real_vec way = dx * (2 * unit);
const real weight = exp(scale * d2), height = dot(way, normal), u = dot(way, first);
{"const real v = dot(way, second);" if dim == 3 else ""}
{adds}{lifts}
""",
        finish=f"""
real matrix[MANY * MANY] = {{{matrix}}};
const real sizes[MANY] = {{{sizes}}};
{_SOLVE}
if (determined) {{
    const real along = heights[MANY - 1] / matrix[MANY * MANY - 1] / (2 * unit);
    {shifts}
}}
""",
    )


def _product(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The exponents of the product of two monomials."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _power(exponents: tuple[int, ...]) -> str:
    """A monomial times the weight."""
    return " * ".join(["weight", *("u" * exponents[0]), *("v" * sum(exponents[1:]))])
