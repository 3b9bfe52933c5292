"""Clouds that are larger than a device: divided into parts, which are searched one by one or on several devices.

:func:`split`, :func:`assign` and :func:`join` need numpy alone. The names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assignment import Part, assign
    from .boxes import split
    from .clusters import dbscan, friends_of_friends
    from .lists import PartList, join, read_lists, write_lists
    from .moving import MovingParts
    from .nearest_rows import nearest
    from .searches import count
    from .searches import search_parts as search

#: The module of each name, and its name there.
_PLACE_OF = {
    "MovingParts": ("moving", "MovingParts"),
    "Part": ("assignment", "Part"),
    "PartList": ("lists", "PartList"),
    "assign": ("assignment", "assign"),
    "count": ("searches", "count"),
    "dbscan": ("clusters", "dbscan"),
    "friends_of_friends": ("clusters", "friends_of_friends"),
    "join": ("lists", "join"),
    "nearest": ("nearest_rows", "nearest"),
    "read_lists": ("lists", "read_lists"),
    "search": ("searches", "search_parts"),
    "split": ("boxes", "split"),
    "write_lists": ("lists", "write_lists"),
}

__all__ = [
    "MovingParts",
    "Part",
    "PartList",
    "assign",
    "count",
    "dbscan",
    "friends_of_friends",
    "join",
    "nearest",
    "read_lists",
    "search",
    "split",
    "write_lists",
]


def __getattr__(name: str) -> Any:
    if name in _PLACE_OF:
        module, inside = _PLACE_OF[name]
        return getattr(importlib.import_module(f".{module}", __name__), inside)
    raise AttributeError(f"module 'clfrnn.parts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
