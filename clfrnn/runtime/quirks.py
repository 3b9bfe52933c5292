"""Corrections of facts that drivers report wrongly or omit. No other module knows vendors by name.

A quirk changes facts of a :class:`~clfrnn.profile.DeviceProfile`; all other code reads the facts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..host.folders import temporary_folder, warn_of_cache, why_unwritable
from ..host.linker import compiles_elsewhere, why_not_linked
from ..host.processor import name_processor
from ..profile import DeviceProfile

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = ["LIBRARIES", "QUIRKS", "UNKNOWN_PROCESSOR", "Quirk", "apply_quirks", "prepare_platform", "what_lacks"]

_POCL = "Portable Computing Language"
#: The variable whose value 0 keeps PoCL from using kernels that it compiled before.
_POCL_CACHE = "POCL_KERNEL_CACHE"

#: What a device lacks whose driver does not know the processor.
UNKNOWN_PROCESSOR = (
    "the compiler of its driver (LLVM) does not know this processor, and clfrnn could not name it another; install "
    "Intel's driver for CPUs, `pip install intel-opencl-rt`, or take pyopencl and PoCL both from conda-forge"
)

#: Libraries of drivers that pip installs where no loader looks, in the folder of an environment's data.
LIBRARIES = ("lib/libintelocl.so", "Library/bin/intelocl64.dll")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quirk:
    """One correction: the profiles that it applies to, the facts that it changes, and the reason."""

    name: str
    when: Callable[[DeviceProfile], bool]
    change: Callable[[DeviceProfile], dict[str, Any]]
    why: str
    link: str = ""


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="nvidia-local-memory",
        when=lambda p: p.platform == "NVIDIA CUDA",
        change=lambda _: {"local_reserve": 1024},
        why="A launch that asks for exactly the reported 49,152 bytes fails with OUT_OF_RESOURCES; "
        "the driver keeps up to 1 KiB of each work-group's shared memory.",
        link="https://docs.nvidia.com/cuda/hopper-tuning-guide/index.html#unified-shared-memory-l1-texture-cache",
    ),
    Quirk(
        name="nvidia-groups",
        when=lambda p: p.platform == "NVIDIA CUDA",
        change=lambda _: {"required_groups": True},
        why="The driver says of every kernel that it allows groups of 256, also of those that it has compiled for "
        "1,024 and runs in as many: what it says is what it prefers.",
        link="https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clGetKernelWorkGroupInfo.html",
    ),
    Quirk(
        name="intel-gpu-units",
        when=lambda p: p.platform.startswith("Intel(R) OpenCL") and p.kind == "gpu",
        change=lambda _: {"unit_lanes": 8},
        why="Intel's driver for GPUs counts execution units of 8 lanes, of 16 on the latest, where others count cores "
        "of 64 or more. Taken for those, a launch would be given several times the work that it has time for.",
        link="https://www.intel.com/content/www/us/en/docs/oneapi/optimization-guide-gpu/2025-0/intel-xe-gpu-architecture.html",
    ),
    Quirk(
        name="llvmpipe-loops",
        when=lambda p: p.platform == "rusticl" and "llvmpipe" in p.name,
        change=lambda _: {"loop_turns": 65_535, "simd_width": 8},
        why="llvmpipe ends the loops of a work-item after 65,535 turns in all, without a word: neighbors behind them "
        "would be lost. Searches that could take more are refused. Eight items in lockstep share the turns.",
        link="https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
    ),
    Quirk(
        name="oclgrind-threads",
        when=lambda p: p.platform == "Oclgrind",
        change=lambda _: {"concurrent": False},
        why="Oclgrind 21.10 keeps the commands of all contexts in maps that no lock guards. Two threads with a session "
        "each, of 60 points, were given wrong counts and errors of numbers that are not finite, or waited forever.",
        link="https://github.com/jrprice/Oclgrind/blob/178f8905923f58436548a9c17938842230492e34/src/runtime/async_queue.cpp",
    ),
    Quirk(
        name="pocl-local-memory",
        when=lambda p: p.platform == _POCL and p.kind == "cpu",
        change=lambda p: {"local_memory": min(p.local_memory, 256 << 10)},
        why="PoCL reports as local memory what it takes for a share of a cache, 1 or 2 MiB where tried, and does not "
        "check a launch against it (too much is a segmentation fault); a core's own second-level cache is what pays.",
        link="https://github.com/pocl/pocl/issues/810",
    ),
)


def apply_quirks(profile: DeviceProfile) -> DeviceProfile:
    """The profile after all quirks that apply to it, in the order of :data:`QUIRKS`."""
    for quirk in QUIRKS:
        if quirk.when(profile):
            profile = dataclasses.replace(profile, **quirk.change(profile))
    return profile


def what_lacks(device: cl.Device) -> str:
    """What this machine lacks for the driver of a CPU to compile; "" where it can, after help where needed.

    PoCL compiles nothing for a processor that its LLVM does not know (https://github.com/pocl/pocl/issues/1049): that
    of its wheel, 14, knows no Zen 5 of AMD's. And it runs the linker of the machine for each kernel, and ends the
    process where that fails. For a part of a device it compiles as for the whole.
    """
    if device.platform.name.strip() != _POCL:
        return ""
    while (whole := device.parent_device) is not None:
        device = whole
    known = name_processor(device.int_ptr, device.version.strip())
    if lack := why_not_linked(_POCL, _POCL_CACHE):
        return lack
    return "" if known or compiles_elsewhere(_POCL, _POCL_CACHE) else UNKNOWN_PROCESSOR


@functools.cache
def prepare_platform(name: str = "") -> None:
    """Mend what would keep the devices of a platform away, before they are listed; without a name, of all platforms.

    PoCL has no device where it cannot write to its folder of compiled programs: it gets one among temporary files. It
    reads the variable that names its folder when platforms are listed, and a variable that is not set later.
    """
    if name != _POCL and (name or "POCL_CACHE_DIR" not in os.environ):
        return
    caches = os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", tempfile.gettempdir()), ".cache")
    folder = Path(os.environ.get("POCL_CACHE_DIR") or Path(caches, "pocl", "kcache"))
    if why := why_unwritable(folder):
        with contextlib.suppress(OSError):  # temporary files cannot be written either
            other = os.environ["POCL_CACHE_DIR"] = str(temporary_folder())
            instead = f"{other} is used instead. Set POCL_CACHE_DIR to a folder of your own."
            warn_of_cache("PoCL", f"{folder}: {why}", instead)
