"""Peers that run on CPUs, with all cores where they can."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .machine import Resident, cores
from .peer import CORE, NEAREST, Array, Pairs, Peer, Question, joined


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

    def hold(self, question: Question) -> None:
        """In its own dtype, before the clock starts."""
        super().hold(question)
        self.points = np.ascontiguousarray(question.points, dtype=self.dtype)

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

    tasks = ("count", "lists", "nearest")

    def counts_of(self, answer: Any) -> Array:
        """Without self."""
        return np.asarray(answer) - 1

    def pairs_of(self, answer: Any) -> Pairs:
        """What there is for each point, joined."""
        return joined(answer, self.n)

    def rows_of(self, answer: Any) -> Array:
        """The second of distances and indices."""
        return np.asarray(answer[1])


class Scipy(KdTree):
    """scipy.spatial.cKDTree."""

    name = "scipy"
    module = "scipy.spatial"
    package = "scipy"
    dtype = np.float64
    remark = (
        "`cKDTree`, `query_ball_point` with all workers; returns a Python list for each point, or an array of counts; "
        "self is counted; `query` for the nearest, with distances"
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

    def nearest(self) -> Any:
        """Distances and indices, (n, k)."""
        return self.tree.query(self.points, NEAREST, workers=-1)


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
        "`count_only`, which has one thread, for counts; self is counted; `kneighbors` for the nearest, with distances"
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

    def nearest(self) -> Any:
        """Distances and indices, (n, k)."""
        return self.tree.kneighbors(self.points, NEAREST)


class ScikitLearnDbscan(Host):
    """sklearn.cluster.DBSCAN."""

    name = "scikit-learn DBSCAN"
    module = "sklearn.cluster"
    package = "scikit-learn"
    dtype = np.float64
    tasks = ("friends", "dbscan")
    builds = False
    remark = "`DBSCAN` with all jobs; with one sample as core, for friends of friends"

    def friends(self) -> Any:
        """Labels."""
        return self._labels(1)

    def dbscan(self) -> Any:
        """Labels."""
        return self._labels(CORE)

    def _labels(self, least: int) -> Any:
        return self.library.DBSCAN(eps=self.radius, min_samples=least, n_jobs=-1).fit(self.points).labels_

    def labels_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer)


class Nanoflann(Host):
    """pynanoflann.KDTree."""

    name = "pynanoflann"
    module = "pynanoflann"
    package = "pynanoflann"
    tasks = ("nearest",)
    remark = "`KDTree.fit` and `kneighbors`, as many threads as cores; distances and indices"

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.KDTree(n_neighbors=NEAREST)
        self.tree.fit(self.points)

    def nearest(self) -> Any:
        """Distances and indices, (n, k)."""
        return self.tree.kneighbors(self.points, n_jobs=cores())

    def rows_of(self, answer: Any) -> Array:
        """The second of the two."""
        return np.asarray(answer[1]).astype(np.int64)


PEERS = (Scipy, ScipyPairs, ScikitLearn, ScikitLearnDbscan, Nanoflann)
