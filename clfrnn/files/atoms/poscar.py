"""Atoms in POSCAR and CONTCAR files, as VASP reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import InvalidInputError
from ..cloud import Cloud
from ..contents import label, left_out, read_lines, shown
from ..names import is_number

__all__ = ["parse_structure", "read_poscar"]

#: Most digits of a number of atoms.
_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)

Array = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def _plain(word: str) -> str:
    """A word, which Fortran may have written with D before an exponent."""
    return word.replace("D", "e").replace("d", "e")


class _Lines:
    """The lines of a file, one after the other, and where they are."""

    def __init__(self, path: Path, lines: Sequence[str], numbers: Sequence[int]) -> None:
        self._path, self._lines, self._numbers, self._next = path, lines, numbers, 0

    def take(self) -> str:
        """The next line, without blanks around it; an empty one behind the end."""
        self._next += 1
        return self._lines[self._next - 1].strip() if self._next <= len(self._lines) else ""

    def peek(self) -> str:
        """The line that :meth:`take` takes next."""
        return self._lines[self._next].strip() if self._next < len(self._lines) else ""

    def left(self) -> int:
        """How many lines are left, those at the end without anything left aside."""
        last = len(self._lines)
        while last > self._next and not self._lines[last - 1].strip():
            last -= 1
        return last - self._next

    def numbers(self, expected: str, least: int = 3) -> list[float]:
        """The numbers at the beginning of the next line; text may stand behind them."""
        line = self.take()
        found = []
        for word in map(_plain, line.split()):
            if not is_number(word):
                break
            found.append(float(word))
        if len(found) < least or len(found) > max(3, least):
            self.fail(expected, line)
        return found

    def fail(self, expected: str, got: str, remedy: str = "save it again as a POSCAR file") -> NoReturn:
        """Refuse the line that was taken last."""
        taken = self._next - 1
        line = self._numbers[taken] + 1 if taken < len(self._numbers) else self._next
        raise InvalidInputError(
            f"{label(self._path)}: line {line}: expected {expected}, got {shown(got, 80) or 'nothing'}; {remedy}"
        )


def read_poscar(path: Path) -> Cloud:
    """Read the positions of the atoms, the cell, and the elements where the file names them.

    A negative scale is the volume of the cell, which stays left-handed where it is; three scales are those of x, y and
    z. The line of the elements may be left out, and a blank mode is that of fractional coordinates.
    """
    whole = read_lines(path, any_signs=True)
    return parse_structure(path, whole, range(len(whole)))


def parse_structure(path: Path, whole: Sequence[str], numbers: Sequence[int]) -> Cloud:
    """What the lines of a structure say; `numbers` are those that they have in the file, counted from 0."""
    lines = _Lines(path, whole, numbers)
    lines.take()
    scales = lines.numbers("one scale, or three for x, y and z", least=1)
    vectors = np.array([lines.numbers("the three numbers of a lattice vector") for _ in range(3)])
    scale = _scale(lines, scales, vectors)
    elements, counts = _read_counts(lines)
    notes = []
    mode = lines.take()
    others = []
    if mode[:1] in ("S", "s"):
        others.append("flags of selective dynamics")
        mode = lines.take()
    if is_number(_plain((mode.split() or [""])[0])):
        lines.fail("Direct or Cartesian above the coordinates", mode, "write which of the two they are")
    cartesian = mode[:1] in ("C", "c", "K", "k")
    if not cartesian and mode[:1] not in ("D", "d"):
        notes.append(f"{label(path)}: the coordinates are read as fractional (Direct), as VASP does where the line of "
                     f"the mode is {shown(mode) or 'blank'}")  # fmt: skip
    total = sum(counts)
    if lines.left() < total:
        raise InvalidInputError(
            f"{label(path)}: expected {total:,} atoms, got {lines.left():,} lines; the file may be cut off: save "
            "it again"
        )
    rows = [lines.numbers("the three coordinates of an atom") for _ in range(total)]
    behind = lines.peek().split()
    if len(behind) > 2 and all(is_number(_plain(word)) for word in behind[:3]):
        lines.take()
        lines.fail(
            f"{total:,} atoms, as the numbers above say, and a blank line behind them",
            " ".join(behind),
            "correct the numbers of atoms, or delete what is too much",
        )
    if lines.left():
        others.append("what stands behind the atoms, as velocities do")
    cell = vectors * scale
    given = np.array(rows).reshape(total, 3)
    return Cloud(
        points=given * scale if cartesian else given @ cell,
        cell=cell,
        periodic=(True, True, True),
        unit="Å",
        species=None if elements is None else np.repeat(elements, counts),
        notes=(*notes, *left_out(path, others)),
    )


def _scale(lines: _Lines, scales: list[float], vectors: Array) -> Array | float:
    """What lengths are multiplied with: one number, or one for each of x, y and z."""
    with np.errstate(all="ignore"):
        volume = abs(float(np.linalg.det(vectors)))
        factor = scales[0] if scales[0] > 0 else (-scales[0] / volume) ** (1 / 3) if volume > 0 else np.nan
    right = len(scales) in (1, 3) and (len(scales) == 1 or min(scales) > 0)
    if not right or not scales[0] or not np.isfinite([*scales, factor]).all():
        lines.fail(
            "a scale that is not zero, negative where it is the volume of the cell, or three positive ones, and a cell "
            "with a volume",
            " ".join(f"{each:g}" for each in scales),
            "correct line 2 or the lattice vectors below it",
        )
    return factor if len(scales) == 1 else np.array([scales])


def _read_counts(lines: _Lines) -> tuple[list[str] | None, list[int]]:
    """The elements, None where no line has them, and how many atoms each has; either may take several lines."""
    elements: list[str] = []
    while (line := lines.take()) and not _WHOLE.fullmatch(line.split()[0]):
        if is_number(_plain(line.split()[0])) or line.split()[0].startswith("-"):
            lines.fail("elements, or how many atoms each has", line)
        elements += re.split(r"[!#]", line)[0].split()
    counts = _whole(lines, line)
    while len(counts) < len(elements) and _WHOLE.fullmatch((lines.peek().split() or [""])[0]):
        more = _whole(lines, lines.peek())
        if len(more) < len(lines.peek().split()):
            break
        lines.take()
        counts += more
    if not counts or (elements and len(elements) != len(counts)):
        lines.fail(
            f"how many atoms each of {len(elements)} elements has" if elements else "how many atoms each element has",
            line,
        )
    # VASP writes the hash of a potential, or its kind, behind an element.
    return [re.split(r"[/_]", each)[0] for each in elements] or None, counts


def _whole(lines: _Lines, line: str) -> list[int]:
    """The whole numbers at the beginning of a line, which may have a comment behind them."""
    found = []
    for word in line.split():
        if is_number(word) and not _WHOLE.fullmatch(word):
            lines.fail("whole numbers of atoms", line)
        if not _WHOLE.fullmatch(word):
            break
        found.append(int(word))
    return found
