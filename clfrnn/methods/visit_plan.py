"""VisitPlan: what a visit needs to know of the search structure that it goes through. Pure."""

from __future__ import annotations

import dataclasses

__all__ = ["VisitPlan"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisitPlan:
    """The launches of a visit by one function, and how long they may take."""

    #: the periodic images that each launch covers: see :class:`~clfrnn.config.VisitVariant`
    images: tuple[str, ...]
    #: for each launch whether work-item i serves query i, so that it can serve a range of queries
    by_number: tuple[bool, ...]
    #: the expected number of candidates that a query tests, and an upper bound of it for all positions of points
    tests_of_query: float
    most_tests_of_query: float
    #: whether several work-items share the candidates of each query and add up their results
    divided: bool = False
    #: the number of cells, where each work-group serves the queries of a cell
    cells: int = 0
