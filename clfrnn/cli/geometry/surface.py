"""``clfrnn surface``: the surface of the points in a file, or the one at a distance from it, as triangles."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ClfrnnError
from ...host.printable import printable
from ..arguments import Finite
from .cloud import check_output, check_plot, read_cloud, working, write_vertices
from .options import of_a_cloud, output_option, plot_option, radius_option

if TYPE_CHECKING:
    from ...geometry import Surface
    from ...runtime.session import Session

__all__ = ["surface"]

#: What surfaces are made with: modules and their packages, of the extra ``geometry``.
_LIBRARIES = (("scipy.sparse.csgraph", "scipy"), ("skimage.measure", "scikit-image"))

#: What .obj and .stl files are written with.
_WRITER = ("trimesh", "trimesh")

#: The share of a voxel by which rounding may shift vertices without a word.
_ROUNDED = 0.01


@click.command()
@of_a_cloud
@click.option(
    "--spacing",
    type=Finite(min=0, min_open=True),
    required=True,
    help="The side of the cubes that space is divided into, in the unit of the coordinates: about the size of the "
    "triangles.",
)
@radius_option(
    "Compute each normal from the points within this radius, and the surface up to as far from the points, in the unit "
    "of the coordinates; at least twice --spacing.",
    required=True,
)
@click.option("--distance", type=float, help="How far outside of the points the surface is; inside where below 0.")
@output_option("Write the triangles, a .ply, .obj or .stl file.", required=True)
@plot_option("Draw the points, and the triangles beside them")
def surface(points: Path, *, output: Path, plot: Path | None, **given: Any) -> None:
    """Find the surface through the points of a scan, as triangles.

    POINTS is a file as for `clfrnn search`, in 3D. First the normals are computed, and turned to the same side of the
    surface, the outside where it is closed. Then the distance to the points is computed at the corners of cubes. The
    surface lies where this distance is 0, or --distance.
    """
    from ...host.libraries import library

    if given["radius"] < 2 * given["spacing"]:
        raise click.UsageError(
            f"--spacing: expected at most half of --radius, got {given['spacing']:g} and {given['radius']:g}; pass a "
            "smaller --spacing or a larger --radius"
        )
    check_output(output, points, (".ply", ".obj", ".stl"))
    check_plot(plot, points)
    for module, package in _LIBRARIES if output.suffix.lower() == ".ply" else (*_LIBRARIES, _WRITER):
        library(module, package, "clfrnn surface")
    cloud = read_cloud(points, given, dims=(3,))
    with working("finding the surface", points, cloud, given["device"]) as session:
        found = _surface(cloud, given, session)
        click.echo(f"surface  {len(found.faces):,} triangles, {len(found.vertices):,} vertices")
    _write(output, found, given["spacing"])
    if plot is not None:
        from .pictures import draw_surface

        draw_surface(plot, cloud, found)


def _surface(cloud: Any, given: dict[str, Any], session: Session) -> Surface:
    """The surface on the host; raises where it has no triangles."""
    from ...geometry import distance_field, isosurface, normals, offset_surface, orient

    spacing, radius, distance = given["spacing"], given["radius"], given["distance"]
    toward = orient(cloud, normals(cloud, radius, session=session).normals, radius, session=session)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "level: the field has")  # the error below says more
        if distance is not None:
            found = offset_surface(cloud, toward, distance, spacing=spacing, session=session)
        else:
            found = isosurface(distance_field(cloud, toward, spacing=spacing, radius=radius, session=session))
    if not len(found.faces):
        raise ClfrnnError(
            f"--radius, --spacing: expected a surface, got no triangle for {len(cloud):,} points within {radius:g} of "
            f"each other and voxels of {spacing:g}; pass a larger --radius, or leave out "
            "--distance or bring it nearer to 0"
        )
    return found


def _write(output: Path, found: Surface, spacing: float) -> None:
    """Write the triangles, a .ply file with all digits of the vertices."""
    import numpy as np

    if output.suffix.lower() == ".ply":
        write_vertices(output, found.vertices, faces=found.faces)
        return
    found.save(output)
    click.echo(f"written  {printable(str(output))}: {len(found.faces):,} triangles")
    rounded = np.abs(found.vertices.astype(np.float32) - found.vertices).max()
    if output.suffix.lower() == ".stl" and rounded > _ROUNDED * spacing:
        click.echo(
            f"clfrnn: {printable(output.name)}: .stl files hold float32, which shifts vertices by up to {rounded:.2g} "
            "this far from the origin; write a .ply or .obj file, or subtract an offset from the points",
            err=True,
        )
