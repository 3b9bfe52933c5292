"""A processor that PoCL's compiler does not know."""

import ctypes
import platform
import subprocess
import sys
import types
from pathlib import Path

import pytest

from clfrnn.host import processor
from clfrnn.host.child import python_command
from clfrnn.runtime import quirks

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="PoCL's wheel is for Linux on x86-64"
)

FLAGS = "fpu abm avx avx2 bmi1 bmi2 cx16 f16c fma movbe popcnt"
WIDE = f"{FLAGS} adx avx512bw avx512cd avx512dq avx512f avx512vl"
VERSION = "OpenCL 3.0 pthread-x86_64-unknown-linux-gnu-generic"


class Device(ctypes.Structure):
    """What a device of PoCL's holds around the name."""

    _fields_ = (("other", ctypes.c_uint64 * 80), ("triple", ctypes.c_char_p), ("name", ctypes.c_char_p))


def device(name, triple=b"x86_64-unknown-linux-gnu"):
    return Device(other=(ctypes.c_uint64 * 80)(0, 8, 1 << 46, (1 << 64) - 1), triple=triple, name=name)


def named(device, version=VERSION):
    return processor.name_processor.__wrapped__(ctypes.addressof(device), version), device.name


@pytest.fixture
def flags(monkeypatch):
    """Gives this machine a processor with some flags."""

    def give(flags):
        monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"processor\t: 0\nflags\t\t: {flags}\n")

    give(WIDE)
    return give


@pytest.mark.parametrize(("can", "name"), [(WIDE, b"skylake-avx512"), (FLAGS, b"haswell")])
def test_the_name_is_that_of_the_library_that_pocl_takes(flags, can, name):
    flags(can)
    unknown = device(b"generic")
    assert named(unknown) == (True, name)
    assert named(unknown) == (True, name), "also where it has been named before"


@pytest.mark.parametrize("can", [WIDE.replace("adx ", ""), FLAGS.replace("movbe ", ""), "fpu sse2 avx", ""])
def test_a_processor_that_can_do_less_is_not_named(flags, can):
    """PoCL takes a library by a single flag, and kernels for another processor find nothing with it."""
    flags(can)
    assert named(device(b"generic")) == (False, b"generic")


def test_where_the_version_names_a_processor_nothing_is_read(flags, monkeypatch):
    monkeypatch.setattr(processor.os, "open", None)
    assert named(device(b"generic"), VERSION.replace("generic", "znver3")) == (True, b"generic")


@pytest.mark.parametrize(
    ("name", "triple"),
    [
        (b"znver3", b"x86_64-unknown"),
        (b"generic-ooo", b"x86_64-unknown"),
        (None, b"x86_64-"),
        (b"generic", b"aarch64-"),
    ],
)
def test_what_is_not_understood_stays(flags, name, triple):
    assert named(device(name, triple)) == (False, name)


def test_memory_that_is_not_there_is_not_read(flags):
    for address in (0, 8, 1 << 46, (1 << 64) - 8):
        assert not processor.name_processor.__wrapped__(address, VERSION)


@pytest.mark.parametrize("refused", ["open", "pwrite"])
def test_where_the_system_refuses(flags, monkeypatch, refused):
    def refuse(*_):
        raise PermissionError("the system lets nobody do that")

    monkeypatch.setattr(processor.os, refused, refuse)
    assert named(device(b"generic")) == (False, b"generic")


def described(address, platform="Portable Computing Language", parent=None):
    """What is asked of a device."""
    return types.SimpleNamespace(
        int_ptr=address, version=VERSION, platform=types.SimpleNamespace(name=platform), parent_device=parent
    )


@pytest.mark.parametrize("compiles", [True, False])
def test_why_nothing_compiles_there(monkeypatch, compiles):
    """A driver that compiles for an unknown processor all the same is used."""
    monkeypatch.setattr(quirks, "name_processor", lambda *_: False)
    monkeypatch.setattr(quirks, "compiles_elsewhere", lambda *_: compiles)
    monkeypatch.setattr(quirks, "why_not_linked", lambda *_: "")
    assert quirks.what_lacks(described(8)) == ("" if compiles else quirks.UNKNOWN_PROCESSOR)
    assert quirks.what_lacks(described(8, "another")) == ""
    monkeypatch.setattr(quirks, "why_not_linked", lambda *_: "no linker")
    assert quirks.what_lacks(described(8)) == "no linker", "without which nothing compiles elsewhere"


def test_a_part_of_a_device_is_compiled_for_as_the_whole(monkeypatch):
    asked = []
    monkeypatch.setattr(quirks, "name_processor", lambda *given: asked.append(given) or True)
    monkeypatch.setattr(quirks, "why_not_linked", lambda *_: "")
    assert quirks.what_lacks(described(24, parent=described(16, parent=described(8)))) == ""
    assert asked == [(8, VERSION)]


#: Gives PoCL the name "generic", as its LLVM does on a processor that it does not know.
_UNKNOWN = """
import ctypes, os, struct
import numpy as np, pyopencl as cl
import clfrnn
from clfrnn import clouds, reference
from clfrnn.host import processor
from clfrnn.runtime.device import list_devices
device = next(each for each in list_devices() if each.platform.name == "Portable Computing Language")
memory = os.open("/proc/self/mem", os.O_RDONLY)
words = struct.unpack("<128Q", os.pread(memory, 1024, device.int_ptr))
place = next(8 * i + 8 for i, word in enumerate(words) if processor._read(memory, word, 7) == b"x86_64-")
ctypes.c_uint64.from_address(device.int_ptr + place).value = processor._lasting(b"generic")
try:
    cl.Program(cl.Context([device]), "kernel void f() {}").build()
except cl.RuntimeError as error:
    assert "unknown target CPU" in str(error), error
    print("refused,", end=" ")
points = clouds.uniform(500, 3)
assert processor.name_processor(device.int_ptr, "x86_64-generic")
found = clfrnn.search(points, 0.2, session=clfrnn.Session(device)).counts
assert (found == np.diff(reference.neighbors(points, 0.2).offsets)).all()
print("mended")
"""


def test_pocl_compiles_for_a_processor_that_it_does_not_know(session, tmp_path, monkeypatch):
    if "PoCL 3." not in session.profile.version:
        pytest.skip("PoCL 3, which takes what LLVM says")
    monkeypatch.setenv("PYOPENCL_NO_CACHE", "1")
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    done = subprocess.run(python_command(_UNKNOWN), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "refused, mended\n", done.stderr
