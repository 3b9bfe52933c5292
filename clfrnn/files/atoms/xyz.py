"""Atoms in .xyz files: a frame of symbols and coordinates, or rows of bare coordinates."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import InvalidInputError
from ..cloud import Cloud
from ..columns import read_columns
from ..contents import label, left_out, quoted, read_lines, shown, stream_lines
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number
from ..rows import Table
from ..table import find_column
from .comment import Columns, other_keys, read_keys, read_lattice, read_properties

__all__ = ["XYZ", "lines_of_table"]

#: The columns of a row of which the comment says nothing: a symbol, coordinates, and others.
_UNSAID = Columns(start=1, species=0, width=0)

#: Digits of the number of atoms that are read as a number; no file has more lines.
_MOST_DIGITS = 18


def split_xyz(lines: LineReader) -> Iterator[Frame]:
    """Take frames: the number of atoms, a comment, and a line for each atom; blank lines may stand between frames."""
    count, at = "", 0
    while True:
        start = lines.number
        digits = (lines.take() or [""])[0].strip()
        if not re.fullmatch(r"[0-9]+", digits, re.ASCII):
            lines.fail(
                "the number of atoms of the next frame" if at else "the number of atoms",
                quoted(digits),
                f"correct line {at}, which says that its frame has {count}" if at else "write it into the first line",
            )
        count, at = digits.lstrip("0") or "0", start + 1
        comment = lines.take()
        rows = lines.take_written(int(count)) if len(count) <= _MOST_DIGITS else []
        there = next((k for k, row in enumerate(rows) if not row.strip()), len(rows))
        if len(count) > _MOST_DIGITS or there < int(count):
            raise InvalidInputError(
                f"{label(lines.path)}: line {at}: expected {shown(count)} atoms, got {there:,}; the file may be cut off"
            )
        yield Frame(lines.path, [digits, *comment, *rows], range(start, max(lines.number, start + 1)))
        if not lines.skip_blanks():
            return


def parse_xyz(frame: Frame, *, columns: Sequence[str] | None, skip_nan: bool = False) -> Cloud:
    """Read a frame of atoms: a symbol and three coordinates in each row, and the cell of the comment.

    Where ``Properties=`` in the comment says another order of columns, it is followed, and ``Lattice=`` and ``pbc=``
    say the cell.
    """
    path, rows = frame.path, [line.strip() for line in frame.lines[2:]]
    number = frame.numbers[0] + 2
    keys = read_keys(frame.lines[1] if len(frame.lines) > 1 else "")
    cell, periodic = read_lattice(path, keys, line=number)
    cloud = Cloud(
        points=np.empty((0, 3)), cell=cell, periodic=periodic, unit="Å", notes=left_out(path, other_keys(keys))
    )
    if not rows:
        return cloud
    table = Table(
        path=path,
        rows=rows,
        line_numbers=frame.numbers[2:],
        between=None,
        names=None,
        width=max(len(row.split()) for row in rows),  # what stands in further columns of any row is said
    )
    said = read_properties(path, keys, line=number, needed=columns is None)
    if columns is not None:
        return _chosen(cloud, table, [find_column(table, column, columns) for column in columns], said, skip_nan)
    if said is None:
        _check_symbols(table)
        said = _UNSAID
    else:
        _check_columns(table, said.width, number)
    chosen = list(said.coordinates)
    points = read_columns(table, chosen, ragged=True, skip_nan=skip_nan)
    left = [str(k + 1) for k in range(table.width) if k not in (*chosen, said.species)]
    of = ", ".join(str(k + 1) for k in chosen)
    return dataclasses.replace(
        cloud,
        points=points,
        species=_species(rows, said),
        notes=left_out(path, [*left, *other_keys(keys)], f"columns {of}"),
    )


def _chosen(cloud: Cloud, table: Table, chosen: list[int], said: Columns | None, skip_nan: bool) -> Cloud:
    """The frame with the columns that the caller chose as coordinates, and the cell in their order."""
    cloud = dataclasses.replace(cloud, points=read_columns(table, chosen, ragged=True, skip_nan=skip_nan))
    layout = said or _UNSAID
    moved = sorted(chosen) == list(layout.coordinates)
    if said is not None or moved:
        cloud = dataclasses.replace(cloud, species=_species(table.rows, layout))
    if cloud.cell is None or not moved:
        return cloud
    return dataclasses.replace(cloud, cell=cloud.cell[:, [k - layout.start for k in chosen]])


def _species(rows: list[str], said: Columns) -> np.ndarray[tuple[int], np.dtype[np.str_]] | None:
    """The symbols of the atoms; None where the columns have none, or a row is too short."""
    if said.species is None:
        return None
    words = [row.split()[said.species : said.species + 1] for row in rows]
    return np.array([word[0] for word in words]) if all(words) else None


XYZ = FrameFormat(split_xyz, parse_xyz)


def lines_of_table(path: Path) -> list[str] | None:
    """The lines of a text that has rows of bare coordinates in place of frames; None where it has frames.

    The first line of a table is no number; or it is the number of the rows right below it, which are coordinates
    without symbols.
    """
    lines = LineReader(path, stream_lines(path, any_signs=True))
    is_number_of_rows = re.fullmatch(r"[0-9]+", (lines.peek() or "").strip(), re.ASCII)
    second = (lines.peek(1) or "").split()
    if is_number_of_rows and (len(second) < 2 or not all(map(is_number, second))):
        return None
    whole = read_lines(path)
    return None if is_number_of_rows and not _is_table(whole) else whole


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


def _check_columns(table: Table, width: int, line: int) -> None:
    """Refuse rows with other columns than the Properties of the comment have."""
    for row, text in enumerate(table.rows):
        if (count := len(text.split())) != width:
            _refuse_width(table, row, (width, line), count)


def _refuse_width(table: Table, row: int, said: tuple[int, int], count: int) -> NoReturn:
    width, line = said
    table.fail(
        row,
        f"{width:,} columns, as the Properties in line {line} say",
        f"{count} ({shown(table.rows[row])})",
        "complete the line, or correct the Properties",
    )
