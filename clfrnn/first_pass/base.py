"""FirstPass: what a count leaves on the device so that the list behind it is written sooner."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

import pyopencl as cl
import pyopencl.array as cla

from ..primitives.scan import Packed
from ..runtime.session import Session

__all__ = ["FirstPass", "ListFacts"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListFacts:
    """What a search structure says about its lists, for plans of them."""

    #: neighbors of a query that a neighbor buffer should have slots for; 0 where a buffer is not worth its memory
    slots: int = 0
    #: words that a hit mask should have for each query, 0 where a mask is not worth its memory
    #: the bytes of a word, 0 where the walk writes no masks, and the words that a batch may write beyond those
    mask_words: float = 0.0
    mask_word_bytes: int = 0
    mask_spare: int = 0
    #: the walk writes several indices of a row at once, a sector of memory
    by_sectors: bool = False


class FirstPass(Protocol):
    """The hits of a count, on the device: a :mod:`~.hit_mask` or a :mod:`~.neighbor_buffer`."""

    #: rows are written from it by a launch of its own, and the walk serves only what overflowed
    writes_rows: ClassVar[bool]

    @property
    def packed(self) -> Packed | None:
        """How counts are packed with something else, for the scan; None where they are not."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """As kernels take it."""

    def variant(self, *, light: bool) -> dict[str, Any]:
        """What is compiled into the count that fills it, which is light, or into the walk behind it."""

    def counts(self, session: Session, m: int) -> cla.Array:
        """Memory for the counts of `m` queries, or for what they are packed in."""

    def overflowed(self, word: int) -> bool:
        """Whether the walk behind it has anything to do, by the word that came to the host with the total."""

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue the rows that can be written without the walk, as far as `indices` reach."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Compile what :meth:`write` launches for such offsets."""
