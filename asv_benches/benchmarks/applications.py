"""Applications through what users may rely on: clusters, models, geometry, batches, the nearest; of the past, too.

At commits that lack an application its benchmarks fail, which is written beside the results. Sizes and clocks are those
of :mod:`.public`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import clfrnn

from .public import Public

#: Points of a system of a batch, and numbers of nearest neighbors.
SYSTEM, NEAREST = 64, 16


class Application(Public):
    """A benchmark of an application, whose imports fail where it is not there yet."""

    #: An hour: at low priority others have the cores.
    timeout = 3600


class Dbscan(Application):
    """``clfrnn.cluster.dbscan``."""

    def step(self) -> Callable[[], object]:
        """The index included."""
        from clfrnn.cluster import dbscan  # noqa: PLC0415 — commits of the past lack it

        return lambda: dbscan(self.points, self.radius / 2, 5, session=self.session)


class FriendsOfFriends(Application):
    """``clfrnn.cluster.friends_of_friends``."""

    def step(self) -> Callable[[], object]:
        """The index included."""
        from clfrnn.cluster import friends_of_friends  # noqa: PLC0415

        return lambda: friends_of_friends(self.points, self.radius / 4, session=self.session)


class Normals(Application):
    """``clfrnn.geometry.normals``."""

    def step(self) -> Callable[[], object]:
        """The index included."""
        from clfrnn.geometry import normals  # noqa: PLC0415

        return lambda: normals(self.points, self.radius, session=self.session)


class Smooth(Application):
    """``clfrnn.geometry.smooth``."""

    def step(self) -> Callable[[], object]:
        """One iteration, the index included."""
        from clfrnn.geometry import smooth  # noqa: PLC0415

        return lambda: smooth(self.points, self.radius, session=self.session)


class Batches(Application):
    """``index.count()`` of many systems."""

    def step(self) -> Callable[[], object]:
        """Of an index that stands, over points that are cut into systems in their order, with 16 neighbors each."""
        batch, radius = np.arange(len(self.points)) // SYSTEM, (16 / (4 / 3 * np.pi * SYSTEM)) ** (1 / 3)
        index = clfrnn.build_index(self.points, radius, method=self.method, session=self.session, batch=batch)
        return index.count


class KNearest(Application):
    """``clfrnn.nearest`` of many, without a radius."""

    def step(self) -> Callable[[], object]:
        """The index included."""
        return lambda: clfrnn.nearest(self.points, NEAREST, session=self.session)


class Spheres(Application):
    """A step of colliding spheres."""

    name: ClassVar[str] = "Spheres"
    given: ClassVar[dict[str, Any]] = {}

    def step(self) -> Callable[[], object]:
        """Of as many particles as there are points."""
        from clfrnn import models  # noqa: PLC0415

        model = getattr(models, self.name)(len(self.points), session=self.session, **self.given)
        step: Callable[[], object] = model.step
        return step


class Water(Spheres):
    """A step of water."""

    name = "Fluid"
    given: ClassVar[dict[str, Any]] = {"dim": 3, "sound": 25.0}


class Birds(Spheres):
    """A step of boids."""

    name = "Boids"
