"""Pictures: a cloud as dots, coloured by their number of neighbors beside a histogram of it, or in other colors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..host.foreign_warnings import ignored_warnings

__all__ = ["add_cloud", "check_picture", "chosen", "draw_counts", "new_figure", "outside", "shows"]

#: Largest number of points that are drawn, chosen at random: more points only hide each other.
_MOST_DRAWN = 50_000

_MOST_BINS = 60

#: Most numbers at an axis of a panel in 3D.
_MOST_NUMBERS = 5

#: The share of points that may lie far off at either end of an axis, and how far the others reach: extents of the rest.
_FAR, _REACH = 0.01, 1

#: The margin of a picture around these, as a share of their extent.
_MARGIN = 0.5


@ignored_warnings()
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

    figure = new_figure()
    shown = np.flatnonzero(shows(points, counts > 0))
    drawn = shown[chosen(len(shown))]
    # The scale begins at 0, so that colours show numbers also where all are equal.
    shades = {"cmap": mpl.colormaps["viridis"], "vmin": 0, "vmax": max(1, int(counts.max(initial=0)))}
    cloud, (dots,) = add_cloud(figure, (1, 2, 1), (points[drawn], {"c": counts[drawn], **shades}))
    whole = mpl.ticker.MaxNLocator(integer=True)
    pad = 0.12 if points.shape[1] >= 3 else 0.05
    figure.colorbar(dots, ax=cloud, label="neighbors", shrink=0.8, ticks=whole, pad=pad)
    cloud.set_title(title + outside(len(points) - len(shown)), loc="left")
    _draw_histogram(figure.add_subplot(1, 2, 2), counts)
    figure.savefig(path, dpi=150)
    return len(drawn)


@ignored_warnings()
def new_figure() -> Any:
    """A figure for two panels side by side; raises where matplotlib is not installed."""
    try:
        from matplotlib import figure
    except ImportError as error:
        raise InvalidInputError(
            "--plot: pictures are drawn by matplotlib, which is not installed; pip install 'clfrnn[plot]'"
        ) from error
    return figure.Figure(figsize=(11, 4.6), layout="constrained")


@ignored_warnings()
def add_cloud(
    figure: Any, panel: tuple[int, int, int], *layers: tuple[np.ndarray[Any, Any], dict[str, Any]]
) -> tuple[Any, list[Any]]:
    """Draw points as dots into a panel of a figure, and return its axes, and what was drawn for each layer.

    Parameters
    ----------
    panel : the panel: numbers of rows and columns of the figure, and its position in them from 1 on
    layers : (n, dim) points, of which the first three coordinates are drawn, and how they look; later ones on top
    """
    dim = min(layers[0][0].shape[1], 3)
    axes = figure.add_subplot(*panel, **({"projection": "3d", "computed_zorder": False} if dim == 3 else {}))
    drawn = []
    for points, looks in layers:
        columns: list[Any] = [points[:, k] for k in range(dim)] + [np.zeros(len(points))] * (dim == 1)
        size = float(np.clip(20_000 / max(1, len(points)), 0.5, 12))
        drawn.append(axes.scatter(*columns, **{"s": size, "linewidths": 0, **looks}))
    axes.set(xlabel="x", ylabel="y" if dim > 1 else "", **({"zlabel": "z"} if dim == 3 else {}))
    corners = [corner for points, _ in layers if len(points) for corner in (points.min(axis=0), points.max(axis=0))]
    extent = np.ptp(corners, axis=0)[:dim] if corners else np.zeros(dim)
    axes.set_aspect("equal" if dim > 1 and extent.any() else "auto")
    if dim == 3 and extent.any():  # numbers at a short axis would stand on each other
        for name, share in zip("xyz", extent / extent.max(), strict=True):
            axes.locator_params(axis=name, nbins=max(1, round(_MOST_NUMBERS * float(share))))
    return axes, drawn


def shows(points: np.ndarray[Any, Any], known: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which points a picture shows: with one that lies very far off, all others would be one dot.

    These are the points around most of the `known` ones, or of all where none is known.

    Parameters
    ----------
    points : (n, dim)
    known : (n,) bool, the points of which the picture tells something
    """
    cloud = points[:, :3].astype(np.float64)
    of = cloud[known] if known.any() else cloud
    if not len(of):
        return np.ones(len(points), bool)
    low, high = np.quantile(of, _FAR, axis=0, method="higher"), np.quantile(of, 1 - _FAR, axis=0, method="lower")
    if not (reach := _REACH * float((high - low).max())) > 0:  # few points, or most of them in one place
        return np.ones(len(points), bool)
    most = of[_within(of, low - reach, high + reach)]
    low, high = most.min(axis=0), most.max(axis=0)
    margin = _MARGIN * float((high - low).max())
    return _within(cloud, low - margin, high + margin)


def _within(points: np.ndarray[Any, Any], low: Any, high: Any) -> np.ndarray[Any, Any]:
    """Which points lie in a box."""
    return np.asarray(((low <= points) & (points <= high)).all(axis=1), bool)


def outside(many: int) -> str:
    """The second line of a title, on the points that a picture does not show."""
    return f"\n{many:,} {'point' if many == 1 else 'points'} outside the picture" if many else ""


def chosen(n: int, most: int = _MOST_DRAWN) -> np.ndarray[Any, Any]:
    """The indices of those of `n` that are drawn, `most` of them or all, the same in every run."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


@ignored_warnings()
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
    if path.suffix.lstrip(".").lower() not in new_figure().canvas.get_supported_filetypes():
        raise InvalidInputError(
            f"--plot: expected a name that ends in .png, .pdf or .svg, got {path.name}; change its ending"
        )


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
