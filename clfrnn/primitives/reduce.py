"""Reduce: the bounding box of points with the first row that is not finite, their bulk, and the occupancy sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import REAL_OF
from ..config import INT
from ..domain.box import CELLS, SLACK
from ..domain.cells import padded_radius
from ..groups import most_groups, share_out
from ..runtime.program import Kernel
from ..runtime.scratch import Scratch
from ..runtime.session import Selection, Session
from ..survey import Sample, Survey
from .config import BULK_SAMPLE, ReduceConfig, plan_reduce, plan_sample
from .fill import cleared, fill, fill_selection
from .readback import PendingBox, Readback

__all__ = [
    "bounding_box",
    "box_and_images",
    "find_bulk",
    "images_of",
    "survey_points",
]

#: The kernels of a survey.
_SURVEY = "bounding_box", "find_bulk", "sample_cells", "count_in_cells", "sum_samples"

#: The slack of a periodic box as kernels take it.
_SLACK_OF = {dtype: dtype.type(SLACK) for dtype in REAL_OF}


def bounding_box(session: Session, points: cla.Array, box: PendingBox | None = None) -> PendingBox:
    """Enqueue the reduction of `points`, (n, dim) or (n,), contiguous, to their box. One launch, one pass."""
    if box is None:
        dim = points.shape[1] if points.ndim == 2 else 1
        box = PendingBox(Readback(session, dim=dim, dtype=points.dtype), dim)
    _reduce(session, "bounding_box", points, box)
    return box


def box_and_images(session: Session, points: cla.Array, period: cla.Array, box: PendingBox) -> Scratch:
    """Enqueue the reduction of points in a periodic box to their bounding box; return the image table."""
    images = session.scratch(images_of(points.shape[1], "box"), points.dtype, purpose="the periodic images")
    _reduce(session, "box_and_images", points, box, _SLACK_OF[points.dtype], period.base_data, images.base_data)
    return images


def images_of(dim: int, periodic: str) -> int:
    """The length of the image table of a box, or of a cell."""
    if periodic == "box":
        return 7 * dim + 1
    return (3 if periodic == CELLS[1] else 2) * dim * dim + 11 * dim + 4


class _Pass(NamedTuple):
    """The reduction of n rows to their box: groups with a span of rows each, and the integers that they share."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    items: int
    n: int
    span: int
    shared: int


def _kernels(session: Session, dim: int, real: str, periodic: bool = False) -> tuple[dict[str, Kernel], ReduceConfig]:
    """The kernels of a survey, or the one for periodic boxes; the kernel that clears their counters comes with them."""
    config = plan_reduce(session.profile, session.tuning, dim=dim, real=real)
    selection = Selection("primitives/reduce", config, ("box_and_images",) if periodic else _SURVEY)
    session.compile_together(selection, fill_selection(session))
    return session.selected(selection)


def _find_pass(session: Session, n: int, dim: int, dtype: np.dtype[Any], periodic: bool) -> _Pass:
    kernels, config = _kernels(session, dim, REAL_OF[dtype], periodic)
    size = config.work_group_size
    groups, span = share_out(session.profile, session.tuning, n, session.tuning.primitives.reduce_items * size)
    # The counters serve the largest number of groups, so that arrays of all lengths use the same ones.
    shared = most_groups(session.profile, session.tuning) * (2 * dim * dtype.itemsize // INT.itemsize + 1) + 1
    return _Pass(kernels=kernels, work_group_size=size, items=groups * size, n=n, span=span, shared=shared)


def _reduce(session: Session, kernel: str, points: cla.Array, box: PendingBox, *arguments: Any) -> None:
    """Launch a kernel that finds the box of `points`; its own `arguments` come before those of the box."""
    n, dim = points.shape if points.ndim == 2 else (points.size, 1)
    found = session.once(_find_pass, n, dim, points.dtype, kernel == "box_and_images")
    shared = cleared(session, found.shared, purpose="what groups found of a box")
    given = found.n, found.span, points.base_data, shared.base_data, *arguments, *box.arguments
    session.launch(found.kernels[kernel], found.items, found.work_group_size, *given)
    session.keep_cleared(shared)


def find_bulk(session: Session, points: cla.Array, box: PendingBox, *, among: int) -> Scratch:
    """Enqueue the search for the bulk of `points`, (n, dim), whose `box` earlier launches find.

    Its low corner, its high corner, and the logarithm of how many of its sides strays lie beyond it. A sample is taken
    `among` that number of points; without one the bulk is the box. One launch.
    """
    bulk = session.scratch(2 * points.shape[1] + 1, points.dtype, purpose="the bulk of the points")
    _find_bulk(session, points, box, among, (bulk.base_data, 0))
    return bulk


def _find_bulk(session: Session, points: cla.Array, box: PendingBox, among: int, bulk: tuple[cl.Buffer, int]) -> None:
    kernels, config = session.once(_kernels_of_survey, points.shape[1], points.dtype)
    sampled, size = min(among, BULK_SAMPLE), config.work_group_size
    stride = among // max(1, sampled)
    session.launch(kernels["find_bulk"], size, size, sampled, stride, points.base_data, *box.arguments, *bulk)


def _kernels_of_survey(session: Session, dim: int, dtype: np.dtype[Any]) -> tuple[dict[str, Kernel], ReduceConfig]:
    return _kernels(session, dim, REAL_OF[dtype])


def survey_points(
    session: Session, points: cla.Array, radius: float | None, pending: PendingBox
) -> tuple[Survey, int | None]:
    """Find the box, the bulk, the crowding and the first row that is not finite; `pending` has the box. Waits once.

    Without a `radius` the crowding is not found. There must be at least one point. Cost: a pass over a sample of the
    points, and up to 2 MiB of counters.
    """
    n, dim = points.shape
    readback = pending.readback
    crowding: dict[str, Any] = {}
    if pending.bulk is None:  # later surveys of the same points find the crowding alone
        _find_bulk(session, points, pending, n, (readback.buffer, readback.bulk))
    if radius is None:
        readback.read()
    else:
        found = session.once(_find_sample, n, dim, points.dtype)
        _sample_cells(session, points, radius, found, readback.front)
        others, unevenness = found.sample.crowding(*readback.read())
        crowding = {"others": others, "unevenness": unevenness, "sample": found.sample, "cell": radius}
    box, pending.bulk = pending.read(), pending.bulk or readback.read_bulk()
    survey = Survey(n=n, low=box.low, high=box.high, bulk=pending.bulk, **crowding)
    return survey, box.first_bad


class _SamplePass(NamedTuple):
    """The occupancy sample of a number of points, and the groups that take it."""

    kernels: Mapping[str, Kernel]
    work_group_size: int
    sample: Sample
    groups: int
    span: int


def _find_sample(session: Session, n: int, dim: int, dtype: np.dtype[Any]) -> _SamplePass:
    kernels, config = _kernels(session, dim, REAL_OF[dtype])
    size, sample = config.work_group_size, plan_sample(session.tuning, n)
    of_group = session.tuning.primitives.reduce_items * size
    groups, span = share_out(session.profile, session.tuning, sample.counted, of_group)
    return _SamplePass(kernels=kernels, work_group_size=size, sample=sample, groups=groups, span=span)


def _sample_cells(session: Session, points: cla.Array, radius: float, found: _SamplePass, sums: Scratch) -> None:
    """Enqueue the occupancy sample of cells of side `radius`, which writes the three `sums` of the crowding."""
    sample, kernels, size = found.sample, found.kernels, found.work_group_size
    slots = session.scratch(2 << sample.bits, INT, purpose="the occupancy sample")
    inverse = points.dtype.type(1.0 / padded_radius(radius, REAL_OF[points.dtype]))
    cells = points.base_data, inverse, 32 - sample.bits, slots.base_data
    fill(session, slots)
    session.launch(kernels["sample_cells"], sample.sampled, size, sample.sampled, sample.stride, *cells)
    of_group = points.shape[0], sample.counted, found.span, sample.step
    session.launch(kernels["count_in_cells"], found.groups * size, size, *of_group, *cells)
    of_sample = sample.sampled, sample.stride, sample.step
    session.launch(kernels["sum_samples"], size, size, *of_sample, *cells, sums.base_data)
