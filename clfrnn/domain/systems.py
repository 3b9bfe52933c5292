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

from .box import CELLS, SYSTEMS, Domain, PeriodicBox, open_space

__all__ = ["SystemFacts", "Systems", "first_far"]

_Numbers = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Systems(Domain):
    """The systems of points, and the space of each. Two values are equal where they are one."""

    real: str
    #: the numbers of the systems, ascending
    numbers: npt.NDArray[Any]
    #: (n,) int32: the rank of each point's system among `numbers`
    ranks: npt.NDArray[np.int32]
    #: the different spaces of systems, and which of these each system has
    domains: tuple[PeriodicBox, ...]
    of_system: npt.NDArray[np.intp]

    @functools.cached_property
    def kind(self) -> str:
        """See :class:`~.box.Domain`."""
        return SYSTEMS[any(domain.kind == CELLS[1] for domain in self.domains)]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.domains[0].lengths)

    @functools.cached_property
    def space(self) -> PeriodicBox:
        """Open space, in which all systems lie side by side: see :mod:`.system_layout`."""
        return open_space(self.dim)

    @functools.cached_property
    def has_images(self) -> bool:
        """See :class:`~.box.Domain`."""
        return any(domain.has_images for domain in self.domains)

    @functools.cached_property
    def num_points(self) -> int:
        """The number of points."""
        return len(self.ranks)

    @functools.cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """(systems,): the number of points in each."""
        return np.bincount(self.ranks, minlength=len(self.numbers))

    def parts(self, n: int) -> list[tuple[PeriodicBox, int]]:  # noqa: ARG002 — each system has its own number
        """See :class:`~.box.Domain`; one for each of `domains`."""
        most = np.zeros(len(self.domains), np.int64)
        np.maximum.at(most, self.of_system, self.counts)
        return list(zip(self.domains, most.tolist(), strict=True))

    def spaces_of(self, n: int) -> tuple[npt.NDArray[np.int32], Sequence[PeriodicBox]]:  # noqa: ARG002
        """See :class:`~.box.Domain`."""
        return self.ranks, [self.domains[k] for k in self.of_system.tolist()]

    @functools.cached_property
    def inverse_normals(self) -> _Numbers:
        """(systems, dim, dim): what turns heights into positions."""
        return np.array([np.linalg.inv(domain.frame.normals) for domain in self.domains])[self.of_system]

    def describe(self) -> str:
        """How many systems there are, and whether they repeat, in words."""
        each = f"systems: {len(self.numbers):,}"
        repeating = sum(self.domains[k].has_images for k in self.of_system.tolist())
        return f"{each}, {repeating:,} of them periodic" if repeating else each

    def repeats(self, radius: float) -> bool:
        """See :class:`~.box.Domain`; whether that is so in any system."""
        return any(domain.repeats(radius) for domain in self.domains)

    def images(self, radius: float) -> float:
        """See :class:`~.box.Domain`; the mean over systems."""
        each = [domain.images(radius) for domain in self.domains]
        return float(np.mean(np.array(each)[self.of_system])) if len(self.of_system) else 1.0

    def most_images(self, radius: float) -> float:
        """See :class:`~.box.Domain`; the most over systems."""
        return max(domain.most_images(radius) for domain in self.domains)

    def pair_density(self, n: int, m: int, systems: npt.NDArray[np.int32] | None) -> float | None:  # noqa: ARG002
        """See :class:`~.box.Domain`; the sum over systems."""
        many = len(self.numbers)
        asked = self.counts if systems is None else np.bincount(systems, minlength=many)[:many]
        volumes = np.array([domain.volume for domain in self.domains])[self.of_system]
        return float(np.sum(asked * self.counts / volumes)) if volumes.all() else None

    @functools.cached_property
    def facts(self) -> SystemFacts:
        """What does not depend on positions, by system."""
        each = [_facts_of(domain, self.real) for domain in self.domains]
        return SystemFacts(*(np.array(column)[self.of_system] for column in zip(*each, strict=True)))


@dataclasses.dataclass(frozen=True)
class SystemFacts:
    """The spaces of systems as arrays, whose first axis is the system."""

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


def _facts_of(space: PeriodicBox, real: str) -> tuple[Any, ...]:
    """A row of each array of :class:`SystemFacts`."""
    given = (math.nan,) * len(space.lengths) if space.low is None else space.low
    return (space.lengths, *space.frame, given, space.limits(real), space.extents, space.spans)


def first_far(systems: Systems, low: _Numbers, high: _Numbers) -> tuple[int, int, float] | None:
    """The system, axis and height of a point so far out that images cannot be distinguished there, or None."""
    limits = systems.facts.limits
    with np.errstate(invalid="ignore"):
        far = np.isfinite(low) & ((low < -limits) | (high > limits))
    if not far.any():
        return None
    system, axis = (int(each) for each in np.argwhere(far)[0])
    return system, axis, float(max(low[system, axis], high[system, axis], key=abs))
