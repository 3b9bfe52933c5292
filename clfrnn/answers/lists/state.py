"""ListState: what an index remembers from one list to the next."""

from __future__ import annotations

from collections.abc import Hashable

from ...runtime.session import Session
from .capacity import Capacity

__all__ = ["ListState"]


class ListState:
    """The capacities of an index's lists, and the serial number of its next neighbor buffer."""

    def __init__(self, session: Session) -> None:
        self.capacity = Capacity()
        self._session = session
        #: an overflowing query writes this number, which no earlier kernel of the session has written
        self.serial = session.draw_serial()

    def settle_overflow(self, kind: Hashable, overflowed: bool) -> None:
        """Note whether the neighbor buffer of a list of that `kind` overflowed; it then needs a new serial number."""
        self.capacity.settle_overflow(kind, overflowed)
        if overflowed:
            self.serial = self._session.draw_serial()
