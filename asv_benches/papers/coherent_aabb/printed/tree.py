"""The paper's tree: balanced, built on the host by medians, with its nodes in breadth-first order, or at random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn

__all__ = ["BUCKET", "PaperTree", "median_order"]

Array = np.ndarray[Any, Any]

#: The most points of a leaf.
BUCKET = 20

GROUP = 64

#: A node is an index from 1 in breadth-first order; leaves are those from LEAVES on. Where nodes are at random, `at`
#: says in which place of `low` and `high` each of them is, and `who` which node is in a place.
_REFIT = """
kernel void fit_leaves(global const int *at, global const int *starts, global const int *order,
                       global const float *points, global float *low, global float *high) {
    const int leaf = get_global_id(0);
    if (leaf >= LEAVES) return;
    float3 least = INFINITY, most = -INFINITY;
    for (int k = starts[leaf]; k < starts[leaf + 1]; ++k) {
        const float3 p = vload3(order[k], points);
        least = fmin(least, p), most = fmax(most, p);
    }
    const int place = at[LEAVES + leaf];
    vstore3(least, place, low), vstore3(most, place, high);
}

void join(const int one, const int other, const int both, global float *low, global float *high) {
    vstore3(fmin(vload3(one, low), vload3(other, low)), both, low);
    vstore3(fmax(vload3(one, high), vload3(other, high)), both, high);
}

// The nodes of a level, which lie side by side from `first` on.
kernel void fit_level(const int first, global float *low, global float *high) {
    const int node = first + get_global_id(0);
    if (node < 2 * first) join(2 * node, 2 * node + 1, node, low, high);
}

// The same where nodes are at random: every one is asked for its level.
kernel void fit_scattered(const int first, global const int *who, global const int2 *children,
                          global float *low, global float *high) {
    const int place = get_global_id(0);
    if (place >= 2 * LEAVES || who[place] < first || who[place] >= 2 * first) return;
    join(children[place].x, children[place].y, place, low, high);
}
"""


def median_order(points: Array, levels: int) -> tuple[Array, Array]:
    """The points in the order of 2^levels leaves, and where each begins; a node is cut across its longest side.

    Halves differ by one point at most. (n,) and (2^levels + 1,) int32.
    """
    order, cloud, starts = np.arange(len(points), dtype=np.int32), points.copy(), np.array([0, len(points)])
    for _ in range(levels):
        middles = (starts[:-1] + starts[1:]) // 2
        for first, middle, end in zip(starts[:-1].tolist(), middles.tolist(), starts[1:].tolist(), strict=True):
            own = cloud[first:end]
            along = own[:, (own.max(axis=0) - own.min(axis=0)).argmax()]
            halves = along.argpartition(middle - first)
            cloud[first:end], order[first:end] = own[halves], order[first:end][halves]
        starts = np.append(np.stack([starts[:-1], middles], axis=1).ravel(), len(points))
    return order, starts.astype(np.int32)


class PaperTree:
    """The tree over points in 3D, float32, on a device.

    Parameters
    ----------
    session : whose queue and device are used
    points : (n, 3) float32, more than two leaves of them
    scattered : whether nodes are at random places instead of in breadth-first order

    Attributes
    ----------
    leaves : the number of leaves, a power of two
    order, starts : (n,) and (leaves + 1,) on the device: the points by leaves, and where each leaf begins
    low, high : (2 leaves, 3) on the device: the corners of boxes
    """

    def __init__(self, session: clfrnn.Session, points: Array, *, scattered: bool = False) -> None:
        levels = math.ceil(math.log2(len(points) / BUCKET))
        self.session, self.leaves, self.scattered = session, 1 << levels, scattered
        order, starts = median_order(points, levels)
        nodes = np.arange(2 * self.leaves, dtype=np.int32)
        at = np.random.default_rng(5).permutation(nodes) if scattered else nodes
        who = np.argsort(at).astype(np.int32)
        below = np.minimum(2 * who[:, None] + np.arange(2), 2 * self.leaves - 1)
        self.points, self.order, self.starts, self._at, self._who, self._children = (
            cla.to_device(session.queue, each)
            for each in (points, order, starts, at, who, np.ascontiguousarray(at[below], np.int32))
        )
        self.low, self.high = (cla.zeros(session.queue, (2 * self.leaves, 3), np.float32) for _ in range(2))
        self._program = cl.Program(session.context, f"#define LEAVES {self.leaves}\n{_REFIT}").build()
        self._kernels = {kernel.function_name: kernel for kernel in self._program.all_kernels()}
        self.refit()

    def refit(self) -> list[cl.Event]:
        """Fit the boxes of leaves, then those above, a launch for each level; not waited for."""
        low, high = self.low.data, self.high.data
        leaf = (self._at.data, self.starts.data, self.order.data, self.points.data)
        events = [self._launch("fit_leaves", self.leaves, *leaf, low, high)]
        first = self.leaves // 2
        while first:
            if self.scattered:
                own = (np.int32(first), self._who.data, self._children.data)
                events.append(self._launch("fit_scattered", 2 * self.leaves, *own, low, high))
            else:
                events.append(self._launch("fit_level", first, np.int32(first), low, high))
            first //= 2
        return events

    def boxes(self) -> Array:
        """(2, 2 leaves, 3) on the host: the corners by node; those of node 0, which there is none of, mean nothing."""
        places = self._at.get()
        return np.stack([self.low.get()[places], self.high.get()[places]])

    def _launch(self, name: str, items: int, *arguments: Any) -> cl.Event:
        event: cl.Event = self._kernels[name](self.session.queue, (-(-items // GROUP) * GROUP,), (GROUP,), *arguments)
        return event
