"""``clfrnn normals``: the points of a file with the normals of the surface that they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .cloud import check_output, check_plot, read_cloud, working, write_vertices
from .options import of_a_cloud, output_option, plot_option, radius_option

__all__ = ["normals"]


@click.command()
@of_a_cloud
@radius_option("Compute each normal from the points within this radius, in the unit of the coordinates.")
@click.option(
    "--k",
    type=click.IntRange(min=4),
    help="Compute each normal from the K nearest points, the point itself counted; with --radius, those within it.",
)
@click.option(
    "--viewpoint",
    type=float,
    nargs=3,
    metavar="X Y Z",
    help="Turn each normal to the side of this position, as that of the scanner.",
)
@click.option("--orient", is_flag=True, help="Turn normals so that neighbors have theirs on the same side.")
@output_option("Write the points with their normals, a .ply file.", required=True)
@plot_option("Draw the points coloured by curvature, and arrows for some of the normals")
def normals(
    points: Path,
    *,
    output: Path,
    plot: Path | None,
    radius: float | None,
    k: int | None,
    viewpoint: tuple[float, ...] | None,
    orient: bool,
    **given: Any,
) -> None:
    """Estimate the normal of the surface at each point of a scan.

    POINTS is a file as for `clfrnn search`, in 3D. The .ply file that is written has x, y and z of each point, its
    normal as nx, ny and nz, and its curvature: 0 on a plane, and 1/3 where points spread alike to all sides. Where
    a point has fewer than three neighbors within --radius, normal and curvature are nan.
    """
    import numpy as np

    from ... import geometry

    if orient and viewpoint is not None:
        raise click.UsageError("--orient, --viewpoint: expected one of the two, got both; leave one of them out")
    if radius is None and (k is None or orient):
        raise click.UsageError(
            "Missing option '--radius': say how far neighbors may be whose normals are turned, as in --radius 0.1"
            if orient
            else "Missing option '--radius' or '--k': say how far the points of a normal may be, as in --radius 0.1, "
            "or how many of the nearest to take, as in --k 16"
        )
    check_output(output, points, (".ply",))
    check_plot(plot, points)
    if orient:
        from ...host.libraries import library

        library("scipy.sparse.csgraph", "scipy", "--orient")
    cloud = read_cloud(points, given, dims=(3,))
    with working("finding normals", points, cloud, given["device"]) as session:
        found = geometry.normals(cloud, radius, k=k, viewpoint=viewpoint, session=session)
        turned = found.normals
        if orient and radius is not None:
            turned = geometry.orient(cloud, turned, radius, session=session)
        vectors, curvature = turned.get(), found.curvature.get()
        none = int(np.isnan(vectors[:, 0]).sum())
        without = f"; {none:,} points have fewer than 3 neighbors, and nan" if none else ""
        click.echo(f"normals  {len(cloud) - none:,}{without}")
    write_vertices(output, cloud, nx=vectors[:, 0], ny=vectors[:, 1], nz=vectors[:, 2], curvature=curvature)
    if plot is not None:
        from .pictures import draw_normals

        draw_normals(plot, cloud, vectors, curvature)
