"""Open3D on CPUs: the nearest, clusters and normals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .peer import AROUND, CORE, NEAREST, Array, Question
from .processors import Host


class Open3D(Host):
    """open3d, its search of the nearest, clusters and normals."""

    name = "Open3D"
    module = "open3d"
    package = "open3d"
    dtype = np.float64
    tasks = ("nearest", "friends", "dbscan", "normals")
    builds = False
    remark = (
        "`core.nns.NearestNeighborSearch` in float32; `PointCloud.cluster_dbscan`, with one point as core for friends "
        "of friends; `PointCloud.estimate_normals`; all threads where it has them"
    )

    def hold(self, question: Question) -> None:
        """As a tensor, or as a cloud."""
        super().hold(question)
        if question.task == "nearest":
            self.state = self.library.core.Tensor(np.ascontiguousarray(question.points))
        else:
            self.state = self.library.geometry.PointCloud(self.library.utility.Vector3dVector(self.points))

    def nearest(self) -> Any:
        """Indices and squared distances."""
        search = self.library.core.nns.NearestNeighborSearch(self.state)
        search.knn_index()
        return search.knn_search(self.state, NEAREST)

    def friends(self) -> Any:
        """Labels."""
        return self.state.cluster_dbscan(self.radius, 1)

    def dbscan(self) -> Any:
        """Labels."""
        return self.state.cluster_dbscan(self.radius, CORE)

    def normals(self) -> Any:
        """In the cloud."""
        self.state.estimate_normals(self.library.geometry.KDTreeSearchParamKNN(AROUND))
        return self.state.normals

    def rows_of(self, answer: Any) -> Array:
        """The first of the two."""
        return np.asarray(answer[0].numpy()).astype(np.int64)

    def labels_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer)

    def normals_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer)

    def release(self) -> None:
        """Forget the cloud too."""
        super().release()
        self.state = None


PEERS = (Open3D,)
