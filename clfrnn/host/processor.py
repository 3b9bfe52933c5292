"""The processor that a driver compiles for: named anew where the driver's compiler is older than the processor.

A driver for CPUs asks its LLVM for the name of the processor once, and compiles each kernel for that name. An LLVM
that does not know the processor says "generic", which clang refuses on x86: nothing compiles. Where no variable and no
option of a build gives the driver another name, the one that it holds is exchanged for that of an older processor,
whose instructions this one has, too.

The driver holds the name behind the target triple, in the memory of the device. It is looked for by these two texts,
through the file of this process' memory: reading what is not mapped is an error there, and no crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import platform
import struct
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["name_processor"]

#: What LLVM calls a processor that it does not know, and how triples of these machines begin.
_UNKNOWN, _TRIPLE = b"generic\0", b"x86_64-"

#: Bytes of a device that are searched; the name was seen at 640.
_BYTES = 1024

#: Addresses that a pointer can have.
_ADDRESSES = range(1 << 12, 1 << 47)

_AVX2 = frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "movbe", "popcnt"})


class _Library(NamedTuple):
    """Functions that the driver links to kernels, compiled for one processor."""

    name: bytes
    #: the flag of Linux by which the driver takes it
    taken: str
    #: the flags of what the processor of that name can do
    needed: frozenset[str]


#: The driver's libraries for processors of today, the first that is taken. Kernels must be compiled for the same
#: processor: others hand wide vectors over in another way, find nothing, or end the process.
_LIBRARIES = (
    _Library(b"skylake-avx512", "avx512f", _AVX2 | {"adx", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    _Library(b"haswell", "avx2", _AVX2),
)


@functools.cache
def name_processor(device: int, version: str) -> bool:
    """Whether the driver's compiler has a name that it knows for the processor here, after help where needed.

    `device` is the address of the driver's device, its ``cl_device_id``, and `version` what the driver says of it,
    which ends with the name that LLVM gave. Where that is a name, nothing is read; where what the device holds is not
    understood, nothing is written.
    """
    if not (sys.platform.startswith("linux") and platform.machine() == "x86_64" and version.endswith("-generic")):
        return True
    with contextlib.suppress(OSError):
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            if (name := _known_name()) is None:
                return False
            if (place := _place_of_name(memory, device, _UNKNOWN)) is not None:
                os.pwrite(memory, struct.pack("<Q", _lasting(name)), place)
            return _place_of_name(memory, device, name + b"\0") is not None
        finally:
            os.close(memory)
    return False


def _place_of_name(memory: int, device: int, wanted: bytes) -> int | None:
    """The address of the pointer to the name, where that is the wanted one."""
    held = _read(memory, device, _BYTES)
    pointers = [pointer for (pointer,) in struct.iter_unpack("<Q", held[: len(held) // 8 * 8])]
    for number, (triple, name) in enumerate(itertools.pairwise(pointers), 1):
        if _read(memory, name, len(wanted)) == wanted and _read(memory, triple, len(_TRIPLE)) == _TRIPLE:
            return device + 8 * number
    return None


def _read(memory: int, address: int, size: int) -> bytes:
    """Bytes of the memory of this process from an address on; fewer where it ends, b"" where there is none."""
    try:
        return os.pread(memory, size, address) if address in _ADDRESSES else b""
    except OSError:
        return b""


def _known_name() -> bytes | None:
    """The name of the library that the driver takes here; None where this processor can do less, or shows nothing."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    flags = frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())
    library = next((library for library in _LIBRARIES if library.taken in flags), None)
    return library.name if library is not None and library.needed <= flags else None


def _lasting(name: bytes) -> int:
    """The address of a copy that lasts as long as the process, or until the driver frees it."""
    duplicate = ctypes.CDLL(None).strdup
    duplicate.argtypes, duplicate.restype = [ctypes.c_char_p], ctypes.c_void_p
    if not (address := duplicate(name)):
        raise OSError("there is no memory for a name")
    return int(address)
