"""Formats: which reader takes which file, and what is asked of every file."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DeviceMemoryError, InvalidInputError
from ..host.numbers import shown as shown_value
from ..host.numbers import whole_number
from .arrays import read_npy, read_npz
from .atoms.cif import read_cif
from .atoms.gro import GRO
from .atoms.lammps import LAMMPS
from .atoms.pdb import PDB
from .atoms.poscar import read_poscar
from .atoms.xdatcar import XDATCAR
from .atoms.xyz import XYZ, lines_of_table
from .cloud import Cloud
from .contents import PACKED, STANDARD_INPUT, inner_ending, label, reading, shown
from .elements import spelled
from .frames import Frame, FrameFormat
from .meshes import read_obj, read_off
from .names import LEAVING_OUT
from .pcd import read_pcd
from .scans import read_las
from .table import read_table
from .vertices import read_ply

__all__ = ["FORMATS", "frames", "has_columns", "has_frames", "read", "read_cloud", "read_frames"]

#: The reader for each end of a file's name.
FORMATS: Mapping[str, Callable[..., Cloud] | FrameFormat] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_table,
    ".tsv": read_table,
    ".txt": read_table,
    ".dat": read_table,
    ".asc": read_table,
    ".pts": read_table,
    ".xyz": XYZ,
    ".extxyz": XYZ,
    ".gro": GRO,
    ".pdb": PDB,
    ".ent": PDB,
    ".cif": read_cif,
    ".mmcif": read_cif,
    ".pdbx": read_cif,
    ".vasp": read_poscar,
    ".poscar": read_poscar,
    ".xdatcar": XDATCAR,
    ".lammpstrj": LAMMPS,
    ".dump": LAMMPS,
    ".obj": read_obj,
    ".off": read_off,
    ".ply": read_ply,
    ".pcd": read_pcd,
    ".las": read_las,
    ".laz": read_las,
}

#: How the names of files begin that may have no ending, or a number in its place.
_BEGINNINGS: Mapping[str, Callable[..., Cloud] | FrameFormat] = {
    "POSCAR": read_poscar,
    "CONTCAR": read_poscar,
    "XDATCAR": XDATCAR,
    "DUMP.": LAMMPS,
}

#: Endings of formats of frames that other packages read.
_BINARY_TRAJECTORIES = (".xtc", ".trr", ".dcd")

#: Readers of texts that have columns to choose from, and the options of readers that have any.
_WITH_COLUMNS = (read_table, XYZ)
_OPTIONS: Mapping[Any, tuple[str, ...]] = {
    read_table: ("columns", "skip_nan"),
    XYZ: ("columns", "skip_nan"),
    LAMMPS: ("skip_nan",),
    read_obj: ("skip_nan",),
    read_off: ("skip_nan",),
    read_npz: ("array", "prefer"),
}

#: Readers of texts, which may be packed.
_OF_TEXT = (*_WITH_COLUMNS, GRO, PDB, XDATCAR, LAMMPS, read_cif, read_poscar, read_obj, read_off)


def read(
    path: str | PathLike[str], *, frame: int = 0, columns: Sequence[str | int] | None = None, skip_nan: bool = False
) -> Cloud:
    """Read the points of a file, its cell, and what else it says of them.

    Parameters
    ----------
    path : the file, whose format follows from the ending of its name, see :doc:`/guides/files`; names that begin with
        ``POSCAR``, ``CONTCAR``, ``XDATCAR`` or ``dump.`` are those of VASP's and LAMMPS' files; texts may be packed, as
        in ``.csv.gz``, ``.bz2`` and ``.xz``; ``-`` is a text on standard input
    frame : which frame of the file, from 0 on; negative ones count from the end
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
        rows than it says, has another format or can be read in several ways, or has no such frame; the message says
        what to do.
    DeviceMemoryError
        The contents exceed the free memory of this machine.

    Notes
    -----
    Cost: the file is read once; a text takes about six times its size while it is read, one of several frames six times
    that of a frame. Memory is taken for what the file holds, whatever its header says. Nothing in a file is executed,
    and no other file is opened.
    """
    try:
        position = operator.index(frame)
    except TypeError:
        position = None
    if position is None or isinstance(frame, bool):
        raise InvalidInputError(
            f"expected a whole number, got {shown_value(frame)}; pass the position of a frame, from 0 on",
            argument="frame",
        )
    name = _path(path)
    cloud = _searchable(name, read_cloud(name, frame=position, columns=_columns(columns), skip_nan=skip_nan))
    if position or cloud.frames == 1:
        return cloud
    note = f"{label(name)}: this is the first of {cloud.frames:,} frames; clfrnn.files.frames reads each of them"
    return dataclasses.replace(cloud, notes=(*cloud.notes, note))


def frames(
    path: str | PathLike[str], *, columns: Sequence[str | int] | None = None, skip_nan: bool = False
) -> Iterator[Cloud]:
    r"""Read the frames of a file one after the other.

    Parameters
    ----------
    path, columns, skip_nan : as for :func:`read`

    Returns
    -------
    An iterator over clouds, each with its position ``frame`` and the number ``frames`` of all; one cloud for a file
    without frames

    Raises
    ------
    InvalidInputError, DeviceMemoryError
        As for :func:`read`: at once where the file cannot be read as frames, and at the frame whose numbers are wrong.

    Notes
    -----
    Cost: the file is gone through twice, first for the number of frames. One frame is in memory at a time.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.xyz"
    >>> _ = path.write_text("1\n\nH 0 0 0\n1\n\nH 0 0 1\n")
    >>> [(cloud.frame, cloud.points.tolist()) for cloud in frames(path)]
    [(0, [[0.0, 0.0, 0.0]]), (1, [[0.0, 0.0, 1.0]])]
    """
    name = _path(path)
    every = read_frames(name, columns=_columns(columns), skip_nan=skip_nan)
    return (_searchable(name, cloud) for cloud in every)


def _searchable(path: Path, cloud: Cloud) -> Cloud:
    """What goes into an index as it is, where the command line asks what to do instead.

    Nothing repeats without a cell, and points of fewer coordinates than its vectors have none. Notes say so.
    """
    dim = cloud.points.shape[1]
    if cloud.cell is not None and cloud.cell.shape[1] != dim:
        note = f"its cell has {cloud.cell.shape[1]} axes, and points have {dim} columns: it is left out"
    elif cloud.cell is None and any(cloud.periodic):
        note = "it says that its atoms repeat, and has no cell: how far is not known, and they do not"
    else:
        return cloud
    notes = (*cloud.notes, f"{label(path)}: {note}")
    return dataclasses.replace(cloud, cell=None, periodic=(False,) * dim, notes=notes)


def _path(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InvalidInputError(
            f"expected the name of a file, got {type(path).__name__} {shown_value(path)}; pass a str or a Path",
            argument="path",
        ) from None


def _columns(columns: Any) -> list[str] | None:
    """Columns as words, as the command line has them."""
    if columns is None:
        return None
    given = columns.tolist() if isinstance(columns, np.ndarray) else columns
    words: list[str | None] = []
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        words = [_column(each) for each in given]
    if None in words or not words:
        raise InvalidInputError(
            "expected a sequence of names or positions, counted from 1, as in ['x', 'y', 'z'] or [1, 2, 3], got "
            f"{shown_value(columns)}; leave it out where the file says which columns are coordinates",
            argument="columns",
        )
    return [word for word in words if word is not None]


def _column(column: Any) -> str | None:
    """A column as a word; None where it is no name and no position."""
    number = whole_number(column)
    return column if isinstance(column, str) else None if number is None else shown_value(number)


def read_cloud(path: Path, *, frame: int = 0, skip_nan: bool = False, **given: Any) -> Cloud:
    """Read a file as :func:`read` does, where the command line says more.

    Parameters
    ----------
    path : the file; ``-`` is standard input, a text
    frame, skip_nan : as for :func:`read`
    given : ``array``, the name of an array in an .npz archive; ``columns`` as for :func:`read`; ``prefer``, names that
        are looked for in an archive before the usual ones
    """
    reader, options = _reader_with(path, {"skip_nan": skip_nan, **given})
    if isinstance(reader, FrameFormat):
        with _in_memory(path):
            chosen, position, total = reader.choose(path, frame)
            return _parsed(reader, chosen, options, at=(position, total), skip_nan=skip_nan)
    if frame not in (0, -1):
        raise InvalidInputError(
            f"expected 0, as {label(path)} has one frame, got {shown_value(frame)}; leave it out", argument="frame"
        )
    with _in_memory(path):
        cloud = reader(path, **options)
    return _checked(path, cloud, skip_nan=skip_nan)


def read_frames(path: Path, *, skip_nan: bool = False, **given: Any) -> Iterator[Cloud]:
    """The frames of a file, as :func:`frames`; `given` as for :func:`read_cloud`."""
    reader, options = _reader_with(path, {"skip_nan": skip_nan, **given})
    if not isinstance(reader, FrameFormat):
        return iter([read_cloud(path, skip_nan=skip_nan, **given)])
    with _in_memory(path):
        total = reader.count(path)
    return _each(reader, path, options, total=total, skip_nan=skip_nan)


def _each(reader: FrameFormat, path: Path, options: dict[str, Any], *, total: int, skip_nan: bool) -> Iterator[Cloud]:
    each = reader.frames(path)
    for position in range(total):
        with _in_memory(path):
            frame = next(each, None)
            if frame is None:
                raise InvalidInputError(
                    f"{label(path)}: expected {total:,} frames, as it had when reading began, got {position:,}; it has "
                    "changed meanwhile: read it again"
                )
            cloud = _parsed(reader, frame, options, at=(position, total), skip_nan=skip_nan)
        yield cloud


def _parsed(
    reader: FrameFormat, frame: Frame, options: dict[str, Any], *, at: tuple[int, int], skip_nan: bool
) -> Cloud:
    """What a frame says, checked; `at` are its position and the number of all frames."""
    checked = _checked(frame.path, reader.parse(frame, **options), skip_nan=skip_nan)
    return dataclasses.replace(checked, frame=at[0], frames=at[1])


def _reader_with(path: Path, given: dict[str, Any]) -> tuple[Callable[..., Cloud] | FrameFormat, dict[str, Any]]:
    """The reader of a file, and those of the options that it takes; raises for others that were given."""
    reader = _reader(path)
    if path.suffix.lower() in PACKED and reader not in (None, *_OF_TEXT):
        packed = PACKED[path.suffix.lower()].program
        raise InvalidInputError(f"{path}: expected a text where {packed} packed it, got {path.name}; unpack it first")
    if reader is None and inner_ending(path) in _BINARY_TRAJECTORIES:
        raise InvalidInputError(
            f"{path}: binary trajectories ({', '.join(_BINARY_TRAJECTORIES)}) are not read; read it with the package "
            "MDAnalysis, and pass the positions of each frame and its triclinic_dimensions as cell"
        )
    if reader is None:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(sorted(FORMATS))}, or begins with POSCAR, CONTCAR, "
            f"XDATCAR or dump., got {shown(inner_ending(path)) or 'no ending'}; save the points as one of these, or "
            "pass a text on standard input, as -"
        )
    if given.get("array") is not None and reader is not read_npz:
        raise InvalidInputError(
            f"{label(path)}: only .npz archives hold arrays with names; leave out {given['array']!r} of --array"
        )
    if given.get("columns") is not None and reader not in _WITH_COLUMNS:
        raise InvalidInputError(
            f"expected none, as {label(path)} has no columns to choose from (.csv, .tsv, .txt, .dat, .asc, .pts and "
            f".xyz files have), got {shown(', '.join(given['columns']))}; leave it out",
            argument="columns",
        )
    if path != STANDARD_INPUT:
        with reading(path, "a file", "save it again"), path.open("rb"):
            pass  # whether there is one that can be read
    given = {"columns": None, **given}
    options = {name: given[name] for name in _OPTIONS.get(reader, ()) if name in given}
    if reader is XYZ and (lines := lines_of_table(path)) is not None:
        return read_table, {**options, "first_three": True, "lines": lines}
    return reader, options


@contextlib.contextmanager
def _in_memory(path: Path) -> Iterator[None]:
    """Turn what a reader raises without memory into one message; numbers may overflow, and are refused later."""
    try:
        with np.errstate(all="ignore"):
            yield
    except MemoryError as error:
        if isinstance(error, DeviceMemoryError):
            raise
        raise DeviceMemoryError(
            f"{label(path)}: this process gets no memory for what the file contains; search a part of it"
        ) from error


def has_columns(path: Path) -> bool:
    """Whether the file is a text, of which columns can be chosen."""
    return _reader(path) in _WITH_COLUMNS


def has_frames(path: Path) -> bool:
    """Whether the file is of a format that may have several frames."""
    return isinstance(_reader(path), FrameFormat)


def _reader(path: Path) -> Callable[..., Cloud] | FrameFormat | None:
    """The reader of a file, by its name."""
    found = FORMATS.get(inner_ending(path))
    if found is None:
        name = path.name.upper()
        return next((reader for begin, reader in _BEGINNINGS.items() if name.startswith(begin)), None)
    return found


def _checked(path: Path, cloud: Cloud, *, skip_nan: bool) -> Cloud:
    """What a reader found, with the usual spelling of elements; refuses what no search could take."""
    if cloud.species is not None:
        cloud = dataclasses.replace(cloud, species=spelled(cloud.species))
    return _with_cell(path, _finite(path, cloud, skip_nan=skip_nan))


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
        leaving = f", or {LEAVING_OUT}" if np.isnan(points[row, column]) else ""
        raise InvalidInputError(
            f"{label(path)}: row {row + 1}: expected finite numbers, got {points[row, column]} in column {column + 1}; "
            f"correct or delete the point{leaving} (rows and columns count from 1)"
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
