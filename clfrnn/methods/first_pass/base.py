"""FirstPass: what a count stores on the device so that the list after it is written faster."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

import pyopencl as cl
import pyopencl.array as cla

from ...primitives.scan import Packed
from ...runtime.session import Session

__all__ = ["FirstPass", "ListFacts"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListFacts:
    """The facts of a search structure that plans of lists depend on."""

    #: slots of a neighbor buffer for each query; 0 where a buffer is not worth its memory
    slots: int = 0
    #: words of a hit mask for each query, 0 where a mask is not worth its memory; the bytes of a word, 0 where the walk
    #: writes no masks; and the words beyond them that a batch may write
    mask_words: float = 0.0
    mask_word_bytes: int = 0
    mask_spare: int = 0
    #: whether the walk writes several indices of a row at once, a sector of memory
    by_sectors: bool = False


class FirstPass(Protocol):
    """The neighbors that a count found, on the device: a :mod:`~.hit_mask` or a :mod:`~.neighbor_buffer`."""

    #: whether a launch of its own writes the rows, so that the walk serves only queries that overflow
    writes_rows: ClassVar[bool]

    @property
    def packed(self) -> Packed | None:
        """The neighbor buffer that counts are packed with, for the scan; None where counts are plain."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the walk."""

    def variant(self, *, light: bool) -> dict[str, Any]:
        """The fields of the variant of the count that fills it, which is light, or of the walk after that."""

    def counts(self, session: Session, m: int) -> cla.Array:
        """Memory for the counts of `m` queries, plain or packed."""

    def overflowed(self, word: int) -> bool:
        """Whether the walk has rows to write, by the `word` that was copied to the host with the total."""

    def write(self, session: Session, offsets: cla.Array, indices: cla.Array) -> cl.Event | None:
        """Enqueue the launch that writes rows without the walk, as far as `indices` have memory."""

    def prepare(self, session: Session, offsets: cla.Array) -> None:
        """Compile the kernels that :meth:`write` launches for such offsets."""
