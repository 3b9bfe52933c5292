"""Lists in two passes: a count, a scan of the counts into offsets, and a walk or a launch that writes the rows."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

from ...config import LONG
from ...errors import DeviceMemoryError
from ...methods.first_pass.base import FirstPass, make_hit_mask, make_neighbor_buffer
from ...methods.request import QueryRequest
from ...methods.traversal import Traversal
from ...primitives.readback import Readback
from ...primitives.scan import Packed, counts_between, exclusive_scan
from ...results import NeighborList
from ...runtime.scratch import Scratch
from ..count_nearest import count_for_list
from .budget import affords, check_budget, fits
from .columns import Columns, most_alike, offset_type
from .plan import ListPlan, ListProblem, plan_list
from .rows import Rows
from .state import ListState

__all__ = ["list_neighbors", "list_problem", "make_list"]


def list_neighbors(
    traversal: Traversal,
    state: ListState | None,
    request: QueryRequest,
    columns: Columns,
    *,
    max_bytes: int | None,
    hint: int | None = None,
) -> NeighborList:
    """Make a list for a request.

    A `hint` is the approximate number of pairs, at least. With a `state` an index makes lists repeatedly: their memory
    is that which earlier lists lead to expect, and nothing is compiled after the first list. A single search has none.
    """
    session, m, foreseen, overflows = traversal.session, request.m, None, False
    if state is not None:
        kind = request.kind
        foreseen, overflows = state.capacity.foreseen(kind), state.capacity.overflows(kind)
    if foreseen is not None and not affords(session, columns, m, foreseen, max_bytes):
        foreseen = None
    if hint is not None and not affords(session, columns, m, hint, max_bytes):
        hint = None
    plan = plan_list(
        list_problem(traversal, request),
        columns,
        traversal.structure.list_facts,
        session.profile,
        session.tuning,
        memory=session.available(),
        foreseen=foreseen,
        hint=hint,
        overflows=overflows,
    )
    return make_list(traversal, state, request, columns, plan, max_bytes=max_bytes)


def make_list(
    traversal: Traversal,
    state: ListState | None,
    request: QueryRequest,
    columns: Columns,
    plan: ListPlan,
    *,
    max_bytes: int | None = None,
) -> NeighborList:
    """Make a list by a plan; `state` as for :func:`list_neighbors`."""
    if plan.capacity == "hinted":
        return _make_hinted(traversal, state, request, columns, plan, max_bytes=max_bytes)
    checks, kind = traversal.checks, None if state is None else request.kind
    rows = Rows(
        traversal=traversal,
        request=request,
        columns=columns,
        measured=plan.attributes == "measured",
        bounded=state is not None or plan.capacity == "foreseen",
    )
    readback = checks.readback
    offsets, first_pass = _count(rows, state, plan, readback.front)
    # To enqueue a copy takes longer than a short launch that writes rows from a buffer, which therefore goes first.
    if not plan.overflow_waits:
        readback.start()
    arrays = _fill_foreseen(rows, offsets, first_pass, plan) if plan.capacity == "foreseen" else None
    if plan.overflow_waits:
        readback.start()
    pairs, word, _ = readback.wait()
    checks.settle()
    buffer = None if first_pass is None else first_pass.buffer
    overflowed = buffer is None or word == buffer.serial  # the walk has rows to write
    if buffer is not None and state is not None:
        state.settle_overflow(kind, overflowed)
    capacity = pairs if state is None else state.capacity.settle(kind, pairs, most_alike(pairs))
    if arrays is not None and pairs <= plan.pairs and offsets.dtype == offset_type(pairs):
        if plan.overflow_waits and overflowed:
            rows.finish(arrays, rows.walk(arrays, first_pass=first_pass))
        return rows.as_list(rows.cut(arrays, pairs, copied=2 * pairs < plan.pairs))
    del arrays  # the pool gives its memory to the list that is written now
    session, held = traversal.session, offsets.nbytes
    if not fits(session, columns, request.m, pairs, held=held):
        # The memory of the first pass, or of points to compute attributes from, may be what is missing.
        first_pass, rows, overflowed = None, rows.with_row(), True
        check_budget(session, columns, request.m, pairs, max_bytes, held=held)
    elif max_bytes is not None:
        check_budget(session, columns, request.m, pairs, max_bytes, held=held)
    if capacity > pairs and not affords(session, columns, request.m, capacity, max_bytes, held=held):
        capacity = pairs
    offsets = _offsets_for(rows, offsets, pairs)
    if first_pass is not None and not overflowed and state is not None:
        rows.prepare(offsets, first_pass)
    try:
        arrays = rows.allocate(offsets, pairs, capacity=capacity)
    except DeviceMemoryError:  # the driver may refuse what should fit: the list alone needs the least
        first_pass, rows, overflowed = None, rows.with_row(), True
        arrays = rows.allocate(offsets, pairs, capacity=pairs)
    return rows.as_list(rows.cut(rows.fill(arrays, first_pass=first_pass, walk=overflowed), pairs))


def list_problem(traversal: Traversal, request: QueryRequest) -> ListProblem:
    """The facts that the plan of a request's list depends on."""
    problem = traversal.problem
    return ListProblem(
        m=request.m,
        n=problem.n,
        foreign=request.queries is not None,
        reads_copy=request.reads_copy,
        pairs=request.m * problem.survey.neighbors(request.radius),
        periodic=bool(problem.periodic),
    )


def _count(rows: Rows, state: ListState | None, plan: ListPlan, total: Scratch) -> tuple[cla.Array, FirstPass | None]:
    """Enqueue the count and the scan of a list: its offsets, and what the count left for the rows.

    The number of pairs is written to `total`.
    """
    traversal, request = rows.traversal, rows.request
    session, facts, m = traversal.session, traversal.structure.list_facts, request.m
    first_pass: FirstPass | None = None
    if plan.first_pass == "hit_mask":
        size = facts.mask_word_bytes
        first_pass = make_hit_mask(session, queries=m, words=plan.size, word_bytes=size, spare=facts.mask_spare)
    elif plan.first_pass == "neighbor_buffer":
        serial = session.draw_serial() if state is None else state.serial
        first_pass = make_neighbor_buffer(session, queries=m, slots=plan.size, total=total, serial=serial)
    counts = count_for_list(traversal, request, first_pass)
    offsets = session.allocate(m + 1, plan.offsets, purpose="the offsets of the list")
    buffer = None if first_pass is None else first_pass.buffer
    packed = None if buffer is None else Packed(buffer.slots, buffer.indices)
    exclusive_scan(session, counts, offsets, total, packed=packed)
    return offsets, first_pass


def _fill_foreseen(
    rows: Rows, offsets: cla.Array, first_pass: FirstPass | None, plan: ListPlan
) -> dict[str, cla.Array] | None:
    """The list, should it be no longer than the plan has it; None where there is not even memory for that."""
    try:
        arrays = rows.allocate(offsets, plan.pairs, capacity=plan.pairs)
        return rows.fill(arrays, first_pass=first_pass, walk=not plan.overflow_waits)
    except DeviceMemoryError:
        return None


def _offsets_for(rows: Rows, offsets: cla.Array, pairs: int) -> cla.Array:
    """The `offsets`, scanned again where their dtype is too small or larger than needed."""
    exact, session = offset_type(pairs), rows.traversal.session
    if offsets.dtype == exact:
        return offsets
    found = session.allocate(offsets.shape[0], exact, purpose="the offsets of the list")
    counts = counts_between(session, offsets)
    exclusive_scan(session, counts, found, session.scratch(1, LONG, purpose="the number of pairs"))
    return found


def _make_hinted(
    traversal: Traversal,
    state: ListState | None,
    request: QueryRequest,
    columns: Columns,
    plan: ListPlan,
    *,
    max_bytes: int | None,
) -> NeighborList:
    """Make a list in memory for the pairs of a hint, without waiting for their number.

    The list waits when it is first read. Where there are more pairs, rows are written again, into more memory.
    """
    session, checks = traversal.session, traversal.checks
    running, bad = (*checks.of_points(), *request.checks), checks.bad_points()
    request = request.owned(session)
    rows = Rows(
        traversal=traversal,
        request=request,
        columns=columns,
        measured=plan.attributes == "measured",
        bounded=True,
    )
    readback = Readback(session)
    offsets, first_pass = _count(rows, state, plan, readback.front)
    written = _fill_foreseen(rows, offsets, first_pass, plan)
    # The list does not hold the first pass until it is read. Where there was no memory, that of the first pass or of
    # points to compute attributes from may be what was missing.
    del first_pass
    rows = rows.with_row()
    arrays = written or rows.fill(rows.allocate(offsets, plan.pairs, capacity=plan.pairs))

    def settle() -> dict[str, Any]:
        # These are the checks of the arrays that this list is made from, not of later ones.
        if bad is not None:
            raise bad
        readback.start()
        checks.judge(running)  # waits for the same kernels
        pairs, _, _ = readback.wait()
        held = sum(array.nbytes for array in arrays.values())
        check_budget(session, columns, request.m, pairs, max_bytes, held=held)
        if pairs <= plan.pairs and offsets.dtype == offset_type(pairs):
            return rows.cut(arrays, pairs)
        arrays.clear()  # the pool gives its memory to the list that is written now
        again = rows.allocate(_offsets_for(rows, offsets, pairs), pairs, capacity=pairs)
        return rows.cut(rows.fill(again), pairs)

    return rows.as_list(settle)
