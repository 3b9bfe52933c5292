"""A window in which a model is seen while it runs."""

from __future__ import annotations

import os
import sys

from ..frame import Drawn
from .canvas import canvas

__all__ = ["has_display", "show_in_window"]

#: Pixels of the longer side.
_SIZE = 720


def has_display() -> bool:
    """Whether windows can open: on Linux and its like the environment names a display, elsewhere there is one."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def show_in_window(model: Drawn, *, steps: int, every: int) -> None:
    """Take steps, and draw the model after each `every` of them, until its window is closed.

    What :meth:`clfrnn.models.Model.controls` offers is in the window.

    Raises
    ------
    ClfrnnError
        A library is missing.
    """
    easel = canvas(model, _SIZE, window=True)
    try:
        easel.offer(model.controls())
        for frame in model.run(steps, every=every):
            easel.draw(frame)
            if not easel.show():
                return
    finally:
        easel.close()
