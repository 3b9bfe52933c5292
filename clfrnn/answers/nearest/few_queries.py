"""Few queries: the k nearest neighbors of a few queries among all points, many work-items for each query."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ...arrays import REAL_OF
from ...config import INT, REAL_SIZE, VisitConfig
from ...groups import busy_units, group_size, square_root
from ...primitives.fill import fill
from ...profile import DeviceProfile
from ...results import Nearest
from ...runtime.scratch import Scratch
from ...runtime.session import Session
from ...tuning import Tuning
from .plan import largest_reach
from .rounds import ShortRows

__all__ = ["FewQueriesConfig", "fill_rows_of_few", "plan_few_queries"]

#: Bits that a pass finds of a key: counters for each of their values fit every local memory.
_DIGIT = 8

#: Groups that serve all queries together, for each compute unit.
_GROUPS_A_UNIT = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class FewQueriesConfig(VisitConfig):
    """Passes over all points, by groups that count keys by some of their bits."""

    digit: int = _DIGIT

    @property
    def local_memory(self) -> int:
        """Bytes of local memory for a group: a counter for each value of the bits."""
        return 4 << self.digit


def plan_few_queries(profile: DeviceProfile, tuning: Tuning, *, dim: int, real: str) -> FewQueriesConfig:
    """Plan groups as large as those that reduce points."""
    size = group_size(profile, tuning.primitives.reduce_group)
    return FewQueriesConfig(
        work_group_size=size, dim=dim, real=real, square_root=square_root(profile, real), periodic=""
    )


def fill_rows_of_few(
    session: Session, points: cla.Array, few: ShortRows, found: Nearest, *, of_points: bool
) -> cl.Event | None:
    """Enqueue the search for the k nearest of a `few` queries among `points`, (n, dim), in open space.

    They fill the rows of `found` that `few` names; `of_points` says that each of them is the point of that number,
    which is not its own neighbor. Cost: a pass over all pairs for each byte of a key, which is a squared distance and a
    number, but for the bytes that are 0 in all numbers.
    """
    (n, dim), k, m = points.shape, found.indices.shape[1], few.rows.size
    real = REAL_OF[points.dtype]
    kernels, config = session.planned("answers/nearest/few_queries", plan_few_queries, dim=dim, real=real)
    size = config.work_group_size
    parts = max(1, min(-(-n // size), _GROUPS_A_UNIT * busy_units(session.profile) // m))
    counts, taken = (_zeros(session, each) for each in (m << _DIGIT, m))
    # Of the known bits of a squared distance and of a number, how many neighbors are wanted, and whether all is known.
    reach = points.dtype.type(largest_reach(real))
    farthest = reach * reach
    word = np.dtype(np.uint64 if real == "double" else np.uint32)
    states = session.upload(np.tile(np.array([0, 0, k, 0], word), m), purpose="the keys of few queries")
    asked = points.base_data, few.positions.base_data, few.rows.base_data, int(of_points), farthest, states.base_data
    of_square, of_number = 8 * REAL_SIZE[real] // _DIGIT, 32 // _DIGIT
    needless = of_number - -(-(n - 1).bit_length() // _DIGIT)  # the first bits of all numbers are 0
    for at in (*range(of_square), *range(of_square + needless, of_square + of_number)):
        session.launch(kernels["count_keys"], m * parts * size, size, n, parts, at, *asked, counts.base_data)
        session.launch(kernels["choose_bits"], m * size, size, at, states.base_data, counts.base_data)
    squares, ids = (session.scratch(m * k, dtype, purpose="the rows of few queries") for dtype in (points.dtype, INT))
    rows = squares.base_data, ids.base_data, taken.base_data
    session.launch(kernels["take_keys"], m * parts * size, size, n, parts, k, *asked, *rows)
    written: tuple[Any, ...] = few.rows.base_data, found.indices.base_data, found.distances.base_data
    return session.launch(kernels["write_rows"], m * size, size, k, *rows, *written)


def _zeros(session: Session, size: int) -> Scratch:
    zeros = session.scratch(size, INT, purpose="counters of few queries")
    fill(session, zeros)
    return zeros
