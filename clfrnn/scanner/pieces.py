"""Pieces of a kernel that users write: what they must not contain."""

from __future__ import annotations

import itertools

from .macros import BARRIER, definitions, expanded, forbidden_word, label
from .statements import Statements
from .tokens import first_branches, rewritten, tokens, too_deep, unbalanced

__all__ = ["check_leaving", "check_piece", "check_preamble", "check_reading"]

#: The advice about each kind of problem.
_LOOP = (
    "the code runs inside a loop over neighbors that must go on: use if, in per_neighbor also break and continue, "
    "and functions in preamble"
)
_OUTSIDE = "it would leave the piece, not a loop or a switch of its own: use if"
_APART = "not all work-items would reach it at once: leave it out"
_WHOLE = "write the whole word"
_SHORTER = "split the code into functions in preamble, or use a loop"
_ALONE = "each piece stands for itself: close in it what it opens"


def check_reading(source: str) -> str | None:
    """What keeps `source` from being read as it is written, with its line and advice; None without any."""
    try:
        if found := rewritten(source):
            return found
        code = tokens(source)
    except ValueError as error:
        return f"{error}; {_ALONE}"
    for _, body in definitions(source):
        for before, token in itertools.pairwise(body):
            if before.text == token.text == "#" and token.joined:
                return f"line {token.line}: ##, which pastes words together; {_WHOLE}"
    if problem := too_deep(code):
        return f"{problem}; {_SHORTER}"
    return None


def check_piece(source: str, forbidden: dict[str, str]) -> str | None:
    """The first forbidden thing in `source`, a piece inside a walk, with its line and advice; None without any.

    `forbidden` are macros of the preamble that expand to forbidden words, with the word.
    """
    found = tokens(source)
    for token in found:
        if token.is_name and (word := forbidden.get(token.text) or forbidden_word(token.text)):
            via = "" if word == token.text else f" (by way of the macro {token.text})"
            return f"line {token.line}: {word}{via}; {_LOOP}"
    if problem := unbalanced(found):
        return f"{problem}; {_ALONE}"
    problem = label([token for token in found if not token.directive])
    return problem and f"{problem}; {_LOOP}"


def check_leaving(source: str, *earlier: str, free: frozenset[str] = frozenset()) -> str | None:
    """The first label of macros, or break or continue that leaves `source` and is not `free`, with its line and advice.

    Macros are those of `source` and of `earlier` pieces.
    """
    macros = {name: body for piece in (*earlier, source) for name, body in definitions(piece)}
    try:
        code = list(expanded(list(first_branches(tokens(source))), macros))
        if problem := label(code):
            return f"{problem}; {_LOOP}"
        for token in Statements(code).leaving():
            if token.text not in free:
                via = f" (by way of the macro {token.macro})" if token.macro else ""
                return f"line {token.line}: {token.text}{via}; {_OUTSIDE}"
    except ValueError as error:
        return f"{error}; {_SHORTER}"
    return None


def check_preamble(source: str) -> str | None:
    """The first barrier of a preamble, which not all work-items would reach together; None if there is none."""
    found = tokens(source)
    try:
        for _ in expanded(list(first_branches(found)), dict(definitions(source))):
            pass
    except ValueError as error:
        return f"{error}; {_SHORTER}"
    for token in found:
        if token.is_name and BARRIER.match(token.text):
            return f"line {token.line}: {token.text}; {_APART}"
    problem = unbalanced(found)
    return problem and f"{problem}; {_ALONE}"
