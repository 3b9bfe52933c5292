"""Trees: what is compiled in for a tree of bounding boxes, and its shape. Pure functions, as :mod:`clfrnn.plan`."""

from __future__ import annotations

import dataclasses
from typing import Any

from .configs import REAL_SIZE, PointConfig, RunConfig
from .plan import group_size, plan_walk
from .profile import DeviceProfile

__all__ = ["TreeConfig", "TreeWalkConfig", "count_leaves", "default_leaf_size", "plan_tree", "plan_tree_walk"]

#: Points of a leaf. On a GPU the fewer, the fewer candidates out of reach; on a CPU a leaf is a few vectors.
_LEAF = {"gpu": 16, "cpu": 32}

#: Work-items and leaves of a group that makes boxes, so that points are loaded by all of them, leaves made by some.
_GROUP, _LEAVES = 256, 64

#: Queries that go down the tree together, as many as a number has bits; fewer than a node has descendants three levels
#: down would leave some of these untested.
_PACK, _LEAST_PACK = 32, 8

#: Bits of a key, and of one coordinate in it: no more than the numbers themselves tell apart.
_KEY_BITS = 63
_COORDINATE_BITS = {"float": 24, "double": 31}

#: Records hold so many coordinates beside an id.
_OF_RECORD = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeConfig(PointConfig):
    """Making a tree, and fitting its boxes to points that have moved."""

    periodic: bool
    columns: bool
    #: points of a leaf
    leaf_size: int
    #: leaves of a group, a power of two
    leaves: int
    #: bits of a key for each coordinate
    bits: int

    @property
    def key_bits(self) -> int:
        """Bits of a key in all."""
        return self.bits * self.dim

    @property
    def key(self) -> str:
        """The type of keys in OpenCL C."""
        return "uint" if self.key_bits <= 32 else "ulong"

    @property
    def corners(self) -> int:
        """Numbers of the box of a node: its corners, padded to vectors in three dimensions."""
        return 8 if self.dim == 3 else 2 * self.dim

    def names(self) -> dict[str, Any]:
        """The fields, and the type of keys."""
        return {**super().names(), "key": self.key}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TreeWalkConfig(RunConfig):
    """The walk over a tree."""

    #: points of a leaf
    leaf_size: int
    #: the queries of a group go down the tree together; else each goes by itself
    packed: bool

    def names(self) -> dict[str, Any]:
        """The fields; a driver may have allowed groups too small to test a node's descendants side by side."""
        return {**super().names(), "packed": self.packed and self.work_group_size >= _LEAST_PACK}

    def inline(self) -> TreeWalkConfig:
        """The same walk as a piece of another kernel, whose work-items need not stay together."""
        return dataclasses.replace(self, width=1, packed=False)


def default_leaf_size(profile: DeviceProfile) -> int:
    """Points of a leaf, when the caller does not say."""
    return _LEAF.get(profile.kind, _LEAF["gpu"])


def count_leaves(n: int, leaf_size: int) -> int:
    """Leaves of a tree over n points: as many as are needed, and up to a power of two."""
    needed = max(1, -(-n // leaf_size))
    return 1 << (needed - 1).bit_length()


def _columns(profile: DeviceProfile, dim: int) -> bool:
    """Whether points are kept by columns: on a CPU, and where a record has no room for them."""
    return profile.kind == "cpu" or dim > _OF_RECORD


def plan_tree(profile: DeviceProfile, *, dim: int, real: str, periodic: bool, leaf_size: int) -> TreeConfig:
    """Wide groups on a GPU, narrow ones on a CPU; as many leaves as local memory has room for."""
    size = group_size(profile, _GROUP if profile.kind == "gpu" else 8)
    leaves = _LEAVES
    of_leaf = 2 * dim * REAL_SIZE[real] + REAL_SIZE[real] + 4
    while leaves > 1 and leaves * of_leaf > profile.usable_local_memory:
        leaves //= 2
    while size > 1 and size * (REAL_SIZE[real] + 4) > profile.usable_local_memory:
        size //= 2
    return TreeConfig(
        work_group_size=size,
        dim=dim,
        real=real,
        periodic=periodic,
        columns=_columns(profile, dim),
        leaf_size=leaf_size,
        leaves=leaves,
        bits=min(_COORDINATE_BITS[real], _KEY_BITS // dim),
    )


def plan_tree_walk(
    profile: DeviceProfile, *, dim: int, real: str, periodic: bool, leaf_size: int, packed: bool
) -> TreeWalkConfig:
    """As walks over cells: a leaf is a run of candidates as a row of cells is. In packs, groups are small."""
    walk = plan_walk(profile, dim=dim, real=real, periodic=periodic)
    return TreeWalkConfig(
        work_group_size=group_size(profile, _PACK) if packed else walk.work_group_size,
        dim=dim,
        real=real,
        square_root=walk.square_root,
        periodic=periodic,
        columns=_columns(profile, dim),
        width=walk.width,
        unrolled=walk.unrolled,
        leaf_size=leaf_size,
        packed=packed,
    )
