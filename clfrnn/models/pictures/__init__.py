"""Pictures and animations of models."""

from __future__ import annotations

from .canvas import Canvas, canvas, library
from .film import animate

__all__ = ["Canvas", "animate", "canvas", "library"]
