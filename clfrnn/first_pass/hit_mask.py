"""HitMask: which candidates of a query are its neighbors, from a count for the walk that writes the list.

On a GPU a word holds the first place of 32 candidates in a row, and a bit for each that is a neighbor. On a CPU a word
is the place of one neighbor. The walk behind the count goes from word to word and tests no candidate again; queries
that need more words than there are go through their candidates once more.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl as cl
import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..runtime.scratch import INT, Scratch
from ..runtime.session import Session

__all__ = ["HitMask", "make_hit_mask"]

_PURPOSE = "the hit mask"


class HitMask:
    """Memory for some words of each query, and how many of them the query needs."""

    writes_rows: ClassVar[bool] = False
    packed = None

    def __init__(self, words: Scratch, used: Scratch, room: int, units: int) -> None:
        self.words, self.used, self.room, self.units = words, used, room, units

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take it."""
        return self.words.base_data, self.used.base_data, self.room, self.units

    def variant(self, *, light: bool) -> dict[str, Any]:
        """What is compiled into the count that writes the mask, or into the walk that reads it."""
        return {"first_pass": "write_mask" if light else "read_mask"}

    def counts(self, session: Session, m: int) -> cla.Array:
        """Memory for plain counts."""
        return session.allocate(m, INT, purpose="the neighbor counts")

    def overflowed(self, word: int) -> bool:  # noqa: ARG002
        """The walk writes all rows."""
        return True

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Nothing: the walk writes all rows."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Nothing: the walk writes all rows."""


def make_hit_mask(session: Session, *, queries: int, words: int, word_bytes: int, spare: int) -> HitMask | None:
    """Memory for so many `words` of each query and some to spare behind them; None where it cannot be had."""
    try:
        return HitMask(
            session.scratch((words + spare) * queries * word_bytes // INT.itemsize, INT, purpose=_PURPOSE),
            session.scratch(queries, INT, purpose=_PURPOSE),
            words,
            queries,
        )
    except DeviceMemoryError:  # a list can do without
        return None
