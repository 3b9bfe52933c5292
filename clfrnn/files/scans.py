"""Points of laser scans in .las and .laz files, read by the package laspy once their header is known to be true."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..host.foreign_warnings import ignored_warnings
from .cloud import Cloud
from .contents import check_memory, left_out, reading

__all__ = ["read_las"]

#: Points that are read at once: what a header announces beyond the file is not allocated.
_AT_ONCE = 1 << 20

#: Bytes of the shortest header, and of the shortest record behind it.
_LEAST_HEADER, _LEAST_RECORD = 227, 54

#: Bytes of a chunk of packed points, whose first point is not packed, at least.
_LEAST_CHUNK = 20

#: Bytes of three coordinates as float64, the parts that are read and the whole of them.
_BYTES_OF_POINT = 2 * 24


def read_las(path: Path) -> Cloud:
    """Read the coordinates as float64, scaled and shifted as the header says."""
    try:
        with ignored_warnings():
            import laspy
    except ImportError as error:
        raise _missing(path, "laspy") from error
    remedy = "save it again, or copy it again where it comes from"
    with reading(path, "points as LAS 1.0 to 1.4 holds them", remedy), ignored_warnings():
        _check_header(path)
        with path.open("rb") as stream, laspy.open(stream, read_evlrs=False) as reader:
            header = reader.header
            if header.are_points_compressed and not laspy.LazBackend.detect_available():
                raise _missing(path, "lazrs")
            count = header.point_count
            if count:
                (_check_chunks if header.are_points_compressed else _check_length)(path, header)
            parts = [np.empty((0, 3))]
            while (left := count - sum(map(len, parts))) > 0:
                check_memory(path, _BYTES_OF_POINT * min(left, _AT_ONCE))
                points = reader.read_points(_AT_ONCE)
                if not len(points):
                    raise ValueError(f"{count - left:,} of {count:,} points")
                parts.append(np.stack([np.asarray(points[name]) for name in "xyz"], axis=1))
        others = [name for name in header.point_format.dimension_names if name not in ("X", "Y", "Z")]
        records = ["records as that of the coordinate system"] if header.vlrs else []
        return Cloud(points=np.concatenate(parts), notes=left_out(path, [*others, *records]))


def _missing(path: Path, package: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path}: .las and .laz files are read by the packages laspy and lazrs, and {package} is not installed; pip "
        "install 'clfrnn[las]'"
    )


def _check_header(path: Path) -> None:
    """Refuse what is no .las file, and what stands before the points where the file has no bytes for it."""
    with path.open("rb") as stream:
        start = stream.read(_LEAST_HEADER)
    if start[:4] != b"LASF" or len(start) < _LEAST_HEADER:
        raise ValueError("it does not begin with the header of a .las file")
    points, records = struct.unpack_from("<II", start, 96)
    if max(points, records * _LEAST_RECORD) > path.stat().st_size:
        raise ValueError(f"its header announces {records:,} records, and points behind {points:,} bytes")


def _check_length(path: Path, header: Any) -> None:
    """Refuse fewer bytes than the points take that the header announces."""
    held = path.stat().st_size - header.offset_to_point_data
    if header.point_count * header.point_format.size > held:
        raise InvalidInputError(
            f"{path}: expected points as LAS 1.0 to 1.4 holds them, got a header that announces "
            f"{header.point_count:,} of {header.point_format.size:,} bytes, for which the file has {max(0, held):,} "
            "bytes; it may be damaged or cut off: save it again"
        )


def _check_chunks(path: Path, header: Any) -> None:
    """Refuse more chunks of packed points than the file has bytes for: lazrs would end the program."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(header.offset_to_point_data)
        (position,) = struct.unpack("<q", stream.read(8))
        if position <= header.offset_to_point_data:  # it was not known yet when the points were written
            stream.seek(-8, os.SEEK_END)
            (position,) = struct.unpack("<q", stream.read(8))
        if not 0 <= position <= size - 8:
            raise ValueError(f"a table of chunks that begins behind {position:,} of {size:,} bytes")
        stream.seek(position)
        _, chunks = struct.unpack("<II", stream.read(8))
    if chunks * _LEAST_CHUNK > size:
        raise ValueError(f"a table of {chunks:,} chunks in {size:,} bytes")
