"""ListState: what the lists of one index leave for its next ones."""

from __future__ import annotations

from collections.abc import Hashable

from .capacity import Capacity

__all__ = ["ListState"]

#: Serial numbers begin far from what memory happens to hold, small counts and zeros.
_FIRST_SERIAL = 0x5EED0001


class ListState:
    """How long the lists of an index were, and the serial number of its next neighbor buffer."""

    def __init__(self) -> None:
        self.capacity = Capacity()
        #: by this number a buffer says that it overflowed: nobody has left it in the index's memory before
        self.serial = _FIRST_SERIAL

    def settle_overflow(self, kind: Hashable, overflowed: bool) -> None:
        """A list of a `kind` has heard whether its buffer overflowed; the number that it left then is used up."""
        self.capacity.settle_overflow(kind, overflowed)
        self.serial += overflowed
