"""The public call nearest() by parts: the k nearest neighbors in a cloud that no device holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..api import nearest as search_nearest
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Radius
from ..results import Nearest
from ..runtime.session import Session
from .assignment import BoxTree, Part
from .pipeline import pipelined
from .rows import at_least_one, number_dtype, read
from .searches import PartSearch, largest_of, radii_of
from .whole import Given, LocalPart, Whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Rows", "bounds_of", "expected_reach", "limit_of", "nearest"]

#: The halo of a first search, in distances of the last neighbor that a sample foresees, of which it serves this share.
_WIDER, _SHARE = 1.3, 0.9

#: A distance below this share of a radius has a square below that of the radius, however both are rounded.
_INSIDE = 1 - 2.0**-20


def nearest(
    points: Any,
    k: int,
    *,
    radius: Radius | None = None,
    queries: Any = None,
    sessions: Sequence[Session] | Session | None = None,
    parts: int | None = None,
    max_bytes: int | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    vectors: bool = False,
    progress: bool = False,
    **options: Unpack[MethodOptions],
) -> Nearest:
    """Find the k nearest neighbors of each point or query of a cloud part by part.

    Parameters
    ----------
    points, queries, sessions, parts, max_bytes, progress : as for :func:`search`, which also says what raises
    k, radius, method, box, cell, periodic, include_self, vectors, **options : as for :func:`clfrnn.nearest`

    Returns
    -------
    Nearest, with arrays of numpy: that of :func:`clfrnn.nearest` of the whole, to the last bit

    Notes
    -----
    Without a radius, the width of halos is estimated by a sample of the points. A query is done where its k neighbors
    are nearer than all points outside of the halo. The others, as those of points that stand alone, are searched for
    again in every part that may have a nearer neighbor. Cost: as for :func:`search`, and for these queries a second
    search of the parts that they need; 4 + itemsize bytes of host memory for each of m · (k + 1) neighbors.

    Examples
    --------
    >>> from clfrnn.parts import nearest
    >>> nearest([[0.0], [1.0], [2.0], [9.0]], 1, parts=2).indices.tolist()
    [[1], [0], [1], [2]]
    """
    given = Given(
        sessions=sessions,
        parts=parts,
        max_bytes=max_bytes,
        method=method,
        domain=(box, cell, periodic),
        options=options,
        progress=progress,
    )
    many = at_least_one("k", k, "the number of neighbors of each query")
    reach = None if radius is None else largest_of(radius)
    whole = Whole(nearest, points, reach, queries=queries, given=given)
    # A point that is a query is the first of its own neighbors, or as near as these, and is left out in the end.
    search = _Nearest(whole, many + (queries is None and not include_self), vectors=vectors)
    if reach is None:
        search.unbounded()
    else:
        search.within(reach, None if radius is None else radii_of(radius, whole.num_queries))
    return search.found.result(many, np.arange(whole.num_points) if queries is None and not include_self else None)


class Rows(NamedTuple):
    """The neighbors of some queries, (m, k): in ascending order, -1 and inf where there are fewer."""

    indices: npt.NDArray[np.integer[Any]]
    distances: npt.NDArray[np.floating[Any]]
    vectors: npt.NDArray[np.floating[Any]] | None
    shifts: npt.NDArray[np.int32] | None

    @classmethod
    def empty(cls, shape: tuple[int, int], n: int, real: np.dtype[Any], *, dim: int, shifts: bool) -> Rows:
        """No neighbors, (m, k), in `real` numbers among `n` points; with vectors of `dim` coordinates, if not 0."""
        return cls(
            np.full(shape, -1, number_dtype(n)),
            np.full(shape, np.inf, real),
            np.zeros((*shape, dim), real) if dim else None,
            np.zeros((*shape, dim), np.int32) if dim and shifts else None,
        )

    @classmethod
    def of(cls, found: Nearest, rows: npt.NDArray[np.integer[Any]]) -> Rows:
        """What a search of some points found, in numbers of the whole; `rows` are those of the points."""
        host = found.to_host()
        none = host.indices < 0
        indices = np.where(none, -1, rows[np.where(none, 0, host.indices)]) if len(rows) else host.indices
        return cls(indices, host.distances, host.vectors, host.shifts)

    def put(self, at: npt.NDArray[Any], other: Rows) -> None:
        """Take the neighbors of other rows to the rows `at`, with the columns that these have."""
        pairs: Any = zip(self, other, strict=True)
        for mine, theirs in pairs:
            if mine is not None:
                mine[at] = theirs

    def merged(self, at: npt.NDArray[Any], other: Rows) -> Rows:
        """The first of the neighbors of the rows `at` and of those of other points, by (d², index, shift)."""
        both = [
            None if mine is None else np.concatenate([mine[at], theirs], axis=1)
            for mine, theirs in zip(self, other, strict=True)
        ]
        indices, distances, vectors, shifts = both
        assert indices is not None
        assert vectors is not None
        squares = np.where(indices < 0, np.inf, _squares(vectors))
        images = [] if shifts is None else [shifts[..., axis] for axis in reversed(range(shifts.shape[-1]))]
        order = np.lexsort((*images, indices, squares), axis=1)[:, : self.indices.shape[1]]
        taken = [
            None if each is None else np.take_along_axis(each, order if each.ndim == 2 else order[..., None], axis=1)
            for each in (indices, distances, vectors, shifts)
        ]
        return Rows(*taken)  # type: ignore[arg-type]

    def result(self, k: int, points: npt.NDArray[Any] | None) -> Nearest:
        """The first k neighbors; where `points` are the queries and do not count, without each of them itself."""
        columns = [each for each in self if each is not None]
        if points is not None:
            itself = (self.indices == points[:, None]) & (self.distances == 0)
            # Where k others are as near and have lower numbers, the query itself is behind the last one.
            column = np.where(itself.any(axis=1), itself.argmax(axis=1), k)
            columns = [_without(each, column) for each in columns]
        for each in columns:
            each.setflags(write=False)
        return Nearest(*columns)


def _squares(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The squared lengths of vectors, each step rounded as in a search."""
    with np.errstate(all="ignore"):
        squares = vectors[..., 0] * vectors[..., 0]
        for axis in range(1, vectors.shape[-1]):
            squares = squares + vectors[..., axis] * vectors[..., axis]
    return squares


def _without(array: npt.NDArray[Any], column: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Rows without the element in one column each."""
    others = np.arange(array.shape[1]) != column[:, None]
    return array[others].reshape(len(array), array.shape[1] - 1, *array.shape[2:])


def expected_reach(sample: npt.NDArray[Any], n: int, k: int, *, session: Session, domain: dict[str, Any]) -> float:
    """About the distance of the last of k neighbors among `n` points, by a sample of them; 0 where it does not tell."""
    share = len(sample) / max(n, 1)
    in_sample = max(1, round(k * share))
    if len(sample) <= in_sample:
        return 0.0
    found = search_nearest(sample, in_sample, session=session, **domain)
    distances = found.distances.get()[:, -1].astype(np.float64)
    usual = float(np.quantile(distances[np.isfinite(distances)], _SHARE)) if np.isfinite(distances).any() else 0.0
    return _WIDER * usual * (k * share / in_sample) ** (1 / sample.shape[1])


def limit_of(halo: float, real: np.dtype[Any]) -> float:
    """The distance below which the last neighbor of a query is settled by a part with this halo."""
    return float(real.type(halo)) * _INSIDE


def bounds_of(distances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Distances beyond which no point can come before the last neighbor of each row so far."""
    return distances[:, -1].astype(np.float64) / _INSIDE


class _Nearest:
    """The neighbors of all queries of a whole, found part by part.

    Parameters
    ----------
    whole : the cloud
    k : number of neighbors of each query, itself counted
    vectors : whether vectors and shifts are wanted
    """

    def __init__(self, whole: Whole, k: int, *, vectors: bool) -> None:
        self.whole, self.k, self.vectors = whole, k, vectors
        self.found = self._empty(whole.num_queries, vectors=vectors)

    def _empty(self, m: int, *, vectors: bool) -> Rows:
        whole = self.whole
        dim = int(whole.points.shape[1]) if vectors else 0
        return Rows.empty((m, self.k), whole.num_points, whole.real, dim=dim, shifts=whole.axes.repeats)

    def within(self, reach: float, radii: npt.NDArray[Any] | None) -> None:
        """Find the neighbors within a radius: a halo as wide settles all rows."""
        search = PartSearch(self.whole, reach, radii)

        def serve(session: Session, local: LocalPart) -> Iterator[tuple[npt.NDArray[Any], Rows]]:
            if not len(local.query_ids):
                return
            index, given = search.index(session, local)
            for some in self._some(len(local.query_ids)):
                own = {name: values[some] for name, values in given.items()}
                found = index.nearest(local.positions[some], k=self.k, vectors=self.vectors, **own)
                yield local.query_ids[some], Rows.of(found, local.rows)
            del index
            session.trim()

        for query_ids, rows in search.each_part(serve, "searching"):
            self.found.put(query_ids, rows)

    def unbounded(self) -> None:
        """Find the neighbors however far they are."""
        whole = self.whole
        halo = expected_reach(
            whole.survey.sample, whole.num_points, self.k, session=whole.sessions[0], domain=whole.domain
        )
        tree, parts = whole.divide(halo)
        settled = np.zeros(whole.num_queries, bool)
        limit = limit_of(halo, whole.real)

        def serve(session: Session, local: LocalPart) -> Iterator[tuple[npt.NDArray[Any], Rows, bool]]:
            for some in self._some(len(local.query_ids)):
                found = self._search(session, local.points, local.positions[some], vectors=self.vectors)
                yield local.query_ids[some], Rows.of(found, local.rows), len(local.rows) == whole.num_points
            session.trim()

        jobs = list(zip(parts, whole.queries_in(tree), strict=True))
        given: dict[str, Any] = {"what": "searching", "progress": whole.given.progress}
        for query_ids, rows, sees_all in pipelined(whole.sessions, jobs, lambda job: whole.local(*job), serve, **given):
            self.found.put(query_ids, rows)
            settled[query_ids] = sees_all | (rows.distances[:, -1] < limit)
        self._settle(np.flatnonzero(~settled), tree, parts)

    def _settle(self, unsettled: npt.NDArray[np.intp], tree: BoxTree, parts: Sequence[Part]) -> None:
        """Find the neighbors of these queries in every part within reach of their last neighbor so far."""
        if not len(unsettled):
            return
        whole = self.whole
        queries = whole.points if whole.queries is None else whole.queries
        positions = read(queries, unsettled).astype(whole.real)
        bounds = bounds_of(self.found.distances[unsettled])
        reaches = whole.axes.reach(bounds, whole.real, whole.farthest)
        best = self._empty(len(unsettled), vectors=True)
        asking = {
            number: np.sort(np.concatenate([inside, near]))
            for number, inside, near in tree.divide(whole.axes.places(positions), reaches)
        }
        jobs = [(number, rows) for number, rows in asking.items() if len(rows) and len(parts[number].owned)]

        def serve(session: Session, job: Any) -> Iterator[tuple[npt.NDArray[Any], Rows]]:
            points, owned, rows = job
            for some in self._some(len(rows)):
                found = self._search(session, points, positions[rows[some]], vectors=True)
                yield rows[some], Rows.of(found, owned)
            session.trim()

        def reading(job: tuple[int, npt.NDArray[Any]]) -> Any:
            owned = parts[job[0]].owned
            return read(whole.points, owned).astype(whole.real), owned, job[1]

        given: dict[str, Any] = {"what": "settling", "progress": whole.given.progress}
        for rows, found in pipelined(whole.sessions, jobs, reading, serve, **given):
            best.put(rows, best.merged(rows, found))
        self.found.put(unsettled, best)

    def _search(self, session: Session, points: Any, queries: Any, *, vectors: bool) -> Nearest:
        return search_nearest(points, self.k, queries=queries, vectors=vectors, session=session, **self.whole.arguments)

    def _some(self, m: int) -> Iterator[slice]:
        """The queries in shares whose neighbors fit the byte budget of lists."""
        budget, dim, size = self.whole.list_bytes, int(self.whole.points.shape[1]), self.whole.real.itemsize
        each = self.k * (4 + size + dim * (4 + size))
        step = max(m, 1) if budget is None else max(1, budget // each)
        return (slice(start, min(start + step, m)) for start in range(0, m, step))
