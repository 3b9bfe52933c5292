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
from ..contents import label, left_out, shown
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number

__all__ = ["PDB"]

Array = np.ndarray[Any, Any]

_ATOMS = ("ATOM  ", "HETATM")

#: Records of the cell: those that stand above the first model count for each.
_OF_ALL = ("CRYST1", "SCALE1", "SCALE2", "SCALE3")

#: Columns of x, y and z, of which each has three decimals; of a name, an alternative location, and an element.
_COORDINATES = (slice(30, 38), slice(38, 46), slice(46, 54))
_NAME, _LOCATION, _ELEMENT = slice(12, 16), slice(16, 17), slice(76, 78)
#: What is not read of an atom.
_OTHERS = {
    "numbers of atoms": slice(6, 11),
    "residues": slice(17, 20),
    "chains": slice(21, 22),
    "numbers of residues": slice(22, 27),
    "occupancies": slice(54, 60),
    "temperature factors": slice(60, 66),
    "segments": slice(72, 76),
    "charges": slice(78, 80),
}
_NUMBER = re.compile(r" *(?:-?[0-9]*\.[0-9]{3}|nan) *", re.ASCII | re.IGNORECASE)

#: Columns of lengths and angles in CRYST1, and of the number of records of atoms in MASTER.
_PARAMETERS = tuple(slice(k, k + w) for k, w in ((6, 9), (15, 9), (24, 9), (33, 7), (40, 7), (47, 7)))
_ATOMS_IN_MASTER = slice(50, 55)

#: How programs write that there is no cell.
_NO_CELL = ((1.0, 1.0, 1.0, 90.0, 90.0, 90.0), (0.0,) * 6, (0.0, 0.0, 0.0, 90.0, 90.0, 90.0))

#: By how much, as a share, the vectors that SCALE says may differ from those of lengths and angles.
_ALIKE = 5e-3


def split_pdb(lines: LineReader) -> Iterator[Frame]:
    """Take frames: the atoms of a model, or those before END, with the records that count for all."""
    models = _Models(lines)
    said: int | None = None
    while (line := lines.peek()) is not None:
        lines.take()
        kind = line[:6].ljust(6)
        if kind in _ATOMS:
            yield from models.add_atom(line)
        elif kind in _OF_ALL:
            models.add_record(line)
        elif kind == "NUMMDL":
            said = _count(lines, line[10:14], "models")
        elif kind == "MODEL ":
            yield from models.begin(line)
        elif kind in ("ENDMDL", "END   "):
            models.end(of_model=kind == "ENDMDL")
        elif line.lstrip().upper().startswith(("ATOM", "HETATM")):
            lines.fail("ATOM or HETATM in the first six columns", line, "correct or delete the line")
        elif _has_coordinates(line) and kind != "SIGATM":
            lines.fail("ATOM or HETATM before coordinates", line, "correct or delete the line")
        elif kind == "MASTER":
            _check_master(lines, line, models.total)
    yield from models.close()
    if said not in (None, models.frames):
        raise InvalidInputError(
            f"{label(lines.path)}: expected {said:,} models, as NUMMDL says, got {models.frames:,}; the file may be "
            "cut off: save it again"
        )


class _Models:
    """The models that were begun: one that is open, and the last one, behind which its cell may stand."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        #: records above the first model, which count for each; those of the open model; those of the last one
        self._above: list[tuple[int, str]] = []
        self._open: list[tuple[int, str]] = []
        self._last: list[tuple[int, str]] | None = None
        self._atoms = 0
        self._in_model = self._between = False
        #: how many atoms and frames there were
        self.total = self.frames = 0

    def add_atom(self, line: str) -> Iterator[Frame]:
        """Take an atom; the model before it, if any, is then complete."""
        if self._between:
            self._lines.fail("MODEL above further atoms, as behind the first", shown(line, 80), "save it again")
        yield from self._complete()
        self._add(self._open, line)
        self._atoms += 1
        self.total += 1

    def add_record(self, line: str) -> None:
        """Take a record of the cell: of all models, of the open one, of the next, or of the one before it."""
        kind = line[:6]
        if not self._atoms and not self._in_model:
            before = self._last
            if before is not None and not any(each.startswith(kind) for _, each in self._above + before):
                self._add(before, line)
            else:
                self._add(self._above if before is None else self._open, line)
        else:
            self._add(self._open, line)

    def begin(self, line: str) -> Iterator[Frame]:
        """Begin a model."""
        if self._in_model or self._atoms:
            self._lines.fail("ENDMDL behind a model", shown(line, 80), "save it again")
        yield from self._complete()
        self._in_model, self._between = True, False

    def end(self, *, of_model: bool) -> None:
        """End the open model, or what stands before END, if there is any."""
        if self._atoms or self._in_model:
            self._last, self._open = self._open, []
            self.frames += 1
        self._atoms, self._in_model, self._between = 0, False, of_model

    def close(self) -> Iterator[Frame]:
        """The frames that the end of the file completes."""
        if self._in_model:
            self._lines.fail("ENDMDL behind a model", "the end of the file", "the file may be cut off: save it again")
        if self._atoms or not self.frames:
            if not self._above and not self._open:
                self._lines.fail("atoms as .pdb files hold them", "none", "give the file the ending of its format")
            self.end(of_model=False)
            if not self.frames:
                self._last, self.frames = self._open, 1
        yield from self._complete()

    def _complete(self) -> Iterator[Frame]:
        if self._last is not None:
            # What a model says itself counts in place of what stands above all.
            kinds = {line[:6] for _, line in self._last}
            whole = [(number, line) for number, line in self._above if line[:6] not in kinds] + self._last
            self._last = None
            yield Frame(self._lines.path, [line for _, line in whole], [number for number, _ in whole])

    def _add(self, records: list[tuple[int, str]], line: str) -> None:
        records.append((self._lines.number - 1, line))


def _has_coordinates(line: str) -> bool:
    return all(len(line[where]) == 8 and _NUMBER.fullmatch(line[where]) for where in _COORDINATES)


def _count(lines: LineReader, word: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]+", word.strip(), re.ASCII):
        lines.fail(f"the number of {what}", shown(word.strip()) or "nothing", "correct it, or delete the line")
    return int(word)


def _check_master(lines: LineReader, line: str, there: int) -> None:
    """Refuse fewer atoms than MASTER says; some files have more, as alternative locations count or do not."""
    said = _count(lines, line[_ATOMS_IN_MASTER], "records of atoms")
    if there < said:
        lines.fail(f"{said:,} records of atoms, as MASTER says", f"{there:,}", "the file may be cut off: save it again")


def parse_pdb(frame: Frame) -> Cloud:
    """Read positions in Å, the cell, elements and names of atoms."""
    places = [k for k, line in enumerate(frame.lines) if line[:6].ljust(6) in _ATOMS]
    rows = [frame.lines[k] for k in places]
    fields = [[row[where] for where in _COORDINATES] for row in rows]
    for k in places:
        if not _has_coordinates(frame.lines[k]):
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
    left = (what for what, where in _OTHERS.items() if any(row[where].strip() for row in rows))
    notes += left_out(frame.path, left)
    return Cloud(
        points=points,
        cell=cell,
        periodic=() if cell is None else (True, True, True),
        unit="Å",
        species=species if any(species) else None,
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
