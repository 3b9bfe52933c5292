"""A processor that PoCL's compiler does not know."""

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from clfrnn.host import processor
from clfrnn.host.child import python_command
from clfrnn.runtime import quirks

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="PoCL's wheel is for Linux on x86-64"
)

FLAGS = "fpu abm avx2 bmi1 bmi2 f16c fma movbe popcnt"
WIDE = f"{FLAGS} adx avx512bw avx512cd avx512dq avx512f avx512vl"


class Device(ctypes.Structure):
    """What a device of PoCL's holds around the name."""

    _fields_ = (("other", ctypes.c_uint64 * 80), ("triple", ctypes.c_char_p), ("name", ctypes.c_char_p))


def name_after(device):
    return processor.name_processor.__wrapped__(ctypes.addressof(device)), device.name


def device(name, triple=b"x86_64-unknown-linux-gnu"):
    return Device(other=(ctypes.c_uint64 * 80)(0, 8, 1 << 46, (1 << 64) - 1), triple=triple, name=name)


@pytest.mark.parametrize(
    ("flags", "name"), [(WIDE, b"skylake-avx512"), (FLAGS, b"haswell"), ("fpu avx2", b"x86-64"), (None, b"x86-64")]
)
def test_a_name_that_the_compiler_knows(monkeypatch, flags, name):
    """Named by what the processor can do."""
    text = "processor\t: 0\n" + ("" if flags is None else f"flags\t\t: {flags}\n")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert name_after(device(b"generic")) == (True, name)


@pytest.mark.parametrize("name", [b"znver3", b"generic-ooo", None])
def test_what_is_known_stays(name):
    assert name_after(device(name)) == (True, name)


def test_a_name_behind_another_text_stays():
    assert name_after(device(b"generic", triple=b"aarch64-unknown-linux-gnu")) == (True, b"generic")


def test_memory_that_is_not_there_is_not_read():
    for address in (0, 8, 1 << 46, (1 << 64) - 8):
        assert processor.name_processor.__wrapped__(address)


def test_where_nothing_can_be_written(monkeypatch):
    def refuse(*_):
        raise PermissionError("the system lets nobody write there")

    monkeypatch.setattr(processor.os, "pwrite", refuse)
    assert name_after(device(b"generic")) == (False, b"generic")


def test_why_nothing_compiles_there(monkeypatch):
    monkeypatch.setattr(quirks, "name_processor", lambda _: False)
    why = quirks.what_lacks("Portable Computing Language", 0)
    assert "older than this processor" in why
    assert "pip install intel-opencl-rt" in why
    assert quirks.what_lacks("another", 0) == ""


#: Gives PoCL the name "generic", as its LLVM does on a processor that it does not know.
_UNKNOWN = """
import ctypes, os, struct
import numpy as np, pyopencl as cl
import clfrnn
from clfrnn import clouds, reference
from clfrnn.host import processor
from clfrnn.runtime.device import list_devices, read_profile
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
found = clfrnn.search(points, 0.2, session=clfrnn.Session(device)).counts
assert (found == np.diff(reference.neighbors(points, 0.2).offsets)).all()
print("mended")
"""


def test_pocl_compiles_for_a_processor_that_it_does_not_know(session, tmp_path, monkeypatch):
    if session.profile.platform != "Portable Computing Language":
        pytest.skip("PoCL alone")
    monkeypatch.setenv("PYOPENCL_NO_CACHE", "1")
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    done = subprocess.run(python_command(_UNKNOWN), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "refused, mended\n", done.stderr
