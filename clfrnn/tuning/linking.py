"""The numbers of linking: when points of a cell are linked together, and how many."""

import dataclasses

from .section import Section, number

__all__ = ["LinkingTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkingTuning(Section):
    """Cliques, which are points of a cell that are all neighbors of each other."""

    #: the number of other points in a point's cell, on average over all points, from which on cells are so narrow that
    #: their points are cliques
    least_others: float = number(4.0)
    #: the same on average over pairs: the points of a crowd count as often as they have neighbors
    least_crowd: float = number(32.0)
    #: largest number of points of a clique, as one work-item goes through them
    longest_clique: int = number(256, least=2)
    #: work-items of a group that finds and links cliques
    group: int = number(64, least=1)
