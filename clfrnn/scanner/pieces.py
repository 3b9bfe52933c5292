"""Pieces of a kernel that users write: what they must not contain."""

from __future__ import annotations

import itertools

from .indices import declared_outside
from .lengths import too_deep, too_long
from .macros import BARRIER, definitions, expanded, expanded_pieces, forbidden_word, label
from .names import check_declarations, check_directives
from .statements import Statements
from .tokens import directives, first_branches, rewritten, tokens, unbalanced

__all__ = ["check_leaving", "check_piece", "check_preamble", "check_reading", "check_state"]

#: The advice about each kind of problem.
_LOOP = (
    "the code runs inside a loop over neighbors that must go on: use if, in per_neighbor also break and continue, "
    "and functions in preamble"
)
_OUTSIDE = "it would leave the piece, not a loop or a switch of its own: use if"
_APART = "not all work-items would reach it at once: leave it out"
_WHOLE = "write the whole word"
_SHORTER = "split the code into functions in preamble, or use a loop"
_RENAME = "choose another name"
_ALONE = "each piece stands for itself: close in it what it opens"

#: Types that the code behind ``state`` uses; compilers themselves refuse another ``i`` or ``r2`` there.
_BEHIND_STATE = frozenset(["real", "real_vec"])


def check_reading(source: str) -> str | None:
    """What keeps `source` from being read as it is written, with its line and advice; None without any."""
    try:
        if found := too_long(source) or rewritten(source):
            return found
        code = tokens(source)
    except ValueError as error:
        return f"{error}; {_ALONE}"
    for _, body in definitions(source):
        for before, token in itertools.pairwise(body):
            if before.text == token.text == "#" and token.joined:
                return f"line {token.line}: ##, which pastes words together; {_WHOLE}"
    if problem := next(filter(None, map(too_deep, [first_branches(code), *directives(code)])), None):
        return f"{problem}; {_SHORTER}"
    return check_directives(source)


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
        if problem := too_deep(code):
            return f"{problem}; {_SHORTER}"
        if problem := label(code):
            return f"{problem}; {_LOOP}"
        for token in Statements(code).leaving():
            if token.text not in free:
                via = f" (by way of the macro {token.macro})" if token.macro else ""
                return f"line {token.line}: {token.text}{via}; {_OUTSIDE}"
    except ValueError as error:
        return f"{error}; {_SHORTER}"
    return None


def check_state(source: str, preamble: str) -> str | None:
    """The first thing that `source` declares with a name that the walk behind it uses, with its line and advice."""
    (code,) = expanded_pieces(preamble, source)
    for token in declared_outside(code):
        if token.text in _BEHIND_STATE:
            return f"line {token.line}: declares {token.text}, a name of the library's; {_RENAME}"
    return None


def check_preamble(source: str) -> str | None:
    """The first thing in `source`, a preamble, that would break the code behind it, with its line and advice.

    That is a barrier, which not all work-items would reach together, or what has a name of the language or the library.
    """
    found = tokens(source)
    try:
        code = list(expanded(list(first_branches(found)), dict(definitions(source))))
    except ValueError as error:
        return f"{error}; {_SHORTER}"
    if problem := too_deep(code):
        return f"{problem}; {_SHORTER}"
    if problem := check_declarations(code):
        return problem
    for token in found:
        if token.is_name and BARRIER.match(token.text):
            return f"line {token.line}: {token.text}; {_APART}"
    problem = unbalanced(found)
    return problem and f"{problem}; {_ALONE}"
