"""The numbers of other queries: in what form counts and nearest neighbors of millions are first written."""

import dataclasses

from .section import Section, number

__all__ = ["QueryTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueryTuning(Section):
    """Output encodings of a GPU: from as many queries on, where each is foreseen to test no more candidates (H100)."""

    #: counts as bytes in two dimensions: queries at least, tests at most
    bytes_2d: tuple[tuple[int, float], ...] = number(((6 << 20, 60.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: counts as bytes in three dimensions
    bytes_3d: tuple[tuple[int, float], ...] = number(((6 << 20, 116.0), (1 << 23, 140.0), (1 << 24, 160.0)))
    #: nearest neighbors in pairs in two dimensions
    pairs_2d: tuple[tuple[int, float], ...] = number(((3 << 20, 60.0),))
    #: nearest neighbors in pairs in three dimensions
    pairs_3d: tuple[tuple[int, float], ...] = number(((3 << 20, 130.0), (1 << 23, 200.0)))
    #: share of the free memory of a device that the first form takes, at most
    encoding_share: float = number(1 / 8, most=1)
