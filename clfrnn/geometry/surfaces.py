"""Surfaces: where a field has a level, as triangles; at a distance from a cloud; on file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.files import replacing
from ..host.foreign_warnings import ignored_warnings
from ..host.libraries import library
from ..host.numbers import real_array
from ..host.warning import warn
from ..methods.named import check_keywords
from ..points.argument_types import MethodName, MethodOptions, Rows
from ..runtime.session import Session
from .arguments import finite, positive
from .fields import Field, distance_field
from .ply import write_ply

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Surface", "isosurface", "offset_surface"]

_ENDINGS = (".ply", ".obj", ".stl")


class Surface(NamedTuple):
    """A surface of triangles, or a curve of segments in 2D, in host memory."""

    #: (v, dim) float64, the corners, in the unit of the points
    vertices: npt.NDArray[np.floating[Any]]
    #: (f, dim) int32, the vertices of each triangle, counterclockwise where the field grows towards the viewer; or of
    #: each segment, with the larger values at its right hand
    faces: npt.NDArray[np.int32]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the triangles to a file, in the format that its name ends with: .ply, .obj or .stl.

        Parameters
        ----------
        path : where to write; a file of that name is replaced when the new one is whole, and stays where writing fails

        Raises
        ------
        InvalidInputError
            The name has another ending, the surface is a curve in 2D, or the system refuses to write there.
        ClfrnnError
            plyfile is not installed, or trimesh for the other formats; the extra ``geometry`` has both.

        Notes
        -----
        .ply files hold the vertices in their own precision, float64 unless you have made them float32. .obj files have
        eight decimals. .stl files hold float32, and the corners of each triangle in place of numbers of vertices.
        """
        ending = Path(path).suffix.lower()
        if ending not in _ENDINGS:
            raise InvalidInputError(
                f"expected a name that ends in {', '.join(_ENDINGS)}, got {str(path)!r:.60}; rename the file",
                argument="path",
            )
        if self.vertices.shape[1] != 3:
            raise InvalidInputError(
                f"expected a surface in 3D, got a curve in {self.vertices.shape[1]}D, which {ending} files do "
                "not hold; save its arrays by numpy.savez",
                argument="path",
            )
        if ending == ".ply":
            write_ply(path, self.vertices, faces=self.faces)
            return
        trimesh = library("trimesh", "trimesh", "Surface.save")
        with replacing(path) as part, ignored_warnings():
            trimesh.Trimesh(self.vertices, self.faces, process=False).export(str(part), file_type=ending[1:])


def isosurface(field: Field, level: float = 0.0) -> Surface:
    """Find the surface on which a field has a given value, as triangles; in 2D the curve, as segments.

    Parameters
    ----------
    field : of :func:`distance_field`, or any other :class:`Field` of numbers at nodes, on the device or the host
    level : scalar, the value on the surface

    Returns
    -------
    Surface, in host memory. It has no triangles where the field does not reach the level, which a UserWarning says. A
    cell of the grid with a corner where the field is NaN has none either: the surface has a hole there.

    Raises
    ------
    InvalidInputError
        An argument is not a field, or not a number.
    ClfrnnError
        scikit-image is not installed; the extra ``geometry`` has it.

    Notes
    -----
    Vertices are on the edges of the grid's cells, where the field has the value if it changes evenly along the edge.
    Cost: a copy of the field to the host and, there, a pass over all cells by scikit-image.

    Source: Lorensen and Cline, *Marching cubes* (1987); Lewiner, Lopes, Vieira and Tavares, *Efficient implementation
    of marching cubes' cases with topological guarantees* (2003), as scikit-image has it.
    """
    height = finite("level", level, "0")
    try:
        values, origin, spacing = field
        numbers, given = np.asarray(values), real_array(origin)
    except (TypeError, ValueError):
        numbers, given, spacing = np.empty(0), None, 1.0
    start = np.empty(0) if given is None else given
    if numbers.dtype.kind != "f" or numbers.ndim not in (2, 3) or not _is_position(start, numbers.ndim):
        raise InvalidInputError(
            f"expected values at the nodes of a grid in 2D or 3D, an origin and a spacing, got {type(field)}; "
            "pass what clfrnn.geometry.distance_field returns, or clfrnn.geometry.Field(values, origin, spacing)",
            argument="field",
        )
    measure = library("skimage.measure", "scikit-image", "isosurface")
    found = (_triangles if numbers.ndim == 3 else _segments)(measure, _heights(numbers, height))
    if not len(found.faces):
        _warn_of_nothing(numbers, height)
    return Surface(start + positive("spacing", spacing, "that of the nodes") * found.vertices, found.faces)


def _is_position(start: np.ndarray[Any, Any], dim: int) -> bool:
    return start.shape == (dim,) and bool(np.isfinite(start).all())


def _heights(values: np.ndarray[Any, Any], level: float) -> np.ndarray[Any, Any]:
    """The heights of values over the level, the largest about 1, as scikit-image computes in float32; NaN for none."""
    with np.errstate(over="ignore", invalid="ignore"):
        heights = values / 2 - values.dtype.type(level / 2)  # which do not overflow
    heights[~np.isfinite(heights)] = np.nan
    exponent = int(np.frexp(np.nanmax(np.abs(heights), initial=0))[1])
    found: np.ndarray[Any, Any] = np.ldexp(heights, -exponent)
    return found


def _warn_of_nothing(values: np.ndarray[Any, Any], level: float) -> None:
    """Warn that a surface has no triangles, and of why that is."""
    known = values[np.isfinite(values)]
    found = f"values from {known.min():g} to {known.max():g}" if known.size else "no value that is defined"
    warn(
        f"level: the field has {found}, and the surface at {level:g} is empty; pass a level between its values, or "
        "make the field with a larger radius or a smaller spacing, so that cells have no undefined corners"
    )


def offset_surface(
    points: Rows,
    normals: Rows,
    distance: float,
    *,
    spacing: float,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> Surface:
    """Find the surface at a distance from a cloud: outside of it, or inside for a negative distance.

    Parameters
    ----------
    points, normals, spacing, method, session, **options : as for :func:`distance_field`
    distance : scalar, in the points' unit; positive to the side that normals point to

    Returns
    -------
    Surface, in host memory; a curve in 2D

    Raises
    ------
    InvalidInputError, DeviceMemoryError, ClfrnnError
        As for :func:`distance_field` and :func:`isosurface`.

    Notes
    -----
    It is the isosurface at that level of a distance field with radius ``|distance| + 2 spacing``; sources are those of
    both functions. Behind the edge of an
    open surface the sign of the field changes far from all points; nothing is drawn there where the distance is at
    least six spacings, and a rim about as wide as the distance or two spacings otherwise. Cost: that of both functions.
    """
    check_keywords(offset_surface, method, options)
    level, width = finite("distance", distance, "0.1"), positive("spacing", spacing, "the distance of adjacent nodes")
    radius = abs(level) + 2 * width
    given: Any = {"method": method, "session": session, **options}
    field = distance_field(points, normals, spacing=width, radius=radius, **given)
    values = np.array(field.values)
    across = width * np.sqrt(values.ndim)
    # A cell that the surface passes has no corner this far on the other side of the points.
    beyond = max(abs(level) - across, 2 * across)
    values[values < -beyond if level >= 0 else values > beyond] = np.nan
    return isosurface(field._replace(values=values), level)  # type: ignore[arg-type]  # it takes numpy, too


def _triangles(measure: Any, heights: np.ndarray[Any, Any]) -> Surface:
    """The triangles at height 0, in units of the grid."""
    known = ~np.isnan(heights)
    filled = np.where(known, heights, 0).astype(np.float32)
    whole = np.zeros(heights.shape, bool)  # scikit-image looks for a cell's flag at its last corner
    if min(heights.shape) > 1:
        for axis in range(3):
            known = np.delete(known, 0, axis) & np.delete(known, -1, axis)
        whole[1:, 1:, 1:] = known
    if not whole.any() or not filled.min() <= 0 <= filled.max():
        return Surface(np.empty((0, 3)), np.empty((0, 3), np.int32))
    try:
        with ignored_warnings():
            vertices, faces, _, _ = measure.marching_cubes(filled, 0.0, mask=whole, allow_degenerate=False)
    except RuntimeError:  # no surface was found
        return Surface(np.empty((0, 3)), np.empty((0, 3), np.int32))
    return Surface(vertices.astype(np.float64), faces.astype(np.int32))


def _segments(measure: Any, heights: np.ndarray[Any, Any]) -> Surface:
    """The segments at height 0, in units of the grid."""
    with ignored_warnings():
        curves = measure.find_contours(heights, 0.0) if min(heights.shape) > 1 else []
    vertices, faces = [np.empty((0, 2))], [np.empty((0, 2), np.int32)]
    first = 0
    for curve in curves:
        closed = len(curve) > 2 and bool((curve[0] == curve[-1]).all())
        corners = curve[:-1] if closed else curve
        begin = np.arange(len(curve) - 1)
        faces.append((first + np.stack([begin, (begin + 1) % len(corners)], axis=1)).astype(np.int32))
        vertices.append(corners)
        first += len(corners)
    return Surface(np.concatenate(vertices), np.concatenate(faces))
