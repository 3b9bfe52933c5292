"""What a search by parts is given: a cloud that no device need hold, the devices, and how large its parts may be."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..errors import DeviceMemoryError, InvalidInputError
from ..host.numbers import shown
from ..methods.named import check_keywords
from ..points.sessions import default_session
from ..runtime.session import Session
from .assignment import BoxTree, Part, assign_rows
from .axes import Domain
from .boxes import Boxes, bisect, domain_axes
from .rows import as_rows, at_least_one, read, real_of, survey

__all__ = ["Given", "LocalPart", "Whole", "check_sessions", "refuse"]

#: Bytes that an index takes on a device for each point: of any dtype, and for each of dim + 1 coordinates as many times
#: their size.
_FLAT_BYTES, _COORDINATES = 48, 2

#: Bytes that a search takes beside these, whatever the number of points: a sample of how they crowd.
_SAMPLE_BYTES = 9 << 18

#: Share of a byte budget that an index may take, and a list; sorting a list takes up to four times its bytes.
_INDEX_SHARE, _LIST_SHARE = 2, 10

#: Share of the memory of a device that parts take where no budget is given.
_MEMORY_SHARE = 0.6

#: Rows of a part, as kernels count them in int32.
_MOST_ROWS = 2**31 - 2**22

#: The work of a point beside that of each of its neighbors.
_WORK_OF_POINT = 8.0

#: How much larger parts may be than a sample of them lets expect.
_MARGIN = 1.05

#: How often parts that are too large are divided once more before the search is refused.
_ROUNDS = 8

#: What a call of the same name takes and one by parts does not, with what to do instead.
_REFUSED = {
    "where": "its arrays are numbered as the whole, and no part sees all of it; search without it, and select pairs "
    "of the lists, or search the whole on one device",
    "batch": "systems are searched without parts; pass each system by itself, or all to clfrnn.search",
    "query_batch": "systems are searched without parts; pass each system by itself, or all to clfrnn.search",
    "sample_weight": "weights are of the whole; pass it to clfrnn.cluster.dbscan on one device",
    "session": "parts may take several; pass sessions=[session]",
    "to_host": "results of parts are in host memory; leave it out",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Given:
    """The keywords that all searches by parts have in common."""

    sessions: Any
    parts: Any
    max_bytes: Any
    method: Any
    #: `box`, `cell` and `periodic`
    domain: Domain
    options: Mapping[str, Any]
    progress: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalPart:
    """The points of a part in memory, and which of them it owns."""

    #: the rows of the whole, in ascending order, and their coordinates
    rows: npt.NDArray[np.integer[Any]]
    points: npt.NDArray[Any]
    #: the queries that the part answers: their numbers in the whole, and where they are no points, their coordinates
    query_ids: npt.NDArray[np.integer[Any]]
    queries: npt.NDArray[Any] | None
    #: where each query that is a point stands among the rows; empty where queries are no points
    own_rows: npt.NDArray[np.int32]

    @property
    def positions(self) -> npt.NDArray[Any]:
        """The coordinates of the queries."""
        return self.points[self.own_rows] if self.queries is None else self.queries

    @property
    def is_alone(self) -> bool:
        """Whether the queries are the points of the part, without a halo."""
        return self.queries is None and len(self.rows) == len(self.query_ids)


class Whole:
    """A cloud, the devices that search it, and its parts.

    Parameters
    ----------
    call : the public function, for what it says of wrong keywords
    points, queries : (n, dim), (m, dim) or None, as callers give them
    radius : the largest distance of a neighbor, or None where it follows from the points
    given : the keywords that searches by parts have in common
    """

    def __init__(
        self,
        call: Callable[..., Any],
        points: Any,
        radius: float | None,
        *,
        given: Given,
        queries: Any = None,
        radius_name: str = "radius",
    ) -> None:
        refuse(call, given.method, given.options)
        self.given = given
        self.points = as_rows(points, "points")
        self.queries = None if queries is None else as_rows(queries, "queries")
        if self.queries is not None and isinstance(queries, (list, tuple)):  # these take the points' dtype
            self.queries = self.queries.astype(real_of(self.points))
        if self.queries is not None and self.queries.shape[1] != self.points.shape[1]:
            raise InvalidInputError(
                f"expected {self.points.shape[1]} coordinates each, as the points have, got {self.queries.shape[1]}; "
                "pass rows of as many coordinates",
                argument="queries",
            )
        self.sessions = check_sessions(given.sessions)
        self._parts = None if given.parts is None else at_least_one("parts", given.parts, "the number of parts")
        self._max_bytes: int | None = None
        if given.max_bytes is not None:
            budget = at_least_one("max_bytes", given.max_bytes, "the bytes of device memory for a search")
            self._max_bytes = max(budget - _SAMPLE_BYTES, budget // 2)
        self._check(radius, radius_name)
        self.axes = domain_axes(given.domain, self.points)
        self.survey = survey(self.points, "points", parts=self.fewest_parts)
        self.farthest = self.survey.farthest
        if self.queries is not None:
            self.farthest = max(self.farthest, survey(self.queries, "queries").farthest)

    def with_points(self, points: npt.NDArray[Any]) -> Whole:
        """The same search of other points; raises where these cannot be searched."""
        other = copy.copy(self)
        other.points = points
        other.survey = survey(points, "points", parts=other.fewest_parts)
        other.farthest = other.survey.farthest
        return other

    def with_farthest(self, farthest: float) -> Whole:
        """The same search, whose halos serve coordinates up to `farthest`."""
        other = copy.copy(self)
        other.farthest = farthest
        return other

    @property
    def num_points(self) -> int:
        """The number of points of the whole."""
        return int(self.points.shape[0])

    @property
    def num_queries(self) -> int:
        """The number of queries of the whole."""
        return self.num_points if self.queries is None else int(self.queries.shape[0])

    @property
    def list_bytes(self) -> int | None:
        """The largest number of bytes of a list on a device, where there is a budget."""
        return None if self._max_bytes is None else max(1, self._max_bytes // _LIST_SHARE)

    @property
    def domain(self) -> dict[str, Any]:
        """The keywords of a search that say where points lie."""
        return dict(zip(("box", "cell", "periodic"), self.given.domain, strict=True))

    @property
    def arguments(self) -> dict[str, Any]:
        """The keywords of a search of any part."""
        return {**self.domain, "method": self.given.method, **self.given.options}

    @property
    def real(self) -> np.dtype[Any]:
        """The dtype in which parts are searched, which is that of the wider ones of points and queries."""
        return np.result_type(real_of(self.points), *([] if self.queries is None else [real_of(self.queries)]))

    def _check(self, radius: float | None, radius_name: str) -> None:
        """Raise what a search of no points raises for the other arguments."""
        for session in self.sessions:
            try:
                build_index(self.nothing, 1.0 if radius is None else radius, session=session, **self.arguments)
            except InvalidInputError as error:
                if error.argument != "radius":
                    raise
                raise InvalidInputError(error.problem, argument=radius_name) from None

    @property
    def nothing(self) -> npt.NDArray[Any]:
        """No points, of the dimension and the dtype of the whole: what is refused of them is refused of all."""
        return np.zeros((0, int(self.points.shape[1])), np.dtype(self.points.dtype).newbyteorder("="))

    def tree(self, boxes: Boxes, radius: float) -> BoxTree:
        """Boxes in a tree, by which rows within `radius` are found."""
        return BoxTree(boxes, self.axes, self.axes.reach(radius, real_of(self.points), self.farthest))

    def divide(self, radius: float) -> tuple[BoxTree, list[Part]]:
        """The boxes of the cloud with a halo of `radius`, and their parts, each of which fits its byte budget."""
        n, most, wanted = self.num_points, self.most_rows, self.fewest_parts
        places, load = self.axes.places(self.survey.sample), self._load(radius)

        @functools.cache
        def cut(many: int) -> BoxTree:
            return self.tree(bisect(places, load, many), radius)

        wanted = self._enough(places, cut, wanted)
        largest = 0
        for _ in range(_ROUNDS):
            tree = cut(wanted)
            parts = assign_rows(self.points, tree, "points")
            largest = max((len(part.owned) + len(part.halo) for part in parts if len(part.owned)), default=0)
            if largest <= most:
                return tree, parts
            wanted = min(max(n, 1), math.ceil(1.1 * wanted * largest / most))
        needed = largest * self._bytes_of_point() * _INDEX_SHARE
        raise DeviceMemoryError(
            f"{largest:,} points lie within the radius of one part of {wanted:,}, for which a search takes {needed:,} "
            f"bytes, and {most * self._bytes_of_point() * _INDEX_SHARE:,} are allowed: more parts would not be much "
            "smaller. Take a smaller radius, or raise max_bytes",
            needed=needed,
            available=most * self._bytes_of_point() * _INDEX_SHARE,
        )

    @property
    def fewest_parts(self) -> int:
        """The least number of parts: as many as wanted, or as fit without halos; at most one for each point."""
        fewest = self._parts or max(len(self.sessions), -(-self.num_points // self.most_rows))
        return max(1, min(fewest, self.num_points))

    def _enough(self, places: npt.NDArray[np.float64], cut: Callable[[int], BoxTree], wanted: int) -> int:
        """How many parts fit their byte budget with their halos, by the sample, so that all points are divided once."""
        share = _MARGIN * self.num_points / max(len(places), 1)
        many = wanted
        for _ in range(_ROUNDS if wanted > 1 else 0):
            divided = cut(many).divide(places)
            largest = max((len(inside) + len(near) for _, inside, near in divided if len(inside)), default=0)
            if share * largest <= self.most_rows:
                return many
            many = min(self.num_points, math.ceil(1.1 * many * share * largest / self.most_rows))
        return wanted

    def queries_in(self, tree: BoxTree) -> list[Any]:
        """The numbers of the queries in each box; None where queries are the points."""
        if self.queries is None:
            return [None] * tree.parts
        return [part.owned for part in assign_rows(self.queries, BoxTree(tree.boxes, tree.axes, 0.0), "queries")]

    def _bytes_of_point(self) -> int:
        return _FLAT_BYTES + _COORDINATES * (int(self.points.shape[1]) + 1) * real_of(self.points).itemsize

    @property
    def most_rows(self) -> int:
        """The most rows of a part for every session."""
        budgets = [_MEMORY_SHARE * session.profile.global_memory for session in self.sessions]
        budget = min(budgets) if self._max_bytes is None else self._max_bytes
        row = 4 * int(self.points.shape[1]) * real_of(self.points).itemsize
        largest = min(session.profile.max_allocation for session in self.sessions) // row
        return max(1, min(_MOST_ROWS, largest, int(budget) // (_INDEX_SHARE * self._bytes_of_point())))

    def _load(self, radius: float) -> npt.NDArray[np.float64]:
        """The work that each point of the sample stands for: with several devices, its neighbors count."""
        sample = self.survey.sample
        share = len(sample) / max(self.num_points, 1)
        if len(self.sessions) == 1 or not len(sample) or not radius:
            return np.ones(len(sample))
        # As many points of the sample lie within this radius as of the whole within the other one, where they are even.
        wider = radius * share ** (-1 / sample.shape[1])
        periods = self.axes.periods[self.axes.periods > 0]
        wider = min(wider, max(radius, float(periods.min()) / 2)) if len(periods) else wider
        index = build_index(sample, wider, session=self.sessions[0], **self.domain)
        return _WORK_OF_POINT + index.count().get().astype(np.float64)

    def local(self, part: Part, query_ids: npt.NDArray[np.integer[Any]] | None = None) -> LocalPart:
        """Read the points of a part, and the queries of these numbers where they are no points."""
        rows, own_rows = part.merged()
        if not len(part.owned if query_ids is None else query_ids):  # what answers nothing need not be read
            rows = rows[:0]
        if query_ids is not None:
            own_rows = own_rows[:0]
        points = read(self.points, rows)
        wider = self.real != real_of(self.points)
        return LocalPart(
            rows=rows,
            points=points.astype(self.real) if wider else points,
            query_ids=part.owned if query_ids is None else query_ids,
            queries=None if query_ids is None else read(self.queries, query_ids),
            own_rows=own_rows.astype(np.int32),
        )


def check_sessions(sessions: Any) -> list[Session]:
    """The sessions of a search: those given, or the default one."""
    if sessions is None:
        return [default_session()]
    given = [sessions] if isinstance(sessions, Session) else sessions
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    if not listed or not given or not all(isinstance(each, Session) for each in given):
        raise InvalidInputError(
            f"expected a list of one or more sessions, got {shown(sessions)}; pass "
            "[clfrnn.Session(device) for device in range(2)], or leave it out for the default session",
            argument="sessions",
        )
    return list(given)


def refuse(call: Callable[..., Any], method: object, options: Mapping[str, Any]) -> None:
    """Refuse what the call without parts takes, and keywords that no call takes."""
    for name, advice in _REFUSED.items():
        if options.get(name) is not None:
            raise InvalidInputError(f"expected none in a search by parts, got one: {advice}", argument=name)
    check_keywords(call, method, {name: value for name, value in options.items() if name not in _REFUSED})
