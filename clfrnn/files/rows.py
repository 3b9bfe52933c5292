"""The rows of a text: which lines they are, what separates their words, and the names above them.

Lines and columns are counted from one, as editors and spreadsheets count them.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ..errors import InvalidInputError
from .contents import label, shown
from .names import AmbiguousNames, coordinates, is_number, names_columns
from .numerals import has_comma_inside, plain

__all__ = ["Table", "make_table", "without_empty_ends"]

#: How lines begin that have no point; the last is Excel's, which says what separates words.
_COMMENTS = ("#", "//", "sep=")
#: The digits of a line that says how many rows follow; no file has more.
_COUNT = re.compile(r"[0-9]{1,18}", re.ASCII)

#: Two numbers with blanks between them.
_TWO_NUMBERS = re.compile(r"\d\s+[+\-\u2212.,]?\d")

#: Blanks that other languages write inside of a number, as between thousands.
_BLANK_INSIDE = re.compile(r"[^\S\x00-\x7f]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a text with the numbers of their lines.

    ``rows`` are texts, ``line_numbers`` those of their lines, counted from 0; ``between`` is what separates the words
    of a row, None for blanks; ``names`` are those of the columns, or None; ``width`` is the number of columns;
    ``commas`` is whether words may have commas inside.
    """

    path: Path
    rows: list[str]
    line_numbers: Sequence[int]
    between: str | None
    names: list[str] | None
    width: int
    commas: bool = False

    def fail(self, row: int, expected: str, got: str, remedy: str) -> NoReturn:
        """Raise the error of a row."""
        raise InvalidInputError(
            f"{label(self.path)}: line {self.line_numbers[row] + 1}: expected {expected}, got {got}; {remedy}"
        )

    def column(self, k: int) -> str:
        """How messages name a column."""
        named = self.names is not None and k < len(self.names) and self.names[k]
        return f"column {k + 1} ({shown(self.names[k])})" if named and self.names else f"column {k + 1}"

    def words(self, row: int) -> list[str]:
        """The words of a row."""
        return _words(self.rows[row], self.between)


def make_table(path: Path, lines: list[str], *, tabs: bool = False) -> Table:
    """Find the rows among the lines of a text, and the names of their columns."""
    blanks = " " if tabs else None  # a tab at the end of a row has an empty word behind it
    stripped = [line.strip(blanks) for line in lines]
    line_numbers = [k for k, line in enumerate(stripped) if line.strip() and not line.startswith(_COMMENTS)]
    rows = [stripped[k].partition("#")[0].rstrip(blanks) for k in line_numbers]
    if not rows:
        raise InvalidInputError(f"{label(path)}: expected rows of numbers, got none; write one point a line")
    first = _words(rows[0], _separator(rows[:1], tabs=tabs))
    names = first if names_columns(first) else None
    above = line_numbers[0]
    if names is not None:
        line_numbers, rows = line_numbers[1:], rows[1:]
        if not rows:
            raise InvalidInputError(
                f"{label(path)}: expected rows of numbers, got none below the names in line {above + 1}; "
                "write one point a line"
            )
    if _count_rows(path, rows, line_numbers):
        line_numbers, rows = line_numbers[1:], rows[1:]
    between = _separator(rows[:2], tabs=tabs)
    if names is None and above > 0:
        names = _names_in_comment(lines[above - 1], len(_words(rows[0], between)))
    if between is None:
        _refuse_blanks_inside(path, rows, line_numbers)
    # Between commas a word has one inside where it stands in quotes.
    commas = any(('"' if between == "," else ",") in row for row in rows)
    width = len(without_empty_ends(names if names is not None else _words(rows[0], between)))
    return Table(
        path=path, rows=rows, line_numbers=line_numbers, between=between, names=names, width=width, commas=commas
    )


def _count_rows(path: Path, rows: Sequence[str], line_numbers: Sequence[int]) -> bool:
    """Whether the first row is the number of the others, which must then be there."""
    if not _COUNT.fullmatch(rows[0]) or len(rows) == 1 or not re.search(r"\S[\s,;]+\S", rows[1]):
        return False
    if int(rows[0]) != len(rows) - 1:
        raise InvalidInputError(
            f"{label(path)}: line {line_numbers[0] + 1}: expected {int(rows[0]):,} rows, as this line says, got "
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


def _refuse_blanks_inside(path: Path, rows: Sequence[str], line_numbers: Sequence[int]) -> None:
    """Refuse rows whose words would be torn apart where thousands are separated by a blank."""
    for row, number in zip(rows, line_numbers, strict=True):
        if not row.isascii() and (found := _BLANK_INSIDE.search(row)):
            raise InvalidInputError(
                f"{label(path)}: line {number + 1}: expected numbers with blanks, tabs, commas or semicolons between "
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


def without_empty_ends(words: list[str]) -> list[str]:
    """The words of a row but for empty ones at its end; one word at least."""
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
