"""Steps of a simulation: an update of an index, and a query behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

import clfrnn

from .clocks import Step

#: Longer lists are asked for in blocks of so many bytes.
MOST_PAIRS, BLOCK = 1 << 30, 1 << 32


class Steps(NamedTuple):
    """What is measured of a cloud: neighbors of a point, and updates with each kind of query, lists maybe by blocks."""

    neighbors: float
    count: Step
    lists: Step
    by_blocks: bool
    nearest: Step


def steps_of(session: clfrnn.Session, points: Any, radius: float, method: str = "auto", **options: Any) -> Steps:
    """Of an index over points on the device; lists that are too long for memory by blocks."""
    on_device = cla.to_device(session.queue, points)
    index = clfrnn.build_index(on_device, radius, method=method, session=session, **options)
    pairs = int(index.count().get().sum(dtype=np.int64))
    assert pairs > 0, "a benchmark that finds nothing measures nothing"
    by_blocks = pairs > MOST_PAIRS

    def behind_an_update(query: Callable[[], object]) -> Step:
        def step() -> object:
            index.update(on_device)
            return query()

        return step

    def blocks() -> object:
        return sum(part.num_pairs for part in index.query_blocks(max_bytes=BLOCK))

    return Steps(
        neighbors=pairs / len(points),
        count=behind_an_update(index.count),
        lists=behind_an_update(blocks if by_blocks else index.query),
        by_blocks=by_blocks,
        nearest=behind_an_update(index.nearest),
    )
