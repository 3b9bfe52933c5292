"""Queries of an index that stands: what lists carry, periodic boxes, functions, other queries and conditions cost."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

from ..benchmarks.common import conditions
from ..benchmarks.visit import DENSITY
from .clocks import Step, milliseconds
from .clouds import Named, is_uniform, side_of
from .tables import head, row, say


def beside(session: clfrnn.Session, points: Any, radius: float, side: float, method: str) -> list[Any]:
    """Neighbors, and the milliseconds of count, lists and nearest, each also periodic, and of an SPH density.

    Last, those of a periodic count of the same points, the first of which lies outside of the box.
    """
    on_device = cla.to_device(session.queue, points)
    mass = cla.to_device(session.queue, np.ones(len(points), points.dtype))
    density = cla.empty_like(mass)
    plain = clfrnn.build_index(on_device, radius, method=method, session=session)
    box = (side,) * points.shape[1]
    periodic = clfrnn.build_index(on_device, radius, method=method, session=session, box=box, periodic=True)
    strayed = points.copy()
    strayed[0, 0] += side
    outside = clfrnn.build_index(strayed, radius, method=method, session=session, box=box, periodic=True)
    pairs = plain.query().num_pairs
    assert pairs > 0, "a benchmark that finds nothing measures nothing"
    asked: list[Step] = [
        plain.count,
        periodic.count,
        plain.query,
        periodic.query,
        plain.nearest,
        periodic.nearest,
        lambda: plain.visit(DENSITY, h2=radius * radius, mass=mass, density=density),
        outside.count,
    ]
    return [pairs / len(points), *(milliseconds(session, step).span for step in asked)]


def carried(session: clfrnn.Session, points: Any, radius: float, *, method: str, **domain: Any) -> list[float]:
    """Milliseconds of lists of numbers, with distances, with vectors too, and of both kinds of sorted ones."""
    index = clfrnn.build_index(cla.to_device(session.queue, points), radius, method=method, session=session, **domain)
    asked: list[dict[str, Any]] = [
        {},
        {"distances": True},
        {"distances": True, "vectors": True},
        {"sort": "index"},
        {"distances": True, "sort": "distance"},
    ]
    return [milliseconds(session, functools.partial(index.query, **what)).span for what in asked]


def foreign(session: clfrnn.Session, points: Any, radius: float, side: float, method: str) -> list[list[Any]]:
    """Milliseconds of count, lists and nearest of the points, and of random queries, as many and fewer by the way."""
    rng, on_device = np.random.default_rng(1), cla.to_device(session.queue, points)
    index = clfrnn.build_index(on_device, radius, method=method, session=session)
    rows = []
    for m in (None, len(points), len(points) // 4, len(points) // 16):
        queries = None
        if m is not None:
            host = (side * rng.random((m, points.shape[1]))).astype(points.dtype)
            queries = cla.to_device(session.queue, host)
        asked = [functools.partial(each, queries) for each in (index.count, index.query, index.nearest)]
        rows.append([m, *(milliseconds(session, step).span for step in asked)])
    return rows


def print_beside(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of what a periodic box and a user's function cost, with ratios to their plain counterparts."""
    say(session, f"method {method}")
    columns = ["count", "periodic", "lists", "periodic", "nearest", "periodic", "SPH density", "one point outside"]
    head("cloud", "neighbors:", *(f"{each}:" for each in columns))
    for name, make in named.items():
        if not is_uniform(name):
            continue
        mean, *times = beside(session, *make(), side_of(name), method)
        cells = [f"{mean:.2f}", f"{times[0]:.3f}"]
        for k, base in ((1, 0), (2, 2), (3, 2), (4, 4), (5, 4), (6, 0), (7, 0)):
            ratio = "" if k == base else f" ({times[k] / times[base]:.2f} x)"
            cells.append(f"{times[k]:.3f}{ratio}")
        row(name, *cells)


def print_carried(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of what lists carry, in the open and in a periodic box."""
    say(session, f"method {method}")
    what = ("numbers:", "distances:", "distances, vectors:", "sorted by index:", "distances, sorted by them:")
    head("cloud", "box", *what)
    for name, make in named.items():
        if not is_uniform(name):
            continue
        points, radius = make()
        side = (side_of(name),) * points.shape[1]
        for box, domain in (("open", {}), ("periodic", {"box": side, "periodic": True})):
            times = carried(session, points, radius, method=method, **domain)
            row(name, box, *(f"{each:.3f}" for each in times))


def print_foreign(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of queries that are no points."""
    say(session, f"method {method}")
    head("cloud", "queries:", "count:", "lists:", "nearest:")
    for name, make in named.items():
        if not is_uniform(name):
            continue
        for m, *times in foreign(session, *make(), side_of(name), method):
            row(name, "the points" if m is None else f"{m:,}", *(f"{each:.3f}" for each in times))


def print_conditions(session: clfrnn.Session, named: Named, method: str) -> None:
    """The table of counts and lists under conditions, with ratios to the plain ones."""
    say(session, f"method {method}")
    head("cloud", "call", *(f"`{text}`:" for text in conditions(session, 1, 1.0)))
    for name, make in named.items():
        if not is_uniform(name):
            continue
        points, radius = make()
        index = clfrnn.build_index(cla.to_device(session.queue, points), radius, method=method, session=session)
        asked = conditions(session, len(points), radius).values()
        for call, step in (("count", index.count), ("lists", index.query)):
            plain, *times = (milliseconds(session, functools.partial(step, where=where)).span for where in asked)
            row(name, call, f"{plain:.3f}", *(f"{each:.3f} ({each / plain:.2f} x)" for each in times))
