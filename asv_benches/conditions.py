"""What conditions on pairs cost beside plain counts and lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click
import pyopencl.array as cla

import clfrnn

from .benchmarks.common import conditions
from .named import is_uniform, milliseconds
from .provenance import say

__all__ = ["print_conditions"]


def print_conditions(session: clfrnn.Session, named: dict[str, Callable[[], tuple[Any, float]]], method: str) -> None:
    """The table of counts and lists under conditions, with ratios to the plain ones."""
    say(session, f"method {method}")
    click.echo(f"| cloud | call | {' | '.join(f'`{text}`' for text in conditions(session, 1, 1.0))} |")
    click.echo("|---|---|---:|---:|---:|---:|")
    for name, make in named.items():
        if not is_uniform(name):
            continue
        points, radius = make()
        index = clfrnn.build_index(cla.to_device(session.queue, points), radius, method=method, session=session)
        asked = conditions(session, len(points), radius).values()
        for call, step in (("count", index.count), ("lists", index.query)):
            times = [milliseconds(session, functools.partial(step, where=where)).span for where in asked]
            ratios = [f"{each:.3f} ({each / times[0]:.2f} x)" for each in times[1:]]
            click.echo(f"| {name} | {call} | {times[0]:.3f} | {' | '.join(ratios)} |")
