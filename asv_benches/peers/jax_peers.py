"""Peers whose points are JAX arrays on a CUDA device: jztree, and normals of what it finds."""

from __future__ import annotations

import dataclasses
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .peer import AROUND, NEAREST, Absent, Array, Peer, Question


class JzTree(Peer):
    """jztree, trees in the order of a curve."""

    name = "jztree"
    module = "jztree"
    package = "jztree"
    place = "gpu"
    tasks = ("nearest", "friends")
    builds = False
    asynchronous = True
    compiles = True
    remark = (
        "`knn.knn.jit` with distances and indices, and `fof.fof_labels.jit`, both in the points' order, compiled for "
        "each number of points; more room for nodes and their pairs where it asks for that"
    )

    def __init__(self) -> None:
        super().__init__()
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # before JAX starts, which takes all memory
        try:
            self.jax = importlib.import_module("jax")
        except ImportError:
            raise Absent("JAX is not installed") from None
        self._device = self.jax.devices()[0]
        if self._device.platform != "gpu":
            raise Absent("JAX sees no CUDA device")
        self.find_nearest = importlib.import_module("jztree.knn").knn
        config = importlib.import_module("jztree.config")
        self.settings = {"nearest": config.KNNConfig(), "friends": config.FofConfig()}
        self.find_friends = importlib.import_module("jztree.fof").fof_labels

    @property
    def device(self) -> str:
        """The device, and the JAX that leads there."""
        return f"{self._device.device_kind}, jax {self.jax.__version__}"

    def hold(self, question: Question) -> None:
        """On the device."""
        super().hold(question)
        self.points = self.jax.device_put(question.points, self._device).block_until_ready()

    def prepare(self) -> None:
        """Room for its nodes and pairs of them: more than by default where that is too little, as its error advises."""
        given, task = self.settings.get(self.question.task), getattr(self, self.question.task)
        for times in (1, 4, 16) if given else ():
            tree = dataclasses.replace(given.tree, alloc_fac_nodes=times * given.tree.alloc_fac_nodes)
            self.state = dataclasses.replace(given, tree=tree, alloc_fac_ilist=times * given.alloc_fac_ilist)
            try:
                self.jax.block_until_ready(task())
            except self.jax.errors.JaxRuntimeError as error:
                if times == 16:
                    raise RuntimeError(str(error).rpartition("Relevant Error Message")[2].strip(" =")) from None
            else:
                break

    def nearest(self) -> Any:
        """Distances and indices, (n, k)."""
        return self.find_nearest.jit(self.points, k=NEAREST, cfg=self.state)

    def friends(self) -> Any:
        """The points, and labels."""
        return self.find_friends.jit(self.points, rlink=self.radius, output_order="input", cfg=self.state)

    def clocked(self, step: Callable[[], object]) -> tuple[object, float, float | None]:
        """Waits for the answer, as JAX has no call that waits for the device."""
        started = time.perf_counter()
        answer = self.jax.block_until_ready(step())
        return answer, time.perf_counter() - started, None

    def rows_of(self, answer: Any) -> Array:
        """The second of the two."""
        return np.asarray(answer[1])

    def labels_of(self, answer: Any) -> Array:
        """The second of the two."""
        return np.asarray(answer[1])

    def release(self) -> None:
        """Forget the points."""
        self.points = self.state = None


class JzTreeNormals(JzTree):
    """jztree's nearest, and JAX's eigenvectors."""

    name = "jztree and JAX"
    tasks = ("normals",)
    remark = "`knn.knn`, covariances by `einsum`, and `jax.numpy.linalg.eigh` of all at once, compiled together"

    def __init__(self) -> None:
        super().__init__()
        self._facing = self.jax.jit(self._of_nearest)

    def _of_nearest(self, points: Any) -> Any:
        numpy = self.jax.numpy
        near = points[self.find_nearest(points, k=AROUND)[1]]
        away = near - near.mean(axis=1, keepdims=True)
        spread = numpy.einsum("nka,nkb->nab", away, away, precision="highest")
        return numpy.linalg.eigh(spread)[1][:, :, 0]

    def normals(self) -> Any:
        """(n, 3)."""
        return self._facing(self.points)

    def normals_of(self, answer: Any) -> Array:
        """As they are."""
        return np.asarray(answer)


PEERS = (JzTree, JzTreeNormals)
