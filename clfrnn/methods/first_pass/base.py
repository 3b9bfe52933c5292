"""FirstPass: what a count stores on the device so that the list after it is written faster."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import pyopencl as cl
import pyopencl.array as cla

from ...primitives.scan import Packed
from ...runtime.session import Session

__all__ = ["FirstPass"]


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
