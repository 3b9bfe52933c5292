"""Scanner: reads OpenCL C far enough to find what a user's piece of a kernel must not contain."""

from __future__ import annotations

from .macros import definitions, expanded, forbidden_macros, forbidden_word
from .pieces import check_leaving, check_piece, check_preamble, check_reading
from .tokens import Token, tokens, unbalanced

__all__ = [
    "Token",
    "check_leaving",
    "check_piece",
    "check_preamble",
    "check_reading",
    "definitions",
    "expanded",
    "forbidden_macros",
    "forbidden_word",
    "tokens",
    "unbalanced",
]
