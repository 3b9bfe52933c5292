"""Lengths: how long code may be, and how deep the tree is that compilers make of it.

Compilers follow that tree by calls inside calls. Where memory for these ends, they end the process.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from .tokens import CLOSES, Token

__all__ = ["too_deep", "too_long"]

#: The most characters of a piece.
_LONGEST = 250_000

#: The deepest tree; compilers take twice to eight times as much.
_DEEPEST = 1000

#: The deepest brackets; compilers take 256.
_DEEPEST_BRACKETS = 200

#: Words that begin a statement inside a statement.
_STATEMENTS = frozenset(["if", "for", "while", "do", "switch"])

#: How deep such a statement counts: loops inside loops take compilers far longer than operators.
_WEIGHT = 10

#: How tight operators bind, those that bind loosest first; tighter ones are parts of looser ones.
_LOOSEST, _ASSIGNS, _OR, _AND, _BINARY, _TIGHTEST = range(6)
_BINDS = {",": _LOOSEST, "=": _ASSIGNS, "?": _ASSIGNS, ":": _ASSIGNS, "|": _OR, "&": _AND, "sizeof": _TIGHTEST}
_BINDS |= dict.fromkeys("*/%+-<>^", _BINARY) | dict.fromkeys("!~.#", _TIGHTEST)
_BINDS |= dict.fromkeys(_STATEMENTS, _LOOSEST)


class _Tree:
    """Bounds on the depth of the tree of what stands between two brackets."""

    def __init__(self, bracket: str, around: int = 0) -> None:
        self.bracket = bracket
        #: the depth of what is around it
        self.around = around
        #: the deepest of the brackets inside the statement
        self.inside = 0
        #: the deepest statement so far; the same of a chain of ``else``, and the number of these, which are less deep
        self._deepest = self._chain = self._others = 0
        #: by how tight they bind: the operators of the run so far, and of the longest run
        self._runs, self._longest = [0] * 6, [0] * 6

    @property
    def statement(self) -> int:
        """The depth of the statement so far."""
        return self._others // 3 + max(self._chain, self.inside + sum(self._longest))

    @property
    def depth(self) -> int:
        """The depth of the deepest statement."""
        return max(self._deepest, self.statement)

    def add(self, binds: int, weight: int = 1) -> None:
        """Add an operator: one of a run of operators that bind alike, each of which has those before it inside."""
        self._runs[binds] += weight
        self._runs[binds + 1 :] = [0] * (_TIGHTEST - binds)
        self._longest[binds] = max(self._longest[binds], self._runs[binds])

    def end_statement(self, *, other: bool) -> None:
        """Begin anew, or with the `other` branch of the same statement."""
        self._deepest = self.depth
        if other:
            self._chain, self._others = max(self._chain, self.inside + sum(self._longest)), self._others + 1
        else:
            self._chain = self._others = 0
        self.inside, self._runs, self._longest = 0, [0] * 6, [0] * 6


def too_long(source: str) -> str | None:
    """Why `source` is longer than compilers should be given; None where it is not."""
    if len(source) > _LONGEST:
        return f"expected at most {_LONGEST:,} characters of code, got {len(source):,}; pass numbers as an array"
    return None


def too_deep(code: Iterable[Token]) -> str | None:
    """The first place where brackets, or operators and statements in a row, are deeper than compilers take."""
    trees, last = [_Tree("{")], None
    found = [*code, Token("", 0, is_name=False, directive=0)]
    for token, behind in itertools.pairwise(found):
        text, tree = token.text, trees[-1]
        if text in CLOSES.values():
            tree.add(_TIGHTEST)
            trees.append(_Tree(text, tree.around + tree.statement))
            if len(trees) > _DEEPEST_BRACKETS + 1:
                return f"line {token.line}: brackets nested more than {_DEEPEST_BRACKETS} deep"
        elif text in CLOSES and len(trees) > 1:
            trees.pop()
            trees[-1].inside = max(trees[-1].inside, tree.depth + 1)
            if text == "}" and (behind.is_name or behind.text in ("", "{", "}", ";")):
                trees[-1].end_statement(other=behind.text == "else")
        elif text == ";" or (text == "," and tree.bracket == "{" and len(trees) > 1):
            tree.end_statement(other=behind.text == "else")
        elif text in _BINDS and not (last and token.joined and text in "|&=<>" and last.text in _BINDS):
            tree.add(_BINDS[text], _WEIGHT if text in _STATEMENTS else 1)
        if trees[-1].around + trees[-1].statement > _DEEPEST:
            if text in _STATEMENTS:
                return f"line {token.line}: statements nested more than {_DEEPEST // _WEIGHT} deep"
            return f"line {token.line}: more than {_DEEPEST:,} operators or statements in a row or inside each other"
        last = token
    return None
