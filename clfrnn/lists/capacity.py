"""Capacity: how long the lists of an index were, so that the next one has memory before its length is known."""

from __future__ import annotations

import math
from collections.abc import Hashable

__all__ = ["Capacity"]

#: Pairs that a list of a loop has memory for, for each pair of the longest list before it: the next, somewhat longer
#: list then finds its memory in the pool.
_SPARE = 1.125

#: After this many lists in a row that take less than half of their memory, the next ones get less.
_PATIENCE = 8

#: Kinds of lists that are remembered.
_MOST_KINDS = 64


class Capacity:
    """Pairs that lists have memory for, by their kind: what decides about their length besides positions."""

    def __init__(self) -> None:
        self._longest = 0
        #: the capacity of each kind, and how many of its lists in a row had less than half as many pairs
        self._kinds: dict[Hashable, tuple[int, int]] = {}
        #: the kinds whose last list had a query that overflowed its neighbor buffer
        self._overflowed: set[Hashable] = set()

    def foreseen(self, kind: Hashable) -> int | None:
        """The capacity of the next list of a kind; None for the first one."""
        capacity, _ = self._kinds.get(kind, (None, 0))
        return capacity

    def settle(self, kind: Hashable, pairs: int, most: float = math.inf) -> int:
        """The capacity of a list of so many `pairs`, by which the next of its kind is given its own; at most `most`.

        It is that of the lists before, unless these were more than twice as long; then it is the number of pairs.
        """
        if pairs > self._longest:
            self._longest = int(pairs * _SPARE)
        # Lists of other kinds that are about as long use the same memory when they are gone.
        fresh = self._longest if 2 * pairs >= self._longest else int(pairs * _SPARE)
        capacity, short = self._kinds.get(kind, (fresh, 0))
        short = short + 1 if 2 * pairs < capacity else 0
        if pairs > capacity or short == _PATIENCE:
            capacity, short = fresh, 0
        capacity = int(min(capacity, most))
        if len(self._kinds) == _MOST_KINDS and kind not in self._kinds:
            self._kinds.clear()
        self._kinds[kind] = capacity, short
        return capacity if 2 * pairs >= capacity else pairs

    def overflows(self, kind: Hashable) -> bool:
        """Whether a query of the last list of a kind overflowed its neighbor buffer."""
        return kind in self._overflowed

    def settle_overflow(self, kind: Hashable, overflowed: bool) -> None:
        """A query of the last list of a kind overflowed its neighbor buffer, or none did."""
        if not overflowed:
            self._overflowed.discard(kind)
        elif len(self._overflowed) < _MOST_KINDS:
            self._overflowed.add(kind)
