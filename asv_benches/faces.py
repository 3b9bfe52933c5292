"""Faces of other libraries beside these libraries: the calls of `docs/start/coming-from-*.md`, by both, in turns.

Milliseconds on the wall clock: the medians of some turns, and their ratio. Libraries that are not installed are left
out. With ``--tensors``, graphs of tensors beside the same list of arrays on the device, and each way in which arrays
come.
"""

from __future__ import annotations

import functools
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import clfrnn
from clfrnn.interop import scipy as spatial

from .tools.clocks import wall
from .tools.tables import command, head, row, say

#: Turns of each library, after one that compiles.
TURNS = 5

#: Points of each face, as its bar has them, and of graphs of tensors.
POINTS = {"KDTree": 262_144, "DBSCAN": 200_000, "neighbor_list": 50_000}
TENSORS, NEIGHBORS = 1_000_000, 30

Call = Callable[[], Any]


def _radius(n: int, neighbors: float) -> float:
    """The radius within which a point of an even unit cube has as many others."""
    return float(((neighbors + 1) / (n * 4 / 3 * np.pi)) ** (1 / 3))


def trees(n: int) -> dict[str, Call]:
    """The numbers of points in balls about 48 others, from points to numbers, with float64."""
    points, radius = np.random.default_rng(0).random((n, 3)), _radius(n, 48)
    theirs = importlib.import_module("scipy.spatial").KDTree
    asked: dict[str, Any] = {"return_length": True}
    return {
        "clfrnn": lambda: spatial.KDTree(points).query_ball_point(points, radius, **asked),
        "scipy, workers=2": lambda: theirs(points).query_ball_point(points, radius, workers=2, **asked),
    }


def clusters(n: int) -> dict[str, Call]:
    """DBSCAN of points of which half lie in 40 clusters."""
    rng = np.random.default_rng(0)
    centers = rng.random((40, 3))
    crowd = centers[rng.integers(0, len(centers), n // 2)] + rng.normal(0, 0.02, (n // 2, 3))
    points, eps = np.concatenate([crowd, rng.random((n - n // 2, 3))]), 0.7 * n ** (-1 / 3)
    ours, theirs = (importlib.import_module(name).DBSCAN for name in ("clfrnn.interop.sklearn", "sklearn.cluster"))
    return {
        "clfrnn": lambda: ours(eps=eps, min_samples=10).fit(points).labels_,
        "scikit-learn, n_jobs=2": lambda: theirs(eps=eps, min_samples=10, n_jobs=2).fit(points).labels_,
    }


def atoms(n: int) -> dict[str, Call]:
    """Pairs of atoms within 5 Å and the cells that they cross, in a periodic box of a tenth of an atom in a cubic Å."""
    length = (10 * n) ** (1 / 3)
    system = importlib.import_module("ase").Atoms(
        positions=np.random.default_rng(0).random((n, 3)) * length, cell=[length] * 3, pbc=True
    )
    found: dict[str, Call] = {}
    for name, module, call in (
        ("clfrnn", "clfrnn.interop.ase", "neighbor_list"),
        ("matscipy", "matscipy.neighbours", "neighbour_list"),
        ("vesin", "vesin", "ase_neighbor_list"),
        ("ASE", "ase.neighborlist", "neighbor_list"),
    ):
        try:
            function = getattr(importlib.import_module(module), call)
        except ImportError:
            continue
        found[name] = functools.partial(function, "ijS", system, 5.0)
    return found


FACES: dict[str, Callable[[int], dict[str, Call]]] = {"KDTree": trees, "DBSCAN": clusters, "neighbor_list": atoms}


def _size(found: Any) -> int:
    """A number by which results of two libraries are compared: a sum, or the number of pairs."""
    return len(found[0]) if isinstance(found, tuple) else int(np.sum(found))


def print_beside_libraries(session: clfrnn.Session, sizes: dict[str, int]) -> None:
    """The table of the faces, each library once in each turn."""
    say(session, "milliseconds on the wall clock")
    head("face", "points:", "library", "time:", "by clfrnn's:")
    for face, make in FACES.items():
        n = sizes[face]
        try:
            calls = make(n)
        except ImportError:
            continue
        first = {name: _size(call()) for name, call in calls.items()}
        if len(set(first.values())) != 1:
            raise click.ClickException(f"{face}: results differ: {first}")
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(TURNS):
            for name, call in calls.items():
                started = time.perf_counter()
                call()
                times[name].append(1e3 * (time.perf_counter() - started))
        medians = {name: statistics.median(each) for name, each in times.items()}
        for name, median in medians.items():
            row(f"`{face}`", f"{n:,}", name, f"{median:,.2f}", f"{median / medians['clfrnn']:.2f}")


def print_tensors(session: clfrnn.Session, n: int) -> None:
    """The table of graphs of tensors, and of each way in which an array comes."""
    torch = importlib.import_module("torch")
    from clfrnn.interop.torch import radius_graph  # noqa: PLC0415 — torch is optional

    points, radius = np.random.default_rng(0).random((n, 3), np.float32), _radius(n, NEIGHBORS)
    tensor = torch.from_numpy(points)
    there = clfrnn.to_device(points, session=session)
    ways: dict[str, Any] = {"numpy": points, "torch, cpu": tensor, "array on the device": there}
    if torch.cuda.is_available():
        ways["torch, cuda"] = tensor.cuda()
    ways_of_cuda = [] if session.exchange is None else [session.exchange.describe()]
    say(session, "milliseconds on the wall clock", f"{n:,} points", *ways_of_cuda)
    head("what", "of", "time:")

    def listed(given: Any) -> None:
        clfrnn.search(given, radius, session=session).num_pairs  # noqa: B018 — which waits for the list
        session.queue.finish()

    def graph(given: Any) -> None:
        radius_graph(given, radius, session=session)
        if given.is_cuda:
            torch.cuda.synchronize()

    def taken(given: Any) -> None:
        clfrnn.to_device(given, session=session)
        session.queue.finish()

    for name, given in ways.items():
        row("`to_device`", name, f"{wall(functools.partial(taken, given)):.3f}")
    for name, given in ways.items():
        row("`search`, a list on the device", name, f"{wall(functools.partial(listed, given)):.3f}")
    for name, given in ways.items():
        if isinstance(given, torch.Tensor):
            row("`radius_graph`, int64 tensors", name, f"{wall(functools.partial(graph, given)):.3f}")


@command
@click.option("--points", type=int, help="Clouds of this size alone.")
@click.option("--tensors", is_flag=True, help="Graphs of tensors, and the ways in which arrays come.")
def main(*, device: str | None, points: int | None, tensors: bool) -> None:
    """Measure, and print a Markdown table."""
    session = clfrnn.Session(device) if device else clfrnn.default_session()
    if tensors:
        print_tensors(session, points or TENSORS)
    else:
        print_beside_libraries(session, {name: points or n for name, n in POINTS.items()})


if __name__ == "__main__":
    main()
