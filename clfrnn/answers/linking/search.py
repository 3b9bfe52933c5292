"""LinkSearch: points that are connected by their neighbors, or by those of them that have enough neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...conditions import Condition
from ...config import INT
from ...device_array import DeviceArray
from ...domain.cells import padded_radius
from ...functions import NeighborFunction
from ...methods.named import check_method
from ...methods.structure import SearchStructure
from ...methods.traversal import Traversal
from ...points.adoption import adopt
from ...points.batches import take_systems
from ...prepare import build
from ...runtime.session import Session
from ..coincident import FirstPoints, first_points
from ..count_nearest import count_neighbors
from ..visit import visit
from .cliques import Cliques, has_cliques
from .numbering import begin_core_trees, begin_trees
from .unions import TAKE_BORDER, unions_for
from .weights import LEAST_RATING, WEIGHTS_IN_REACH, in_words

__all__ = ["LinkSearch"]


class LinkSearch:
    """Points on the device whose neighbors are linked, within one distance.

    Where points crowd, they are linked by cliques, else by visits of all neighbors.
    """

    def __init__(
        self,
        session: Session,
        points: Any,
        distance: Any,
        *,
        method: object,
        options: Mapping[str, Any],
        domain: tuple[Any, Any, Any],
        batch: Any,
        where: Condition | None,
        weighted: bool = False,
    ) -> None:
        """Build the search structure; arguments as for :func:`clfrnn.build_index`, `domain` are three of these.

        `weighted` says that points count by weights.
        """
        named = check_method(method, options)
        points = adopt(session, points, "points")
        given: dict[str, Any] = {"named": named, "options": options, "domain": domain}
        structure, _ = build(session, points, distance, **given, batch=batch, linked=where is None)
        self._session, self._where, self._traversal = session, where, Traversal(structure)
        self._grid = structure if where is None and has_cliques(structure) else None
        #: the number of points, of their coordinates, which may be more in the structure, and the dtype of these
        self.num_points, self.dim = self._traversal.num_points, int(np.shape(points)[1])
        self.dtype = self._traversal.dtype
        #: one point of each place, where these are searched instead of all
        self._firsts: FirstPoints | None = None
        if where is None and not weighted and self._grid is None and _may_coincide(structure):
            positions, numbers = (
                structure.positions(),
                None if batch is None else take_systems(session, batch, "batch", None),
            )
            self._firsts = None if positions is None else first_points(session, positions, 1, batch=numbers)
        if self._firsts is not None:
            del structure, self._traversal  # the pool gives their memory to the next structure
            structure, _ = build(session, self._firsts.points, distance, **given, batch=self._firsts.batch)
            self._traversal = Traversal(structure)
        #: which later calls need
        self._cliques: Cliques | None = None
        self._of_places: tuple[Any, Any] | None = None

    def connected(self) -> tuple[DeviceArray[np.int32], DeviceArray[Any]]:
        """Links between all neighbors, and that all points are core; both (n,)."""
        links = self._numbers()
        core = begin_trees(self._session, links)
        if self._grid is not None:
            Cliques(self._grid).link(core, links)
        else:
            self._visit(unions_for(self._session.profile).of_all, forest=links)
        if self._firsts is not None:
            links, core, _ = self._firsts.links_of_points(links, core, core)
        return links, core

    def connected_cores(
        self, least: int, weights: npt.NDArray[np.float64] | None = None
    ) -> tuple[DeviceArray[np.int32], DeviceArray[Any], DeviceArray[Any]]:
        """Links between core points, which are core, and which others have a neighbor; all (n,).

        A point is core where at least `least` points are within reach, itself counted, or points whose `weights` amount
        to as much; other points have the link -1.
        """
        if self._firsts is not None:
            weights = self._firsts.places.counts.get().astype(np.float64)
        if weights is not None:
            links, least = self._rate_by_weight(least, weights), LEAST_RATING
            self._cliques = None if self._grid is None else Cliques(self._grid)
        elif self._grid is not None:
            links, self._cliques = self._numbers(), Cliques(self._grid)
            self._cliques.count(links, enough=least - 1)
        else:
            links = count_neighbors(self._traversal, None, radius=None, include_self=False, where=self._where)
        core, border = begin_core_trees(self._session, links, least)
        if self._cliques is not None:
            self._cliques.link(core, links)
        else:
            self._visit(unions_for(self._session.profile).of_core, forest=links, core=core)
        if self._firsts is not None:
            self._of_places = core, border
            return self._firsts.links_of_points(links, core, border)
        return links, core, border

    def take_borders(self, core: DeviceArray[Any], border: DeviceArray[Any], labels: DeviceArray[np.int32]) -> None:
        """Give each point at a border the lowest label among the core points within reach, which have been linked."""
        if self._cliques is not None:
            self._cliques.take_borders(core, border, labels)
        elif self._firsts is not None and self._of_places is not None:
            of_places = self._firsts.labels_of_places(labels)
            core, border = self._of_places
            self._visit(TAKE_BORDER, core=core, border=border, labels=of_places)
            self._firsts.spread_labels(of_places, labels)
        else:
            self._visit(TAKE_BORDER, core=core, border=border, labels=labels)
        self._session.publish(None, core, labels)  # the last launch reads one and writes the other

    def _rate_by_weight(self, least: int, weights: npt.NDArray[np.float64]) -> DeviceArray[np.int32]:
        """Ratings in place of numbers of neighbors, by which :func:`begin_core_trees` tells what each point is."""
        problem = self._traversal.structure.problem
        domain, reach = problem.domain, padded_radius(problem.radius, problem.real)
        images = max(1.0, domain.most_images(reach)) if domain.repeats(reach) else 1.0
        ratings, (words, (low, high)) = self._numbers(), in_words(weights, least, images)
        own = self._session.upload(words, purpose="the weights of points")
        self._visit(WEIGHTS_IN_REACH, ratings=ratings, weights=own, low=low, high=high)
        return ratings

    def _numbers(self) -> DeviceArray[np.int32]:
        return self._session.allocate(self._traversal.num_points, INT, purpose="the links between points")

    def _visit(self, function: NeighborFunction, **arguments: Any) -> None:
        given: dict[str, Any] = {"radius": None, "include_self": False, "where": self._where}
        visit(self._traversal, function, None, **given, arguments=arguments)


def _may_coincide(structure: SearchStructure) -> bool:
    """Whether points have neighbors in a number that points of one place may explain."""
    problem = structure.problem
    return problem.survey.neighbors(problem.radius) > structure.session.tuning.linking.coincident
