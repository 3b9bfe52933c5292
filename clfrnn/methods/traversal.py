"""Traversal: runs a function for every neighbor of every query, through one search structure."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..domain.cells import padded_radius
from ..errors import KernelBuildError
from ..functions import WalkFunction, under
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from .first_pass.base import FirstPass
from .request import QueryRequest
from .structure import SearchStructure

__all__ = ["Traversal"]


class Traversal:
    """Runs functions over the neighbors of queries; every query of an index goes through :meth:`run`.

    Queries have radii up to that of the structure, or up to a larger one that the structure reaches.
    """

    def __init__(self, structure: SearchStructure, radius: float | None = None) -> None:
        problem = structure.problem
        self.structure, self.session, self.problem = structure, structure.session, problem
        self.checks, self.dtype = structure.checks, structure.dtype
        self.num_points, self.dim = problem.n, problem.dim
        self.radius = problem.radius if radius is None else radius
        #: compiled kernels and their configs, by kind of query
        self._programs: dict[tuple[Any, ...], tuple[Kernel, Any]] = {}
        #: how often programs had been forgotten when these were found
        self._forgotten = structure.session.programs.forgotten

    def run(
        self,
        function: WalkFunction,
        request: QueryRequest,
        values: Sequence[Any],
        *,
        every_candidate: bool = False,
        first_pass: FirstPass | None = None,
    ) -> cl.Event | None:
        """Enqueue `function` with the `values` of its arguments; return the last event, or None without queries.

        With `every_candidate` the function runs for each candidate, whatever its distance. With a `first_pass` a count
        fills it, and the walk of the list after that reads it. Where the request has a condition, the function runs for
        those neighbors alone for which it holds.
        """
        structure, part = self.structure, request.part
        if request.where is not None:
            function, values = under(function, request.where.code), (*values, *request.where.values)
        if request.radii is not None:
            reach = (request.radii.base_data, self.dtype.type(self.radius))
        else:
            reach = _reach(request.radius, self.problem.real, self.dtype, every_candidate)
        asked = [] if request.queries is None else [request.queries.base_data]
        if request.systems is not None:
            asked.append(request.systems.base_data)
        shared = (*reach, *asked, *request.arguments)
        own = [value.base_data if isinstance(value, (cla.Array, Scratch)) else value for value in values]
        buffers = () if first_pass is None else first_pass.arguments
        event, plan = None, structure.plan_visit(function, request)
        for images, by_number in zip(plan.images, plan.by_number, strict=True):
            within = () if part is None or by_number else part
            kind = {"images": images, "part": bool(within), "shared": plan.divided}
            kernel, config = self._program(function, request, first_pass, kind)
            first, units = 0, config.units(request.m, plan.cells)
            if part is not None and by_number:
                first, units = part[0], part[1] - part[0]
            event = self.session.launch_sliced(
                kernel,
                units,
                config.work_group_size,
                request.include_self,
                *within,
                *shared,
                *(() if by_number else request.query_order),
                *buffers,
                *own,
                pairs=(units if by_number else request.m) * plan.tests_of_query,
                most=request.m * plan.most_tests_of_query if function.own else math.inf,
                begin=first,
            )
        return event

    def prepare(self, function: WalkFunction, request: QueryRequest, first_pass: FirstPass | None) -> None:
        """Compile the kernels that :meth:`run` would launch, so that later steps of a loop compile nothing."""
        if request.where is not None:
            function = under(function, request.where.code)
        plan = self.structure.plan_visit(function, request)
        for images, by_number in zip(plan.images, plan.by_number, strict=True):
            part = request.part is not None and not by_number
            kind = {"images": images, "part": part, "shared": plan.divided}
            self._program(function, request, first_pass, kind)

    def _program(
        self,
        function: WalkFunction,
        request: QueryRequest,
        first_pass: FirstPass | None,
        of_launch: dict[str, Any],
    ) -> tuple[Kernel, Any]:
        """The kernel that runs `function` for the kind of `request`, and the config that it was compiled for.

        `of_launch` are the fields of the variant that differ between the launches of visits.
        """
        special = of_launch if first_pass is None else {**of_launch, **first_pass.variant(light=function.light)}
        queries = request.queries is None, request.reads_copy, request.radii is None, request.half
        kind = (function.key, *queries, *special.values())
        if self._forgotten != self.session.programs.forgotten:
            self._programs.clear()
            self._forgotten = self.session.programs.forgotten
        found = self._programs.get(kind)
        if found is None:
            variant = request.variant(**special)
            config = self.structure.config_for(function, variant)
            try:
                kernels, config = self.session.kernels(self.structure.stem, config, function, variant)
            except KernelBuildError as error:
                if request.where is not None:
                    error.args = (f"{error}{request.where.hint(self.num_points, request.m)}",)
                raise
            found = self._programs[kind] = kernels["frnn_visit"], config
        return found


@functools.lru_cache(maxsize=256)
def _reach(radius: float, real: str, dtype: np.dtype[Any], every_candidate: bool) -> tuple[Any, Any]:
    """The radius that distances are compared with, and the padded radius of windows, as kernels take them."""
    return dtype.type(np.inf if every_candidate else radius), dtype.type(padded_radius(radius, real))
