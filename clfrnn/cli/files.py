"""Readers of files with points, for the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError

__all__ = ["FORMATS", "read_lattice", "read_points"]

Points = np.ndarray[Any, Any]

#: Names of the points in an archive with several arrays.
_NAMES = ("points", "positions", "coordinates", "xyz")


def read_points(path: Path, *, array: str | None = None, columns: Sequence[str] | None = None) -> Points:
    """Read the points of a file, one in each row, by a reader for the suffix of its name.

    Parameters
    ----------
    path : see :data:`FORMATS`
    array : the name of an array in an .npz archive
    columns : columns of a .csv or .txt file, by name or by position, counted from 0; all when not given

    Raises
    ------
    InvalidInputError
        The suffix is unknown, or the file has another format; the message says what to do.
    """
    reader = FORMATS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(sorted(FORMATS))}, got {path.suffix or 'no ending'}; "
            "save the points as one of these"
        )
    if array is not None and reader is not _read_npz:
        raise InvalidInputError(f"{path}: only .npz archives hold arrays with names; leave out {array!r}")
    if columns is not None and reader is not _read_text:
        raise InvalidInputError(f"{path}: only .csv and .txt files have columns to choose from; leave out columns")
    if reader is _read_npz:
        return _read_npz(path, array)
    return _read_text(path, columns) if reader is _read_text else reader(path)


def _read_npy(path: Path) -> Points:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise InvalidInputError(
            f"{path}: expected an array as numpy.save writes it, got something else ({_first(error)}); save it again"
        ) from error


def _first(error: Exception) -> str:
    """The first sentence of an error of numpy's; later sentences advise to load untrusted objects."""
    return str(error).split(". ")[0]


def _read_npz(path: Path, array: str | None = None) -> Points:
    """The named array, else the only one, else the one with a usual name of points."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if array is None:
                array = names[0] if len(names) == 1 else next((name for name in _NAMES if name in names), None)
            if array is None or array not in names:
                wanted = f"one named {array!r}" if array else f"one array, or one named {', '.join(_NAMES)}"
                raise InvalidInputError(
                    f"{path}: expected {wanted}, got {', '.join(names) or 'none'}; name one of them with --array"
                )
            return np.asarray(archive[array])
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, InvalidInputError) or not path.exists():
            raise
        raise InvalidInputError(
            f"{path}: expected an archive as numpy.savez writes it, got something else ({_first(error)}); save it again"
        ) from error


def _read_text(path: Path, columns: Sequence[str] | None = None) -> Points:
    """Rows of numbers, after comments and a row of names if there are any."""
    rows = [line.rstrip(",") for line in _lines(path) if not line.startswith("#")]
    between = "," if any("," in row for row in rows[:2]) else None
    words = [word.strip(' "') for word in rows[0].split(between)] if rows else []
    wanted = None if columns is None else [_place(path, column, words) for column in columns]
    # In rows without names, columns that are not read may hold words.
    if not _are_numbers(words if wanted is None else [words[place] for place in wanted]):
        rows = rows[1:]
    return _numbers(path, rows, between=between, columns=wanted)


def _place(path: Path, column: str, names: list[str]) -> int:
    """The position of a column, given its name or its position."""
    if column in names:
        return names.index(column)
    if column.isdigit() and int(column) < len(names):
        return int(column)
    raise InvalidInputError(
        f"{path}: expected columns that are there, got {column!r}; it has {len(names)}, whose first row is "
        f"{', '.join(names)}: name them as there, or count them from 0"
    )


def _read_xyz(path: Path) -> Points:
    """A frame of atoms: their number, a comment, and a symbol and three coordinates a row; or rows of bare numbers.

    Of longer rows the first three numbers are the coordinates.
    """
    lines = _lines(path, keep_blank=True)
    first = lines[0].split() if lines else []
    if len(first) == 1 and first[0].isdigit():
        rows, behind = lines[2 : 2 + int(first[0])], lines[2 + int(first[0]) :]
        if any(line.strip() for line in behind):
            raise InvalidInputError(
                f"{path}: expected one frame of {first[0]} atoms, got more lines behind it; save each frame as a file"
            )
        if len(rows) < int(first[0]):
            raise InvalidInputError(f"{path}: expected {first[0]} atoms, got {len(rows)}; the file may be cut off")
        return _numbers(path, [" ".join(row.split()[1:4]) for row in rows])
    return _numbers(path, [" ".join(line.split()[:3]) for line in lines if line.strip() and not line.startswith("#")])


def read_lattice(path: Path) -> tuple[list[list[float]], list[bool]] | None:
    """The lattice vectors in the comment of an extended .xyz file, and which repeat; None where there are none."""
    if path.suffix.lower() != ".xyz":
        return None
    comment = "".join(_lines(path, keep_blank=True)[1:2])
    found = re.search(r"\bLattice\s*=\s*[\"'{\[]([^\"'}\]]*)", comment, re.IGNORECASE)
    if found is None:
        return None
    words = found[1].replace(",", " ").split()
    if len(words) != 9 or not _are_numbers(words):
        raise InvalidInputError(
            f"{path}: expected the nine numbers of three lattice vectors in its comment, got Lattice={found[1]!r}; "
            "correct the comment, or leave the cell out by --cell none"
        )
    numbers = [float(word) for word in words]
    flags = re.search(r"\bpbc\s*=\W*([TF01])\w*\W+([TF01])\w*\W+([TF01])", comment, re.IGNORECASE)
    periodic = [True] * 3 if flags is None else [flag.upper() in "T1" for flag in flags.groups()]
    return [numbers[k : k + 3] for k in (0, 3, 6)], periodic


def _read_ply(path: Path) -> Points:
    """The x, y and z of the vertices."""
    try:
        from plyfile import PlyData, PlyParseError
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: .ply files are read by the package plyfile, which is not installed; pip install 'clfrnn[files]'"
        ) from error
    try:
        vertices = PlyData.read(str(path))["vertex"]
        return np.stack([np.asarray(vertices[name]) for name in ("x", "y", "z")], axis=1)
    except (PlyParseError, KeyError, ValueError) as error:
        raise InvalidInputError(
            f"{path}: expected vertices with x, y and z, got something else ({error}); save it again as a point cloud"
        ) from error


#: The reader for each end of a file's name.
FORMATS: Mapping[str, Callable[[Path], Points]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".txt": _read_text,
    ".xyz": _read_xyz,
    ".ply": _read_ply,
}


def _lines(path: Path, *, keep_blank: bool = False) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path}: expected text, got bytes that are none ({error}); give the file the ending of its format"
        ) from error
    return lines if keep_blank else [line for line in lines if line]


def _numbers(path: Path, rows: list[str], *, between: str | None = None, columns: list[int] | None = None) -> Points:
    if not rows:
        raise InvalidInputError(f"{path}: expected rows of numbers, got none; write one point a line")
    try:
        return np.loadtxt(rows, ndmin=2, delimiter=between, usecols=columns, quotechar='"')
    except ValueError as error:
        said = str(error).split(";")[0]  # what numpy advises further is for its own callers
        raise InvalidInputError(
            f"{path}: expected rows of numbers, got what numpy cannot read ({said}); separate numbers by commas or "
            "spaces, and where there are other columns too, say by --columns x,y,z or --columns 0,1,2 which to read"
        ) from error


def _are_numbers(words: list[str]) -> bool:
    try:
        [float(word.strip(' "')) for word in words]
    except ValueError:
        return False
    return True
