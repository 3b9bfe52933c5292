"""Scanner: reads OpenCL C far enough to find what a user's piece of a kernel must not contain."""

from __future__ import annotations

from .indices import Indexed, indexed
from .lengths import too_deep
from .macros import definitions, expanded, expanded_pieces, forbidden_macros, forbidden_word, meaning_of_type
from .names import check_names
from .pieces import check_leaving, check_piece, check_preamble, check_reading, check_state
from .tokens import Token, tokens, unbalanced
from .words import is_keyword

__all__ = [
    "Indexed",
    "Token",
    "check_leaving",
    "check_names",
    "check_piece",
    "check_preamble",
    "check_reading",
    "check_state",
    "definitions",
    "expanded",
    "expanded_pieces",
    "forbidden_macros",
    "forbidden_word",
    "indexed",
    "is_keyword",
    "meaning_of_type",
    "tokens",
    "too_deep",
    "unbalanced",
]
