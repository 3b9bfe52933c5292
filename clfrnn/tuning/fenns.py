"""The numbers of FENNS: coarse cells, and tiles of candidates in local memory."""

import dataclasses

from .section import Section, number

__all__ = ["FennsTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FennsTuning(Section):
    """The number of coarse cells, the sort into them, and the walk of a group through one block."""

    #: points of a coarse cell. With fewer, borders hold more points than cells do; with more, a block fits no tile
    #: (H200; on a CPU 600 points save an even cloud an eighth, but four to six times the time is taken when points have
    #: drawn together since the construction, as tiles are filled again where a cell has grown)
    cell_points: int = number(700, cpu=150, least=1)
    #: least number of points of a coarse cell, where cells are fewer than compute units need
    least_cell_points: int = number(8, least=1)
    #: least number of coarse cells for each compute unit
    cells_a_unit: int = number(3, least=1)
    #: least number of coarse cells in all
    least_cells: int = number(64, least=1)
    #: share of the largest tile that the expected points of a block fill, at most
    tile_share: float = number(0.8, least=0.01, most=1)
    #: largest number of bytes of a tile in local memory
    tile_bytes: int = number(45_000, gpu=122_880, least=0)
    #: bytes of local memory for the rest of a block
    bytes_beside: int = number(3000, least=0)
    #: side of a fine cell, in radii, or in the mean distance of points where these are sparse (H200: 0.6 to 2 gain
    #: nothing)
    fine_side: float = number(0.7, least=0.01)
    #: ratio of the density found to the expected one from which on coarse cells are planned again; chance is added to
    #: it
    as_foreseen: float = number(1.25, least=1)
    #: share of the grid that points must fill on an axis, else the grid is made again, as its cells grow too full
    least_filled: float = number(0.7, most=1)

    #: work-items of a group that counts points in coarse cells (H200: twice and four times as many are not faster)
    count_group: int = number(64, gpu=256, least=1)
    #: groups that count on each compute unit, where each clears and adds up all counters (H200)
    count_groups_a_unit: int = number(2, least=1)
    #: points that such a work-item loads before it counts the first of them (H200)
    count_batch: int = number(1, gpu=8, least=1)
    #: distance between two counters in global memory, in integers, so that atomic operations on both do not wait for
    #: each other (H200)
    counter_spread: int = number(1, gpu=8, least=1)
    #: points for each work-item up to which one group sorts all points, in one launch instead of three
    few_of_item: int = number(32, least=0)

    #: work-items of the widest group that walks through a block
    widest_group: int = number(256, least=1)
    #: work-items of a group without tiles
    group_without_tiles: int = number(64, least=1)
    #: largest number of registers of a work-item: groups that run meanwhile hide the latency of memory (H200: 32 and 48
    #: gain nothing, 56 and 64 lose)
    registers: int = number(40, least=16)
    #: candidates of a counting loop that a GPU takes at a time, without images and with them (H200: 1 and 4 gain
    #: nothing)
    unrolled: tuple[int, int] = number((2, 2), least=1)
    #: points of a tile for each work-item of a group, to choose from
    tile_points_of_item: tuple[int, ...] = number((1, 2, 3, 4, 5, 6, 8), least=1)
    #: the same for the widest group of a GPU, where none of those holds a block: of the 64 or 128 KiB that some devices
    #: have, the rest is idle otherwise (chosen)
    large_tile_points_of_item: tuple[int, ...] = number((10, 11, 12, 14, 16, 20, 23), least=1)
    #: points of a tile of one work-item on a CPU, to choose from: a tile too large costs nothing, one too small the
    #: most
    tile_points_alone: tuple[int, ...] = number((512, 4096), least=1)
    #: least number of points of a tile: smaller tiles are not faster, and each size is compiled
    least_tile: int = number(256, least=1)
    #: capacity of a tile, as a ratio to the expected points of a block
    tile_margin: float = number(1.1, least=1)
    #: the same where points were counted in the cells, which happens where they lie unevenly
    tile_margin_uneven: float = number(1.6, least=1)
    #: tests of a query in its block, as a ratio to the work of one in the cells of a uniform grid, from which on these
    #: serve (chosen; even clouds have less than 1, a dam on a GPU 2.7, a filament 3.9)
    most_tests: float = number(3.0, least=0)
    #: cost of loading a candidate into a tile again for the next queries, in tests of each query (H100, points over
    #: three decades of scale: 3 and more, a dam: less than 3; on a CPU, a filament: 10)
    refill: float = number(10.0, gpu=3.0, least=0)
    #: least number of queries of a crowded cell that one group serves
    least_chunk: int = number(256, least=1)
    #: the same, in tiles
    tiles_of_chunk: int = number(8, least=1)
    #: largest number of work-items that load a border together, where it has fewer points than work-items run in
    #: lockstep (H200: 16 and 64 gain nothing)
    border_team: int = number(8, least=1)
