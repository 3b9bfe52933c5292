"""NeighborBuffer: the indices of a query's first neighbors, from the count for the rows of a list.

The count writes them in search order, so that adjacent work-items write adjacent memory. A launch after the scan copies
them into rows, as a GPU reads at scattered places faster than it writes there. A query with more neighbors than slots
overflows, and the walk serves it once more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...config import LONG
from ...primitives.config import plan_buffer_to_rows
from ...profile import DeviceProfile
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...survey import Survey

__all__ = ["NeighborBuffer", "useful_slots"]

#: Number of indices that are stored at once.
_STORED_AT_ONCE = 4

#: Standard deviations above the mean number of neighbors that slots cover, in the order of preference: no query is
#: expected to overflow, or few are.
_NONE_OVERFLOWS, _FEW_OVERFLOW = 6, 3


class NeighborBuffer(NamedTuple):
    """Memory for the indices of up to `slots` neighbors of each query."""

    indices: Scratch
    #: the number of neighbors of each query, packed with its place in the buffer
    counts: Scratch
    slots: int
    #: what the count writes to the word behind the total where a query has more neighbors than slots
    serial: int

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue one launch that writes the rows of queries that did not overflow, as far as `indices` have memory."""
        wide, pairs, queries = offsets.dtype == LONG, indices.shape[0], self.counts.size
        kernels, config = self._writer(session, offsets)
        return session.launch(
            kernels["buffer_to_rows"],
            queries,
            config.work_group_size,
            queries,
            np.int64(pairs) if wide else pairs,
            self.counts.base_data,
            self.indices.base_data,
            offsets.base_data,
            indices.base_data,
        )

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Compile the kernel that :meth:`write` launches for such offsets."""
        self._writer(session, offsets)

    def _writer(self, session: Session, offsets: cla.Array) -> tuple[Any, Any]:
        return session.planned(
            "methods/first_pass/buffer_to_rows",
            plan_buffer_to_rows,
            buffer_slots=self.slots,
            offset="long" if offsets.dtype == LONG else "int",
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
