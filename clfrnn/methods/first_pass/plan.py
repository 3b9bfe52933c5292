"""ListFacts: what a search structure offers to the plans of lists. Pure."""

from __future__ import annotations

import dataclasses

__all__ = ["ListFacts"]


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
