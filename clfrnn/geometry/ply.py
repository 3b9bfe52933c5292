"""Points in .ply files: with what is known of each, and with triangles, in all digits."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ..host.files import replacing
from ..host.foreign_warnings import ignored_warnings
from ..host.libraries import library

__all__ = ["write_ply"]


def write_ply(path: str | PathLike[str], points: Any, *, faces: Any = None, **others: Any) -> None:
    """Write a binary .ply file of vertices with the properties x, y and z.

    Parameters
    ----------
    path : where to write; a file of that name is replaced when the new one is whole
    points : (n, 3); other dtypes than float32 and float16 are written as float64
    faces : (f, 3) integers, the points of each triangle; None for a file without triangles
    others : (n,) further properties of the vertices, by name, in the same precision

    Raises
    ------
    InvalidInputError
        The system refuses to write there.
    ClfrnnError
        plyfile is not installed; the extras ``files`` and ``geometry`` have it.
    """
    plyfile = library("plyfile", "plyfile", "a .ply file")
    columns = {"x": points[:, 0], "y": points[:, 1], "z": points[:, 2], **others}
    real = "<f4" if points.dtype in ("float16", "float32") else "<f8"
    vertices = np.empty(len(points), [(name, real) for name in columns])
    for name, column in columns.items():
        vertices[name] = column
    parts = {"vertex": vertices}
    if faces is not None:
        parts["face"] = np.empty(len(faces), [("vertex_indices", "<i4", (3,))])
        parts["face"]["vertex_indices"] = faces
    with replacing(path) as part, ignored_warnings():
        elements = [plyfile.PlyElement.describe(rows, name) for name, rows in parts.items()]
        plyfile.PlyData(elements, byte_order="<").write(str(part))
