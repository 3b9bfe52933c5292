"""Half of a relation: each pair is listed once, where a pair is one whichever of its two points is asked."""

from __future__ import annotations

from ..errors import InvalidInputError

__all__ = ["check_half"]


def check_half(*, queries: int | None, radii: int | None) -> None:
    """Raise where lists cannot have each pair once.

    Parameters
    ----------
    queries : the number of queries that are no points, or None where the points are asked
    radii : the number of radii, one for each query, or None for one of all
    """
    if queries is not None:
        raise InvalidInputError(
            f"expected no queries, got {queries:,} of them; pairs between queries and points have no half: leave one "
            "of the two out",
            argument="half",
        )
    if radii is not None:
        raise InvalidInputError(
            f"expected one radius for all, got one per query, of shape ({radii},), and the relation is not symmetric "
            "then; pass one radius, or leave half out",
            argument="half",
        )
