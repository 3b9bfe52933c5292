"""Problem: the description of a search that plans are made from."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

from .domain.box import PeriodicBox
from .domain.cells import padded_radius
from .survey import Survey

__all__ = ["Problem"]

#: Ratio of the number of points or of the volume of the box to those of the survey from which on plans are made anew,
#: and the number of points up to which any plan serves.
_MOST_TIMES, _FEW = 4.0, 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """A search: sizes, type, radius, the survey of the points, the options of the method, and the periodic box.

    Where an axis is periodic, the survey's extent on it is one period. The survey may be older than the other facts:
    see :meth:`grown`.
    """

    n: int
    dim: int
    real: str
    radius: float
    survey: Survey
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: the box whose images count, or None where no axis is periodic
    box: PeriodicBox | None = None
    #: the reason for this method, in words
    why: str = ""
    #: the corners of the points, where the survey's are older
    corners: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @functools.cached_property
    def low(self) -> tuple[float, ...]:
        """The low corner of the points."""
        return self.survey.low if self.corners is None else self.corners[0]

    @functools.cached_property
    def high(self) -> tuple[float, ...]:
        """The high corner of the points."""
        return self.survey.high if self.corners is None else self.corners[1]

    @property
    def starts(self) -> tuple[float, ...]:
        """The low corner of the periodic box, as points are placed in it; that of the points where there is no box."""
        return self.low if self.box is None else self.box.starts(self.low, self.high)

    def grown(self, n: int, box: PeriodicBox | None, low: tuple[float, ...], high: tuple[float, ...]) -> Problem:
        """The same search over `n` points between `low` and `high` in another periodic box.

        The survey stays: what is compiled follows from the crowding that it has found, and stays too.
        """
        return dataclasses.replace(self, n=n, box=box, corners=(low, high))

    @property
    def has_outgrown_survey(self) -> bool:
        """Whether points are far more or fewer, or their periodic box far larger or smaller, than were surveyed."""
        most, surveyed = _MOST_TIMES, self.survey.n
        if not surveyed / most <= max(self.n, _FEW) <= most * max(surveyed, _FEW):
            return True
        if self.box is None:
            return False
        # On open axes nobody says how the space changes, and updates never look at that.
        periods = zip(self.box.lengths, self.survey.low, self.survey.high, strict=True)
        times = math.prod(length / (high - low) for length, low, high in periods if length)
        return not 1 / most <= times <= most

    @property
    def repeats(self) -> bool:
        """Whether a query may see two images of one point, within the radius or so near that squares vanish."""
        return self.box is not None and self.box.repeats(padded_radius(self.radius, self.real))

    @functools.cached_property
    def periodic(self) -> str:
        """What programs of this search are compiled for: "" where no axis is periodic, else the kind of the box."""
        return "" if self.box is None else self.box.kind
