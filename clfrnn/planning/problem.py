"""Problem: the description of a search that plans are made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..period import PeriodicBox
from ..survey import Survey

__all__ = ["Problem"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """A search: sizes, type, radius, the survey of the points, the options of the method, and the periodic box.

    Where an axis is periodic, the survey's extent on it is one period.
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

    @property
    def periodic(self) -> str:
        """What programs of this search are compiled for: "" where no axis is periodic, else the kind of the box."""
        return "" if self.box is None else self.box.kind
