"""Peers that run on CPUs, with all cores where they can."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .machine import Resident, cores
from .peer import Array, Pairs, Peer, joined


class Host(Peer):
    """What these have in common: points in host memory, and memory as the process's resident size."""

    place = "cpu"
    library: Any

    def __init__(self) -> None:
        super().__init__()
        self.library = importlib.import_module(self.module)

    @property
    def device(self) -> str:
        """Cores."""
        return f"{cores()} cores"

    def hold(self, points: Array, radius: float, widest: int) -> None:  # noqa: ARG002
        """In its own dtype, before the clock starts."""
        self.n, self.radius = len(points), radius
        self.points = np.ascontiguousarray(points, dtype=self.dtype)

    def memory_starts(self) -> None:
        """Resident memory as it is now."""
        self._resident = Resident()

    def memory_peak(self) -> int | None:
        """How far resident memory grew."""
        return self._resident.peak()

    def release(self) -> None:
        """Forget the points and the tree."""
        self.points = self.tree = None


class KdTree(Host):
    """Answers of trees whose points find themselves too."""

    def counts_of(self, answer: Any) -> Array:
        """Without self."""
        return np.asarray(answer) - 1

    def pairs_of(self, answer: Any) -> Pairs:
        """What there is for each point, joined."""
        return joined(answer, self.n)


class Scipy(KdTree):
    """scipy.spatial.cKDTree."""

    name = "scipy"
    module = "scipy.spatial"
    package = "scipy"
    dtype = np.float64
    remark = (
        "`cKDTree`, `query_ball_point` with all workers; returns a Python list for each point, or an array of counts; "
        "self is counted"
    )

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.cKDTree(self.points)

    def count(self) -> Any:
        """(n,)."""
        return self.tree.query_ball_point(self.points, self.radius, return_length=True, workers=-1)

    def lists(self) -> Any:
        """A list for each point."""
        return self.tree.query_ball_point(self.points, self.radius, workers=-1)


class ScipyPairs(Scipy):
    """The same tree, asked for pairs: no Python object for each neighbor, but one thread."""

    name = "scipy pairs"
    tasks = ("lists",)
    remark = (
        '`cKDTree`, `query_pairs(output_type="ndarray")`, which has one thread, and the mirrored half; returns an '
        "array of directed pairs, in no order; no counts alone"
    )

    def lists(self) -> Any:
        """(pairs, 2)."""
        half = self.tree.query_pairs(self.radius, output_type="ndarray")
        return np.concatenate((half, half[:, ::-1]))

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns."""
        return Pairs(answer[:, 0], answer[:, 1])


class ScikitLearn(KdTree):
    """sklearn.neighbors."""

    name = "scikit-learn"
    module = "sklearn.neighbors"
    package = "scikit-learn"
    dtype = np.float64
    remark = (
        "`NearestNeighbors` with a k-d tree and all jobs for lists, which are numpy arrays; `KDTree.query_radius` with "
        "`count_only`, which has one thread, for counts; self is counted"
    )

    def build(self) -> None:
        """The tree, anew; the same for both tasks."""
        self.tree = self.library.NearestNeighbors(radius=self.radius, algorithm="kd_tree", n_jobs=-1).fit(self.points)

    def count(self) -> Any:
        """(n,)."""
        return self.tree._tree.query_radius(self.points, self.radius, count_only=True)  # noqa: SLF001 — fit's KDTree

    def lists(self) -> Any:
        """An array for each point."""
        return self.tree.radius_neighbors(self.points, return_distance=False)


class Vesin(Host):
    """vesin.NeighborList, which builds its cells and answers in one call."""

    name = "vesin"
    module = "vesin"
    package = "vesin"
    dtype = np.float64
    tasks = ("lists",)
    builds = False
    remark = "`NeighborList(full_list=True).compute`, all threads; an array of pairs, not copied; no counts alone"

    def lists(self) -> Any:
        """(pairs, 2), which live as long as the object does."""
        finder = self.library.NeighborList(cutoff=self.radius, full_list=True)
        (pairs,) = finder.compute(self.points, np.zeros((3, 3)), False, "P", copy=False)
        return finder, pairs

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns."""
        pairs = answer[1].view(np.int64)
        return Pairs(pairs[:, 0], pairs[:, 1])


class Freud(Host):
    """freud.locality.AABBQuery; its box is periodic, and is made so large that no image is within reach."""

    name = "freud"
    module = "freud"
    package = "freud-analysis"
    tasks = ("lists",)
    remark = "`AABBQuery` in a box too wide for images; a `NeighborList` with distances and vectors; no counts alone"

    def hold(self, points: Array, radius: float, widest: int) -> None:
        """About the origin, which is the middle of freud's boxes, if float32 lets them be moved without rounding."""
        super().hold(points, radius, widest)
        low, high = points.min(axis=0), points.max(axis=0)
        middle = np.float32(0.5) * np.round(low + high)
        moved = points - middle
        if np.array_equal(moved.astype(np.float64) + middle, points):
            self.points = moved
        side = 2 * float(np.abs(self.points).max()) + 3 * radius
        self.box = self.library.box.Box.cube(side)

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.locality.AABBQuery(self.box, self.points)

    def lists(self) -> Any:
        """A NeighborList."""
        return self.tree.query(self.points, {"r_max": self.radius, "exclude_ii": True}).toNeighborList()

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns."""
        return Pairs(np.asarray(answer.query_point_indices), np.asarray(answer.point_indices))


PEERS = (Scipy, ScipyPairs, ScikitLearn, Vesin, Freud)
