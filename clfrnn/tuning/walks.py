"""The numbers of walks over points: all pairs, and the cells of a window."""

import dataclasses

from .section import Section, number

__all__ = ["WalkTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkTuning(Section):
    """Groups of walks, candidates that are tested together, and the words of hit masks."""

    #: work-items of a group that tests all pairs
    tile_group: int = number(64, gpu=256, least=1)
    #: least number of points that pass through local memory at a time there
    least_tile: int = number(64, least=1)
    #: work-items of a group that walks over cells: in small groups a crowded query delays few others (Chisholm 2020)
    group: int = number(64, cpu=256, least=1)
    #: work-items of a group that counts where windows cross an edge of a periodic box (H200)
    edge_group: int = number(128, cpu=256, least=1)
    #: largest number of registers of a work-item there, so that the GPU runs as many as it can (H200: 40 are slower)
    edge_registers: int = number(32, least=16)
    #: the same in a cell that is not rectangular, where displacements have all coordinates (not measured yet)
    edge_registers_of_cell: int = number(40, least=16)
    #: bytes of the vectors in which a CPU tests candidates; compilers split them where the CPU's own are shorter
    vector_bytes: int = number(32, least=16, most=32, power_of_two=True)
    #: candidates that a counting loop of a GPU takes at a time, without images and with them (H200: four take 40
    #: registers and are slower)
    unrolled: tuple[int, int] = number((2, 4), least=1)
    #: the same where runs of candidates are long
    unrolled_crowded: tuple[int, int] = number((4, 4), least=1)
    #: words of a hit mask that a work-item collects before it writes them together with those of adjacent items (H200)
    mask_words_held: int = number(4, least=1, most=16)
    #: words of a hit mask that are loaded ahead of the one that is read (H200)
    mask_words_ahead: int = number(6, least=1, most=16)
    #: neighbors of each row that a group reads from its hit masks at a time, a few sectors of memory (H200)
    mask_stage: int = number(16, least=8, power_of_two=True)
