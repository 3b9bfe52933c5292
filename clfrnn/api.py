"""The public calls search(), build_index() and nearest(), which check their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answers.count_nearest import NearestArguments, find_nearest
from .answers.lists.query import ListArguments, query_list
from .answers.nearest.rows import check_k
from .answers.nearest.unbounded import UnboundedSearch
from .conditions import Condition, parts_of
from .errors import InvalidInputError
from .index import Index
from .methods.named import check_method
from .methods.traversal import Traversal
from .points.adoption import adopt
from .points.argument_types import Flags, MethodName, MethodOptions, Numbers, Radius, Rows, Sort
from .points.sessions import choose_session
from .points.transfer import on_host
from .prepare import build
from .results import Nearest, NeighborList
from .runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["build_index", "nearest", "search"]


def search(
    points: Rows,
    radius: Radius,
    *,
    queries: Rows | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    distances: bool = False,
    vectors: bool = False,
    sort: Sort | None = None,
    half: bool = False,
    max_bytes: int | None = None,
    where: Condition | None = None,
    batch: Any = None,
    query_batch: Any = None,
    to_host: bool = False,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> NeighborList:
    """Find every point within `radius` of every query, exactly, and list them on the device.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order: an array of numpy, nested sequences, or an array on the
        device, of pyopencl or by DLPack. Integers become float64
    radius : scalar, or (m,) for one radius per query, in the points' unit; a point at exactly this distance counts
    queries : (m, dim), the positions whose neighbors are wanted; the points themselves when not given. Where they are
        float64 and the points float32, distances are computed in float64
    method : "auto", "brute_force", "uniform_grid", "strips", "fenns" or "aabb_tree"
    box : (dim,) lengths, or (2, dim) low and high corners, of the periodic domain; points need not lie inside
    cell : (dim, dim) lattice vectors as rows, in place of `box`, of any directions; see :doc:`/guides/cells`
    periodic : bool, or one for each axis or lattice vector: whether space repeats along it. A point then has images,
        copies of itself by whole lengths of the box, and each image within the radius counts once. By default True
        where `box` or `cell` is given
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    distances, vectors : whether the list has them. A vector leads from the query to the neighbor. With periodic axes,
        vectors come with shifts, which say in whole lengths of the box where the image lies
    sort : the order of the neighbors of a query: "index", "distance", or None for any order
    half : whether each pair is listed once, with ``i < j``; a point and its own image once, by the sign of the shift
    max_bytes : largest number of bytes of the list on the device; a longer list raises DeviceMemoryError
    where : a :class:`Condition`; a pair counts only where it holds
    batch, query_batch : (n,) and (m,) integers, the system of each point and query: neighbors are of one system.
        `box`, `cell` and `periodic` may then have one entry for each system; two rows of `box` are lengths where
        there are two systems, else corners; see :doc:`/guides/batches`
    to_host : whether the list has numpy arrays, as :meth:`NeighborList.to_host` gives them; type checkers know these
        arrays only by that method
    session : a :class:`Session`; by default that of the device arrays given, else :func:`default_session`
    **options : options of the method, see :doc:`/methods/index`

    Returns
    -------
    NeighborList, on the device, or with numpy arrays where `to_host` says so

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The list does not fit the device or `max_bytes`; nothing is cut off.
    NoDeviceError
        There is no OpenCL device, or its driver ends loops after fewer turns than this search takes.

    Notes
    -----
    Cost: the points are read about five times to sort them; then every query is searched twice, first to count its
    neighbors and then to write them. The first call of a kind also compiles. The list takes 4 bytes for each query and
    4 for each pair; distances, vectors and shifts come on top.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.search([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)[1].tolist()
    [0]
    """
    named = check_method(method, options, search)
    session = choose_session(session, points, queries, radius, batch, where)
    with session.lock:
        points, queries = adopt(session, points, "points"), adopt(session, queries, "queries")
        radius, per_query = on_host(session, radius)
        structure, _ = build(
            session,
            points,
            radius,
            named=named,
            options=options,
            domain=(box, cell, periodic),
            per_query=per_query,
            queried_once=points if queries is None else queries,
            batch=batch,
            query_batch=query_batch,
        )
        given = ListArguments(
            radius=radius if per_query else None,
            include_self=include_self,
            distances=distances,
            vectors=vectors,
            sort=sort,
            half=half,
            max_bytes=max_bytes,
            where=where,
            query_batch=query_batch,
        )
        found = query_list(Traversal(structure), None, queries, given)
        return found.to_host() if to_host else found


def build_index(
    points: Rows,
    radius: float,
    *,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    batch: Any = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Index:
    """Build an index on the device over `points`, for many queries with radii up to `radius`.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order, as for :func:`search`; copied, never changed
    radius : scalar, the largest radius of later queries, in the points' unit
    method, box, cell, periodic, batch : as for :func:`search`
    session : a :class:`Session`; by default that of `points` on a device, else :func:`default_session`
    **options : options of the method, see :doc:`/methods/index`

    Returns
    -------
    Index

    Raises
    ------
    InvalidInputError
        The points or the radius cannot be searched.
    NoDeviceError
        As for :func:`search`.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    Cost: the points are read about five times, and the host waits once for the device. The first call of a kind also
    compiles. Memory grows with the number of points, not with the box; :attr:`Index.nbytes` has it.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0, method="strips", bin_width=0.5)
    >>> index.update([[0.0, 0.0], [3.0, 4.1]])
    >>> index.count().get().tolist()
    [0, 0]
    """
    named = check_method(method, options, build_index)
    session = choose_session(session, points)
    with session.lock:
        structure, chosen = build(
            session,
            points,
            radius,
            named=named,
            options=options,
            domain=(box, cell, periodic),
            batch=batch,
        )
        return Index(chosen, structure, has_box=box is not None or cell is not None, chosen=method == "auto")


def nearest(
    points: Rows,
    k: int,
    *,
    radius: Radius | None = None,
    queries: Rows | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    include_self: bool = False,
    vectors: bool = False,
    where: Condition | None = None,
    batch: Any = None,
    query_batch: Any = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Nearest:
    """Find the k nearest neighbors of every query, exactly.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; as for :func:`search`
    k : number of neighbors of each query, at least 1; where it exceeds the points that there are, rows are filled up
    radius : scalar, or (m,) for one radius per query: the largest distance of a neighbor, in the points' unit; None for
        no limit
    queries : (m, dim); the points themselves when not given
    method, box, cell, periodic, session, **options : as for :func:`search`; every image in a periodic box counts
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    vectors : whether the result has vectors; with periodic axes, these come with shifts
    where : a :class:`Condition`; a pair counts only where it holds
    batch, query_batch : as for :func:`search`

    Returns
    -------
    Nearest, on the device: each row by ascending squared distance, then index, then shift; where there are fewer
    neighbors, indices are -1, distances inf, vectors and shifts 0

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The result does not fit the device.
    NoDeviceError
        As for :func:`search`.

    Notes
    -----
    Cost with a radius: an index is built, and every query is searched once.

    Without a radius, the first search takes a radius within which an evenly spread cloud would have somewhat more than
    k points. Queries that find fewer are searched again with a larger radius, and at last in a tree without a radius.
    An index is built for the first radius, and for each later one unless few queries are left. The host waits for the
    number of these after each search. Even clouds take two searches, uneven ones more.

    Points so far apart that the square of their distance is not finite in the points' dtype are no neighbors; a
    PrecisionWarning says where a row is not full for that reason.

    Examples
    --------
    >>> import clfrnn
    >>> found = clfrnn.nearest([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 1)
    >>> found.indices.get().tolist()
    [[1], [0], [1]]
    """
    named, k = check_method(method, options, nearest), check_k(k)
    session = choose_session(session, points, queries, radius, batch, where)
    domain = box, cell, periodic
    with session.lock:
        points, queries = adopt(session, points, "points"), adopt(session, queries, "queries")
        if radius is not None:
            radius, per_query = on_host(session, radius)
            structure, _ = build(
                session,
                points,
                radius,
                named=named,
                options=options,
                domain=domain,
                per_query=per_query,
                queried_once=points if queries is None else queries,
                batch=batch,
                query_batch=query_batch,
            )
            traversal = Traversal(structure)
            within = NearestArguments(
                k=k,
                radius=radius if per_query else None,
                include_self=include_self,
                vectors=vectors,
                where=where,
                query_batch=query_batch,
            )
            found = find_nearest(traversal, queries, within)
            traversal.checks.settle()
            return found
        if isinstance(where, Condition) and parts_of(where)[0].reads("r2"):
            raise InvalidInputError(
                "expected a number with a condition that reads r2, got None, and without a radius there is no "
                "r2; pass the largest distance of a neighbor, or write the condition without r2",
                argument="radius",
            )
        search = UnboundedSearch(
            session,
            points,
            k,
            named=named,
            domain=domain,
            options=options,
            queries=queries,
            batch=(batch, query_batch),
        )
        if where is not None and search.cloud.domain.has_images:
            raise InvalidInputError(
                "expected a number with where= in a periodic box, got None; images go on without end, and the "
                "condition may hold for none of them: pass the largest distance of a neighbor",
                argument="radius",
            )
        found = search.run(
            queries, include_self=bool(include_self), vectors=bool(vectors), where=where, query_batch=query_batch
        )
        search.warn_of_rounding()
        if where is None:
            search.warn_of_overflow(found)
        return found
