"""What a search reads: the points and queries of the files that its command line names."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError
from ..files.contents import label
from ..host.printable import printable

if TYPE_CHECKING:
    from ..files import Cloud

__all__ = ["naming_files", "read_each", "read_input", "say_cell"]

#: Å in the unit of a file; the command line searches atoms in Å.
_ANGSTROMS = {"nm": 10.0}


def read_each(points: Path, given: dict[str, Any]) -> Iterator[tuple[Cloud, Any]]:
    """What :func:`read_input` reads, for each frame of a file where ``frames`` are asked for.

    Parameters
    ----------
    points, given : as for :func:`read_input`; ``frames`` in addition
    """
    if not given["frames"]:
        yield read_input(points, given)
        return
    from ..files.formats import read_frames

    columns = None if given["columns"] is None else [word.strip() for word in given["columns"].split(",")]
    said: set[str] = set()
    with _naming_options():
        every = read_frames(points, columns=columns, array=given["array"], skip_nan=given["skip_nan"])
    while True:
        with _naming_options():
            cloud = next(every, None)
        if cloud is None:
            return
        notes = tuple(note for note in cloud.notes if note not in said)
        said |= set(notes)
        yield _said(points, dataclasses.replace(cloud, notes=notes), given), None


def read_input(points: Path, given: dict[str, Any]) -> tuple[Cloud, Any]:
    """Read the points with their cell, and the queries, None where none are given.

    Parameters
    ----------
    points : the file of points
    given : the options ``queries``, ``array``, ``columns``, ``frame``, ``skip_nan`` and ``float32`` of the command line
    """
    from ..files.formats import has_columns

    path = given["queries"]
    columns = None if given["columns"] is None else [word.strip() for word in given["columns"].split(",")]
    # Columns are chosen in whichever of the files are texts, and in the first where none is, which says so.
    none = not has_columns(points) and (path is None or not has_columns(path))
    cloud = _read(
        points,
        given,
        array=given["array"],
        columns=columns if none or has_columns(points) else None,
        frame=given["frame"] or 0,
    )
    if given["frame"] is not None:
        click.echo(f"frame    {cloud.frame:,} of {cloud.frames:,}")
    elif cloud.frames > 1:
        click.echo(
            f"clfrnn: {printable(label(points))}: it has {cloud.frames:,} frames, of which frame 0 is read; say which "
            "by --frame",
            err=True,
        )
    if path is None:
        return cloud, None
    others = _read(path, given, columns=columns if has_columns(path) else None, prefer=("queries",))
    if (cloud.points.dtype, others.points.dtype) == ("float32", "float64"):
        raise InvalidInputError(
            f"--queries: expected float32, as the points are, got float64 in {label(path)} (texts are read as "
            "float64); round them by --float32, or save the points as float64"
        )
    same = others.cell is None or (cloud.cell is not None and (others.cell == cloud.cell).all())
    if not same:
        say_cell(path, others, "left out, as the cell is that of the points")
    return cloud, others.points


def say_cell(path: Path, cloud: Cloud, how: str) -> None:
    """Print the cell that a file has.

    Parameters
    ----------
    path, cloud : the file and what it has
    how : what becomes of the cell
    """
    assert cloud.cell is not None
    numbers = " ".join(f"{number:g}" for row in cloud.cell for number in row)
    click.echo(f"cell     {numbers}, of {printable(path.name)}{how and f', {how}'}")


def _read(path: Path, given: dict[str, Any], **options: Any) -> Cloud:
    """Read a file, and return what is searched of it."""
    from ..files.formats import read_cloud

    if _is_mapped(path, given):
        return _mapped(path)
    with _naming_options():
        cloud = read_cloud(path, skip_nan=given["skip_nan"], **options)
    return _said(path, cloud, given)


def _said(path: Path, cloud: Cloud, given: dict[str, Any]) -> Cloud:
    """Say what is worth to know of a file, and return its points in the dtype that was asked for, atoms in Å."""
    import numpy as np

    for note in cloud.notes:
        click.echo(f"clfrnn: {printable(note)}", err=True)
    if cloud.skipped:
        click.echo(f"skipped  {cloud.skipped:,} without coordinates, in {printable(path.name)}")
    if cloud.unit in _ANGSTROMS:
        scale = _ANGSTROMS[cloud.unit]
        cell = None if cloud.cell is None else cloud.cell * scale
        click.echo(f"unit     Å, from {cloud.unit} in {printable(path.name)}")
        cloud = dataclasses.replace(cloud, points=cloud.points * scale, cell=cell, unit="Å")
    elif cloud.unit is not None:
        click.echo(f"unit     {cloud.unit}, as in {printable(path.name)}")
    points = cloud.points
    if not given["float32"] or points.dtype.kind not in "iuf":
        return cloud
    with np.errstate(over="ignore"):
        rounded = points.astype(np.float32)
    if not np.isfinite(rounded).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(rounded))[0])
        raise InvalidInputError(
            f"--float32: expected coordinates below 3.4e38, got {points[row, column]} in row {row + 1} of "
            f"{label(path)}; leave out --float32"
        )
    return dataclasses.replace(cloud, points=rounded)


def _is_mapped(path: Path, given: dict[str, Any]) -> bool:
    """Whether a file is read by parts: an array of numpy's, as it is."""
    by_parts = given.get("parts") is not None or given.get("devices") is not None
    return by_parts and path.suffix == ".npy" and not (given["float32"] or given["skip_nan"] or given["frame"])


def _mapped(path: Path) -> Cloud:
    """The array of a file, of which nothing is read yet."""
    import numpy as np

    from ..files import Cloud

    try:
        return Cloud(points=np.load(path, mmap_mode="r"))
    except (ValueError, OSError) as error:
        raise InvalidInputError(
            f"{label(path)}: expected an array as numpy.save writes it, got a file that numpy refuses ({error}); save "
            "it again"
        ) from None


@contextlib.contextmanager
def _naming_options() -> Iterator[None]:
    """Name the options in errors of readers, which know arguments alone."""
    try:
        yield
    except InvalidInputError as error:
        if error.argument is None:
            raise
        raise InvalidInputError(f"--{error.argument}: {error.problem}") from error


@contextlib.contextmanager
def naming_files(points: Path, queries: Path | None) -> Iterator[None]:
    """Name the files in errors of the library, which knows arguments alone.

    Parameters
    ----------
    points, queries : the files of these arguments
    """
    try:
        yield
    except InvalidInputError as error:
        path = {"points": points, "queries": queries}.get(error.argument or "")
        if path is None:
            raise
        raise InvalidInputError(f"{label(path)}: {error}") from error
