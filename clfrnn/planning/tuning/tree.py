"""The numbers of trees: leaves, how they are made, and how queries go down in packets."""

import dataclasses
import math

from .section import Section, number

__all__ = ["TreeTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeTuning(Section):
    """Leaves and packets."""

    #: points of a leaf, up to some neighbors each: small leaves mean fewer candidates out of reach, and more boxes
    #: (H200). Powers of two, as packets fetch them
    leaf_sizes: tuple[tuple[float, int], ...] = number(
        ((60.0, 8), (160.0, 16), (math.inf, 32)), cpu=((math.inf, 32),), least=1, power_of_two=True
    )
    #: nodes for each point, at most, or leaves are twice as large: 12 bytes a point in three dimensions
    nodes_of_point: float = number(0.358, least=0.01)
    #: work-items of a group that makes a tree
    build_group: int = number(8, gpu=128, least=1)
    #: leaves of such a group, at least (H200)
    least_group_leaves: int = number(128, gpu=64, least=2, power_of_two=True)
    #: leaves of such a group, at most: the last group goes through what all have found (H200)
    most_group_leaves: int = number(128, gpu=256, least=2, power_of_two=True)
    #: groups that make a tree on each compute unit, as long as their leaves lie between these
    build_groups_a_unit: int = number(2, least=1)
    #: points of a block that is halved, at most
    halved_points: int = number(1024, least=2, power_of_two=True)
    #: the same for each item of its group: code is written out for as many (H200: four are slower)
    halved_of_item: int = number(8, least=2, power_of_two=True)
    #: points in a part of the curve, at most, in the mean (counts take up to 3 % longer with sixteen times as many)
    part_points: int = number(8, least=1, power_of_two=True)
    #: pairs of sampled points that are compared for each point, to cut the curve (counts of clusters take 2 % longer
    #: with half as many)
    sample_pairs: int = number(64, least=1)
    #: points for each that is sampled, at least
    least_apart: int = number(10, least=1)
    #: work-items that compare some sampled points with all others
    comparing_items: int = number(64, least=1, power_of_two=True)
    #: sampled points that they compare together
    compared_points: int = number(4, least=1)
    #: queries that follow each other on the curve and are sorted by their radii: packets of larger blocks are less
    #: compact
    block_queries: int = number(512, least=1)
    #: largest radii in a block from which on its width has it stay in the order of the curve (H200)
    wide_block: float = number(8.0)
    #: ratio of the largest radius of a block to its smallest up to which it stays in that order, too (H200)
    alike_radii: float = number(1.5, least=1)

    #: width of a packet, in reaches, from which on each query says whether it touches a node (H200)
    wide_packet: int = number(32, least=1)
    #: queries of a packet that look into the same leaves, up to some neighbors each: more of them fetch fewer points
    #: each, fewer look into fewer leaves (H200)
    bands: tuple[tuple[float, int], ...] = number(((22.0, 4), (300.0, 8), (math.inf, 16)), least=1, power_of_two=True)
    #: the same, at most, where queries are sorted by their radii
    ranked_band: int = number(8, least=1, power_of_two=True)
    #: points that a band fetches together, at least
    least_chunk: int = number(8, least=1, power_of_two=True)
    #: points that a band fetches together, at most
    largest_chunk: int = number(32, least=1, power_of_two=True)
    #: numbers of points that an item holds of these, at most
    fetched_numbers: int = number(16, least=1)
    #: candidates of a chunk that are loaded at a time, plain ones and others (H200)
    unrolled: tuple[int, int] = number((32, 8), least=1)
    #: neighbors from which on whole leaves are counted and lists are written by sectors (H200: sooner with 380, not
    #: with 140)
    many_neighbors: float = number(300.0)
    #: points in a cube of side radius, in the mean over points, from which on queries with radii of their own are
    #: sorted by these, and uneven ones divided (H200)
    crowd: float = number(100.0)
    #: unevenness of a crowd from which on several items count each query (H200: sooner from 4 on in three decades of
    #: density, later in even clouds)
    uneven_crowd: float = number(3.0)
    #: queries for each compute unit up to which several items count each: packets are too few to keep it busy
    few_queries_a_unit: int = number(256, least=0)
