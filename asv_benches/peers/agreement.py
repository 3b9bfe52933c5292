"""Agreement: whether a peer found the pairs that clfrnn found, to be known before any time is shown.

Each point gets a random number of 64 bits; a row's sum of its neighbors' numbers, modulo 2**64, and its count stand for
the row. Two rows that differ agree in both with a chance of 2**-64. Only rows that differ are compared pair by pair.
Pairs that differ may do so only at the boundary: there peers round otherwise, or search in float64, or within an open
ball, while clfrnn's closed ball in float32 is numpy's to the last bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .ours import distances
from .peer import Array, Pairs

#: How far from the radius a pair may be that only one side found, in units in the last place of the radius. Squared
#: distances in float32 of exact coordinates carry at most three and a half.
ULPS = 4
#: Rows that differ and are looked at pair by pair; of more than that only the first are.
ROWS = 100_000
_CHUNK = 1 << 24


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement:
    """Pairs that one side alone found: within a few units in the last place of the radius, or truly wrong."""

    boundary: int = 0
    missing: int = 0
    extra: int = 0
    #: more rows differ than were looked at
    more: bool = False

    @property
    def right(self) -> bool:
        """Nothing differs but at the boundary."""
        return self.missing == self.extra == 0

    def __str__(self) -> str:
        parts = [
            f"{n:,} pair{'s' if n > 1 else ''} {what}"
            for n, what in ((self.missing, "missing"), (self.extra, "too many"))
            if n
        ]
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
    for first in range(0, len(pairs.rows), _CHUNK):
        rows, columns = (side[first : first + _CHUNK] for side in pairs)
        others = rows != columns
        if not others.all():
            rows, columns = rows[others], columns[others]
        counts += np.bincount(rows, minlength=n)
        np.add.at(sums, rows, numbers[columns])
    return Fingerprint(counts, sums)


def slack_of(radius: float) -> float:
    """The distance from the radius within which a pair may be found or not."""
    return ULPS * float(np.spacing(np.float32(radius)))


def compare_pairs(points: Array, radius: float, ours: Pairs, marks: Fingerprint, theirs: Pairs) -> Agreement:
    """Their pairs against ours, whose fingerprint is known."""
    differing = marks.differing(fingerprint(theirs, len(points)))
    if not len(differing):
        return Agreement()
    looked_at = differing[:ROWS]
    mine, other = _keys(ours, looked_at, len(points)), _keys(theirs, looked_at, len(points))
    once = np.unique(other)
    missing, extra = np.setdiff1d(mine, once), np.setdiff1d(once, mine)
    wrong = [len(keys) - _at_boundary(points, radius, keys) for keys in (missing, extra)]
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


def _keys(pairs: Pairs, rows: Array, n: int) -> Any:
    """The pairs of these rows as sorted numbers, self left out."""
    wanted = np.zeros(n, bool)
    wanted[rows] = True
    found = []
    for first in range(0, len(pairs.rows), _CHUNK):
        mine, columns = (side[first : first + _CHUNK] for side in pairs)
        kept = wanted[mine] & (mine != columns)
        found.append(mine[kept].astype(np.int64) * n + columns[kept].astype(np.int64))
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _at_boundary(points: Array, radius: float, keys: Array) -> int:
    rows, columns = np.divmod(keys, len(points))
    return int((np.abs(distances(points, rows, columns) - radius) <= slack_of(radius)).sum())
