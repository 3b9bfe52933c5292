"""Cells that are not rectangular: checks `cell`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import REAL_OF
from ..domain.box import PeriodicBox, open_space
from ..domain.lattice import periodic_cell
from ..errors import InvalidInputError
from ..host.numbers import real_array, shown

__all__ = ["check_cell"]

#: Limit of the number of images that a query visits because of rounding alone.
_MOST_IMAGES = 2.0**30

#: Numbers of coordinates that cells may have.
_DIMS = (2, 3)


def check_cell(cell: Any, flags: tuple[bool, ...], dim: int, dtype: np.dtype[Any]) -> PeriodicBox:
    """The space of lattice vectors in the points' dtype, or open space where `flags` say that none of them is periodic.

    Vectors along the axes give a rectangular box.
    """
    given = real_array(cell)
    vectors = np.zeros(0) if given is None else given
    if dim not in _DIMS:
        raise InvalidInputError(
            f"expected points with 2 or 3 coordinates, got {dim}; pass the lengths of a rectangular box as box",
            argument="cell",
        )
    if vectors.shape != (dim, dim):
        hint = "pass one row for each lattice vector"
        if dim == 3 and vectors.size == 6:
            hint = "pass cell=clfrnn.cell_from_parameters(a, b, c, alpha, beta, gamma) for lengths and angles"
        elif vectors.shape in ((dim,), (2, dim)):
            hint = "the lengths of a rectangular box are passed as box="
        raise InvalidInputError(
            f"expected lattice vectors as shape ({dim}, {dim}), got {shown(cell)}; {hint}", argument="cell"
        )
    if not any(flags):
        return open_space(dim)
    with np.errstate(all="ignore"):
        rounded = vectors.astype(dtype)
        usable = np.isfinite(rounded).all(axis=1) & (rounded != 0).any(axis=1)
    for number, (flag, vector) in enumerate(zip(flags, rounded.tolist(), strict=True)):
        if flag and not usable[number]:
            raise InvalidInputError(
                f"expected lattice vector {number}, which is periodic, to be finite and not zero, got {vector}; "
                "leave it out of periodic, or pass the vector along which points repeat",
                argument="cell",
            )
    rows = tuple(tuple(row) if flag else None for flag, row in zip(flags, rounded.tolist(), strict=True))
    domain = periodic_cell(rows, REAL_OF[dtype])
    if domain is None:
        raise InvalidInputError(
            f"expected linearly independent lattice vectors, got {vectors.tolist()} in {dtype}, which are "
            "dependent, or so nearly that rounding hides it; pass vectors that span a cell, or leave one out of "
            "periodic",
            argument="cell",
        )
    if domain.most_visited >= _MOST_IMAGES:
        raise InvalidInputError(
            f"{vectors.tolist()} is so flat that rounding in {dtype} would lead a query through "
            f"{domain.most_visited:.2g} images; pass shorter vectors of the same lattice, or points in float64",
            argument="cell",
        )
    with np.errstate(all="ignore"):
        inverses = dtype.type(1) / np.array([length for length in domain.lengths if length], dtype)
    if not np.isfinite(inverses).all() or not np.isfinite(domain.lengths).all():
        raise InvalidInputError(
            f"expected a cell whose heights can be inverted in {dtype}, got {vectors.tolist()}; take another unit",
            argument="cell",
        )
    return domain
