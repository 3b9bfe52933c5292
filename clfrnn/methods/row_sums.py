"""Row sums: how many neighbors rows have together, share by share, added up by a count itself instead of by a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..primitives.fill import cleared
from ..scratch import INT, Scratch
from ..session import Session

if TYPE_CHECKING:
    from .ask import Ask
    from .index import Index

__all__ = ["RowSums", "row_sums_for"]

#: Rows of a share, as a power of two, are at least so many, and shares about so many at most: each group that writes
#: rows goes through the sums of all before its own.
_LEAST_SHIFT, _MOST_SHARES = 8, 1 << 10

#: Each sum has a sector of memory of its own, as atomic operations in one wait for each other.
_SECTOR = 8

#: More rows than that are scanned: sums take a sector of memory for each (measured).
_MOST_ROWS = 1 << 19


class RowSums:
    """Two sets of sums over shares of ``1 << shift`` rows: one at zero for the next count, and that of the last.

    Who reads the sums of one count clears those of the one before, so that nobody has to be launched for it, and no
    group clears what another is still reading.
    """

    def __init__(self, session: Session, rows: int) -> None:
        self.shift = max(_LEAST_SHIFT, ((rows - 1) // _MOST_SHARES).bit_length())
        self.shares = -(-rows // (1 << self.shift))
        self._session = session
        self._clean: Scratch | None = None
        self._read: Scratch | None = None

    def take(self) -> Scratch:
        """Sums at zero, for a count. They come back by :meth:`settle`, or not at all where nobody came to read them."""
        clean, self._clean = self._clean, None
        return clean or cleared(self._session, _SECTOR * self.shares, purpose="the sums of rows")

    def last(self) -> Scratch:
        """What was read before, to be cleared."""
        before, self._read = self._read, None
        return before or self._session.scratch(_SECTOR * self.shares, INT, purpose="the sums of rows")

    def settle(self, cleared: Scratch, read: Scratch) -> None:
        """A launch clears the ones, and reads the others."""
        self._clean, self._read = cleared, read


def row_sums_for(index: Index, ask: Ask) -> RowSums | None:
    """Sums for the rows of a list, where these are sooner than a scan, and cannot come to more than an int holds."""
    if not 0 < ask.m <= _MOST_ROWS:
        return None
    sums, box = index.session.once(RowSums, ask.m), index.problem.box
    longest = index.num_points * (1.0 if box is None else box.most_images(index.radius))
    return sums if longest * (1 << sums.shift) < 2**31 else None
