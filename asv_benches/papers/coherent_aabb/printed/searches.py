"""Searches of every point's neighbors by the paper's algorithms, in stages that can be timed, and their lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

import clfrnn
from clfrnn.primitives.radix_sort import sort_positions

from .kernels import COUNTED, PLAIN, SOURCE, WARP
from .tree import PaperTree

__all__ = ["Coherent", "Primary", "Rows", "lanes"]

GROUP = 64

#: Work-items for each compute unit that take queries one after another.
RESIDENT = 1024

#: More than a stack ever holds: a brother for each node of a path to a leaf.
REACH = 32

Event = cl.Event


class Rows(NamedTuple):
    """Neighbors of all queries, as the paper leaves them: where each query's begin, and their indices, in no order."""

    offsets: cla.Array
    indices: cla.Array


class _Search:
    """What both algorithms have in common: kernels, and arrays for what they append."""

    def __init__(self, tree: PaperTree, radius: float, *, listed: bool) -> None:
        self.tree, self.radius, self.session = tree, np.float32(radius), tree.session
        self.n = tree.points.shape[0]
        self.kernels = _kernels(self.session, PLAIN, tree.leaves, listed=listed)
        self.total = cla.zeros(self.session.queue, 1, np.int32)
        self.keys = self.found = self.total

    def launch(self, name: str, items: int, *arguments: Any) -> Event:
        """A kernel of the tree over so many work-items."""
        return _launch(self.session, self.kernels[name], items, GROUP, *_tree(self.tree, self.radius), *arguments)

    def other(self, name: str, items: int, *arguments: Any) -> Event:
        """A kernel that takes no tree."""
        return _launch(self.session, self.kernels[name], items, GROUP, *arguments)

    def pair(self, many: int) -> tuple[cla.Array, cla.Array]:
        """Two arrays of so many numbers."""
        first, second = (cla.empty(self.session.queue, max(many, 1), np.int32) for _ in range(2))
        return first, second

    def counted(self, launch: Callable[[], Event]) -> int:
        """How much a kernel would append, which is asked for without room."""
        self.clear().wait()
        launch().wait()
        return int(self.total.get()[0])

    def clear(self) -> Event:
        """Begin to append anew."""
        event: Event = cl.enqueue_fill_buffer(self.session.queue, self.total.data, np.int32(0), 0, 4)
        return event

    def make_rows(self, pairs: int) -> None:
        """Make room for so many pairs and their rows; the first pairs are there."""
        self.keys, self.found = self.pair(pairs)
        self.rows = Rows(*(cla.empty(self.session.queue, size, np.int32) for size in (self.n + 1, pairs)))
        self._sorted = self.session.scratch(pairs, np.dtype(np.uint32), purpose="the keys of a bench")
        self._ordered, self._places = self._sorted, self._sorted

    def sort(self) -> None:
        """Sort the pairs by query, by the library's own radix sort of copied keys."""
        self._ordered, self._places = sort_positions(self.session, self._sorted, int(self.n).bit_length())

    def copy(self) -> Event:
        """Copy the keys, which the sort overwrites."""
        event: Event = cl.enqueue_copy(self.session.queue, self._sorted.base_data, self.keys.data)
        return event

    def arrange(self) -> list[Event]:
        """Put the pairs into the order of the sorted keys, and find where each row begins."""
        pairs, (offsets, indices) = np.int32(len(self.rows.indices)), self.rows
        gathered = self.other("gather", int(pairs), pairs, self._places.base_data, self.found.data, indices.data)
        own = (np.int32(self.n), pairs, self._ordered.base_data, offsets.data)
        return [gathered, self.other("begin_rows", self.n + 1, *own)]


class Primary(_Search):
    """Algorithm 1: each query goes down the tree by itself.

    With `balanced`, a work-item that is through takes the next query; without, it has one. With `listed`, pairs are
    appended and sorted; without, they are counted.
    """

    def __init__(self, tree: PaperTree, radius: float, *, listed: bool = True, balanced: bool = False) -> None:
        super().__init__(tree, radius, listed=listed)
        self.listed, self.balanced = listed, balanced
        self._queries = cla.arange(self.session.queue, self.n, dtype=np.int32)
        self._next = cla.zeros(self.session.queue, 1, np.int32)
        self.keys, self.found = self.pair(self.n)
        if listed:
            self.make_rows(self.counted(lambda: self._walk(0)))

    def search(self) -> list[Event]:
        """The walk: counts in `keys`, or pairs."""
        events = [self.clear()]
        if not self.listed:
            events.append(cl.enqueue_fill_buffer(self.session.queue, self.keys.data, np.int32(0), 0, self.keys.nbytes))
        if self.balanced:
            events.append(cl.enqueue_fill_buffer(self.session.queue, self._next.data, np.int32(0), 0, 4))
        events.append(self._walk(len(self.found)))
        return [*events, self.copy()] if self.listed else events

    def stages(self) -> Mapping[str, Callable[[], Any]]:
        """The search and, for lists, the sort."""
        searched: dict[str, Callable[[], Any]] = {"search": self.search}
        return searched | ({"sort": self.sort, "arrange": self.arrange} if self.listed else {})

    def _walk(self, room: int) -> Event:
        out = (self.total.data, np.int32(room), self.keys.data, self.found.data, self._queries.data)
        if not self.balanced:
            return self.launch("primary", self.n, *out)
        units = self.session.profile.compute_units
        return self.launch("balanced", min(self.n, RESIDENT * units), *out, self._next.data)


class Coherent(_Search):
    """Algorithm 2, where the points are the queries, so that phase I has nothing to do: leaves are packets."""

    def __init__(self, tree: PaperTree, radius: float) -> None:
        super().__init__(tree, radius, listed=True)
        self.owners = self.members = self.total
        self.candidates = self.counted(lambda: self._traverse(0))
        self.owners, self.members = self.pair(self.candidates)
        self.traverse()
        self.make_rows(self.counted(lambda: self._extract(0)))

    def traverse(self) -> list[Event]:
        """Phase II: the list of candidates."""
        return [self.clear(), self._traverse(self.candidates)]

    def extract(self) -> list[Event]:
        """Phase III without its sort: the pairs."""
        return [self.clear(), self._extract(len(self.found)), self.copy()]

    def stages(self) -> Mapping[str, Callable[[], Any]]:
        """The phases in turn."""
        return {
            "traverse": self.traverse,
            "extract": self.extract,
            "sort": self.sort,
            "arrange": self.arrange,
        }

    def _traverse(self, room: int) -> Event:
        out = (self.total.data, np.int32(room), self.owners.data, self.members.data)
        return self.launch("back_traverse", self.tree.leaves, *out)

    def _extract(self, room: int) -> Event:
        out = (self.total.data, np.int32(room), self.keys.data, self.found.data)
        own = (np.int32(self.candidates), self.owners.data, self.members.data)
        return self.launch("extract", self.candidates, *out, *own)


def lanes(tree: PaperTree, radius: float) -> dict[str, float]:
    """The share of lanes that are active, of warps of 32 queries or candidates: of algorithm 1 and of the phases of 2.

    One instruction is a node whose box is tested, a candidate that is tested, or a neighbor that is kept. Queries of
    algorithm 1 and of phase I are in the order of points; "sorted" has those of algorithm 1 in the order of leaves.
    """
    search, n = Coherent(tree, radius), tree.points.shape[0]
    search.traverse()
    kernels = _kernels(tree.session, COUNTED, tree.leaves, listed=True)
    out = (search.total.data, np.int32(0), search.keys.data, search.found.data)
    inward = (np.int32(search.candidates), search.owners.data, search.members.data)
    somewhere = cla.arange(tree.session.queue, n, dtype=np.int32)
    runs: dict[str, tuple[str, int, tuple[Any, ...]]] = {
        "primary": ("primary", n, (*out, somewhere.data)),
        "sorted": ("primary", n, (*out, tree.order.data)),
        "pack": ("pack", n, (search.pair(n)[0].data,)),
        "traverse": ("back_traverse", tree.leaves, out),
        "extract": ("extract", search.candidates, (*out, *inward)),
    }
    counts = {}
    for name, (kernel, items, arguments) in runs.items():
        warps = -(-items // WARP)
        shares = cla.zeros(tree.session.queue, (warps, 2), np.uint64)
        given = (*_tree(tree, np.float32(radius)), *arguments, shares.data)
        _launch(tree.session, kernels[kernel], warps, 1, *given)
        counts[name] = shares.get().sum(axis=0)
    counts["coherent"] = counts["pack"] + counts["traverse"] + counts["extract"]
    return {name: float(busy / slots) for name, (slots, busy) in counts.items()}


def _tree(tree: PaperTree, radius: np.float32) -> tuple[Any, ...]:
    arrays = (tree.points, tree.order, tree.starts, tree.low, tree.high)
    return (np.int32(tree.points.shape[0]), radius, *(each.data for each in arrays))


def _launch(session: clfrnn.Session, kernel: cl.Kernel, items: int, group: int, *arguments: Any) -> Event:
    event: Event = kernel(session.queue, (-(-items // group) * group,), (group,), *arguments)
    return event


def _kernels(session: clfrnn.Session, loops: str, leaves: int, *, listed: bool) -> Mapping[str, cl.Kernel]:
    """The kernels by name; those of a program with counted lanes, or plain."""
    head = f"#define LEAVES {leaves}\n#define REACH {REACH}\n{'#define LISTED' if listed else ''}\n"
    program = cl.Program(session.context, head + loops + SOURCE).build()
    return {kernel.function_name: kernel for kernel in program.all_kernels()}
