"""The numbers of "auto": thresholds between methods."""

import dataclasses
import math

from .section import Section, number

__all__ = ["AutoTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class AutoTuning(Section):
    """Thresholds from which on grids, trees and the choice of cell sides are faster than what is simpler."""

    #: points up to which a single search with as many queries uses brute force. 4,000 points in 3D took a GPU with a
    #: fast host 0.89 times as long as a grid, and one with a slow host 0.71 times; 8,000 points 1.28 and 0.89, 16,000
    #: points 2.2 and 1.35 times; on a CPU 250 points took 0.8 times, 500 points 1.1 times
    pairs_once: int = number(512, gpu=6000, least=0)
    #: the same in a periodic box, where a pair is tested in each image: 500 points took a GPU 1.07 and 0.82 times as
    #: long as a grid, 1,000 points 1.69 and 1.15; 250 points took a CPU 0.95 to 1.1 times as long
    pairs_once_periodic: int = number(256, gpu=500, least=0)
    #: queries up to which a GPU uses brute force for twice as many points in a periodic box: 1,000 points for 256
    #: queries took 1.01 and 0.81 times as long as a grid, 2,000 points 1.56 and 1.07
    few_queries: int = number(256, least=0)
    #: points up to which an index in two or three dimensions uses brute force; a step is an update and a query. A GPU
    #: is faster with cells from 64 points on; on a CPU 64 points took 0.85 to 1.1 times as long with cells
    pairs_in_loop: int = number(50, gpu=0, least=0)
    #: the same in a periodic box
    pairs_in_loop_periodic: int = number(50, gpu=0, least=0)
    #: points up to which an index that no grid serves uses brute force: 128 points took a CPU 1.0 to 1.25 times as long
    #: with a tree
    pairs_in_loop_of_tree: int = number(150, gpu=0, least=0)
    #: the same in a periodic box
    pairs_in_loop_of_tree_periodic: int = number(100, gpu=0, least=0)
    #: pairs of few points and any number of queries up to which a GPU tests all pairs (H200: 500 points with a million
    #: queries, or 2,000 points with 250,000)
    most_pairs: int = number(1 << 29, least=0)
    #: number of queries that take a CPU as long as one query by brute force (one query of 262,144 points took 24.7 ms,
    #: and 14.7 ms by strips; 20 queries of 10,000 points took 1.4 and 1.8 ms)
    least_queries: int = number(16, least=1)
    #: points and queries up to which a GPU searches once through cells of side r before the best side is known: 1,000
    #: to 16,000 points took 0.85 to 0.9 times as long (H100); steps with lists of 65,536 points 0.9 to 1.04 times
    most_unweighed: int = number(1 << 16, least=0)
    #: neighbors up to which a GPU does so
    most_neighbors_unweighed: float = number(50.0)
    #: share of all points that are neighbors of a point, above which a tree excludes too few points
    most_of_all: float = number(0.25, most=1)
    #: pairs of two thresholds: the number of other points in a point's cell, and its unevenness. From both on, a tree
    #: is faster than cells, as it divides the work of the few points with most neighbors (H200, 2D and 3D)
    crowds: tuple[tuple[float, float], ...] = number((), gpu=((50.0, 2.2), (10.0, 4.0)))
    #: the same for few points (H200: at 1.7, a filament)
    crowds_of_few: tuple[tuple[float, float], ...] = number((), gpu=((50.0, 1.6), (50.0, 2.2), (10.0, 4.0)))
    #: points for each compute unit that count as few
    few_points_a_unit: int = number(512, least=0)
    #: largest number of points that count as few: as many as were measured (H200)
    most_few_points: int = number(1 << 16, least=0)
    #: neighbors from which on an index uses a tree, as whole leaves lie within the radius; counts and lists are weighed
    #: against each other (H200, 65,536 to 1,048,576 points with 200 to 6,800 neighbors)
    tree_neighbors_in_loop: float = number(math.inf, gpu=1_200.0)
    #: the same for a single search, which makes a list: trees are slower at writing lists
    tree_neighbors_once: float = number(math.inf, gpu=1_500.0)
    #: the same for queries with radii of their own, most of which are smaller; twice as many for few points
    tree_neighbors_varied: float = number(math.inf, gpu=2_000.0)
