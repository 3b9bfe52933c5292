"""The numbers of primitives: reductions, copies, scans, sorts, and attributes of pairs."""

import dataclasses

from .section import Section, number

__all__ = ["PrimitiveTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrimitiveTuning(Section):
    """Groups and tiles. On a CPU the work-items of a group run in turn: groups are narrow, and items have many rows.

    Groups of one work-item need no barriers, on which a compiler for CPUs spends most of its work: a kernel of
    a scan or a box compiled a quarter of a second sooner than with groups of eight, and took no longer.
    """

    #: groups of a pass over an array, for each compute unit
    groups_a_unit: int = number(8, least=1)
    #: largest number of groups of a pass: one group reads the results of all
    most_groups: int = number(1024, least=1)
    #: work-items of a group that reduces points to their bounding box
    reduce_group: int = number(1, gpu=256, least=1)
    #: least number of points of such a work-item before another group is used
    reduce_items: int = number(4, least=1)
    #: largest number of points whose cells the occupancy sample covers
    sampled_points: int = number(1 << 12, least=1, most=1 << 20)
    #: largest number of points that the occupancy sample counts in these cells
    counted_points: int = number(1 << 20, least=1)
    #: counters for each sampled point, so that few cells share one
    sample_slots: int = number(64, least=1, most=1 << 10)
    #: work-items of a group that copies, gathers, fills or unpacks rows
    copy_group: int = number(128, least=1)
    #: work-items of a group that bounds the points of a system
    system_group: int = number(64, least=1)
    #: groups of four bytes that a work-item widens to integers
    unpack_byte_items: int = number(4, least=1)
    #: pairs of an integer and a real that a work-item splits
    unpack_items: int = number(8, least=1)
    #: work-items of a group that copies rows out of a neighbor buffer, a row each
    buffer_rows_group: int = number(8, gpu=256, least=1)

    #: work-items of a group that scans a part of many counts
    scan_group: int = number(1, gpu=256, least=1)
    #: counts of such a work-item in a tile
    scan_items: int = number(64, gpu=8, least=1)
    #: counts up to which one launch scans all: each group adds up the counts before its tile (H200)
    one_launch_counts: int = number(1 << 14, gpu=1 << 17, least=-1)
    #: work-items of a group in that launch (H200: half as many take longer)
    short_scan_group: int = number(1, gpu=1024, least=1)
    #: counts of a tile there (H200: half as many take longer)
    short_scan_tile: int = number(4096, least=1)
    #: largest number of counts that a work-item holds in registers there, where groups are narrower than planned
    short_scan_items: int = number(512, gpu=16, least=1)

    #: work-items of a group that sorts a tile of keys
    sort_group: int = number(8, gpu=128, least=1)
    #: keys of such a work-item
    sort_items: int = number(256, gpu=16, least=1)
    #: keys of a work-item up to which they stay in registers and are sorted in local memory before they are written
    sort_register_items: int = number(16, least=0)
    #: tiles up to which each group adds up the digits of all tiles itself instead of by a scan (H200: 512 yes, 1,024
    #: no)
    sort_few_tiles: int = number(768, least=0)

    #: work-items of a group that computes distances, vectors and shifts of pairs
    pair_group: int = number(256, least=1)
    #: pairs of such a work-item: the rows of a group are looked up once
    pair_items: int = number(8, least=1)
    #: work-items of a group that sorts rows, one each
    row_sort_group: int = number(64, least=1)
    #: work-items of a group of a GPU that sorts short rows, one for each entry
    short_row_group: int = number(256, least=1)
    #: largest number of entries of a short row: twice as many keys of 12 bytes must fit local memory
    short_row_entries: int = number(512, least=1, most=512)
