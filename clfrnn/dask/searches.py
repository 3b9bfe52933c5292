"""The public calls over dask arrays: search(), count(), friends_of_friends() and dbscan()."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cluster.clusters import ClusterSearch
from ..host.libraries import library
from ..parts.assignment import BoxTree
from ..parts.boxes import bisect, domain_axes
from ..parts.rows import at_least_one, check_radius, real_of
from ..parts.whole import refuse
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Sort
from . import tasks

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Clusters", "count", "dbscan", "friends_of_friends", "search"]


def search(
    points: Any,
    radius: float,
    *,
    parts: int | None = None,
    client: Any = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    distances: bool = False,
    vectors: bool = False,
    sort: Sort | None = None,
    half: bool = False,
    **options: Unpack[MethodOptions],
) -> list[Any]:
    """List the neighbors of a cloud on the workers of a cluster.

    Parameters
    ----------
    points : (n, dim) dask array, whose chunks divide rows alone, or a list of futures or delayed arrays of rows
    radius : scalar, in the points' unit
    parts : number of parts; by default one for each worker
    client : a ``distributed.Client``; by default the current one, else one of a new ``LocalCluster`` with a process
        for each device
    method, box, cell, periodic, include_self, distances, vectors, sort, half, **options : as for :func:`clfrnn.search`

    Returns
    -------
    a future of a :class:`clfrnn.parts.PartList` for each part, which stays where it is until it is gathered

    Raises
    ------
    InvalidInputError
        An argument cannot be searched, or a number is NaN or infinite, with its row.

    Notes
    -----
    Samples of the chunks come to the client; points and halos go from worker to worker. Each process searches on one
    device, by the number of its worker. Tasks have names that begin with ``clfrnn-``. Where a worker dies, Dask runs
    its tasks again, and the lists are the same. Cost: one reading of the points for the sample, one to divide them.
    """
    reach = check_radius(radius)
    run = _Run(search, points, reach, (box, cell, periodic), parts, client, method, options)
    asked = {"include_self": include_self, "distances": distances, "vectors": vectors, "sort": sort, "half": half}
    given = {"periodic": run.tree.axes.repeats, "asked": asked, "arguments": run.arguments}
    return [run.submit("search", tasks.list_part, part, reach, run.n, **given) for part in run.parts]


def count(
    points: Any,
    radius: float,
    *,
    parts: int | None = None,
    client: Any = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    **options: Unpack[MethodOptions],
) -> Any:
    """Count the neighbors of each point on the workers of a cluster.

    Parameters
    ----------
    points, radius, parts, client : as for :func:`search`, which also says what raises
    method, box, cell, periodic, include_self, **options : as for :func:`clfrnn.search`

    Returns
    -------
    (n,) dask array of int32, in the chunks of the points
    """
    reach = check_radius(radius)
    run = _Run(count, points, reach, (box, cell, periodic), parts, client, method, options)
    return run.in_chunks(run.counts(reach, include_self=include_self), np.int32)


class Clusters(NamedTuple):
    """Clusters over the workers of a cluster.

    `labels`, (n,) int32, and `core`, (n,) bool, are dask arrays in the chunks of the points, and `num_clusters` is a
    future; see :class:`clfrnn.cluster.Clusters`.
    """

    labels: Any
    core: Any
    num_clusters: Any


def friends_of_friends(
    points: Any,
    linking_length: float,
    *,
    min_members: int = 1,
    parts: int | None = None,
    client: Any = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    **options: Unpack[MethodOptions],
) -> Clusters:
    """Find groups that are connected by steps of at most `linking_length` on the workers of a cluster.

    Parameters
    ----------
    points, parts, client : as for :func:`search`, which also says what raises
    linking_length, min_members, method, box, cell, periodic, **options : as for
        :func:`clfrnn.cluster.friends_of_friends`

    Returns
    -------
    Clusters, with the labels of :func:`clfrnn.cluster.friends_of_friends` of the whole

    Notes
    -----
    Groups are merged by one worker, which takes about 33 bytes for each point.
    """
    least = at_least_one("min_members", min_members, "the smallest number of points of a group")
    distance = check_radius(linking_length, "linking_length")
    run = _Run(friends_of_friends, points, distance, (box, cell, periodic), parts, client, method, options)
    return run.clusters(distance, None, least)


def dbscan(
    points: Any,
    eps: float,
    min_samples: int,
    *,
    parts: int | None = None,
    client: Any = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    **options: Unpack[MethodOptions],
) -> Clusters:
    """Find clusters by density on the workers of a cluster.

    Parameters
    ----------
    points, parts, client : as for :func:`search`, which also says what raises
    eps, min_samples, method, box, cell, periodic, **options : as for :func:`clfrnn.cluster.dbscan`

    Returns
    -------
    Clusters, with the labels of :func:`clfrnn.cluster.dbscan` of the whole

    Notes
    -----
    A part learns from the counts of all parts which points of its halo are core. Otherwise as
    :func:`friends_of_friends`.
    """
    least = at_least_one("min_samples", min_samples, "the number of points within eps that make a point core")
    distance = check_radius(eps, "eps")
    run = _Run(dbscan, points, distance, (box, cell, periodic), parts, client, method, options)
    counted = run.counts(distance, include_self=True)
    return run.clusters(distance, [run.submit("core", tasks.core_pieces, each, least) for each in counted], 1)


class _Run:
    """The tasks of one call: chunks that were divided, and the parts that they make, as futures."""

    def __init__(  # noqa: PLR0917 - all of what the calls have in common
        self,
        call: Callable[..., Any],
        points: Any,
        reach: float,
        domain: tuple[Any, Any, Any],
        parts: int | None,
        client: Any,
        method: Any,
        options: Any,
    ) -> None:
        refuse(call, method, options)
        self.client, self.domain, self.options = _client(client), domain, options
        self.arguments = {**dict(zip(("box", "cell", "periodic"), domain, strict=True)), "method": method, **options}
        self._run, self._tasks = uuid.uuid4().hex[:8], 0
        chunks = self.client.compute(_chunks(points))
        self.sizes = self.client.gather([self.submit("length", tasks.length, chunk) for chunk in chunks])
        self.starts = [0, *np.cumsum(self.sizes).tolist()]
        self.n = self.starts[-1]
        surveys = self.client.gather(
            [self.submit("survey", tasks.survey_chunk, *each) for each in zip(chunks, self.starts, strict=False)]
        )
        sample = np.concatenate([each.sample for each in surveys])
        axes = domain_axes(domain, sample)
        many = len(self.client.scheduler_info()["workers"]) if parts is None else parts
        boxes = bisect(axes.places(sample), _shares(surveys, self.sizes), at_least_one("parts", many, "their number"))
        farthest = max(each.farthest for each in surveys)
        self.tree = BoxTree(boxes, axes, axes.reach(reach, real_of(sample), farthest))
        divided = [
            self.submit("divide", tasks.divide, chunk, start, self.n, self.tree)
            for chunk, start in zip(chunks, self.starts, strict=False)
        ]
        self.parts = [
            self.submit("part", tasks.gather_part, [self.submit("halo", operator.getitem, each, k) for each in divided])
            for k in range(len(boxes))
        ]

    def submit(self, name: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """A future of a task, which the dashboard shows by its name."""
        self._tasks += 1
        return self.client.submit(function, *given, **named, key=f"clfrnn-{name}-{self._run}-{self._tasks}")

    def counts(self, reach: float, *, include_self: bool) -> list[Any]:
        """The counts of each part."""
        given = {"include_self": include_self, "arguments": self.arguments}
        return [self.submit("count", tasks.count_part, part, reach, **given) for part in self.parts]

    def clusters(self, distance: float, cores: list[Any] | None, least: int) -> Clusters:
        """The clusters that all parts make."""
        groups = [
            self.submit("link", tasks.link, part, cores, distance, arguments=self.arguments) for part in self.parts
        ]
        search = ClusterSearch(
            distance=distance, domain=self.domain, method=self.arguments["method"], options=self.options
        )
        whole = self.submit("merge", tasks.merge_groups, groups, cores, self.n, least, search=search)
        rows = self.submit("rows", np.arange, self.n)

        def column(name: str, dtype: Any) -> Any:
            values = self.submit(name, getattr, whole, name)
            return self.in_chunks([self.submit(name, _pair, rows, values)], dtype)

        number = self.submit("number", getattr, whole, "num_clusters")
        return Clusters(column("labels", np.int32), column("core", np.bool_), number)

    def in_chunks(self, results: list[Any], dtype: Any) -> Any:
        """A dask array of the values of rows, of which each part has some."""
        array = library("dask.array", "dask", "clfrnn.dask", "dask")
        chunks = [
            array.from_delayed(
                library("dask", "dask", "clfrnn.dask", "dask").delayed(
                    self.submit("order", tasks.of_chunk, results, start, size)
                ),
                (size,),
                dtype,
            )
            for start, size in zip(self.starts, self.sizes, strict=False)
        ]
        return array.concatenate(chunks)


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    return first, second


def _shares(surveys: Sequence[Any], sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    """How many points each row of the samples of all chunks stands for."""
    return np.concatenate(
        [np.full(len(each.sample), size / max(len(each.sample), 1)) for each, size in zip(surveys, sizes, strict=True)]
    )


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
