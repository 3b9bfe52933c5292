"""Capacity: the lengths of an index's earlier lists, so that the next list has memory before its length is known."""

from __future__ import annotations

import math
from collections.abc import Hashable

__all__ = ["Capacity"]

#: Capacity of a list in a loop, as a ratio to the longest list before it, so that a somewhat longer list reuses its
#: memory.
_SPARE = 1.125

#: Number of lists in a row with less than half of their capacity after which the capacity is reduced.
_PATIENCE = 8

#: Largest number of kinds of lists.
_MOST_KINDS = 64


class Capacity:
    """The capacities of lists in pairs, by kind: the facts on which the number of pairs depends besides positions."""

    def __init__(self) -> None:
        self._longest = 0
        #: the capacity of each kind, and how many of its lists in a row had less than half as many pairs
        self._kinds: dict[Hashable, tuple[int, int]] = {}
        #: the kinds whose last list had a query that overflowed its neighbor buffer
        self._overflowed: set[Hashable] = set()

    def foreseen(self, kind: Hashable) -> int | None:
        """The capacity of the next list of a kind, or None for the first one."""
        capacity, _ = self._kinds.get(kind, (None, 0))
        return capacity

    def settle(self, kind: Hashable, pairs: int, most: float = math.inf) -> int:
        """Return the capacity of a list with `pairs`, at most `most`, and note it for the next list of the kind.

        It is the capacity of the last list, or `pairs` where that is more than twice as much.
        """
        if pairs > self._longest:
            self._longest = int(pairs * _SPARE)
        # Lists of other kinds with about as many pairs reuse the same memory.
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
        """Note whether a query of the last list of a kind overflowed its neighbor buffer."""
        if not overflowed:
            self._overflowed.discard(kind)
        else:
            if len(self._overflowed) == _MOST_KINDS and kind not in self._overflowed:
                self._overflowed.clear()
            self._overflowed.add(kind)
