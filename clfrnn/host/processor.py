"""The processor that a driver compiles for: named anew where the driver's compiler is older than the processor.

A driver for CPUs asks its LLVM for the name of the processor once, and compiles each kernel for that name. An LLVM
that is older than the processor says "generic", which clang refuses on x86: nothing compiles. Where no variable and no
option of a build gives the driver another name, the one that it holds is exchanged for that of an older processor with
the same instructions.

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

__all__ = ["name_processor"]

#: What LLVM calls a processor that it does not know, and how triples of these machines begin.
_UNKNOWN, _TRIPLE = b"generic\0", b"x86_64-"

#: Bytes of a device that are searched; the name was seen at 640.
_BYTES = 1024

#: Addresses that a pointer can have.
_ADDRESSES = range(1 << 12, 1 << 47)

_AVX2 = frozenset({"abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "popcnt"})
#: Names of processors and the flags that Linux shows of what they can, the most able first.
_NAMES: tuple[tuple[bytes, frozenset[str]], ...] = (
    (b"skylake-avx512", _AVX2 | {"adx", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
    (b"haswell", _AVX2),
    (b"x86-64", frozenset()),
)


@functools.cache
def name_processor(device: int) -> bool:
    """Whether the driver's compiler knows the processor of this machine, after help where needed.

    `device` is the address of the driver's device, its ``cl_device_id``. Where the compiler knows the processor, or
    what the device holds is not understood, nothing is written.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return True
    place = None
    with contextlib.suppress(OSError):
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            if (place := _place_of_name(memory, device)) is not None:
                os.pwrite(memory, struct.pack("<Q", _lasting(_known_name())), place)
                place = _place_of_name(memory, device)
        finally:
            os.close(memory)
    return place is None


def _place_of_name(memory: int, device: int) -> int | None:
    """The address of the pointer to the name, where that is the one of processors that the compiler does not know."""
    held = _read(memory, device, _BYTES)
    pointers = [pointer for (pointer,) in struct.iter_unpack("<Q", held[: len(held) // 8 * 8])]
    for number, (triple, name) in enumerate(itertools.pairwise(pointers), 1):
        if _read(memory, name, len(_UNKNOWN)) == _UNKNOWN and _read(memory, triple, len(_TRIPLE)) == _TRIPLE:
            return device + 8 * number
    return None


def _read(memory: int, address: int, size: int) -> bytes:
    """Bytes of the memory of this process from an address on; fewer where it ends, b"" where there is none."""
    try:
        return os.pread(memory, size, address) if address in _ADDRESSES else b""
    except OSError:
        return b""


def _known_name() -> bytes:
    """The most able of the processors in the table that can do no more than this one."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    flags = frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())
    return next(name for name, needed in _NAMES if needed <= flags)


def _lasting(name: bytes) -> int:
    """The address of a copy that lasts as long as the process, or until the driver frees it."""
    duplicate = ctypes.CDLL(None).strdup
    duplicate.argtypes, duplicate.restype = [ctypes.c_char_p], ctypes.c_void_p
    return int(duplicate(name))
