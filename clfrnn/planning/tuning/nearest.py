"""The numbers of k nearest neighbors: where rows are held, and how far the first search for them reaches."""

import dataclasses

from .section import Section, number

__all__ = ["NearestTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearestTuning(Section):
    """Rows of the k nearest, and the reach of searches without a radius."""

    #: largest k whose row is held in registers, in float32; in float64, where a place takes three registers, half of it
    register_places: int = number(32, least=0)
    #: places by which the rows in registers differ, so that programs are few
    place_step: int = number(4, least=1)
    #: neighbors that the first search foresees, for each of the k
    foreseen: float = number(1.25, least=1)
    #: the same for each root of k: chance takes that many away in places
    foreseen_of_root: float = number(2.0)
    #: ratio of the neighbors in the ball of a typical point to those foreseen, from which on the reach is shortened
    crowded: float = number(2.0, least=1)
    #: share of all points that a ball may hold; for more of them all points are searched at once
    most_of_all: float = number(0.25, most=1)
    #: factor by which each search over cells reaches farther than the one before (H200, 10 M points: with 2 even clouds
    #: take up to a tenth less, with 2.5 halos up to 7 % less)
    farther: float = number(2.25, least=1)
    #: searches over cells, at most; a tree then searches for the rest
    most_steps: int = number(8, least=1)
    #: work-items of a group that looks for rows that are not full, or measures rows
    group: int = number(128, least=1)
