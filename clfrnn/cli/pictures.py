"""Draws a cloud: its points coloured by their number of neighbors, and a histogram of these numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError

__all__ = ["check_picture", "draw_counts"]

#: Largest number of points that are drawn, chosen at random: more points only hide each other.
_MOST_DRAWN = 50_000

_MOST_BINS = 60


def draw_counts(points: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], path: Path, *, title: str) -> int:
    """Draw the points, coloured by `counts`, and a histogram of these, to a file; return the number of drawn points.

    Parameters
    ----------
    points : (n, dim); of more than three dimensions the first three are drawn
    counts : (n,), the number of neighbors of each point
    path : see :func:`check_picture`
    """
    import matplotlib as mpl
    import matplotlib.ticker

    figure = _figure()
    chosen = _chosen(len(points))
    dim = min(points.shape[1], 3)
    cloud = figure.add_subplot(1, 2, 1, **({"projection": "3d"} if dim == 3 else {}))
    columns: list[Any] = [points[chosen, k] for k in range(dim)] + [np.zeros(len(chosen))] * (dim == 1)
    size = float(np.clip(20_000 / max(1, len(chosen)), 0.5, 12))
    scatter: Any = cloud.scatter
    # The scale begins at 0, so that colours show numbers also where all are equal.
    shades = {"cmap": mpl.colormaps["viridis"], "vmin": 0, "vmax": max(1, int(counts.max(initial=0)))}
    dots = scatter(*columns, c=counts[chosen], s=size, linewidths=0, **shades)
    cloud.set(xlabel="x", ylabel="y" if dim > 1 else "", **({"zlabel": "z"} if dim == 3 else {}))
    cloud.set_aspect("equal" if dim > 1 and _has_extent(columns) else "auto")
    whole = mpl.ticker.MaxNLocator(integer=True)
    figure.colorbar(dots, ax=cloud, label="neighbors", shrink=0.8, ticks=whole, pad=0.12 if dim == 3 else 0.05)
    cloud.set_title(title, loc="left")
    _draw_histogram(figure.add_subplot(1, 2, 2), counts)
    figure.savefig(path, dpi=150)
    return len(chosen)


def check_picture(path: Path) -> None:
    """Raise where no picture can be drawn to `path`; called before a long search.

    Parameters
    ----------
    path : its suffix is the format, as for matplotlib

    Raises
    ------
    InvalidInputError
        matplotlib is not installed, or does not know the format.
    """
    if path.suffix.lstrip(".").lower() not in _figure().canvas.get_supported_filetypes():
        raise InvalidInputError(
            f"--plot: expected a name that ends in .png, .pdf or .svg, got {path.name}; change its ending"
        )


def _figure() -> Any:
    try:
        from matplotlib import figure
    except ImportError as error:
        raise InvalidInputError(
            "--plot: pictures are drawn by matplotlib, which is not installed; pip install 'clfrnn[plot]'"
        ) from error
    return figure.Figure(figsize=(11, 4.6), layout="constrained")


def _draw_histogram(axes: Any, counts: np.ndarray[Any, Any]) -> None:
    most = int(counts.max(initial=0))
    # Each bin has the same number of integers, so that none is higher for that reason alone.
    width = -(-(most + 1) // _MOST_BINS)
    axes.hist(
        counts, bins=np.arange(0, most + 1 + width, width) - 0.5, color="#0072B2", edgecolor="white", linewidth=0.3
    )
    mean = float(counts.mean()) if len(counts) else 0.0
    axes.axvline(mean, color="#D55E00", linestyle="--", label=f"mean {mean:.2f}")
    axes.set(xlabel="neighbors of a point", ylabel="points")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _chosen(n: int) -> np.ndarray[Any, Any]:
    """The indices of the drawn points, the same in every run."""
    if n <= _MOST_DRAWN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_DRAWN, replace=False))


def _has_extent(columns: list[np.ndarray[Any, Any]]) -> bool:
    """Whether axes with a common scale have an extent."""
    return any(len(column) > 0 and np.ptp(column) > 0 for column in columns)
