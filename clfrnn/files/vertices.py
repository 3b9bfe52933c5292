"""Vertices in .ply files, read by the package plyfile once their header is known to be true."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from ..errors import InvalidInputError
from ..host.foreign_warnings import ignored_warnings
from .cloud import Cloud
from .contents import check_memory, left_out, quoted, reading, shown

__all__ = ["read_ply"]

#: A header is longer than this in no file that has a cloud.
_MOST_HEADER = 1 << 16

#: Bytes of the kinds of numbers in a .ply file.
_BYTES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "double": 8}
_BYTES |= {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4, "float64": 8}


def read_ply(path: Path) -> Cloud:
    """Read the x, y and z of the vertices."""
    try:
        with ignored_warnings():
            from plyfile import PlyData
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: .ply files are read by the package plyfile, which is not installed; pip install 'clfrnn[files]'"
        ) from error
    with reading(path, "vertices with x, y and z", "save it again as a point cloud"), ignored_warnings():
        begin, header = _check_header(path)
        whole = PlyData.read(str(path))
        vertices = whole["vertex"]
        _refuse_more(path, begin, header)
        others = [each.name for each in vertices.properties if each.name not in ("x", "y", "z")]
        elements = [f"the elements {each.name}" for each in whole if each.name != "vertex" and each.count]
        return Cloud(
            points=np.stack([np.asarray(vertices[name]) for name in ("x", "y", "z")], axis=1),
            notes=left_out(path, [*others, *elements]),
        )


def _check_header(path: Path) -> tuple[int, str]:
    """Where the rows begin, and the header; refuses a file that is shorter than the header announces.

    Memory would be allocated for what it announces.
    """
    with path.open("rb") as stream:
        start = stream.read(_MOST_HEADER)
    first = re.match(rb"ply(\r\n|\r|\n)", start)
    newline = first[1] if first else b""
    header, end, _ = start.partition(newline + b"end_header" + newline)
    if not first or not end:
        raise ValueError("it does not begin with the header of a .ply file")
    said = header.decode("ascii")
    held = path.stat().st_size - len(header)
    for name, count, each in _elements(said, text=_is_text(said)):
        if count * max(1, each) > held:
            raise InvalidInputError(
                f"{path}: expected vertices with x, y and z, got a header that announces {shown(f'{count:,}')} of "
                f"{shown(name)} in a file of {held + len(header):,} bytes; it may be damaged or cut off: save it again"
            )
    check_memory(path, held)
    return len(header) + len(end), said


def _is_text(header: str) -> bool:
    return any(line.split()[:2] == ["format", "ascii"] for line in re.split(r"[\r\n]+", header))


def _refuse_more(path: Path, begin: int, header: str) -> None:
    """Refuse rows, or bytes, behind those that the header announces, which nothing would read.

    The bytes of elements with lists are not known.
    """
    text = _is_text(header)
    if not text and re.search(r"[\r\n]\s*property\s+list\b", header):
        return
    elements = _elements(header, text=text)
    said = sum(count if text else count * each for _, count, each in elements)
    held = path.stat().st_size - begin
    if text:
        with path.open("rb") as stream:
            stream.seek(begin)
            held = sum(bool(line.strip()) for line in io.TextIOWrapper(stream, "ascii"))
    if held > said:
        counts = ", ".join(f"{count:,} of {shown(name)}" for name, count, _ in elements)
        raise InvalidInputError(
            f"{path}: expected {said:,} {'rows' if text else 'bytes'}, as its header says ({counts}), got {held:,}; "
            "correct the numbers in the header, or save it again"
        )


def _elements(header: str, *, text: bool) -> list[tuple[str, int, int]]:
    """Name, number and least number of bytes of the elements in a header."""
    found: list[tuple[str, int, int]] = []
    for line in re.split(r"[\r\n]+", header):
        words = line.split()
        if words[:1] == ["element"]:
            if len(words) != 3 or not re.fullmatch(r"[0-9]{1,18}", words[2], re.ASCII):
                raise ValueError(f"the line {quoted(line)} in its header")
            found.append((words[1], int(words[2]), 0))
        elif words[:1] == ["property"] and found:
            name, count, size = found[-1]
            # A number takes a digit and a blank at least; of a list, its length.
            of_list = words[1:2] == ["list"]
            own = 2 if text else _BYTES.get(words[2] if of_list and len(words) > 2 else words[1], 1)
            found[-1] = (name, count, size + own)
    return found
