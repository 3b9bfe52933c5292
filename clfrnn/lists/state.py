"""ListState: what the lists of one index leave for its next ones."""

from __future__ import annotations

from collections.abc import Hashable

from ..runtime.session import Session
from .capacity import Capacity

__all__ = ["ListState"]


class ListState:
    """How long the lists of an index were, and the serial number of its next neighbor buffer."""

    def __init__(self, session: Session) -> None:
        self.capacity = Capacity()
        self._session = session
        #: by this number a buffer says that it overflowed: nobody has left it in memory of the session before
        self.serial = session.draw_serial()

    def settle_overflow(self, kind: Hashable, overflowed: bool) -> None:
        """A list of a `kind` has heard whether its buffer overflowed; the number that it left then is used up."""
        self.capacity.settle_overflow(kind, overflowed)
        if overflowed:
            self.serial = self._session.draw_serial()
