"""Lengths of the arrays that code of users indexes by the number of the query or of the neighbor."""

from __future__ import annotations

from collections.abc import Mapping

from ..scanner import Indexed

__all__ = ["LONGER", "too_short"]

_OF = {"i": ("query", "queries"), "j": ("neighbor", "points")}

#: What to do about an array that is too short.
LONGER = (
    "the code would read memory behind it: pass an array for the points and queries of now, or checked=False where the "
    "code leaves such numbers out"
)


def too_short(access: Indexed, elements: int, many: Mapping[str, int]) -> str | None:
    """What was expected of an array of `elements` elements; None where they suffice.

    `many` are the numbers of queries and of points, by the names of their indices.
    """
    if elements >= access.times * many[access.at]:
        return None
    each, all_of_them = _OF[access.at]
    wanted = "one element" if access.times == 1 else f"{access.times} elements"
    return (
        f"expected {wanted} for each of {many[access.at]:,} {all_of_them}, as the code indexes it by "
        f"{access.at}, the number of the {each}"
    )
