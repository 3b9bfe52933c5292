"""What users write of scipy and numpy where no library of theirs has the task."""

from __future__ import annotations

from typing import Any

import numpy as np

from .peer import AROUND, Array, Pairs, Question
from .processors import Host


class ScipyFriends(Host):
    """The components of a graph of scipy's pairs."""

    name = "scipy components"
    module = "scipy"
    package = "scipy"
    dtype = np.float64
    tasks = ("friends",)
    builds = False
    remark = "`cKDTree`, `query_pairs`, and `connected_components` of a sparse matrix of them; one thread"

    def friends(self) -> Any:
        """The number of components, and labels."""
        from scipy.sparse import coo_array  # noqa: PLC0415 — imported only where it is asked for
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415
        from scipy.spatial import cKDTree  # noqa: PLC0415

        pairs = cKDTree(self.points).query_pairs(self.radius, output_type="ndarray")
        linked = coo_array((np.ones(len(pairs), bool), pairs.T), shape=(self.n, self.n))
        return connected_components(linked, directed=False)

    def labels_of(self, answer: Any) -> Array:
        """The second of the two."""
        return np.asarray(answer[1])


class ScipyLoop(Host):
    """A tree for each system, one after the other."""

    name = "scipy loop"
    module = "scipy.spatial"
    package = "scipy"
    dtype = np.float64
    tasks = ("batches",)
    builds = False
    remark = (
        "a `cKDTree` and `query_pairs` for each system in a Python loop, one thread; arrays of directed pairs, joined"
    )

    def hold(self, question: Question) -> None:
        """With the first point of each system, and the end."""
        super().hold(question)
        self.firsts = np.searchsorted(question.batch, np.arange(question.batch[-1] + 2)).tolist()

    def batches(self) -> Any:
        """(pairs, 2)."""
        found = []
        for first, end in zip(self.firsts, self.firsts[1:], strict=False):
            half = self.library.cKDTree(self.points[first:end]).query_pairs(self.radius, output_type="ndarray")
            found += [half + first, half[:, ::-1] + first]
        return np.concatenate(found)

    def pairs_of(self, answer: Any) -> Pairs:
        """Two columns."""
        return Pairs(answer[:, 0], answer[:, 1])


class ScipyNormals(Host):
    """scipy's nearest, and numpy's eigenvectors."""

    name = "scipy and numpy"
    module = "scipy.spatial"
    package = "scipy"
    dtype = np.float64
    tasks = ("normals",)
    remark = "`cKDTree.query` with all workers, and `numpy.linalg.eigh` of all covariances at once"

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.cKDTree(self.points)

    def normals(self) -> Any:
        """(n, 3)."""
        _, rows = self.tree.query(self.points, AROUND, workers=-1)
        away = self.points[rows]
        away -= away.mean(axis=1, keepdims=True)
        return np.linalg.eigh(away.transpose(0, 2, 1) @ away)[1][:, :, 0]

    def normals_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer)


PEERS = (ScipyFriends, ScipyLoop, ScipyNormals)
