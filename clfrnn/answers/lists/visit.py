"""Visits of a list: a user's function runs for every listed pair that is still within the radius."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...config import LONG, VisitVariant
from ...errors import KernelBuildError
from ...functions import NeighborFunction, WalkFunction, under
from ...points.conditions import bind_condition
from ...points.visit_arguments import Bound
from ...primitives.moved import Period
from ...results import NeighborList
from ...runtime.session import Session
from ..visit import run_function
from .config import plan_list_visit

__all__ = ["ListedPairs", "visit_pairs"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListedPairs:
    """A list, and where its points lie now."""

    neighbors: NeighborList
    #: the positions now, (n, dim)
    points: cla.Array
    period: Period
    #: how often each point was shifted since the list was made, (n, dim) int32; None where the list has no shifts, as a
    #: neighbor is the nearest image of its point
    wraps: cla.Array | None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arrays as arguments of the kernel."""
        found, wraps = self.neighbors, self.wraps
        stored = () if wraps is None else (found.shifts.base_data, wraps.base_data)
        arrays = found.offsets.base_data, found.indices.base_data, self.points.base_data
        return *arrays, *self.period.arguments, *stored


def visit_pairs(
    session: Session,
    pairs: ListedPairs,
    function: NeighborFunction,
    *,
    radius: float,
    where: Any,
    checked: bool,
    arguments: Mapping[str, Any],
) -> cl.Event:
    """Run `function` for the listed pairs whose distance is now at most `radius`, and for which `where` holds."""
    n, dim = pairs.points.shape
    dtype = pairs.points.dtype
    condition = None if where is None else bind_condition(session, where, dtype, m=n, n=n)

    def launch(walked: WalkFunction, bound: Bound) -> cl.Event | None:
        values, variant = bound.values, VisitVariant(foreign=True)
        if condition is not None:
            walked = under(walked, condition.code)
            given = (value.base_data if isinstance(value, cla.Array) else value for value in condition.values)
            values = [*values, *given]
        facts: dict[str, Any] = {"dim": dim, "real": REAL_OF[dtype], "periodic": pairs.period.kind}
        facts |= {"offset": "long" if pairs.neighbors.offsets.dtype == LONG else "int"}
        config = plan_list_visit(session.profile, session.tuning, **facts, stored=pairs.wraps is not None)
        try:
            kernels, config = session.kernels("answers/lists/visit", config, walked, variant)
        except KernelBuildError as error:
            if condition is not None:
                error.args = (f"{error}{condition.hint(n, n)}",)
            raise
        asked = np.dtype(dtype).type(radius), *pairs.arguments, *values
        tests = float(pairs.neighbors.num_pairs)
        return session.launch_sliced(kernels["visit_list"], n, config.work_group_size, *asked, pairs=tests)

    many = {"i": n, "j": n} if checked else None
    return run_function(session, function, arguments, launch, dtype=dtype, dim=dim, many=many)
