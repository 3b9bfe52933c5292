"""Clouds: what a file says of points."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

__all__ = ["Cloud"]

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cloud:
    """Points of a file, and what the file says of them."""

    #: (n, dim), in the unit and the order of the file; of a text float64, else in the dtype of the file
    points: Array
    #: (3, 3) float64, the lattice vectors as rows, in the unit of the points; None where the file has none
    cell: Array | None = None
    #: for each lattice vector whether it repeats; without a cell False for each axis
    periodic: tuple[bool, ...] = ()
    #: the unit of the coordinates, as "Å" or "nm", where the format defines one
    unit: str | None = None
    #: (n,) str, what the file says of the chemical element of each atom; None where it says nothing
    species: Array | None = None
    #: (n,) str, the name of each atom, as the sites of a .cif file have and the atoms of a .gro file
    names: Array | None = None
    #: the position of the frame in the file, from 0 on
    frame: int = 0
    #: how many frames the file has
    frames: int = 1
    #: how many rows of the file were left out, as they have no coordinates
    skipped: int = 0
    #: sentences on what was left out of the file or taken for granted, for users
    notes: tuple[str, ...] = ()
