"""Column sums: of a table of counts, and of one of whole numbers whose rows have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl.array as cla

from ..config import LONG
from ..runtime.scratch import Scratch
from ..runtime.session import Session
from .config import plan_column_sums

__all__ = ["sum_columns", "sum_weighted_columns"]

#: Parts of the rows that are added up beside each other; their sums are added up on the host.
_PARTS = 1024

_DOUBLE = np.dtype(np.float64)


def sum_columns(session: Session, table: cla.Array | Scratch, columns: int) -> npt.NDArray[np.int64]:
    """The sums of the columns of an int32 table of that many columns, (columns,); waits for them."""
    rows = table.size // columns
    parts = max(1, min(_PARTS, rows))
    sums = session.scratch(parts * columns, LONG, purpose="the sums of columns")
    _launch(session, rows, columns, parts, [table.base_data, sums.base_data], weighted=False)
    found: npt.NDArray[np.int64] = session.read(sums).reshape(parts, columns).sum(axis=0, dtype=np.int64)
    return found


def sum_weighted_columns(
    session: Session, table: cla.Array | Scratch, columns: int, unit: float, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The sums of the columns of rows times their `weights`, (columns,); the same in each run. Waits for them.

    `table` has two int64 for each entry, whose value is that of the first and `unit` times that of the second. A device
    without float64 leaves it to the host.
    """
    rows = table.size // (2 * columns)
    if not session.profile.fp64:
        words = session.read(table).reshape(rows, columns, 2)
        values = weights[:, None] * (words[..., 0] + words[..., 1] * unit)
        return np.ascontiguousarray(values.T).sum(axis=1)
    parts = max(1, min(_PARTS, rows))
    sums = session.scratch(parts * columns, _DOUBLE, purpose="the sums of columns")
    of_rows = session.upload(np.ascontiguousarray(weights), purpose="the weights of queries")
    given = [table.base_data, np.float64(unit), of_rows.base_data, sums.base_data]
    _launch(session, rows, columns, parts, given, weighted=True)
    return np.ascontiguousarray(session.read(sums).reshape(parts, columns).T).sum(axis=1)


def _launch(session: Session, rows: int, columns: int, parts: int, given: list[Any], *, weighted: bool) -> None:
    kernels, config = session.planned("primitives/column_sums", plan_column_sums, weighted=weighted)
    sizes = np.int32(rows), np.int32(columns), np.int32(parts)
    session.launch(kernels["column_sums"], parts * columns, config.work_group_size, *sizes, *given)
