"""Charts of values by commit, as SVG that stands in a page and needs nothing else.

Commits stand at equal distances, values on a logarithmic scale, so that a change by a tenth looks alike wherever it is.
Lines differ by colour and by dashes. A pointer over a marker shows the commit, its date and the value.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

#: Colours (Okabe and Ito, 2008) that those tell apart who do not tell red from green, and dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "7 3", "2 3", "9 3 2 3")

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 220, 62, 14, 12, 24

#: A scale spans at least this factor: what differs by a percent shall not look like a cliff.
LEAST_SPAN = 2.0

#: Digits of round numbers, tried one by one until a scale has three of them.
MANTISSAS = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9),
)

#: Units by which values are shown, the largest first.
SCALES = {
    "seconds": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes")),
}


class Place(NamedTuple):
    """A commit on the axis, and its date as text."""

    commit: str
    date: str


def shown(value: float, unit: str, digits: int = 3) -> str:
    """A value with its unit."""
    scales = SCALES.get(unit, ((1.0, unit),))
    factor, name = next((each for each in scales if value >= each[0]), scales[-1])
    return f"{value / factor:.{digits}g} {name}".strip()


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, at least two of them, and at most six."""
    found: list[float] = []
    for mantissas in MANTISSAS:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [m * 10.0**d for d in decades for m in mantissas if low <= m * 10.0**d <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / 6)]


def span(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale."""
    low, high = min(values), max(values)
    more = max(math.sqrt(LEAST_SPAN * low / high), 1.08)
    return low / more, high * more


def chart(
    places: Sequence[Place], lines: Mapping[str, Sequence[float | None]], unit: str, looks: Mapping[str, int]
) -> str:
    """A chart with a line for each name, of a value or None for each place; a name has the same look in all charts."""
    values = [value for line in lines.values() for value in line if value]
    low, high = span(values)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(place: int) -> float:
        return LEFT + 6 + (right - LEFT - 12) * (place / max(len(places) - 1, 1))

    def y(value: float) -> float:
        return bottom - (bottom - TOP) * math.log(value / low) / math.log(high / low)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    for tick in ticks(low, high):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{shown(tick, unit)}</text>')
    for place in sorted({0, len(places) // 2, len(places) - 1}):
        side = "start" if place == 0 else "end" if place == len(places) - 1 else "middle"
        parts.append(f'<text x="{x(place):.1f}" y="{HEIGHT - 6}" text-anchor="{side}">{places[place].date}</text>')
    for name, line in lines.items():
        parts += _line(name, [(x(k), y(v), v, places[k]) for k, v in enumerate(line) if v], looks[name], unit)
    return "\n".join([*parts, "</svg>"])


def look(number: int) -> str:
    """The colour and the dashes of a line."""
    dash = DASHES[number % len(DASHES)]
    return f'stroke="{COLOURS[number % len(COLOURS)]}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _line(name: str, points: Sequence[tuple[float, float, float, Place]], number: int, unit: str) -> list[str]:
    """The path through the points, and a marker at each."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
    parts = [f'<polyline {look(number)} points="{path}"/>']
    for x, y, value, place in points:
        says = html.escape(f"{name}: {shown(value, unit)} at {place.commit}, {place.date}")
        colour = f'stroke="{COLOURS[number % len(COLOURS)]}"'
        parts.append(f'<circle {colour} cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{says}</title></circle>')
    return parts


def legend(names: Iterable[str], looks: Mapping[str, int]) -> str:
    """Which line is which."""
    keys = [
        f'<span><svg class="key" viewBox="0 0 28 8"><line x1="0" x2="28" y1="4" y2="4" {look(looks[name])}/></svg>'
        f"{html.escape(name)}</span>"
        for name in names
    ]
    return f'<p class="legend">{" ".join(keys)}</p>'
