"""Readers of files with atoms in a cell, through the package ase: .gro, .cif and POSCAR files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidInputError

__all__ = ["is_crystal", "read_atoms", "read_cell"]

Points = np.ndarray[Any, Any]

#: What ase calls the format, by the end of a file's name.
_FORMATS = {".gro": "gromacs", ".cif": "cif", ".vasp": "vasp", ".poscar": "vasp"}

#: Endings that say that a file is of another format, whatever its name begins with.
_OTHERS = frozenset({".npy", ".npz", ".csv", ".tsv", ".txt", ".dat", ".xyz", ".ply", ".pcd", ".las", ".laz", ".gz"})

#: How the names of files of VASP begin, which have no ending.
_OF_VASP = ("POSCAR", "CONTCAR")


class _Frame(NamedTuple):
    """The positions of atoms in Å, and the lattice vectors as rows, zero where there are none."""

    points: Points
    vectors: Points


def _format(path: Path) -> str | None:
    """What ase calls the format of a file, or None where it is not one of these."""
    suffix = path.suffix.lower()
    if suffix in _FORMATS or suffix in _OTHERS:
        return _FORMATS.get(suffix)
    return "vasp" if path.name.upper().startswith(_OF_VASP) else None


def is_crystal(path: Path) -> bool:
    """Whether a file holds atoms in a cell, by its name."""
    return _format(path) is not None


def read_atoms(path: Path) -> Points:
    """The positions of the atoms in a file, (n, 3), in Å as ase reads them."""
    return _read(path, path.stat().st_mtime_ns).points


def read_cell(path: Path) -> list[list[float]]:
    """The lattice vectors in a file as rows, in Å.

    Raises
    ------
    InvalidInputError
        There is no cell.
    """
    vectors = _read(path, path.stat().st_mtime_ns).vectors
    if not np.abs(vectors).max() > 0:
        raise InvalidInputError(
            f"{path}: expected a cell for --periodic, got none; give its lengths by --box, or its vectors by --cell"
        )
    return [[float(number) for number in row] for row in vectors]


@functools.lru_cache(maxsize=1)  # for the box and then for the points
def _read(path: Path, _: int) -> _Frame:
    """The only frame of a file, which is read again where its time has changed."""
    try:
        from ase.io import read
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: such files are read by the package ase, which is not installed; pip install 'clfrnn[ase]'"
        ) from error
    try:
        frames = read(path, index=":", format=_format(path))
    except OSError:
        raise
    except Exception as error:  # whatever a reader makes of a damaged file
        raise InvalidInputError(
            f"{path}: expected atoms in the format {_format(path)!r} of ase, got something else "
            f"({type(error).__name__}: {error}); save it again"
        ) from error
    if len(frames) != 1:
        raise InvalidInputError(f"{path}: expected one frame, got {len(frames)}; save each frame as a file")
    if _format(path) == "gromacs":
        _check_number(path, len(frames[0]))
    return _Frame(points=np.asarray(frames[0].positions), vectors=np.asarray(frames[0].cell.array))


def _check_number(path: Path, found: int) -> None:
    """Raise unless as many atoms were found as the second line of a .gro file says, which ase does not look at."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        said = [next(lines, ""), next(lines, "")][1].strip()
    if said != str(found):
        raise InvalidInputError(f"{path}: expected {said or 'no'} atoms, got {found}; the file may be cut off")
