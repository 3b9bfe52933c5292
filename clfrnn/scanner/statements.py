"""Statements: reads code statement by statement, for what leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .macros import drop_brackets
from .tokens import CLOSES, Token

__all__ = ["Statements"]

#: Words that begin a statement, and the jumps that stay inside that statement.
_JUMPS_INSIDE = {
    "for": frozenset({"break", "continue"}),
    "while": frozenset({"break", "continue"}),
    "do": frozenset({"break", "continue"}),
    "switch": frozenset({"break"}),
    "if": frozenset[str](),
    "__attribute__": frozenset[str](),
    "_Pragma": frozenset[str](),
}

#: Statements inside each other, at most.
_DEEPEST = 100


class Statements:
    """Reads code statement by statement, for each break and continue that leaves it."""

    def __init__(self, code: Iterable[Token]) -> None:
        self._left = list(code)[::-1]

    def leaving(self) -> Iterator[Token]:
        """The break and continue tokens that leave the code, in order.

        Raises ValueError, with the line, for statements that are nested deeper than any reader can follow.
        """
        while self._left:
            yield from self._block(frozenset(), 0)
            self._skip("}")

    def _next(self) -> str:
        return self._left[-1].text if self._left else ""

    def _skip(self, text: str) -> bool:
        found = self._next() == text
        if found:
            self._left.pop()
        return found

    def _block(self, taken: frozenset[str], depth: int) -> Iterator[Token]:
        """Read statements up to a closing brace; `taken` are the words that surrounding loops and switches take."""
        while self._next() not in ("", "}"):
            yield from self._statement(taken, depth)

    def _statement(self, taken: frozenset[str], depth: int) -> Iterator[Token]:
        if depth > _DEEPEST and self._left:
            raise ValueError(f"line {self._left[-1].line}: statements nested more than {_DEEPEST} deep")
        while True:
            word = self._next()
            if self._skip("{"):
                yield from self._block(taken, depth + 1)
                self._skip("}")
            elif self._skip("case") or self._skip("default"):
                self._skip_label()
                continue
            elif self._skip("else"):
                continue
            elif word in _JUMPS_INSIDE:
                self._left.pop()
                drop_brackets(self._left)
                yield from self._statement(taken | _JUMPS_INSIDE[word], depth + 1)
                if word == "do" or (word == "if" and self._next() == "else"):
                    continue  # the while of a do reads like a while without a body
            else:
                yield from self._expression(taken)
            return

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
            depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
            if token.text in ("break", "continue") and token.text not in taken and not depth:
                yield token
            if token.text == ";" and not depth:
                return
