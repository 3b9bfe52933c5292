"""Results in files: whole ones or none, also where writing is interrupted or the disk is full."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from .progress import progress

__all__ = ["replacing", "write_arrays"]

#: Bytes that are written at once, between two steps of the progress bar.
_CHUNK = 1 << 24


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to, beside `path`, which takes its place when the body has ended without an error.

    Parameters
    ----------
    path : the file; one that is there stays as it is until then

    Raises
    ------
    InvalidInputError
        The system refuses to write there.
    """
    whole = Path(os.path.realpath(path))  # a link stays a link
    part = whole.with_name(f".clfrnn-{os.getpid()}.part{whole.suffix}")
    try:
        yield part
        part.replace(whole)
    except (OSError, ValueError) as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # an archive that is not whole refuses to be closed
            raise error.__context__ from None
        if not isinstance(error, OSError):
            raise
        raise InvalidInputError(
            f"{path}: it could not be written ({error.strerror or error}); free space there, or name a file in another "
            "folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


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
