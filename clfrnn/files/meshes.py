"""Vertices in .obj and .off files, which are texts; what they say of numbers of vertices and faces is checked.

trimesh and Open3D merge vertices that coincide, sort them by faces, or leave out those without a face; here all
vertices stay in their order.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..errors import InvalidInputError
from .cloud import Cloud
from .columns import read_columns
from .contents import label, left_out, quoted, read_lines, shown
from .names import is_number
from .rows import Table

__all__ = ["read_obj", "read_off"]

_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)
_CORNER = re.compile(r"(-?[0-9]{1,18})(?:/.*)?", re.ASCII)

#: Elements of .obj files beside vertices and what is made of them.
_OTHERS = frozenset((
    "vn", "vt", "vp", "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv",
    "sp", "end", "con", "g", "s", "mg", "o", "bevel", "c_interp", "d_interp", "lod", "usemtl", "mtllib", "usemap",
    "maplib", "shadow_obj", "trace_obj", "ctech", "stech", "call", "csh", "bzp", "bsp", "cdc", "cdp", "res",
))  # fmt: skip

#: Words that .off files may begin with, whose rows have the three coordinates first.
_KINDS = ("OFF", "COFF", "NOFF", "CNOFF", "STOFF", "STCOFF", "STNOFF", "STCNOFF")


def read_obj(path: Path, *, skip_nan: bool = False) -> Cloud:
    """Read the vertices, the lines that begin with v; faces must be of vertices that are there."""
    numbers, rows, faces = [], [], []
    others: dict[str, None] = {}  # a set in order
    for number, line in enumerate(read_lines(path, any_signs=True)):
        kind, rest = (*line.split(None, 1), "", "")[:2]
        if kind == "v":
            numbers.append(number)
            rows.append(rest.partition("#")[0].strip())
        elif kind in ("f", "l", "p"):
            faces.append((number, rest, len(rows)))
        elif kind and kind[0] != "#" and kind not in _OTHERS and is_number((rest.split() or [""])[0]):
            raise InvalidInputError(
                f"{label(path)}: line {number + 1}: expected an element of .obj files, as v, vn and f, got "
                f"{quoted(kind)} with numbers; correct or delete the line"
            )
        if kind and kind != "v" and kind[0] != "#":
            others[kind] = None
    if not rows:
        raise InvalidInputError(f"{label(path)}: expected vertices, lines as v 1.0 2.0 3.0, got none; save it again")
    for number, line, before in faces:
        for word in line.partition("#")[0].split():
            corner = _CORNER.fullmatch(word)
            vertex = int(corner[1]) if corner else 0
            if not vertex or not 0 < (vertex if vertex > 0 else before + vertex + 1) <= len(rows):
                raise InvalidInputError(
                    f"{label(path)}: line {number + 1}: expected corners among the {len(rows):,} vertices, got "
                    f"{quoted(word)}; the file may be cut off: save it again"
                )
    lines = [f"the lines of {', '.join(others)}"] if others else []
    return _vertices(path, rows, numbers, lines, skip_nan=skip_nan)


def read_off(path: Path, *, skip_nan: bool = False) -> Cloud:
    """Read the vertices; behind them as many faces must stand as the file says."""
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(read_lines(path, any_signs=True))]
    lines = [(number, line) for number, line in lines if line]
    words = [word for _, line in lines[:2] for word in line.split()]
    kind = words[0].upper() if words else ""
    counts = words[1:4]
    if kind not in _KINDS or len(counts) < 2 or not all(map(_WHOLE.fullmatch, counts)):
        raise InvalidInputError(
            f"{label(path)}: expected {', '.join(_KINDS[:3])} and the numbers of vertices and faces, got "
            f"{quoted(' '.join(words[:4])) if words else 'nothing'}; save it again as text"
        )
    behind = lines[1:] if len(lines[0][1].split()) > 1 else lines[2:]
    vertices, faces = int(counts[0]), int(counts[1])
    if len(behind) != vertices + faces:
        raise InvalidInputError(
            f"{label(path)}: expected {vertices:,} vertices and {faces:,} faces, as it says, got {len(behind):,} "
            "lines; the file may be cut off: save it again"
        )
    for number, line in behind[vertices:]:
        corners = line.split()
        many = int(corners[0]) if _WHOLE.fullmatch(corners[0]) else -1
        right = all(_WHOLE.fullmatch(word) and int(word) < vertices for word in corners[1 : many + 1])
        if not 0 < many < len(corners) or not right:
            raise InvalidInputError(
                f"{label(path)}: line {number + 1}: expected the number of a face's corners and these, among "
                f"{vertices:,} vertices, got {shown(line, 80)}; save it again"
            )
    others = ["faces"] if faces else []
    rows = behind[:vertices]
    return _vertices(path, [line for _, line in rows], [number for number, _ in rows], others, skip_nan=skip_nan)


def _vertices(path: Path, rows: list[str], numbers: list[int], others: list[str], *, skip_nan: bool) -> Cloud:
    """The coordinates in rows, of which the first three words are x, y and z; `others` are left out of the file."""
    if not rows:
        return Cloud(points=np.empty((0, 3)), notes=left_out(path, others))
    width = max(len(row.split()) for row in rows)
    table = Table(path=path, rows=rows, line_numbers=numbers, between=None, names=None, width=width)
    points = read_columns(table, [0, 1, 2], ragged=True, skip_nan=skip_nan)
    further = [f"numbers 4 to {width} of vertices, as colors and normals are" if width > 4 else "number 4 of vertices"]
    return Cloud(points=points, notes=left_out(path, [*(further if width > 3 else ()), *others]))
