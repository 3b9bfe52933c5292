"""Names: what code of users must not define or declare, as it would change the code of the library around it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from .tokens import CLOSES, Token, directives, tokens
from .words import is_of_library, why_reserved

__all__ = ["check_declarations", "check_directives", "check_names"]

_RENAME = "choose another name"

#: The directives that a piece may have.
_DIRECTIVES = frozenset(
    ["define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "line", "pragma"]
)

#: The first words of the pragmas that a piece may have, which concern the next loop, or extensions, or warnings.
_PRAGMAS = (
    ("unroll",),
    ("nounroll",),
    ("ivdep",),
    ("OPENCL", "EXTENSION"),
    ("clang", "loop"),
    ("clang", "diagnostic"),
    ("GCC", "unroll"),
    ("GCC", "ivdep"),
    ("GCC", "diagnostic"),
)
_OPERATOR = re.compile(r'\b_Pragma\s*\(\s*"([^"\n]*)"')

#: Names of the library's that any code may use, the correctly rounded root.
_SHARED = frozenset(["frnn_sqrt"])

#: Directives inside each other, at most; each has its #endif.
_DEEPEST = 200


def check_directives(source: str) -> str | None:
    """The first directive of the preprocessor that `source` must not have, with its line and advice."""
    depth = 0
    for line in directives(tokens(source)):
        word = line[1].text if len(line) > 1 else ""
        at = f"line {line[0].line}: #{word}"
        depth += word.startswith("if") - (word == "endif")
        if depth > _DEEPEST:
            return f"{at} inside more than {_DEEPEST} others; write fewer inside each other"
        if len(line) > 1 and line[1].is_name and word not in _DIRECTIVES:
            return f"{at}, which compilers replace by text that nobody has checked; paste the text of the file"
        if word == "pragma" and not _is_allowed([token.text for token in line[2:]]):
            return f"{at}: {_of_pragma([token.text for token in line[2:]])}"
        if word in ("define", "undef") and len(line) > 2 and (why := why_reserved(line[2].text)):
            return f"{at} of {line[2].text}, {why}; {_RENAME}"
    written = [list(map(str, re.findall(r"\w+", text))) for text in _OPERATOR.findall(source)]
    operators = [token for token in tokens(source) if token.text == "_Pragma"]
    for token, words in zip(operators, [*written, *([""] for _ in operators)], strict=False):
        if not _is_allowed(words):
            return f"line {token.line}: _Pragma: {_of_pragma(words)}"
    return None


def _is_allowed(words: Sequence[str]) -> bool:
    return any(tuple(words[: len(allowed)]) == allowed for allowed in _PRAGMAS)


def _of_pragma(words: Sequence[str]) -> str:
    """Why a pragma is refused."""
    if "FP_CONTRACT" in words:
        return "products and sums are rounded each by itself; leave it out, and call fma where you want that"
    return "it may change the code of the library around it; leave it out"


def check_names(source: str) -> str | None:
    """The first name in `source` that belongs to the library, with its line and advice."""
    for token in tokens(source):
        if token.is_name and is_of_library(token.text) and token.text not in _SHARED:
            return f"line {token.line}: {token.text}, a name of the library's; {_RENAME}"
    return None


def check_declarations(code: Sequence[Token]) -> str | None:
    """The first thing that `code`, outside of functions, declares with a reserved name; with its line and advice."""
    depth, value = 0, False
    for token, behind in itertools.pairwise(code):
        depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
        if depth:
            continue
        if token.text in ("=", ",", ";", "}"):
            value = token.text == "="
        if token.is_name and not value and behind.text in ("(", ";", ",", "=", "["):
            why = why_reserved(token.text)
            if why and why not in ("a word of OpenCL C", "a name of the compiler's"):
                return f"line {token.line}: declares {token.text}, {why}; {_RENAME}"
    return None
