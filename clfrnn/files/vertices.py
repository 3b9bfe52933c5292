"""Vertices in .ply files, read by the package plyfile once their header is known to be true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..errors import InvalidInputError
from ..host.foreign_warnings import ignored_warnings
from .cloud import Cloud
from .contents import check_memory, quoted, reading, shown

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
        _check_header(path)
        vertices = PlyData.read(str(path))["vertex"]
        return Cloud(points=np.stack([np.asarray(vertices[name]) for name in ("x", "y", "z")], axis=1))


def _check_header(path: Path) -> None:
    """Refuse a file that is shorter than its header announces, for which memory would be allocated."""
    with path.open("rb") as stream:
        start = stream.read(_MOST_HEADER)
    header, end, _ = start.partition(b"end_header")
    if not start.startswith(b"ply") or not end:
        raise ValueError("it does not begin with the header of a .ply file")
    text = re.search(rb"^format\s+ascii\b", header, re.MULTILINE) is not None
    held = path.stat().st_size - len(header)
    for name, count, each in _elements(header.decode("ascii"), text=text):
        if count * max(1, each) > held:
            raise InvalidInputError(
                f"{path}: expected vertices with x, y and z, got a header that announces {shown(f'{count:,}')} of "
                f"{shown(name)} in a file of {held + len(header):,} bytes; it may be damaged or cut off: save it again"
            )
    check_memory(path, held)


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
