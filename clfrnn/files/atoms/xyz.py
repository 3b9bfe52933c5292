"""Atoms in .xyz files: a frame of symbols and coordinates, or rows of bare coordinates."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import InvalidInputError
from ..cloud import Cloud
from ..columns import read_columns
from ..contents import label, read_lines, shown
from ..names import is_number
from ..rows import Table
from ..table import find_column, read_table
from .comment import Columns, read_keys, read_lattice, read_properties

__all__ = ["read_xyz"]

#: Digits of the number of atoms that are read as a number; no file has more lines.
_MOST_DIGITS = 18


def read_xyz(path: Path, *, columns: Sequence[str] | None, skip_nan: bool = False) -> Cloud:
    """Read a frame of atoms: their number, a comment, and a symbol and three coordinates in each row.

    Where ``Properties=`` in the comment says another order of columns, it is followed, and ``Lattice=`` and ``pbc=``
    say the cell. Rows without a number above them, or without a comment, are read as a table whose first three columns
    are the coordinates.
    """
    lines = read_lines(path)
    first = lines[0].strip()
    if not re.fullmatch(r"[0-9]+", first, re.ASCII) or _is_table(lines):
        return read_table(path, columns=columns, first_three=True, lines=lines, skip_nan=skip_nan)
    rows = _atoms(path, lines)
    keys = read_keys(lines[1] if len(lines) > 1 else "")
    cell, periodic = read_lattice(path, keys)
    cloud = Cloud(points=np.empty((0, 3)), cell=cell, periodic=periodic, unit="Å")
    if not rows:
        return cloud
    table = Table(
        path=path, rows=rows, line_numbers=range(2, 2 + len(rows)), between=None, names=None, width=len(rows[0].split())
    )
    if columns is not None:
        chosen = [find_column(table, column, columns) for column in columns]
        return dataclasses.replace(cloud, points=read_columns(table, chosen, ragged=True, skip_nan=skip_nan))
    said = read_properties(path, keys)
    if said is None:
        _check_symbols(table)
        said = Columns(start=1, species=0, width=0)
    else:
        _check_columns(table, said.width)
    chosen = [said.start, said.start + 1, said.start + 2]
    points = read_columns(table, chosen, ragged=True, skip_nan=skip_nan)
    # The symbols in the first column are left out of every frame.
    left = [str(k + 1) for k in range(1, table.width) if k not in chosen]
    of = ", ".join(str(k + 1) for k in chosen)
    note = f"{label(path)}: coordinates are columns {of}; left out: {shown(', '.join(left), 120)}"
    return dataclasses.replace(
        cloud,
        points=points,
        species=None if said.species is None else np.array([row.split()[said.species] for row in rows]),
        notes=(note,) if left else (),
    )


def _is_table(lines: list[str]) -> bool:
    """Whether the first line is the number of the rows right below it, which are coordinates without symbols."""
    filled = [line for line in lines[1:] if line.strip()]
    if len(lines) < 2 or not lines[1].strip() or lines[0].strip().lstrip("0") != str(len(filled)):
        return False
    rows = [line.split() for line in filled]
    if len({len(words) for words in rows}) != 1 or len(rows[0]) < 2:
        return False
    with_numbers = len(rows[0]) > 3 and all(words[0].isdigit() for words in rows)  # of elements, as symbols are
    return not with_numbers and all(is_number(word) for words in rows for word in words)


def _atoms(path: Path, lines: list[str]) -> list[str]:
    """The rows of the only frame."""
    digits = lines[0].strip().lstrip("0") or "0"
    while len(lines) > 2 and not lines[-1].strip():
        lines.pop()
    there = len(lines) - 2
    count = int(digits) if len(digits) <= _MOST_DIGITS else None
    if count is None or there < count:
        raise InvalidInputError(
            f"{label(path)}: line 1: expected {shown(digits)} atoms, got {max(0, there)}; the file may be cut off"
        )
    if there > count:
        line = next(k for k, row in enumerate(lines[2 + count :], 3 + count) if row.strip())
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected one frame of {count} atoms, got more lines behind it; save each "
            "frame as a file"
        )
    return [line.strip() for line in lines[2 : 2 + count]]


def _check_symbols(table: Table) -> None:
    """Refuse rows that do not begin with a symbol: their coordinates would be read from the next columns."""
    for row, text in enumerate(table.rows):
        words = text.split(None, 4)
        symbol = words[0] if words else ""
        if len(words) < 4 or (is_number(symbol) and not symbol.isdigit()):
            table.fail(
                row,
                "a symbol and three coordinates",
                shown(text) or "an empty line",
                "complete the line; where rows have no symbols, delete the first two lines of the file",
            )


def _check_columns(table: Table, width: int) -> None:
    """Refuse rows with other columns than the Properties of the comment have."""
    for row, text in enumerate(table.rows):
        if (count := len(text.split())) != width:
            _refuse_width(table, row, width, count)


def _refuse_width(table: Table, row: int, width: int, count: int) -> NoReturn:
    table.fail(
        row,
        f"{width:,} columns, as the Properties in line 2 say",
        f"{count} ({shown(table.rows[row])})",
        "complete the line, or correct the Properties",
    )
