"""Problem: the description of a search that plans are made from."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

from .domain.box import Domain, PeriodicBox
from .domain.cells import padded_radius
from .survey import Survey

__all__ = ["Problem"]

#: Ratio of the number of points or of the volume of the box to those of the survey from which on plans are made anew,
#: and the number of points up to which any plan serves.
_MOST_TIMES, _FEW = 4.0, 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """A search: sizes, type, radius, the survey of the points, the options of the method, and the domain.

    Where an axis is periodic, the extent of points on it is one period, in the survey as well. The survey may be older
    than the other facts: see :meth:`grown`.
    """

    n: int
    domain: Domain
    real: str
    radius: float
    survey: Survey
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    #: the reason for this method, in words
    why: str = ""
    #: the corners of the points, where the survey's are older
    corners: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @functools.cached_property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.domain.space.lengths)

    @functools.cached_property
    def space(self) -> PeriodicBox:
        """The space in which methods place points."""
        return self.domain.space

    @functools.cached_property
    def periodic(self) -> str:
        """What programs of this search are compiled for: the kind of the domain, "" in open space."""
        return self.domain.kind

    @functools.cached_property
    def images(self) -> float:
        """The mean number of images of the space that a query covers."""
        return self.domain.images(self.radius) if self.periodic else 1.0

    @functools.cached_property
    def low(self) -> tuple[float, ...]:
        """The low corner of the points."""
        return self.survey.low if self.corners is None else self.corners[0]

    @functools.cached_property
    def high(self) -> tuple[float, ...]:
        """The high corner of the points."""
        return self.survey.high if self.corners is None else self.corners[1]

    @functools.cached_property
    def without_strays(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The corners of the points without strays, as far as the survey knows of these: between them lie most cells.

        Points that have moved have the bulk that was surveyed, as long as they reach beyond it on all sides.
        """
        low, high = self.survey.without_strays
        moved = self.corners is not None and not (self.survey.has_strays and self._surround(low, high))
        return (self.low, self.high) if moved else (low, high)

    def _surround(self, low: tuple[float, ...], high: tuple[float, ...]) -> bool:
        """Whether points lie on all sides of a box."""
        return all(a <= b for a, b in zip(self.low, low, strict=True)) and all(
            a <= b for a, b in zip(high, self.high, strict=True)
        )

    @property
    def has_strays(self) -> bool:
        """Whether a few points lie far from all others."""
        return self.without_strays != (self.low, self.high)

    @property
    def starts(self) -> tuple[float, ...]:
        """The low corner of the periodic box, as points are placed in it."""
        return self.space.starts(self.low, self.high)

    def grown(self, n: int, domain: Domain, low: tuple[float, ...], high: tuple[float, ...]) -> Problem:
        """The same search over `n` points between `low` and `high` in another domain, or in the same.

        The survey stays: what is compiled follows from the crowding that it has found, and stays too.
        """
        return dataclasses.replace(self, n=n, domain=domain, corners=domain.space.filled(low, high))

    @property
    def has_outgrown_survey(self) -> bool:
        """Whether points are far more or fewer, or their periodic box far larger or smaller, than were surveyed."""
        most, surveyed = _MOST_TIMES, self.survey.n
        if not surveyed / most <= max(self.n, _FEW) <= most * max(surveyed, _FEW):
            return True
        # On open axes nobody says how the space changes, and updates never look at that.
        periods = zip(self.space.lengths, self.survey.low, self.survey.high, strict=True)
        times = math.prod([length / (high - low) for length, low, high in periods if length])
        return not 1 / most <= times <= most

    @property
    def repeats(self) -> bool:
        """Whether a query may see two images of one point, within the radius or so near that squares vanish."""
        return bool(self.periodic) and self.domain.repeats(padded_radius(self.radius, self.real))
