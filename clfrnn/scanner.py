"""Scanner: reads OpenCL C far enough to find what a user's piece of a kernel must not contain."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "Token",
    "check_leaving",
    "check_piece",
    "check_preamble",
    "forbidden_macros",
    "forbidden_word",
    "tokens",
    "unbalanced",
]

#: The advice about each kind of problem.
_LOOP = (
    "the code runs inside a loop over neighbors that must go on: use if, in per_neighbor also break and continue, "
    "and functions in preamble"
)
_OUTSIDE = "it would leave the piece, not a loop or a switch of its own: use if"
_APART = "not all work-items would reach it at once: leave it out"
_ALONE = "each piece stands for itself: close in it what it opens"

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
#: Words that begin a statement, and the jumps that stay inside that statement.
_JUMPS_INSIDE = {
    "for": frozenset({"break", "continue"}),
    "while": frozenset({"break", "continue"}),
    "do": frozenset({"break", "continue"}),
    "switch": frozenset({"break"}),
    "if": frozenset[str](),
    "else": frozenset[str](),
    "__attribute__": frozenset[str](),
    "_Pragma": frozenset[str](),
}
_BARRIER = re.compile(r"^(barrier|(?!get_)\w*(work|sub)_group_\w+|wait_group_events)$")


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


def tokens(source: str) -> Iterator[Token]:
    """The words and symbols of `source`, without comments, blanks and quoted text.

    Raises ValueError, with the line, for a comment that never ends.
    """
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


def check_piece(source: str, forbidden: dict[str, str]) -> str | None:
    """The first forbidden thing in `source`, a piece inside a walk, with its line and advice; None without any.

    `forbidden` are macros of the preamble that expand to forbidden words, with the word.
    """
    try:
        found = list(tokens(source))
    except ValueError as error:
        return f"{error}; {_ALONE}"
    for token in found:
        if token.is_name and (word := forbidden.get(token.text) or forbidden_word(token.text)):
            via = "" if word == token.text else f" (by way of the macro {token.text})"
            return f"line {token.line}: {word}{via}; {_LOOP}"
    if problem := unbalanced(found):
        return f"{problem}; {_ALONE}"
    label = _label([token for token in found if not token.directive])
    return label and f"{label}; {_LOOP}"


def check_leaving(source: str, *earlier: str) -> str | None:
    """The first break or continue that leaves `source`, with its line and advice; None if there is none.

    Macros are those of `source` and of `earlier` pieces.
    """
    macros = {name: body for piece in (*earlier, source) for name, body in _definitions(piece)}
    for token in _Statements(_expanded(list(_first_branches(list(tokens(source)))), macros)).leaving():
        via = f" (by way of the macro {token.macro})" if token.macro else ""
        return f"line {token.line}: {token.text}{via}; {_OUTSIDE}"
    return None


def check_preamble(source: str) -> str | None:
    """The first barrier of a preamble, which not all work-items would reach together; None if there is none."""
    try:
        found = list(tokens(source))
    except ValueError as error:
        return f"{error}; {_ALONE}"
    for token in found:
        if token.is_name and _BARRIER.match(token.text):
            return f"line {token.line}: {token.text}; {_APART}"
    problem = unbalanced(found)
    return problem and f"{problem}; {_ALONE}"


def forbidden_macros(preamble: str) -> dict[str, str]:
    """The macros of a preamble that expand to a forbidden word or a label, with that word or label."""
    bodies: dict[str, list[str]] = {}
    leads: dict[str, str] = {}
    for name, body in _definitions(preamble):
        bodies.setdefault(name, []).extend(token.text for token in body if token.is_name)
        if label := _label(body):
            leads[name] = label.partition(": ")[2]
    for _ in range(len(bodies)):
        for name, words in bodies.items():
            for word in words:
                if found := leads.get(word) or forbidden_word(word):
                    leads.setdefault(name, found)
    return leads


def _definitions(source: str) -> Iterator[tuple[str, list[Token]]]:
    """The macros that `source` defines, with the tokens after their names."""
    for line in _directives(list(tokens(source))):
        if len(line) > 2 and line[1].text == "define":
            yield line[2].text, line[3:]


def _directives(found: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each preprocessor directive."""
    for number, line in itertools.groupby(found, key=lambda token: token.directive):
        if number:
            yield list(line)


def forbidden_word(word: str) -> str | None:
    """The word, if code between barriers and inside loops of the library's must not contain it."""
    return word if word in ("return", "goto", "asm", "__asm", "__asm__") or _BARRIER.match(word) else None


def unbalanced(found: list[Token]) -> str | None:
    """The first unmatched bracket."""
    waiting: list[Token] = []
    for token in _first_branches(found):
        if token.text in "([{":
            waiting.append(token)
        elif token.text in _CLOSES and (not waiting or waiting.pop().text != _CLOSES[token.text]):
            return f"line {token.line}: '{token.text}' without its '{_CLOSES[token.text]}'"
    return f"line {waiting[-1].line}: '{waiting[-1].text}' that is never closed" if waiting else None


def _first_branches(found: list[Token]) -> Iterator[Token]:
    """The code without the parts between #else or #elif and #endif: each branch may open the same bracket."""
    skipped: list[bool] = []
    words = {line[0].directive: line[1].text for line in _directives(found) if len(line) > 1}
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


def _label(code: list[Token]) -> str | None:
    """The first label. Colons also end cases and divide conditional expressions."""
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


def _expanded(code: list[Token], macros: dict[str, list[Token]]) -> Iterator[Token]:
    """`code` with macros expanded, without their arguments, in which compilers refuse statements."""
    left = code[::-1]
    while left:
        token = left.pop()
        body = macros.get(token.text, [])[::-1]
        takes_arguments = bool(body) and body[-1].text == "("
        if token.text not in macros or (takes_arguments and (not left or left[-1].text != "(")):
            yield token
            continue
        if takes_arguments:
            _drop_brackets(body)
            _drop_brackets(left)
        others = {name: tokens for name, tokens in macros.items() if name != token.text}
        for each in _expanded(body[::-1], others):
            yield each._replace(line=token.line, macro=token.text)


def _drop_brackets(left: list[Token]) -> None:
    """Remove a pair of round brackets, and its content, from the end of a reversed list that ends with one."""
    depth = 0
    while left and (depth or left[-1].text == "("):
        text = left.pop().text
        depth += (text == "(") - (text == ")")
        if not depth:
            return


class _Statements:
    """Reads code statement by statement, for each break and continue that leaves it."""

    def __init__(self, code: Iterator[Token]) -> None:
        self._left = list(code)[::-1]

    def leaving(self) -> Iterator[Token]:
        """The break and continue tokens that leave the code, in order."""
        while self._left:
            yield from self._block(frozenset())
            self._skip("}")

    def _next(self) -> str:
        return self._left[-1].text if self._left else ""

    def _skip(self, text: str) -> bool:
        found = self._next() == text
        if found:
            self._left.pop()
        return found

    def _block(self, taken: frozenset[str]) -> Iterator[Token]:
        """Read statements up to a closing brace; `taken` are the words that surrounding loops and switches take."""
        while self._next() not in ("", "}"):
            yield from self._statement(taken)

    def _statement(self, taken: frozenset[str]) -> Iterator[Token]:
        word = self._next()
        if self._skip("{"):
            yield from self._block(taken)
            self._skip("}")
        elif self._skip("case") or self._skip("default"):
            self._skip_label()
            yield from self._statement(taken)
        elif word in _JUMPS_INSIDE:
            self._left.pop()
            _drop_brackets(self._left)
            yield from self._statement(taken | _JUMPS_INSIDE[word])
            if word == "do" or (word == "if" and self._next() == "else"):
                yield from self._statement(taken)  # the while of a do reads like a while without a body
        else:
            yield from self._expression(taken)

    def _skip_label(self) -> None:
        """Skip the rest of a case or default label, up to its colon."""
        questions = 0
        while self._left:
            text = self._left.pop().text
            if text == ":" and not questions:
                return
            questions += (text == "?") - (text == ":")

    def _expression(self, taken: frozenset[str]) -> Iterator[Token]:
        """Read a statement without inner statements, up to its semicolon."""
        depth = 0
        while self._left and (depth or self._next() != "}"):
            token = self._left.pop()
            depth += (token.text in _CLOSES.values()) - (token.text in _CLOSES)
            if token.text in ("break", "continue") and token.text not in taken and not depth:
                yield token
            if token.text == ";" and not depth:
                return
