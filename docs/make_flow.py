"""Draws pictures/flow.svg, the figure of architecture.md. ``python docs/make_flow.py``; a test compares."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parent / "pictures" / "flow.svg"

#: Columns of the figure: a heading, and steps from top to bottom: what happens, and where.
COLUMNS = (
    (
        "build_index(points, radius)",
        (
            ("Arguments are checked", "api.py"),
            ("Points go to the device", "points/"),
            ("A survey finds box and crowding", "primitives/reduce.py"),
            ("The method plans, without a device", "methods/"),
            ("Points are sorted: a search structure", "methods/"),
        ),
    ),
    (
        "index.count(), nearest(), visit(function)",
        (
            ("Arguments become a request", "answers/requests.py"),
            ("A function and its arguments", "functions.py"),
            ("It runs for every neighbor", "methods/traversal.py"),
            ("Packed results are unpacked", "answers/count_nearest.py"),
        ),
    ),
    (
        "index.query(): a NeighborList",
        (
            ("A request, and a plan of the list", "answers/lists/query.py, answers/lists/plan.py"),
            ("A count fills a first pass", "methods/, methods/first_pass/"),
            ("A scan turns counts into offsets", "primitives/scan.py"),
            ("Rows are written", "answers/lists/rows.py"),
            ("Attributes are added, rows sorted", "answers/lists/attributes.py"),
        ),
    ),
)

#: What every step has in common.
BELOW = (
    "Every step launches through a session: templates are rendered and compiled once,",
    "memory comes from a pool, long launches are cut into slices (runtime/)",
)

WIDTH, BOX, HIGH, GAP, TOP = 860, 264, 46, 20, 44
LEFT = (10, 298, 586)


def figure() -> str:
    """The text of the picture."""
    steps = max(len(column) for _, column in COLUMNS)
    below = TOP + steps * (HIGH + GAP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {below + 56}" width="{WIDTH}" '
        f'height="{below + 56}" font-family="sans-serif" font-size="13" text-anchor="middle">'
    )
    parts = [head, f'<rect width="{WIDTH}" height="{below + 56}" fill="#ffffff"/>']
    for x, (heading, column) in zip(LEFT, COLUMNS, strict=True):
        middle = x + BOX // 2
        parts.append(_text(middle, 26, heading, 'font-weight="bold" fill="#1f2d3d"'))
        for k, (what, where) in enumerate(column):
            y = TOP + k * (HIGH + GAP)
            parts.append(
                f'<rect x="{x}" y="{y}" width="{BOX}" height="{HIGH}" rx="5" fill="#eaf1fb" stroke="#5b7fb5"/>'
            )
            parts.append(_text(middle, y + 20, what, 'fill="#1f2d3d"'))
            parts.append(_text(middle, y + 37, where, 'fill="#4a5a6a" font-family="monospace" font-size="12"'))
            if k:
                parts.append(_arrow(middle, y - GAP, middle, y - 2))
    parts += [
        f'<rect x="10" y="{below + 4}" width="{WIDTH - 20}" height="42" rx="5" fill="#f3f3ee" stroke="#8a8a78"/>',
        _text(WIDTH // 2, below + 22, BELOW[0], 'fill="#1f2d3d"'),
        _text(WIDTH // 2, below + 38, BELOW[1], 'fill="#1f2d3d"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: int, y: int, text: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    return (
        f'<path d="M{x} {y}L{to_x} {to_y}" stroke="#5b7fb5" fill="none"/>'
        f'<path d="M{to_x - 4} {to_y - 6}L{to_x} {to_y}L{to_x + 4} {to_y - 6}" stroke="#5b7fb5" fill="none"/>'
    )


if __name__ == "__main__":
    PICTURE.write_text(figure(), encoding="utf-8")
