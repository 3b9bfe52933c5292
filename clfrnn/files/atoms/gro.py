"""Atoms in .gro files, whose columns are fixed: as GROMACS writes them, of any number of decimals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import InvalidInputError
from ..cloud import Cloud
from ..contents import label, quoted, read_lines, shown
from ..names import is_number

__all__ = ["read_gro"]

#: Columns before the coordinates: numbers and names of residue and atom. Digits before a decimal point, sign included.
_BEFORE, _WHOLE = 20, 4

#: Columns of the name of an atom.
_NAME = slice(10, 15)


def read_gro(path: Path) -> Cloud:
    """Read the only frame of a file: positions in nm, the box, and the names of the atoms.

    The decimals of coordinates follow from the distance of the points of the first two, as in GROMACS; what stands
    behind the coordinates are velocities, which some atoms may lack.
    """
    lines = read_lines(path, any_signs=True)
    said = lines[1].strip() if len(lines) > 1 else ""
    if not re.fullmatch(r"[0-9]{1,18}", said, re.ASCII):
        raise InvalidInputError(
            f"{label(path)}: line 2: expected the number of atoms, got {quoted(said) if said else 'nothing'}; save it "
            "again as a .gro file"
        )
    while len(lines) > 2 and not lines[-1].strip():
        lines.pop()
    count, there = int(said), len(lines) - 3
    if there < count:
        raise InvalidInputError(
            f"{label(path)}: expected {count:,} atoms and the line of the box behind them, got {len(lines) - 2:,} "
            "lines; the file may be cut off: save it again"
        )
    if there > count:
        raise InvalidInputError(
            f"{label(path)}: line {count + 4}: expected one frame of {count:,} atoms and a box, got more lines behind "
            "it; save each frame as a file, or correct the number of atoms"
        )
    rows = lines[2 : 2 + count]
    cell = _read_box(path, lines[2 + count], count + 3)
    flags = tuple(bool(vector.any()) for vector in cell)
    return Cloud(
        points=_read_points(path, rows),
        cell=cell if any(flags) else None,
        periodic=flags if any(flags) else (),
        unit="nm",
        names=np.array([row[_NAME].strip() for row in rows], dtype=str),
        notes=() if any(flags) else (f"{label(path)}: its box has no extent, so that it has no cell",),
    )


def _read_points(path: Path, rows: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The positions in the rows, each of which has the decimals of the first."""
    if not rows:
        return np.empty((0, 3))
    first = _BEFORE + _WHOLE
    second = rows[0].find(".", first + 1)
    width = second - first
    decimals = width - 1 - _WHOLE
    if rows[0][first : first + 1] != "." or decimals < 1:
        _refuse(path, rows, 0, "a coordinate of one decimal or more whose point stands in column 25")
    number = re.compile(rf" *-?[0-9]*\.[0-9]{{{decimals}}}| *nan", re.ASCII | re.IGNORECASE)
    fields = [[row[_BEFORE + k * width : _BEFORE + (k + 1) * width] for k in range(3)] for row in rows]
    for row, words in enumerate(fields):
        for word in words:
            if len(word) != width or not number.fullmatch(word) or word.strip(" -.") == "":
                _refuse(path, rows, row, f"three coordinates of {width} columns and {decimals} decimals")
    return np.array([[float(word) for word in words] for words in fields])


def _read_box(path: Path, line: str, number: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The lattice vectors of the last line: the diagonal, then xy, xz, yx, yz, zx and zy where they are not zero."""
    words = line.split()
    if len(words) not in (3, 9) or not all(map(is_number, words)):
        raise InvalidInputError(
            f"{label(path)}: line {number}: expected the three or nine numbers of the box, got "
            f"{shown(line.strip(), 80) or 'an empty line'}; save it again, or correct the number of atoms in line 2"
        )
    x, y, z, *others = (float(word) for word in words)
    if min(x, y, z) < 0:
        raise InvalidInputError(
            f"{label(path)}: line {number}: expected a box whose first three numbers are not negative, got "
            f"{shown(line.strip(), 80)}; save it again"
        )
    xy, xz, yx, yz, zx, zy = others or [0.0] * 6
    return np.array([[x, xy, xz], [yx, y, yz], [zx, zy, z]])


def _refuse(path: Path, rows: list[str], row: int, expected: str) -> NoReturn:
    raise InvalidInputError(
        f"{label(path)}: line {row + 3}: expected {expected}, got {shown(rows[row], 80) or 'an empty line'}; the "
        "columns of .gro files are fixed: save it again, in nm, where coordinates have four places before the point"
    )
