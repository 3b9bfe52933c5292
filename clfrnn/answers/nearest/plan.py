"""Plans of k nearest neighbors: where a row is held, and how far searches without a radius reach. Pure functions."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

from ...config import PointConfig
from ...groups import group_size
from ...profile import DeviceProfile
from ...survey import Survey
from ...tuning import Tuning

__all__ = [
    "RowConfig",
    "RowPlan",
    "first_reach",
    "is_even",
    "largest_reach",
    "plan_row_program",
    "plan_rows",
    "shorter_reach",
    "spanning_reach",
]

#: The largest radius with a finite square, by real.
_LARGEST = {"float": 1.8446742974197924e19, "double": math.sqrt(sys.float_info.max)}

#: Share by which a spanning reach is wider than it need be: it covers the rounding of coordinates of near points.
_PAD = 1.01


class RowPlan(NamedTuple):
    """Where a walk holds rows: in "registers", `capacity` places for each, or as a "heap" in the result itself."""

    way: str
    capacity: int = 0
    #: places in a vector of registers; 0 for places apart
    vector: int = 0
    #: neighbors that wait in local memory, where walks count neighbors by distance first; 0 where they do not
    slots: int = 0


def is_even(survey: Survey, tuning: Tuning) -> bool:
    """Whether about as many points are around every point, as far as a survey has found."""
    return survey.unevenness <= tuning.nearest.even


def plan_rows(
    profile: DeviceProfile, tuning: Tuning, *, k: int, real: str, images: bool, even: bool = False
) -> RowPlan:
    """Plan rows of k neighbors; `images` says that a row may hold several images of one point.

    Rows of float32 are longer in registers where these are long vectors. Programs are compiled for numbers of places
    and serve every smaller k too, so that programs are few. Neighbors are counted first where points are `even` alone:
    elsewhere many queries find fewer than k within a first reach, and have counted them in vain.
    """
    numbers, float32 = tuning.nearest, real == "float"
    most = numbers.register_places if float32 else numbers.register_places // 2
    if float32:
        most = max(most, numbers.places_of_lane * profile.simd_width)
    if images or k > most:
        return RowPlan("heap")
    vector = numbers.vector_places if float32 else 0
    step = max(vector, numbers.place_step)
    if k <= step // 2:
        plan = RowPlan("registers", step // 2, min(vector, step // 2)) if vector > 2 else RowPlan("registers", k)
    else:
        plan = RowPlan("registers", -(-k // step) * step, vector)
    if vector or not (float32 and even and 0 < numbers.counted_first <= plan.capacity):
        return plan
    slots = plan.capacity + numbers.slots_beside
    # A slot is a squared distance and a number, for each work-item of the largest group that walks.
    fits = 8 * slots * group_size(profile, tuning.walks.group) <= profile.usable_local_memory
    return plan._replace(slots=slots) if fits else plan


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowConfig(PointConfig):
    """A program over the rows of the k nearest: it finds those that are not full, or measures vectors and shifts."""

    #: whether queries are some of those that filled the rows, given by an array
    again: bool = False
    periodic: str = ""
    #: whether the shifts are known, as rows may hold several images of a point
    known: bool = False


def plan_row_program(
    profile: DeviceProfile,
    tuning: Tuning,
    *,
    dim: int,
    real: str,
    again: bool = False,
    periodic: str = "",
    known: bool = False,
) -> RowConfig:
    """Plan one work-item for each query, or for each entry of a row."""
    size = group_size(profile, tuning.nearest.group)
    return RowConfig(work_group_size=size, dim=dim, real=real, again=again, periodic=periodic, known=known)


def largest_reach(real: str) -> float:
    """The largest radius with a finite square: searches without a radius have this one, where no axis is periodic."""
    return _LARGEST[real]


def foreseen_neighbors(tuning: Tuning, k: int) -> float:
    """The number of neighbors that the first search foresees: somewhat more than k, as chance takes some away."""
    return tuning.nearest.foreseen * k + tuning.nearest.foreseen_of_root * math.sqrt(k)


def first_reach(
    tuning: Tuning, *, n: int, k: int, low: Sequence[float], high: Sequence[float], lengths: Sequence[float]
) -> float | None:
    """The radius of a ball that holds somewhat more than k points of an even cloud between `low` and `high`.

    `lengths` are those of periodic axes, 0 for other axes. None where a ball with as many neighbors holds a large share
    of all points, or all points coincide: nothing is saved by a radius then.
    """
    wanted = foreseen_neighbors(tuning, k)
    periodic = any(lengths)
    if n == 0 or (not periodic and wanted > tuning.nearest.most_of_all * n):
        return None
    extents = [length or b - a for length, a, b in zip(lengths, low, high, strict=True)]
    # Axes on which the cloud is thinner than the ball do not count. Periodic axes go on behind their ends.
    order = sorted(range(len(extents)), key=lambda axis: (not lengths[axis], -extents[axis]))
    for used in range(len(order), 0, -1):
        chosen = [extents[axis] for axis in order[:used]]
        if min(chosen) <= 0:
            continue
        unit = math.pi ** (used / 2) / math.gamma(used / 2 + 1)
        logarithm = (math.log(wanted / (n * unit)) + sum(map(math.log, chosen))) / used
        reach = math.exp(logarithm) if logarithm < 700 else math.inf
        thin = [extents[axis] for axis in order[:used] if not lengths[axis] and extents[axis] < reach]
        if not thin:
            return reach if 0 < reach < math.inf else None
    return None


def shorter_reach(tuning: Tuning, survey: Survey, *, k: int, reach: float) -> float | None:
    """A shorter reach, where the survey with cells of side `reach` finds that points crowd; None where it does not."""
    wanted, found = foreseen_neighbors(tuning, k), survey.neighbors(reach)
    if found <= tuning.nearest.crowded * wanted:
        return None
    shorter = reach * (wanted / found) ** (1 / survey.dim)
    return shorter if shorter > 0 else None


def spanning_reach(
    *, real: str, n: int, k: int, low: Sequence[float], high: Sequence[float], lengths: Sequence[float]
) -> float:
    """A radius that no query between `low` and `high`, which bound points and queries, needs to exceed.

    Within it lies every point, or in a periodic box more images than k.
    """
    if not any(lengths) or n == 0:
        return _LARGEST[real]
    axes = sum(1 for length in lengths if length)
    shells = 0
    while n * (2 * shells + 1) ** axes <= k:  # the query's own point does not count
        shells += 1
    squares, farthest = 0.0, 0.0
    for length, a, b in zip(lengths, low, high, strict=True):
        side = (shells + 0.5) * length if length else b - a
        squares += side * side
        farthest = max(farthest, abs(a), abs(b))
    epsilon = 2.0**-23 if real == "float" else 2.0**-52
    reach = _PAD * math.sqrt(squares) + 64 * epsilon * math.sqrt(len(lengths)) * farthest
    return min(reach, _LARGEST[real])
