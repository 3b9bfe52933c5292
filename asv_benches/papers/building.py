"""An index by a method of one's own, which has no name that :func:`clfrnn.build_index` knows."""

from __future__ import annotations

from typing import Any

import pyopencl.array as cla

import clfrnn
from clfrnn.arrays import REAL_OF, one_radius
from clfrnn.domain.box import open_space
from clfrnn.index import Index
from clfrnn.methods.base import Method
from clfrnn.methods.domain_tables.kinds import make_tables
from clfrnn.methods.structure import NewPoints
from clfrnn.points.deferred_checks import DeferredChecks
from clfrnn.primitives.reduce import bounding_box
from clfrnn.problem import Problem
from clfrnn.survey import Survey

__all__ = ["build_by"]


def build_by(method: Method, session: clfrnn.Session, points: cla.Array, radius: float, **options: Any) -> Index:
    """The index of points on the device, by the steps of :func:`clfrnn.build_index`; points count as lying evenly."""
    n, dim = points.shape
    bounds = bounding_box(session, points)
    box, own = bounds.read(), one_radius(radius, points.dtype)
    problem = Problem(
        n=n,
        domain=open_space(dim),
        real=REAL_OF[points.dtype],
        radius=own,
        survey=Survey(n=n, low=box.low, high=box.high),
        options=method.check(options),
        why="asked for with a plan of its own",
    )
    checks = DeferredChecks(session, dtype=points.dtype, dim=dim, radius=own, space=problem.space, points=bounds)
    new = NewPoints(points, bounds, make_tables(session, problem.domain, points, own))
    plan = method.plan(problem, session.profile, session.tuning)
    return Index(method, method.build(session, problem, checks, plan, new=new), has_box=False, chosen=False)
