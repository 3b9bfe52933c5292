"""Frames of dump files of LAMMPS, as text: any columns, scaled and unwrapped coordinates, boxes of any shape.

ASE and MDAnalysis sort atoms by their numbers and shift the corner of the box to the origin, and chemfiles does not
know boxes of three vectors; here atoms stay in the order and at the positions of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..cloud import Cloud
from ..columns import read_columns
from ..contents import left_out, shown
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number
from ..rows import Table

__all__ = ["LAMMPS"]

Array = np.ndarray[Any, Any]

#: Columns of coordinates, and whether they are shares of the vectors of the box; unwrapped ones have a u.
_COORDINATES = (
    ("x", "y", "z", False),
    ("xu", "yu", "zu", False),
    ("xs", "ys", "zs", True),
    ("xsu", "ysu", "zsu", True),
)

#: The unit of lengths for each style of units; that of "lj" has none.
_UNITS = {
    "real": "Å",
    "metal": "Å",
    "si": "m",
    "cgs": "cm",
    "electron": "Bohr",
    "micro": "µm",
    "nano": "nm",
    "lj": None,
}

#: How many lines stand below each item; below ATOMS as many as NUMBER OF ATOMS says.
_LINES_BELOW = {"TIMESTEP": 1, "TIME": 1, "UNITS": 1, "NUMBER OF ATOMS": 1, "BOX BOUNDS": 3}
_ITEM = re.compile(rf"ITEM: (?P<name>{'|'.join(_LINES_BELOW)}|ATOMS)\b(?P<rest>.*)")

#: A boundary of both sides of an axis: p repeats, f, s and m do not.
_BOUNDARY = re.compile(r"pp|[fsm]{2}")


def split_lammps(lines: LineReader) -> Iterator[Frame]:
    """Take frames: items with a name each, of which the atoms are the last.

    LAMMPS writes the units above the first frame alone; they head each later frame that has none of its own.
    """
    units, places = list[str](), list[int]()
    while True:
        start, taken, count, own = lines.number, [], None, False
        while True:
            line = (lines.take() or [""])[0].strip()
            found = _ITEM.fullmatch(line)
            if found is None:
                lines.fail("an item of a dump file, as ITEM: TIMESTEP", line or "nothing", "save it again as text")
            taken.append(line)
            if found["name"] == "NUMBER OF ATOMS":
                count = lines.take_count("atoms")
                taken.append(str(count))
            elif found["name"] == "ATOMS":
                break
            else:
                below = _LINES_BELOW[found["name"]]
                taken += lines.take_rows(below, "lines", f"line {lines.number}")
            if found["name"] == "UNITS":
                units, places, own = taken[-2:], [lines.number - 2, lines.number - 1], True
        if count is None:
            lines.fail("ITEM: NUMBER OF ATOMS above the atoms", shown(taken[-1], 80), "save it again")
        taken += lines.take_rows(count, "atoms", "ITEM: NUMBER OF ATOMS")
        numbers = range(start, lines.number)
        yield Frame(lines.path, taken, numbers) if own else Frame(lines.path, units + taken, [*places, *numbers])
        if not lines.skip_blanks():
            return


def parse_lammps(frame: Frame, *, skip_nan: bool = False) -> Cloud:
    """Read the positions, the box with the axes that repeat, elements, and the numbers of atoms as their names."""
    items = _items(frame)
    at = items["ATOMS"]
    columns, rows = _rest(frame, at).split(), frame.lines[at + 1 :]
    found = next((each for each in _COORDINATES if set(each[:3]) <= set(columns)), None)
    if found is None:
        frame.fail(
            at,
            "columns with the coordinates, as x y z, xs ys zs or xu yu zu",
            shown(" ".join(columns), 80) or "none",
            "dump these too",
        )
    origin, cell, periodic = _box(frame, items.get("BOX BOUNDS"))
    points = np.empty((0, 3))
    if rows:
        table = Table(
            path=frame.path,
            rows=rows,
            line_numbers=frame.numbers[at + 1 :],
            between=None,
            names=columns,
            width=len(columns),
        )
        points = read_columns(table, [columns.index(name) for name in found[:3]], skip_nan=skip_nan)
    if found[3]:
        if cell is None:
            frame.fail(at, "a box for scaled coordinates, as ITEM: BOX BOUNDS", "none", "dump it too")
        points = origin + points @ cell
    return Cloud(
        points=points,
        cell=cell,
        periodic=periodic,
        unit=_unit(frame, items.get("UNITS")),
        species=_column(columns, rows, "element"),
        names=_column(columns, rows, "id"),
        notes=left_out(
            frame.path, [name for name in columns if name not in (*found[:3], "element", "id")], ", ".join(found[:3])
        ),
    )


LAMMPS = FrameFormat(split_lammps, parse_lammps)


def _items(frame: Frame) -> dict[str, int]:
    """The position of the line of each item; refuses one that is there twice."""
    found: dict[str, int] = {}
    at = 0
    while True:
        match = _ITEM.fullmatch(frame.lines[at].strip())
        assert match is not None
        if match["name"] in found:
            frame.fail(at, f"one ITEM: {match['name']} in a frame", "a second one", "save it again")
        found[match["name"]] = at
        if match["name"] == "ATOMS":
            return found
        at += 1 + _LINES_BELOW[match["name"]]


def _rest(frame: Frame, at: int) -> str:
    """What stands behind the name of an item."""
    match = _ITEM.fullmatch(frame.lines[at].strip())
    return match["rest"] if match else ""


def _box(frame: Frame, at: int | None) -> tuple[Array, Array | None, tuple[bool, ...]]:
    """The corner of the box, its vectors as rows, and which of them repeat; no vectors where it has none."""
    if at is None:
        return np.zeros(3), None, ()
    words = _rest(frame, at).split()
    tilted, general = words[:3] == ["xy", "xz", "yz"], words[:2] == ["abc", "origin"]
    flags = words[3:] if tilted else words[2:] if general else words
    if len(flags) not in (0, 3) or not all(map(_BOUNDARY.fullmatch, flags)):
        frame.fail(at, "three boundaries, as pp pp ff", shown(" ".join(words), 80), "save it again")
    width = 4 if general else 3 if tilted else 2
    numbers = np.empty((3, width))
    for k in range(3):
        line = frame.lines[at + 1 + k]
        if len(line.split()) != width or not all(map(is_number, line.split())):
            frame.fail(at + 1 + k, f"{width} numbers of the box", shown(line.strip(), 80) or "nothing", "save it again")
        numbers[k] = [float(word) for word in line.split()]
    periodic = tuple(flag == "pp" for flag in flags) or (True, True, True)
    if general:
        return numbers[:, 3], numbers[:, :3], periodic
    (low_x, low_y, low_z), (high_x, high_y, high_z) = numbers[:, 0], numbers[:, 1]
    xy, xz, yz = numbers[:, 2] if tilted else (0.0, 0.0, 0.0)
    # Bounds are those of the box around a tilted one.
    low_x, high_x = low_x - min(0, xy, xz, xy + xz), high_x - max(0, xy, xz, xy + xz)
    low_y, high_y = low_y - min(0, yz), high_y - max(0, yz)
    cell = np.array([[high_x - low_x, 0, 0], [xy, high_y - low_y, 0], [xz, yz, high_z - low_z]])
    if not (np.diag(cell) > 0).all():
        frame.fail(at, "bounds of which the second is the higher", shown(str(numbers.tolist()), 80), "save it again")
    return np.array([low_x, low_y, low_z]), cell, periodic


def _unit(frame: Frame, at: int | None) -> str | None:
    """The unit of lengths, where the frame names its units."""
    if at is None:
        return None
    style = frame.lines[at + 1].strip()
    if style not in _UNITS:
        frame.fail(at + 1, f"units, one of {', '.join(_UNITS)}", shown(style) or "nothing", "correct them")
    return _UNITS[style]


def _column(columns: list[str], rows: list[str], name: str) -> Array | None:
    """The words of a column, where it is there."""
    if name not in columns:
        return None
    at = columns.index(name)
    return np.array([row.split()[at] for row in rows], dtype=str)
