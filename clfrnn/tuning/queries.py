"""The numbers of counts and nearest neighbors: when they are first written in a smaller encoding."""

import dataclasses
from typing import TypeAlias

from .section import Section, number

__all__ = ["QueryTuning", "Tiers"]

#: Tiers of a number of queries, and the largest expected number of candidates of a query from that number on.
Tiers: TypeAlias = tuple[tuple[int, float], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueryTuning(Section):
    """Output encodings of a GPU. Queries with more candidates do not wait for memory (H100)."""

    #: queries from which on counts are written as bytes first in two dimensions, and the candidates of each, at most
    bytes_2d: tuple[tuple[int, float], ...] = number(((6 << 20, 60.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: the same in three dimensions
    bytes_3d: tuple[tuple[int, float], ...] = number(((6 << 20, 116.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: queries from which on nearest neighbors are written as pairs first in two dimensions, and the candidates, at most
    pairs_2d: tuple[tuple[int, float], ...] = number(((3 << 20, 60.0),))
    #: the same in three dimensions
    pairs_3d: tuple[tuple[int, float], ...] = number(((3 << 20, 130.0), (1 << 23, 200.0)))
    #: largest share of the free memory of a device that the first encoding takes
    encoding_share: float = number(1 / 8, most=1)
    #: bins of a histogram up to which a walk compares each distance with all edges, instead of looking for its bin
    counted_edges: int = number(16, least=0)
    #: bytes of the histograms of single queries that are added up together
    histogram_bytes: int = number(1 << 26, least=1)

    def as_bytes(self, dim: int) -> Tiers:
        """The tiers of counts; none in dimensions that no grid serves."""
        return self.bytes_2d if dim == 2 else self.bytes_3d if dim == 3 else ()

    def in_pairs(self, dim: int) -> Tiers:
        """The tiers of nearest neighbors."""
        return self.pairs_2d if dim == 2 else self.pairs_3d if dim == 3 else ()
