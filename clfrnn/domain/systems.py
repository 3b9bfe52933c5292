"""Systems: many clouds that are searched at once, each in a domain of its own.

Points of one system are neighbors of each other alone. For the search, all systems lie side by side in one space: see
:mod:`~clfrnn.domain.system_layout`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .box import CELLS, EPSILON, SYSTEMS, PeriodicBox
from .lattice import PeriodicCell

__all__ = ["SystemCells", "SystemFacts", "Systems", "first_far"]

#: The share by which a reach that spans a system is larger than it must be.
_PAD = 1.01

_Numbers = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class SystemCells:
    """A grid of cells for each system, one after the other."""

    #: the image table of each system, and one for queries of no system, (systems + 1, numbers)
    tables: _Numbers
    #: (systems + 1, 4): the shape of each grid, and the address of its first cell; an empty cell stands behind the last
    shapes: npt.NDArray[np.int32]
    cells: int
    #: whether the window of each query in its box crosses at most one edge of each axis
    wraps_once: bool


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Systems(PeriodicBox):
    """The systems of points, and the domain of each.

    For plans and cells no axis repeats: ``lengths`` are zeros, and images are found by tables of the systems.
    """

    # Two are equal where they are one: a domain of one box compares lengths, which are zeros here.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    real: str
    #: the numbers of the systems, ascending
    numbers: npt.NDArray[Any]
    #: (n,) int32: the place of each point's system among `numbers`
    ranks: npt.NDArray[np.int32]
    #: the different domains of systems, None for one that does not repeat, and which of these each system has
    domains: tuple[PeriodicBox | None, ...]
    of_system: npt.NDArray[np.intp]
    #: what the device knows of the systems, with the layout of the newest points: see
    #: :mod:`clfrnn.domain_tables.system_tables`
    placing: Any = None

    @functools.cached_property
    def kind(self) -> str:
        """See :class:`PeriodicBox`."""
        return SYSTEMS[any(domain is not None and domain.kind == CELLS[1] for domain in self.domains)]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.lengths)

    @property
    def has_images(self) -> bool:
        """See :class:`PeriodicBox`."""
        return any(domain is not None for domain in self.domains)

    @functools.cached_property
    def inverse_normals(self) -> _Numbers:
        """(systems, dim, dim): what turns heights into positions."""
        each = [
            np.eye(self.dim) if not isinstance(one, PeriodicCell) else np.linalg.inv(one.normals)
            for one in self.domains
        ]
        return np.array(each)[self.of_system]

    def spanning_reaches(self, k: int, low: _Numbers | None = None, high: _Numbers | None = None) -> _Numbers:
        """For each system a radius within which a query sees all of its points, or more than k images of them.

        `low` and `high` bound the heights of queries in each system.
        """
        heights, facts = self.placing.heights, self.facts
        begin = heights.begin if low is None else np.minimum(heights.begin, low)
        end = heights.end if high is None else np.maximum(heights.end, high)
        periodic, counts = facts.lengths > 0, np.bincount(self.ranks, minlength=len(self.numbers))
        axes = periodic.sum(axis=1)
        turns = np.zeros(len(counts))
        while True:
            few = (axes > 0) & (counts > 0) & (counts * (2 * turns + 1.0) ** axes <= k)
            if not few.any():
                break
            turns[few] = np.maximum(turns[few] + 1, np.floor(0.45 * (k / counts[few]) ** (1 / axes[few])))
        sides = np.where(periodic, (turns[:, None] + 0.5) * self.facts.spans, end - begin)
        far = np.maximum(np.abs(begin), np.abs(end)).max(axis=1, initial=0.0)
        with np.errstate(over="ignore"):
            longest = _PAD * np.sqrt((sides**2).sum(axis=1))
        found: _Numbers = longest + 64 * EPSILON[self.real] * math.sqrt(self.dim) * far
        return found

    def describe(self) -> str:
        """How many systems there are, and whether they repeat, in words."""
        each = f"systems: {len(self.numbers):,}"
        repeating = sum(self.domains[k] is not None for k in self.of_system.tolist())
        return f"{each}, {repeating:,} of them periodic" if repeating else each

    def limits(self, real: str) -> tuple[float, ...]:  # noqa: ARG002
        """Infinite: each system has limits of its own, see :func:`lay_out_systems`."""
        return (math.inf,) * self.dim

    def repeats(self, radius: float) -> bool:
        """See :class:`PeriodicBox`; whether that is so in any system."""
        return any(domain is not None and domain.repeats(radius) for domain in self.domains)

    def images(self, radius: float) -> float:
        """See :class:`PeriodicBox`; the mean over systems."""
        each = [1.0 if domain is None else domain.images(radius) for domain in self.domains]
        return float(np.mean(np.array(each)[self.of_system])) if len(self.of_system) else 1.0

    def most_images(self, radius: float) -> float:
        """See :class:`PeriodicBox`; the most over systems."""
        return max((domain.most_images(radius) for domain in self.domains if domain is not None), default=1.0)

    def pads(self, starts: tuple[float, ...], real: str) -> tuple[float, ...]:  # noqa: ARG002
        """No windows are planned by pads: each system has those of its table."""
        return self.lengths

    def exceeds_windows(self, reaches: Sequence[float]) -> bool:  # noqa: ARG002
        """Whether the windows of queries are shorter than the box of their system: see :class:`SystemCells`."""
        found: bool = self.placing.cells.wraps_once
        return found

    def starts(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[float, ...]:  # noqa: ARG002
        """Zeros: each system begins where its table says."""
        return self.lengths

    def domain(self, low: tuple[float, ...], high: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:  # noqa: ARG002
        """The space that the slots of the newest points fill."""
        found: tuple[tuple[float, ...], tuple[float, ...]] = self.placing.space()
        return found

    def holds(self, low: tuple[float, ...], high: tuple[float, ...], starts: tuple[float, ...] | None = None) -> bool:  # noqa: ARG002
        """Whether all of the newest points lie inside the domains of their systems."""
        found: bool = self.placing.heights.in_box
        return found

    def into_box(self, positions: npt.NDArray[Any], starts: tuple[float, ...]) -> npt.NDArray[Any]:  # noqa: ARG002
        """See :class:`PeriodicBox`; the positions in the slots of their systems."""
        found: npt.NDArray[Any] = self.placing.into_slots(positions)
        return found

    @functools.cached_property
    def facts(self) -> SystemFacts:
        """What does not depend on positions, by system."""
        each = [_facts_of(domain, self.dim, self.real) for domain in self.domains]
        return SystemFacts(*(np.array(column)[self.of_system] for column in zip(*each, strict=True)))


@dataclasses.dataclass(frozen=True)
class SystemFacts:
    """The domains of systems as arrays, whose first axis is the system."""

    lengths: _Numbers
    normals: _Numbers
    vectors: _Numbers
    #: the vectors along which images are counted, and how often each of `vectors` is in these
    steps: _Numbers
    combinations: _Numbers
    weights: _Numbers
    #: the low corner where the caller has given one, else NaN
    given: _Numbers
    #: how far from the origin points may be, and the extents of :class:`PeriodicCell`
    limits: _Numbers
    extents: _Numbers
    spans: _Numbers


def _facts_of(domain: PeriodicBox | None, dim: int, real: str) -> tuple[Any, ...]:
    """A row of each array of :class:`SystemFacts`."""
    none, unit, free = np.zeros(dim), np.eye(dim), np.full(dim, np.inf)
    if domain is None:
        zeros = np.zeros((dim, dim))
        return none, unit, zeros, zeros, unit, np.ones(dim), np.full(dim, np.nan), free, free, none
    lengths = np.array(domain.lengths)
    given = np.full(dim, np.nan) if domain.low is None else np.array(domain.low)
    limits = np.array(domain.limits(real))
    if isinstance(domain, PeriodicCell):
        vectors, combinations = np.array(domain.vectors), np.array(domain.combinations, np.float64)
        rows = np.array(domain.normals), vectors, domain.steps, combinations, np.array(domain.weights)
        return (lengths, *rows, given, limits, np.array(domain.extents), np.array(domain.spans))
    vectors = np.diag(lengths)
    return lengths, unit, vectors, vectors, unit, np.ones(dim), given, limits, free, lengths


def first_far(systems: Systems, low: _Numbers, high: _Numbers) -> tuple[int, int, float] | None:
    """The system, axis and height of a point so far out that images cannot be distinguished there, or None."""
    limits = systems.facts.limits
    with np.errstate(invalid="ignore"):
        far = np.isfinite(low) & ((low < -limits) | (high > limits))
    if not far.any():
        return None
    system, axis = (int(each) for each in np.argwhere(far)[0])
    return system, axis, float(max(low[system, axis], high[system, axis], key=abs))
