"""Atoms in .xyz files: a frame of symbols and coordinates, or rows of bare coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import InvalidInputError
from .contents import Say, inner_ending, label, read_lines, shown
from .names import is_number
from .table import Table, find_column, read_columns, read_table

__all__ = ["read_lattice", "read_xyz"]

#: What the comment of an extended .xyz file says of columns: name:kind:count, one after the other.
_PROPERTIES = re.compile(r"""\bProperties="?(?P<list>\w+:[A-Z]:\d{1,3}(?::\w+:[A-Z]:\d{1,3})*)"?""", re.ASCII)

_LATTICE = re.compile(r"\bLattice\s*=\s*[\"'{\[]([^\"'}\]]*)", re.IGNORECASE)
_FLAGS = re.compile(r"\bpbc\s*=\W*([TF01])\w*\W+([TF01])\w*\W+([TF01])", re.IGNORECASE)

#: Digits of the number of atoms that are read as a number; no file has more lines.
_MOST_DIGITS = 18


def read_xyz(path: Path, *, columns: Sequence[str] | None, say: Say) -> np.ndarray[Any, Any]:
    """Read a frame of atoms: their number, a comment, and a symbol and three coordinates in each row.

    Where ``Properties=`` in the comment says another order of columns, it is followed. Rows without a number above
    them are read as a table whose first three columns are the coordinates.
    """
    lines = read_lines(path)
    first = lines[0].strip()
    if not re.fullmatch(r"[0-9]+", first, re.ASCII):
        return read_table(path, columns=columns, say=say, first_three=True, lines=lines)
    rows = _atoms(path, lines)
    if not rows:
        return np.empty((0, 3))
    table = Table(
        path=path, rows=rows, places=range(2, 2 + len(rows)), between=None, names=None, width=len(rows[0].split())
    )
    if columns is not None:
        return read_columns(table, [find_column(table, column, columns) for column in columns], ragged=True)
    start = _start(path, lines[1])
    if start is None:
        start = 1
        _check_symbols(table)
    chosen = [start, start + 1, start + 2]
    points = read_columns(table, chosen, ragged=True)
    # The symbols in the first column are left out of every frame.
    if left := [str(k + 1) for k in range(1, table.width) if k not in chosen]:
        of = ", ".join(str(k + 1) for k in chosen)
        say(f"{label(path)}: coordinates are columns {of}; left out: {shown(', '.join(left), 120)}")
    return points


def read_lattice(path: Path) -> tuple[list[list[float]], list[bool]] | None:
    """The lattice vectors in the comment of an extended .xyz file, and which repeat; None where there are none."""
    if inner_ending(path) != ".xyz":
        return None
    lines = read_lines(path)
    comment = lines[1] if len(lines) > 1 and re.fullmatch(r"[0-9]+", lines[0].strip(), re.ASCII) else ""
    found = _LATTICE.search(comment)
    if found is None:
        return None
    words = found[1].replace(",", " ").split()
    if len(words) != 9 or not all(is_number(word) for word in words):
        raise InvalidInputError(
            f"{label(path)}: line 2: expected the nine numbers of three lattice vectors, got "
            f"Lattice={shown(found[1], 80)}; correct the comment, or leave the cell out by --cell none"
        )
    numbers = [float(word) for word in words]
    flags = _FLAGS.search(comment)
    periodic = [True] * 3 if flags is None else [flag.upper() in "T1" for flag in flags.groups()]
    return [numbers[k : k + 3] for k in (0, 3, 6)], periodic


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


def _start(path: Path, comment: str) -> int | None:
    """The position of the first coordinate, where the comment says it; None where it has no ``Properties=``."""
    if "Properties=" not in comment:
        return None
    found = _PROPERTIES.search(comment)
    words = found["list"].split(":") if found else []
    at = 0
    for name, kind, count in zip(words[::3], words[1::3], words[2::3], strict=True):
        if (name, kind, count) == ("pos", "R", "3"):
            return at
        at += int(count)
    raise InvalidInputError(
        f"{label(path)}: line 2: expected pos:R:3 among the Properties of the atoms, got "
        f"{shown(comment[comment.index('Properties=') :], 80)}; say which columns are coordinates, as in "
        "--columns 2,3,4 (columns count from 1)"
    )


def _check_symbols(table: Table) -> None:
    """Refuse rows that do not begin with a symbol: their coordinates would be read from the next columns."""
    for row, text in enumerate(table.rows):
        words = text.split(None, 4)
        symbol = words[0] if words else ""
        if len(words) < 4 or (is_number(symbol) and not symbol.isdigit()):
            _refuse_atom(table, row, text)


def _refuse_atom(table: Table, row: int, text: str) -> NoReturn:
    table.fail(
        row,
        "a symbol and three coordinates",
        shown(text) or "an empty line",
        "complete the line; where rows have no symbols, delete the first two lines of the file",
    )
