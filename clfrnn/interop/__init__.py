"""Faces of other libraries: their classes and functions over searches of clfrnn, with their arguments and results.

Each face is a module of the name of its library: ``scipy``, ``sklearn``, ``ase``, ``torch``. It is imported when it is
asked for, and imports its library then or later; ``import clfrnn`` imports none of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ase, scipy, sklearn, torch

__all__ = ["ase", "scipy", "sklearn", "torch"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
