"""Blocks: coarse cells that are worth having, and what of a block fits local memory. Pure, as :mod:`clfrnn.planning.primitives`.

A block is a coarse cell with what its queries may see around it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..domain import CellGrid, padded_radius
from ..profile import DeviceProfile
from .coarse_grid import divide
from .configs import REAL_SIZE, WalkConfig
from .groups import group_size, square_root
from .problem import Problem

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

#: Tiles by what one work-item of a GPU holds of them, which compilers keep in registers; and on a CPU, where one that
#: is too large costs nothing, and one that is outgrown costs most: the largest that fits.
_EACH = (1, 2, 3, 4, 5, 6, 8)
_TILES_OF_ONE = (512, 4096)

#: Work-items of the widest group.
_WIDEST = 256

#: Work-items of a group that shares nothing, where a group with tiles has fewer.
_ALONE = 64

#: Registers of a work-item, where the compiler is told: waiting for memory is hidden by other groups.
_REGISTERS = 40

#: The side of a fine cell, in radii where points are dense, else in the space that a point has to itself (measured).
_FINE = 0.7

#: Queries of a crowded cell that one group serves, at least.
_LEAST_CHUNK = 256

#: Points of a cell, where local memory can count as many cells: fewer are soon done, and see more borders than points
#: of their own; of more, what their queries see around them fits no tile (measured). On a CPU as many are as quick, but
#: an item alone fills a tile again for each query of a cell that has grown too full for one.
_OF_CELL = {"gpu": 700, "cpu": 150}

#: Cells are made smaller where a block would hold more points than this share of what fits local memory, or so many
#: bytes of it, beside so many for the rest.
_SHARE_OF_TILE, _BYTES_OF_TILE, _BYTES_BESIDE = 0.8, 45_000, 3000

#: Cells for each compute unit, so that all are busy, and in all; but no fewer points in each.
_CELLS_A_UNIT, _CELLS, _LEAST_OF_CELL = 3, 64, 8

#: Smaller tiles would not be quicker, and every size of them is a compilation.
_LEAST_TILE = 256

#: Work-items that go through a border together where that has fewer points than items in lockstep.
_FEW_OF_BORDER = 8

#: Tiles have room for so many times the points of a block.
_SPARE, _SPARE_OF_UNEVEN = 1.1, 1.6

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
    reach = padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    busy = min(problem.n / _LEAST_OF_CELL, max(_CELLS, _CELLS_A_UNIT * profile.compute_units))
    if not 0 < density < math.inf:
        return math.ceil(busy)
    root = density ** (-1 / problem.dim)
    room = max(0, min(_BYTES_OF_TILE, profile.usable_local_memory - _BYTES_BESIDE))
    items = group_size(profile, _WIDEST)
    each = min(_EACH[-1], room // (items * (4 + _candidate_bytes(problem.dim, problem.real, problem.box))))
    of_block, of_cell = _SHARE_OF_TILE * (tile or each * items), _OF_CELL.get(profile.kind, _OF_CELL["gpu"])
    side, fitting = of_cell ** (1 / problem.dim) * root, of_block ** (1 / problem.dim) * root - 2 * reach
    if fitting <= reach:
        return problem.n
    # The nearest number of cells, or as many as it takes for blocks to fit.
    parts = (max((b - a) / side - 0.5, (b - a) / fitting) for a, b in zip(low, high, strict=True))
    cells = math.prod(math.ceil(max(1.0, min(part, problem.n))) for part in parts)
    return max(1, math.ceil(min(problem.n, max(cells, busy))))


def fit_fine(grid: CellGrid, *, problem: Problem, most: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The local grid over a coarse cell and the reach around it: how many cells on each axis, and one over their sides.

    Cells of less than the radius, or about wide enough to hold a point, but no more than `most`.
    """
    reach = padded_radius(problem.radius, problem.real)
    density = problem.survey.density(problem.radius)
    space = density ** (-1 / problem.dim) if 0 < density < math.inf else 0.0
    side = _FINE * max(reach, space)
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


def plan_block(profile: DeviceProfile, *, problem: Problem, grid: CellGrid) -> BlockConfig:
    """Groups for the queries of a cell, and the tile for what they are expected to see, or the largest that fits.

    On a CPU a group is one work-item: nobody waits at barriers, and its local memory is a cache that it has to itself.
    It would fill a tile for each query where candidates do not fit one, and goes without tiles then. So does any device
    where a window reaches over very many images of a cell, and one whose driver bounds loops: an item that serves
    many queries takes many turns.
    """
    density = problem.survey.density(problem.radius)
    reach = padded_radius(problem.radius, problem.real)
    own = min(problem.n, density * math.prod(grid.sides))
    held = block_points(problem, grid)
    # Points whose cells were counted, as they did not hold what was foreseen, lie unevenly.
    wanted = (_SPARE_OF_UNEVEN if problem.survey.counted else _SPARE) * held + 3 * math.sqrt(held) + 8
    wanted = max(wanted, min(_LEAST_TILE, problem.n))
    cpu = profile.kind == "cpu"
    border = min(own, density * (math.prod(grid.sides) - math.prod(max(0.0, side - 2 * reach) for side in grid.sides)))
    items = max(own / 2, wanted / _EACH[-1], profile.simd_width)
    size = 1 if cpu else group_size(profile, min(_WIDEST, 1 << math.ceil(math.log2(items))))
    tiles = _TILES_OF_ONE if cpu else _EACH
    serves = profile.loop_turns is None and not _reaches_far(problem, grid)
    while size and serves:
        configs = (_block(profile, problem=problem, size=size, tile=size * each, border=border) for each in tiles)
        fitting = [config for config in configs if block_memory(config) <= profile.usable_local_memory]
        enough = [config for config in fitting if config.tile >= wanted]
        if enough or (fitting and not cpu):
            return enough[-1] if enough and cpu else (enough or fitting[-1:])[0]
        size //= 2
    return _block(profile, problem=problem, size=group_size(profile, _ALONE), tile=0, border=border)


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


def without_tiles(config: BlockConfig, profile: DeviceProfile) -> BlockConfig:
    """The same walk query by query, in groups that share nothing."""
    return dataclasses.replace(config, tile=0, work_group_size=group_size(profile, _ALONE))


def _block(profile: DeviceProfile, *, problem: Problem, size: int, tile: int, border: float) -> BlockConfig:
    team = 1
    while 2 * team <= min(size, profile.simd_width, border if border >= profile.simd_width else _FEW_OF_BORDER):
        team *= 2
    return BlockConfig(
        work_group_size=size,
        dim=problem.dim,
        real=problem.real,
        square_root=square_root(profile, problem.real),
        periodic=problem.box is not None,
        layout="records",
        width=1,
        unrolled=None if profile.kind == "cpu" else (2, 2),
        fused=False,
        lockstep=1,
        registers=_REGISTERS if profile.register_option and problem.real == "float" else None,
        tile=tile,
        fine=tile,
        team=team,
        chunk=max(_LEAST_CHUNK, 8 * tile),
    )
