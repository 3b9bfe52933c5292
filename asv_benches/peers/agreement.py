"""Agreement: whether a peer found the pairs that clfrnn found, to be known before any time is shown.

Each point gets a random number of 64 bits, which in a periodic cell is multiplied by an odd one for each of its images;
a row's sum of its neighbors' numbers, modulo 2**64, and its count stand for the row. Two rows that differ agree in both
with a chance of 2**-64, in a cell of at most 2**-50. Only rows that differ are compared pair by pair.
Pairs that differ may do so only at the boundary: there peers round otherwise, or search in float64, or within an open
ball, while clfrnn's closed ball in float32 is numpy's to the last bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .peer import Array, Pairs, Question

#: How far from the radius a pair may be that only one side found, in units in the last place of the radius. Squared
#: distances in float32 of exact coordinates carry at most three and a half.
ULPS = 4
#: Rows that differ and are looked at pair by pair; of more than that only the first are.
ROWS = 100_000
_CHUNK = 1 << 24
#: Images lie at most so many lattice vectors away along each of them; one more than twice as many numbers.
_AWAY = 8
_SPAN = 2 * _AWAY + 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement:
    """What differs: as rounding or a free choice allows, or truly wrong; pairs that one side alone found, or points."""

    boundary: int = 0
    missing: int = 0
    extra: int = 0
    #: points whose answer is wrong, where answers are no pairs
    points: int = 0
    #: more rows differ than were looked at
    more: bool = False

    @property
    def right(self) -> bool:
        """Nothing differs but at the boundary."""
        return self.missing == self.extra == self.points == 0

    def __str__(self) -> str:
        told = (
            (self.missing, "pair", " missing"),
            (self.extra, "pair", " too many"),
            (self.points, "point", ""),
        )
        parts = [f"{n:,} {what}{'s' if n > 1 else ''}{how}" for n, what, how in told if n]
        return f"wrong: {'at least ' if self.more else ''}{', '.join(parts)}" if parts else "right"


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """A count and a sum for each row."""

    counts: Array
    sums: Array

    def differing(self, other: Fingerprint) -> Array:
        """The rows that differ."""
        return np.flatnonzero((self.counts != other.counts) | (self.sums != other.sums))


def fingerprint(pairs: Pairs, n: int) -> Fingerprint:
    """Of each row, self left out; in chunks, so that it holds little beside the pairs."""
    numbers = np.random.default_rng(1).integers(0, 2**64, n, dtype=np.uint64)
    counts, sums = np.zeros(n, np.int64), np.zeros(n, np.uint64)
    for rows, columns, images in _chunks(pairs):
        counts += np.bincount(rows, minlength=n)
        np.add.at(sums, rows, numbers[columns] * (2 * images + 1).astype(np.uint64))
    return Fingerprint(counts, sums)


def slack_of(question: Question) -> float:
    """The distance from the radius within which a pair may be found or not.

    In a cell the points of images are added up from coordinates, which round as the largest of them does.
    """
    size = question.radius if question.cell is None else float(np.abs(question.cell).sum(axis=0).max())
    return ULPS * float(np.spacing(np.float32(max(size, question.radius))))


def compare_pairs(question: Question, ours: Pairs, marks: Fingerprint, theirs: Pairs) -> Agreement:
    """Their pairs against ours, whose fingerprint is known."""
    n = len(question.points)
    differing = marks.differing(fingerprint(theirs, n))
    if not len(differing):
        return Agreement()
    looked_at = differing[:ROWS]
    mine, other = _keys(ours, looked_at, n), _keys(theirs, looked_at, n)
    once = np.unique(other)
    missing, extra = np.setdiff1d(mine, once), np.setdiff1d(once, mine)
    wrong = [len(keys) - _at_boundary(question, keys) for keys in (missing, extra)]
    boundary = len(missing) + len(extra) - sum(wrong)
    repeated = len(other) - len(once)
    return Agreement(
        boundary=boundary, missing=wrong[0], extra=wrong[1] + repeated, more=len(looked_at) < len(differing)
    )


def compare_counts(ours: Array, theirs: Array, near: Callable[[Array], Array]) -> Agreement:
    """Their counts against ours; `near` gives, for some rows, how many pairs lie at the boundary."""
    differing = np.flatnonzero(ours != theirs)
    if not len(differing):
        return Agreement()
    looked_at = differing[:ROWS]
    more = theirs[looked_at].astype(np.int64) - ours[looked_at]
    doubtful = near(looked_at)
    beyond = np.maximum(np.abs(more) - doubtful, 0)
    return Agreement(
        boundary=int((np.abs(more) - beyond).sum()),
        missing=int(beyond[more < 0].sum()),
        extra=int(beyond[more > 0].sum()),
        more=len(looked_at) < len(differing),
    )


def distances(points: Array, rows: Array, columns: Array, away: Array | None = None) -> Array:
    """Distances of pairs, in float64; `away` is added to the second point."""
    difference = points[columns].astype(np.float64) - points[rows].astype(np.float64)
    return np.sqrt(np.square(difference if away is None else difference + away).sum(axis=-1))


def _chunks(pairs: Pairs) -> Iterator[tuple[Array, Array, Array]]:
    """Rows, columns, and the images as numbers from 0 on, that of no shift in the middle; without self."""
    own = (_SPAN**3 - 1) // 2
    for first in range(0, len(pairs.rows), _CHUNK):
        rows, columns = (side[first : first + _CHUNK] for side in (pairs.rows, pairs.columns))
        images = np.full(len(rows), own)
        if pairs.shifts is not None:
            shifts = pairs.shifts[first : first + _CHUNK].astype(np.int64)
            if np.abs(shifts).max(initial=0) > _AWAY:
                raise ValueError(f"shifts of more than {_AWAY} lattice vectors")
            images = (shifts + _AWAY) @ np.array([_SPAN**2, _SPAN, 1])
        others = (rows != columns) | (images != own)
        yield rows[others], columns[others], images[others]


def _keys(pairs: Pairs, rows: Array, n: int) -> Any:
    """The pairs of these rows as sorted numbers, self left out."""
    wanted = np.zeros(n, bool)
    wanted[rows] = True
    found = [np.zeros(0, np.int64)]
    for mine, columns, images in _chunks(pairs):
        kept = wanted[mine]
        found.append((mine[kept].astype(np.int64) * n + columns[kept]) * _SPAN**3 + images[kept])
    return np.sort(np.concatenate(found))


def _at_boundary(question: Question, keys: Array) -> int:
    keys, images = np.divmod(keys, _SPAN**3)
    rows, columns = np.divmod(keys, len(question.points))
    away = None
    if question.cell is not None:
        shifts = np.stack(np.unravel_index(images, (_SPAN,) * 3), axis=1) - _AWAY
        away = shifts @ question.cell.astype(np.float64)
    apart = distances(question.points, rows, columns, away)
    return int((np.abs(apart - question.radius) <= slack_of(question)).sum())
