"""Water by weakly compressible smoothed particle hydrodynamics."""

from __future__ import annotations

from .fluid import Fluid

__all__ = ["Fluid"]
