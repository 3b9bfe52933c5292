"""Connected components, in numpy alone: what links of points in several parts make of their clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["connected", "numbered"]


def connected(n: int, a: npt.NDArray[np.integer[Any]], b: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """The lowest member of the component of each of `n` things, of which those of `a` and `b` are linked in pairs.

    Notes
    -----
    Roots of linked things point to the lowest root among them, and all pointers to the root of their target, until
    nothing changes. Cost: about log(n) rounds over the links and the things.

    Source: Shiloach and Vishkin (1982), without their concurrent writes.
    """
    parent = np.arange(n)
    while True:
        one, other = parent[a], parent[b]
        apart = one != other
        if not apart.any():
            return parent
        a, b, one, other = a[apart], b[apart], one[apart], other[apart]
        np.minimum.at(parent, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(parent, further := parent[parent]):
            parent = further


def numbered(group: npt.NDArray[np.integer[Any]], least: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """The number of each group, by its name, in the order of their first members, and whether it has enough.

    Parameters
    ----------
    group : (n,) the name of the group of each point, from 0 on; negative names are no groups
    least : smallest number of members; smaller groups have the number -1

    Returns
    -------
    (names,) int32 numbers, and (names,) bool
    """
    names = int(group.max(initial=-1)) + 1
    members = np.flatnonzero(group >= 0)
    enough = np.bincount(group[members], minlength=names) >= max(least, 1)
    first = np.full(names, len(group), np.int64)
    np.minimum.at(first, group[members], members)
    order = np.flatnonzero(enough)[np.argsort(first[enough], kind="stable")]
    number = np.full(names, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number, enough
