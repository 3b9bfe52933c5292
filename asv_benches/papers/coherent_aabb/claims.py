"""The table of what the paper concludes beside what a run says today."""

from __future__ import annotations

from collections.abc import Iterable

from ..paper import Results, Section, Table, range_text
from .configurations import SCHEMES, Axes, ball, dimension, group, moving, scheme, update
from .published import GROUP_RATES, RADII, REFITS

__all__ = ["claims"]

#: Ratios nearer to 1 than that are no difference.
NOISE = 1.05

#: What is measured, whether the paper's conclusion holds, or None where something is missing.
Finding = tuple[str, bool | None]


def claims(results: Results, axes: Axes) -> Section:
    """The section of the claims."""
    first, last = min(RADII), max(RADII)
    grown = [RADII[last][k] / RADII[first][k] for k in range(4)]
    rows = [
        _row("coherent over primary scheme", "2 to 4 times as fast", _packs(results, axes)),
        _row("small movements: the grid's step over the tree's", "up to 6.72x", _against_grid(results, axes)),
        _row(
            "movement in every step of 0.1 L: the same", "worse in some cases", _against_grid(results, axes, far=True)
        ),
        _row(
            "most points: the grid's count at the largest radius over the smallest, by the tree's",
            "more",
            _flatter(results, axes),
        ),
        _row("10 times the radius: time of lists", f"{grown[0]:.1f}x", _growth(results, axes, "lists")),
        _row("10 times the radius: time of the nearest", f"{grown[1]:.1f}x", _growth(results, axes, "nearest")),
        _row("10 times the radius: memory of lists", f"{grown[2]:.1f}x", _growth(results, axes, "lists_bytes")),
        _row("10 times the radius: memory of the nearest", f"{grown[3]:.1f}x", _growth(results, axes, "nearest_bytes")),
        _row("12 dimensions over 3: time of a count", "becomes slower", _flat(results, axes)),
        _row("the grid's update over a refit", _printed_updates(), _refits(results, axes)),
        _row("a rebuild over a count, most points", "1.6 to 2.8x", _rebuild(results, axes)),
        _row("figure 20, fewest points: the grid's step over the tree's", _printed_rates(), _grouped(results, axes, 0)),
    ]
    if len(axes.groups) > 1:
        rows.append(
            _row(f"figure 20, {axes.groups[-1]:,} points: the same", "not in the paper", _grouped(results, axes, -1))
        )
    return Section(
        title="The paper's conclusions and this run",
        note=(
            "A ratio is of times, over all cases measured. *Holds* asks that what the paper finds faster is faster by "
            "more than 5 % in every case, and what it finds slower in some, in some; for what grows, that it grows by "
            "no more than in the paper."
        ),
        tables=[Table(header=("conclusion", "paper", "this run", "today"), rows=rows, words=4)],
    )


def _row(what: str, said: str, finding: Finding) -> list[str]:
    told, holds = finding
    return [what, said, told, {True: "holds", False: "does not hold", None: ""}[holds]]


def _faster(ratios: Iterable[float | None]) -> Finding:
    """The ratios, and whether all are more than 1."""
    every = list(ratios)
    there = [ratio for ratio in every if ratio is not None]
    return range_text(there, ".2f", "x"), all(ratio > NOISE for ratio in there) if there == every != [] else None


def _packs(results: Results, axes: Axes) -> Finding:
    cases = [[scheme(axes, n, radius, way) for way in SCHEMES] for n in axes.schemes for radius in axes.radii]
    packed = [results.number(coherent, "packed") for _, coherent in cases]
    if 0.0 in packed:
        return "no packs on this device", None
    return _faster(results.ratio("count", *each) for each in cases)


def _against_grid(results: Results, axes: Axes, *, far: bool = False) -> Finding:
    """Of the small ranges of movement, all but the last, or of the last, where some are slower."""
    ratios = [
        results.ratio("step", *(moving(axes, n, reach, radius, way) for way in ("uniform_grid", "aabb_tree")))
        for n in axes.moving
        for reach in (axes.ranges[-1:] if far else axes.ranges[:-1])
        for radius in axes.radii
    ]
    told, faster = _faster(ratios)
    if faster is None or not far:
        return told, faster
    return told, min(ratio for ratio in ratios if ratio is not None) < 1 / NOISE


def _flatter(results: Results, axes: Axes) -> Finding:
    """How much more a grid's step grows with the radius than the tree's."""
    growths = []
    for way in ("uniform_grid", "aabb_tree"):
        ends = [
            moving(axes, axes.moving[-1], axes.ranges[0], radius, way) for radius in (axes.radii[-1], axes.radii[0])
        ]
        growths.append(results.ratio("count", *ends))
    grid, tree = growths
    return _faster([grid / tree if grid is not None and tree else None])


def _growth(results: Results, axes: Axes, name: str) -> Finding:
    """How much more is taken at the largest radius than at the smallest; the paper's are ten apart."""
    first, last = axes.sphere_radii[0], axes.sphere_radii[-1]
    ratio = results.ratio(name, ball(axes, last, "aabb_tree"), ball(axes, first, "aabb_tree"))
    if ratio is None or (first, last) != (min(RADII), max(RADII)):
        return range_text([ratio], ".1f", "x"), None
    column = ("lists", "nearest", "lists_bytes", "nearest_bytes").index(name)
    return range_text([ratio], ".1f", "x"), ratio <= NOISE * RADII[last][column] / RADII[first][column]


def _flat(results: Results, axes: Axes) -> Finding:
    return _faster(
        [
            results.ratio(
                "count", dimension(axes, axes.dims[-1], "aabb_tree"), dimension(axes, axes.dims[0], "aabb_tree")
            )
        ]
    )


def _refits(results: Results, axes: Axes) -> Finding:
    return _faster(
        results.ratio("update", update(axes, n, "uniform_grid"), update(axes, n, "refit")) for n in axes.updated
    )


def _rebuild(results: Results, axes: Axes) -> Finding:
    """A new order beside the count of as many points at the smallest radius."""
    n = axes.moving[-1]
    ours = results.number(update(axes, n, "rebuild"), "update") if n in axes.updated else None
    counts = [results.number(moving(axes, n, axes.ranges[0], radius, "aabb_tree"), "count") for radius in axes.radii]
    ratios = [ours / count if ours and count else None for count in counts]
    there = [ratio for ratio in ratios if ratio is not None]
    return range_text(ratios, ".2f", "x"), max(there) <= 2.8 * NOISE if len(there) == len(ratios) else None


def _grouped(results: Results, axes: Axes, k: int) -> Finding:
    n = axes.groups[k]
    return _faster(
        results.ratio("step", group(n, radius, "uniform_grid"), group(n, radius, "aabb_tree"))
        for radius in axes.group_radii
    )


def _printed_updates() -> str:
    return range_text([grid / refit for refit, grid in REFITS.values()], ".1f", "x")


def _printed_rates() -> str:
    return range_text([tree / grid for tree, grid in GROUP_RATES.values()], ".3g", "x")
