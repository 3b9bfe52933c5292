"""The tasks of one call over dask arrays: chunks that are divided, and the parts that they make, as futures."""

from __future__ import annotations

import dataclasses
import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.libraries import library
from ..parts.assignment import BoxTree
from ..parts.axes import Domain
from ..parts.boxes import bisect, domain_axes
from ..parts.rows import Survey, at_least_one, check_radius, real_of
from ..parts.searches import largest_of
from ..parts.whole import refuse
from . import tasks

__all__ = ["Given", "Run"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Given:
    """What the calls over dask arrays have in common."""

    points: Any
    queries: Any
    parts: int | None
    client: Any
    #: `box`, `cell` and `periodic`
    domain: Domain
    method: Any
    options: Mapping[str, Any]

    @property
    def domain_arguments(self) -> dict[str, Any]:
        """The keywords of a search that say where points lie."""
        return dict(zip(("box", "cell", "periodic"), self.domain, strict=True))

    @property
    def arguments(self) -> dict[str, Any]:
        """The keywords of a search of any part."""
        return {**self.domain_arguments, "method": self.method, **self.options}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Chunked:
    """The chunks of an array, as futures, and what is known of their rows."""

    chunks: list[Any]
    sizes: list[int]
    surveys: list[Survey]

    @property
    def starts(self) -> list[int]:
        """The row of the whole that each chunk begins with, and the number of all rows."""
        return [0, *np.cumsum(self.sizes, dtype=np.int64).tolist()]

    @property
    def sample(self) -> npt.NDArray[Any]:
        """The samples of all chunks."""
        return np.concatenate([each.sample for each in self.surveys])

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """How many points each row of the sample stands for."""
        rows = [len(each.sample) for each in self.surveys]
        return np.concatenate(
            [np.full(drawn, size / max(drawn, 1)) for drawn, size in zip(rows, self.sizes, strict=True)]
        )


class Run:
    """The tasks of one call, and after :meth:`divide` its parts.

    Parameters
    ----------
    call : the public function, for what it says of wrong keywords
    given : its arguments
    """

    #: boxes in a tree; a :class:`LocalPart` for each, whose queries are the points that it owns; and one for each that
    #: has the queries of the call
    tree: BoxTree
    parts: Sequence[Any]
    asked: Sequence[Any]

    def __init__(self, call: Callable[..., Any], given: Given) -> None:
        refuse(call, given.method, given.options)
        self.given, self.client = given, _client(given.client)
        self._run, self._tasks = uuid.uuid4().hex[:8], 0
        self._points = self._surveyed(given.points, "points")
        self._queries = None if given.queries is None else self._surveyed(given.queries, "queries")
        both = [self._points, *([] if self._queries is None else [self._queries])]
        self.n, self.sample = self._points.starts[-1], self._points.sample
        self.axes = domain_axes(given.domain, self.sample)
        self.farthest = max(each.farthest for chunked in both for each in chunked.surveys)
        self.real = np.result_type(*(real_of(each.sample) for each in both))
        if both[-1].sample.shape[1] != self.sample.shape[1]:
            raise InvalidInputError(
                f"expected {self.sample.shape[1]} coordinates each, as the points have, got "
                f"{both[-1].sample.shape[1]}; pass rows of as many coordinates",
                argument="queries",
            )

    @property
    def m(self) -> int:
        """The number of queries."""
        return (self._points if self._queries is None else self._queries).starts[-1]

    def radii(self, radius: Any) -> tuple[float, Any]:
        """The largest radius, and a future of one for each query, or None where there is one of all."""
        if np.ndim(radius) == 0:
            return check_radius(radius), None
        given = self.client.compute(radius) if hasattr(radius, "__dask_graph__") else np.asarray(radius)
        radii = self.submit("radii", tasks.check_radii, given, self.m)
        return self.submit("radius", largest_of, radii).result(), radii

    def submit(self, name: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """A future of a task, which the dashboard shows by its name."""
        self._tasks += 1
        return self.client.submit(function, *given, **named, key=f"clfrnn-{name}-{self._run}-{self._tasks}")

    def _surveyed(self, rows: Any, name: str) -> _Chunked:
        chunks = self.client.compute(_chunks(rows))
        sizes = self.client.gather([self.submit("length", tasks.length, chunk, name) for chunk in chunks])
        starts = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        surveys = [
            self.submit("survey", tasks.survey_chunk, chunk, start, name)
            for chunk, start in zip(chunks, starts, strict=False)
        ]
        return _Chunked(chunks=chunks, sizes=sizes, surveys=self.client.gather(surveys))

    def divide(self, reach: float) -> None:
        """Divide the points into parts with a halo of this width, and the queries among them."""
        many = len(self.client.scheduler_info()["workers"]) if self.given.parts is None else self.given.parts
        many = at_least_one("parts", many, "their number")
        boxes = bisect(self.axes.places(self.sample), self._points.shares, many)
        self.tree = BoxTree(boxes, self.axes, self.axes.reach(reach, real_of(self.sample), self.farthest))
        pieces = self._divided(self._points, self.tree)
        whole = self._queries is not None  # a part that owns no point may have queries
        named: dict[str, Any] = {"real": self.real, "whole": whole}
        self.parts = [self.submit("part", tasks.gather_part, each, **named) for each in pieces]
        self.asked = self.parts
        if self._queries is not None:
            asked = self._divided(self._queries, BoxTree(boxes, self.axes, 0.0))
            self.asked = [
                self.submit("queries", tasks.with_queries, part, each)
                for part, each in zip(self.parts, asked, strict=True)
            ]

    def _divided(self, rows: _Chunked, tree: BoxTree) -> list[list[Any]]:
        """For each part, the pieces of all chunks."""
        n = rows.starts[-1]
        divided = [
            self.submit("divide", tasks.divide, chunk, start, n, tree)
            for chunk, start in zip(rows.chunks, rows.starts, strict=False)
        ]
        return [[self.submit("halo", operator.getitem, each, k) for each in divided] for k in range(tree.parts)]

    def counts(self, reach: float, radii: Any = None, *, include_self: bool) -> list[Any]:
        """The counts of each part."""
        named = {"include_self": include_self, "arguments": self.given.arguments, "radii": radii}
        return [self.submit("count", tasks.count_part, part, reach, **named) for part in self.asked]

    def in_chunks(self, results: list[Any], dtype: Any, shape: tuple[int, ...] = ()) -> Any:
        """A dask array of the values of queries, of which each part has some; `shape` is that of one value."""
        array = library("dask.array", "dask", "clfrnn.dask", "dask")
        delayed = library("dask", "dask", "clfrnn.dask", "dask").delayed
        rows = self._points if self._queries is None else self._queries
        chunks = [
            array.from_delayed(
                delayed(self.submit("order", tasks.of_chunk, results, start, size)), (size, *shape), dtype
            )
            for start, size in zip(rows.starts, rows.sizes, strict=False)
        ]
        return array.concatenate(chunks)


def _chunks(points: Any) -> list[Any]:
    """The rows of a dask array as delayed arrays, one for each chunk; a list of such or of futures as it is."""
    if isinstance(points, (list, tuple)):
        return list(points)
    array = library("dask.array", "dask", "clfrnn.dask", "dask")
    given = points if isinstance(points, array.Array) else array.from_array(np.asarray(points))
    if given.ndim == 2 and given.numblocks[1] != 1:
        given = given.rechunk({1: -1})
    return list(given.to_delayed().ravel())


def _client(client: Any) -> Any:
    """The given client, the current one, or one of a new local cluster with a process for each device."""
    if client is not None:
        return client
    distributed = library("distributed", "dask", "clfrnn.dask", "dask")
    try:
        return distributed.get_client()
    except ValueError:
        pass
    from ..runtime.device import devices  # noqa: PLC0415 - a client elsewhere needs no device here

    found = devices()
    gpus = sum(each.kind == "gpu" for each in found)
    return distributed.Client(n_workers=gpus or max(len(found), 1), threads_per_worker=1)
