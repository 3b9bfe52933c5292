"""What workers do: plain functions of their arguments, which Dask may run again on another worker."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..cluster import Clusters
from ..cluster.clusters import ClusterSearch
from ..host.libraries import library
from ..index import Index
from ..parts.assignment import BoxTree
from ..parts.clusters import LocalGroups, link_part, merge
from ..parts.lists import PartList
from ..parts.rows import Survey, as_rows, number_dtype, real_of, slices, survey
from ..parts.searches import counts_of_part, largest_of, list_of_part, radii_of
from ..parts.whole import LocalPart
from ..points.sessions import default_session
from ..runtime.device import devices
from ..runtime.session import Session

__all__ = [
    "Piece",
    "check_radii",
    "core_pieces",
    "count_part",
    "divide",
    "gather_part",
    "index_of",
    "length",
    "link",
    "list_part",
    "merge_groups",
    "of_chunk",
    "survey_chunk",
    "with_queries",
    "worker_session",
]

#: Rows of a chunk in a part: the numbers and coordinates of those that it owns, and of those in its halo.
Piece = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


@functools.cache
def worker_session() -> Session:
    """The session of this worker: workers share the devices of the default kind by their numbers."""
    default = default_session()
    same = [k for k, each in enumerate(devices()) if each.kind == default.profile.kind]
    try:
        name = library("distributed", "dask", "clfrnn.dask", "dask").get_worker().name
        number = int(name)
    except (ValueError, TypeError):
        return default
    return Session(same[number % len(same)]) if number and len(same) > 1 else default


def length(chunk: Any, name: str) -> int:
    """The number of rows of a chunk of the argument `name`."""
    return len(as_rows(chunk, name))


def survey_chunk(chunk: Any, start: int, name: str) -> Survey:
    """Check a chunk, and draw a sample of it; its first row is `start` of the whole."""
    return survey(as_rows(chunk, name), name, start)


def divide(chunk: Any, start: int, n: int, tree: BoxTree) -> list[Piece]:
    """The rows of a chunk that each box owns, and those in its halo."""
    dtype = number_dtype(n)
    points = np.asarray(as_rows(chunk, "points"))
    owned: list[list[Any]] = [[np.zeros(0, dtype)] for _ in range(tree.parts)]
    halo: list[list[Any]] = [[np.zeros(0, dtype)] for _ in range(tree.parts)]
    for first, rows in slices(points, "points"):
        for number, inside, near in tree.divide(tree.axes.places(rows)):
            owned[number].append((inside + first).astype(dtype))
            halo[number].append((near + first).astype(dtype))
    pieces = []
    for own, outer in zip(owned, halo, strict=True):
        mine, others = np.concatenate(own), np.concatenate(outer)
        pieces.append((mine + dtype.type(start), points[mine], others + dtype.type(start), points[others]))
    return pieces


def gather_part(pieces: list[Piece], *, real: np.dtype[Any], whole: bool) -> LocalPart:
    """The part that the pieces of all chunks make, in `real` numbers where these are wider.

    A part that owns no points is empty, unless `whole` says that it may be asked for others.
    """
    owned = np.concatenate([piece[0] for piece in pieces])
    rows = np.concatenate([owned, *(piece[2] for piece in pieces)])
    points = np.concatenate([*(piece[1] for piece in pieces), *(piece[3] for piece in pieces)])
    if not len(owned) and not whole:
        rows, points = rows[:0], points[:0]
    order = np.argsort(rows)
    points = points[order] if real == real_of(points) else points[order].astype(real)
    own_rows = np.flatnonzero(order < len(owned)).astype(np.int32)
    return LocalPart(rows=rows[order], points=points, query_ids=owned, queries=None, own_rows=own_rows)


def with_queries(part: LocalPart, pieces: list[Piece]) -> LocalPart:
    """The part with the queries in its box, of the pieces of all their chunks."""
    query_ids, queries = (np.concatenate([piece[k] for piece in pieces]) for k in (0, 1))
    return dataclasses.replace(part, query_ids=query_ids, queries=queries, own_rows=part.own_rows[:0])


def check_radii(radii: Any, m: int) -> npt.NDArray[Any]:
    """One radius for each of `m` queries, or raise."""
    largest_of(radii)
    found = radii_of(np.asarray(radii), m)
    assert found is not None
    return found


def index_of(
    local: LocalPart, radius: float, radii: npt.NDArray[Any] | None, arguments: dict[str, Any]
) -> tuple[Index, dict[str, Any]]:
    """An index over a part, for the largest radius, and the radii of its queries, where they have some."""
    index = build_index(local.points, radius, session=worker_session(), **arguments)
    return index, {} if radii is None else {"radius": radii[local.query_ids]}


def list_part(
    local: LocalPart,
    radius: float,
    n: int,
    *,
    periodic: bool,
    asked: dict[str, Any],
    arguments: dict[str, Any],
    radii: npt.NDArray[Any] | None,
) -> PartList:
    """The list of a part, in the numbering of the whole, in host memory."""
    index, given = index_of(local, radius, radii, arguments)
    (found,) = list_of_part(index, local, {**given, **asked}, n, periodic=periodic)
    return found


def count_part(
    local: LocalPart,
    radius: float,
    *,
    include_self: bool,
    arguments: dict[str, Any],
    radii: npt.NDArray[Any] | None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """The queries of a part, and the counts of their neighbors."""
    index, given = index_of(local, radius, radii, arguments)
    return local.query_ids, counts_of_part(index, local, include_self=include_self, **given)


def core_pieces(
    counted: tuple[npt.NDArray[Any], npt.NDArray[np.int32]], least: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The rows that a part owns, and whether they are core."""
    return counted[0], counted[1] >= least


def link(
    local: LocalPart,
    cores: list[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] | None,
    distance: float,
    *,
    arguments: dict[str, Any],
) -> LocalGroups:
    """The groups of a part; `cores` say for the rows of all parts that it touches whether they are core."""
    core = None
    if cores is not None:
        core = np.zeros(len(local.rows), bool)
        for rows, is_core in cores:
            at = np.searchsorted(local.rows, rows).clip(max=max(len(local.rows) - 1, 0))
            there = local.rows[at] == rows if len(local.rows) else np.zeros(len(rows), bool)
            core[at[there]] = is_core[there]
    return link_part(worker_session(), local, core, distance, arguments=arguments)


def merge_groups(
    groups: list[LocalGroups],
    cores: list[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] | None,
    n: int,
    least: int,
    *,
    search: ClusterSearch,
) -> Clusters:
    """The clusters of the groups of all parts, in host memory."""
    core = None
    if cores is not None:
        core = np.zeros(n, bool)
        for rows, is_core in cores:
            core[rows] = is_core
    return merge(groups, n, least=least, core=core, search=search)


def of_chunk(results: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]], start: int, rows: int) -> npt.NDArray[Any]:
    """The values of the rows of a chunk, in their order, of those of all parts."""
    found: npt.NDArray[Any] = np.zeros((rows, *results[0][1].shape[1:]), results[0][1].dtype)
    for numbers, values in results:
        first, last = np.searchsorted(numbers, (start, start + rows))
        found[numbers[first:last] - start] = values[first:last]
    return found
