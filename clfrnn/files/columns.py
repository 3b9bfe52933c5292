"""The columns of a text as numbers, with the line and the column of the first word that is none."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from .contents import by_command, quoted, shown
from .names import LEAVING_OUT, choosing, is_missing, is_number
from .numerals import decimal_sign, has_comma_inside, plain, remedy_for_commas
from .rows import Table, without_empty_ends

__all__ = ["read_columns"]

#: Nothing but numbers without a point, a comma that is decimal as no three digits follow, and one word with several.
_NUMBERS = re.compile(r"[0-9+\-,eE;\t\n ]*")
_DECIMAL = re.compile(r"[0-9],(?:[0-9]{1,2}|[0-9]{4,})(?![0-9])|(?<![0-9,])0,[0-9]")
_SEVERAL = re.compile(r",[0-9]*,")

#: Numbers with other signs between thousands than commas, and with the letter of Fortran before the exponent.
_GROUPED = re.compile(r"[+\-\u2212]?\d{1,3}(?:['\u2019\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?")
_FORTRAN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[dD][+-]?\d+", re.ASCII)


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
    rows = table.rows if not table.commas else _without_commas(table)
    points = None if rows is None else _read_numbers(rows, table.between, chosen)
    if points is None:
        points = _read_words(table, chosen, skip_nan=skip_nan)
    if not np.isfinite(points).all():
        _refuse_infinite(table, chosen, points, skip_nan=skip_nan)
    return points


def _without_commas(table: Table) -> list[str] | None:
    """The rows with points as decimal signs, where all that they have is numbers whose commas are decimal ones."""
    whole = "\n".join(table.rows)
    if table.between == "," or not _NUMBERS.fullmatch(whole) or not _DECIMAL.search(whole) or _SEVERAL.search(whole):
        return None
    return whole.replace(",", ".").split("\n")


def _read_numbers(rows: list[str], between: str | None, chosen: list[int]) -> np.ndarray[Any, Any] | None:
    """Read numbers as numpy does, or None where there is a word that it does not read."""
    try:
        return np.loadtxt(rows, ndmin=2, delimiter=between, usecols=chosen, quotechar='"', comments=None)
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
        count = max(table.width, len(without_empty_ends(words))) if len(words) >= table.width else len(words)
        if count != table.width:
            as_what = "as the names above say" if table.names else f"as line {table.line_numbers[0] + 1} has"
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
        numbers = [n + 1 for n, each in enumerate(table.words(row)) if is_number(each)]
        remedy = f"correct or delete the line{f', or {LEAVING_OUT}' if is_missing(word) else ''}"
        if numbers:
            remedy += (
                f", or choose other columns, by their names or numbers, as in {choosing(numbers[:3])} (columns count "
                "from 1)"
            )
    got = f"{quoted(word)} in {table.column(k)}" if word else f"nothing in {table.column(k)}"
    table.fail(row, "rows of numbers", got, remedy)


def _refuse_infinite(table: Table, chosen: list[int], points: np.ndarray[Any, Any], *, skip_nan: bool) -> None:
    """Refuse the first number that is infinite, or NaN unless such rows are left out."""
    for row, axis in np.argwhere(np.isinf(points) if skip_nan else ~np.isfinite(points))[:1].tolist():
        word = table.words(row)[chosen[axis]]
        remedy = f"correct or delete the line{f', or {LEAVING_OUT}' if np.isnan(points[row, axis]) else ''}"
        table.fail(row, "finite numbers", f"{shown(word)} in {table.column(chosen[axis])}", remedy)
