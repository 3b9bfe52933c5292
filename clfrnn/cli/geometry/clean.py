"""``clfrnn clean``: the points of a file without those that stand alone, or one of each voxel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..arguments import Finite
from .cloud import check_output, check_plot, read_cloud, working, write_vertices
from .options import of_a_cloud, output_option, plot_option, radius_option

if TYPE_CHECKING:
    import numpy as np

    from ...runtime.session import Session

__all__ = ["clean"]


@click.command()
@of_a_cloud
@radius_option("Keep points with --min-neighbors others within this radius, in the unit of the coordinates.")
@click.option("--min-neighbors", type=click.IntRange(min=0), help="How many others a point needs within --radius.")
@click.option("--k", type=click.IntRange(min=1), help="Take the mean distance of each point to its K nearest.")
@click.option(
    "--ratio",
    type=float,
    help="Keep points whose mean distance exceeds the mean of all points by at most RATIO standard deviations. "
    "One very far point makes these so large that all other strays stay: clean once more what stays, or use --radius "
    "first.",
)
@click.option(
    "--voxel",
    type=Finite(min=0, min_open=True),
    metavar="SIZE",
    help="Divide space into cubes of this side, and keep the point of each that is nearest to its middle. Where other "
    "options are given, of the points that stay by these.",
)
@output_option("Write the points that stay, a .ply file; without it they are counted.")
@plot_option("Draw the points that stay, and those that are left out")
def clean(points: Path, *, output: Path | None, plot: Path | None, **given: Any) -> None:
    """Leave out the points of a file that stand alone, or thin out the file.

    There are three ways to choose the points that stay: those with enough neighbors within a radius (--radius with
    --min-neighbors); those whose mean distance to their nearest neighbors is about that of most points (--k with
    --ratio); and one point in each cube of a grid (--voxel). POINTS is a file as for `clfrnn search`. The points that
    stay are written in the order of the file, without its other columns.
    """
    _check(given)
    if output is not None:
        check_output(output, points, (".ply",))
    check_plot(plot, points)
    cloud = read_cloud(points, given, dims=None if output is None else (3,))
    with working("cleaning", points, cloud, given["device"]) as session:
        stays = _stays(cloud, given, session)
        left = len(cloud) - int(stays.sum())
        share = f", {left / len(cloud):.2%}" if len(cloud) else ""
        click.echo(f"stay     {len(cloud) - left:,}; left out are {left:,}{share}")
    if output is not None:
        write_vertices(output, cloud[stays])
    if plot is not None:
        from .pictures import draw_cleaned

        draw_cleaned(plot, cloud, stays)


def _check(given: dict[str, Any]) -> None:
    """Refuse all but one whole pair of options."""
    pairs = ("radius", "min_neighbors"), ("k", "ratio")
    named = [[f"--{name.replace('_', '-')}" for name in pair if given[name] is not None] for pair in pairs]
    if all(named):
        raise click.UsageError(
            f"{named[0][0]}, {named[1][0]}: expected --radius with --min-neighbors, or --k with --ratio, got some of "
            "both; leave out those of one way"
        )
    if given["voxel"] is not None and not any(named):
        return
    if len(named[0]) + len(named[1]) < 2:
        came = (named[0] + named[1] or ["none"])[0]
        raise click.UsageError(
            f"Missing option: expected --radius with --min-neighbors, --k with --ratio, or --voxel, got {came}; say "
            "which points stay, as in --k 16 --ratio 2"
        )


def _stays(cloud: Any, given: dict[str, Any], session: Session) -> np.ndarray[Any, Any]:
    """True for the points that stay."""
    import numpy as np

    from ...geometry import radius_outliers, statistical_outliers

    if given["radius"] is not None:
        stays = radius_outliers(cloud, given["radius"], given["min_neighbors"], session=session).get()
    elif given["k"] is not None:
        stays = statistical_outliers(cloud, given["k"], given["ratio"], session=session).get()
    else:
        stays = np.ones(len(cloud), bool)
    return stays if given["voxel"] is None else _thinned(cloud, stays, given["voxel"], session)


def _thinned(cloud: Any, stays: np.ndarray[Any, Any], size: float, session: Session) -> np.ndarray[Any, Any]:
    """True for one of the points that stay in each voxel."""
    import numpy as np

    from ...geometry import voxel_downsample

    rows = np.flatnonzero(stays)
    found = voxel_downsample(cloud[rows], size, reduce="nearest_to_center", session=session)
    voxel_of, middle = found.voxel_of.get(), found.points.get()
    same = np.flatnonzero((cloud[rows] == middle[voxel_of]).all(axis=1))
    first = same[np.unique(voxel_of[same], return_index=True)[1]]
    click.echo(f"voxels   {len(first):,} of side {size:g}, for {len(rows):,} points")
    thinned = np.zeros(len(cloud), bool)
    thinned[rows[first]] = True
    return thinned
