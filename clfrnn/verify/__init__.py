"""The exactness contract on one device, which ``clfrnn verify`` checks."""

from __future__ import annotations

from .case import Case, cases
from .comparison import Outcome, run_case
from .edges import edge_cloud

__all__ = ["Case", "Outcome", "cases", "edge_cloud", "run_case"]
