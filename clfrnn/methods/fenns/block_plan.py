"""Plans of FENNS: the number of coarse cells, and the tiles and fine grid of a block. Pure functions.

A block is a coarse cell with the surrounding space that its queries may see.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

from ...config import REAL_SIZE, WalkConfig
from ...domain.box import SYSTEMS
from ...domain.cells import CellGrid, padded_radius
from ...groups import busy_units, group_size, square_root
from ...problem import Problem
from ...profile import DeviceProfile
from ...tuning import Tuning
from ..grid.coarse_plan import divide

__all__ = [
    "BlockConfig",
    "block_memory",
    "block_points",
    "covers_many_images",
    "fit_fine",
    "plan_block",
    "useful_cells",
    "why_no_tiles",
    "without_tiles",
]

#: Largest number of cells and their images that a group visits; with more, nearly all pairs are tested anyway.
_MOST_NEIGHBORS = 1 << 20

#: Factor that makes a number of cells whole again after rounding.
_WHOLE = 1 + 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockConfig(WalkConfig):
    """The walk of one work-group through one block."""

    #: candidates in local memory at a time; 0 for a walk of single queries through global memory
    tile: int
    #: largest number of cells of the fine grid
    fine: int
    #: work-items that load the border of one adjacent cell together
    team: int
    #: queries of one cell that one group serves, at least, if there are as many
    chunk: int

    twice: ClassVar[bool] = False

    def names(self) -> dict[str, Any]:
        """The fields; a driver may allow smaller groups than the planned teams."""
        names = {**super().names(), "own_cells": False}
        return {**names, "by_place": not self.tile, "team": min(self.team, self.work_group_size)}

    def units(self, m: int, cells: int = 0) -> int:
        """With tiles, a work-group for each of the `cells`, and for each further chunk of m queries."""
        return self.work_group_size * (cells + m // self.chunk) if self.tile else m

    def inline(self) -> BlockConfig:
        """The same walk without tiles, as a part of another kernel, whose work-items need not run together."""
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
    """The number of coarse cells that is useful over points between `low` and `high`, if local memory can count them.

    With `tile`, blocks fit a tile that is compiled already.
    """
    numbers, reach = tuning.fenns, padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    wanted = max(numbers.least_cells, numbers.cells_a_unit * busy_units(profile))
    busy = min(problem.n / numbers.least_cell_points, wanted)
    if not 0 < density < math.inf:
        return math.ceil(busy)
    root = density ** (-1 / problem.dim)
    tile_bytes = max(0, min(numbers.tile_bytes, profile.usable_local_memory - numbers.bytes_beside))
    items = group_size(profile, numbers.widest_group)
    candidate = 4 + _candidate_bytes(problem.dim, problem.real, problem.periodic)
    each = min(_points_of_item(profile, tuning, items)[-1], tile_bytes // (items * candidate))
    of_block = numbers.tile_share * (tile or each * items)
    side = numbers.cell_points ** (1 / problem.dim) * root
    fitting = of_block ** (1 / problem.dim) * root - 2 * reach
    if fitting <= reach:
        return problem.n
    # The nearest number of cells, or as many as blocks need to fit.
    parts = (max((b - a) / side - 0.5, (b - a) / fitting) for a, b in zip(low, high, strict=True))
    cells = math.prod(math.ceil(max(1.0, min(part, problem.n))) for part in parts)
    return max(1, math.ceil(min(problem.n, max(cells, busy))))


def fit_fine(
    grid: CellGrid, tuning: Tuning, *, problem: Problem, most: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Plan the fine grid over a coarse cell and the radius around it: its shape and the inverses of its sides.

    Cells are narrower than the radius, or wide enough to hold about one point, and no more than `most`.
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
    """Bytes of a tile for each candidate: its record, and its shift where it may be an image."""
    return 4 * REAL_SIZE[real] + (4 * dim if periodic else 0)


def block_memory(config: BlockConfig) -> int:
    """Bytes of local memory that one group of the walk declares."""
    candidate = _candidate_bytes(config.dim, config.real, config.periodic)
    sums = 4 * (config.work_group_size + -(-config.work_group_size // 16))
    neighbors = 3**config.dim * (8 + config.dim * 3 * REAL_SIZE[config.real])
    shifts = 3**config.dim * config.dim * 4 if config.periodic else 0
    corner = config.dim * REAL_SIZE[config.real]
    return config.tile * candidate + 4 * (config.fine + 2) + sums + neighbors + shifts + corner


def block_points(problem: Problem, grid: CellGrid) -> float:
    """The expected number of points in a block."""
    reach = padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    return min(problem.n, density * math.prod(side + 2 * reach for side in grid.sides))


def plan_block(profile: DeviceProfile, tuning: Tuning, *, problem: Problem, grid: CellGrid) -> BlockConfig:
    """Plan groups for the queries of a cell, and a tile for the candidates of a block, or the largest that fits.

    On a CPU a group is one work-item: no work-item waits at barriers, and local memory is a cache of its own. A CPU
    would fill a tile for each query where the candidates do not fit one, so it goes without tiles there. All devices go
    without tiles where a window covers very many images of a cell, and where the driver bounds loops, as a work-item
    that serves many queries takes many turns.
    """
    numbers, density = tuning.fenns, problem.survey.density(problem.radius)
    reach = padded_radius(problem.radius, problem.real)
    own = min(problem.n, density * math.prod(grid.sides))
    held = block_points(problem, grid)
    # Points were counted in coarse cells where the first plan expected another density; such points lie unevenly.
    margin = numbers.tile_margin_uneven if problem.survey.counted else numbers.tile_margin
    wanted = max(margin * held + 3 * math.sqrt(held) + 8, min(numbers.least_tile, problem.n))
    cpu = profile.kind == "cpu"
    border = min(own, density * (math.prod(grid.sides) - math.prod(max(0.0, side - 2 * reach) for side in grid.sides)))
    items = max(own / 2, wanted / numbers.tile_points_of_item[-1], profile.simd_width)
    size = 1 if cpu else group_size(profile, min(numbers.widest_group, 1 << math.ceil(math.log2(items))))
    serves = profile.loop_turns is None and problem.periodic not in SYSTEMS and not covers_many_images(problem, grid)
    block = functools.partial(_block, profile, tuning, problem=problem, border=border)
    while size and serves:
        tiles = numbers.tile_points_alone if cpu else _points_of_item(profile, tuning, size)
        configs = (block(size=size, tile=size * each) for each in tiles)
        fitting = [config for config in configs if block_memory(config) <= profile.usable_local_memory]
        enough = [config for config in fitting if config.tile >= wanted]
        if enough or (fitting and not cpu):
            return enough[-1] if enough and cpu else (enough or fitting[-1:])[0]
        size //= 2
    return block(size=group_size(profile, numbers.group_without_tiles), tile=0)


def _points_of_item(profile: DeviceProfile, tuning: Tuning, size: int) -> tuple[int, ...]:
    """Points of a tile for each work-item of a group of that size, to choose from.

    A GPU's widest groups may have larger tiles, where local memory holds more than 48 KiB.
    """
    numbers = tuning.fenns
    widest = profile.kind == "gpu" and size == numbers.widest_group
    return (*numbers.tile_points_of_item, *numbers.large_tile_points_of_item) if widest else numbers.tile_points_of_item


def covers_many_images(problem: Problem, grid: CellGrid) -> bool:
    """Whether a window may cover more images of cells than an int32 counts."""
    reach = padded_radius(problem.radius, problem.real)
    around = (math.ceil(min(reach / side, 2.0**40)) + 3 for side in grid.sides)
    return math.prod(2 * each + 1 for each in around) > _MOST_NEIGHBORS


def why_no_tiles(profile: DeviceProfile, problem: Problem, grid: CellGrid) -> str:
    """The reason, in words, why :func:`plan_block` has planned no tiles."""
    if profile.loop_turns is not None:
        return "the driver bounds loops"
    if problem.periodic in SYSTEMS:
        return "each query finds the images of its own system"
    if covers_many_images(problem, grid):
        return "the radius reaches over very many images of the box"
    return "what a cell's queries see does not fit local memory"


def without_tiles(config: BlockConfig, profile: DeviceProfile, tuning: Tuning) -> BlockConfig:
    """The same walk for single queries, in groups that share nothing."""
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
        periodic=problem.periodic,
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
