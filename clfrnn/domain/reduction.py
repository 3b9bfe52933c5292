"""Reduction: the short vectors of a lattice, as whole combinations of any vectors that span it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

__all__ = ["short_combinations"]

#: Share of the square of a vector below which another one counts as shorter. Vectors that are as short as others but
#: for rounding stay as they are, so that a cell which rounding alone has moved is not searched by other kernels.
_SHORTER = Fraction(1023, 1024)

_Whole = list[int]


def short_combinations(rows: Sequence[Sequence[Fraction]], most: int) -> list[_Whole]:
    """How often each of these vectors is in each vector of a reduced basis of their lattice, (rows, rows).

    No vector of that basis becomes shorter where others are added to it or subtracted, once or several times. So it is
    reduced by Minkowski, as up to three vectors are then, and no height of its cell is far below the length of its
    vector. A basis that is reduced already stays as it is, in any order and of any handedness. So does one that is so
    skewed that one of its vectors would be in a combination more than `most` times. `rows` are up to three linearly
    independent vectors.

    Computed in whole numbers: the product of the lengths falls with each step, and lattice vectors below a length are
    finitely many, so this ends.
    """
    scale = max((each.denominator for row in rows for each in row), default=1)  # all are powers of two
    vectors = [[int(each * scale) for each in row] for row in rows]
    unchanged = [[int(k == j) for j in range(len(rows))] for k in range(len(rows))]
    combinations = [list(row) for row in unchanged]
    changed = True
    while changed:
        changed = False
        for k in sorted(range(len(rows)), key=lambda k: -_dot(vectors[k], vectors[k])):
            for signs in _signs(k, len(rows)):
                other = _sum(signs, vectors)
                square, length2 = _dot(vectors[k], vectors[k]), _dot(other, other)
                times = -((2 * _dot(vectors[k], other) + length2) // (2 * length2))
                if not times:
                    continue
                steps = [times * sign + (j == k) for j, sign in enumerate(signs)]
                shorter = _sum(steps, vectors)
                if _dot(shorter, shorter) < _SHORTER * square:
                    vectors[k], combinations[k] = shorter, _sum(steps, combinations)
                    changed = True
    return combinations if all(abs(times) <= most for row in combinations for times in row) else unchanged


def _signs(k: int, many: int) -> Iterator[_Whole]:
    """The combinations of all vectors but number k that may be added to it: one other, or the sum of two with signs."""
    others = [j for j in range(many) if j != k]
    for j in others:
        yield [int(each == j) for each in range(many)]
    if len(others) == 2:
        for sign in (1, -1):
            yield [0 if each == k else 1 if each == others[0] else sign for each in range(many)]


def _dot(a: _Whole, b: _Whole) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _sum(times: _Whole, rows: list[_Whole]) -> _Whole:
    """The sum of all rows, each that many times."""
    return [_dot(times, list(column)) for column in zip(*rows, strict=True)]
