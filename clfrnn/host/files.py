"""Files of users: whole ones or none, also where writing is interrupted or the disk is full."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from ..errors import InvalidInputError

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write to, beside `path`, which takes its place when the body has ended without an error.

    Parameters
    ----------
    path : the file; one that is there stays as it is until then, and its permissions are the new one's. A device or a
        pipe is written to itself.

    Raises
    ------
    InvalidInputError
        The system refuses to write there.
    """
    whole = Path(os.path.realpath(path))  # a link stays a link
    if whole.exists() and not (whole.is_file() or whole.is_dir()):
        yield whole
        return
    part = whole.parent / f".clfrnn-{os.getpid()}-{threading.get_ident()}.part{whole.suffix}"
    try:
        yield part
        if whole.is_file():
            shutil.copymode(whole, part)
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
