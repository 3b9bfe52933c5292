"""DomainTables: what the device knows of a domain and of the points in it; Images: what walks read of that."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ...domain.box import Domain
from ...domain.system_layout import SystemBounds
from ...primitives.readback import PendingBox
from ...runtime.scratch import Scratch

__all__ = ["DomainTables", "Images", "SystemGrids"]


class Images(NamedTuple):
    """The images of points in their domain, as walks find them."""

    tables: DomainTables
    #: the low corner of the space in which points are placed, on periodic axes
    starts: tuple[float, ...]
    #: the image table; None in open space
    table: Scratch | None
    #: the same as arguments of kernels
    arguments: tuple[Any, ...]


class SystemGrids(NamedTuple):
    """A grid of cells for each of many systems."""

    cells: int
    #: whether the window of each query in its box crosses at most one edge of each axis
    wraps_once: bool
    images: Images


class DomainTables(abc.ABC):
    """A domain on the device, with what is known of the points that lie in it.

    What it says of points never changes: :meth:`find_bounds` makes other tables for points of which it is not true.
    """

    domain: Domain
    #: the system of each point, (n,) int32, where there are many
    ranks: cla.Array | None = None

    @abc.abstractmethod
    def heights(self, points: cla.Array) -> cla.Array:
        """By what the points lie in the domain: their own array, or a new one of heights in a cell, (n, dim)."""

    @abc.abstractmethod
    def bound(self, placed: cla.Array, bounds: PendingBox | None = None) -> PendingBox:
        """Find the corners of the space in which the points, as they are placed, lie: `bounds`, or a new box."""

    @abc.abstractmethod
    def find_bounds(self, points: cla.Array, starts: tuple[float, ...], bounds: PendingBox) -> DomainTables:
        """The tables for as many other `points`, whose bounds are found as in :meth:`bound`.

        `starts` is the low corner of the space as it most likely is for these points.
        """

    @abc.abstractmethod
    def bound_queries(self, queries: cla.Array, bounds: PendingBox) -> PendingBox:
        """Enqueue the search for the bounds of queries, in a cell for those of their heights."""

    @abc.abstractmethod
    def reaching(self, radius: float) -> DomainTables:
        """The tables for the same points, and windows of another radius."""

    @abc.abstractmethod
    def images(self, starts: tuple[float, ...], bounds: PendingBox | None) -> Images:
        """The images of the points, which lie between `bounds`, in a space with the low corner `starts`."""

    @abc.abstractmethod
    def period_at(self, starts: tuple[float, ...]) -> cla.Array | None:
        """What tells the nearest image of a pair of points; None in open space."""

    @abc.abstractmethod
    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:
        """Whether the points, placed between `low` and `high`, all lie inside, so that none is an image of another.

        `starts` is the low corner of the space, or None for the best one.
        """

    @abc.abstractmethod
    def into_box(self, positions: np.ndarray[Any, Any], starts: tuple[float, ...]) -> np.ndarray[Any, Any]:
        """The images of `positions`, those of the points on the host, by which they are placed."""

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes on the device besides the image table, by name."""
        return {}

    def grids(self, sides: tuple[float, ...]) -> SystemGrids | None:  # noqa: ARG002
        """A grid for each system, of about these sides; None where one grid serves all points."""
        return None

    def bound_systems(self, queries: cla.Array, ranks: np.ndarray[Any, Any]) -> SystemBounds | None:  # noqa: ARG002
        """The bounds of queries in each system of theirs, which are checked; None where there are no systems."""
        return None

    def spanning_reaches(self, k: int, queries: SystemBounds | None = None) -> np.ndarray[Any, Any] | None:  # noqa: ARG002
        """For each system a radius within which queries see all of its points, or more than k images of them.

        None where points have no systems. `queries` are the bounds of queries, None where these are the points.
        """
        return None

    def radii(
        self,
        k: int,  # noqa: ARG002
        radius: float,  # noqa: ARG002
        ranks: np.ndarray[Any, Any] | None,  # noqa: ARG002
        queries: SystemBounds | None,  # noqa: ARG002
    ) -> np.ndarray[Any, Any] | None:
        """The radius of each query, at most `radius`, where those in small boxes need not reach that far.

        None where all have one radius. `ranks` are the systems of queries, and `queries` their bounds; both are None
        where queries are the points.
        """
        return None
