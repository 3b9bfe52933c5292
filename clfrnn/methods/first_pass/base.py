"""FirstPass: the neighbors that a count found, on the device, so that the list after it is written faster.

A hit mask says which candidates of a query are its neighbors. On a GPU a word holds the place of the first of 32
consecutive candidates, and a bit for each candidate that is a neighbor. On a CPU a word is the place of one neighbor.
The walk that writes the list reads the words and tests no candidate again. A query that needs more words than it has
tests its candidates once more. A neighbor buffer has the neighbors themselves: see :mod:`.neighbor_buffer`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...config import INT
from ...errors import DeviceMemoryError
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from .neighbor_buffer import NeighborBuffer

__all__ = ["FirstPass", "make_hit_mask", "make_neighbor_buffer"]


class FirstPass(NamedTuple):
    """What the count writes and the walk of the list reads."""

    #: the arguments of both
    arguments: tuple[Any, ...]
    #: the fields of the variant of the count, and of the walk after it
    of_count: dict[str, Any]
    of_walk: dict[str, Any]
    #: the buffer from which a launch of its own writes rows, so that the walk serves only queries that overflow; None
    #: where the walk writes all rows
    buffer: NeighborBuffer | None = None

    def variant(self, *, light: bool) -> dict[str, Any]:
        """The fields of the variant of the count, which is light, or of the walk after it."""
        return self.of_count if light else self.of_walk


def make_hit_mask(session: Session, *, queries: int, words: int, word_bytes: int, spare: int) -> FirstPass | None:
    """A hit mask with `words` for each query and `spare` words behind them; None where there is no memory for it."""
    purpose = "the hit mask"
    try:
        mask = session.scratch((words + spare) * queries * word_bytes // INT.itemsize, INT, purpose=purpose)
        used = session.scratch(queries, INT, purpose=purpose)
    except DeviceMemoryError:  # lists can be made without it
        return None
    return FirstPass(
        (mask.base_data, used.base_data, words, queries), {"first_pass": "write_mask"}, {"first_pass": "read_mask"}
    )


def make_neighbor_buffer(
    session: Session, *, queries: int, slots: int, total: Scratch, serial: int
) -> FirstPass | None:
    """A neighbor buffer with `slots` for each query, or None where there is no memory for it.

    A query that overflows writes the number `serial` to the word behind the `total`, which therefore need not be
    cleared.
    """
    purpose = "the neighbor buffer"
    try:
        indices = session.scratch(queries * slots, INT, purpose=purpose)
        overflowing = session.scratch(queries, np.dtype(np.uint8), purpose=purpose)
        counts = session.scratch(queries, INT, purpose="the neighbor counts")
    except DeviceMemoryError:  # lists can be made without it
        return None
    behind, place = total.arguments
    return FirstPass(
        (indices.base_data, overflowing.base_data, queries, behind, place + 1, serial),
        {"first_pass": "fill_buffer", "buffer_slots": slots},
        {"first_pass": "overflow", "buffer_slots": slots},
        NeighborBuffer(indices, counts, slots, serial),
    )
