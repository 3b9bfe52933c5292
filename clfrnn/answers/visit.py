"""Visit: runs a user's function for every neighbor of every query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyopencl as cl

from ..errors import InvalidInputError
from ..functions import NeighborFunction, WalkFunction, walk_function
from ..host.memory import check_memory_to_launch
from ..methods.traversal import Traversal
from ..points.transfer import release_queue
from ..points.visit_arguments import Bound, bind
from ..runtime.session import Session
from .requests import make_request

__all__ = ["run_function", "visit"]


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
    request = make_request(
        traversal, queries, radius=radius, include_self=include_self, where=where, query_batch=query_batch
    )

    def launch(walked: WalkFunction, bound: Bound) -> cl.Event | None:
        return traversal.run(walked, request.without_shared(traversal.session, bound.written), bound.values)

    many = {"i": request.m, "j": traversal.num_points} if checked else None
    known: dict[str, Any] = {"dtype": traversal.dtype, "dim": traversal.dim, "many": many}
    return run_function(traversal.session, function, arguments, launch, **known)


def run_function(
    session: Session,
    function: NeighborFunction,
    arguments: Mapping[str, Any],
    launch: Callable[[WalkFunction, Bound], cl.Event | None],
    *,
    dtype: np.dtype[Any],
    dim: int,
    many: Mapping[str, int] | None,
) -> cl.Event:
    """Bind the `arguments` of a user's function, and `launch` it; the event of that, or of nothing to do.

    See :func:`~clfrnn.points.visit_arguments.bind` for the other arguments.
    """
    if not isinstance(function, NeighborFunction):
        raise InvalidInputError(
            f"expected a clfrnn.NeighborFunction, got {type(function).__name__}; "
            "wrap the code: clfrnn.NeighborFunction(per_neighbor=...)",
            argument="function",
        )
    if session.profile.kind != "gpu":  # other calls allocate memory, which is looked at then
        check_memory_to_launch()
    walked = walk_function(function)
    bound = bind(session, walked, arguments, dtype=dtype, dim=dim, many=many)
    session.use(walked)
    event = launch(walked, bound) or cl.enqueue_marker(session.queue)
    session.publish(event, *bound.borrowed)  # other queues must not write to what the visit reads, either
    for array in bound.borrowed:
        release_queue(session, array)
    return event
