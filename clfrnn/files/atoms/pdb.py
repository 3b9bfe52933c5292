"""Atoms in .pdb files, whose columns are fixed: models, or frames that END stands between.

gemmi puts the atoms of one chain together, which changes their order, and takes what stands before a wrong sign for a
number; MDAnalysis and ASE compare no numbers. Here coordinates must have the columns of the format, and what a file
says of the numbers of its models and atoms is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...domain.lattice import cell_from_parameters
from ...errors import InvalidInputError
from ..cloud import Cloud
from ..contents import label, shown
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number

__all__ = ["PDB"]

Array = np.ndarray[Any, Any]

_ATOMS = ("ATOM  ", "HETATM")

#: Records that say something of all models: those that stand above the first atom count for each.
_OF_ALL = ("CRYST1", "SCALE1", "SCALE2", "SCALE3", "NUMMDL")

#: Columns of x, y and z, of which each has three decimals; of a name, an alternative location, and an element.
_COORDINATES = (slice(30, 38), slice(38, 46), slice(46, 54))
_NAME, _LOCATION, _ELEMENT = slice(12, 16), slice(16, 17), slice(76, 78)
_NUMBER = re.compile(r" *-?[0-9]+\.[0-9]{3}| *nan *", re.ASCII | re.IGNORECASE)

#: Columns of lengths and angles in CRYST1, and of the number of records of atoms in MASTER.
_PARAMETERS = tuple(slice(k, k + w) for k, w in ((6, 9), (15, 9), (24, 9), (33, 7), (40, 7), (47, 7)))
_ATOMS_IN_MASTER = slice(50, 55)

#: How programs write that there is no cell.
_NO_CELL = ((1.0, 1.0, 1.0, 90.0, 90.0, 90.0), (0.0,) * 6, (0.0, 0.0, 0.0, 90.0, 90.0, 90.0))

#: By how much, as a share, the vectors that SCALE says may differ from those of lengths and angles.
_ALIKE = 5e-3


def split_pdb(lines: LineReader) -> Iterator[Frame]:
    """Take frames: the atoms of a model, or those before END, with the records that count for all."""
    above: list[tuple[int, str]] = []
    own: list[tuple[int, str]] = []
    atoms = total = last = frames = 0
    models: int | None = None
    in_model = closed = False
    while (line := lines.peek()) is not None:
        number, kind = lines.number, line[:6].ljust(6)
        lines.take()
        if kind in _ATOMS:
            if closed:
                lines.fail("MODEL above further atoms, as behind the first", shown(line, 80), "save it again")
            own.append((number, line))
            atoms += 1
        elif kind in _OF_ALL:
            models = _count(lines, line[10:14], "models") if kind == "NUMMDL" else models
            (own if atoms or in_model else above).append((number, line))
        elif kind == "MODEL ":
            if in_model or atoms:
                lines.fail("ENDMDL behind a model", shown(line, 80), "save it again")
            in_model, closed = True, False
        elif kind == "MASTER":
            _check_master(lines, line, {atoms or last, total + atoms})
        if kind in ("ENDMDL", "END   ") and (atoms or in_model):
            yield _frame(lines, above, own)
            frames, total, last, closed = frames + 1, total + atoms, atoms, kind == "ENDMDL"
            atoms, own, in_model = 0, [], False
        elif kind == "END   ":
            closed = False
    if in_model:
        lines.fail("ENDMDL behind a model", "the end of the file", "the file may be cut off: save it again")
    if atoms or not frames:
        yield _frame(lines, above, own)
        frames += 1
    if models not in (None, frames):
        raise InvalidInputError(
            f"{label(lines.path)}: expected {models:,} models, as NUMMDL says, got {frames:,}; the file may be cut "
            "off: save it again"
        )


def _frame(lines: LineReader, above: list[tuple[int, str]], own: list[tuple[int, str]]) -> Frame:
    if not above and not own:
        lines.fail("atoms as .pdb files hold them", "none", "save it again, or give the file the ending of its format")
    records = {line[:6] for _, line in own}
    # What a model says itself counts in place of what stands above all.
    whole = [(number, line) for number, line in above if line[:6] not in records] + own
    return Frame(lines.path, [line for _, line in whole], [number for number, _ in whole])


def _count(lines: LineReader, word: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]+", word.strip(), re.ASCII):
        lines.fail(f"the number of {what}", shown(word.strip()) or "nothing", "correct it, or delete the line")
    return int(word)


def _check_master(lines: LineReader, line: str, counts: set[int]) -> None:
    """Refuse another number of atoms than MASTER says: of all models, or of one."""
    said = _count(lines, line[_ATOMS_IN_MASTER], "records of atoms")
    if said not in counts and counts != {0}:
        there = " or ".join(f"{count:,}" for count in sorted(counts))
        lines.fail(f"{said:,} records of atoms, as MASTER says", there, "the file may be cut off: save it again")


def parse_pdb(frame: Frame) -> Cloud:
    """Read positions in Å, the cell, elements and names of atoms."""
    places = [k for k, line in enumerate(frame.lines) if line[:6].ljust(6) in _ATOMS]
    rows = [frame.lines[k] for k in places]
    fields = [[row[where] for where in _COORDINATES] for row in rows]
    for k, words in zip(places, fields, strict=True):
        if not all(len(word) == 8 and _NUMBER.fullmatch(word) for word in words):
            frame.fail(
                k,
                "three coordinates of 8 columns and 3 decimals from column 31 on",
                shown(frame.lines[k], 80),
                "the columns of .pdb files are fixed: save it again, or in a format for large coordinates, as .cif",
            )
    points = np.array([[float(word) for word in words] for words in fields]).reshape(-1, 3)
    cell = _cell(frame)
    species = np.array([row[_ELEMENT].strip() for row in rows], dtype=str)
    others = sum(row[_LOCATION].strip() not in ("", "A", "1") for row in rows)
    notes = [f"{label(frame.path)}: {others:,} of its atoms are at alternative locations, and count"] if others else []
    if cell is None:
        notes.append(f"{label(frame.path)}: it has no cell")
    return Cloud(
        points=points,
        cell=cell,
        periodic=() if cell is None else (True, True, True),
        unit="Å",
        species=species if species.any() else None,
        names=np.array([row[_NAME].strip() for row in rows], dtype=str),
        notes=tuple(notes),
    )


PDB = FrameFormat(split_pdb, parse_pdb)


def _cell(frame: Frame) -> Array | None:
    """The lattice vectors as rows, from lengths and angles, in the orientation that SCALE says where it says one."""
    at = next((k for k, line in enumerate(frame.lines) if line.startswith("CRYST1")), None)
    if at is None:
        return None
    words = [frame.lines[at][where].strip() for where in _PARAMETERS]
    if not all(map(is_number, words)):
        frame.fail(at, "three lengths and three angles of the cell", shown(frame.lines[at], 80), "correct the line")
    parameters = tuple(float(word) for word in words)
    if parameters in _NO_CELL:
        return None
    try:
        cell = np.array(cell_from_parameters(*parameters))
    except InvalidInputError as error:
        frame.fail(at, "the lengths and angles of a cell", " ".join(words), f"correct them ({error})")
    said = _scales(frame)
    if said is None or np.abs(said - cell).max() <= _ALIKE * np.abs(cell).max():
        return cell
    if np.abs(said @ said.T - cell @ cell.T).max() > 2 * _ALIKE * np.abs(cell @ cell.T).max():
        frame.fail(
            at,
            "a cell whose lengths and angles are those that SCALE1 to SCALE3 say",
            shown(" ".join(words), 80),
            "correct one of the two, or delete the lines of SCALE",
        )
    # The lengths and angles of CRYST1 have more digits.
    left, _, right = np.linalg.svd(cell.T @ said)
    turned: Array = cell @ (left @ right)
    return turned


def _scales(frame: Frame) -> Array | None:
    """The lattice vectors that SCALE1 to SCALE3 say; None where these are not there, or say nothing."""
    rows = []
    for record in ("SCALE1", "SCALE2", "SCALE3"):
        at = next((k for k, line in enumerate(frame.lines) if line.startswith(record)), None)
        words = [] if at is None else [frame.lines[at][k : k + 10].strip() for k in (10, 20, 30)]
        if len(words) != 3 or not all(map(is_number, words)):
            return None
        rows.append([float(word) for word in words])
    scales = np.array(rows)
    if np.array_equal(scales, np.eye(3)) or abs(np.linalg.det(scales)) < 1e-12:
        return None
    vectors: Array = np.linalg.inv(scales).T
    return vectors
