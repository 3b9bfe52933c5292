"""What goes into a command for the geometry of a cloud, what it prints, and points in .ply files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import InvalidInputError
from ...host.printable import printable
from ..arguments import check_new
from ..input import naming_files, read_input, say_cell
from ..progress import opened, progress

if TYPE_CHECKING:
    from ...runtime.session import Session

__all__ = ["check_output", "check_plot", "read_cloud", "working", "write_vertices"]


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
        from ...host.libraries import library

        library("plyfile", "plyfile", "--output: a .ply file", "files")


def check_plot(plot: Path | None, points: Path) -> None:
    """Refuse a picture that could not be drawn in the end.

    Parameters
    ----------
    plot : the picture; None where none is drawn
    points : the file to read
    """
    if plot is not None:
        from ..pictures import check_picture

        check_new("--plot", plot, points)
        check_picture(plot)


def read_cloud(points: Path, given: dict[str, Any], *, dims: Sequence[int] | None = None) -> Any:
    """Read the points of a file, as a search does.

    Parameters
    ----------
    points : the file
    given : the options ``array``, ``columns``, ``frame``, ``skip_nan`` and ``float32``
    dims : the numbers of coordinates that the command takes; any when None
    """
    read, _ = read_input(points, {**given, "queries": None})
    cloud = read.points
    if dims is not None and cloud.shape[1] not in dims:
        raise InvalidInputError(
            f"{points}: expected {' or '.join(map(str, dims))} coordinates a point, got {cloud.shape[1]}; choose "
            "columns of a text by --columns, or save the coordinates alone"
        )
    if read.cell is not None:
        say_cell(points, read, "left out, as this command knows no cells")
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
    with naming_files(points, None):
        session = opened(device)
        started = time.perf_counter()
        click.echo(f"points   {len(cloud):,} in {cloud.shape[1]}D, {cloud.dtype}")
        with progress(what) as shown, session.report_progress(shown):
            yield session
        click.echo(f"device   {session.profile}")
        click.echo(f"time     {time.perf_counter() - started:.3f} s; compiling, where it is the first, included")


def write_vertices(path: Path, points: Any, *, faces: Any = None, **others: Any) -> None:
    """Write a .ply file, which is replaced when the new one is whole, and say so.

    Parameters
    ----------
    path, points, faces, others : as for :func:`clfrnn.geometry.ply.write_ply`
    """
    from ...geometry.ply import write_ply

    write_ply(path, points, faces=faces, **others)
    also = "" if faces is None else f", {len(faces):,} faces"
    names = ", ".join(("x", "y", "z", *others))
    click.echo(f"written  {printable(str(path))}: {len(points):,} vertices with {names}{also}")
