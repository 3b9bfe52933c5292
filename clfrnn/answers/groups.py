"""Groups: which rows of whole numbers are equal, on the device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyopencl as cl

from ..config import INT
from ..device_array import DeviceArray
from ..primitives.config import plan_gather
from ..primitives.fill import fill
from ..primitives.radix_sort import sort_positions
from ..primitives.scan import exclusive_scan
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .linking.numbering import number_roots, sizes_of

__all__ = ["MOST_ROWS", "Groups", "find_groups"]

#: Slots of the largest table, which int32 counts, and how many rows it serves without becoming slow.
_MOST_SLOTS = 1 << 30
MOST_ROWS = _MOST_SLOTS // 5 * 4

_UINT = np.dtype(np.uint32)


class Groups(NamedTuple):
    """The groups of n rows."""

    session: Session
    #: (n,) int32, the group of each row, numbered by first rows
    group_of: DeviceArray[np.int32]
    #: (groups,) int32, how many rows each has
    counts: DeviceArray[np.int32]
    #: (n,) int32, 1 for the first row of a group
    is_lead: Scratch

    def sorted(self) -> tuple[Scratch, Scratch, Scratch]:
        """The groups of the rows by group and then by row, these rows, and where each group begins among them."""
        n, many = self.group_of.size, self.counts.size
        keys = self.session.scratch(n, _UINT, purpose="the groups of rows, sorted")
        if n:
            cl.enqueue_copy(self.session.queue, keys.base_data, self.group_of.base_data, byte_count=4 * n)
        groups, order = sort_positions(self.session, keys, max(1, many - 1).bit_length())
        starts = self.session.scratch(many + 1, INT, purpose="the first rows of groups")
        exclusive_scan(self.session, self.counts, starts)
        return groups, order, starts


def find_groups(session: Session, keys: Scratch, n: int) -> Groups:
    """The groups of n rows of `keys`, (n, width) int64, that are equal, at most MOST_ROWS; waits for their number.

    Groups are found in a table with twice as many slots as there are rows: beside the result about 24 bytes a row are
    in use.
    """
    slots = min(_MOST_SLOTS, 1 << (2 * n).bit_length())
    firsts = session.scratch(slots, INT, purpose="the table of groups")
    fill(session, firsts, -1)
    slot_of = session.scratch(n, INT, purpose="the slots of rows in the table of groups")
    is_lead = session.scratch(n, INT, purpose="which rows are the first of a group")
    group_of = session.allocate(n, INT, purpose="the groups of rows")
    kernels, config = session.planned("answers/groups", plan_gather, dim=keys.size // max(1, n) or 1, real="float")
    table = firsts.base_data, slot_of.base_data
    given = np.int32(n), np.uint32(slots - 1), keys.base_data, *table
    session.launch(kernels["find_slots"], n, config.work_group_size, *given)
    leads = np.int32(n), *table, group_of.base_data, is_lead.base_data
    session.launch(kernels["find_leads"], n, config.work_group_size, *leads)
    many = int(number_roots(session, group_of, is_lead).get()[0])
    return Groups(session, group_of, sizes_of(session, group_of, many), is_lead)
