"""The linker that a driver for CPUs runs for each kernel: tried before the driver, which ends the process without it.

Such a driver runs ``ld`` as its built-in compiler does for a shared library: with the libraries ``gcc``, ``gcc_s`` and
``c``, of which a kernel needs nothing. Where that fails, a script of the same name goes first in ``PATH``. It runs the
linker of this machine, or else that of the wheel ``ziglang``, and offers empty archives in place of missing libraries.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .child import python_command
from .folders import temporary_folder, write_whole
from .text_cache import cache_folder, digest

__all__ = ["compiles_elsewhere", "why_not_linked"]

#: The libraries that the compiler names to the linker.
_LIBRARIES = ("gcc", "gcc_s", "c")

#: The option of the format of files, by machine; without an object among what is linked, a linker cannot know it.
_FORMATS = {"x86_64": ("-m", "elf_x86_64"), "aarch64": ("-m", "aarch64linux")}

#: An archive without members.
_EMPTY_ARCHIVE = b"!<arch>\n"

#: Folders that the compiler has the linker search, by machine; not every linker searches them by itself.
_SEARCHED = (
    "usr/lib/gcc/{}-*/*",
    "usr/lib64/gcc/{}-*/*",
    "lib/{}-linux-gnu",
    "usr/lib/{}-linux-gnu",
    "lib64",
    "usr/lib64",
    "lib",
    "usr/lib",
)

#: Seconds after which a linker or a driver that does not answer counts as one that fails.
_SECONDS = 60.0

#: Compiles one kernel on each device of a platform; a process that ends by a signal leaves no file behind.
_TRIAL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import pyopencl, pyopencl.array
from clfrnn.host.processor import name_processor
platform = next(each for each in pyopencl.get_platforms() if each.name == sys.argv[1])
for device in platform.get_devices():
    name_processor(device.int_ptr, device.version.strip())
    queue = pyopencl.CommandQueue(pyopencl.Context([device]))
    (pyopencl.array.zeros(queue, 1, "int32") + 1).get()
"""


@functools.cache
def why_not_linked(driver: str, cache_switch: str) -> str:
    """Why the driver with the platform name `driver` cannot link kernels on this machine; "" where it can.

    `cache_switch` is the variable whose value 0 keeps the driver from using kernels that it linked before.

    Where a script has to help, ``PATH`` of this process names its folder first; programs that it starts inherit that.
    The script offers its archives behind all other libraries, so that it links what the linker alone would link.

    Notes
    -----
    Cost: one run of the linker where it works; where nothing helps, one process that compiles a kernel.
    """
    if not sys.platform.startswith("linux"):  # elsewhere the system has a linker, or the driver brings one
        return ""
    with contextlib.suppress(OSError):  # without temporary files, the driver fails in its own way
        if _links("ld") or any(_helped(linker, folder) for linker in _linkers() for folder in _folders(linker)):
            return ""
    # The driver may bring a linker, or find one where only it looks.
    if compiles_elsewhere(driver, cache_switch):
        return ""
    found = "which fails" if shutil.which("ld") else "which is not on this machine"
    return (
        f"its driver ({driver}) links each kernel by the program `ld`, {found}; install a linker: "
        "`pip install ziglang` needs no root rights, and your system has one in the package binutils"
    )


@functools.cache
def compiles_elsewhere(driver: str, cache_switch: str) -> bool:
    """Whether the driver compiles a kernel for each of its devices, in another process; False where none can start."""
    caches_off = {**os.environ, cache_switch: "0", "PYOPENCL_NO_CACHE": "1"}
    return bool(sys.executable) and _succeeds(python_command(_TRIAL, driver), caches_off)


def _links(linker: str) -> bool:
    """Whether a linker makes a shared library with the libraries that a compiler names."""
    if (program := shutil.which(linker)) is None:
        return False
    machine = platform.machine()
    folders = [folder for pattern in _SEARCHED for folder in sorted(Path("/").glob(pattern.format(machine)))]
    named = [folder for folder in os.environ.get("LIBRARY_PATH", "").split(os.pathsep) if folder]
    with tempfile.TemporaryDirectory() as made:
        search = [f"-L{folder}" for folder in (*folders, *named)]
        options = ["-shared", *_FORMATS.get(machine, ()), "-o", f"{made}/empty.so"]
        return _succeeds([program, *options, *search, *(f"-l{each}" for each in _LIBRARIES)])


def _succeeds(command: Sequence[str], environment: dict[str, str] | None = None) -> bool:
    """Whether a program ends well; what it prints is not shown."""
    try:
        done = subprocess.run(  # noqa: S603 — a linker in the user's PATH, as the driver runs it, or this Python
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _linkers() -> Iterator[tuple[str, ...]]:
    """The commands of the linkers that are here: this machine's, and the one in the wheel ``ziglang``, LLVM's."""
    if found := shutil.which("ld"):
        yield (str(Path(found).absolute()),)
    wheel = importlib.util.find_spec("ziglang")
    if wheel is not None and wheel.origin:
        yield str(Path(wheel.origin).with_name("zig")), "ld.lld"


def _folders(linker: tuple[str, ...]) -> Iterator[Path]:
    """Folders for the script, the user's caches first: what lies among temporary files may not be allowed to run."""
    name = f"linker-{digest(*map(os.fsencode, linker))}"
    if (caches := cache_folder()) is not None:
        yield caches / name
    yield temporary_folder() / name


def _helped(linker: tuple[str, ...], folder: Path) -> bool:
    """Whether a script in `folder` makes a linker work; it is then the first ``ld`` in ``PATH``."""
    script = folder / "ld"
    text = f'#!/bin/sh\nexec {shlex.join(linker)} "$@" {shlex.quote(f"-L{folder}")}\n'
    files = {script: os.fsencode(text), **{folder / f"lib{each}.a": _EMPTY_ARCHIVE for each in _LIBRARIES}}
    try:
        for path, content in files.items():
            if not path.exists() or path.read_bytes() != content:
                write_whole(path, content)
        script.chmod(0o755)
    except OSError:
        return False
    if not _links(str(script)):
        return False
    os.environ["PATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PATH", os.defpath)]))
    return True
