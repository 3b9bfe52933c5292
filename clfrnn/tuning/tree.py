"""The numbers of trees: leaves, construction, and packets of queries."""

import dataclasses
import math

from .section import Section, number

__all__ = ["TreeTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeTuning(Section):
    """Leaves and packets."""

    #: queries of a packet, which go down the tree together; not more than an integer has bits. Where more work-items
    #: run in lockstep, a packet has as many queries as these: see ``clfrnn/methods/tree/packet_plan.py``
    packet_queries: int = number(32, least=1, most=32, power_of_two=True)
    #: points of a leaf, each up to a number of neighbors: small leaves hold fewer candidates beyond the radius, and
    #: need more boxes (H200). Powers of two, as packets load them. On a CPU a vector of candidates takes little longer
    #: than one, and a box that has to be opened is a branch foretold wrong
    leaf_sizes: tuple[tuple[float, int], ...] = number(
        ((60.0, 8), (160.0, 16), (math.inf, 32)), cpu=((12.0, 64), (math.inf, 128)), least=1, power_of_two=True
    )
    #: largest of these in a periodic box, where each candidate may have an image of its own, and takes longer
    periodic_leaf: int = number(32, least=1, power_of_two=True)
    #: largest number of nodes for each point, above which leaves are twice as large: 12 bytes a point in three
    #: dimensions
    nodes_of_point: float = number(0.358, least=0.01)
    #: work-items of a group that builds a tree
    build_group: int = number(8, gpu=128, least=1)
    #: least number of leaves of such a group (H200)
    least_group_leaves: int = number(128, gpu=64, least=2, power_of_two=True)
    #: largest number of leaves of such a group: the last group reads the results of all (H200)
    most_group_leaves: int = number(128, gpu=256, least=2, power_of_two=True)
    #: groups that build a tree for each compute unit, within these limits of leaves
    build_groups_a_unit: int = number(2, least=1)
    #: largest number of points of a block that is halved
    halved_points: int = number(1024, least=2, power_of_two=True)
    #: the same for each work-item: code is unrolled that often (H200: four are slower)
    halved_of_item: int = number(8, least=2, power_of_two=True)
    #: mean number of points in a part of the curve, at most (counts take up to 3 % longer with sixteen times as many)
    part_points: int = number(8, least=1, power_of_two=True)
    #: pairs of sampled points that are compared, for each point, to divide the curve (counts of clusters take 2 %
    #: longer with half as many)
    sample_pairs: int = number(64, least=1)
    #: least number of points for each sampled point
    least_apart: int = number(10, least=1)
    #: work-items that compare some sampled points with all others
    comparing_items: int = number(64, least=1, power_of_two=True)
    #: sampled points that each of these compares at once
    compared_points: int = number(4, least=1)
    #: queries of a block that is sorted by radius: packets of larger blocks are less compact
    block_queries: int = number(512, least=1)
    #: width of a block, in its largest radii, from which on it stays in the order of the curve (H200)
    wide_block: float = number(8.0)
    #: ratio of a block's largest radius to its smallest up to which it stays in that order, too (H200)
    alike_radii: float = number(1.5, least=1)

    #: width of a packet, in padded radii, from which on each query tests whether it touches a node (H200)
    wide_packet: int = number(32, least=1)
    #: queries of a band, each up to a number of neighbors: large bands load fewer points for each query, small bands
    #: test fewer leaves (H200)
    bands: tuple[tuple[float, int], ...] = number(((22.0, 4), (300.0, 8), (math.inf, 16)), least=1, power_of_two=True)
    #: largest number of queries of a band where queries are sorted by radius
    ranked_band: int = number(8, least=1, power_of_two=True)
    #: the same where neighbors wait to be taken together
    waiting_band: int = number(4, least=1, most=16, power_of_two=True)
    #: the largest number of points of a chunk there
    waiting_chunk: int = number(8, least=1, most=16, power_of_two=True)
    #: leaves of such a packet after which its queries are left to searches of their own: where points are few beside
    #: many, first bounds reach far into these
    waiting_leaves: int = number(4096, least=1)
    #: least number of points of a chunk, which a band loads together
    least_chunk: int = number(8, least=1, power_of_two=True)
    #: largest number of points of a chunk
    largest_chunk: int = number(32, least=1, power_of_two=True)
    #: largest number of coordinates and indices of a chunk that a work-item holds
    fetched_numbers: int = number(16, least=1)
    #: candidates of a chunk that are loaded at a time, in light functions and in others (H200)
    unrolled: tuple[int, int] = number((32, 8), least=1)
    #: neighbors from which on whole leaves are counted and lists are written by sectors (H200: faster with 380, not
    #: with 140)
    many_neighbors: float = number(300.0)
    #: points in a cube of side radius, in the mean over points, from which on queries with radii of their own are
    #: sorted by radius, and uneven crowds are served by several work-items a query (H200)
    crowd: float = number(100.0)
    #: unevenness of a crowd from which on several work-items count each query (H200: faster from 4 on in three decades
    #: of density, slower in even clouds)
    uneven_crowd: float = number(3.0)
    #: queries for each compute unit up to which several work-items count each: fewer packets do not occupy it
    few_queries_a_unit: int = number(256, least=0)
