"""NeighborBuffer: the indices of a query's first neighbors, from the count for the rows of a list.

The count writes them in search order, so that adjacent work-items write adjacent memory. A launch after the scan copies
them into rows, as a GPU reads at scattered places faster than it writes there. A query with more neighbors than slots
overflows, and the walk serves it once more.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...config import INT, LONG
from ...errors import DeviceMemoryError
from ...primitives.config import plan_buffer_to_rows
from ...primitives.scan import Packed
from ...profile import DeviceProfile
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...survey import Survey

__all__ = ["NeighborBuffer", "make_neighbor_buffer", "useful_slots"]

_FLAG = np.dtype(np.uint8)

#: Number of indices that are stored at once.
_STORED_AT_ONCE = 4

#: Standard deviations above the mean number of neighbors that slots cover, in the order of preference: no query is
#: expected to overflow, or few are.
_NONE_OVERFLOWS, _FEW_OVERFLOW = 6, 3


class NeighborBuffer:
    """Memory for the indices of up to `slots` neighbors of each of `units` queries."""

    writes_rows: ClassVar[bool] = True

    def __init__(
        self, indices: Scratch, overflowing: Scratch, *, slots: int, units: int, total: Scratch, serial: int
    ) -> None:
        self._indices, self._overflowing = indices, overflowing
        self.slots, self._units = slots, units
        #: a query that overflows writes the serial number to the word behind the total, which therefore need not be
        #: cleared
        self._total, self._serial = total, serial
        self.packed = Packed(slots, indices)
        #: the number of neighbors of each query, packed with its place in the buffer
        self._rows: cla.Array | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the walk."""
        buffer, place = self._total.arguments
        return self._indices.base_data, self._overflowing.base_data, self._units, buffer, place + 1, self._serial

    def variant(self, *, light: bool) -> dict[str, Any]:
        """The fields of the variant of the count, which fills the buffer, or of the walk for queries that overflow."""
        return {"first_pass": "fill_buffer" if light else "overflow", "buffer_slots": self.slots}

    def counts(self, session: Session, m: int) -> cla.Array:
        """Memory for packed counts: the number of neighbors of each query, and its place in the buffer."""
        if self._rows is None:
            self._rows = session.allocate(m, INT, purpose="the neighbor counts")
        return self._rows

    def overflowed(self, word: int) -> bool:
        """Whether a query has more neighbors than slots."""
        return word == self._serial

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue one launch that writes the rows of queries that did not overflow, as far as `indices` have memory."""
        assert self._rows is not None, "the rows are packed by a count"
        wide, pairs = offsets.dtype == LONG, indices.shape[0]
        kernels, config = self._writer(session, wide=wide)
        return session.launch(
            kernels["buffer_to_rows"],
            self._units,
            config.work_group_size,
            self._units,
            np.int64(pairs) if wide else pairs,
            self._rows.base_data,
            self._indices.base_data,
            offsets.base_data,
            indices.base_data,
        )

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Compile the kernel that :meth:`write` launches for such offsets."""
        self._writer(session, wide=offsets.dtype == LONG)

    def _writer(self, session: Session, *, wide: bool) -> tuple[Any, Any]:
        return session.planned(
            "methods/first_pass/buffer_to_rows",
            plan_buffer_to_rows,
            buffer_slots=self.slots,
            offset="long" if wide else "int",
        )


def useful_slots(profile: DeviceProfile, survey: Survey, radius: float, *, most: int) -> int:
    """Slots of a buffer for lists of indices alone, at most `most`; 0 where a buffer is not faster.

    A buffer is not faster on a CPU, where points lie in columns and writes to scattered places do not wait.
    """
    mean = survey.neighbors(radius)
    if profile.kind == "cpu" or not mean < most:
        return 0
    spread = survey.spread(radius)
    wanted = (
        _STORED_AT_ONCE * int(-(-(mean + many * spread) // _STORED_AT_ONCE))
        for many in (_NONE_OVERFLOWS, _FEW_OVERFLOW)
    )
    return next((slots for slots in wanted if slots <= most), 0)


def make_neighbor_buffer(
    session: Session, *, queries: int, slots: int, total: Scratch, serial: int
) -> NeighborBuffer | None:
    """A neighbor buffer, or None where there is no memory for it."""
    purpose = "the neighbor buffer"
    try:
        return NeighborBuffer(
            session.scratch(queries * slots, INT, purpose=purpose),
            session.scratch(queries, _FLAG, purpose=purpose),
            slots=slots,
            units=queries,
            total=total,
            serial=serial,
        )
    except DeviceMemoryError:  # lists can be made without it
        return None
