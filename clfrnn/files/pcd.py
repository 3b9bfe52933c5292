"""Points in .pcd files, as PCL writes them: as text, as bytes, or as packed bytes."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidInputError
from .cloud import Cloud
from .columns import read_columns
from .contents import check_memory, left_out, quoted, read_lines, reading, shown
from .lzf import unpack
from .rows import Table

__all__ = ["read_pcd"]

#: A header is longer than this in no file that has a cloud.
_MOST_HEADER = 1 << 16

#: numpy's letter for each TYPE, and its SIZE.
_KINDS = {"F": ("f", (4, 8)), "I": ("i", (1, 2, 4, 8)), "U": ("u", (1, 2, 4, 8))}

#: How many bytes are packed, and how many they are unpacked, in front of packed points.
_SIZES = struct.Struct("<II")

#: A place at the origin that is not turned, as programs write it that know of none.
_NO_VIEWPOINT = ["0", "0", "0", "1", "0", "0", "0"]

_EXPECTED = "points with the fields x, y and z"


class _Header(NamedTuple):
    """What a header says."""

    #: of each field
    names: list[str]
    kinds: list[str]
    #: how many numbers each field has
    counts: list[int]
    points: int
    #: where the scanner stood and how it was turned
    viewpoint: list[str]
    #: ascii, binary or binary_compressed
    data: str
    #: lines and bytes before the points
    lines: int
    size: int


def read_pcd(path: Path) -> Cloud:
    """Read the fields x, y and z: of a text as float64, of bytes in their own dtype."""
    with reading(path, _EXPECTED, "save it again as a point cloud"):
        header = _read_header(path)
        for name in ("x", "y", "z"):
            if header.names.count(name) != 1 or header.counts[header.names.index(name)] != 1:
                raise ValueError(f"the fields {quoted(' '.join(header.names))}")
        read = {"ascii": _read_text, "binary": _read_bytes, "binary_compressed": _read_packed}.get(header.data)
        if read is None:
            raise InvalidInputError(
                f"{path}: expected DATA ascii, binary or binary_compressed, got {shown(header.data)}; save it again"
            )
        # Fields of the name _ are there for their bytes alone.
        others = [name for name in header.names if name not in ("x", "y", "z", "_")]
        seen_from = ["VIEWPOINT"] if header.viewpoint not in ([], _NO_VIEWPOINT) else []
        return Cloud(points=read(path, header), notes=left_out(path, [*others, *seen_from]))


def _read_header(path: Path) -> _Header:
    with path.open("rb") as stream:
        start = stream.read(_MOST_HEADER)
    end = re.search(rb"^DATA[ \t]+(\w+)[ \t]*\r?\n", start, re.MULTILINE)
    if end is None:
        raise ValueError("it does not begin with the header of a .pcd file")
    said: dict[str, list[str]] = {}
    for line in start[: end.start()].decode("ascii").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            said[words[0].upper()] = words[1:]
    names = said.get("FIELDS", said.get("COLUMNS", []))
    sizes, types = said.get("SIZE", []), said.get("TYPE", [])
    counts = [_whole("COUNT", word) for word in said.get("COUNT", ["1"] * len(names))]
    if not names or not len(names) == len(sizes) == len(types) == len(counts):
        raise ValueError("a header whose FIELDS, SIZE, TYPE and COUNT are not alike in number")
    grid = math.prod(_whole(name, *said.get(name, ["1"])) for name in ("WIDTH", "HEIGHT"))
    points = _whole("POINTS", *said["POINTS"]) if "POINTS" in said else grid
    if points != grid and "WIDTH" in said:
        raise ValueError(f"a header of {points:,} POINTS, and of {grid:,} by WIDTH and HEIGHT")
    kinds = [_kind(letter, size) for letter, size in zip(types, sizes, strict=True)]
    lines = start[: end.end()].count(b"\n")
    return _Header(
        names=names,
        kinds=kinds,
        counts=counts,
        points=points,
        viewpoint=said.get("VIEWPOINT", []),
        data=end[1].decode("ascii"),
        lines=lines,
        size=end.end(),
    )


def _whole(name: str, *words: str) -> int:
    """The one number in a line of the header."""
    if len(words) != 1 or not re.fullmatch(r"[0-9]{1,18}", words[0], re.ASCII):
        raise ValueError(f"the line {quoted(' '.join([name, *words]))} in its header")
    return int(words[0])


def _kind(letter: str, size: str) -> str:
    """The name by which numpy has a kind of numbers."""
    kind, sizes = _KINDS.get(letter, ("", ()))
    if size not in map(str, sizes):
        raise ValueError(f"a field of TYPE {shown(letter)} and SIZE {shown(size)} in its header")
    return f"<{kind}{size}"


def _read_text(path: Path, header: _Header) -> np.ndarray[Any, Any]:
    """The points of a file whose DATA are ascii, one in each line."""
    lines = read_lines(path)
    line_numbers = [k for k in range(header.lines, len(lines)) if lines[k].strip()]
    if len(line_numbers) != header.points:
        raise _cut_off(path, header, f"{len(line_numbers):,} lines")
    if not line_numbers:
        return np.empty((0, 3))
    rows = [lines[k].strip() for k in line_numbers]
    table = Table(path=path, rows=rows, line_numbers=line_numbers, between=None, names=None, width=sum(header.counts))
    starts = np.cumsum([0, *header.counts]).tolist()
    # Points that an organized cloud does not have are NaN.
    return read_columns(table, [starts[header.names.index(name)] for name in ("x", "y", "z")], skip_nan=True)


def _read_bytes(path: Path, header: _Header) -> np.ndarray[Any, Any]:
    """The points of a file whose DATA are binary, one behind the other."""
    sizes = [int(kind[2:]) * count for kind, count in zip(header.kinds, header.counts, strict=True)]
    each, starts = sum(sizes), np.cumsum([0, *sizes]).tolist()
    held = path.stat().st_size - header.size
    # Some programs end the file with a line's end.
    if not each * header.points <= held < each * header.points + max(2, each):
        raise _cut_off(path, header, f"{held:,} bytes where a point takes {each:,}")
    check_memory(path, 2 * each * header.points)
    fields = [header.names.index(name) for name in ("x", "y", "z")]
    record = np.dtype(
        {
            "names": ["x", "y", "z"],
            "formats": [header.kinds[k] for k in fields],
            "offsets": [starts[k] for k in fields],
            "itemsize": each,
        }
    )
    with path.open("rb") as stream:
        stream.seek(header.size)
        data = stream.read(each * header.points)
    rows = np.frombuffer(data, record, count=header.points)
    return np.stack([rows[name] for name in ("x", "y", "z")], axis=1)


def _read_packed(path: Path, header: _Header) -> np.ndarray[Any, Any]:
    """The points of a file whose DATA are binary_compressed: one field behind the other, packed together."""
    sizes = [int(kind[2:]) * count for kind, count in zip(header.kinds, header.counts, strict=True)]
    held = path.stat().st_size - header.size
    with path.open("rb") as stream:
        stream.seek(header.size)
        numbers = stream.read(_SIZES.size)
        packed, size = _SIZES.unpack(numbers) if len(numbers) == _SIZES.size else (held, -1)
        if _SIZES.size + packed > held or size != sum(sizes) * header.points:
            raise _cut_off(path, header, f"{held:,} bytes, which say {packed:,} packed and {size:,} unpacked")
        check_memory(path, 3 * size)
        data = unpack(stream.read(packed), size)
    fields = []
    for name in ("x", "y", "z"):
        k = header.names.index(name)
        fields.append(np.frombuffer(data, header.kinds[k], header.points, header.points * sum(sizes[:k])))
    return np.stack(fields, axis=1)


def _cut_off(path: Path, header: _Header, got: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path}: expected {_EXPECTED}, got a header that announces {header.points:,} points, and {got} behind it; it "
        "may be damaged or cut off: save it again"
    )
