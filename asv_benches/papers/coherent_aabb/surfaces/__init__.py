"""The paper's section 5.2 on surfaces: smoothing, WLOP and distance fields of stand-ins for its scanned models."""

from __future__ import annotations

from .measurements import EXPERIMENTS, measure
from .statues import plan
from .tables import sections

__all__ = ["EXPERIMENTS", "measure", "plan", "sections"]
