"""CellCounts: the numbers of points in coarse cells, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from ...config import INT
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from .plan import FennsPlan

__all__ = ["CellCounts"]

#: Updates from one copy to the next, where the caller does not wait: that copy has long come to the host, as the boxes
#: of new points are waited for with every eighth update.
_UPDATES_OF_COPY = 16


class CellCounts:
    """How many points lie in each cell, as the sections of :class:`CoarseCells` say it.

    Which calls wait depends on the calls alone, as for :class:`~clfrnn.primitives.readback.Readback`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        #: updates since the last copy; the copy with its event, and the plan of the cells
        self._since = 0
        self._copy: tuple[npt.NDArray[np.int32], cl.Event, FennsPlan] | None = None

    def now(self, sections: Scratch) -> npt.NDArray[np.float64]:
        """Those of these sections; waits for the sort that writes them."""
        return _counts(self._session.read(sections))

    def before(self, sections: Scratch, plan: FennsPlan) -> tuple[npt.NDArray[np.float64], FennsPlan] | None:
        """With every sixteenth call those of sixteen calls ago and their plan, and copies these; else None."""
        self._since += 1
        if self._since < _UPDATES_OF_COPY:
            return None
        before, self._since = self._copy, 0
        host = np.empty(sections.size, INT)
        self._copy = host, cl.enqueue_copy(self._session.queue, host, sections.base_data, is_blocking=False), plan
        if before is None:
            return None
        if before[1].command_execution_status != cl.command_execution_status.COMPLETE:
            before[1].wait()
        return _counts(before[0]), before[2]


def _counts(sections: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The numbers of points, from three ends for each cell, of which the last is that of all its points."""
    return np.diff(sections[2::3], prepend=0).astype(np.float64)
