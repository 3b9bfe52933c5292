"""Rows of numbers in a text: the same rule for .csv, .tsv, .txt, .dat, .asc and .pts files, bare .xyz, standard input.

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

from ..errors import InvalidInputError
from .cloud import Cloud
from .contents import by_command, inner_ending, label, quoted, read_lines, shown
from .names import AmbiguousNames, coordinates, is_missing, is_number, names_columns, tells_rows_apart
from .numerals import decimal_sign, has_comma_inside, plain, remedy_for_commas

__all__ = ["Table", "find_column", "make_table", "read_columns", "read_table"]

#: How lines begin that have no point; the last is Excel's, which says what separates words.
_COMMENTS = ("#", "//", "sep=")
#: The digits of a line that says how many rows follow; no file has more.
_COUNT = re.compile(r"[0-9]{1,18}", re.ASCII)

#: Two numbers with blanks between them.
_TWO_NUMBERS = re.compile(r"\d\s+[+\-\u2212.,]?\d")

#: Numbers with other signs between thousands than commas, and with the letter of Fortran before the exponent.
_GROUPED = re.compile(r"[+\-\u2212]?\d{1,3}(?:['\u2019\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?")
_FORTRAN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[dD][+-]?\d+", re.ASCII)

#: Blanks that other languages write inside of a number, as between thousands.
_BLANK_INSIDE = re.compile(r"[^\S\x00-\x7f]")

#: Columns that are coordinates without a word that says so.
_MOST_UNNAMED = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a text with their places in it.

    ``rows`` are texts, ``places`` the lines they stand in, counted from zero; ``between`` is what separates the words
    of a row, None for blanks; ``names`` are those of the columns, or None; ``width`` is the number of columns;
    ``commas`` is whether words may have commas inside.
    """

    path: Path
    rows: list[str]
    places: Sequence[int]
    between: str | None
    names: list[str] | None
    width: int
    commas: bool = False

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


def make_table(path: Path, lines: list[str], *, tabs: bool = False) -> Table:
    """Find the rows among the lines of a text, and the names of their columns."""
    blanks = " " if tabs else None  # a tab at the end of a row has an empty word behind it
    stripped = [line.strip(blanks) for line in lines]
    places = [k for k, line in enumerate(stripped) if line.strip() and not line.startswith(_COMMENTS)]
    rows = [stripped[k].partition("#")[0].rstrip(blanks) for k in places]
    if not rows:
        raise InvalidInputError(f"{label(path)}: expected rows of numbers, got none; write one point a line")
    first = _words(rows[0], _separator(rows[:1], tabs=tabs))
    names = first if names_columns(first) else None
    above = places[0]
    if names is not None:
        places, rows = places[1:], rows[1:]
        if not rows:
            raise InvalidInputError(
                f"{label(path)}: expected rows of numbers, got none below the names in line {above + 1}; "
                "write one point a line"
            )
    if _count_rows(path, rows, places):
        places, rows = places[1:], rows[1:]
    between = _separator(rows[:2], tabs=tabs)
    if names is None and above > 0:
        names = _names_in_comment(lines[above - 1], len(_words(rows[0], between)))
    if between is None:
        _refuse_blanks_inside(path, rows, places)
    # Between commas a word has one inside where it stands in quotes.
    commas = any(('"' if between == "," else ",") in row for row in rows)
    width = len(_without_empty_ends(names if names is not None else _words(rows[0], between)))
    return Table(path=path, rows=rows, places=places, between=between, names=names, width=width, commas=commas)


def _count_rows(path: Path, rows: Sequence[str], places: Sequence[int]) -> bool:
    """Whether the first row is the number of the others, which must then be there."""
    if not _COUNT.fullmatch(rows[0]) or len(rows) == 1 or not re.search(r"\S[\s,;]+\S", rows[1]):
        return False
    if int(rows[0]) != len(rows) - 1:
        raise InvalidInputError(
            f"{label(path)}: line {places[0] + 1}: expected {int(rows[0]):,} rows, as this line says, got "
            f"{len(rows) - 1:,}; the file may be cut off, or it may have several parts: save it again, each part as a "
            "file, or delete the line where it is no number of rows"
        )
    return True


def _separator(rows: Sequence[str], *, tabs: bool) -> str | None:
    """What stands between the words of rows: a tab, a semicolon, a comma, or None for blanks."""
    if tabs:
        return "\t"
    if any(";" in row for row in rows):
        return ";"
    tabbed = {row.count("\t") for row in rows}
    if 0 not in tabbed and len(tabbed) == 1 and all(_is_whole(word) for row in rows for word in row.split("\t")):
        return "\t"
    return None if all(map(_has_commas_inside_alone, rows)) else ","


def _is_whole(word: str) -> bool:
    """Whether what stands between two tabs is one word: a text, or a number with or without a comma inside."""
    word = word.strip(' "')
    commas = "," not in word or has_comma_inside(word) or (word[0] != "," != word[-1] and word[0].isalpha())
    return commas and not _TWO_NUMBERS.search(word)


def _has_commas_inside_alone(row: str) -> bool:
    """Whether blanks separate the words of a row, and its commas are inside of numbers."""
    words = row.split()
    with_commas = [word for word in words if "," in word]
    if not with_commas:
        return True
    if not all(map(has_comma_inside, with_commas)) or len(words) < 2:
        return False
    return len(with_commas) > 1 or all(has_comma_inside(word) or is_number(plain(word)) for word in words)


def _refuse_blanks_inside(path: Path, rows: Sequence[str], places: Sequence[int]) -> None:
    """Refuse rows whose words would be torn apart where thousands are separated by a blank."""
    for row, place in zip(rows, places, strict=True):
        if not row.isascii() and (found := _BLANK_INSIDE.search(row)):
            raise InvalidInputError(
                f"{label(path)}: line {place + 1}: expected numbers with blanks, tabs, commas or semicolons between "
                f"them, got the blank U+{ord(found[0]):04X} ({shown(row)}), which some write between thousands; leave "
                "it out, or put a plain blank in its place where it separates numbers"
            )


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


def _remedy_for_columns(table: Table) -> str:
    """How to say which columns are coordinates, with those that are numbers in the first row as the example."""
    words = [plain(word, "," if table.commas else ".") for word in table.words(0)]
    numbers = [k + 1 for k, word in enumerate(words) if is_number(word)] or [1, 2, 3]
    remedy = f"say which to read, as in --columns {','.join(map(str, numbers[:3]))}; columns count from 1"
    if table.between == "," and len(words) > _MOST_UNNAMED and len(words) % 2 == 0 and all(map(str.isdigit, words)):
        return f"where the commas are decimal ones, separate the numbers by semicolons; else {remedy}"
    return remedy


def _note_named(table: Table, chosen: list[int], notes: list[str]) -> None:
    names = table.names or []
    left = [table.column(k) if not names[k] else shown(names[k]) for k in range(table.width) if k not in chosen]
    if left:
        read = ", ".join(names[k] for k in chosen)
        notes.append(f"{label(table.path)}: coordinates are {read}; left out: {shown(', '.join(left), 120)}")


def _note_numbered(table: Table, chosen: list[int], notes: list[str]) -> None:
    if table.width > len(chosen):
        left = ", ".join(str(k + 1) for k in range(len(chosen), table.width))
        notes.append(f"{label(table.path)}: coordinates are columns 1, 2, 3; left out: {shown(left, 120)}")
    if table.words(0) == [str(k) for k in range(table.width)] and table.width > 1:
        notes.append(
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


def read_columns(
    table: Table, chosen: list[int], *, ragged: bool = False, skip_nan: bool = False
) -> np.ndarray[Any, Any]:
    """Read some columns of the rows as float64.

    Parameters
    ----------
    table : the rows
    chosen : positions of the columns, counted from zero
    ragged : whether rows may be longer or shorter than the first one
    skip_nan : whether numbers that are NaN or missing are read as NaN
    """
    if not ragged and not _is_regular(table):
        _check_widths(table)
    points = None if table.commas else _read_numbers(table, chosen)
    if points is None:
        points = _read_words(table, chosen, skip_nan=skip_nan)
    if not np.isfinite(points).all():
        _refuse_infinite(table, chosen, points, skip_nan=skip_nan)
    return points


def _read_numbers(table: Table, chosen: list[int]) -> np.ndarray[Any, Any] | None:
    """Read numbers as numpy does, or None where there is a word that it does not read."""
    try:
        return np.loadtxt(table.rows, ndmin=2, delimiter=table.between, usecols=chosen, quotechar='"', comments=None)
    except ValueError:
        return None


def _read_words(table: Table, chosen: list[int], *, skip_nan: bool) -> np.ndarray[Any, Any]:
    """Read numbers that numpy does not read by itself, a word at a time, or refuse the first word that is none."""
    rows = [table.words(row) for row in range(len(table.rows))]
    for row, words in enumerate(rows):
        if len(words) <= max(chosen):
            table.fail(
                row, f"{max(chosen) + 1} columns or more", f"{len(words)} ({shown(table.rows[row])})", "complete it"
            )
    numbers = [[words[k] for k in chosen] for words in rows]
    for row, words in enumerate(numbers):
        for k, word in zip(chosen, words, strict=True):
            if not (is_number(plain(word)) or has_comma_inside(word) or (skip_nan and is_missing(word))):
                _refuse_word(table, row, k)
    decimal = decimal_sign(word for words in numbers for word in words if has_comma_inside(word) or is_number(word))
    if decimal is None:
        inside = [(row, word) for row, words in enumerate(numbers) for word in words if has_comma_inside(word)]
        table.fail(
            inside[0][0],
            "numbers that can be read in one way",
            f"{quoted(inside[0][1])}, whose comma may be a decimal one or one between thousands",
            remedy_for_commas(table.path, [word for _, word in inside]),
        )
    numbers = [[plain(word, decimal) for word in words] for words in numbers]
    if skip_nan:
        numbers = [["nan" if is_missing(word) else word for word in words] for words in numbers]
    return np.array([[float(word) for word in words] for words in numbers]).reshape(len(rows), len(chosen))


def _is_regular(table: Table) -> bool:
    """Whether all rows have the same number of words, which is said faster than where they differ."""
    if table.commas if table.between == "," else any('"' in row for row in table.rows):
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


def _refuse_word(table: Table, row: int, k: int) -> NoReturn:
    """Refuse a word that is no number."""
    word = table.words(row)[k]
    if table.between == "," and re.search(r"\d[ \t]+\d", word):
        remedy = "separate numbers by commas or spaces, not by both, and write decimals with a point"
    elif _GROUPED.fullmatch(word):
        remedy = "leave out what stands between thousands, and write decimals with a point"
    elif _FORTRAN.fullmatch(word):
        remedy = f"write exponents with e, as in: {by_command(table.path, 'tr dD ee')}"
    else:
        remedy = (
            "correct or delete the line, or choose other columns, by their names or numbers, as in --columns 1,2,3 "
            "(columns count from 1)"
        )
    got = f"{quoted(word)} in {table.column(k)}" if word else f"nothing in {table.column(k)}"
    table.fail(row, "rows of numbers", got, remedy)


def _refuse_infinite(table: Table, chosen: list[int], points: np.ndarray[Any, Any], *, skip_nan: bool) -> None:
    """Refuse the first number that is infinite, or NaN unless such rows are left out."""
    for row, place in np.argwhere(np.isinf(points) if skip_nan else ~np.isfinite(points))[:1].tolist():
        word = table.words(row)[chosen[place]]
        table.fail(
            row, "finite numbers", f"{shown(word)} in {table.column(chosen[place])}", "correct or delete the line"
        )
