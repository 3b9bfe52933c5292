"""Pairs by their distance: the number or the summed weights of those between one radius and the next."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..conditions import Condition
from ..functions import NeighborFunction
from ..index import Index

__all__ = ["pairs_between_radii"]

#: Bytes of the table of a block of queries.
_BLOCK = 1 << 26


@functools.cache
def _histogram(kind: str) -> NeighborFunction:
    """Adds weights of neighbors to a row of bins for each query, in numbers of that type of OpenCL C."""
    weight = "1" if kind == "int" else f"({kind})weights[j]"
    return NeighborFunction(
        arguments=f"const int bins, global const real *squares, global const {kind} *weights, global {kind} *table",
        state=f"global {kind} *own = table + (long)i * bins;\nfor (int bin = 0; bin < bins; ++bin) own[bin] = 0;",
        per_neighbor="int bin = 0, last = bins - 1;\n"
        "while (bin < last) { const int middle = (bin + last) / 2;"
        " if (d2 <= squares[middle]) last = middle; else bin = middle + 1; }\n"
        f"own[bin] += {weight};",
    )


def pairs_between_radii(
    index: Index,
    queries: Any,
    radii: npt.NDArray[np.floating[Any]],
    *,
    weights: npt.NDArray[np.float64] | None = None,
    query_weights: npt.NDArray[np.float64] | None = None,
    where: Callable[[Any], Condition | None] | None = None,
) -> npt.NDArray[Any]:
    """Count pairs of queries and points by distance: bin k holds those beyond radius k - 1 and within radius k.

    Parameters
    ----------
    index : of the points, for at least the largest radius
    queries : (m, dim), on the host or the device; of many, blocks are visited one after the other
    radii : ascending, in the dtype of the index
    weights, query_weights : (n,) and (m,); products are summed where either is given, in float64 if the device has it
    where : a function of the queries of a block, which gives the condition of its pairs, or None

    Returns
    -------
    (len(radii),) int64, or float64 where there are weights
    """
    weighted = weights is not None or query_weights is not None
    kind = "int" if not weighted else "double" if index.session.profile.fp64 else "float"
    dtype: np.dtype[Any] = np.dtype({"int": np.int32, "double": np.float64, "float": np.float32}[kind])
    own = np.ones(index.num_points if weighted else 0) if weights is None else weights
    given: dict[str, Any] = {"bins": len(radii), "squares": radii * radii, "weights": own.astype(dtype)}
    total: npt.NDArray[Any] = np.zeros(len(radii), np.float64 if weighted else np.int64)
    rows = max(1, _BLOCK // (dtype.itemsize * len(radii)))
    for first in range(0, queries.shape[0], rows):
        block = queries[first : first + rows]
        table = index.empty((block.shape[0], len(radii)), dtype)
        condition = None if where is None else where(block)
        index.visit(_histogram(kind), block, radius=float(radii[-1]), where=condition, table=table, **given)
        if query_weights is None:
            total += table.get().sum(axis=0, dtype=total.dtype)
        else:
            total += query_weights[first : first + rows] @ table.get().astype(np.float64)
    return total
