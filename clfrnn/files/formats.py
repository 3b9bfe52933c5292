"""Formats: which reader takes which file, and what is asked of every file."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DeviceMemoryError, InvalidInputError
from ..host.numbers import shown as shown_value
from .arrays import read_npy, read_npz
from .atoms.cif import read_cif
from .atoms.gro import read_gro
from .atoms.poscar import read_poscar
from .atoms.xyz import read_xyz
from .cloud import Cloud
from .contents import STANDARD_INPUT, inner_ending, label, reading, shown
from .pcd import read_pcd
from .scans import read_las
from .table import read_table
from .vertices import read_ply

__all__ = ["FORMATS", "has_columns", "read", "read_cloud"]

#: The reader for each end of a file's name.
FORMATS: Mapping[str, Callable[..., Cloud]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    ".dat": read_table,
    ".asc": read_table,
    ".pts": read_table,
    ".xyz": read_xyz,
    ".extxyz": read_xyz,
    ".gro": read_gro,
    ".cif": read_cif,
    ".vasp": read_poscar,
    ".poscar": read_poscar,
    ".ply": read_ply,
    ".pcd": read_pcd,
    ".las": read_las,
    ".laz": read_las,
}

#: How the names of files of VASP begin, which have no ending.
_OF_VASP = ("POSCAR", "CONTCAR")

#: Readers of texts that have columns to choose from.
_WITH_COLUMNS = (read_table, read_xyz)

#: Readers of texts, which may be packed.
_OF_TEXT = (*_WITH_COLUMNS, read_gro, read_cif, read_poscar)


def read(
    path: str | PathLike[str], *, frame: int = 0, columns: Sequence[str | int] | None = None, skip_nan: bool = False
) -> Cloud:
    """Read the points of a file, its cell, and what else it says of them.

    Parameters
    ----------
    path : the file, whose format follows from the ending of its name, see :doc:`files`; names that begin with
        ``POSCAR`` or ``CONTCAR`` are those of VASP's files; texts may be packed by gzip, as in ``.csv.gz``; ``-`` is a
        text on standard input
    frame : which frame of the file; files of several frames cannot be read yet, so that it is 0
    columns : columns of a text that are coordinates, by name or by position, counted from 1; when None those whose
        names are x, y, z, else up to three without names
    skip_nan : whether rows in which a coordinate is NaN or missing are left out and counted; they are refused otherwise

    Returns
    -------
    Cloud
        The points in host memory, in the unit of the file; its ``notes`` say what was left out.

    Raises
    ------
    InvalidInputError
        The ending is unknown, the package that reads the format is not installed, the file has another number of
        rows than it says, has another format or can be read in several ways; the message says what to do.
    DeviceMemoryError
        The contents exceed the free memory of this machine.

    Notes
    -----
    Cost: the file is read once; a text takes about six times its size while it is read. Memory is taken for what the
    file holds, whatever its header says. Nothing in a file is executed, and no other file is opened.
    """
    try:
        place = operator.index(frame)
    except TypeError:
        place = -1
    if place != 0 or isinstance(frame, bool):
        raise InvalidInputError(
            f"expected 0, got {shown_value(frame)}; files of several frames cannot be read yet: save each frame as a "
            "file",
            argument="frame",
        )
    known = columns is None or (isinstance(columns, Sequence) and not isinstance(columns, (str, bytes)) and columns)
    if not known:
        raise InvalidInputError(
            f"expected a sequence of names or positions, as in ['x', 'y', 'z'], got {shown_value(columns)}; leave it "
            "out where the file says which columns are coordinates",
            argument="columns",
        )
    chosen = (
        None if columns is None else [shown_value(each) if isinstance(each, int) else str(each) for each in columns]
    )
    try:
        file = Path(path)
    except TypeError:
        raise InvalidInputError(
            f"expected the name of a file, got {type(path).__name__} {shown_value(path)}; pass a str or a Path",
            argument="path",
        ) from None
    return read_cloud(file, columns=chosen, skip_nan=skip_nan)


def read_cloud(
    path: Path,
    *,
    array: str | None = None,
    columns: Sequence[str] | None = None,
    prefer: Sequence[str] = (),
    skip_nan: bool = False,
) -> Cloud:
    """Read a file as :func:`read` does, where the command line says more.

    Parameters
    ----------
    path : the file; ``-`` is standard input, a text
    array : the name of an array in an .npz archive
    columns, skip_nan : as for :func:`read`
    prefer : names that are looked for in an archive before the usual ones
    """
    reader = _reader(path)
    if path.suffix.lower() == ".gz" and reader not in (None, *_OF_TEXT):
        raise InvalidInputError(f"{path}: expected a text where gzip packed it, got {path.name}; unpack it first")
    if reader is None:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(sorted(FORMATS))}, or begins with POSCAR or CONTCAR, got "
            f"{shown(inner_ending(path)) or 'no ending'}; save the points as one of these, or pass a text on standard "
            "input, as -"
        )
    if array is not None and reader is not read_npz:
        raise InvalidInputError(
            f"{label(path)}: only .npz archives hold arrays with names; leave out {array!r} of --array"
        )
    if columns is not None and reader not in _WITH_COLUMNS:
        raise InvalidInputError(
            f"{path}: only .csv and .txt files have columns to choose from (and .tsv, .dat, .asc, .pts and .xyz "
            "files); leave out --columns"
        )
    if path != STANDARD_INPUT:
        with reading(path, "a file", "save it again"), path.open("rb"):
            pass  # whether there is one that can be read
    options: dict[str, Any] = {"columns": columns, "skip_nan": skip_nan} if reader in _WITH_COLUMNS else {}
    if reader is read_npz:
        options = {"array": array, "prefer": prefer}
    try:
        with np.errstate(all="ignore"):  # numbers that are too large are refused below
            cloud = reader(path, **options)
    except MemoryError as error:
        if isinstance(error, DeviceMemoryError):
            raise
        raise DeviceMemoryError(
            f"{label(path)}: this process gets no memory for what the file contains; search a part of it"
        ) from error
    return _with_cell(path, _finite(path, cloud, skip_nan=skip_nan))


def has_columns(path: Path) -> bool:
    """Whether the file is a text, of which columns can be chosen."""
    return _reader(path) in _WITH_COLUMNS


def _reader(path: Path) -> Callable[..., Cloud] | None:
    """The reader of a file, by its name."""
    found = FORMATS.get(inner_ending(path))
    return read_poscar if found is None and path.name.upper().startswith(_OF_VASP) else found


def _finite(path: Path, cloud: Cloud, *, skip_nan: bool) -> Cloud:
    """Refuse an array without a point in each row, and numbers that are not finite; leave rows with NaN out."""
    points = cloud.points
    if points.ndim != 2:
        raise InvalidInputError(
            f"{label(path)}: expected an array of shape (n, dim), a point in each row, got shape {points.shape}; "
            "reshape it, as in points.reshape(-1, 3), and save it again"
        )
    if points.dtype.kind not in "fc":
        return cloud
    holes: np.ndarray[Any, Any] = np.zeros(len(points), bool)
    if skip_nan:
        holes = np.any(np.isnan(points), axis=1)
    if (bad := ~np.isfinite(points) & ~holes[:, None]).any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"{label(path)}: row {row + 1}: expected finite numbers, got {points[row, column]} in column {column + 1}; "
            "correct or delete the point (rows and columns count from 1)"
        )
    if not holes.any():
        return cloud
    return dataclasses.replace(
        cloud,
        points=points[~holes],
        species=None if cloud.species is None else cloud.species[~holes],
        names=None if cloud.names is None else cloud.names[~holes],
        skipped=cloud.skipped + int(holes.sum()),
    )


def _with_cell(path: Path, cloud: Cloud) -> Cloud:
    """Complete which axes repeat, and refuse a cell whose vectors that repeat span nothing."""
    if cloud.cell is None:
        return cloud if cloud.periodic else dataclasses.replace(cloud, periodic=(False,) * cloud.points.shape[1])
    vectors = cloud.cell[list(cloud.periodic)]
    longest = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(cloud.cell).all() or not longest.all():
        got = "a vector without a length, or a number that is not finite"
    elif len(vectors) and np.linalg.matrix_rank(vectors / longest) < len(vectors):
        got = "vectors in one plane or line"
    else:
        return cloud
    rows = " ".join(f"{number:g}" for row in cloud.cell for number in row)
    raise InvalidInputError(
        f"{label(path)}: expected lattice vectors that span a cell where they repeat, got {got} ({rows}); correct the "
        "cell of the file"
    )
