"""The numbers of linking: when points of a cell are linked together, and how many."""

import dataclasses

from .section import Section, number

__all__ = ["LinkingTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkingTuning(Section):
    """Cliques, which are points of a cell that are all neighbors of each other, and places that many points share."""

    #: the mean number of other points in a point's cell of side r, in two and in three dimensions, from which on cells
    #: are so narrow that their points are cliques (two cores, even clouds and halos in three dimensions: with 4 others
    #: it takes 1.3 to 2 times as long, with 16 to 24 0.65 to 1.15 times, with 64 and more a tenth to a third)
    least_others: tuple[float, float] = number((2.0, 4.0), cpu=(4.0, 24.0))
    #: foreseen neighbors of a point, above which points are looked at for places that many of them share (chosen: a
    #: hash of each point takes less than a test of as many pairs)
    coincident: float = number(256.0, least=0)
    #: largest number of points of a clique, as one work-item goes through them
    longest_clique: int = number(256, least=2)
    #: work-items of a group that finds and links cliques
    group: int = number(64, least=1)
