"""The numbers of walks over points: all pairs, and the cells of a window."""

import dataclasses

from .section import Section, number

__all__ = ["WalkTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkTuning(Section):
    """Groups of walks, candidates that are tested together, and how a hit mask is written and read."""

    #: work-items of a group that tests all pairs
    tile_group: int = number(64, gpu=256, least=1)
    #: points that pass through local memory at a time there, at least
    least_tile: int = number(64, least=1)
    #: work-items of a group that walks over cells: small ones where a crowded query holds its group up (Chisholm 2020)
    group: int = number(64, cpu=256, least=1)
    #: work-items of a group that counts where some queries look over an edge of a periodic box (H200)
    edge_group: int = number(128, cpu=256, least=1)
    #: registers of an item of such a group, at most: as many items as a GPU can hold are in flight (H200: 40 are
    #: slower)
    edge_registers: int = number(32, least=16)
    #: bytes of the vectors that a CPU tests candidates in; compilers split them where its own are shorter
    vector_bytes: int = number(32, least=16, most=32, power_of_two=True)
    #: candidates that a counting loop of a GPU takes at a time: without images, and where images differ (H200: four
    #: take 40 registers and are slower)
    unrolled: tuple[int, int] = number((2, 4), least=1)
    #: the same where runs of candidates are long
    unrolled_crowded: tuple[int, int] = number((4, 4), least=1)
    #: words of a hit mask that wait for those of the item's neighbors when they are written (H200)
    mask_words_held: int = number(4, least=1, most=16)
    #: words of a hit mask that are under way while one is read (H200)
    mask_words_ahead: int = number(6, least=1, most=16)
    #: neighbors of each row that a group reads from its hit mask at a time, some sectors of memory (H200)
    mask_stage: int = number(16, least=8, power_of_two=True)
