"""HitMask: which candidates of a query are its neighbors, from the count for the walk that writes the list.

On a GPU a word holds the place of the first of 32 consecutive candidates, and a bit for each candidate that is a
neighbor. On a CPU a word is the place of one neighbor. The walk that writes the list reads the words and tests no
candidate again. A query that needs more words than it has tests its candidates once more.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pyopencl as cl
import pyopencl.array as cla

from ...config import INT
from ...errors import DeviceMemoryError
from ...runtime.scratch import Scratch
from ...runtime.session import Session

__all__ = ["HitMask", "make_hit_mask"]

_PURPOSE = "the hit mask"


class HitMask:
    """Memory for `capacity` words of each query, and how many words the query needs."""

    writes_rows: ClassVar[bool] = False
    packed = None

    def __init__(self, words: Scratch, used: Scratch, capacity: int, units: int) -> None:
        self.words, self.used, self.capacity, self.units = words, used, capacity, units

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the walk."""
        return self.words.base_data, self.used.base_data, self.capacity, self.units

    def variant(self, *, light: bool) -> dict[str, Any]:
        """The fields of the variant of the count, which writes the mask, or of the walk, which reads it."""
        return {"first_pass": "write_mask" if light else "read_mask"}

    def counts(self, session: Session, m: int) -> cla.Array:
        """Memory for plain counts."""
        return session.allocate(m, INT, purpose="the neighbor counts")

    def overflowed(self, word: int) -> bool:  # noqa: ARG002
        """The walk writes all rows."""
        return True

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Do nothing: the walk writes all rows."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Do nothing: the walk writes all rows."""


def make_hit_mask(session: Session, *, queries: int, words: int, word_bytes: int, spare: int) -> HitMask | None:
    """A hit mask with `words` for each query and `spare` words behind them; None where there is no memory for it."""
    try:
        return HitMask(
            session.scratch((words + spare) * queries * word_bytes // INT.itemsize, INT, purpose=_PURPOSE),
            session.scratch(queries, INT, purpose=_PURPOSE),
            words,
            queries,
        )
    except DeviceMemoryError:  # lists can be made without it
        return None
