"""Charts of values by commit, as SVG that stands in a page and needs nothing else.

Commits stand at equal distances, values on a logarithmic scale, so that a change by a tenth looks alike wherever it is.
Lines differ by colour, dash and marker. A pointer over a marker shows the commit, its date and the value.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: The colours of ``style.py``, which are told apart by those who do not tell red from green, and dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "7 3", "2 3", "9 3 2 3")

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 220, 62, 14, 12, 24

#: A scale spans at least this factor: what differs by a percent shall not look like a cliff.
LEAST_SPAN = 2.0

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
    """Round numbers between two, from two to six of them."""
    for mantissas in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), [m / 10 for m in range(10, 100)]):
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


def chart(places: Sequence[Place], lines: Mapping[str, Sequence[float | None]], unit: str) -> str:
    """A chart with a line for each name, of a value or None for each place."""
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
    for number, (name, line) in enumerate(lines.items()):
        parts += _line(name, [(x(k), y(v), v, places[k]) for k, v in enumerate(line) if v], number, unit)
    return "\n".join([*parts, "</svg>"])


def _line(name: str, points: Sequence[tuple[float, float, float, Place]], number: int, unit: str) -> list[str]:
    """The path through the points, and a marker at each."""
    colour = f'stroke="{COLOURS[number % len(COLOURS)]}"'
    dash = f' stroke-dasharray="{DASHES[number % len(DASHES)]}"' if number % len(DASHES) else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
    parts = [f'<polyline {colour}{dash} points="{path}"/>']
    for x, y, value, place in points:
        says = html.escape(f"{name}: {shown(value, unit)} at {place.commit}, {place.date}")
        parts.append(f'<circle {colour} cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{says}</title></circle>')
    return parts


def legend(names: Sequence[str]) -> str:
    """Which line is which."""
    keys = []
    for number, name in enumerate(names):
        dash = f' stroke-dasharray="{DASHES[number % len(DASHES)]}"' if number % len(DASHES) else ""
        colour = COLOURS[number % len(COLOURS)]
        keys.append(
            f'<span><svg class="key" viewBox="0 0 28 8"><line x1="0" x2="28" y1="4" y2="4" stroke="{colour}"{dash}/>'
            f"</svg>{html.escape(name)}</span>"
        )
    return f'<p class="legend">{" ".join(keys)}</p>'
