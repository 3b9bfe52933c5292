"""Clouds: what a file says of points."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

__all__ = ["Cloud"]

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cloud:
    """Points of a file, and what the file says of them.

    Attributes
    ----------
    points : (n, dim), in the unit and the order of the file; of a text float64, else in the dtype of the file
    cell : (3, 3) float64, the lattice vectors as rows, in the unit of the points; None where the file has none
    periodic : for each lattice vector whether it repeats; without a cell False for each axis
    unit : the unit of the coordinates, as "Å" or "nm", where the format defines one; else None
    species : (n,) str, what the file says of the chemical element of each atom, with symbols as usually spelled ("Si"
        for SI); None where it says nothing
    names : (n,) str, the name of each atom, as the file spells it; of a dump of LAMMPS the number of each atom, its
        ``id``; None where it has none
    frame : the position of the frame in the file, from 0 on
    frames : how many frames the file has
    skipped : how many rows of the file were left out, as they have no coordinates
    notes : sentences on what was left out of the file or taken for granted
    """

    points: Array
    cell: Array | None = None
    periodic: tuple[bool, ...] = ()
    unit: str | None = None
    species: Array | None = None
    names: Array | None = None
    frame: int = 0
    frames: int = 1
    skipped: int = 0
    notes: tuple[str, ...] = ()
