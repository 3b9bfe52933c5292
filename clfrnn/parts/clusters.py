"""The public calls friends_of_friends() and dbscan() by parts: clusters of a cloud that no device holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import cluster
from ..api import build_index
from ..cluster.clusters import ClusterSearch, HostClusters
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers
from ..runtime.session import Session
from .assignment import Part
from .components import connected, numbered
from .pipeline import pipelined
from .rows import at_least_one, check_radius
from .searches import PartSearch, blocks
from .whole import Given, LocalPart, Whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LocalGroups", "dbscan", "friends_of_friends", "link_part", "merge"]


def friends_of_friends(
    points: Any,
    linking_length: float,
    *,
    min_members: int = 1,
    sessions: Sequence[Session] | Session | None = None,
    parts: int | None = None,
    max_bytes: int | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    progress: bool = False,
    **options: Unpack[MethodOptions],
) -> HostClusters:
    """Find groups of points that are connected by steps of at most `linking_length`, part by part.

    Parameters
    ----------
    points, sessions, parts, max_bytes, progress : as for :func:`search`, which also says what raises
    linking_length, min_members, method, box, cell, periodic, **options : as for
        :func:`clfrnn.cluster.friends_of_friends`

    Returns
    -------
    Clusters in host memory, with the labels of :func:`clfrnn.cluster.friends_of_friends` of the whole cloud

    Notes
    -----
    Each part finds the groups of its own points and those in its halo, see :func:`search`. Groups of two parts that
    share a point are one. Cost: as
    for :func:`count`, and 13 bytes of host memory for each point, 12 for each point in a halo.

    Examples
    --------
    >>> from clfrnn.parts import friends_of_friends
    >>> friends_of_friends([[0.0], [8.0], [1.0], [2.0], [9.0]], 1.0, parts=3).labels.tolist()
    [0, 1, 0, 0, 1]
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
    least = at_least_one("min_members", min_members, "the smallest number of points of a group")
    length = check_radius(linking_length, "linking_length")
    whole = Whole(friends_of_friends, points, length, given=given, radius_name="linking_length")
    _, parts_of_whole = whole.divide(length)
    return _merged(whole, length, parts_of_whole, core=None, least=least)


def dbscan(
    points: Any,
    eps: float,
    min_samples: int,
    *,
    sessions: Sequence[Session] | Session | None = None,
    parts: int | None = None,
    max_bytes: int | None = None,
    method: MethodName = "auto",
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    progress: bool = False,
    **options: Unpack[MethodOptions],
) -> HostClusters:
    """Find clusters by density part by part: core points within `eps` of each other, and the points within `eps`.

    Parameters
    ----------
    points, sessions, parts, max_bytes, progress : as for :func:`search`, which also says what raises
    eps, min_samples, method, box, cell, periodic, **options : as for :func:`clfrnn.cluster.dbscan`

    Returns
    -------
    Clusters in host memory, with the labels of :func:`clfrnn.cluster.dbscan` of the whole cloud

    Notes
    -----
    Parts are visited twice: to count, after which it is known of each point of a halo whether it is core, and to link.
    A halo of `eps` is therefore enough. Cost: twice that of :func:`friends_of_friends`, and 12 bytes of host memory for
    each pair of a core point and a border point.

    Source: Ester, Kriegel, Sander and Xu (1996).

    Examples
    --------
    >>> from clfrnn.parts import dbscan
    >>> dbscan([[0.0], [1.0], [2.0], [7.0], [9.0]], 1.0, 3, parts=2).labels.tolist()
    [0, 0, 0, -1, -1]
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
    least = at_least_one("min_samples", min_samples, "the number of points within eps that make a point core")
    reach = check_radius(eps, "eps")
    whole = Whole(dbscan, points, reach, given=given, radius_name="eps")
    _, parts_of_whole = whole.divide(reach)
    core = np.ones(whole.num_points, bool)
    for rows, counts in PartSearch(whole, reach, None, parts_of_whole).counts(include_self=True):
        core[rows] = counts >= least
    return _merged(whole, reach, parts_of_whole, core=core, least=1)


class LocalGroups(NamedTuple):
    """The groups that a part finds, with names of its own from 0 on."""

    num_groups: int
    #: core points that the part owns, and those of its halo: rows of the whole, and their groups
    owned: npt.NDArray[Any]
    owned_group: npt.NDArray[np.int64]
    halo: npt.NDArray[Any]
    halo_group: npt.NDArray[np.int64]
    #: pairs of a point that the part owns and that is not core, and the group of a core point within reach
    border: npt.NDArray[Any]
    border_group: npt.NDArray[np.int64]


def link_part(
    session: Session,
    local: LocalPart,
    core: npt.NDArray[np.bool_] | None,
    distance: float,
    *,
    arguments: dict[str, Any],
    list_bytes: int | None = None,
) -> LocalGroups:
    """Link the core points of a part, and find the groups that its border points reach.

    Parameters
    ----------
    local : the part, with its halo
    core : whether each row of the part is core; None where all are
    arguments : keywords of searches
    """
    is_owned = np.zeros(len(local.rows), bool)
    is_owned[local.own_rows] = True
    is_core = np.ones(len(local.rows), bool) if core is None else core
    points = local.points[is_core]
    found = cluster.friends_of_friends(points, distance, session=session, **arguments).to_host()
    group = found.labels.astype(np.int64)
    own = is_owned[is_core]
    rows = local.rows[is_core]
    border, border_group = local.rows[:0], group[:0]
    outside = is_owned & ~is_core
    if outside.any() and len(points):
        index = build_index(points, distance, session=session, **arguments)
        lists = [each.to_host() for each in blocks(index, local.points[outside], {}, list_bytes)]
        border = np.repeat(local.rows[outside], np.concatenate([each.counts for each in lists]))
        border_group = group[np.concatenate([each.indices for each in lists])]
    return LocalGroups(found.num_clusters, rows[own], group[own], rows[~own], group[~own], border, border_group)


def merge(
    found: Iterable[LocalGroups],
    n: int,
    *,
    least: int,
    core: npt.NDArray[np.bool_] | None,
    search: ClusterSearch,
) -> HostClusters:
    """Make clusters of the groups of all parts: those that share a core point are one.

    Parameters
    ----------
    n : number of points of the whole
    least : smallest number of members
    core : (n,) whether each point is core; None where all are
    search : what the points were linked by
    """
    group = np.full(n, -1, np.int64)
    names = 0
    links: list[tuple[Any, Any]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    borders: list[tuple[Any, Any]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for each in found:
        group[each.owned] = each.owned_group + names
        links.append((each.halo, each.halo_group + names))
        borders.append((each.border, each.border_group + names))
        names += each.num_groups
    shared, name = (np.concatenate(columns) for columns in zip(*links, strict=True))
    root = connected(names, group[shared], name)
    is_member = group >= 0
    group[is_member] = root[group[is_member]]
    number, enough = numbered(group, least)
    labels = np.where(is_member, number[group], np.int32(-1)) if names else np.full(n, -1, np.int32)
    border, reached = (np.concatenate(columns) for columns in zip(*borders, strict=True))
    lowest = np.full(n, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(lowest, border, number[root[reached]] if names else np.zeros(0, np.int32))
    labels = np.where(lowest < np.iinfo(np.int32).max, lowest, labels).astype(np.int32)
    is_core = np.ones(n, bool) if core is None else core
    for array in (labels, is_core):
        array.setflags(write=False)
    return HostClusters(labels, is_core, int(enough.sum()), search=search)


def _merged(
    whole: Whole, distance: float, parts: Sequence[Part], *, core: npt.NDArray[np.bool_] | None, least: int
) -> HostClusters:
    def link(session: Session, local: LocalPart) -> Iterator[LocalGroups]:
        is_core = None if core is None else core[local.rows]
        given: dict[str, Any] = {"arguments": whole.arguments, "list_bytes": whole.list_bytes}
        yield link_part(session, local, is_core, distance, **given)
        session.trim()

    found = pipelined(whole.sessions, parts, whole.local, link, what="linking", progress=whole.given.progress)
    given, dim = whole.given, whole.points.shape[1]
    search = ClusterSearch(distance=distance, dim=dim, domain=given.domain, method=given.method, options=given.options)
    return merge(found, whole.num_points, least=least, core=core, search=search)
