"""Ask: one query of an index after its arguments were checked."""

from __future__ import annotations

import dataclasses

import pyopencl.array as cla

from ..plan import VisitVariant

__all__ = ["Ask"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ask:
    """One checked query: where the queries are, how far they look, and what they leave out."""

    queries: cla.Array | None
    m: int
    radius: float
    radii: cla.Array | None
    include_self: bool
    half: bool

    @property
    def variant(self) -> VisitVariant:
        """What is compiled in for this query."""
        return VisitVariant(foreign=self.queries is not None, radii=self.radii is not None, half=self.half)
