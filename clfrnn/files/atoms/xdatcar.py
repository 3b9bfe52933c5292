"""Frames of a run of VASP in XDATCAR files: configurations below a head, which stands above each where cells change.

Each frame is read as a POSCAR file, with its rules for scales, vectors and elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..cloud import Cloud
from ..contents import shown
from ..frames import Frame, FrameFormat, LineReader
from ..names import is_number
from .poscar import parse_structure

__all__ = ["XDATCAR"]

#: The line above the coordinates of a frame, and one of whole numbers.
_ABOVE = re.compile(r"\s*(direct|cartesian)\s+configuration\s*=\s*\d+\s*", re.ASCII | re.IGNORECASE)
_COUNTS = re.compile(r"\s*\d{1,18}(\s+\d{1,18})*\s*", re.ASCII)

#: Lines of a head: title, scale, three vectors, elements where it has them, and how many atoms each has.
_HEAD = (6, 7)


def split_xdatcar(lines: LineReader) -> Iterator[Frame]:
    """Take frames: a line with the number of the configuration, and one for each atom; a head may stand before it."""
    head: list[str] = []
    begin = behind = 0
    while True:
        if not _ABOVE.fullmatch(lines.peek() or ""):
            title = [""] if lines.number > behind > 0 and _is_scale(lines) else lines.take()
            begin = lines.number - 1
            head = _take_head(lines, title)
        above = (lines.take() or [""])[0]
        if not _ABOVE.fullmatch(above):
            lines.fail(
                "a line as 'Direct configuration= 1' above the atoms of a frame",
                shown(above.strip(), 80) or "nothing",
                "save it again as an XDATCAR file",
            )
        start, count = lines.number, sum(map(int, head[-1].split()))
        rows = lines.take_rows(count, "atoms", f"line {begin + len(head)}")
        numbers = [*range(begin, begin + len(head)), start - 1, *range(start, start + count)]
        yield Frame(lines.path, [*head, above.strip().split()[0], *rows], numbers)
        behind = lines.number
        if not lines.skip_blanks():
            return


def _is_scale(lines: LineReader) -> bool:
    """Whether the next line is a scale, so that the blank one before it is the title: vectors stand right below it."""
    scales, *vectors = ((lines.peek(k) or "").split() for k in range(4))
    right = len(scales) in (1, 3) and all(len(words) > 2 for words in vectors)
    return right and all(is_number(word) for words in (scales, *vectors) for word in words[:3])


def _take_head(lines: LineReader, title: list[str]) -> list[str]:
    """The lines of a head below its title, up to the numbers of atoms, and the title."""
    head = title + lines.take(_HEAD[0] - 1)
    if not _COUNTS.fullmatch(head[-1] if head else ""):
        head += lines.take(_HEAD[1] - _HEAD[0])
    if len(head) not in _HEAD or not _COUNTS.fullmatch(head[-1]):
        lines.fail(
            "how many atoms each element has",
            shown(head[-1].strip(), 80) if head and head[-1].strip() else "nothing",
            "save it again as an XDATCAR file",
        )
    return head


def parse_xdatcar(frame: Frame) -> Cloud:
    """Read the positions of the atoms, the cell, and the elements where the file names them."""
    return parse_structure(frame.path, frame.lines, frame.numbers)


XDATCAR = FrameFormat(split_xdatcar, parse_xdatcar)
