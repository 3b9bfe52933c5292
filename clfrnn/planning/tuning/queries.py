"""The numbers of other queries: in what encoding counts and nearest neighbors of millions are first written."""

import dataclasses
from typing import TypeAlias

from .section import Section, number

__all__ = ["QueryTuning", "Tiers"]

#: From as many queries on each, where a query is foreseen to test no more candidates.
Tiers: TypeAlias = tuple[tuple[int, float], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueryTuning(Section):
    """Output encodings of a GPU. Queries with more candidates than these do not wait for memory (H100)."""

    #: queries from which on counts are bytes first in two dimensions, and the candidates of each, at most
    bytes_2d: tuple[tuple[int, float], ...] = number(((6 << 20, 60.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: the same in three dimensions
    bytes_3d: tuple[tuple[int, float], ...] = number(((6 << 20, 116.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: queries from which on nearest neighbors are pairs first in two dimensions, and the candidates of each, at most
    pairs_2d: tuple[tuple[int, float], ...] = number(((3 << 20, 60.0),))
    #: the same in three dimensions
    pairs_3d: tuple[tuple[int, float], ...] = number(((3 << 20, 130.0), (1 << 23, 200.0)))
    #: share of the free memory of a device that the first encoding takes, at most
    encoding_share: float = number(1 / 8, most=1)

    def as_bytes(self, dim: int) -> Tiers:
        """The tiers of counts; none where no grid serves."""
        return self.bytes_2d if dim == 2 else self.bytes_3d if dim == 3 else ()

    def in_pairs(self, dim: int) -> Tiers:
        """The tiers of nearest neighbors."""
        return self.pairs_2d if dim == 2 else self.pairs_3d if dim == 3 else ()
