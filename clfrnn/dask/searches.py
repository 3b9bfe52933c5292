"""The public calls over dask arrays: search(), count(), friends_of_friends() and dbscan()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cluster.clusters import ClusterSearch
from ..parts.rows import at_least_one, check_radius
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Sort
from ..points.half import check_half
from . import tasks
from .runs import Given, Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Clusters", "count", "dbscan", "friends_of_friends", "search"]


def search(
    points: Any,
    radius: Any,
    *,
    queries: Any = None,
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
    radius : scalar, in the points' unit; or (m,), an array of numpy or of dask, one radius for each query
    queries : (m, dim), as `points`; the points themselves when not given
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
    given = Given(
        points=points,
        queries=queries,
        parts=parts,
        client=client,
        domain=(box, cell, periodic),
        method=method,
        options=options,
    )
    run = Run(search, given)
    reach, radii = run.radii(radius)
    if half:
        check_half(queries=None if queries is None else run.m, radii=None if radii is None else run.m)
    run.divide(reach)
    asked = {"include_self": include_self, "distances": distances, "vectors": vectors, "sort": sort, "half": half}
    named: dict[str, Any] = {"periodic": run.axes.repeats, "asked": asked, "arguments": given.arguments}
    named["radii"] = radii
    return [run.submit("search", tasks.list_part, part, reach, run.n, **named) for part in run.asked]


def count(
    points: Any,
    radius: Any,
    *,
    queries: Any = None,
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
    points, radius, queries, parts, client : as for :func:`search`, which also says what raises
    method, box, cell, periodic, include_self, **options : as for :func:`clfrnn.search`

    Returns
    -------
    (m,) dask array of int32, in the chunks of the queries
    """
    given = Given(
        points=points,
        queries=queries,
        parts=parts,
        client=client,
        domain=(box, cell, periodic),
        method=method,
        options=options,
    )
    run = Run(count, given)
    reach, radii = run.radii(radius)
    run.divide(reach)
    return run.in_chunks(run.counts(reach, radii, include_self=include_self), np.int32)


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
    Groups are merged by one worker, which holds some numbers of every point meanwhile.
    """
    least = at_least_one("min_members", min_members, "the smallest number of points of a group")
    distance = check_radius(linking_length, "linking_length")
    given = Given(
        points=points,
        queries=None,
        parts=parts,
        client=client,
        domain=(box, cell, periodic),
        method=method,
        options=options,
    )
    run = Run(friends_of_friends, given)
    run.divide(distance)
    return _clusters(run, distance, None, least)


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
    given = Given(
        points=points,
        queries=None,
        parts=parts,
        client=client,
        domain=(box, cell, periodic),
        method=method,
        options=options,
    )
    run = Run(dbscan, given)
    run.divide(distance)
    counted = run.counts(distance, include_self=True)
    return _clusters(run, distance, [run.submit("core", tasks.core_pieces, each, least) for each in counted], 1)


def _clusters(run: Run, distance: float, cores: list[Any] | None, least: int) -> Clusters:
    """The clusters that all parts make."""
    given = run.given
    groups = [run.submit("link", tasks.link, part, cores, distance, arguments=given.arguments) for part in run.parts]
    dim = run.sample.shape[1]
    search = ClusterSearch(distance=distance, dim=dim, domain=given.domain, method=given.method, options=given.options)
    whole = run.submit("merge", tasks.merge_groups, groups, cores, run.n, least, search=search)
    rows = run.submit("rows", np.arange, run.n)

    def column(name: str, dtype: Any) -> Any:
        values = run.submit(name, getattr, whole, name)
        return run.in_chunks([run.submit(name, _pair, rows, values)], dtype)

    number = run.submit("number", getattr, whole, "num_clusters")
    return Clusters(column("labels", np.int32), column("core", np.bool_), number)


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    return first, second
