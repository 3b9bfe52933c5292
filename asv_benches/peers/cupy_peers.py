"""Peers whose points are CuPy arrays."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .peer import NEAREST, Absent, Array, Peer, Question


class Cupy(Peer):
    """cupyx.scipy.spatial.KDTree."""

    name = "CuPy"
    module = "cupy"
    package = "cupy"
    place = "gpu"
    tasks = ("nearest",)
    asynchronous = True
    remark = "`cupyx.scipy.spatial.KDTree` and `query`; distances and indices"
    searching = "cupyx.scipy.spatial"

    def __init__(self) -> None:
        super().__init__()
        try:
            self.cupy = importlib.import_module("cupy")
        except ImportError:
            raise Absent("CuPy is not installed") from None
        if not self.cupy.cuda.is_available():
            raise Absent("CuPy sees no CUDA device")
        self.library = importlib.import_module(self.searching)

    @property
    def device(self) -> str:
        """The device, and the CuPy that leads there."""
        name = self.cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        return f"{name}, cupy {self.cupy.__version__}"

    def hold(self, question: Question) -> None:
        """On the device."""
        super().hold(question)
        self.points = self.cupy.asarray(question.points)
        self.finish()

    def finish(self) -> None:
        """Wait for the device."""
        self.cupy.cuda.Device().synchronize()

    def build(self) -> None:
        """The tree, anew."""
        self.tree = self.library.KDTree(self.points)

    def nearest(self) -> Any:
        """Distances and indices, (n, k)."""
        return self.tree.query(self.points, NEAREST)

    def rows_of(self, answer: Any) -> Array:
        """The second of the two."""
        return np.asarray(self.cupy.asarray(answer[1]).get())

    def release(self) -> None:
        """Forget arrays, and give the pool back."""
        self.points = self.tree = None
        self.cupy.get_default_memory_pool().free_all_blocks()


class Cuvs(Cupy):
    """cuvs.neighbors.brute_force, the search of cuVS that is exact."""

    name = "cuVS"
    module = "cuvs"
    package = "cuvs"
    quadratic = True
    remark = "`brute_force.build` and `search`, all pairs; squared distances and indices"
    searching = "cuvs.neighbors.brute_force"

    def build(self) -> None:
        """The index, which has no structure."""
        self.tree = self.library.build(self.points)

    def nearest(self) -> Any:
        """Squared distances and indices, (n, k)."""
        return self.library.search(self.tree, self.points, NEAREST)


PEERS = (Cupy, Cuvs)
