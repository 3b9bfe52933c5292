"""Plans of walks: brute force over tiles, and the walk over cells."""

from __future__ import annotations

from ..profile import DeviceProfile
from .configs import REAL_SIZE, TileConfig, WalkConfig
from .groups import group_size, square_root

__all__ = ["plan_tile", "plan_walk"]


#: Bytes of the vectors that a CPU tests candidates in; compilers split them where its own are shorter.
_BATCH = 32


#: With so many registers each, as many work-items as most GPUs can hold are in flight.
_FEW_REGISTERS = 32


def plan_tile(profile: DeviceProfile, *, dim: int, real: str, periodic: bool) -> TileConfig:
    """The brute-force walk: a tile of one point per work-item, fewer where local memory is short."""
    size = group_size(profile, 256 if profile.kind == "gpu" else 64)
    tile = max(size, 64)
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


def plan_walk(
    profile: DeviceProfile, *, dim: int, real: str, periodic: bool, edges: bool = False, crowded: bool = False
) -> WalkConfig:
    """A walk over cells: small groups on a GPU, where a crowded query keeps its group waiting (Chisholm 2020, §4.2).

    With `edges` for counts in a periodic box, where those who look over an edge have more to do: the others pass the
    time only if there are many of them, with few registers each (measured). `crowded` where queries have runs of some
    candidates to go through, and no box is periodic.
    """
    cpu = profile.kind == "cpu"
    ahead = crowded and not cpu
    return WalkConfig(
        work_group_size=group_size(profile, 256 if cpu else 128 if edges else 64),
        dim=dim,
        real=real,
        square_root=square_root(profile, real),
        periodic=periodic,
        # On a CPU a work-item tests a vector at a time; on a GPU one record is one wide load, and lanes that find
        # nothing wait for the others anyway. Of many candidates no more is loaded than is asked for.
        layout="columns" if cpu else "pairs" if crowded else "records",
        width=_BATCH // REAL_SIZE[real] if cpu else 1,
        # The fewer candidates at a time, the fewer registers, hence the more work-items that hide each other's waiting;
        # where each candidate may have an image of its own, they are too many already.
        unrolled=None if cpu else (4, 4) if ahead else (2, 4),
        # Two operations less for each candidate.
        fused=ahead and profile.fma and real == "float",
        lockstep=1 if cpu else profile.simd_width,
        registers=_FEW_REGISTERS if edges and profile.register_option and real == "float" else None,
    )
