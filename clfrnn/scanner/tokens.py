"""Tokens of OpenCL C, their lines, preprocessor directives and brackets."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["CLOSES", "Token", "directives", "first_branches", "rewritten", "tokens", "unbalanced"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
      |(?P<line>\n)
      |(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
      |(?P<open>/\*)
      |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      |(?P<name>[A-Za-z_][A-Za-z_0-9]*)
      |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
#: The bracket that each closing one closes.
CLOSES = {")": "(", "]": "[", "}": "{"}

#: Characters that stand for others where compilers read C as it once was.
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_DIGRAPHS = frozenset(["<%", "%>", "<:", ":>", "%:"])

#: A backslash with blanks behind it, which some compilers take for the end of the line and others do not.
_BLANKS = re.compile(r"\\[ \t\r\f\v]+(?=\n|\Z)(?<!\\\r)")
_NUL = re.compile("\0")
_RETURN = re.compile(r"\r(?!\n)")
_WORD = re.compile(r"[\w.]\w")
_SPLICED = "a backslash at its end, which joins what stands on both sides of it; write it on one line"


class Token(NamedTuple):
    """One word or symbol, and its line, counted from 1."""

    text: str
    line: int
    is_name: bool
    #: 0 in code; the number of the preprocessor directive, counted from 1, in a directive
    directive: int
    #: the macro that it was expanded from, if any
    macro: str = ""
    #: whether nothing stands between it and the token before it
    joined: bool = False


@functools.lru_cache(maxsize=16)  # several checks read the same pieces
def tokens(source: str) -> tuple[Token, ...]:
    """The words and symbols of `source`, without comments, blanks and quoted text.

    Raises ValueError, with the line, for a comment that never ends.
    """
    return tuple(_read(source))


def _read(source: str) -> Iterator[Token]:
    line, fresh, inside, directives, joined = 1, True, False, 0, False
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match[0]
        if kind == "open":
            raise ValueError(f"line {line}: a comment that never ends")
        if kind == "line":
            fresh, inside = True, False
        elif kind in ("name", "number", "mark"):
            if fresh and text == "#":
                inside = True
                directives += 1
            fresh = False
            yield Token(text, line, kind == "name", directives if inside else 0, joined=joined)
        elif kind == "text":
            fresh = False
        joined = kind in ("name", "number", "mark") or (kind == "space" and text[0] == "\\" and joined)
        line += text.count("\n")


def rewritten(source: str) -> str | None:
    """The first thing by which compilers read other tokens than are written, with its line and advice."""
    for pattern, what in (
        (_TRIGRAPH, "the trigraph {!r}; write the character that it stands for"),
        (_BLANKS, _SPLICED),
        (_NUL, "a NUL, at which compilers stop reading; delete it"),
        (_RETURN, "a carriage return alone, which ends a line for some compilers; write a line feed"),
    ):
        if match := pattern.search(source):
            return f"line {_line_of(source, match)}: {what.format(match[0])}"
    for before, token in itertools.pairwise(tokens(source)):
        both = before.text[-1] + token.text[0]
        if token.joined and token.line > before.line and (_WORD.fullmatch(both) or both in ("//", "/*", "*/")):
            return f"line {before.line}: {_SPLICED}"
        if token.joined and both in _DIGRAPHS:
            return f"line {token.line}: the digraph {both!r}; write the character that it stands for"
    for token in tokens(source):
        if token.text in ("'", '"'):
            return f"line {token.line}: {token.text}, a quotation mark that is never closed; close or delete it"
        if not token.text.isascii() or token.text == "$":
            return f"line {token.line}: {token.text!r}, which is no character of OpenCL C; use it in comments alone"
    return None


def _line_of(source: str, match: re.Match[str]) -> int:
    return source.count("\n", 0, match.start()) + 1


def unbalanced(found: Sequence[Token]) -> str | None:
    """The first unmatched bracket."""
    waiting: list[Token] = []
    for token in first_branches(found):
        if token.text in "([{":
            waiting.append(token)
        elif token.text in CLOSES and (not waiting or waiting.pop().text != CLOSES[token.text]):
            return f"line {token.line}: '{token.text}' without its '{CLOSES[token.text]}'"
    return f"line {waiting[-1].line}: '{waiting[-1].text}' that is never closed" if waiting else None


def first_branches(found: Sequence[Token]) -> Iterator[Token]:
    """The code without the parts between #else or #elif and #endif: each branch may open the same bracket."""
    skipped: list[bool] = []
    words = {line[0].directive: line[1].text for line in directives(found) if len(line) > 1}
    for token in found:
        if not token.directive:
            if not any(skipped):
                yield token
        elif token.text == "#" and (word := words.pop(token.directive, "")):
            if word.startswith("if"):
                skipped.append(False)
            elif word in ("else", "elif") and skipped:
                skipped[-1] = True
            elif word == "endif" and skipped:
                skipped.pop()


def directives(found: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each preprocessor directive."""
    for number, line in itertools.groupby(found, key=lambda token: token.directive):
        if number:
            yield list(line)
