"""Marks: which candidates of a query are its neighbors, from a count for the visit that writes a list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import pyopencl.array as cla

from ..errors import DeviceMemoryError
from ..runtime.scratch import INT, Scratch
from ..runtime.session import Session
from .block_sums import Summing

if TYPE_CHECKING:
    from ..index import Index

__all__ = ["HitMask", "make_hit_mask"]

#: Marks take no more than this share of what the device has left.
_SHARE = 1 / 8


class HitMask(Summing):
    """Room for so many words of each unit of a launch, and how many of them it would need."""

    #: the visit that reads them writes rows, from where a scan says that they begin
    places_rows: ClassVar[bool] = False
    packed = None

    def __init__(self, words: Scratch, used: Scratch, room: int, units: int) -> None:
        self.words, self.used, self.room, self.units = words, used, room, units

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.words.base_data, self.used.base_data, self.room, self.units, *self.sum_arguments

    def variant(self, *, light: bool) -> dict[str, Any]:
        """What is compiled into a visit that makes them, or into one that reads them."""
        return {"marks": "made" if light else "read", "summed": self.adds_up}

    def counts(self, session: Session, m: int) -> cla.Array:
        """Room for counts."""
        return session.allocate(m, INT, purpose="the neighbor counts")

    def tell(self, total: Scratch) -> None:
        """Nothing: see :meth:`has_rest`."""

    def has_rest(self, told: int) -> bool:  # noqa: ARG002
        """The visit that reads them writes all rows."""
        return True

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> None:
        """Nothing: see :meth:`has_rest`."""

    def place(self, session: Session, offsets: cla.Array, indices: cla.Array) -> None:
        """Nothing: see :attr:`places_rows`."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Nothing: see :attr:`places_rows`."""

    def give_back(self, index: Index) -> None:
        """Nothing: marks take as much as the pool has."""


def make_hit_mask(session: Session, *, units: int, room: float, size: int, spare: int = 0) -> HitMask | None:
    """Memory for marks of `room` words of `size` bytes for each of the `units`, or fewer of them where that is much.

    And `spare` words more for each, which whoever writes some at once may come to write to.
    """
    largest, available = session.available()
    most = int(min(largest, available * _SHARE - units * INT.itemsize)) // (units * size) - spare if units else 0
    words = min(most, math.ceil(room))
    if words <= 0:
        return None
    try:
        return HitMask(
            session.scratch((words + spare) * units * size // INT.itemsize, INT, purpose="the marks of candidates"),
            session.scratch(units, INT, purpose="the marks of candidates"),
            words,
            units,
        )
    except DeviceMemoryError:  # a list can do without
        return None
