"""Points in a text, one in a row: the same rule for .csv, .tsv, .txt, .dat, .asc and .pts files, and for bare .xyz."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import InvalidInputError
from .cloud import Cloud
from .columns import read_columns
from .contents import inner_ending, label, left_out, quoted, read_lines, shown
from .names import AmbiguousNames, choosing, coordinates, is_number, tells_rows_apart
from .numerals import plain
from .rows import Table, make_table

__all__ = ["find_column", "read_table"]

#: Columns that are coordinates without a word that says so.
_MOST_UNNAMED = 3


def read_table(
    path: Path,
    *,
    columns: Sequence[str] | None,
    skip_nan: bool = False,
    first_three: bool = False,
    lines: list[str] | None = None,
) -> Cloud:
    """Read the coordinates in a text with a point in each row.

    Parameters
    ----------
    path : the file
    columns : the columns to read, by name or counted from one; by the rule of :func:`_choose` when None
    skip_nan : whether numbers that are NaN or missing are read as NaN
    first_three : without names, the first three columns are the coordinates, as the endings .xyz and .pts say
    lines : those of the file, where they were read before
    """
    ending = inner_ending(path)
    table = make_table(path, read_lines(path) if lines is None else lines, tabs=ending == ".tsv")
    notes: list[str] = []
    chosen = (
        _choose(table, notes, first_three=first_three or ending == ".pts")
        if columns is None
        else [find_column(table, column, columns) for column in columns]
    )
    return Cloud(points=read_columns(table, chosen, skip_nan=skip_nan), notes=tuple(notes))


def _choose(table: Table, notes: list[str], *, first_three: bool) -> list[int]:
    """The columns with coordinates: those that names say, else up to three that are all of the columns."""
    names, width = table.names, table.width
    if names is None:
        if width > _MOST_UNNAMED and not first_three:
            table.fail(
                0,
                f"{_MOST_UNNAMED} columns or fewer where no names stand above them",
                f"{width} ({shown(table.rows[0])})",
                _remedy_for_columns(table),
            )
        chosen = list(range(min(width, _MOST_UNNAMED)))
        _note_numbered(table, chosen, notes)
        return chosen
    try:
        found = coordinates(names)
    except AmbiguousNames:
        found = []
    if found:
        _note_named(table, found, notes)
        return found
    if found is not None or width > _MOST_UNNAMED or tells_rows_apart(names[:width]):
        raise InvalidInputError(
            f"{label(table.path)}: expected names of columns that say which are the coordinates, as x, y and z do, got "
            f"{shown(', '.join(names), 80)}; {_remedy_for_columns(table)}"
        )
    notes.append(f"{label(table.path)}: all columns are read as coordinates: {', '.join(map(shown, names[:width]))}")
    return list(range(width))


def _like_numbers(table: Table) -> tuple[list[str], list[int]]:
    """The words of the first row, with points as decimal signs, and which columns are numbers there, from 1 on."""
    words = [plain(word, "," if table.commas else ".") for word in table.words(0)]
    return words, [k + 1 for k, word in enumerate(words) if is_number(word)]


def _remedy_for_columns(table: Table) -> str:
    """How to say which columns are coordinates, with those that are numbers in the first row as the example."""
    words, numbers = _like_numbers(table)
    remedy = f"say which to read, as in {choosing(numbers[:3] or [1, 2, 3])}; columns count from 1"
    if table.between == "," and len(words) > _MOST_UNNAMED and len(words) % 2 == 0 and all(map(str.isdigit, words)):
        return f"where the commas are decimal ones, separate the numbers by semicolons; else {remedy}"
    return remedy


def _note_named(table: Table, chosen: list[int], notes: list[str]) -> None:
    names = table.names or []
    left = [table.column(k) if not names[k] else shown(names[k]) for k in range(table.width) if k not in chosen]
    notes += left_out(table.path, left, ", ".join(names[k] for k in chosen))


def _note_numbered(table: Table, chosen: list[int], notes: list[str]) -> None:
    notes += left_out(table.path, [str(k + 1) for k in range(len(chosen), table.width)], "columns 1, 2, 3")
    if table.words(0) == [str(k) for k in range(table.width)] and table.width > 1:
        notes.append(
            f"{label(table.path)}: line {table.line_numbers[0] + 1} ({table.rows[0]}) is searched as a point; delete "
            "it where it has the numbers of columns, as pandas writes them"
        )


def find_column(table: Table, column: str, columns: Sequence[str]) -> int:
    """The position of a column, given its name, or its number counted from one."""
    names = table.names or table.words(0)
    same = [k for k, name in enumerate(names) if name == column] if table.names else []
    alike = [k for k, name in enumerate(names) if name.lower() == column.lower()] if table.names else []
    for found in (same, alike):
        if len(found) == 1 and column and columns.count(column) == 1:
            return found[0]
    most = max(table.width, len(table.words(0)))
    if re.fullmatch(r"0*[1-9][0-9]{0,5}", column, re.ASCII) and int(column) <= most and columns.count(column) == 1:
        return int(column) - 1
    wrong = ", which is there twice" if columns.count(column) > 1 else ", the name of several" if len(alike) > 1 else ""
    raise InvalidInputError(
        f"expected columns that {label(table.path)} has, each once, got {quoted(column)}{wrong}; it has "
        f"{most}, whose first row is {shown(', '.join(names), 80)}: "
        + ("name them as there, or " if table.names else "")
        + f"count them from 1, as in {choosing(_like_numbers(table)[1][:_MOST_UNNAMED] or [1])}",
        argument="columns",
    )
