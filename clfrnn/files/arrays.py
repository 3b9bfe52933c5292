"""Arrays in .npy files and in .npz archives, of which nothing is allocated that the file does not hold."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import InvalidInputError
from ..host.foreign_warnings import ignored_warnings
from .cloud import Cloud
from .contents import check_memory, label, left_out, quoted, reading, shown

__all__ = ["read_npy", "read_npz"]

#: Names of the points in an archive with several arrays.
_NAMES = ("points", "positions", "coordinates", "xyz")

#: Largest ratio of deflate; what an archive announces beyond it is not there.
_MOST_DEFLATED = 1040

_ENCRYPTED = 0x1


def read_npy(path: Path) -> Cloud:
    """Read the array of a .npy file."""
    with (
        reading(path, "an array as numpy.save writes it", "save it again"),
        path.open("rb") as stream,
    ):
        return Cloud(points=_read_array(path, stream, path.stat().st_size))


def read_npz(path: Path, *, array: str | None = None, prefer: Sequence[str] = ()) -> Cloud:
    """Read an array of a .npz archive.

    Parameters
    ----------
    path : the archive
    array : its name; when None the only array, else the one with a usual name of points
    prefer : names that are looked for before those
    """
    with (
        reading(path, "an archive as numpy.savez writes it", "save it again"),
        path.open("rb") as whole,
        zipfile.ZipFile(whole) as archive,
    ):
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        chosen = array is not None
        if array is None:
            usual = (name for name in (*prefer, *_NAMES) if name in members)
            array = next(iter(members)) if len(members) == 1 else next(usual, None)
        if array is None or array not in members:
            wanted = f"one named {quoted(array)}" if array else f"one array, or one named {', '.join(_NAMES)}"
            have = shown(", ".join(members), 80) or "none"
            raise InvalidInputError(
                f"{path}: expected {wanted}, got {have}; save one of them as a .npy file, or name one of them "
                "with --array on the command line"
            )
        others = () if chosen else (name for name in members if name != array)
        return Cloud(points=_read_member(path, archive, members[array]), notes=left_out(path, others, array))


def _read_member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Read one member, which may hold less than its entry announces."""
    if info.flag_bits & _ENCRYPTED:
        raise InvalidInputError(
            f"{path}: expected an archive as numpy.savez writes it, got one that a password protects; unpack it, and "
            "save the array again"
        )
    ratio = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: _MOST_DEFLATED}.get(info.compress_type, math.inf)
    if info.compress_size > path.stat().st_size or info.file_size > ratio * info.compress_size + _MOST_DEFLATED:
        raise InvalidInputError(
            f"{path}: expected an archive as numpy.savez writes it, got one that announces {info.file_size:,} bytes "
            f"for {shown(info.filename)}, which it cannot hold; it may be damaged or cut off: save it again"
        )
    with archive.open(info) as stream:
        points = _read_array(path, stream, info.file_size)
        stream.read()  # its end is where the checksum is compared
        return points


def _read_array(path: Path, stream: IO[bytes], size: int) -> np.ndarray[Any, Any]:
    """Read an array as numpy.save writes it, from a stream of `size` bytes."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the format, which holds records alone")
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    with ignored_warnings():  # of headers that Python 2 wrote
        shape, by_columns, dtype = header(stream)
    if dtype.kind not in "biufc":
        raise InvalidInputError(
            f"{label(path)}: expected an array of numbers, got dtype {shown(str(dtype))}; save the coordinates alone, "
            "as floats of shape (n, dim)"
        )
    nbytes = math.prod(shape) * dtype.itemsize
    held = size - (stream.tell() if stream.seekable() else 0)
    if min(shape, default=0) < 0 or nbytes > held:
        raise InvalidInputError(
            f"{label(path)}: expected an array as numpy.save writes it, got a header that announces shape "
            f"{shown(str(shape), 60)} of {dtype}, for which the file has {held:,} bytes; it may be damaged or cut off: "
            "save it again"
        )
    check_memory(path, nbytes)
    data = stream.read(nbytes)
    if len(data) < nbytes:
        raise EOFError(f"{len(data):,} of {nbytes:,} bytes")
    if nbytes < held:
        raise ValueError(f"{held - nbytes:,} bytes behind the array")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
