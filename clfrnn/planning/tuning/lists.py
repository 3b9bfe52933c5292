"""The numbers of lists: what a first pass leaves for the second, room for lists to come, and attributes of pairs."""

import dataclasses

from .section import Section, number

__all__ = ["ListTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListTuning(Section):
    """First passes and capacity."""

    #: neighbors from which on a count of cells leaves a hit mask, and lists of numbers alone are written by sectors
    #: (H200)
    mask_neighbors: float = number(6.0, cpu=0.0)
    #: words of a hit mask that there is room for, in words that a query is expected to fill
    mask_room: float = number(1.25, least=0)
    #: places of a hit mask of a CPU that there is room for, in neighbors that few queries have more than
    place_room: float = number(1.0, least=0)
    #: share of the free memory of a device that a hit mask takes, at most
    mask_share: float = number(1 / 8, most=1)

    #: slots of a neighbor buffer for each query over cells, at most: for 10 neighbors in the mean (H200: with 12 a hit
    #: mask is as soon)
    buffer_slots: int = number(20, least=0)
    #: slots of a neighbor buffer, in standard deviations above the mean: so that no query has more neighbors, or few
    #: have
    buffer_deviations: tuple[float, float] = number((6.0, 3.0))
    #: share of the free memory of a device that a neighbor buffer takes, at most
    buffer_share: float = number(1 / 8, most=1)
    #: bytes of a neighbor buffer that stays for the following list, at most
    buffer_bytes: int = number(1 << 25, least=0)

    #: rows of a block whose neighbors a count adds up, at least
    least_block_rows: int = number(256, least=1, power_of_two=True)
    #: blocks of rows, about, at most: each group goes through the sums of all before its own
    most_blocks: int = number(1 << 10, least=1)
    #: rows up to which sums of blocks stand in for a scan (H200: a million of random points take as long)
    most_summed_rows: int = number(1 << 19, least=0)

    #: numbers of a list besides indices from which on these are worked out pair by pair, in any case (H200)
    attributes_apart: float = number(6e6)
    #: the same for each point, which has to be read back (H200)
    attributes_apart_of_point: float = number(1.5)

    #: room of a list in a loop, in pairs of the longest before it
    spare_room: float = number(1.125, least=1)
    #: lists in a row that take less than half of their room before the following get less
    patience: int = number(8, least=1)
