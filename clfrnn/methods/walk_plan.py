"""Plans of walks: the brute-force walk over tiles, and the walk over cells."""

from __future__ import annotations

import functools

from ..config import REAL_SIZE, TileConfig, WalkConfig
from ..domain.box import CELLS
from ..groups import group_size, square_root
from ..profile import DeviceProfile
from ..tuning import Tuning

__all__ = ["plan_tile", "plan_walk"]


def plan_tile(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str, periodic: str) -> TileConfig:
    """Plan the brute-force walk: a tile of one point per work-item, or fewer where local memory is small."""
    size = group_size(profile, tuning.walks.tile_group)
    tile = max(size, tuning.walks.least_tile)
    while tile > 1 and tile * dim * REAL_SIZE[real] > profile.usable_local_memory:
        tile //= 2
    return TileConfig(
        work_group_size=size,
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        tile=tile,
    )


@functools.lru_cache(maxsize=64)
def plan_walk(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    periodic: str,
    edges: bool = False,
    crowded: bool = False,
) -> WalkConfig:
    """Plan a walk over cells: small groups on a GPU, where a crowded query delays its group (Chisholm 2020, §4.2).

    With `edges` it is planned for counts in a periodic box, where queries whose windows cross an edge have more to do:
    few registers for each work-item let the device run many others meanwhile. With `crowded` it is planned for long
    runs of candidates, where no axis is periodic.
    """
    numbers, cpu = tuning.walks, profile.kind == "cpu"
    pairs = crowded and not cpu
    edge_registers = numbers.edge_registers_of_cell if periodic in CELLS else numbers.edge_registers
    return WalkConfig(
        work_group_size=group_size(profile, numbers.edge_group if edges else numbers.group),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        # On a CPU a work-item tests a vector of candidates at a time. On a GPU a record is one wide load. In pairs,
        # where candidates are many, no more coordinates are loaded than are needed.
        layout="columns" if cpu else "pairs" if pairs else "records",
        width=numbers.vector_bytes // REAL_SIZE[real] if cpu else 1,
        # The fewer candidates at a time, the fewer registers, and the more work-items run while others wait for memory.
        # Where each candidate may have an image of its own, registers are many in any case.
        unrolled=None if cpu else numbers.unrolled_crowded if pairs else numbers.unrolled,
        # Fused operations save two operations for each candidate.
        fused=pairs and profile.fma and real == "float",
        held=numbers.mask_words_held,
        ahead=numbers.mask_words_ahead,
        stage=numbers.mask_stage,
        lockstep=1 if cpu else profile.simd_width,
        registers=edge_registers if edges and profile.register_option and real == "float" else None,
    )
