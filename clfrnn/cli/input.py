"""What a search reads: the points and queries of the files that its command line names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from .readers.contents import label

__all__ = ["naming_files", "read_input"]


def read_input(points: Path, given: dict[str, Any]) -> tuple[Any, Any]:
    """Read the points, and the queries, None where none are given.

    Parameters
    ----------
    points : the file of points
    given : the options ``queries``, ``array``, ``columns`` and ``float32`` of the command line
    """
    from .files import has_columns, read_points

    path = given["queries"]
    columns = None if given["columns"] is None else [word.strip() for word in given["columns"].split(",")]
    # Columns are chosen in whichever of the files are texts, and in the first where none is, which says so.
    none = not has_columns(points) and (path is None or not has_columns(path))
    cloud = read_points(points, array=given["array"], columns=columns if none or has_columns(points) else None)
    cloud = _checked(points, cloud, given)
    if path is None:
        return cloud, None
    sources = read_points(path, columns=columns if has_columns(path) else None, prefer=("queries",))
    sources = _checked(path, sources, given)
    if (cloud.dtype, sources.dtype) == ("float32", "float64"):
        raise InvalidInputError(
            f"--queries: expected float32, as the points are, got float64 in {label(path)} (texts are read as "
            "float64); round them by --float32, or save the points as float64"
        )
    return cloud, sources


def _checked(path: Path, points: Any, given: dict[str, Any]) -> Any:
    """Return the points of a file in the dtype that was asked for."""
    import numpy as np

    from .files import check_points

    check_points(path, points)
    if not given["float32"] or points.dtype.kind not in "iuf":
        return points
    with np.errstate(over="ignore"):
        rounded = points.astype(np.float32)
    if not np.isfinite(rounded).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(rounded))[0])
        raise InvalidInputError(
            f"--float32: expected coordinates below 3.4e38, got {points[row, column]} in row {row + 1} of "
            f"{label(path)}; leave out --float32"
        )
    return rounded


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
        for name, path in (("points", points), ("queries", queries)):
            if str(error).startswith(f"{name}: ") and path is not None:
                raise InvalidInputError(f"{label(path)}: {error}") from error
        raise
