"""The contents of a file, as bytes and as lines, with a message for each way in which it cannot be read."""

from __future__ import annotations

import contextlib
import gzip
import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from ..errors import ClfrnnError, DeviceMemoryError, InvalidInputError
from ..host.memory import host_memory_left
from ..host.printable import printable

__all__ = [
    "STANDARD_INPUT",
    "by_command",
    "check_memory",
    "inner_ending",
    "label",
    "quoted",
    "read_lines",
    "reading",
    "shown",
]

STANDARD_INPUT = Path("-")

#: Bytes that are read at once, so that a packed file is not unpacked beyond the free memory.
_CHUNK = 1 << 22

#: Memory that a text takes while it is read, as a multiple of its size: bytes, text, lines, numbers.
_TEXT_TAKES = 6

#: The first bytes of files that are no text, and what to do with such a file.
_MAGIC = (
    (b"\x1f\x8b", "a file that gzip packed", "let its name end in .gz, as in cloud.csv.gz"),
    (b"PK\x03\x04", "a zip archive, as .npz and .xlsx files are", "give it its own ending, or save the sheet as CSV"),
    (b"\x93NUMPY", "an array of numpy's", "let its name end in .npy"),
    (b"\xff\xfe\x00\x00", "UTF-32", "convert it, as in: {command}"),
    (b"\xff\xfe", "UTF-16", "save it as UTF-8, or convert it, as in: {command}"),
    (b"\xfe\xff", "UTF-16", "save it as UTF-8, or convert it, as in: {command}"),
)


def label(path: Path) -> str:
    """How messages name the file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def by_command(path: Path, command: str) -> str:
    """A line for a shell that makes another file of this one, by a command that reads standard input.

    Parameters
    ----------
    path : the file, which may be packed, or standard input
    command : the command, as in ``tr ',' '.'``
    """
    if path == STANDARD_INPUT:
        return f"{command} < old.txt > new.txt"
    packed = path.suffix.lower() == ".gz"
    name = Path(path.stem if packed else path.name)
    old, new = (shlex.quote(each) for each in (str(path), f"{name.stem}.new{name.suffix}"))
    return f"gzip -dc {old} | {command} > {new}" if packed else f"{command} < {old} > {new}"


def inner_ending(path: Path) -> str:
    """The ending of a name in lower case, without ``.gz``; that of a text for standard input."""
    if path == STANDARD_INPUT:
        return ".txt"
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def shown(text: str, most: int = 40) -> str:
    """`text` as a message quotes it: in one line, not longer than `most` characters."""
    return printable(text if len(text) <= most else f"{text[: most - 1]}…", beside="")


def quoted(text: str) -> str:
    """A word of the file between quotes, as :func:`shown`."""
    return f"'{shown(text)}'"


@contextlib.contextmanager
def reading(path: Path, expected: str, remedy: str) -> Iterator[None]:
    """Turn whatever a parser raises at the contents of a file into one message.

    Parameters
    ----------
    path : the file
    expected : what the message says was expected
    remedy : what it says to do
    """
    try:
        yield
    except ClfrnnError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            missing = isinstance(error, FileNotFoundError)
            advice = "check its name and its folder" if missing else "copy it to another place, or mend that"
            raise InvalidInputError(f"{label(path)}: the system cannot read it ({error.strerror}); {advice}") from error
        # Archives and headers are parsed by others, which fail in many ways where bytes are damaged.
        raise InvalidInputError(
            f"{label(path)}: expected {expected}, got something else ({_first(error)}); {remedy}"
        ) from error


def _first(error: Exception) -> str:
    """The first sentence of somebody else's error; later ones have advice for programs, such as to trust the file."""
    said = " ".join(str(error).split()).split(". ")[0].rstrip(".")
    return shown(said, 120) or type(error).__name__


def check_memory(path: Path, nbytes: int) -> None:
    """Refuse what exceeds the free memory before it is allocated.

    Parameters
    ----------
    path : the file
    nbytes : the bytes that its contents take in memory
    """
    if nbytes > (free := max(0.0, host_memory_left(nbytes))):
        raise DeviceMemoryError(
            f"{label(path)}: its contents take {nbytes / 2**30:,.1f} GiB or more, and {free / 2**30:,.1f} GiB of this "
            "machine's memory are free; search a part of it",
            needed=nbytes,
            available=int(free),
        )


def read_lines(path: Path, *, any_signs: bool = False) -> list[str]:
    """The lines of a text in UTF-8, without their ends; the first is the file's line 1.

    Parameters
    ----------
    path : a file, packed where its name ends in .gz, or :data:`STANDARD_INPUT`
    any_signs : whether the text may have other signs than those of UTF-8, each of which is read as one sign: in formats
        whose numbers and names are ASCII they stand in titles and comments
    """
    raw = _read_bytes(path)
    for magic, kind, remedy in _MAGIC:
        if raw.startswith(magic):
            command = by_command(path, f"iconv -f {kind} -t UTF-8")
            raise InvalidInputError(
                f"{label(path)}: line 1: expected text in UTF-8, got {kind}; {remedy.format(command=command)}"
            )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not any_signs:
            line = raw.count(b"\n", 0, error.start) + 1
            raise InvalidInputError(
                f"{label(path)}: line {line}: expected text in UTF-8, got the byte 0x{raw[error.start]:02X}, as "
                "Latin-1 and Windows write accents and signs; save it as UTF-8, or convert it, as in: "
                f"{by_command(path, 'iconv -f WINDOWS-1252 -t UTF-8')}"
            ) from error
        text = raw.decode("latin-1")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected text in UTF-8, got a zero byte, as UTF-16 and files that are no "
            "text have; save it as UTF-8, or give the file the ending of its format"
        )
    # Lines as editors count them; str.splitlines() knows further ends of lines.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read_bytes(path: Path) -> bytes:
    """All bytes of a file, unpacked."""
    if path == STANDARD_INPUT:
        return _read_all(path, cast("io.BufferedIOBase", sys.stdin.buffer))
    if path.suffix.lower() != ".gz":
        with reading(path, "a text", "save it again"), path.open("rb") as stream:
            return _read_all(path, stream)
    with reading(path, "a whole file that gzip packed", "pack it again"), gzip.open(path, "rb") as packed:
        return _read_all(path, packed)


def _read_all(path: Path, stream: io.BufferedIOBase) -> bytes:
    """The rest of a stream, as far as its text would fit memory."""
    parts, size = [], 0
    # Not read(): an interrupt that comes between two reads of a pipe would not be seen before the second has ended.
    while part := stream.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        check_memory(path, (_TEXT_TAKES - 1) * size)  # the parts have their memory
    return b"".join(parts)
