"""Row sums: how many neighbors rows have together, share by share, added up by a count itself instead of by a scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pyopencl as cl

from ..planning.configs import SECTOR
from ..primitives.fill import cleared
from ..runtime.scratch import INT, Scratch
from ..runtime.session import Session

if TYPE_CHECKING:
    from ..index import Index
    from ..inputs.request import QueryRequest

__all__ = ["Reader", "RowSums", "Summing", "row_sums_for", "shared_out"]

#: Rows of a share, as a power of two, are at least so many, and shares about so many at most: each group that finds out
#: where rows begin goes through the sums of all before its own.
_LEAST_SHIFT, _MOST_SHARES = 8, 1 << 10

#: More rows are scanned by two launches. A million took as long by sums where points come anyhow (measured), and longer
#: where they come in order: then all rows that are under way at a time add to few of the sums.
_MOST_ROWS = 1 << 19

#: What is launched with the shares, the sums of them to be read, and those to be cleared.
Reader: TypeAlias = Callable[["RowSums", Scratch, Scratch], "cl.Event | None"]


class RowSums:
    """Two sets of sums over shares of ``1 << shift`` rows: one at zero for the next count, and that of the last.

    Who reads the sums of one count clears those of the one before, so that nobody has to be launched for it, and no
    group clears what another is still reading.
    """

    def __init__(self, shift: int, shares: int) -> None:
        self.shift, self.shares = shift, shares
        #: each sum has a sector of memory of its own, as atomic operations in one wait for each other
        self.size = SECTOR * shares
        self._clean: Scratch | None = None
        self._read: Scratch | None = None

    def take(self, session: Session) -> Scratch:
        """Sums at zero, for a count. They come back by :meth:`read`, or not at all where nobody comes to read them."""
        clean, self._clean = self._clean, None
        return clean or cleared(session, self.size, purpose="the sums of rows")

    def read(self, session: Session, sums: Scratch, launch: Reader) -> cl.Event | None:
        """Launch what reads the sums of a count, and clears the others."""
        last, self._read = self._read, None
        last = last or session.scratch(self.size, INT, purpose="the sums of rows")
        event = launch(self, sums, last)
        self._clean, self._read = last, sums
        return event


class Summing:
    """A count that adds up its rows, if anything does."""

    _row_sums: RowSums | None = None
    #: those of the count, until somebody reads them
    _sums: Scratch | None = None

    def add_up(self, session: Session, find: Callable[[], RowSums | None]) -> None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        self._row_sums = self._row_sums or find()
        self._sums = None if self._row_sums is None else self._row_sums.take(session)

    @property
    def adds_up(self) -> bool:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        return self._sums is not None

    def read_sums(self, session: Session, launch: Reader) -> cl.Event | None:
        """See :class:`~clfrnn.first_pass.base.FirstPass`."""
        sums, self._sums = self._sums, None
        assert sums is not None, "nobody has added up rows"
        assert self._row_sums is not None
        return self._row_sums.read(session, sums, launch)

    @property
    def sum_arguments(self) -> tuple[Any, ...]:
        """As kernels take them that add up rows."""
        return () if self._sums is None or self._row_sums is None else (self._sums.base_data, self._row_sums.shift)


def row_sums_for(index: Index, ask: QueryRequest) -> RowSums | None:
    """Sums for the rows of a list, where these are sooner than a scan, and cannot come to more than an int holds.

    Not on a CPU, where lists take 1.02 to 1.12 times as long with them (65,536 and 262,144 points on two cores).
    """
    if not 0 < ask.m <= _MOST_ROWS or index.session.profile.kind == "cpu":
        return None
    (shift, shares), box = shared_out(ask.m), index.problem.box
    longest = index.num_points * (1.0 if box is None else box.most_images(index.radius))
    return index.session.once(_make_row_sums, shift, shares) if longest * (1 << shift) < 2**31 else None


def shared_out(rows: int) -> tuple[int, int]:
    """As a power of two the rows of a share, and the number of shares."""
    shift = max(_LEAST_SHIFT, ((rows - 1) // _MOST_SHARES).bit_length())
    return shift, -(-rows // (1 << shift))


def _make_row_sums(session: Session, shift: int, shares: int) -> RowSums:  # noqa: ARG001
    """One for all lists of a session, which holds it, with so many shares: two sets of 32 KiB at most."""
    return RowSums(shift, shares)
