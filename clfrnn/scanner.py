"""Scanner: reads OpenCL C just well enough to say what a user's piece of a kernel must not contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Token", "check_piece", "check_preamble", "forbidden_macros", "tokens"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
      |(?P<line>\n)
      |(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
      |(?P<open>/\*)
      |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      |(?P<name>[A-Za-z_]\w*)
      |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      |(?P<mark>\S)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES = {")": "(", "]": "[", "}": "{"}
_BARRIER = re.compile(r"^(barrier|(?!get_)\w*(work|sub)_group_\w+|wait_group_events)$")


class Token(NamedTuple):
    """One word or mark, and the line that it stands on, counted from 1."""

    text: str
    line: int
    is_name: bool
    #: the first token of a line that a preprocessor reads, or one that follows it there
    directive: bool


def tokens(source: str) -> Iterator[Token]:
    """The words and marks of `source`, without comments, blanks and what stands in quotes.

    Raises ValueError, with the line, for a comment that never ends.
    """
    line, fresh, directive = 1, True, False
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match[0]
        if kind == "open":
            raise ValueError(f"line {line}: a comment that never ends")
        if kind == "line":
            fresh, directive = True, False
        elif kind in ("name", "number", "mark"):
            directive = directive or (fresh and text == "#")
            fresh = False
            yield Token(text, line, kind == "name", directive)
        elif kind == "text":
            fresh = False
        line += text.count("\n")


def check_piece(source: str, forbidden: dict[str, str]) -> str | None:
    """What `source`, code that is put inside a walk, must not contain, with its line; None where all is well.

    `forbidden` are macros of the preamble that expand to such words, with the word.
    """
    try:
        found = list(tokens(source))
    except ValueError as error:
        return str(error)
    code = [token for token in found if not token.directive]
    for token in found:
        if token.is_name and (word := forbidden.get(token.text) or _forbidden_word(token.text)):
            via = "" if word == token.text else f" (by way of the macro {token.text})"
            return f"line {token.line}: {word}{via}"
    return _unbalanced(code) or _label(code)


def check_preamble(source: str) -> str | None:
    """What a preamble must not contain: barriers, whose place no function can know."""
    try:
        found = list(tokens(source))
    except ValueError as error:
        return str(error)
    barriers = (token for token in found if token.is_name and _BARRIER.match(token.text))
    first = next(barriers, None)
    return f"line {first.line}: {first.text}" if first else _unbalanced([t for t in found if not t.directive])


def forbidden_macros(preamble: str) -> dict[str, str]:
    """Macros that the preamble defines, and that lead to a forbidden word, with the word."""
    bodies: dict[str, list[str]] = {}
    joined = re.sub(r"\\\r?\n", " ", preamble)
    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)$", joined, re.MULTILINE):
        words = [token.text for token in tokens(match[2].split("/*")[0]) if token.is_name]
        bodies.setdefault(match[1], []).extend(words)
    leads: dict[str, str] = {}
    for _ in range(len(bodies)):
        for name, words in bodies.items():
            for word in words:
                if found := leads.get(word) or _forbidden_word(word):
                    leads.setdefault(name, found)
    return leads


def _forbidden_word(word: str) -> str | None:
    return word if word in ("return", "goto", "asm", "__asm__") or _BARRIER.match(word) else None


def _unbalanced(code: list[Token]) -> str | None:
    """The first bracket without its partner."""
    waiting: list[Token] = []
    for token in code:
        if token.text in "([{":
            waiting.append(token)
        elif token.text in _CLOSES and (not waiting or waiting.pop().text != _CLOSES[token.text]):
            return f"line {token.line}: '{token.text}' without its '{_CLOSES[token.text]}'"
    return f"line {waiting[-1].line}: '{waiting[-1].text}' that is never closed" if waiting else None


def _label(code: list[Token]) -> str | None:
    """The first label. A colon also ends a case, and the middle of a conditional expression."""
    questions, case = 0, False
    for k, token in enumerate(code):
        text = token.text
        if text in ";{}":
            questions, case = 0, False
        elif text == "?":
            questions += 1
        elif text in ("case", "default"):
            case = True
        elif text == ":":
            if questions:
                questions -= 1
            elif case:
                case = False
            elif _begins_statement(code, k):
                return f"line {code[k - 1].line}: the label {code[k - 1].text}"
    return None


def _begins_statement(code: list[Token], colon: int) -> bool:
    """Whether the name before `colon` stands where a statement begins."""
    if colon == 0 or not code[colon - 1].is_name:
        return False
    return colon == 1 or code[colon - 2].text in (";", "{", "}", ")", ":", "else", "do")
