"""Coincident points: a few points of each place stand for all that share it, where very many do.

Any radius holds all points of a place, so that queries there would go through each other, however short the radius. Of
k nearest neighbors, those of one place are the first k by number; and points of one place are linked with the same
others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import REAL_OF
from ..config import INT, LONG
from ..device_array import DeviceArray
from ..errors import DeviceMemoryError
from ..primitives.config import plan_gather
from ..primitives.scan import exclusive_scan
from ..results import Nearest
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .groups import MOST_ROWS, Groups, find_groups

__all__ = ["FirstPoints", "first_points"]

#: Where more than this share of the points would be left, all of them are searched.
_WORTH = 63 / 64


class FirstPoints(NamedTuple):
    """The first points of each place."""

    session: Session
    #: (taken,) int32, their numbers among all points, ascending
    ids: DeviceArray[np.int32]
    #: (taken, dim)
    points: DeviceArray[np.floating[Any]]
    places: Groups
    #: (n,) the system of each point, on the host, where there are many
    batch_of_all: npt.NDArray[Any] | None

    @property
    def batch(self) -> npt.NDArray[Any] | None:
        """(taken,) the systems of those that were taken."""
        return None if self.batch_of_all is None else self.batch_of_all[self.ids.get()]

    def name_rows(self, found: Nearest, k: int, *, itself: bool, vectors: bool) -> Nearest:
        """The first k entries of each row by the numbers of all points; `itself` leaves out the query, a point."""
        (m, of), shifted, dim = found.indices.shape, found.shifts is not None, self.points.shape[1]
        session, dtype = self.session, self.points.dtype
        indices = session.allocate((m, k), INT, purpose=f"the {k:,} nearest neighbors")
        distances = session.allocate((m, k), dtype, purpose=f"the distances of the {k:,} nearest neighbors")
        named = Nearest(indices, distances)
        if vectors:
            named.vectors = session.allocate((m, k, dim), dtype, purpose="the vectors of the nearest neighbors")
        if vectors and shifted:
            named.shifts = session.allocate((m, k, dim), INT, purpose="the shifts of the nearest neighbors")
        columns = [
            (each.indices, each.distances, each.vectors if vectors else each.distances, each.shifts)
            for each in (found, named)
        ]
        arrays = [array if array is not None else each[0] for each in columns for array in each]
        event = self._launch("name_rows", m, of, k, int(itself), int(vectors), int(shifted), self.ids, *arrays)
        session.publish(event, *(each for each in columns[1] if each is not None))
        return named

    def links_of_points(
        self, links: DeviceArray[np.int32], core: DeviceArray[Any], border: DeviceArray[Any]
    ) -> tuple[DeviceArray[np.int32], DeviceArray[Any], DeviceArray[Any]]:
        """The links of all points, and which are core and at a border, by those of their places."""
        session, n = self.session, self.places.group_of.size
        spread = session.allocate(n, INT, purpose="the links between points")
        cores = session.allocate(n, np.dtype(bool), purpose="which points are core")
        borders = session.allocate(n, np.dtype(bool), purpose="which points may be at a border")
        given = self.places.group_of, self.ids, links, core, border
        session.publish(self._launch("spread_links", n, *given, spread, cores, borders), spread, cores, borders)
        return spread, cores, borders

    def labels_of_places(self, labels: DeviceArray[np.int32]) -> DeviceArray[np.int32]:
        """The labels of the first point of each place."""
        taken = self.session.allocate(self.ids.size, INT, purpose="the labels of places")
        self._launch("take_labels", self.ids.size, self.ids, labels, taken)
        return taken

    def spread_labels(self, taken: DeviceArray[np.int32], labels: DeviceArray[np.int32]) -> None:
        """Give each point the label of its place."""
        self._launch("spread_labels", labels.size, self.places.group_of, taken, labels)

    def _launch(self, name: str, items: int, *given: Any) -> Any:
        return _launch(self.session, self.points, name, items, *given)


def first_points(
    session: Session, points: DeviceArray[np.floating[Any]], most: int, *, batch: npt.NDArray[Any] | None = None
) -> FirstPoints | None:
    """The first `most` points of each place, of points of the same system; None where nearly all would be.

    None, too, where there is no memory for it: some 24 bytes a point and 8 for each coordinate. `batch` are the numbers
    of systems, (n,) on the host. Cost: that of a sort, and two waits.
    """
    if points.shape[0] > MOST_ROWS:
        return None
    try:
        return _find(session, points, most, batch)
    except DeviceMemoryError:  # all points are searched, which takes longer
        return None


def _find(
    session: Session, points: DeviceArray[np.floating[Any]], most: int, batch: npt.NDArray[Any] | None
) -> FirstPoints | None:
    """The first points, as :func:`first_points` has them."""
    n, dim = points.shape
    many, of_systems = int(batch is not None), points
    if batch is not None:
        ranks = np.unique(batch, return_inverse=True)[1].astype(INT)
        of_systems = session.upload(ranks, purpose="the systems of points")
    keys = session.scratch(n * (dim + many), LONG, purpose="the places of points")
    _launch(session, points, "place_keys", n, many, points, of_systems, keys)
    places = find_groups(session, keys, n)
    if places.counts.size > _WORTH * n:
        return None
    is_taken = places.is_lead if most == 1 else _marked(session, points, places, most)
    starts = session.scratch(n + 1, INT, purpose="the numbers of first points")
    exclusive_scan(session, is_taken, starts)
    found = int(session.read(starts, n, 1)[0])
    if found > _WORTH * n:
        return None
    ids = session.allocate(found, INT, purpose="the first points of places")
    taken = session.allocate((found, dim), points.dtype, purpose="the first points of places")
    session.publish(_launch(session, points, "take_first", n, points, starts, ids, taken), ids, taken)
    return FirstPoints(session, ids, taken, places, batch)


def _marked(session: Session, points: DeviceArray[Any], places: Groups, most: int) -> Scratch:
    """1 for the first `most` points of each place."""
    is_taken = session.scratch(points.shape[0], INT, purpose="which points stand for their places")
    of_sorted, order, starts = places.sorted()
    _launch(session, points, "mark_first", points.shape[0], most, of_sorted, order, starts, is_taken)
    return is_taken


def _launch(session: Session, points: DeviceArray[Any], name: str, items: int, *given: Any) -> Any:
    """Launch a kernel with a work-item for each of some rows, whose number is its first argument."""
    facts = {"dim": points.shape[1], "real": REAL_OF[points.dtype]}
    kernels, config = session.planned("answers/coincident", plan_gather, **facts)
    values = (np.int32(each) if isinstance(each, int) else each.base_data for each in given)
    return session.launch(kernels[name], items, config.work_group_size, np.int32(items), *values)
