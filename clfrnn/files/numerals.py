"""Numbers in texts as programs and languages write them: with decimal commas, and other signs of minus.

A number that can be read in two ways, as 1,234 in two languages, is refused with what to type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from .contents import by_command
from .names import is_number

__all__ = ["decimal_sign", "has_comma_inside", "plain", "remedy_for_commas"]

_DIGITS = r"[+\-\u2212]?\d"
_EXPONENT = r"(?:[eE][+-]?\d+)?"

#: 1,5 and 0,123 and 12,5e3
_DECIMAL = re.compile(rf"(?:{_DIGITS}*,\d*|[+\-\u2212]?,\d+){_EXPONENT}", re.ASCII)

#: 1,234 may be a number above one thousand, or one between one and two.
_EITHER = re.compile(r"[+\-\u2212]?[1-9]\d{0,2},\d{3}", re.ASCII)

#: 1,234.5 and 1,234,567, and 1.234,5 as other languages write them
_GROUPED = re.compile(rf"{_DIGITS}{{1,3}}(?:,\d{{3}})+(?:\.\d*)?{_EXPONENT}", re.ASCII)
_GROUPED_BY_POINTS = re.compile(rf"{_DIGITS}{{1,3}}(?:\.\d{{3}})+,\d*{_EXPONENT}", re.ASCII)


def has_comma_inside(word: str) -> bool:
    """Whether a word is a number with a comma in it, decimal or of thousands."""
    return "," in word and any(form.fullmatch(word) for form in (_DECIMAL, _GROUPED, _GROUPED_BY_POINTS))


def plain(word: str, decimal: str = ".") -> str:
    """A word as numpy reads it, where it is a number with that decimal sign or another minus."""
    changed = word.replace("\u2212", "-") if decimal == "." else word.replace("\u2212", "-").replace(decimal, ".")
    return changed if is_number(changed) else word


def decimal_sign(words: Iterable[str]) -> str | None:
    """The decimal sign of all the words that are numbers, or None where they can be read in several ways."""
    with_comma, with_point, sure = False, False, False
    for word in words:
        if "," in word:
            if "." in word or (not _DECIMAL.fullmatch(word) and _GROUPED.fullmatch(word)):
                return None
            with_comma = True
            sure = sure or not _EITHER.fullmatch(word)
        elif "." in word:
            with_point = True
    if not with_comma:
        return "."
    return "," if sure and not with_point else None


def remedy_for_commas(path: Path, words: Iterable[str]) -> str:
    """What to do with numbers whose commas have two meanings, as lines for a shell.

    Parameters
    ----------
    path : the file
    words : the numbers
    """
    words = list(words)
    # Between two digits commas are inside of a number, also where others stand between quoted words.
    decimals = by_command(path, r"sed -E 's/([0-9]),([0-9])/\1.\2/g'")
    groups = by_command(path, r"sed -E 's/([0-9]),([0-9])/\1\2/g'")
    if any(_GROUPED_BY_POINTS.fullmatch(word) for word in words):
        swapped = by_command(path, r"sed -E 's/([0-9])\.([0-9])/\1\2/g; s/([0-9]),([0-9])/\1.\2/g'")
        return f"leave out the points between thousands, and write decimals with a point, as in: {swapped}"
    if any("," in word and "." in word for word in words) or any(word.count(",") > 1 for word in words):
        return f"leave out the commas between thousands, as in: {groups}"
    return f"write decimals with a point, as in: {decimals}; or leave out the commas between thousands, as in: {groups}"
