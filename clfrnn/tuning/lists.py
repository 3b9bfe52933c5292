"""The numbers of lists: first passes, and how attributes of pairs are written."""

import dataclasses

from .section import Section, number

__all__ = ["ListTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListTuning(Section):
    """First passes and attributes."""

    #: mean number of neighbors from which on a count over cells writes a hit mask, and a GPU writes indices by sectors
    #: (H200)
    mask_neighbors: float = number(6.0, cpu=0.0)
    #: largest number of slots of a neighbor buffer for each query: enough for 10 neighbors in the mean (H200: with 12 a
    #: hit mask is as fast)
    buffer_slots: int = number(20, least=0)
    #: largest share of the free memory of a device that a first pass takes
    first_pass_share: float = number(1 / 8, most=1)
    #: numbers of a list besides indices from which on a GPU writes indices alone and computes the other numbers from
    #: them, for any number of points (H200)
    attributes_apart: float = number(6e6)
    #: the same for each point (H200)
    attributes_apart_of_point: float = number(1.5)
    #: work-items of a group that visits the pairs of a list, a row each: on a CPU an item has such a loop alone
    visit_group: int = number(1, gpu=128, least=1)
