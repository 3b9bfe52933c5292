"""Errors of compilers: which lines of a user's pieces a log is about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..functions import PIECES, WHERE_PIECES

__all__ = ["LINE", "CompileError", "compile_errors", "hint", "user_pieces"]

#: The pieces that are a user's.
_USERS = frozenset({*PIECES, *WHERE_PIECES})

#: A directive that names a piece.
LINE = re.compile(r'[ \t]*#line (\d+) "(\w+)"')
_SEVERITY = r"(?:fatal\ )?error|warning|note|remark"
#: The forms of a line in a log: file:line:column: error: text, or error: file:line:column: text, or "file", line 2:
#: error: text.
_LOG = re.compile(
    rf"""^\s*(?:(?P<before>{_SEVERITY}):\s*)?"?(?P<file>[^\s"].*?)"?(?::|,?\ line\ )(?P<line>\d+)(?::(?P<column>\d+))?
        (?:\ <Spelling=[^>]*>)?:\s*(?:(?P<behind>{_SEVERITY}):\s*)?(?P<text>.*\S)""",
    re.VERBOSE | re.IGNORECASE,
)

#: What compilers say of a name that nothing declares, and of a second index of an array.
_UNDECLARED = re.compile(r"undeclared identifier '(\w+)'")
_SECOND_INDEX = "subscripted value is not"
#: Words of other languages, and the operators that OpenCL C has for them.
_OPERATORS = {"and": "&&", "or": "||", "not": "!"}


class CompileError(NamedTuple):
    """An error of a compiler about a line of a user's piece."""

    piece: str
    line: int
    column: int | None
    message: str
    text: str

    def __str__(self) -> str:
        where = f"{self.piece}, line {self.line}: {self.message}"
        if not self.text.strip():
            return where
        # The text has its tabs, so that the mark below it is in the right column for any width of tabs.
        blank = "".join("\t" if letter == "\t" else " " for letter in self.text[: (self.column or 1) - 1])
        return f"{where}\n    {self.text.rstrip()}" + (f"\n    {blank}^" if self.column else "")


def compile_errors(source: str, log: str, *, named: bool = True) -> list[CompileError]:
    """The errors in a compiler's `log` about a user's pieces in `source`, of those with one text the first in a line.

    Without `named`, the log counts lines of the whole text and ignores the names of ``#line``.
    """
    pieces = user_pieces(source)
    found: dict[tuple[str, int, str], CompileError] = {}
    for match in filter(None, map(_LOG.match, log.splitlines())):
        if (match["before"] or match["behind"] or "error").lower().endswith(("warning", "note", "remark")):
            continue
        line, piece = int(match["line"]), re.split(r"[/\\]", match["file"])[-1]
        if not named:
            piece, line = next(
                (
                    (name, line - first + 1)
                    for name, (first, lines) in pieces.items()
                    if first <= line < first + len(lines)
                ),
                ("", line),
            )
        if piece in pieces:
            lines = pieces[piece][1]
            column = int(match["column"]) if match["column"] else None
            text = lines[line - 1] if 1 <= line <= len(lines) else ""
            found.setdefault((piece, line, match["text"]), CompileError(piece, line, column, match["text"], text))
    return list(found.values())


def hint(error: CompileError) -> str:
    """A sentence on what an error most likely asks for, and a blank; nothing where that is not known."""
    undeclared = _UNDECLARED.search(error.message)
    if undeclared and undeclared[1] not in _OPERATORS:
        name = undeclared[1]
        if error.piece in WHERE_PIECES:
            return f"Pass {name} to Condition, as in {name}=..., or correct the name. "
        return f"Declare {name} in arguments or state, or correct the name. "
    if _SECOND_INDEX in error.message:
        return "Arrays are flat: write a[columns * row + column] in place of a[row][column]. "
    word = next((word for word in _OPERATORS if re.search(rf"\b{word}\b", error.text)), None)
    return f"Write {_OPERATORS[word]} in place of '{word}'. " if word else ""


def user_pieces(source: str) -> dict[str, tuple[int, list[str]]]:
    """The user's pieces in `source` by name: the number of their first line in the whole text, and their lines."""
    return {name: (first, lines) for name, first, lines in _spans(source.split("\n")) if name in _USERS}


def _spans(lines: Sequence[str]) -> Iterator[tuple[str, int, list[str]]]:
    """The parts of a text between ``#line`` directives: name, number of the first line, lines."""
    directives = [(number, match[2]) for number, line in enumerate(lines, 1) if (match := LINE.match(line))]
    for (number, name), (end, _) in itertools.pairwise([*directives, (len(lines) + 1, "")]):
        yield name, number + 1, list(lines[number : end - 1])
