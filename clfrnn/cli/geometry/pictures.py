"""Pictures of what the commands for the geometry of a cloud have found; by matplotlib, as those of a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ...host.files import replacing
from ...host.foreign_warnings import ignored_warnings
from ...host.printable import printable
from ..pictures import add_cloud, chosen, new_figure, outside, shows

if TYPE_CHECKING:
    from ...geometry import Surface

__all__ = ["draw_cleaned", "draw_normals", "draw_surface"]

Array = np.ndarray[Any, Any]

#: More arrows, or triangles, than these only hide each other.
_MOST_ARROWS, _MOST_TRIANGLES = 500, 100_000

#: An arrow's share of the extent of a cloud.
_ARROW = 0.06

_BLUE, _RED, _GRAY = "#0072B2", "#D55E00", "#B0B0B0"


@ignored_warnings()
def draw_cleaned(path: Path, cloud: Array, stays: Array) -> None:
    """Draw the points that stay in blue, and on top of them in red those that are left out, and say so.

    Parameters
    ----------
    path : see :func:`~clfrnn.cli.pictures.check_picture`
    cloud : (n, dim)
    stays : (n,) bool
    """
    figure = new_figure()
    shown = shows(cloud, stays)
    left, stay = (part[chosen(len(part))] for part in (cloud[shown & ~stays], cloud[shown & stays]))
    layers = (stay, {"color": _BLUE}), (left, {"color": _RED, "s": 3})
    both, _ = add_cloud(figure, (1, 2, 1), *layers)
    title = f"left out, in red, are {len(cloud) - stays.sum():,} of {len(cloud):,} points"
    both.set_title(title + outside(int((~shown).sum())), loc="left")
    alone, _ = add_cloud(figure, (1, 2, 2), layers[0])
    alone.set_title(f"the {stays.sum():,} that stay" + outside(int((stays & ~shown).sum())), loc="left")
    _save(figure, path, f"{len(cloud):,} points", len(stay) + len(left), len(cloud))


@ignored_warnings()
def draw_normals(path: Path, cloud: Array, vectors: Array, curvature: Array) -> None:
    """Draw the points, coloured by curvature, and arrows for the normals of some, and say so.

    Parameters
    ----------
    path : see :func:`~clfrnn.cli.pictures.check_picture`
    cloud, vectors : (n, 3), the points and their normals
    curvature : (n,); a point where it is nan is not drawn
    """
    figure = new_figure()
    known = np.isfinite(curvature)
    shown = np.flatnonzero(known & shows(cloud, known))
    drawn = shown[chosen(len(shown))]
    most = float(np.percentile(curvature[known], 99)) if known.any() else 1.0
    shades = {"c": curvature[drawn], "cmap": "viridis", "vmin": 0, "vmax": max(most, 1e-6)}
    axes, (dots,) = add_cloud(figure, (1, 2, 1), (cloud[drawn], shades))
    figure.colorbar(dots, ax=axes, label="curvature", orientation="horizontal", shrink=0.6)
    axes.set_title(f"{known.sum():,} points with normals" + outside(int(known.sum()) - len(shown)), loc="left")
    some = shown[chosen(len(shown), _MOST_ARROWS)]
    extent = float(np.ptp(cloud[drawn], axis=0).max()) if len(drawn) else 0.0
    axes, _ = add_cloud(figure, (1, 2, 2), (cloud[drawn], {"color": _GRAY}))
    axes.quiver(*cloud[some].T, *vectors[some].T, length=_ARROW * extent or 1, color=_BLUE, linewidth=0.7)
    axes.set_title(f"arrows at {len(some):,} of them", loc="left")
    _save(figure, path, f"{len(cloud):,} points", len(drawn), len(cloud))


@ignored_warnings()
def draw_surface(path: Path, cloud: Array, surface: Surface) -> None:
    """Draw the points, and the triangles in the light, and say so.

    Parameters
    ----------
    path : see :func:`~clfrnn.cli.pictures.check_picture`
    cloud : (n, 3)
    surface : with one triangle at least
    """
    figure = new_figure()
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    shown = cloud[shows(cloud, np.ones(len(cloud), bool))]
    axes, _ = add_cloud(figure, (1, 2, 1), (shown[chosen(len(shown))], {"color": _BLUE}))
    axes.set_title(f"{len(cloud):,} points" + outside(len(cloud) - len(shown)), loc="left")
    corners = surface.vertices[surface.faces]
    some = corners[chosen(len(corners), _MOST_TRIANGLES)]
    # Those that are drawn are so much larger that they cover what the others did.
    middles = some.mean(axis=1, keepdims=True)
    some = middles + np.sqrt(len(corners) / len(some)) * (some - middles)
    edges = np.stack([some.min(axis=(0, 1)), some.max(axis=(0, 1))])
    axes, _ = add_cloud(figure, (1, 2, 2), (edges, {"alpha": 0}))  # which gives the axes their extent
    axes.add_collection3d(Poly3DCollection(some, facecolors=_GRAY, shade=True, linewidths=0, antialiaseds=False))
    axes.set_title(f"{len(corners):,} triangles", loc="left")
    _save(figure, path, f"{len(corners):,} triangles", len(some), len(corners))


def _save(figure: Any, path: Path, what: str, drawn: int, whole: int) -> None:
    """Write the picture, and print what is in it."""
    with replacing(path) as part:
        figure.savefig(part, dpi=150)
    some = "" if drawn == whole else f", {drawn:,} of them in the picture"
    click.echo(f"drawn    {printable(str(path))}: {what}{some}")
