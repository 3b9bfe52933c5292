"""Warnings that name the line of the caller, however deep in the library their cause is found."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

__all__ = ["warn"]

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line that called the library."""
    depth, frame = 2, sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads every file of the stack
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, depth)
