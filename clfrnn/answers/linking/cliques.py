"""Cliques: points of a cell that are all neighbors of each other, which are linked without a test of each pair."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeGuard

import numpy as np

from ...config import INT, PointConfig
from ...device_array import DeviceArray
from ...domain.cells import padded_radius
from ...groups import group_size
from ...methods.grid.clique_cells import has_clique_cells
from ...methods.grid.structure import GridStructure
from ...methods.structure import SearchStructure
from ...primitives.fill import fill
from ...profile import DeviceProfile
from ...tuning import Tuning
from .unions import forest, read_of_link

__all__ = ["CliqueConfig", "CliqueWalkConfig", "Cliques", "has_cliques", "plan_clique_walk", "plan_cliques"]

#: The longest diagonal of cells in radii: points of much wider ones make no cliques.
_WIDEST = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CliqueWalkConfig(PointConfig):
    """The programs that go through the cells around cliques."""

    periodic: str
    #: the layout of the sorted copy: see :func:`~clfrnn.config.numbers_per_point`
    layout: str

    def names(self) -> dict[str, Any]:
        """The fields, and whether each coordinate is a column, as on a CPU."""
        return {**super().names(), "columns": self.layout == "columns"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CliqueConfig(CliqueWalkConfig):
    """The programs that find and link cliques of at most ``longest`` points; ``read`` is how ``links[k]`` is read."""

    longest: int
    read: str

    def names(self) -> dict[str, Any]:
        """The fields, and the code that unites trees."""
        return {**super().names(), "forest": forest(self.read)}


def plan_clique_walk(profile: DeviceProfile, tuning: Tuning, **facts: Any) -> CliqueWalkConfig:
    """Plan one work-item for each place; `facts` are dim, real, periodic and layout."""
    return CliqueWalkConfig(work_group_size=group_size(profile, tuning.linking.group), **facts)


def plan_cliques(profile: DeviceProfile, tuning: Tuning, **facts: Any) -> CliqueConfig:
    """Plan the same, and the size of cliques."""
    walk = plan_clique_walk(profile, tuning, **facts)
    longest, read = tuning.linking.longest_clique, read_of_link(profile)
    return CliqueConfig(**dataclasses.asdict(walk), longest=longest, read=read)


def has_cliques(structure: SearchStructure) -> TypeGuard[GridStructure]:
    """Whether the points lie in cells of cliques, and all of them in the periodic box, if there is one."""
    if not isinstance(structure, GridStructure) or not has_clique_cells(structure.problem, structure.session.profile):
        return False
    radius = structure.problem.radius
    # Cells are wider than planned where points lie so far from each other that their numbers would overflow.
    are_narrow = not radius or math.hypot(*structure.cell_grid.sides) <= _WIDEST * radius
    return are_narrow and (not structure.problem.periodic or len(structure.images_served(foreign=False)) == 1)


class Cliques:
    """The cliques of the points of a grid; on the device an int32 for each point."""

    def __init__(self, structure: GridStructure) -> None:
        """Enqueue the search for cliques, which changes the order of the points inside cells."""
        self._structure, self._session = structure, structure.session
        radius, real = structure.problem.radius, structure.problem.real
        self._radius, self._padded = structure.dtype.type(radius), structure.dtype.type(padded_radius(radius, real))
        n, (_, places, starts, *_) = structure.problem.n, structure.arguments()
        chunks, self._members = (self._session.scratch(n, INT, purpose="the cliques of points") for _ in range(2))
        fill(self._session, chunks)
        cells = structure.cell_grid.cells
        self._launch("begin_chunks", cells, cells, starts, chunks.base_data)
        self._launch("find_cliques", n, n, places, chunks.base_data, self._radius, self._members.base_data)

    def count(self, counts: DeviceArray[np.int32], *, enough: int) -> None:
        """Enqueue counts of neighbors: `enough` where there are as many, or else fewer, and 0 where there are none."""
        self._walk("core_points", "count_of_cliques", enough, self._members.base_data, counts.base_data)
        self._walk("core_points", "count_of_points", enough, counts.base_data)

    def link(self, core: DeviceArray[Any], links: DeviceArray[np.int32]) -> None:
        """Enqueue the links among core points, each of which is a root before."""
        given = core.base_data, self._members.base_data, links.base_data
        n, places = self._structure.problem.n, self._structure.arguments()[1]
        self._launch("chain_cliques", n, n, places, *given)
        self._walk("cliques", "link_cliques", *given)

    def take_borders(self, core: DeviceArray[Any], border: DeviceArray[Any], labels: DeviceArray[np.int32]) -> None:
        """Enqueue the labels of points at borders, behind :meth:`link`."""
        given = core.base_data, border.base_data, self._members.base_data, labels.base_data
        self._walk("core_points", "take_borders", *given)

    def _walk(self, template: str, name: str, *arguments: Any) -> None:
        """Enqueue a kernel that goes through the cells around each clique."""
        n, sides, radius = self._structure.problem.n, self._structure.cell_grid.sides, self._structure.problem.radius
        kernel, size = self._kernel(template, name)
        rows = math.prod([2 * radius / side + 2 for side in sides[1:]])
        given = *self._structure.arguments(), self._radius, self._padded, *arguments
        self._session.launch_sliced(kernel, n, size, *given, pairs=n * rows)

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        kernel, size = self._kernel("cliques", name)
        self._session.launch(kernel, items, size, *arguments)

    def _kernel(self, template: str, name: str) -> tuple[Any, int]:
        config, plan = self._structure.config, plan_cliques if template == "cliques" else plan_clique_walk
        facts = {"dim": config.dim, "real": config.real, "periodic": config.periodic, "layout": config.layout}
        kernels, fitted = self._session.planned(f"answers/linking/{template}", plan, **facts)
        return kernels[name], fitted.work_group_size
