"""The public call nearest() over dask arrays, and its tasks: parts answer rows that another halo leaves open."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..api import nearest as search_nearest
from ..parts.assignment import BoxTree
from ..parts.nearest_rows import Rows, bounds_of, expected_reach, limit_of
from ..parts.rows import at_least_one
from ..parts.whole import LocalPart
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers
from ..results import Nearest
from .runs import Given, Run
from .tasks import index_of, worker_session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["nearest"]


def nearest(
    points: Any,
    k: int,
    *,
    radius: Any = None,
    queries: Any = None,
    parts: int | None = None,
    client: Any = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    vectors: bool = False,
    **options: Unpack[MethodOptions],
) -> Nearest:
    """Find the k nearest neighbors of each point or query on the workers of a cluster.

    Parameters
    ----------
    points, queries, parts, client : as for :func:`search`, which also says what raises
    radius : None, a scalar, or (m,), an array of numpy or of dask, one for each query
    k, method, box, cell, periodic, include_self, vectors, **options : as for :func:`clfrnn.nearest`

    Returns
    -------
    Nearest, whose `indices`, `distances`, `vectors` and `shifts` are dask arrays, (m, k) and (m, k, dim), in the chunks
    of the queries: those of :func:`clfrnn.nearest` of the whole, to the last bit

    Notes
    -----
    Without a radius, parts have halos as wide as a sample lets expect. Rows whose last neighbor may lie beyond go to
    every part that it leaves within reach, and their answers come back, from worker to worker. Cost: as for
    :func:`search`; parts² small tasks.
    """
    many = at_least_one("k", k, "the number of neighbors of each query")
    given = Given(
        points=points,
        queries=queries,
        parts=parts,
        client=client,
        domain=(box, cell, periodic),
        method=method,
        options=options,
    )
    run = Run(nearest, given)
    # A point that is a query is the first of its own neighbors, or as near as these, and is left out in the end.
    without_self = queries is None and not include_self
    within = {"k": many + without_self, "vectors": vectors, "arguments": given.arguments}
    if radius is None:
        found = _unbounded(run, within)
    else:
        reach, radii = run.radii(radius)
        run.divide(reach)
        found = [run.submit("nearest", _nearest_within, part, reach, radii=radii, **within) for part in run.asked]
    results = [run.submit("rows", _result, each, many, without_self=without_self) for each in found]

    def column(name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
        return run.in_chunks([run.submit(name, _column, each, name) for each in results], dtype, (many, *shape))

    dim = (run.sample.shape[1],)
    return Nearest(
        column("indices", np.int32 if run.n < 2**31 else np.int64, ()),
        column("distances", run.real, ()),
        column("vectors", run.real, dim) if vectors else None,
        column("shifts", np.int32, dim) if vectors and run.axes.repeats else None,
    )


def _unbounded(run: Run, within: dict[str, Any]) -> list[Any]:
    """The neighbors of the queries of each part, however far they are."""
    k, arguments = within["k"], within["arguments"]
    sample = run.client.scatter(run.sample)
    halo = run.submit("reach", _reach, sample, run.n, k, domain=run.given.domain_arguments).result()
    run.divide(halo)
    limit = limit_of(halo, run.real)
    first = [run.submit("nearest", _nearest_in_halo, part, run.n, limit, **within) for part in run.asked]
    asked = [run.submit("question", _questions, each, run.tree, run.farthest) for each in first]
    answers = []
    for number, part in enumerate(run.parts):
        questions = [run.submit("piece", operator.getitem, each, number) for each in asked]
        answers.append(run.submit("answer", _answer, part, questions, k, arguments=arguments))
    settled = []
    for number, each in enumerate(first):
        own = [run.submit("reply", operator.getitem, replies, number) for replies in answers]
        settled.append(run.submit("settle", _settle, each, own, run.n, shifts=run.axes.repeats))
    return settled


class _Found(NamedTuple):
    """The neighbors of the queries of a part, and where those that others may know nearer ones of stand and lie."""

    query_ids: npt.NDArray[Any]
    rows: Rows
    unsettled: npt.NDArray[np.intp]
    positions: npt.NDArray[Any]


class _Question(NamedTuple):
    """Queries that one part asks another: their numbers among those that are not settled, and their positions."""

    numbers: npt.NDArray[np.intp]
    positions: npt.NDArray[Any]


def _reach(sample: npt.NDArray[Any], n: int, k: int, *, domain: dict[str, Any]) -> float:
    return expected_reach(sample, n, k, session=worker_session(), domain=domain)


def _nearest_within(
    local: LocalPart,
    radius: float,
    *,
    radii: npt.NDArray[Any] | None,
    k: int,
    vectors: bool,
    arguments: dict[str, Any],
) -> _Found:
    index, given = index_of(local, radius, radii, arguments)
    rows = Rows.of(index.nearest(local.positions, k=k, vectors=vectors, **given), local.rows)
    return _Found(local.query_ids, rows, np.zeros(0, np.intp), local.positions[:0])


def _nearest_in_halo(
    local: LocalPart, n: int, limit: float, *, k: int, vectors: bool, arguments: dict[str, Any]
) -> _Found:
    positions = local.positions
    found = search_nearest(local.points, k, queries=positions, vectors=vectors, session=worker_session(), **arguments)
    rows = Rows.of(found, local.rows)
    settled = (rows.distances[:, -1] < limit) | (len(local.rows) == n)
    unsettled = np.flatnonzero(~settled)
    return _Found(local.query_ids, rows, unsettled, positions[unsettled])


def _questions(found: _Found, tree: BoxTree, farthest: float) -> list[_Question]:
    """What a part asks each of all parts."""
    real = found.rows.distances.dtype
    positions = found.positions.astype(real)
    reaches = tree.axes.reach(bounds_of(found.rows.distances[found.unsettled]), real, farthest)
    questions = [_Question(found.unsettled[:0], positions[:0])] * tree.parts
    for number, inside, near in tree.divide(tree.axes.places(positions), reaches):
        numbers = np.sort(np.concatenate([inside, near]))
        questions[number] = _Question(numbers, positions[numbers])
    return questions


def _answer(
    local: LocalPart, questions: list[_Question], k: int, *, arguments: dict[str, Any]
) -> list[tuple[npt.NDArray[np.intp], Rows | None]]:
    """For each part, the numbers of its question, and their neighbors among the points that this part owns."""
    ends = np.cumsum([len(each.numbers) for each in questions])
    if not len(local.query_ids) or not ends[-1]:
        return [(each.numbers[:0], None) for each in questions]
    positions = np.concatenate([each.positions for each in questions])
    owned = local.points[local.own_rows].astype(positions.dtype)
    found = search_nearest(owned, k, queries=positions, vectors=True, session=worker_session(), **arguments)
    rows = Rows.of(found, local.query_ids)
    pieces = [[None] * len(ends) if column is None else np.split(column, ends[:-1]) for column in rows]
    return [(each.numbers, Rows(*columns)) for each, columns in zip(questions, zip(*pieces, strict=True), strict=True)]


def _settle(found: _Found, replies: list[tuple[npt.NDArray[np.intp], Rows | None]], n: int, *, shifts: bool) -> _Found:
    """The neighbors of a part, with those that all parts know."""
    if not len(found.unsettled):
        return found
    k, (real, dim) = found.rows.indices.shape[1], (found.rows.distances.dtype, found.positions.shape[1])
    best = Rows.empty((len(found.unsettled), k), n, real, dim=dim, shifts=shifts)
    for numbers, rows in replies:
        if rows is not None:
            best.put(numbers, best.merged(numbers, rows))
    rows = Rows(*(None if each is None else each.copy() for each in found.rows))  # type: ignore[arg-type]
    rows.put(found.unsettled, best)
    return found._replace(rows=rows)


def _result(found: _Found, k: int, *, without_self: bool) -> tuple[npt.NDArray[Any], Nearest]:
    return found.query_ids, found.rows.result(k, found.query_ids if without_self else None)


def _column(result: tuple[npt.NDArray[Any], Nearest], name: str) -> tuple[npt.NDArray[Any], Any]:
    return result[0], getattr(result[1], name)
