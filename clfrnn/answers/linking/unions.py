"""Unions: the code that visits of an index run to link points to clusters.

Links are a forest: ``links[k]`` is k at a root, and lower than k elsewhere, so the root of a tree is its lowest point.
A link only ever moves to another ancestor, and a root becomes a child only by an atomic exchange that finds it a root.
A plain read may therefore be old: it still leads to an ancestor, and the exchange finds out. No work-item waits for
another. Trees that are linked by all pairs are the connected parts, whatever the order of the pairs, so the roots are
the same on every device.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ...functions import NeighborFunction
from ...profile import DeviceProfile

__all__ = ["TAKE_BORDER", "Unions", "forest", "read_of_link", "unions_for"]


class Unions(NamedTuple):
    """The functions that link points; each pair is visited twice and linked once.

    The links are their argument `forest`, which `preamble` does not name: `state` could write to it otherwise.
    """

    #: links all neighbors
    of_all: NeighborFunction
    #: links core points that are neighbors; other points do not search
    of_core: NeighborFunction


#: Gives each point that may be at a border the lowest label among the core points within reach; others do not search.
TAKE_BORDER = NeighborFunction(
    arguments="global const uchar *core, global const uchar *border, global int *labels",
    state="int clfrnn_lowest_label = INT_MAX; if (!border[i]) reach2 = -1;",
    per_neighbor="if (core[j]) clfrnn_lowest_label = min(clfrnn_lowest_label, labels[j]);",
    finish="if (clfrnn_lowest_label != INT_MAX) labels[i] = clfrnn_lowest_label;",
)

_FOREST = """
#define CLFRNN_LINK(k) (%s)

// An ancestor of k that was a root when it was read. The way of those who come later is halved.
int clfrnn_tree_root(volatile global int *links, int k)
{
    int next = CLFRNN_LINK(k);
    while (next != k) {
        const int beyond = CLFRNN_LINK(next);
        if (beyond == next) return next;
        atomic_min(&links[k], beyond);
        k = beyond;
        next = CLFRNN_LINK(k);
    }
    return k;
}

// Makes a and b members of one tree; returns an ancestor of both.
int clfrnn_unite(volatile global int *links, int a, int b)
{
    b = CLFRNN_LINK(b);
    if (a == b) return a;
    for (;;) {
        b = clfrnn_tree_root(links, b);
        if (a == b) return a;
        a = clfrnn_tree_root(links, a);
        if (a == b) return a;
        const int high = a > b ? a : b, low = a > b ? b : a;
        const int found = atomic_cmpxchg(&links[high], high, low);
        if (found == high) return low;
        a = low;
        b = found;
    }
}
"""


def read_of_link(profile: DeviceProfile) -> str:
    """How ``links[k]`` is read while others change it.

    Memory of CPUs and GPUs gives an old number or a new one. OpenCL 1.2 promises that for atomic operations alone,
    which take several times as long; other devices, checkers of races among them, get these.
    """
    return "links[k]" if profile.kind in ("cpu", "gpu") else "atomic_or(&links[k], 0)"


def forest(read: str) -> str:
    """The OpenCL C that finds roots and unites trees; `read` is how ``links[k]`` is read."""
    return _FOREST % read


def unions_for(profile: DeviceProfile) -> Unions:
    """The functions that link points on a device."""
    return _unions(read_of_link(profile))


@functools.cache
def _unions(read: str) -> Unions:
    return Unions(
        of_all=NeighborFunction(
            preamble=forest(read),
            arguments="volatile global int *forest",
            state="int clfrnn_ancestor = i;",
            per_neighbor="if (j < i) clfrnn_ancestor = clfrnn_unite(forest, clfrnn_ancestor, j);",
        ),
        of_core=NeighborFunction(
            preamble=forest(read),
            arguments="volatile global int *forest, global const uchar *core",
            state="int clfrnn_ancestor = i; if (!core[i]) reach2 = -1;",
            per_neighbor="if (j < i && core[j]) clfrnn_ancestor = clfrnn_unite(forest, clfrnn_ancestor, j);",
        ),
    )
