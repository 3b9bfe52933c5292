"""Problem: what is to be searched, as plans take it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..period import PeriodicBox
from ..survey import Survey

__all__ = ["Problem"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
    """What is to be searched: sizes, dtype, radius, the survey of the points, the method's options, the periodic box.

    Where an axis is periodic, the survey's extent on it is one period.
    """

    n: int
    dim: int
    real: str
    radius: float
    survey: Survey
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: the box whose images count, or None when no axis is periodic
    box: PeriodicBox | None = None
    #: why this method, in words
    why: str = ""
