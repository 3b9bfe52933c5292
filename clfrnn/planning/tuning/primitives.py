"""The numbers of primitives: reductions, copies, scans, sorts, and what is worked out for each pair of a list."""

import dataclasses

from .section import Section, number

__all__ = ["PrimitiveTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrimitiveTuning(Section):
    """Groups and tiles. On a CPU the items of a group take turns: groups are narrow, and each item has many rows.

    Groups of one item need no barriers, of which a compiler for CPUs makes most of its work: PoCL took a quarter of a
    second less for each kernel of a scan or a box than with groups of eight, and the kernels no longer.
    """

    #: groups of a pass over an array, for each compute unit
    groups_a_unit: int = number(8, least=1)
    #: groups of a pass in all, at most: one group goes through what all of them found
    most_groups: int = number(1024, least=1)
    #: work-items of a group that reduces points to their box
    reduce_group: int = number(1, gpu=256, least=1)
    #: points of such an item, at least, before there is another group
    reduce_items: int = number(4, least=1)
    #: points whose cells the occupancy sample looks into, at most
    sampled_points: int = number(1 << 12, least=1, most=1 << 20)
    #: points that the occupancy sample counts in these cells, at most
    counted_points: int = number(1 << 20, least=1)
    #: counters for each sampled point, so that few of their cells meet in one
    sample_slots: int = number(64, least=1, most=1 << 10)
    #: work-items of a group that copies, gathers, fills or unpacks rows
    copy_group: int = number(128, least=1)
    #: fours of bytes that an item widens to integers
    widen_items: int = number(4, least=1)
    #: pairs of an integer and a real that an item takes apart
    unpack_items: int = number(8, least=1)
    #: work-items of a group that brings rows out of a neighbor buffer, a row each
    buffer_rows_group: int = number(8, gpu=256, least=1)

    #: work-items of a group that scans its share of many counts
    scan_group: int = number(1, gpu=256, least=1)
    #: counts of such an item in a tile
    scan_items: int = number(64, gpu=8, least=1)
    #: counts up to which one launch scans all: each group adds up what comes before its tile (H200)
    one_launch_counts: int = number(1 << 14, gpu=1 << 17, least=-1)
    #: work-items of a group in that launch (H200: half as many take longer)
    short_scan_group: int = number(1, gpu=1024, least=1)
    #: counts of its tile (H200: half as many take longer)
    short_scan_tile: int = number(4096, least=1)
    #: counts that an item keeps in registers there, at most, where groups are narrower than planned
    short_scan_items: int = number(512, gpu=16, least=1)

    #: work-items of a group that sorts a tile of keys
    sort_group: int = number(8, gpu=128, least=1)
    #: keys of such an item
    sort_items: int = number(256, gpu=16, least=1)
    #: keys of an item up to which they stay in registers and are sorted in local memory before they are moved
    sort_register_items: int = number(16, least=0)
    #: tiles up to which each group adds up the digits of all by itself instead of by a scan (H200: 512 yes, 1,024 no)
    sort_few_tiles: int = number(768, least=0)

    #: work-items of a group that works out distances, vectors and shifts of pairs
    pair_group: int = number(256, least=1)
    #: pairs of such an item: the rows of a group are looked for once
    pair_items: int = number(8, least=1)
    #: work-items of a group that sorts rows, one each
    row_sort_group: int = number(64, least=1)
    #: work-items of a group of a GPU that sorts short rows, an entry each
    short_row_group: int = number(256, least=1)
    #: entries of a short row, at most: twice as many keys of 12 bytes have to fit local memory
    short_row_entries: int = number(512, least=1, most=512)
