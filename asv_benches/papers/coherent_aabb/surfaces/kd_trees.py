"""Columns of tables 2 and 3 for libraries of today: k-d trees on the host's cores, in the place of the paper's ANN."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import clfrnn
from clfrnn.errors import ClfrnnError
from clfrnn.geometry import distance_field

from ...paper import Measurement, Numbers, Results
from ...shapes import Cloud, sampled
from ..scenes import cube
from ..steps import DisagreementError
from .measurements import grid
from .statues import FIELDS, SCALES_OF_STATUES, Field, Sizes

__all__ = ["EXPERIMENTS", "build", "compared", "field", "measure", "missing", "plan"]

Array = np.ndarray[Any, Any]

#: Points of a leaf, as the paper's, where a library lets them be chosen.
LEAF = 20

#: So many builds are timed at the most, and no more once they have taken so many seconds.
MOST, ENOUGH = 5, 2.0

#: Nodes that are asked for at a time.
AT_ONCE = 1 << 20

#: Libraries find distances in float64, or by other sums: so far apart they may be, as a share of the radius.
CLOSE = 1e-4


class Library(NamedTuple):
    """A library: what to install, what to import, and how its tree is built and asked for the nearest point."""

    package: str
    module: str
    #: the tree over points
    build: Callable[[Any, Array], Any]
    #: distances and indices of the nearest of each query, of any number or index where none is within the radius
    nearest: Callable[[Any, Array, float], tuple[Array, Array]]


def _open3d_tree(library: Any, points: Array) -> Any:
    tree = library.core.nns.NearestNeighborSearch(library.core.Tensor(points))
    tree.knn_index()
    return tree, library


def _open3d_nearest(held: Any, queries: Array, _: float) -> tuple[Array, Array]:
    tree, library = held
    indices, squares = tree.knn_search(library.core.Tensor(queries), 1)
    return np.sqrt(squares.numpy()[:, 0]), indices.numpy()[:, 0]


def _nanoflann_tree(library: Any, points: Array) -> Any:
    tree = library.KDTree(n_neighbors=1, leaf_size=LEAF)
    tree.fit(points)
    return tree


def _nanoflann_nearest(tree: Any, queries: Array, _: float) -> tuple[Array, Array]:
    distances, indices = tree.kneighbors(queries, n_jobs=os.cpu_count() or 1)
    return distances[:, 0], indices[:, 0]


LIBRARIES: Mapping[str, Library] = {
    "scipy": Library(
        "scipy",
        "scipy.spatial",
        lambda library, points: library.cKDTree(points, leafsize=LEAF),
        lambda tree, queries, radius: tree.query(queries, distance_upper_bound=np.nextafter(radius, 9e9), workers=-1),
    ),
    "nanoflann": Library("pynanoflann", "pynanoflann", _nanoflann_tree, _nanoflann_nearest),
    "Open3D": Library("open3d", "open3d", _open3d_tree, _open3d_nearest),
}


def libraries(scale: str) -> list[str]:
    """The libraries of a scale; tests have scipy alone."""
    return ["scipy"] if scale == "tiny" else list(LIBRARIES)


def missing(library: str) -> str:
    """Why a library is left out, where it is not installed, and what to do; else nothing."""
    one = LIBRARIES[library]
    if importlib.util.find_spec(one.module.partition(".")[0]):
        return ""
    return f"{library} is not installed; pip install {one.package}"


def compared(results: Results) -> list[str]:
    """The libraries of which there is a result: the columns of tables."""
    there = {measurement.to_dict().get("library") for measurement in [*results.numbers, *results.failures]}
    return [library for library in libraries(results.scale) if library in there]


def build(n: int, library: str) -> Measurement:
    """Table 2: a tree over points of a cube."""
    return Measurement.of(experiment="kd_build", n=n, library=library)


def field(sizes: Sizes, one: Field, library: str) -> Measurement:
    """Table 3: the distances of all nodes of a grid."""
    return Measurement.of(
        experiment="kd_field",
        shape=one.shape,
        n=one.points // sizes.less,
        share=one.share,
        widths=one.widths,
        cells=sizes.far_cells if one.share else sizes.cells,
        library=library,
    )


#: Sizes of table 2.
BUILT = {
    "paper": (*range(100_000, 1_000_001, 100_000), 2_000_000),
    "small": (20_000, 50_000),
    "tiny": (400,),
}


def plan(scale: str) -> list[Measurement]:
    """Every library once."""
    sizes = SCALES_OF_STATUES[scale]
    return [
        *(build(n, library) for n in BUILT[scale] for library in libraries(scale)),
        *(field(sizes, one, library) for one in FIELDS for library in libraries(scale)),
    ]


def measure(session: clfrnn.Session, measurement: Measurement) -> Numbers:
    """Seconds by the wall clock: these libraries run on the host."""
    facts = dict(measurement.to_dict())
    return EXPERIMENTS[str(facts.pop("experiment"))](session, **facts)


def _build(_: clfrnn.Session, n: int, library: str) -> Numbers:
    one, points, seconds = LIBRARIES[library], cube(n), []
    imported = _imported(one)
    while len(seconds) < MOST and sum(seconds) < ENOUGH:
        started = time.perf_counter()
        one.build(imported, points)
        seconds.append(time.perf_counter() - started)
    return {"build": statistics.median(seconds), "timed": float(len(seconds))}


def _field(session: clfrnn.Session, shape: str, n: int, share: float, widths: int, cells: int, library: str) -> Numbers:
    """From points and normals to signed distances, the tree included; compared with those of `distance_field`."""
    one, cloud = LIBRARIES[library], _cloud(shape, n)
    imported = _imported(one)
    bounds, width, radius = grid(cloud.points, cells, share, widths)
    started = time.perf_counter()
    tree, found = one.build(imported, cloud.points), np.empty((cells + 1) ** 3, np.float32)
    for first in range(0, found.size, AT_ONCE):
        nodes = _nodes(first, min(AT_ONCE, found.size - first), cells + 1, bounds[0], width)
        found[first : first + len(nodes)] = _signed(cloud, nodes, *one.nearest(tree, nodes, radius), radius=radius)
    seconds = time.perf_counter() - started
    own = distance_field(
        *cloud, spacing=width, radius=radius, bounds=bounds, method="aabb_tree", session=session
    ).values.get()
    _compare(found, own.ravel(), radius)
    return {"wall": seconds}


EXPERIMENTS: dict[str, Callable[..., Numbers]] = {"kd_build": _build, "kd_field": _field}


def _imported(library: Library) -> Any:
    try:
        return importlib.import_module(library.module)
    except ImportError as error:
        raise ClfrnnError(f"{library.package} cannot be imported ({error}); pip install {library.package}") from error


@functools.lru_cache(maxsize=2)
def _cloud(shape: str, n: int) -> Cloud:
    return sampled(shape, n)


def _nodes(first: int, count: int, along: int, corner: Array, width: float) -> Array:
    """Some nodes of a cubic grid, in the order of the field. (count, 3) float32."""
    places = np.stack(np.unravel_index(np.arange(first, first + count), (along,) * 3), axis=1)
    nodes: Array = (corner + width * places).astype(np.float32)
    return nodes


def _signed(cloud: Cloud, nodes: Array, distances: Array, indices: Array, *, radius: float) -> Array:
    """Distances with the sign of the nearest point's normal; NaN beyond the radius."""
    nearest = np.minimum(indices, len(cloud.points) - 1)  # scipy's index of none is the number of points
    inside = ((nodes - cloud.points[nearest]) * cloud.normals[nearest]).sum(axis=1) <= 0
    signed: Array = np.where(distances <= radius, np.where(inside, -distances, distances), np.nan)
    return signed


def _compare(found: Array, expected: Array, radius: float) -> None:
    """Raise where distances are not about the same, but for nodes that lie about at the radius; signs may be ties."""
    one, other = (np.where(np.isfinite(each), np.abs(each), radius) for each in (found, expected))
    if not np.allclose(one, other, rtol=0, atol=CLOSE * radius):
        raise DisagreementError(
            f"other distances than those of `distance_field`: up to {np.abs(one - other).max():.3g}"
        )
