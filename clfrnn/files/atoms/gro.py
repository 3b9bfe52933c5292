"""Atoms in .gro files, whose columns are fixed: as GROMACS writes them, of any number of decimals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from ..cloud import Cloud
from ..contents import label, left_out, shown
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number

__all__ = ["GRO"]

#: Columns before the coordinates: numbers and names of residue and atom. Digits before a decimal point, sign included.
_BEFORE, _WHOLE = 20, 4

#: Numbers of a box, which have five decimals and may have no blanks between them.
_JOINED = re.compile(r"-?[0-9]+\.[0-9]{5}", re.ASCII)

#: Columns of the name of an atom, and of what is not read of it.
_NAME = slice(10, 15)
_OTHERS = {"residues": slice(0, 10), "numbers of atoms": slice(15, 20)}


def split_gro(lines: LineReader) -> Iterator[Frame]:
    """Take frames: a title, the number of atoms, a line for each of them, and the box."""
    while True:
        start = lines.number
        title = lines.take()
        count = lines.take_count("atoms")
        rows = lines.take_rows(count + 1, "atoms and the line of the box behind them", f"line {start + 2}")
        frame = Frame(lines.path, [*title, str(count), *rows], range(start, lines.number))
        _read_box(frame)  # where it is none, the number of atoms is wrong, and so are all lines behind it
        yield frame
        if not _another(lines):
            return


def _another(lines: LineReader) -> bool:
    """Whether another frame follows, whose title may be blank; takes the blank lines at the end of a file."""
    ahead = 0
    while (line := lines.peek(ahead)) is not None and not line.strip():
        ahead += 1
    if line is None:
        lines.skip_blanks()
    return line is not None


def parse_gro(frame: Frame) -> Cloud:
    """Read positions in nm, the box, and the names of the atoms.

    The decimals of coordinates follow from the distance of the points of the first two, as in GROMACS; what stands
    behind the coordinates are velocities, which some atoms may lack.
    """
    rows = frame.lines[2:-1]
    cell = _read_box(frame)
    flags = tuple(bool(vector.any()) for vector in cell)
    points, width = _read_points(frame, rows)
    velocities = {"velocities": slice(_BEFORE + 3 * width, None)}
    others = [what for what, where in {**_OTHERS, **velocities}.items() if any(row[where].strip() for row in rows)]
    no_cell = () if any(flags) else (f"{label(frame.path)}: its box has no extent, so that it has no cell",)
    return Cloud(
        points=points,
        cell=cell if any(flags) else None,
        periodic=flags if any(flags) else (),
        unit="nm",
        names=np.array([row[_NAME].strip() for row in rows], dtype=str),
        notes=(*no_cell, *left_out(frame.path, others)),
    )


GRO = FrameFormat(split_gro, parse_gro)


def _read_points(frame: Frame, rows: list[str]) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], int]:
    """The positions in the rows, each of which has the decimals of the first, and the width of a coordinate."""
    if not rows:
        return np.empty((0, 3)), 0
    first = _BEFORE + _WHOLE
    second = rows[0].find(".", first + 1)
    width = second - first
    decimals = width - 1 - _WHOLE
    if rows[0][first : first + 1] != "." or decimals < 1:
        _refuse(frame, 0, "a coordinate of one decimal or more whose point stands in column 25")
    number = re.compile(rf" *-?[0-9]*\.[0-9]{{{decimals}}}| *nan", re.ASCII | re.IGNORECASE)
    fields = [[row[_BEFORE + k * width : _BEFORE + (k + 1) * width] for k in range(3)] for row in rows]
    for row, words in enumerate(fields):
        for word in words:
            if len(word) != width or not number.fullmatch(word) or word.strip(" -.") == "":
                _refuse(frame, row, f"three coordinates of {width} columns and {decimals} decimals")
    return np.array([[float(word) for word in words] for words in fields]), width


def _read_box(frame: Frame) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The lattice vectors of the last line: the diagonal, then xy, xz, yx, yz, zx and zy where they are not zero."""
    last, line = len(frame.lines) - 1, frame.lines[-1].strip()
    words = _JOINED.findall(line) if _JOINED.sub("", line) == "" else line.split()
    if len(words) not in (3, 9) or not all(map(is_number, words)):
        frame.fail(
            last,
            "the three or nine numbers of the box",
            shown(line, 80) or "an empty line",
            f"save it again, or correct the number of atoms in line {frame.numbers[1] + 1}",
        )
    x, y, z, *others = (float(word) for word in words)
    if min(x, y, z) < 0:
        frame.fail(last, "a box whose first three numbers are not negative", shown(line, 80), "save it again")
    xy, xz, yx, yz, zx, zy = others or [0.0] * 6
    return np.array([[x, xy, xz], [yx, y, yz], [zx, zy, z]])


def _refuse(frame: Frame, row: int, expected: str) -> NoReturn:
    frame.fail(
        row + 2,
        expected,
        shown(frame.lines[row + 2], 80) or "an empty line",
        "the columns of .gro files are fixed: save it again, in nm, where coordinates have four places before the "
        "point",
    )
