"""Periodic spaces: checks `box`, `cell` and `periodic`, and surveys points in their box."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ..arrays import REAL_OF
from ..domain.box import Domain, PeriodicBox, open_space
from ..domain.cells import padded_radius
from ..errors import InvalidInputError
from ..host.numbers import is_masked, real_array, shown
from ..survey import Survey
from .deferred_checks import check_near
from .periodic_cell import check_cell

__all__ = ["as_flags", "check_domain", "check_host_near", "check_images", "survey_left_box"]

#: Limit of the number of neighbors of a query, which is an int32.
_MOST_NEIGHBORS = 2**31

#: Limit of the number of lattice vectors by which images are shifted: with that of the query they fit an int32.
_MOST_SHIFT = 2**30


def check_domain(box: Any, cell: Any, periodic: Any, dim: int, dtype: np.dtype[Any]) -> PeriodicBox:
    """The periodic box or cell in the points' dtype, or open space where no axis is periodic."""
    if box is not None and cell is not None:
        raise InvalidInputError(
            "expected one of the two, got both; pass cell=(the lattice vectors) alone, or the lengths of a "
            "rectangular box as box",
            argument="box, cell",
        )
    given = box is not None or cell is not None
    if not given and periodic is None:
        return open_space(dim)
    flags = _flags(given if periodic is None else periodic, dim)
    if cell is not None:
        return check_cell(cell, flags, dim, dtype)
    corners = None if box is None else _corners(box, dim)
    if not any(flags):
        return open_space(dim)
    if corners is None:
        raise InvalidInputError(
            f"periodic={shown(periodic)} needs the lengths of the box, got None; pass box=(length, ...), one for "
            "each axis, or the low and the high corner, or the lattice vectors as cell",
            argument="box",
        )
    return _box(corners, flags, dtype)


def _box(corners: np.ndarray[Any, Any], flags: tuple[bool, ...], dtype: np.dtype[Any]) -> PeriodicBox:
    """The box of these corners, rounded to the points' dtype."""
    with np.errstate(all="ignore"):
        rounded = corners.astype(dtype)
        lengths = rounded[-1] - rounded[0] if len(rounded) == 2 else rounded[0]
        usable = (lengths > 0) & np.isfinite(lengths) & np.isfinite(dtype.type(1) / lengths)
        starts = rounded[0] if len(rounded) == 2 else np.zeros(len(flags), dtype)
        usable &= np.isfinite(starts)
    for axis, flag in enumerate(flags):
        if flag and not usable[axis]:
            raise InvalidInputError(
                f"expected a positive, finite length on axis {axis}, which is periodic, got {lengths[axis]}; "
                "leave that axis out of periodic, or pass its length",
                argument="box",
            )
    return PeriodicBox(
        lengths=tuple(float(length) if flag else 0.0 for length, flag in zip(lengths, flags, strict=True)),
        low=tuple(float(start) for start in starts) if len(rounded) == 2 else None,
    )


def as_flags(periodic: Any) -> np.ndarray[Any, Any] | None:
    """An array of bools, or of the integers 0 and 1; None where it is none."""
    try:
        flags = np.zeros(0) if is_masked(periodic) else np.asarray(periodic)
    except (ValueError, TypeError):
        return None
    whole = flags.dtype.kind == "b" or (flags.dtype.kind in "iu" and bool(((flags == 0) | (flags == 1)).all()))
    return flags if whole else None


def _flags(periodic: Any, dim: int) -> tuple[bool, ...]:
    """Return one flag for each axis, of bools or of the integers 0 and 1."""
    flags = as_flags(periodic)
    if flags is not None and flags.shape == ():
        return (bool(flags),) * dim
    if flags is not None and flags.shape == (dim,):
        return tuple(bool(flag) for flag in flags)
    raise InvalidInputError(
        f"expected True, False or {dim} of them, one for each axis, got {shown(periodic)}; "
        "pass True for the axes that repeat, and their lengths as box",
        argument="periodic",
    )


def _corners(box: Any, dim: int) -> np.ndarray[Any, Any]:
    """Return lengths as one row, or the low and the high corner as two rows."""
    given = real_array(box)
    corners = np.zeros(0) if given is None else given
    hint = "pass one number for each axis of the points"
    if corners.shape == (2, dim) and (corners[1] == 90).all() and (corners[0] > 0).all():
        raise InvalidInputError(
            f"expected lengths or two corners, got what looks like lengths and angles, {shown(box)}; pass "
            "cell=clfrnn.cell_from_parameters(a, b, c, alpha, beta, gamma), or the lengths alone",
            argument="box",
        )
    if corners.shape in ((dim,), (2, dim)):
        return corners.reshape(-1, dim)
    if corners.shape in ((3, 3), (9,)):
        hint = "lattice vectors are passed as cell="
    elif corners.size == 6:
        hint = (
            "lengths and angles are passed as cell=clfrnn.cell_from_parameters(a, b, c, alpha, beta, gamma), and "
            "corners as two rows"
        )
    raise InvalidInputError(
        f"expected {dim} lengths, or the low and the high corner as shape (2, {dim}), got {shown(box)}; {hint}",
        argument="box",
    )


def check_images(domain: Domain, radius: float, n: int, real: str) -> None:
    """Raise where a query could have more neighbors than an int32 counts, or look at as many images of `n` points.

    A query looks as far as differences have squares of zero, also where `radius` is smaller; without a radius, pass 0.
    """
    reach = padded_radius(radius, real)
    for space, points in domain.parts(n):
        if space.kind:
            _check_images_in(space, radius, reach, points)


def _check_images_in(box: PeriodicBox, radius: float, reach: float, n: int) -> None:
    most = max(n, 1) * (box.most_images(reach) if box.repeats(reach) else 1.0)
    if most < _MOST_NEIGHBORS:
        if box.most_shift(reach) < _MOST_SHIFT:
            return
        raise InvalidInputError(
            f"{radius!r} reaches so far over images of the cell that shifts along its vectors exceed an "
            "int32; take a smaller one, or pass shorter vectors of the same lattice as cell",
            argument="radius",
        )
    shortest = min(length for length in box.lengths if length)
    name = "box" if box.kind == "box" else "cell"
    if reach > 2 * radius:
        raise InvalidInputError(
            f"expected lengths that are not far below {reach:.2g}, as the squares of smaller differences "
            f"vanish in the points' dtype, got {shortest!r} as the shortest; multiply points and lengths by one number",
            argument=name,
        )
    raise InvalidInputError(
        f"{radius!r} reaches over images of the box, the shortest {shortest!r} long, among which a query "
        f"could have {most:.2g} neighbors; 2**31 can be counted. Take a smaller one",
        argument="radius",
    )


def survey_left_box(survey: Survey, radius: float) -> Survey:
    """The survey of the images inside the box, of points that have left the box; `survey` has the corners of the box.

    The sample of crowding does not know images. The density is at least its mean over the box, and a smaller value says
    nothing about how unevenly points crowd in the box.
    """
    density = dataclasses.replace(survey, others=0.0).density(radius)
    others = density * radius**survey.dim if math.isfinite(density) else survey.others
    if others <= survey.others:
        return survey
    return dataclasses.replace(survey, others=min(float(survey.n), others), unevenness=1.0)


def check_host_near(name: str, space: PeriodicBox, values: np.ndarray[Any, Any]) -> None:
    """Raise where rows in host memory lie too far outside a periodic box."""
    placed = space.heights(values)
    low, high = tuple(placed.min(axis=0).tolist()), tuple(placed.max(axis=0).tolist())
    check_near(name, space, low, high, REAL_OF[values.dtype])
