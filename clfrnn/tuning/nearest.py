"""The numbers of k nearest neighbors: where rows are held, and how far the first search for them reaches."""

import dataclasses
import math

from .section import Section, number

__all__ = ["NearestTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearestTuning(Section):
    """Rows of the k nearest, and the reach of searches without a radius."""

    #: largest k whose row is held in registers, in float32; in float64, where a place takes three registers, half of it
    register_places: int = number(32, least=0)
    #: places for each lane of a vector, up to which longer rows are held in registers: where a CPU's vectors are long,
    #: its registers hold more (two cores, 16 lanes, k = 40 to 64: about half the time; 128 places compile for seconds)
    places_of_lane: int = number(0, cpu=4, least=0)
    #: places that are one vector in float32, for devices that compute with vectors; 0 for none (two cores: 16
    #: neighbors of 262,144 points take half the time)
    vector_places: int = number(0, cpu=8, most=8)
    #: places by which the rows in registers differ, so that programs are few
    place_step: int = number(4, least=1)
    #: places from which on a walk over cells of a GPU counts the neighbors of a query by distance, where points are
    #: even, before it takes those within the bound that follows; 0 where it never does (H100, 1 M points: 8, 16 and 30
    #: neighbors take 1.07, 0.84 and 0.76 of the time; `clfrnn tune` took 16 on an H100 and on an H200)
    counted_first: int = number(0, gpu=16)
    #: largest unevenness of points that are even there: uniform clouds and surfaces have 1.1 to 1.2, clusters, halos
    #: and normal distributions 1.6 and more
    even: float = number(1.4, least=1)
    #: neighbors of a query that wait in local memory there, besides as many as there are places
    slots_beside: int = number(8)
    #: neighbors of a query that wait in local memory in packets of queries, which take them together
    waiting: int = number(32, least=16)
    #: points before and behind those of a work-group, in the order of a tree, that give first bounds
    beside: int = number(48, least=1)
    #: unevenness of points from which on packets of queries go through a tree, one first bound for each query
    uneven: float = number(math.inf, gpu=2.0, least=1)
    #: ratio of first bounds of neighboring queries above which the one that reaches farther has a search of its own
    alike: float = number(16.0, least=1)
    #: neighbors that the first search foresees, for each of the k
    foreseen: float = number(1.25, least=1)
    #: the same for each root of k: chance takes that many away in places
    foreseen_of_root: float = number(2.0)
    #: ratio of the neighbors in the ball of a typical point to those foreseen, from which on the reach is shortened
    #: (two cores, 16 neighbors of 262,144 points: at 5, halos took 115 ms, and 127 at 8; narrow ones 147, and 178 at 4)
    crowded: float = number(2.0, cpu=5.0, least=1)
    #: the same ratio up to which later searches, for sparser places, reach as far as an even cloud needs (two cores:
    #: at 150, clusters took 280 ms; at 9,000, a cloud of three decades took 18 s)
    most_foreseen: float = number(256.0, least=1)
    #: the same ratio at the shortest reach, above which points may coincide: cells would not tell them apart
    coincident: float = number(16.0, least=1)
    #: share of all points that a ball may hold; for more of them all points are searched at once
    most_of_all: float = number(0.25, most=1)
    #: squared distances up to which all points are gone through for the queries that are left, which are few
    few_pairs: int = number(1 << 21, gpu=1 << 27, least=0)
    #: the largest number of these queries: each takes a thousand bytes of counters
    few_queries: int = number(1024, least=0, most=1 << 20)
    #: the largest k for which they are: the row of a query is sorted by one work-group
    most_of_few: int = number(1024, least=0)
    #: squared distances up to which queries that are left go beyond the reach of an even cloud, through the cells that
    #: there are. A work-item may meet all points there; a GPU has groups for that. (Two cores, 110,000 points of a
    #: laser scan: 8 nearest in 0.71 of the time, 16 in 0.75.)
    far_pairs: int = number(1 << 24, gpu=0, least=0)
    #: factor by which each search over cells reaches farther than the one before (H200, 10 M points: with 2 even clouds
    #: take up to a tenth less, with 2.5 halos up to 7 % less)
    farther: float = number(2.25, least=1)
    #: work-items of a group that looks for rows that are not full, or measures rows
    group: int = number(128, least=1)
