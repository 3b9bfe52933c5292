"""Lists devices, and compares what a device computes with numpy; runs in the process of a probe."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from ..errors import ClfrnnError
from ..profile import DeviceProfile
from ..runtime.device import find_device, list_devices, list_platforms, read_profile
from .findings import print_finding

__all__ = ["list_all", "print_loader", "try_device"]

_BINS, _GROUP = 64, 64

# This kernel uses none of the library's templates, to distinguish a driver that fails with these from one that cannot
# do the least.
_SOURCE = """
#pragma OPENCL FP_CONTRACT OFF
kernel void count(global const uint *keys, uint n, global uint *counts)
{
    local uint bins[64];
    for (uint b = get_local_id(0); b < 64; b += get_local_size(0))
        bins[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[keys[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = get_local_id(0); b < 64; b += get_local_size(0))
        atomic_add(&counts[b], bins[b]);
}
kernel void square(global const float *points, global float *squares)
{
    uint i = get_global_id(0);
    float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    squares[i] = x * x + y * y + z * z;
}
kernel void root(global const float *squares, global float *roots)
{
    uint i = get_global_id(0);
    roots[i] = sqrt(squares[i]);
}
"""


def print_loader() -> None:
    """Print the version of pyopencl and the path of the loader, without loading a driver."""
    print_finding(pyopencl=cl.VERSION_TEXT, folder=str(Path(cl.__file__).parent), loader=_mapped_loader())


def list_all() -> None:
    """Print every platform and device, and the default device of clfrnn."""
    print_finding(step="asking the drivers for their platforms")
    for platform in list_platforms():
        print_finding(step=f"asking {platform.name.strip()} for its devices")
        try:
            found, error = len(platform.get_devices()), ""
        except cl.Error as refused:
            # A driver without hardware may raise an error instead of returning an empty list.
            found, error = 0, "" if refused.code == cl.status_code.DEVICE_NOT_FOUND else str(refused)
        print_finding(platform={"name": platform.name.strip(), "devices": found, "error": error})
    present = list_devices()
    for position, device in enumerate(present):
        print_finding(step=f"reading the facts of device {position}")
        facts = {"position": position, "name": device.name.strip(), "platform": device.platform.name.strip()}
        try:
            print_finding(device=facts, profile=read_profile(device).to_dict())
        except cl.Error as error:
            print_finding(device=facts, error=str(error))
    print_finding(step="choosing a device")
    try:
        print_finding(default=present.index(find_device()) if present else None)
    except ClfrnnError as error:
        print_finding(default=None, error=str(error))


def _mapped_loader() -> str:
    """The path of the OpenCL loader in this process, where the system gives it."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    paths = [words[5].strip() for words in (line.split(maxsplit=5) for line in lines) if len(words) == 6]
    return next((path for path in paths if Path(path).name.startswith("libOpenCL")), "")


def try_device(position: int) -> None:
    """Build a program for the device and compare what it computes with numpy."""
    print_finding(step="compiling a kernel")
    device = list_devices()[position]
    profile = read_profile(device)
    if profile.lacks:
        print_finding(check="build", outcome="failed", detail=profile.lacks)
        return
    context = cl.Context([device])
    queue = cl.CommandQueue(context, device)
    started = time.perf_counter()
    program = cl.Program(context, _SOURCE).build(list(profile.build_options))
    kernels = {name: cl.Kernel(program, name) for name in ("count", "square", "root")}
    print_finding(check="build", outcome="passed", detail=f"in {time.perf_counter() - started:.2f} s")
    random = np.random.default_rng(0)
    _try_atomics(queue, kernels["count"], random)
    _try_contraction(queue, kernels["square"], random)
    _try_roots(queue, kernels["root"], random, profile)


def _try_atomics(queue: cl.CommandQueue, kernel: cl.Kernel, random: np.random.Generator) -> None:
    print_finding(step="trying atomics in local memory")
    flags = cl.mem_flags
    keys = random.integers(0, _BINS, 100_003).astype(np.uint32)
    counts = np.zeros(_BINS, np.uint32)
    on_device = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=keys)
    result = cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=counts)
    group = _group(queue, kernel)
    kernel(queue, (64 * group,), (group,), on_device, np.uint32(keys.size), result)
    cl.enqueue_copy(queue, counts, result)
    _compare("local_atomics", counts, np.bincount(keys, minlength=_BINS))


def _try_contraction(queue: cl.CommandQueue, kernel: cl.Kernel, random: np.random.Generator) -> None:
    print_finding(step="trying contraction off")
    points = random.random((1 << 14, 3), dtype=np.float32)
    x, y, z = points.T
    _compare("contraction", _map(queue, kernel, points), (x * x + y * y) + z * z)


def _try_roots(queue: cl.CommandQueue, kernel: cl.Kernel, random: np.random.Generator, profile: DeviceProfile) -> None:
    print_finding(step="trying square roots")
    squares = np.exp2(random.uniform(-60, 60, 1 << 14)).astype(np.float32)
    expected = np.sqrt(squares)
    # Where the driver does not promise rounded roots, clfrnn rounds them itself.
    _compare(
        "square_root", _map(queue, kernel, squares), expected, or_else="failed" if profile.rounded_sqrt else "mended"
    )


def _map(queue: cl.CommandQueue, kernel: cl.Kernel, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The number that a kernel computes for each row of `values`."""
    flags = cl.mem_flags
    results = np.zeros(len(values), np.float32)
    given = cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.ascontiguousarray(values))
    made = cl.Buffer(queue.context, flags.WRITE_ONLY, results.nbytes)
    kernel(queue, (len(values),), (_group(queue, kernel),), given, made)
    cl.enqueue_copy(queue, results, made)
    return results


def _group(queue: cl.CommandQueue, kernel: cl.Kernel) -> int:
    """The work-items of a group, a power of two; some drivers allow one work-item for a kernel with barriers."""
    allowed = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, queue.device)
    return 1 << min(_GROUP, max(1, allowed)).bit_length() - 1


def _compare(name: str, found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], or_else: str = "failed") -> None:
    wrong = int((found != expected).sum())
    if wrong:
        print_finding(check=name, outcome=or_else, detail=f"{wrong:,} of {found.size:,} numbers differ from numpy's")
    else:
        print_finding(check=name, outcome="passed")
