"""The names of columns: which of them are coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "LEAVING_OUT",
    "AmbiguousNames",
    "choosing",
    "coordinates",
    "is_missing",
    "is_number",
    "names_columns",
    "tells_rows_apart",
]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)

#: How numbers begin, also those that cannot be read: 3x, 1_000, 1D+00.
_LIKE_A_NUMBER = re.compile(r"[+\-\u2212]?[.,]?\d")

#: How programs write that a number is missing.
_MISSING = {"", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "?"}

#: x, pos_x, X [m], x_coord, Points:0
_COORDINATE = re.compile(
    r"(?P<stem>(?:(?:p|pos|positions?|coords?|coordinates?|points?)[ _.:]?)?)(?P<axis>[xyz012])"
    r"(?:[ _](?:pos|position|coord|coordinate))?"
)
_UNIT = re.compile(r"[\[(].*[\])]$")

#: Names of columns that tell rows apart, or when they were measured.
_OF_ROWS = {"", "id", "ids", "index", "idx", "no", "nr", "row", "name", "label", "atom", "particle", "frame", "time"}
_OF_ROWS |= {"t", "unnamed: 0", "pointid", "point id", "point_id", "species", "type", "class", "element", "symbol"}


#: How rows without a number are left out, in Python and on the command line.
LEAVING_OUT = "leave such rows out by skip_nan=True, on the command line --skip-nan"


class AmbiguousNames(Exception):  # noqa: N818
    """Several columns may be the same coordinate."""


def choosing(columns: Sequence[int]) -> str:
    """How to choose columns, counted from 1, in Python and on the command line."""
    words = [str(column) for column in columns]
    return f"columns=[{', '.join(words)}], on the command line --columns {','.join(words)}"


def is_number(word: str) -> bool:
    """Whether a word is a number as numpy reads it from a text."""
    return _NUMBER.fullmatch(word) is not None


def is_missing(word: str) -> bool:
    """Whether a word says that a number is missing, as nothing and NA do."""
    return word.lower() in _MISSING


def names_columns(words: Sequence[str]) -> bool:
    """Whether the words of a first row are names: none is a number, and not all look like numbers or missing ones."""
    return not any(map(is_number, words)) and not all(is_missing(word) or _LIKE_A_NUMBER.match(word) for word in words)


def coordinates(names: Sequence[str]) -> list[int] | None:
    """The columns whose names are those of coordinates, in the order x, y, z; None where there is no x.

    Raises
    ------
    AmbiguousNames
        Several columns may be the same coordinate.
    """
    found: dict[str, dict[str, int]] = {}
    for column, name in enumerate(names):
        match = _COORDINATE.fullmatch(_UNIT.sub("", name.lower()).strip())
        if match is None or (match["axis"].isdigit() and not match["stem"]):
            continue
        family = found.setdefault(match["stem"], {})
        if match["axis"] in family:
            raise AmbiguousNames
        family[match["axis"]] = column
    # Columns named by the letter alone come before those of centers, images and the like.
    families = (
        [found[""]] if "x" in found.get("", ()) else [each for each in found.values() if each.keys() & {"x", "0"}]
    )
    if len(families) > 1:
        raise AmbiguousNames
    return [column for _, column in sorted(families[0].items())] if families else None


def tells_rows_apart(names: Sequence[str]) -> bool:
    """Whether one of the names is that of an id, a label or a time, so that not all columns are coordinates."""
    return any(name.lower() in _OF_ROWS for name in names)
