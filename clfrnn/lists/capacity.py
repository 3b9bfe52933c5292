"""Rooms: how long the lists of an index were, so that the next one has its memory before its length is known."""

from __future__ import annotations

import math
from collections.abc import Hashable

__all__ = ["Capacity"]

#: A list in a loop has room for this many times as many pairs as those before it had, so that it finds it in the pool.
_SPARE = 1.125

#: So many lists in a row take less than half of their room before the next are given less.
_PATIENCE = 8

#: Kinds of lists that are remembered.
_MOST_KINDS = 64


class Capacity:
    """Room for lists, by their kind: what decides about their length besides where points lie."""

    def __init__(self) -> None:
        self._longest = 0
        #: pairs that lists of a kind have room for, and how many in a row had less than half as many
        self._kinds: dict[Hashable, tuple[int, int]] = {}
        #: those whose last list had more to write than its count had put by
        self._overflowed: set[Hashable] = set()

    def foreseen(self, kind: Hashable) -> int | None:
        """Pairs that the next list of a kind is given room for; None for the first of its kind."""
        room, _ = self._kinds.get(kind, (None, 0))
        return room

    def settle(self, kind: Hashable, pairs: int, most: float = math.inf) -> int:
        """Pairs that a list of so many is given room for, and the next of its kind by it; never more than `most`.

        That of the lists before it, where they were no longer than twice as long; else not one more than it has.
        """
        if pairs > self._longest:
            self._longest = int(pairs * _SPARE)
        # Lists of other kinds that are about as long share their memory when they are gone.
        fresh = self._longest if 2 * pairs >= self._longest else int(pairs * _SPARE)
        room, short = self._kinds.get(kind, (fresh, 0))
        short = short + 1 if 2 * pairs < room else 0
        if pairs > room or short == _PATIENCE:
            room, short = fresh, 0
        room = int(min(room, most))
        if len(self._kinds) == _MOST_KINDS and kind not in self._kinds:
            self._kinds.clear()
        self._kinds[kind] = room, short
        return room if 2 * pairs >= room else pairs

    def overflows(self, kind: Hashable) -> bool:
        """Whether the last list of a kind had rows that a stash had no room for."""
        return kind in self._overflowed

    def settle_overflow(self, kind: Hashable, overflows: bool) -> None:
        """The list of a kind had such rows, or none."""
        if not overflows:
            self._overflowed.discard(kind)
        elif len(self._overflowed) < _MOST_KINDS:
            self._overflowed.add(kind)
