"""One look for all plots: legible in print, in grey, and to those who do not tell red from green.

Every series differs by colour, marker and line at once, and bars by colour and hatch. Colours: Okabe and Ito (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")  # files, no window
import matplotlib.pyplot as plt

from ..history.charts import COLOURS

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++")

plt.rcParams.update(
    {
        "figure.dpi": 150,
        "savefig.bbox": "tight",
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#DDDDDD",
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 5,
        "svg.hashsalt": "clfrnn",  # the same figures make the same file
    }
)


def figure(columns: int = 1, rows: int = 1, *, width: float = 4.6, height: float = 3.4) -> tuple[Any, list[Any]]:
    """A figure and its panels in a flat list; `width` and `height` of a panel in inches."""
    drawn, panels = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return drawn, list(panels.flat)


def lines(
    panel: Any,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    x: str,
    y: str,
    log: str = "",
) -> None:
    """Lines with markers, one for each name in `series`; ``log`` names the logarithmic axes, as in ``"xy"``."""
    for k, (name, (across, up)) in enumerate(series.items()):
        look = k % len(COLOURS)
        panel.plot(across, up, color=COLOURS[look], marker=MARKERS[look], linestyle=LINES[look], label=name)
    _finish(panel, title, x, y, log)
    if "y" not in log:
        panel.set_ylim(bottom=0)


def bars(
    panel: Any,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    title: str,
    y: str,
    log: bool = False,
) -> None:
    """Bars side by side in each group, one for each name in `series`; None leaves a gap."""
    width = 0.8 / max(len(series), 1)
    for k, (name, heights) in enumerate(series.items()):
        at = [place - 0.4 + (k + 0.5) * width for place in range(len(groups))]
        colour, hatch = COLOURS[k % len(COLOURS)], HATCHES[k % len(HATCHES)]
        values = [float("nan") if height is None else height for height in heights]
        panel.bar(at, values, width * 0.94, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5, label=name)
    panel.set_xticks(range(len(groups)), groups)
    panel.grid(visible=False, axis="x")
    _finish(panel, title, "", y, "y" if log else "")


def share_legend(drawn: Any, panels: Sequence[Any]) -> None:
    """One legend below panels of the same series, where it covers none of them."""
    handles, labels = panels[0].get_legend_handles_labels()
    if any(panel.get_legend_handles_labels()[1] != labels for panel in panels):
        return
    for panel in panels:
        panel.get_legend().remove()
    drawn.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=min(4, len(labels)))


def save(drawn: Any, path: Path) -> None:
    """Write the figure, as the suffix of `path` says, and let it go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(drawn)


def _finish(panel: Any, title: str, x: str, y: str, log: str) -> None:
    panel.set_title(title, loc="left")
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    # A panel without a number, as of what was not measured, has nothing that a logarithm could be of.
    if np.isfinite(panel.dataLim.get_points()).all():
        panel.set(**{f"{axis}scale": "log" for axis in log})
    panel.legend()
