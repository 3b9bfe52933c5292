"""Pictures and animations of models."""

from __future__ import annotations

from .canvas import Canvas, canvas
from .film import animate
from .notebook import show_in_notebook
from .window import has_display, show_in_window

__all__ = ["Canvas", "animate", "canvas", "has_display", "show_in_notebook", "show_in_window"]
