"""The comment of an extended .xyz file: keys with values, of which some say how atoms lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidInputError
from ..contents import label, shown
from ..names import choosing, is_number

__all__ = ["Columns", "other_keys", "read_keys", "read_lattice", "read_properties"]

#: A key, and behind an equals sign its value: in quotes, in brackets, or one word. A word alone is a flag.
_PAIR = re.compile(
    r"""
    (?P<key>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s="']+)
    (?:\s*=\s*(?P<value>
        "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | \{[^{}]*\}
        | \[(?:[^\[\]]|\[[^\[\]]*\])*\] | [^\s"'{\[]\S*
    ))?
    (?=\s|$)""",
    re.VERBOSE,
)

_WORD = re.compile(r"\s+|\S+")

#: Words for each of the three axes.
_TRUE, _FALSE = {"t", "true", "1"}, {"f", "false", "0"}

#: Digits of the number of columns of a property.
_DIGITS = re.compile(r"[0-9]{1,3}", re.ASCII)

Keys = dict[str, list[str]]


class Columns(NamedTuple):
    """Which columns of the rows are what, counted from zero."""

    start: int
    species: int | None
    width: int

    @property
    def coordinates(self) -> range:
        """The columns of x, y and z."""
        return range(self.start, self.start + 3)


def read_keys(comment: str) -> Keys:
    """The values of each key in a comment, without their quotes; words without a value are passed over."""
    found: Keys = {}
    position = 0
    while position < len(comment):
        match = _PAIR.match(comment, position)
        if match is not None and match["value"] is not None:
            found.setdefault(_bare(match["key"]), []).append(_bare(match["value"]))
        if match is None:  # blanks, or a word whose quotes or brackets are not closed, which is a value nevertheless
            match = _WORD.match(comment, position)
            assert match is not None
            key, equals, rest = match[0].partition("=")
            if equals:
                found.setdefault(key, []).append(rest)
        position = match.end()
    return found


def read_lattice(path: Path, keys: Keys, *, line: int) -> tuple[np.ndarray[Any, Any] | None, tuple[bool, ...]]:
    """The lattice vectors as rows, and which repeat; None for the vectors where the comment has none."""
    text = _value((path, line), keys, "Lattice", lambda value: _nine(value) is not None)
    flags = _flags((path, line), _value((path, line), keys, "pbc", lambda _: True))
    if text is None:
        return None, flags if flags is not None and any(flags) else ()
    numbers = _nine(text)
    if numbers is None:
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected the nine numbers of three lattice vectors, got "
            f"Lattice={shown(text, 80)}; correct the comment, or take the key out of it"
        )
    return np.array(numbers).reshape(3, 3), (True, True, True) if flags is None else flags


def other_keys(keys: Keys) -> list[str]:
    """The keys that say something else than the cell and the columns."""
    return [f"{key}=" for key in keys if key.lower() not in ("lattice", "pbc", "properties")]


def read_properties(path: Path, keys: Keys, *, line: int, needed: bool) -> Columns | None:
    """Which columns are coordinates and symbols, where the comment says it; None where it has no ``Properties=``.

    None, too, where it does not say which are coordinates, unless that is `needed`.
    """
    text = _value((path, line), keys, "Properties", lambda _: True)
    if text is None:
        return None
    at, start, species = 0, None, None
    words = text.split(":")
    whole = len(words) % 3 == 0 and all(map(_DIGITS.fullmatch, words[2::3]))
    for name, kind, count in zip(words[::3], words[1::3], words[2::3], strict=False) if whole else ():
        if (name, kind, count) == ("pos", "R", "3"):
            start = at
        elif (name, kind, count) == ("species", "S", "1"):
            species = at
        at += int(count)
    if start is None and not needed:
        return None
    if start is None:
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected pos:R:3 among the Properties of the atoms, got "
            f"{shown(f'Properties={text}', 80)}; say which columns are coordinates, as in {choosing((2, 3, 4))} "
            "(columns count from 1)"
        )
    return Columns(start, species, at)


def _bare(word: str) -> str:
    """A word without the quotes around it; brackets stay out of sight as well."""
    if word[:1] in ('"', "'"):
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word[1:-1] if word[:1] == "{" else word


def _value(at: tuple[Path, int], keys: Keys, name: str, right: Callable[[str], bool]) -> str | None:
    """The value of a key; where it is not there, that of the only key in other letters whose value is `right`."""
    path, line = at
    values = keys.get(name)
    if values is None:
        alike = [each for key, found in keys.items() if key.lower() == name.lower() for each in found]
        values = [each for each in alike if right(each)]
    if len(set(values)) > 1:
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected {name} once, got several values ({shown(', '.join(values), 80)}); "
            "leave one in the comment"
        )
    return values[0] if values else None


def _nine(text: str) -> list[float] | None:
    """Nine numbers, with blanks or commas between them, also in three brackets."""
    words = re.sub(r"[\[\](){},]", " ", text).split()
    return [float(word) for word in words] if len(words) == 9 and all(map(is_number, words)) else None


def _flags(at: tuple[Path, int], text: str | None) -> tuple[bool, ...] | None:
    """Which lattice vectors repeat, as three words say it, or one for all of them."""
    if text is None:
        return None
    path, line = at
    words = [word.lower().strip("\"'") for word in re.sub(r"[\[\](){},]", " ", text).split()]
    if len(words) == 1 and re.fullmatch(r"[tf01]{3}", words[0]):
        words = list(words[0])
    words = words * 3 if len(words) == 1 else words
    if len(words) != 3 or not all(word in _TRUE | _FALSE for word in words):
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected three flags for the lattice vectors that repeat, as in "
            f'pbc="T T F", got pbc={shown(text)}; correct the comment'
        )
    return tuple(word in _TRUE for word in words)
