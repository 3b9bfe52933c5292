"""Errors of compilers: which lines of a user's pieces a log is about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..functions import PIECES, WHERE_PIECES

__all__ = ["LINE", "CompileError", "compile_errors", "user_pieces"]

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
    """The errors in a compiler's `log` about a user's pieces in `source`, without duplicates.

    Without `named`, the log counts lines of the whole text and ignores the names of ``#line``.
    """
    pieces = user_pieces(source)
    found = []
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
            found.append(CompileError(piece, line, column, match["text"], text))
    return list(dict.fromkeys(found))


def user_pieces(source: str) -> dict[str, tuple[int, list[str]]]:
    """The user's pieces in `source` by name: the number of their first line in the whole text, and their lines."""
    return {name: (first, lines) for name, first, lines in _spans(source.split("\n")) if name in _USERS}


def _spans(lines: Sequence[str]) -> Iterator[tuple[str, int, list[str]]]:
    """The parts of a text between ``#line`` directives: name, number of the first line, lines."""
    directives = [(number, match[2]) for number, line in enumerate(lines, 1) if (match := LINE.match(line))]
    for (number, name), (end, _) in itertools.pairwise([*directives, (len(lines) + 1, "")]):
        yield name, number + 1, list(lines[number : end - 1])
