"""Files with points, for the command line: which reader takes which file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..errors import DeviceMemoryError, InvalidInputError
from .arguments import printable
from .readers.arrays import read_npy, read_npz
from .readers.atoms import read_xyz
from .readers.contents import Say, inner_ending, label
from .readers.crystals import is_crystal, read_atoms
from .readers.pcd import read_pcd
from .readers.scans import read_las
from .readers.table import read_table
from .readers.vertices import read_ply

__all__ = ["FORMATS", "check_points", "has_columns", "read_points"]

Points = np.ndarray[Any, Any]

#: The reader for each end of a file's name.
FORMATS: Mapping[str, Callable[..., Points]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    ".dat": read_table,
    ".xyz": read_xyz,
    ".ply": read_ply,
    ".pcd": read_pcd,
    ".las": read_las,
    ".laz": read_las,
}

#: Readers of texts, which may be packed, and have columns to choose from.
_OF_TEXT = (read_table, read_xyz)


def read_points(
    path: Path,
    *,
    array: str | None = None,
    columns: Sequence[str] | None = None,
    prefer: Sequence[str] = (),
    say: Say | None = None,
) -> Points:
    """Read the points of a file, one in each row, by a reader for the suffix of its name.

    Parameters
    ----------
    path : see :data:`FORMATS`, and :mod:`.readers.crystals` for files of atoms; those of text may be packed by gzip
        (``.csv.gz``); ``-`` is standard input, a text
    array : the name of an array in an .npz archive
    columns : columns of a text, by name or by position, counted from 1; when None those whose names are x, y, z, else
        up to three without names
    prefer : names that are looked for in an archive before the usual ones
    say : takes sentences on what was left out; they are printed on standard error when None

    Raises
    ------
    InvalidInputError
        The suffix is unknown, or the file has another format; the message says what to do.
    DeviceMemoryError
        The contents exceed the free memory of this machine.
    """
    reader = read_atoms if is_crystal(path) else FORMATS.get(inner_ending(path))
    if path.suffix.lower() == ".gz" and reader not in (None, *_OF_TEXT):
        raise InvalidInputError(f"{path}: expected a text where gzip packed it, got {path.name}; unpack it first")
    if reader is None:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(sorted(FORMATS))}, got "
            f"{inner_ending(path) or 'no ending'}; save the points as one of these, or pass a "
            "text on standard input, as -; files of atoms may also be .cif, .gro, .vasp or POSCAR"
        )
    if array is not None and reader is not read_npz:
        raise InvalidInputError(
            f"{label(path)}: only .npz archives hold arrays with names; leave out {array!r} of --array"
        )
    if columns is not None and reader not in _OF_TEXT:
        raise InvalidInputError(
            f"{path}: only .csv and .txt files have columns to choose from (and .tsv, .dat and .xyz files); leave "
            "out --columns"
        )
    try:
        if reader is read_npz:
            return read_npz(path, array=array, prefer=prefer)
        return reader(path, columns=columns, say=say or _print) if reader in _OF_TEXT else reader(path)
    except MemoryError as error:
        if isinstance(error, DeviceMemoryError):
            raise
        raise DeviceMemoryError(
            f"{label(path)}: this process gets no memory for what the file contains; search a part of it"
        ) from error


def has_columns(path: Path) -> bool:
    """Whether the file is a text, of which columns can be chosen."""
    return FORMATS.get(inner_ending(path)) in _OF_TEXT


def check_points(path: Path, points: Points) -> None:
    """Refuse an array that has no point in each row, or numbers that are not finite.

    Parameters
    ----------
    path : where it was read; rows are counted from 1
    points : the array
    """
    if points.ndim != 2:
        raise InvalidInputError(
            f"{label(path)}: expected an array of shape (n, dim), a point in each row, got shape {points.shape}; "
            "reshape it, as in points.reshape(-1, 3), and save it again"
        )
    if points.dtype.kind == "f" and not (finite := np.isfinite(points)).all():
        row, column = (int(k) for k in np.argwhere(~finite)[0])
        raise InvalidInputError(
            f"{label(path)}: row {row + 1}: expected finite numbers, got {points[row, column]} in column {column + 1}; "
            "correct or delete the point (rows and columns count from 1)"
        )


def _print(sentence: str) -> None:
    click.echo(f"clfrnn: {printable(sentence)}", err=True)
