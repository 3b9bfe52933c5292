"""The public calls dbscan() and friends_of_friends()."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..answers.linking.numbering import find_roots, number_roots
from ..answers.linking.search import LinkSearch
from ..answers.linking.weights import take_weights
from ..conditions import Condition
from ..errors import InvalidInputError
from ..host.numbers import shown, whole_number
from ..methods.named import check_keywords
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Rows
from ..points.sessions import choose_session
from ..runtime.session import Session
from .clusters import Clusters, ClusterSearch

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["dbscan", "friends_of_friends"]

#: No more points than this are within reach, as counts are int32.
_MOST = 2**31 - 1


def dbscan(
    points: Rows,
    eps: float,
    min_samples: int,
    *,
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    batch: Any = None,
    method: MethodName = "auto",
    where: Condition | None = None,
    sample_weight: Numbers | float | None = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Clusters:
    """Find clusters by density: core points within `eps` of each other, and the points within `eps` of these.

    A point is core where enough points are near it, see `min_samples`. A point that is not core belongs to the cluster
    of a core point within `eps`, and is a border point; where there is none, it is noise.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; numpy, nested sequences, or ``pyopencl.array.Array``
    eps : scalar, the distance within which points are neighbors, in the points' unit; the ball is closed
    min_samples : a point is core where at least as many points are within `eps`, the point itself and, in a periodic
        box, every image counted; or points whose `sample_weight` amounts to as much
    method, box, cell, periodic, batch, session, **options : as for :func:`clfrnn.build_index`
    where : a symmetric :class:`clfrnn.Condition`; points are neighbors only where it holds
    sample_weight : (n,) or one number for all: how much each point counts towards `min_samples`; 1 when not given. A
        negative weight makes it less likely that points around it are core

    Returns
    -------
    Clusters, on the device, with the labels of ``sklearn.cluster.DBSCAN``: clusters are numbered from 0 by their lowest
    core points, a border point has the lowest label among the core points within `eps`, and noise has -1. They are the
    same on every device, in every method and run. Sums of weights are exact, and rounded to float64 where
    they are compared.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        There is no memory for the index, or for 18 bytes a point beside it.
    NoDeviceError
        As for :func:`clfrnn.search`.

    Notes
    -----
    Core points are linked by union-find (a forest of parents, whose roots are the clusters) while their neighbors are
    visited, so no list is made. Cost: that of building
    an index, a count, a visit of the core points, a visit of the others, and about six passes over the points; with
    `min_samples` 1 that of :func:`friends_of_friends`. Where points crowd, those of a narrow cell are counted and
    linked together, so that a crowd costs time by its points, not its pairs: see :doc:`/guides/clusters`. With weights
    every pair is visited once. The call does not wait for the device.

    Source: Ester, Kriegel, Sander and Xu (1996); Prokopenko, Lebrun-Grandié and Arndt (2023) for unions in a
    visit.

    Examples
    --------
    >>> from clfrnn.cluster import dbscan
    >>> found = dbscan([[0.0], [1.0], [2.0], [7.0], [9.0]], 1.0, 3)
    >>> found.labels.get().tolist(), found.core.get().tolist()
    ([0, 0, 0, -1, -1], [False, True, False, False, False])
    """
    check_keywords(dbscan, method, options)
    least = _at_least_one("min_samples", min_samples, "the number of points within eps that make a point core")
    session = choose_session(session, points, batch, where)
    with session.lock:
        asked = ClusterSearch(
            distance=eps,
            domain=(box, cell, periodic),
            batch=batch,
            method=method,
            options=options,
            where=where,
        )
        search = _search_within("eps", session, points, asked, weighted=sample_weight is not None)
        weights = None if sample_weight is None else take_weights(sample_weight, search.num_points)
        if least == 1 and weights is None:
            return _friends(session, search, 1, asked)
        links, core, border = search.connected_cores(least, weights)
        labels, chosen = find_roots(session, links, 1)
        del links  # whose memory then serves the scan
        many = number_roots(session, labels, chosen)
        del chosen
        search.take_borders(core, border, labels)
        return Clusters(labels, core, many, session, search=dataclasses.replace(asked, dim=search.dim))


def friends_of_friends(
    points: Rows,
    linking_length: float,
    *,
    min_members: int = 1,
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    batch: Any = None,
    method: MethodName = "auto",
    where: Condition | None = None,
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Clusters:
    """Find groups of points that are connected by steps of at most `linking_length`.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order; numpy, nested sequences, or ``pyopencl.array.Array``
    linking_length : scalar, the longest step, in the points' unit; a step of that length counts
    min_members : smallest number of points of a group; the points of smaller ones get the label -1
    method, box, cell, periodic, batch, session, **options : as for :func:`clfrnn.build_index`; steps may pass the edges
        of a periodic box
    where : a symmetric :class:`clfrnn.Condition`; a step counts only where it holds

    Returns
    -------
    Clusters, on the device: groups are numbered from 0 by their lowest points. They are the same on every device, in
    every method and run.

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        There is no memory for the index, or for 13 bytes a point beside it.
    NoDeviceError
        As for :func:`clfrnn.search`.

    Notes
    -----
    Points are linked by union-find while their neighbors are visited, so no list is made. Cost: that of building an
    index, one visit, and about five passes over the points, eight with `min_members` above 1. Where points crowd, those
    of a narrow cell are linked together without a test of each pair: see :doc:`/guides/clusters`. The call does not
    wait for the device.

    Examples
    --------
    >>> from clfrnn.cluster import friends_of_friends
    >>> found = friends_of_friends([[0.0], [8.0], [1.0], [2.0], [9.0]], 1.0)
    >>> found.num_clusters, found.labels.get().tolist()
    (2, [0, 1, 0, 0, 1])
    """
    check_keywords(friends_of_friends, method, options)
    least = _at_least_one("min_members", min_members, "the smallest number of points of a group")
    session = choose_session(session, points, batch, where)
    with session.lock:
        asked = ClusterSearch(
            distance=linking_length,
            domain=(box, cell, periodic),
            batch=batch,
            method=method,
            options=options,
            where=where,
        )
        search = _search_within("linking_length", session, points, asked)
        return _friends(session, search, least, asked)


def _search_within(
    name: str, session: Session, points: Rows, asked: ClusterSearch, *, weighted: bool = False
) -> LinkSearch:
    """The search that was asked for; errors call its distance by that `name`."""
    names = {each.name for each in dataclasses.fields(asked)} - {"distance", "dim"}
    given = {each: getattr(asked, each) for each in names}
    try:
        return LinkSearch(session, points, asked.distance, **given, weighted=weighted)
    except InvalidInputError as error:
        if error.argument != "radius":
            raise
        raise InvalidInputError(error.problem, argument=name) from None


def _friends(session: Session, search: LinkSearch, least: int, asked: ClusterSearch) -> Clusters:
    """The connected parts of at least `least` points."""
    links, core = search.connected()
    labels, chosen = find_roots(session, links, least)
    del links  # whose memory then serves the scan
    many = number_roots(session, labels, chosen)
    return Clusters(labels, core, many, session, search=dataclasses.replace(asked, dim=search.dim))


def _at_least_one(name: str, value: object, what: str) -> int:
    """Return a whole number from 1 up to the largest int32, or raise; `what` it means."""
    number = whole_number(value)
    if number is None or number < 1:
        raise InvalidInputError(
            f"expected a whole number of at least 1, got {shown(value)}; pass {what}", argument=name
        )
    return min(number, _MOST)
