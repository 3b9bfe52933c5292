"""Objects that callers pass for points and that are no arrays: scans, meshes, sets of atoms, names of files."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from .numbers import shown

__all__ = ["refuse_objects"]

#: By these an object gives its numbers as a whole; the last is that of pyopencl's arrays.
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__", "base_data")

#: Where scans, meshes, atoms and clouds of other libraries have their coordinates.
_COORDINATES = ("xyz", "positions", "vertices", "points")


def refuse_objects(value: Any, name: str) -> None:
    """Raise for what is neither an array, nor a sequence of rows, nor a number: a text, a scan, a set of atoms.

    numpy would read many of them item by item, which takes minutes for a scan, and find no numbers there.
    """
    is_text = isinstance(value, (str, os.PathLike))
    if not is_text and _is_array(value):
        return
    got = f"{type(value).__name__}, which is no array"
    held = next((each for each in _COORDINATES if each in dir(value)), None)
    if is_text:
        got = f"dtype {np.asarray(value).dtype}, a text, which is no array" if isinstance(value, str) else got
        remedy = f"pass clfrnn.files.read({shown(os.fspath(value))}).points, say, if that is a file"
    elif held is not None:
        remedy = f"pass its coordinates, numpy.asarray({name}.{held})"
    elif _has_rows(value):
        return
    else:
        remedy = "pass an array of numbers with a row of coordinates for each point"
    raise InvalidInputError(
        f"expected an array of shape (rows, dim), got {got}; {remedy}",
        argument=name,
    )


def _has_rows(value: Any) -> bool:
    """Whether it has a length and items by number, as sequences have that are not registered as such."""
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, Mapping)


def _is_array(value: Any) -> bool:
    """Whether numpy makes an array of `value`: of a sequence, a number, or memory that an object gives to others."""
    if isinstance(value, (Sequence, numbers.Number)) or any(hasattr(value, each) for each in _PROTOCOLS):
        return True
    try:
        memoryview(value)  # of arrays of ctypes, and of bindings to C++
    except (TypeError, BufferError):
        return False
    return True
