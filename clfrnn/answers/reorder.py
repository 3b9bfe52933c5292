"""Reorder: arrays of users in the search order of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl.array as cla

from ..arrays import is_device_array
from ..errors import InvalidInputError
from ..methods.traversal import Traversal
from ..points.adoption import adopt
from ..points.transfer import check_context, own_copy
from ..primitives.gather import take_rows

__all__ = ["reorder"]


def reorder(traversal: Traversal, arrays: Sequence[Any]) -> Any:
    """See :meth:`clfrnn.Index.reorder`."""
    order = traversal.structure.order()
    found = [
        take_rows(traversal.session, _row_for_each_point(traversal, f"arrays[{k}]", array), order)
        for k, array in enumerate(arrays)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _row_for_each_point(traversal: Traversal, name: str, array: Any) -> cla.Array:
    """Return an array on the device, or raise where it has not one row for each point."""
    session = traversal.session
    array = adopt(session, array, name)
    values = array if is_device_array(array) else np.ascontiguousarray(array)
    if values.ndim == 0 or values.shape[0] != traversal.num_points or values.dtype.hasobject:
        raise InvalidInputError(
            f"expected one row for each of the {traversal.num_points:,} points, got shape {values.shape} "
            f"and {values.dtype}; pass numbers, in the order in which the points were given",
            argument=name,
        )
    if not is_device_array(values):
        return session.upload(values, purpose=name)
    check_context(session, values, name)
    if not values.flags.c_contiguous:
        raise InvalidInputError(
            f"expected a contiguous array, got strides {values.strides}; pass a copy", argument=name
        )
    return own_copy(session, values)
