"""Blocks: coarse cells that are worth having, and what of a block fits local memory. Pure functions.

A block is a coarse cell with what its queries may see around it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

from ..domain import CellGrid, padded_radius
from ..profile import DeviceProfile
from .coarse_grid import divide
from .configs import REAL_SIZE, WalkConfig
from .groups import group_size, square_root
from .problem import Problem
from .tuning import Tuning

__all__ = [
    "BlockConfig",
    "block_memory",
    "block_points",
    "fit_fine",
    "plan_block",
    "useful_cells",
    "why_no_tiles",
    "without_tiles",
]

#: Images of cells that a group looks at, at most: so many that nearly all pairs are tested in any case.
_MOST_NEIGHBORS = 1 << 20

#: A whole number of cells stays one, though it was rounded since.
_WHOLE = 1 + 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockConfig(WalkConfig):
    """The walk of one group through one block."""

    #: candidates in local memory at a time; 0 where each query goes through global memory by itself
    tile: int
    #: cells of the local grid, at most
    fine: int
    #: work-items that go through the border of one neighboring cell together
    team: int
    #: queries of one cell that one group serves, at least, where there are so many
    chunk: int

    def names(self) -> dict[str, Any]:
        """The fields; tiles have places of their own; a driver may have allowed smaller groups than planned teams."""
        return {**super().names(), "by_place": not self.tile, "team": min(self.team, self.work_group_size)}

    def inline(self) -> BlockConfig:
        """The same walk without tiles, as a piece of another kernel, whose work-items need not stay together."""
        return dataclasses.replace(self, tile=0)


def useful_cells(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    problem: Problem,
    low: tuple[float, ...],
    high: tuple[float, ...],
    tile: int | None = None,
) -> int:
    """Coarse cells that are worth having, over points between `low` and `high`, whatever local memory could count.

    With `tile`, blocks fit one that is compiled already.
    """
    if problem.box is not None:
        low, high = problem.box.domain(low, high)
    numbers, reach = tuning.fenns, padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    wanted = max(numbers.least_cells, numbers.cells_a_unit * profile.compute_units)
    busy = min(problem.n / numbers.least_cell_points, wanted)
    if not 0 < density < math.inf:
        return math.ceil(busy)
    root = density ** (-1 / problem.dim)
    room = max(0, min(numbers.tile_bytes, profile.usable_local_memory - numbers.bytes_beside))
    items = group_size(profile, numbers.widest_group)
    candidate = 4 + _candidate_bytes(problem.dim, problem.real, problem.box)
    each = min(numbers.tile_points_of_item[-1], room // (items * candidate))
    of_block = numbers.tile_share * (tile or each * items)
    side = numbers.cell_points ** (1 / problem.dim) * root
    fitting = of_block ** (1 / problem.dim) * root - 2 * reach
    if fitting <= reach:
        return problem.n
    # The nearest number of cells, or as many as it takes for blocks to fit.
    parts = (max((b - a) / side - 0.5, (b - a) / fitting) for a, b in zip(low, high, strict=True))
    cells = math.prod(math.ceil(max(1.0, min(part, problem.n))) for part in parts)
    return max(1, math.ceil(min(problem.n, max(cells, busy))))


def fit_fine(
    grid: CellGrid, tuning: Tuning, *, problem: Problem, most: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The local grid over a coarse cell and the reach around it: how many cells on each axis, and one over their sides.

    Cells of less than the radius, or about wide enough to hold a point, but no more than `most`.
    """
    reach = padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    space = density ** (-1 / problem.dim) if 0 < density < math.inf else 0.0
    side = tuning.fenns.fine_side * max(reach, space)
    extents = [coarse + 2 * reach for coarse in grid.sides]
    caps = [max(1, math.floor(min(most, extent / side * _WHOLE))) for extent in extents]
    shape = divide(extents, caps, most)
    return shape, tuple(many / extent if many > 1 else 0.0 for many, extent in zip(shape, extents, strict=True))


def _candidate_bytes(dim: int, real: str, periodic: object) -> int:
    """Bytes of a tile for each candidate: its record, and where it may be an image, its shift."""
    return 4 * REAL_SIZE[real] + (4 * dim if periodic else 0)


def block_memory(config: BlockConfig) -> int:
    """Bytes of local memory that one group of the walk declares."""
    candidate = _candidate_bytes(config.dim, config.real, config.periodic)
    sums = 4 * (config.work_group_size + -(-config.work_group_size // 16))
    neighbors = 3**config.dim * (8 + config.dim * 3 * REAL_SIZE[config.real])
    turns = 3**config.dim * config.dim * 4 if config.periodic else 0
    corner = config.dim * REAL_SIZE[config.real]
    return config.tile * candidate + 4 * (config.fine + 2) + sums + neighbors + turns + corner


def block_points(problem: Problem, grid: CellGrid) -> float:
    """Points that are expected in a coarse cell and the reach of its queries around it."""
    reach = padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    return min(problem.n, density * math.prod(side + 2 * reach for side in grid.sides))


def plan_block(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid) -> BlockConfig:
    """Groups for the queries of a cell, and the tile for what they are expected to see, or the largest that fits.

    On a CPU a group is one work-item: nobody waits at barriers, and its local memory is a cache that it has to itself.
    It would fill a tile for each query where candidates do not fit one, and goes without tiles then. So does any device
    where a window reaches over very many images of a cell, and one whose driver bounds loops: an item that serves
    many queries takes many turns.
    """
    numbers, density = tuning.fenns, problem.survey.density(problem.radius)
    reach = padded_radius(problem.radius, problem.real)
    own = min(problem.n, density * math.prod(grid.sides))
    held = block_points(problem, grid)
    # Points whose cells were counted, as they did not hold what was foreseen, lie unevenly.
    room = numbers.tile_room_uneven if problem.survey.counted else numbers.tile_room
    wanted = max(room * held + 3 * math.sqrt(held) + 8, min(numbers.least_tile, problem.n))
    cpu = profile.kind == "cpu"
    border = min(own, density * (math.prod(grid.sides) - math.prod(max(0.0, side - 2 * reach) for side in grid.sides)))
    items = max(own / 2, wanted / numbers.tile_points_of_item[-1], profile.simd_width)
    size = 1 if cpu else group_size(profile, min(numbers.widest_group, 1 << math.ceil(math.log2(items))))
    tiles = numbers.tile_points_alone if cpu else numbers.tile_points_of_item
    serves = profile.loop_turns is None and not _reaches_far(problem, grid)
    block = functools.partial(_block, profile, tuning, problem=problem, border=border)
    while size and serves:
        configs = (block(size=size, tile=size * each) for each in tiles)
        fitting = [config for config in configs if block_memory(config) <= profile.usable_local_memory]
        enough = [config for config in fitting if config.tile >= wanted]
        if enough or (fitting and not cpu):
            return enough[-1] if enough and cpu else (enough or fitting[-1:])[0]
        size //= 2
    return block(size=group_size(profile, numbers.group_without_tiles), tile=0)


def _reaches_far(problem: Problem, grid: CellGrid) -> bool:
    """Whether a window may reach over so many images of cells that their number could overflow."""
    reach = padded_radius(problem.radius, problem.real)
    around = (math.ceil(min(reach / side, 2.0**40)) + 3 for side in grid.sides)
    return math.prod(2 * each + 1 for each in around) > _MOST_NEIGHBORS


def why_no_tiles(profile: DeviceProfile, problem: Problem, grid: CellGrid) -> str:
    """Why :func:`plan_block` has planned none, in words."""
    if profile.loop_turns is not None:
        return "the driver bounds loops"
    if _reaches_far(problem, grid):
        return "the radius reaches over very many images of the box"
    return "what a cell's queries see does not fit local memory"


def without_tiles(config: BlockConfig, profile: DeviceProfile, tuning: Tuning) -> BlockConfig:
    """The same walk query by query, in groups that share nothing."""
    size = group_size(profile, tuning.fenns.group_without_tiles)
    return dataclasses.replace(config, tile=0, work_group_size=size)


def _block(
    profile: DeviceProfile, tuning: Tuning, *, problem: Problem, size: int, tile: int, border: float
) -> BlockConfig:
    numbers, team = tuning.fenns, 1
    widest = min(size, profile.simd_width, border if border >= profile.simd_width else numbers.border_team)
    while 2 * team <= widest:
        team *= 2
    return BlockConfig(
        work_group_size=size,
        dim=problem.dim,
        real=problem.real,
        square_root=square_root(profile, problem.real),
        periodic=problem.box is not None,
        layout="records",
        width=1,
        unrolled=None if profile.kind == "cpu" else numbers.unrolled,
        fused=False,
        held=tuning.walks.mask_words_held,
        ahead=tuning.walks.mask_words_ahead,
        stage=tuning.walks.mask_stage,
        lockstep=1,
        registers=numbers.registers if profile.register_option and problem.real == "float" else None,
        tile=tile,
        fine=tile,
        team=team,
        chunk=max(numbers.least_chunk, numbers.tiles_of_chunk * tile),
    )
