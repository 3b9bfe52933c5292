"""The public calls search_parts() and count(): the neighbors of a cloud that no device holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..conditions import Condition
from ..errors import DeviceMemoryError, InvalidInputError
from ..host.numbers import real_array, shown
from ..index import Index
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Radius, Sort
from ..points.half import check_half
from ..results import NeighborList
from ..runtime.session import Session
from .assignment import Part
from .lists import PartList, of_rows
from .pipeline import pipelined
from .rows import check_radius
from .whole import Given, LocalPart, Whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PartSearch", "blocks", "count", "counts_of_part", "largest_of", "list_of_part", "radii_of", "search_parts"]

#: Largest number of bytes of a list where the device does not hold that of a whole part, and there is no budget.
_BLOCK_BYTES = 1 << 28

#: All points of a part are counted, and those of its halo left out, where this is at most how many more they are: it
#: takes less than to pass the others as queries.
_FEW_OTHERS = 1.5


def search_parts(
    points: Any,
    radius: Radius,
    *,
    queries: Any = None,
    sessions: Sequence[Session] | Session | None = None,
    parts: int | None = None,
    max_bytes: int | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    distances: bool = False,
    vectors: bool = False,
    sort: Sort | None = None,
    half: bool = False,
    progress: bool = False,
    **options: Unpack[MethodOptions],
) -> Iterator[PartList]:
    """List the neighbors of a cloud part by part, on one device or on several at the same time.

    A part is the points in a box of space, and its *halo*: the points around the box within the radius, which may be
    neighbors of points in it. Each part is searched by itself, so that a device needs memory for one part at a time.

    Parameters
    ----------
    points : (n, dim), as for :func:`clfrnn.search`; an array of numpy, a memory-mapped one (``numpy.load(path,
        mmap_mode="r")``), or one that is read by slices, as those of Zarr and HDF5
    radius : scalar, or (m,) for one radius for each query
    queries : (m, dim), as `points`; the points themselves when not given
    sessions : a list with a :class:`clfrnn.Session` for each device; the default session when not given
    parts : least number of parts; by default as few as fit the devices, and one for each session
    max_bytes : largest number of bytes that the search takes on each device, from 5 MB on, as 2 MB are taken whatever
        the part; by default 0.6 of the device's memory
    progress : whether a terminal shows a progress bar on standard error
    method, box, cell, periodic, include_self, distances, vectors, sort, half, **options : as for :func:`clfrnn.search`

    Returns
    -------
    an iterator of :class:`PartList`, in host memory. `indices` and `query_ids` are numbers of the whole, and each query
    is a row of one list. A part has several lists where one would exceed the budget. :func:`join` makes one list of
    all, :func:`write_lists` writes them to a folder one by one.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do. `where` and `batch` are refused.
    DeviceMemoryError
        A part does not fit the budget however many there are, or one row alone does not.
    NoDeviceError
        As for :func:`clfrnn.search`.

    Notes
    -----
    The pairs, and all that a list has, are those of :func:`clfrnn.search` of the whole, to the last bit where `sort` is
    given. Cost: the points are read twice, and each part once more. Host memory: 4 bytes for each point, twice for
    those in halos. On the devices: a search of each part with its halo. Reading, searching and what the caller does
    with a list go on at the same time.

    Examples
    --------
    >>> from clfrnn.parts import search
    >>> for found in search([[0.0], [1.0], [2.0], [9.0]], 1.0, parts=2, sort="index"):
    ...     print(found.query_ids.tolist(), found.indices.tolist())
    [0, 1] [1, 0, 2]
    [2, 3] [1]
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
    reach = largest_of(radius)
    whole = Whole(search_parts, points, reach, queries=queries, given=given)
    radii = radii_of(radius, whole.num_queries)
    if half:
        check_half(queries=None if queries is None else whole.num_queries, radii=None if radii is None else len(radii))
    asked: dict[str, Any] = {
        "include_self": include_self,
        "distances": distances,
        "vectors": vectors,
        "sort": sort,
        "half": half,
    }
    # What a search of nothing refuses.
    index = build_index(whole.nothing, reach, session=whole.sessions[0], **whole.arguments)
    index.query(None if queries is None else whole.nothing, **asked)
    return PartSearch(whole, reach, radii).lists(asked)


def count(
    points: Any,
    radius: Radius,
    *,
    queries: Any = None,
    sessions: Sequence[Session] | Session | None = None,
    parts: int | None = None,
    max_bytes: int | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    progress: bool = False,
    **options: Unpack[MethodOptions],
) -> npt.NDArray[np.int32]:
    """Count the neighbors of each point or query of a cloud part by part.

    Parameters
    ----------
    points, radius, queries, sessions, parts, max_bytes, progress : as for :func:`search`, which also says what raises
    method, box, cell, periodic, include_self, **options : as for :func:`clfrnn.search`

    Returns
    -------
    (m,) int32 array of numpy, in the order of the queries

    Notes
    -----
    Cost: as for :func:`search`, without lists.

    Examples
    --------
    >>> from clfrnn.parts import count
    >>> count([[0.0], [1.0], [2.0], [9.0]], 1.0, parts=2).tolist()
    [1, 2, 1, 0]
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
    reach = largest_of(radius)
    whole = Whole(count, points, reach, queries=queries, given=given)
    counts = np.zeros(whole.num_queries, np.int32)
    for query_ids, found in PartSearch(whole, reach, radii_of(radius, whole.num_queries)).counts(
        include_self=include_self
    ):
        counts[query_ids] = found
    return counts


class PartSearch:
    """A cloud in parts, and how each of them is searched.

    Parameters
    ----------
    whole, reach : the cloud, and the largest radius
    radii : one radius for each query, or None
    parts : the parts, where the cloud is divided and has no other queries
    """

    def __init__(
        self, whole: Whole, reach: float, radii: npt.NDArray[Any] | None, parts: Sequence[Part] | None = None
    ) -> None:
        self.whole, self.reach, self.radii, self.parts = whole, reach, radii, parts

    def lists(self, asked: dict[str, Any]) -> Iterator[PartList]:
        """The lists of all parts, one after the other."""
        return self.each_part(lambda session, local: self._list(session, local, asked), "searching")

    def counts(self, *, include_self: bool) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.int32]]]:
        """The queries and the counts of all parts, one after the other."""
        return self.each_part(lambda session, local: self._count(session, local, include_self=include_self), "counting")

    def each_part(self, searching: Callable[[Session, LocalPart], Iterator[Any]], what: str) -> Iterator[Any]:
        """What `searching` yields of each part, one after the other; `what` it does, for a progress bar."""
        whole = self.whole
        if self.parts is not None:
            jobs: list[Any] = [(part,) for part in self.parts]
        else:
            tree, parts = whole.divide(self.reach)
            jobs = list(zip(parts, whole.queries_in(tree), strict=True))
        yield from pipelined(
            whole.sessions, jobs, lambda job: whole.local(*job), searching, what=what, progress=whole.given.progress
        )

    def index(self, session: Session, local: LocalPart) -> tuple[Index, dict[str, Any]]:
        """An index over a part, and the radii of its queries, where they have some."""
        if self.radii is None:
            return build_index(local.points, self.reach, session=session, **self.whole.arguments), {}
        radii = self.radii[local.query_ids]
        largest = float(radii.max(initial=0))
        index = build_index(local.points, largest, session=session, **self.whole.arguments)
        return index, {"radius": radii}

    def _list(self, session: Session, local: LocalPart, asked: dict[str, Any]) -> Iterator[PartList]:
        index, given = self.index(session, local)
        yield from list_of_part(
            index,
            local,
            {**given, **asked},
            self.whole.num_points,
            periodic=self.whole.axes.repeats,
            budget=self.whole.list_bytes,
        )
        del index
        session.trim()

    def _count(self, session: Session, local: LocalPart, *, include_self: bool) -> Iterator[Any]:
        index, given = self.index(session, local)
        yield local.query_ids, counts_of_part(index, local, include_self=include_self, **given)
        del index
        session.trim()


def counts_of_part(index: Index, local: LocalPart, *, include_self: bool, **given: Any) -> npt.NDArray[np.int32]:
    """The counts of the queries of a part, in host memory."""
    if local.is_alone or local.queries is not None:
        return index.count(local.queries, include_self=include_self, to_host=True, **given)
    if not given and len(local.rows) <= _FEW_OTHERS * len(local.query_ids):
        return index.count(include_self=include_self, to_host=True)[local.own_rows]
    # Each point finds itself once.
    return index.count(local.positions, to_host=True, **given) - np.int32(not include_self)


def list_of_part(
    index: Index, local: LocalPart, asked: dict[str, Any], n: int, *, periodic: bool, budget: int | None = None
) -> Iterator[PartList]:
    """The list of a part of `n` points, or several where there is a budget, in the numbering of the whole.

    Rows of a part are in the order of the whole, so that lower numbers there are lower here. Points of a part are
    passed as queries where it has a halo, and a condition takes the place of what a search knows of itself.
    """
    queries, given = local.queries, asked
    if queries is None and not local.is_alone:
        where = _relation(local, periodic=periodic, half=asked["half"], include_self=asked["include_self"])
        queries, given = local.positions, {**asked, "half": False, "where": where}
    row = 0
    for found in blocks(index, queries, given, budget):
        host = found.to_host()
        ids = local.query_ids[row : row + len(host)]
        row += len(host)
        yield of_rows(host, local.rows, ids, n)
        del found, host


def blocks(index: Index, queries: Any, given: dict[str, Any], budget: int | None) -> Iterator[NeighborList]:
    """The list of some queries, or several where one exceeds the budget, or the device where there is none."""
    if budget is None or not (index.num_points if queries is None else len(queries)):
        try:
            yield index.query(queries, **given)
        except DeviceMemoryError:
            budget = min(_BLOCK_BYTES, index.session.profile.max_allocation // 4)
        else:
            return
    yield from index.query_blocks(queries, max_bytes=budget, **given)


def _relation(local: LocalPart, *, periodic: bool, half: bool, include_self: bool) -> Condition | None:
    """The condition by which points of a part that are queries do not find themselves, or each pair once."""
    dim = local.points.shape[1]
    shifts = [f"shift.s{axis:x}" if dim > 1 else "shift" for axis in range(dim)] if periodic else []
    if half:
        last = ">=" if include_self else ">"
        if not shifts:
            return Condition(f"j {last} own_row[i]", own_row=local.own_rows)
        onward = f"{shifts[-1]} {last} 0"
        for shift in reversed(shifts[:-1]):
            onward = f"({shift} > 0 || ({shift} == 0 && {onward}))"
        return Condition(f"j > own_row[i] || (j == own_row[i] && {onward})", own_row=local.own_rows)
    if include_self:
        return None
    moved = "".join(f" || {shift} != 0" for shift in shifts)
    return Condition(f"own_row[i] != j{moved}", own_row=local.own_rows)


def largest_of(radius: Any) -> float:
    """The largest radius."""
    if np.ndim(radius) == 0:
        return check_radius(radius)
    values = real_array(np.asarray(radius))
    if values is None or values.ndim != 1 or not ((values >= 0) & np.isfinite(values)).all():
        raise InvalidInputError(
            f"expected finite numbers of at least 0, one for each query, got {shown(radius)}; pass distances in the "
            "points' unit",
            argument="radius",
        )
    return float(values.max(initial=0))


def radii_of(radius: Any, m: int) -> npt.NDArray[Any] | None:
    """One radius for each of `m` queries, or None for one of all."""
    if np.ndim(radius) == 0:
        return None
    radii = np.asarray(radius)
    if radii.shape != (m,):
        raise InvalidInputError(
            f"expected a number or shape ({m},), got shape {radii.shape}; pass one for all, or one for each query",
            argument="radius",
        )
    return radii
