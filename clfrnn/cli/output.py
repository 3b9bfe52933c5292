"""Archives of results, with a progress bar."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..host.files import replacing
from .progress import progress

__all__ = ["write_arrays"]

#: Bytes that are written at once, between two steps of the progress bar.
_CHUNK = 1 << 24


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write an .npz archive as numpy.savez does, with a progress bar.

    Parameters
    ----------
    path : the archive
    arrays : what it holds, by name
    """
    total, done = sum(array.nbytes for array in arrays.values()), 0
    with (
        replacing(path) as part,
        progress("writing") as shown,
        zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, given in arrays.items():
            array = np.asarray(given, order="C")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(array))
                content = array.reshape(-1).view(np.uint8).data
                for start in range(0, len(content), _CHUNK):
                    member.write(content[start : start + _CHUNK])
                    done += len(content[start : start + _CHUNK])
                    shown(done, total)
