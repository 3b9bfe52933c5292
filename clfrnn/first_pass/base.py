"""Handover: what a count leaves for the visit that writes its list, so that this is sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyopencl as cl
import pyopencl.array as cla

from ..runtime.scratch import Scratch
from ..runtime.session import Session

if TYPE_CHECKING:
    from ..index import Index
    from ..primitives.scan import Packed
    from .block_sums import Reader, RowSums

__all__ = ["FirstPass"]


class FirstPass(Protocol):
    """Marks of the neighbors that were found, or their numbers, on the device."""

    #: whether :meth:`place` does, where the count adds up rows
    places_rows: ClassVar[bool]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take them."""

    def variant(self, *, light: bool) -> dict[str, Any]:
        """What is compiled into a visit that leaves them, which is a light one, or into the one behind it."""

    def counts(self, session: Session, m: int) -> cla.Array:
        """Room for the counts of m queries, or for rows that they are packed in with something else."""

    @property
    def packed(self) -> Packed | None:
        """What scans need to know where counts are packed in rows."""

    def tell(self, total: Scratch) -> None:
        """Where the number of pairs will lie, with room behind it for a word to the host from the count."""

    def add_up(self, session: Session, find: Callable[[], RowSums | None]) -> None:
        """Let the count add up its rows in what is found, if anything is, so that who places them need not."""

    @property
    def adds_up(self) -> bool:
        """Whether the count does, and nobody has read its sums."""

    def read_sums(self, session: Session, launch: Reader) -> cl.Event | None:
        """Launch what reads the sums of the count, and clears others."""

    def has_rest(self, told: int) -> bool:
        """Whether the second visit has anything to do, by what was `told` behind that number; nobody says 0."""

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue what may be written of the list ahead of the second visit, as far as `indices` go."""

    def place(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """The same without a scan: `offsets` and the number of pairs are written, too."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Compile what :meth:`write` and :meth:`place` launch for such offsets."""

    def give_back(self, index: Index) -> None:
        """All that reads it is enqueued: another list of the index may have its room."""
