"""Libraries: the packages of extras, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ClfrnnError
from .foreign_warnings import ignored_warnings

__all__ = ["library", "optional_library"]


def library(module: str, package: str, what: str, extra: str = "geometry") -> Any:
    """Import a `module` of a `package` that an `extra` has, or raise; `what` it is that needs it."""
    try:
        with ignored_warnings():
            return importlib.import_module(module)
    except ImportError as error:
        raise ClfrnnError(f"{what} needs {package}, which is not installed; pip install 'clfrnn[{extra}]'") from error


def optional_library(module: str, wanted_by: str) -> Any:
    """Import a module of a library of the user's own, or raise; `wanted_by` says what is converted."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ClfrnnError(f"{wanted_by} needs {package}: pip install {package}") from None
