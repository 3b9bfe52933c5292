"""Visit: runs a user's function for every neighbor of every query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyopencl as cl

from ..errors import InvalidInputError
from ..functions import NeighborFunction, walk_function
from ..host.memory import check_memory_to_launch
from ..methods.traversal import Traversal
from ..points.transfer import release_queue
from ..points.visit_arguments import bind
from .requests import make_request

__all__ = ["visit"]


def visit(
    traversal: Traversal,
    function: NeighborFunction,
    queries: Any,
    *,
    radius: Any,
    include_self: bool,
    where: Any = None,
    query_batch: Any = None,
    checked: bool = True,
    arguments: Mapping[str, Any],
) -> cl.Event:
    """See :meth:`clfrnn.Index.visit`; `arguments` are the values of those that the function declares."""
    if not isinstance(function, NeighborFunction):
        raise InvalidInputError(
            f"expected a clfrnn.NeighborFunction, got {type(function).__name__}; "
            "wrap the code: clfrnn.NeighborFunction(per_neighbor=...)",
            argument="function",
        )
    session = traversal.session
    if session.profile.kind != "gpu":  # other calls allocate memory, which is looked at then
        check_memory_to_launch()
    request = make_request(
        traversal, queries, radius=radius, include_self=include_self, where=where, query_batch=query_batch
    )
    walked = walk_function(function)
    many = {"i": request.m, "j": traversal.num_points} if checked else None
    bound = bind(session, walked, arguments, dtype=traversal.dtype, dim=traversal.dim, many=many)
    session.use(walked)
    request = request.without_shared(session, bound.written)
    event = traversal.run(walked, request, bound.values) or cl.enqueue_marker(session.queue)
    session.publish(event, *bound.borrowed)  # other queues must not write to what the visit reads, either
    for array in bound.borrowed:
        release_queue(session, array)
    return event
