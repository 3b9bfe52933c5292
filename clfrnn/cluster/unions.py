"""Unions: the code that visits of an index run to link points to clusters.

Links are a forest: ``links[k]`` is k at a root, and lower than k elsewhere, so the root of a tree is its lowest point.
A link only ever moves to another ancestor, and a root becomes a child only by an atomic exchange that finds it a root.
A plain read may therefore be old: it still leads to an ancestor, and the exchange finds out. No work-item waits for
another. Trees that are linked by all pairs are the connected parts, whatever the order of the pairs, so the roots are
the same on every device.
"""

from __future__ import annotations

from ..functions import NeighborFunction

__all__ = ["LINK_ALL", "LINK_CORE", "TAKE_BORDER"]

_FOREST = """
// An ancestor of k that was a root when it was read. The way of those who come later is halved.
int frnn_root(volatile global int *links, int k)
{
    int next = links[k];
    while (next != k) {
        const int beyond = links[next];
        if (beyond == next) return next;
        atomic_min(&links[k], beyond);
        k = beyond;
        next = links[k];
    }
    return k;
}

// Makes a and b members of one tree; returns an ancestor of both.
int frnn_unite(volatile global int *links, int a, int b)
{
    b = links[b];
    if (a == b) return a;
    for (;;) {
        b = frnn_root(links, b);
        if (a == b) return a;
        a = frnn_root(links, a);
        if (a == b) return a;
        const int high = a > b ? a : b, low = a > b ? b : a;
        const int found = atomic_cmpxchg(&links[high], high, low);
        if (found == high) return low;
        a = low;
        b = found;
    }
}
"""

#: Links all neighbors. Each pair is visited twice and linked once.
LINK_ALL = NeighborFunction(
    preamble=_FOREST,
    arguments="volatile global int *links",
    state="int frnn_own = i;",
    per_neighbor="if (j < i) frnn_own = frnn_unite(links, frnn_own, j);",
)

#: Links core points that are neighbors. The links of other points are negative, and these search for nothing.
LINK_CORE = NeighborFunction(
    preamble=_FOREST,
    arguments="volatile global int *links, global const uchar *core",
    state="int frnn_own = i; if (!core[i]) reach2 = -1;",
    per_neighbor="if (j < i && core[j]) frnn_own = frnn_unite(links, frnn_own, j);",
)

#: Gives each point that is not core the lowest label among the core points within reach.
TAKE_BORDER = NeighborFunction(
    arguments="global const uchar *core, global int *labels",
    state="int frnn_lowest = INT_MAX; if (core[i]) reach2 = -1;",
    per_neighbor="if (core[j]) frnn_lowest = min(frnn_lowest, labels[j]);",
    finish="if (frnn_lowest != INT_MAX) labels[i] = frnn_lowest;",
)
