"""The paper's conclusions as checks: the same reckoning for its own tables and for this run."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..paper import NOTHING, Results, range_text
from .configurations import GRIDS, NO_ROOM, Axes, case, grid_cells
from .published import TIMES, Printed, fenns_bytes, grid_bytes

__all__ = [
    "MS",
    "Finding",
    "Times",
    "beside_strips",
    "best",
    "bytes_text",
    "falls",
    "finds_no_room",
    "flat",
    "grows",
    "keeps",
    "leads_on_coarse_cells",
    "likes_room",
    "paper_times",
    "run_times",
    "spares",
    "spares_by_formula",
    "wins",
    "worst",
]

MS = 1e3

#: Ratios nearer to 1 than that are no difference.
NOISE = 1.05

#: (what is told, whether the paper's conclusion holds, or None where too little was measured)
Finding = tuple[str, bool | None]


@dataclasses.dataclass(frozen=True)
class Times:
    """Milliseconds of a scenario, n, radius and way of the paper: by its own tables, or by a run."""

    axes: Axes
    get: Callable[[int, int, float, str], float | None]

    def radii(self, scenario: int) -> list[float]:
        """The radii that the paper has times of."""
        return [radius for radius in self.axes.radii[scenario] if radius != NO_ROOM.get(scenario)]

    def ratio(self, above: tuple[int, int, float, str], below: tuple[int, int, float, str]) -> float | None:
        """The quotient of two times, or None where one is missing."""
        numerator, denominator = self.get(*above), self.get(*below)
        return numerator / denominator if numerator is not None and denominator else None

    def leads(self, scenario: int, sizes: Iterable[int], ways: Sequence[str] = (*GRIDS,)) -> Iterator[dict[str, float]]:
        """For every size and radius, how many times as long as FENNS each of these ways takes."""
        for n, radius in itertools.product(sizes, self.radii(scenario)):
            ratios = {way: self.ratio((scenario, n, radius, way), (scenario, n, radius, "FENNS")) for way in ways}
            there = {way: ratio for way, ratio in ratios.items() if ratio is not None}
            if len(there) == len(ways):
                yield there


def paper_times(axes: Axes, device: int) -> Times:
    """What the paper has of a device, by its place in its tables."""

    def get(scenario: int, n: int, radius: float, way: str) -> float | None:
        found = TIMES.get(Printed(scenario, n, radius, way))
        return found[device] if found else None

    return Times(axes, get)


def run_times(results: Results, axes: Axes, fenns: str, name: str = "step") -> Times:
    """A run's, with that way taken for FENNS."""

    def get(scenario: int, n: int, radius: float, way: str) -> float | None:
        seconds = results.number(case(axes, scenario, n, radius, fenns if way == "FENNS" else way), name)
        return None if seconds is None else MS * seconds

    return Times(axes, get)


# --- conclusions about time -----------------------------------------------------------------------------------------


def wins(times: Times, scenario: int) -> Finding:
    """In how many configurations FENNS is faster than both grids; in most, says the paper."""
    leads = [min(lead.values()) for lead in times.leads(scenario, times.axes.sizes)]
    if not leads:
        return NOTHING, None
    won = sum(lead > 1 for lead in leads)
    return f"{won} of {len(leads)}", 2 * won > len(leads)


def best(times: Times) -> Finding:
    """The largest speed-up over a grid in scenarios 1 and 3; 80 at least, says the paper."""
    leads = [max(lead.values()) for scenario in (1, 3) for lead in times.leads(scenario, times.axes.sizes)]
    return (range_text([max(leads)], ".3g", "x"), max(leads) >= 80) if leads else (NOTHING, None)


def worst(times: Times, scenario: int) -> Finding:
    """How many times as long as the faster grid FENNS takes at the most; 3.6 times, says the paper."""
    delays = [1 / min(lead.values()) for lead in times.leads(scenario, times.axes.sizes)]
    return (range_text([max(delays)], ".2f", "x"), max(delays) <= 3.6) if delays else (NOTHING, None)


def grows(times: Times) -> Finding:
    """Scenario 1: how many times as long FENNS takes at the largest radius as at the smallest."""
    first, last = times.radii(1)[0], times.radii(1)[-1]
    return _with_all([times.ratio((1, n, last, "FENNS"), (1, n, first, "FENNS")) for n in times.axes.sizes])


def falls(times: Times, way: str) -> Finding:
    """Scenario 1: how many times as long a grid takes at the smallest radius as at the largest."""
    first, last = times.radii(1)[0], times.radii(1)[-1]
    return _with_all([times.ratio((1, n, first, way), (1, n, last, way)) for n in times.axes.sizes])


def flat(times: Times, way: str) -> Finding:
    """Scenario 2: whether a grid takes the same time at all radii, with the most points."""
    n = times.axes.sizes[-1]
    found = [time for radius in times.radii(2) if (time := times.get(2, n, radius, way)) is not None]
    if len(found) < 2:
        return NOTHING, None
    spread = max(found) / min(found)
    return range_text([spread], ".2f", "x"), spread <= NOISE


def leads_on_coarse_cells(times: Times) -> Finding:
    """Scenario 2: whether FENNS is faster than the grids of the same cells, with the most points."""
    return _over_one([ratio for lead in times.leads(2, times.axes.sizes[-1:]) for ratio in lead.values()])


def likes_room(times: Times) -> Finding:
    """Whether FENNS is faster in scenario 3 than in 1 at the same radius, with the most points."""
    n = times.axes.sizes[-1]
    shared = [radius for radius in times.radii(1) if radius in times.radii(3)]
    return _over_one([times.ratio((1, n, radius, "FENNS"), (3, n, radius, "FENNS")) for radius in shared])


def beside_strips(times: Times) -> Finding:
    """How many times as long as FENNS strips take, over all scenarios and sizes."""
    return _over_one([lead["strips"] for k in (1, 3) for lead in times.leads(k, times.axes.sizes, ["strips"])])


def _over_one(ratios: Iterable[float | None]) -> Finding:
    """The ratios, and whether all are more than 1; undecided where one is missing."""
    every = list(ratios)
    there = [ratio for ratio in every if ratio is not None]
    return range_text(there, ".2f", "x"), all(ratio > NOISE for ratio in there) if there == every != [] else None


def _with_all(ratios: Sequence[float | None]) -> Finding:
    """The ratio with the most points, which decides whether it is more than 1, and in brackets those of all n."""
    if (most := ratios[-1]) is None:
        return NOTHING, None
    return f"{most:.3g}x ({range_text(ratios, '.3g', 'x')})", most > NOISE


# --- conclusions about memory ---------------------------------------------------------------------------------------


def bytes_text(number: float | None) -> str:
    """Bytes with three digits."""
    if number is None:
        return NOTHING
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} B"


def keeps(results: Results, axes: Axes, fenns: str) -> Finding:
    """What FENNS keeps beside its copy of the points, over all that was measured; 8 l³ at the most, says the paper."""
    every = itertools.product((1, 3), axes.sizes)
    cases = [case(axes, k, n, radius, fenns) for k, n in every for radius in axes.radii[k]]
    there = [kept for each in cases if (kept := results.number(each, "kept")) is not None]
    if not there:
        return NOTHING, None
    ends = dict.fromkeys(bytes_text(end) for end in (min(there), max(there)))
    return " to ".join(ends), max(there) <= 1.01 * fenns_bytes(axes.coarse**3)


def spares(results: Results, axes: Axes, fenns: str) -> Finding:
    """How many times as much as FENNS's the grids' build takes beside the points, with the most points."""
    pairs = [
        (case(axes, k, axes.sizes[-1], radius, way), case(axes, k, axes.sizes[-1], radius, fenns))
        for k in (1, 3)
        for radius in axes.radii[k]
        for way in GRIDS
    ]
    ratios = [ratio for pair in pairs if (ratio := results.ratio("build", *pair)) is not None]
    return range_text(ratios, ",.1f", "x"), all(ratio > 1 for ratio in ratios) if ratios else None


def spares_by_formula(axes: Axes) -> str:
    """The same by the paper's formulas; the grids' cells are of side 2 r."""
    needs = [grid_bytes(axes.sizes[-1], grid_cells(axes, k, radius)) for k in (1, 3) for radius in axes.radii[k]]
    return range_text([each / fenns_bytes(axes.coarse**3) for each in needs], ",.1f", "x")


def finds_no_room(results: Results, axes: Axes) -> Finding:
    """Whether the grids do not fit where the paper's did not; if they do, what Hoetzlein's build takes."""
    cases = [case(axes, k, axes.sizes[-1], radius, "Hoetzlein") for k, radius in NO_ROOM.items()]
    if any("DeviceMemoryError" in results.failures.get(each, "") for each in cases):
        return "no room", True
    there = [taken for each in cases if (taken := results.number(each, "build")) is not None]
    return (", ".join(map(bytes_text, there)), False) if len(there) == len(cases) else (NOTHING, None)
