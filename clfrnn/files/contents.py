"""The contents of a file, as bytes and as lines, with a message for each way in which it cannot be read."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import itertools
import lzma
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from ..errors import ClfrnnError, DeviceMemoryError, InvalidInputError
from ..host.memory import host_memory_left
from ..host.printable import printable

__all__ = [
    "PACKED",
    "STANDARD_INPUT",
    "by_command",
    "check_memory",
    "inner_ending",
    "label",
    "left_out",
    "quoted",
    "read_lines",
    "reading",
    "shown",
    "stream_lines",
]

STANDARD_INPUT = Path("-")

#: Signs of names that a note on what is left out has at most.
_MOST_SHOWN = 120


class Packing(NamedTuple):
    """How files are packed: the program that does it, and how what an open one holds is read, some at a time."""

    program: str
    parts: Callable[[BinaryIO], Iterator[bytes]]


def _gzip_parts(packed: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed) as stream:
        yield from _read_parts(cast("io.BufferedIOBase", stream))


def _stream_parts(packed: BinaryIO, *, kind: type[bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> Iterator[bytes]:
    """Unpack streams up to the end of the file; zero bytes may stand behind each.

    Python's own openers of .bz2 and .xz files leave out what stands behind the first stream and is none.
    """
    data = packed.read(_CHUNK)
    while True:
        stream = kind()
        while not stream.eof:
            if stream.needs_input and not (data := data or packed.read(_CHUNK)):
                raise EOFError("it ends before the end of a stream")
            yield stream.decompress(data, _CHUNK)
            data = b""
        data = stream.unused_data.lstrip(b"\0")
        while not data:
            if not (more := packed.read(_CHUNK)):
                return
            data = more.lstrip(b"\0")


#: How a file is packed, by the end of its name.
PACKED: Mapping[str, Packing] = {
    ".gz": Packing("gzip", _gzip_parts),
    ".bz2": Packing("bzip2", functools.partial(_stream_parts, kind=bz2.BZ2Decompressor)),
    ".xz": Packing("xz", functools.partial(_stream_parts, kind=lzma.LZMADecompressor)),
}

#: Bytes that are read at once, so that a packed file is not unpacked beyond the free memory.
_CHUNK = 1 << 22

#: Memory that a text takes while it is read, as a multiple of its size: bytes, text, lines, numbers.
_TEXT_TAKES = 6

#: The first bytes of files that are no text, and what to do with such a file.
_MAGIC = (
    (b"\x1f\x8b", "a file that gzip packed", "let its name end in .gz, as in cloud.csv.gz"),
    (b"BZh", "a file that bzip2 packed", "let its name end in .bz2, as in cloud.csv.bz2"),
    (b"\xfd7zXZ\x00", "a file that xz packed", "let its name end in .xz, as in cloud.csv.xz"),
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
    packing = PACKED.get(path.suffix.lower())
    name = Path(path.stem if packing else path.name)
    old, new = (shlex.quote(each) for each in (str(path), f"{name.stem}.new{name.suffix}"))
    return f"{packing.program} -dc {old} | {command} > {new}" if packing else f"{command} < {old} > {new}"


def inner_ending(path: Path) -> str:
    """The ending of a name in lower case, without that of packing; that of a text for standard input."""
    if path == STANDARD_INPUT:
        return ".txt"
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in PACKED else suffix


def shown(text: str, most: int = 40) -> str:
    """`text` as a message quotes it: in one line, not longer than `most` characters."""
    return printable(text if len(text) <= most else f"{text[: most - 1]}…", beside="")


def quoted(text: str) -> str:
    """A word of the file between quotes, as :func:`shown`."""
    return f"'{shown(text)}'"


def left_out(path: Path, others: Iterable[str], read: str = "") -> tuple[str, ...]:
    """The note on what a file has beside what is read of it; none where it has nothing else.

    Parameters
    ----------
    path : the file
    others : names of what is left out, each once
    read : what the coordinates are, where that was chosen among others
    """
    names = ", ".join(others)
    if len(names) > _MOST_SHOWN and (end := names.rfind(",", 0, _MOST_SHOWN - 2)) > 0:
        names = f"{names[:end]}, …"  # no part of a name
    read = read and f"coordinates are {read}; "
    return (f"{label(path)}: {read}left out: {shown(names, _MOST_SHOWN)}",) if names else ()


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
    path : a file, packed where its name ends in .gz, .bz2 or .xz, or :data:`STANDARD_INPUT`
    any_signs : whether the text may have other signs than those of UTF-8, each of which is read as one sign: in formats
        whose numbers and names are ASCII they stand in titles and comments
    """
    lines: list[str] = []
    size = 0
    for some, nbytes in _line_blocks(path, any_signs=any_signs):
        lines += some
        size += nbytes
        check_memory(path, (_TEXT_TAKES - 2) * size)  # the lines have their memory
    return lines


def stream_lines(path: Path, *, any_signs: bool = False) -> Iterator[str]:
    """The lines of :func:`read_lines`, of which few are in memory at a time."""
    for some, _ in _line_blocks(path, any_signs=any_signs):
        yield from some


def _line_blocks(path: Path, *, any_signs: bool) -> Iterator[tuple[list[str], int]]:
    """Lines of a text, some thousands at a time, and their bytes."""
    before, rest, at_start = 0, b"", True
    for part in itertools.chain(_parts(path), [None]):
        block = rest + (part or b"")
        # A line's end of two bytes stays together, and the last line is whole where the file ends.
        end = len(block) if part is None else max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        block, rest = block[:end], block[end:]
        if part is not None and not block:
            check_memory(path, (_TEXT_TAKES - 1) * len(rest))
            continue
        if at_start:
            _refuse_other_kinds(path, block)
            block, at_start = block.removeprefix(b"\xef\xbb\xbf"), False
        text = _decoded(path, block, before, any_signs=any_signs)
        # Lines as editors count them; str.splitlines() knows further ends of lines.
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if part is not None:
            lines.pop()  # nothing stands behind the last line's end
        before += len(lines)
        yield lines, end


def _refuse_other_kinds(path: Path, start: bytes) -> None:
    for magic, kind, remedy in _MAGIC:
        if start.startswith(magic):
            command = by_command(path, f"iconv -f {kind} -t UTF-8")
            raise InvalidInputError(
                f"{label(path)}: line 1: expected text in UTF-8, got {kind}; {remedy.format(command=command)}"
            )


def _decoded(path: Path, block: bytes, before: int, *, any_signs: bool) -> str:
    """The text of whole lines, behind as many others."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        if not any_signs:
            line = before + block.count(b"\n", 0, error.start) + 1
            raise InvalidInputError(
                f"{label(path)}: line {line}: expected text in UTF-8, got the byte 0x{block[error.start]:02X}, as "
                "Latin-1 and Windows write accents and signs; save it as UTF-8, or convert it, as in: "
                f"{by_command(path, 'iconv -f WINDOWS-1252 -t UTF-8')}"
            ) from error
        text = block.decode("latin-1")
    if "\0" in text:
        line = before + text.count("\n", 0, text.index("\0")) + 1
        raise InvalidInputError(
            f"{label(path)}: line {line}: expected text in UTF-8, got a zero byte, as UTF-16 and files that are no "
            "text have; save it as UTF-8, or give the file the ending of its format"
        )
    return text


def _parts(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked, some at a time."""
    if path == STANDARD_INPUT:
        yield from _read_parts(cast("io.BufferedIOBase", sys.stdin.buffer))
    elif packing := PACKED.get(path.suffix.lower()):
        with (
            reading(path, f"a whole file that {packing.program} packed", "pack it again"),
            path.open("rb") as packed,
        ):
            yield from filter(None, packing.parts(packed))
    else:
        with reading(path, "a text", "save it again"), path.open("rb") as stream:
            yield from _read_parts(stream)


def _read_parts(stream: io.BufferedIOBase) -> Iterator[bytes]:
    # Not read(): an interrupt that comes between two reads of a pipe would not be seen before the second has ended.
    while part := stream.read1(_CHUNK):
        yield part
