"""Clouds that are larger than a device: divided into parts, which are searched one by one or on several devices.

:func:`split`, :func:`assign` and :func:`join` need numpy alone; the names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assignment import Part, assign
    from .boxes import split
    from .lists import PartList, join

_MODULE_OF = {
    "Part": "assignment",
    "PartList": "lists",
    "assign": "assignment",
    "join": "lists",
    "split": "boxes",
}

__all__ = ["Part", "PartList", "assign", "join", "split"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    raise AttributeError(f"module 'clfrnn.parts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
