"""The numbers of FENNS: coarse cells, and tiles of candidates in local memory."""

import dataclasses

from .section import Section, number

__all__ = ["FennsTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FennsTuning(Section):
    """Coarse cells that are worth having, the sort into them, and the walk of a group through one block."""

    #: points of a coarse cell: fewer see more borders than points of their own, what more of them see fits no tile
    #: (H200; on a CPU as many are as quick, but fill tiles anew when a cell has grown)
    cell_points: int = number(700, cpu=150, least=1)
    #: points of a coarse cell, at least, where cells would be too few for all compute units
    least_cell_points: int = number(8, least=1)
    #: coarse cells for each compute unit, at least
    cells_a_unit: int = number(3, least=1)
    #: coarse cells in all, at least
    least_cells: int = number(64, least=1)
    #: share of the largest tile that a block may be expected to fill
    tile_share: float = number(0.8, least=0.01, most=1)
    #: bytes of local memory that a tile takes, at most
    tile_bytes: int = number(45_000, least=0)
    #: bytes of local memory that are left for the rest of a block
    bytes_beside: int = number(3000, least=0)
    #: side of a fine cell, in radii where points are dense, else in the space that a point has to itself (H200: 0.6 to
    #: 2 gain nothing)
    fine_side: float = number(0.7, least=0.01)
    #: density found, as a ratio to the foreseen one, from which on coarse cells are planned anew; chance comes on top
    as_foreseen: float = number(1.25, least=1)
    #: share of a grid that points have to fill on an axis, or it is made anew: its cells would grow too full
    least_filled: float = number(0.7, most=1)

    #: work-items of a group that counts points in coarse cells (H200: twice and four times as many are no sooner)
    count_group: int = number(64, gpu=256, least=1)
    #: groups that count on one compute unit, where each clears and adds up all counters (H200)
    count_groups_a_unit: int = number(2, least=1)
    #: points that such an item loads before it counts the first of them (H200)
    count_batch: int = number(1, gpu=8, least=1)
    #: integers from one counter in global memory to the following, so that atomics on both do not wait for each other
    #: (H200)
    counter_spread: int = number(1, gpu=8, least=1)
    #: points up to which one group sorts all, for each of its items, in one launch instead of three
    few_of_item: int = number(32, least=0)

    #: work-items of the widest group that walks through a block
    widest_group: int = number(256, least=1)
    #: work-items of a group without tiles
    group_without_tiles: int = number(64, least=1)
    #: registers of a work-item, at most: other groups hide the waiting for memory (H200: 32 and 48 gain nothing, 56 and
    #: 64 lose)
    registers: int = number(40, least=16)
    #: candidates of a counting loop that are taken at a time on a GPU, without images and with them (H200: 1 and 4 gain
    #: nothing)
    unrolled: tuple[int, int] = number((2, 2), least=1)
    #: points of a tile for each work-item of a group, one of these
    tile_points_of_item: tuple[int, ...] = number((1, 2, 3, 4, 5, 6, 8), least=1)
    #: points of a tile that one work-item of a CPU has to itself: one too large costs nothing, one outgrown most
    tile_points_alone: tuple[int, ...] = number((512, 4096), least=1)
    #: points of a tile, at least: smaller ones are no quicker, and each size is compiled
    least_tile: int = number(256, least=1)
    #: room of a tile, in points that a block is expected to hold
    tile_room: float = number(1.1, least=1)
    #: the same where points were counted, as they did not lie as foreseen: they lie unevenly
    tile_room_uneven: float = number(1.6, least=1)
    #: queries of a crowded cell that one group serves, at least
    least_chunk: int = number(256, least=1)
    #: the same in tiles
    tiles_of_chunk: int = number(8, least=1)
    #: work-items that go through a border together, at most, where it has fewer points than items in lockstep (H200: 16
    #: and 64 gain nothing)
    border_team: int = number(8, least=1)
