"""The paper's algorithms 1 and 2 as it prints them, its tree of random nodes, and the lanes of their warps."""

from __future__ import annotations

from .measurements import EXPERIMENTS, measure
from .sizes import plan
from .tables import sections

__all__ = ["EXPERIMENTS", "measure", "plan", "sections"]
