"""Pedestrians, the forces by which they keep apart, and the scene that they walk in."""

from __future__ import annotations

from .pedestrians import Pedestrians

__all__ = ["Pedestrians"]
