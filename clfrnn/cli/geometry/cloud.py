"""What goes into a command for the geometry of a cloud, what it prints, and points in .ply files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ClfrnnError, InvalidInputError
from ..arguments import check_new, printable
from ..input import naming_files, read_input
from ..progress import opened, progress

if TYPE_CHECKING:
    from ...runtime.session import Session

__all__ = ["check_output", "read_cloud", "working", "write_vertices"]


def check_output(output: Path, points: Path, endings: Sequence[str]) -> None:
    """Refuse a file that could not be written in the end.

    Parameters
    ----------
    output : the file to write
    points : the file to read
    endings : those that its name may have; .ply files need the package plyfile
    """
    if output.suffix.lower() not in endings:
        wanted = f"{', '.join(endings[:-1])} or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise click.UsageError(
            f"--output: expected a name that ends in {wanted}, got {printable(output.name)}; call it, say, "
            f"{printable(output.stem)}{endings[0]}"
        )
    check_new("--output", output, points)
    if output.suffix.lower() == ".ply":
        _plyfile()


def read_cloud(points: Path, given: dict[str, Any], *, dims: Sequence[int] | None = None) -> Any:
    """Read the points of a file, as a search does.

    Parameters
    ----------
    points : the file
    given : the options ``array``, ``columns`` and ``float32``
    dims : the numbers of coordinates that the command takes; any when None
    """
    cloud, _ = read_input(points, {**given, "queries": None})
    if dims is not None and cloud.shape[1] not in dims:
        raise InvalidInputError(
            f"{points}: expected {' or '.join(map(str, dims))} coordinates a point, got {cloud.shape[1]}; choose "
            "columns of a text by --columns, or save the coordinates alone"
        )
    return cloud


@contextlib.contextmanager
def working(what: str, points: Path, cloud: Any, device: str | None) -> Iterator[Session]:
    """A session on a device for the body, with progress; says at the end what was read, where it ran and how long.

    Parameters
    ----------
    what : the word beside the bar
    points, cloud : the file and its points
    device : as for :func:`~clfrnn.cli.progress.opened`
    """
    with naming_files(points, None), opened(device) as session:
        started = time.perf_counter()
        click.echo(f"points   {len(cloud):,} in {cloud.shape[1]}D, {cloud.dtype}")
        with progress(what) as shown, session.report_progress(shown):
            yield session
        click.echo(f"device   {session.profile}")
        click.echo(f"time     {time.perf_counter() - started:.3f} s; compiling, where it is the first, included")


def write_vertices(path: Path, points: Any, *, faces: Any = None, **others: Any) -> None:
    """Write a binary .ply file of points with x, y and z, and say so.

    Parameters
    ----------
    path : the file, which is replaced when the new one is whole
    points : (n, 3); other dtypes than float32 and float16 are written as float64
    faces : (f, 3) integers, the points of each triangle; None for a file without triangles
    others : (n,) further properties of the vertices, by name, in the same precision
    """
    import numpy as np

    from ..output import replacing

    plyfile = _plyfile()
    columns = {"x": points[:, 0], "y": points[:, 1], "z": points[:, 2], **others}
    real = "<f4" if points.dtype in ("float16", "float32") else "<f8"
    vertices = np.empty(len(points), [(name, real) for name in columns])
    for name, column in columns.items():
        vertices[name] = column
    elements = [plyfile.PlyElement.describe(vertices, "vertex")]
    if faces is not None:
        triangles = np.empty(len(faces), [("vertex_indices", "<i4", (3,))])
        triangles["vertex_indices"] = faces
        elements.append(plyfile.PlyElement.describe(triangles, "face"))
    with replacing(path) as part:
        plyfile.PlyData(elements, byte_order="<").write(str(part))
    also = "" if faces is None else f", {len(faces):,} faces"
    click.echo(f"written  {printable(str(path))}: {len(points):,} vertices with {', '.join(columns)}{also}")


def _plyfile() -> Any:
    try:
        import plyfile
    except ImportError as error:
        raise ClfrnnError(
            "--output: .ply files are written by the package plyfile, which is not installed; pip install "
            "'clfrnn[files]'"
        ) from error
    return plyfile
