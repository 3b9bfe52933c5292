"""Rows of numbers in a text: the same rule for .csv, .tsv, .txt and .dat files, for bare .xyz and for standard input.

Lines and columns are counted from one, as editors and spreadsheets count them.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import InvalidInputError
from .contents import Say, in_shell, inner_ending, label, quoted, read_lines, reading, shown
from .names import AmbiguousNames, coordinates, is_number, names_columns, tells_rows_apart

__all__ = ["Table", "find_column", "make_table", "read_columns", "read_table"]

#: How lines begin that have no point; the last is Excel's, which says what separates words.
_COMMENTS = ("#", "//", "sep=")
_DECIMAL_COMMA = re.compile(r"\d,\d")

#: Columns that are coordinates without a word that says so.
_MOST_UNNAMED = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a text with their places in it.

    ``rows`` are texts, ``places`` the lines they stand in, counted from zero; ``between`` is what separates the words
    of a row, None for blanks; ``names`` are those of the columns, or None; ``width`` is the number of columns.
    """

    path: Path
    rows: list[str]
    places: Sequence[int]
    between: str | None
    names: list[str] | None
    width: int

    def fail(self, row: int, expected: str, got: str, remedy: str) -> NoReturn:
        """Raise the error of a row."""
        raise InvalidInputError(
            f"{label(self.path)}: line {self.places[row] + 1}: expected {expected}, got {got}; {remedy}"
        )

    def column(self, k: int) -> str:
        """How messages name a column."""
        named = self.names is not None and k < len(self.names) and self.names[k]
        return f"column {k + 1} ({shown(self.names[k])})" if named and self.names else f"column {k + 1}"

    def words(self, row: int) -> list[str]:
        """The words of a row."""
        return _words(self.rows[row], self.between)


def read_table(
    path: Path,
    *,
    columns: Sequence[str] | None,
    say: Say,
    first_three: bool = False,
    lines: list[str] | None = None,
) -> np.ndarray[Any, Any]:
    """Read the coordinates in a text with a point in each row.

    Parameters
    ----------
    path : the file
    columns : the columns to read, by name or counted from one; by the rule of :func:`_choose` when None
    say : takes what users should know of the columns that were chosen
    first_three : without names, the first three columns are the coordinates, as the ending .xyz says
    lines : those of the file, where they were read before
    """
    table = make_table(path, read_lines(path) if lines is None else lines, tabs=inner_ending(path) == ".tsv")
    said: list[str] = []
    chosen = (
        _choose(table, said.append, first_three=first_three)
        if columns is None
        else [find_column(table, column, columns) for column in columns]
    )
    points = read_columns(table, chosen)
    for sentence in said:  # where the rows cannot be read, the error alone is
        say(sentence)
    return points


def make_table(path: Path, lines: list[str], *, tabs: bool = False) -> Table:
    """Find the rows among the lines of a text, and the names of their columns."""
    blanks = " " if tabs else None  # a tab at the end of a row has an empty word behind it
    stripped = [line.strip(blanks) for line in lines]
    places = [k for k, line in enumerate(stripped) if line.strip() and not line.startswith(_COMMENTS)]
    rows = [stripped[k].partition("#")[0].rstrip(blanks) for k in places]
    if not rows:
        raise InvalidInputError(f"{label(path)}: expected rows of numbers, got none; write one point a line")
    if ";" in rows[0]:
        _refuse_semicolons(path, places[0], rows[0])
    first = _words(rows[0], _separator(rows[:1], tabs=tabs))
    names = first if names_columns(first) else None
    if names is not None:
        place, places, rows = places[0], places[1:], rows[1:]
        if not rows:
            raise InvalidInputError(
                f"{label(path)}: expected rows of numbers, got none below the names in line {place + 1}; "
                "write one point a line"
            )
    between = _separator(rows[:2], tabs=tabs)
    if names is None and places[0] > 0:
        names = _names_in_comment(lines[places[0] - 1], len(_words(rows[0], between)))
    width = len(_without_empty_ends(names if names is not None else _words(rows[0], between)))
    return Table(path=path, rows=rows, places=places, between=between, names=names, width=width)


def _refuse_semicolons(path: Path, place: int, row: str) -> NoReturn:
    """A text that a spreadsheet wrote where decimals have commas, or at least lists have semicolons."""
    commas = _DECIMAL_COMMA.search(row) is not None
    what, old, new = ("semicolons and decimal commas", ",;", ".,") if commas else ("semicolons", ";", ",")
    raise InvalidInputError(
        f"{label(path)}: line {place + 1}: expected rows of numbers with commas or blanks between them, got {what} "
        f"({shown(row)}); separate numbers by commas or spaces, as in: tr '{old}' '{new}' < {in_shell(path)} > new.csv"
    )


def _separator(rows: Sequence[str], *, tabs: bool) -> str | None:
    if tabs:
        return "\t"
    return "," if any("," in row for row in rows) else None


def _words(row: str, between: str | None) -> list[str]:
    """The words of a row, without blanks and quotes around them."""
    if '"' not in row:
        return [word.strip() for word in row.split(between)]
    try:
        quoted = next(csv.reader([row], delimiter=between or " ", skipinitialspace=True))
    except (csv.Error, StopIteration):
        quoted = row.split(between)
    return [word.strip(' "') for word in quoted]


def _without_empty_ends(words: list[str]) -> list[str]:
    count = len(words)
    while count and not words[count - 1]:
        count -= 1
    return words[: max(1, count)]


def _names_in_comment(line: str, width: int) -> list[str] | None:
    """The names in a comment above the first row, as CloudCompare and numpy.savetxt write them, if it has such."""
    if not line.strip().startswith(_COMMENTS):
        return None
    line = line.strip().lstrip("#/ ")
    names = _words(line, "," if "," in line else None)
    try:
        return names if len(names) == width and coordinates(names) else None
    except AmbiguousNames:
        return names


def _choose(table: Table, say: Say, *, first_three: bool) -> list[int]:
    """The columns with coordinates: those that names say, else up to three that are all of the columns."""
    names, width = table.names, table.width
    if names is None:
        if width > _MOST_UNNAMED and not first_three:
            table.fail(
                0,
                f"{_MOST_UNNAMED} columns or fewer where no names stand above them",
                f"{width} ({shown(table.rows[0])})",
                "say which are coordinates, as in --columns 1,2,3; columns count from 1",
            )
        chosen = list(range(min(width, _MOST_UNNAMED)))
        _say_numbered(table, chosen, say)
        return chosen
    try:
        found = coordinates(names)
    except AmbiguousNames:
        found = []
    if found:
        _say_named(table, found, say)
        return found
    if found is not None or width > _MOST_UNNAMED or tells_rows_apart(names[:width]):
        raise InvalidInputError(
            f"{label(table.path)}: expected names of columns that say which are the coordinates, as x, y and z do, got "
            f"{shown(', '.join(names), 80)}; say which to read, as in --columns 1,2,3; columns count from 1"
        )
    say(f"{label(table.path)}: all columns are read as coordinates: {', '.join(map(shown, names[:width]))}")
    return list(range(width))


def _say_named(table: Table, chosen: list[int], say: Say) -> None:
    names = table.names or []
    left = [table.column(k) if not names[k] else shown(names[k]) for k in range(table.width) if k not in chosen]
    if left:
        read = ", ".join(names[k] for k in chosen)
        say(f"{label(table.path)}: coordinates are {read}; left out: {shown(', '.join(left), 120)}")


def _say_numbered(table: Table, chosen: list[int], say: Say) -> None:
    if table.width > len(chosen):
        left = ", ".join(str(k + 1) for k in range(len(chosen), table.width))
        say(f"{label(table.path)}: coordinates are columns 1, 2, 3; left out: {shown(left, 120)}")
    if table.words(0) == [str(k) for k in range(table.width)] and table.width > 1:
        say(
            f"{label(table.path)}: line {table.places[0] + 1} ({table.rows[0]}) is searched as a point; delete it "
            "where it has the numbers of columns, as pandas writes them"
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
        f"--columns: expected columns that {label(table.path)} has, each once, got {quoted(column)}{wrong}; it has "
        f"{most}, whose first row is {shown(', '.join(names), 80)}: "
        + ("name them as there, or count them from 1" if table.names else "count them from 1, as in --columns 1,2,3")
    )


def read_columns(table: Table, chosen: list[int], *, ragged: bool = False) -> np.ndarray[Any, Any]:
    """Read some columns of the rows as float64.

    Parameters
    ----------
    table : the rows
    chosen : positions of the columns, counted from zero
    ragged : whether rows may be longer or shorter than the first one
    """
    if not ragged and not _is_regular(table):
        _check_widths(table)
    try:
        points = np.loadtxt(table.rows, ndmin=2, delimiter=table.between, usecols=chosen, quotechar='"', comments=None)
    except ValueError as error:
        _check_words(table, chosen)
        with reading(table.path, "rows of numbers", "separate numbers by commas or spaces, and write one point a line"):
            raise ValueError(str(error).split(";")[0]) from error  # what numpy advises further is for programs
    if not np.isfinite(points).all():
        _refuse_infinite(table, chosen, points)
    return points


def _is_regular(table: Table) -> bool:
    """Whether all rows have the same number of words, which is said faster than where they differ."""
    if any('"' in row for row in table.rows):
        return False
    between, width = table.between, table.width
    if between is None:
        return all(len(row.split()) == width for row in table.rows)
    return all(row.count(between) == width - 1 for row in table.rows)


def _check_widths(table: Table) -> None:
    """Refuse the first row that has another number of words than the first, empty ones at its end left aside."""
    for row in range(len(table.rows)):
        words = table.words(row)
        count = max(table.width, len(_without_empty_ends(words))) if len(words) >= table.width else len(words)
        if count != table.width:
            as_what = "as the names above say" if table.names else f"as line {table.places[0] + 1} has"
            table.fail(
                row,
                f"{table.width} column{'s' * (table.width != 1)}, {as_what}",
                f"{count} ({shown(table.rows[row])})",
                f"complete the line{' or the names' if table.names else ''}, delete it, or separate all words in the "
                "same way",
            )


def _check_words(table: Table, chosen: list[int]) -> None:
    """Refuse the first word that is no number."""
    for row in range(len(table.rows)):
        words = table.words(row)
        for k in chosen:
            if k >= len(words):
                table.fail(row, f"{k + 1} columns or more", f"{len(words)} ({shown(table.rows[row])})", "complete it")
            if is_number(words[k]):
                continue
            commas = table.between == "," and re.search(r"\d\s+\d", words[k]) is not None
            table.fail(
                row,
                "rows of numbers",
                f"{quoted(words[k])} in {table.column(k)}" if words[k] else f"nothing in {table.column(k)}",
                "separate numbers by commas or spaces, not by both, and write decimals with a point"
                if commas
                else "correct or delete the line, or choose other columns, by their names or numbers, as in "
                "--columns 1,2,3 (columns count from 1)",
            )


def _refuse_infinite(table: Table, chosen: list[int], points: np.ndarray[Any, Any]) -> NoReturn:
    row, place = (int(k) for k in np.argwhere(~np.isfinite(points))[0])
    word = table.words(row)[chosen[place]]
    table.fail(row, "finite numbers", f"{shown(word)} in {table.column(chosen[place])}", "correct or delete the line")
