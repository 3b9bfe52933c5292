"""Finds OpenCL devices and reads a DeviceProfile from one."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pyopencl as cl

from ..errors import InvalidInputError, NoDeviceError
from ..host.drivers import beside_registered
from ..host.interrupts import interrupts_held_back
from ..host.numbers import shown
from ..host.process import check_process
from ..profile import DeviceProfile
from .quirks import LIBRARIES, apply_quirks, prepare_platform, what_lacks

__all__ = ["context_of", "devices", "find_device", "list_devices", "list_platforms", "read_profile"]

#: A position in the list of devices has fewer digits.
_MOST_DIGITS = 10


@interrupts_held_back()
def list_devices() -> list[cl.Device]:
    """Every device of every platform; platforms without devices are skipped."""
    check_process()
    prepare_platform()
    found = []
    for platform in list_platforms():
        try:
            prepare_platform(platform.name)
            found.extend(platform.get_devices())
        except cl.Error:  # an installed driver without hardware
            continue
    return found


@functools.cache
def list_platforms() -> tuple[cl.Platform, ...]:
    """Every platform of the registered drivers and of those that pip installed; loaders list them once, too."""
    with beside_registered(Path(cl.__file__).parent, LIBRARIES):
        try:
            return tuple(cl.get_platforms())
        except cl.Error:  # the loader reports a missing driver in this way
            return ()


def devices() -> list[DeviceProfile]:
    """List every OpenCL device of this machine, in the order in which ``Session(k)`` counts them.

    Returns
    -------
    list of DeviceProfile
        Empty when no driver is installed.

    Notes
    -----
    Cost: questions to the drivers. A driver that needs a linker costs one run of it; only where that
    fails, or a driver does not know the processor, a kernel is compiled in another process.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.devices()[0].max_work_group_size > 0
    True
    """
    return [read_profile(device) for device in list_devices()]


def read_profile(device: cl.Device) -> DeviceProfile:
    """The facts about `device`, corrected by the quirks that apply to it."""
    extensions = device.extensions.split()
    fp64 = "cl_khr_fp64" in extensions
    single = device.single_fp_config
    kind = _kind(device)
    rounded = bool(single & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT)
    options = ["-cl-std=CL1.2"]
    if rounded:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    return apply_quirks(
        DeviceProfile(
            name=device.name.strip(),
            platform=device.platform.name.strip(),
            version=device.version.strip(),
            driver=device.driver_version.strip(),
            kind=kind,
            compute_units=device.max_compute_units,
            clock=max(1, device.max_clock_frequency),
            max_work_group_size=device.max_work_group_size,
            simd_width=_simd_width(device, kind),
            # GPUs have 64 or 128 lanes. Compilers do not always use more than 2 lanes of a CPU.
            unit_lanes=64 if kind == "gpu" else 2,
            local_memory=device.local_mem_size,
            unit_local_memory=_unit_local_memory(device, kind),
            global_memory=device.global_mem_size,
            max_allocation=device.max_mem_alloc_size,
            fp64=fp64,
            int64_atomics="cl_khr_int64_base_atomics" in extensions,
            rounded_sqrt=rounded,
            subnormals=bool(single & cl.device_fp_config.DENORM),
            fma=bool(single & cl.device_fp_config.FMA),
            external_memory={"cl_khr_external_memory", "cl_khr_external_memory_opaque_fd"} <= set(extensions),
            register_option="-cl-nv-maxrregcount={}" if "cl_nv_compiler_options" in extensions else "",
            lacks=what_lacks(device) if kind == "cpu" else "",
            build_options=tuple(options),
        )
    )


def _kind(device: cl.Device) -> str:
    """The kind of a device; simulators claim to be of several types, and count as "other"."""
    both = device.type & (cl.device_type.CPU | cl.device_type.GPU)
    return {cl.device_type.CPU: "cpu", cl.device_type.GPU: "gpu"}.get(both, "other")


def _simd_width(device: cl.Device, kind: str) -> int:
    """Work-items that run in lockstep: by the vendor's own query if there is one, else a usual figure."""
    for query in ("warp_size_nv", "wavefront_width_amd"):
        try:
            return int(getattr(device, query))
        except (cl.Error, AttributeError):
            continue
    return max(1, device.native_vector_width_float) if kind == "cpu" else 32


def _unit_local_memory(device: cl.Device, kind: str) -> int:
    """Bytes of local memory of a compute unit: by a vendor's own query if there is one, else 0."""
    try:
        return int(device.local_mem_size_per_compute_unit_amd) if kind == "gpu" else 0
    except (cl.Error, AttributeError):
        return 0


def find_device(wanted: object = None) -> cl.Device:
    """The device that `wanted` names: a position, a part of a name, or None for the default device."""
    present = list_devices()
    if isinstance(wanted, cl.Device):
        return wanted
    if wanted is None:
        return _default_device(present)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, str)):
        raise InvalidInputError(
            "expected a pyopencl device, a position in clfrnn.devices(), a part of a device's or platform's "
            f"name, or a pyopencl.CommandQueue, got {type(wanted).__name__}; leave it out for the default one",
            argument="device",
        )
    if isinstance(wanted, int):
        if not 0 <= wanted < len(present):
            raise NoDeviceError(
                f"device={shown(wanted)}: expected a position below {len(present)}. {_inventory(present)}"
            )
        return present[wanted]
    if wanted.strip().isdecimal() and len(wanted) < _MOST_DIGITS:
        return find_device(int(wanted))
    for device in present:
        if wanted.strip() and wanted.lower() in f"{device.name} | {_brand(device)}".lower():
            return device
    raise NoDeviceError(f"device={wanted!r}: no device or platform has this in its name. {_inventory(present)}")


def _brand(device: cl.Device) -> str:
    """The platform name, with a short form beside the official one where users type it."""
    name = device.platform.name
    return f"{name} (pocl)" if name == "Portable Computing Language" else name


def _default_device(present: list[cl.Device]) -> cl.Device:
    """The device of ``CLFRNN_DEVICE``, else of ``PYOPENCL_CTX``, else the first GPU, else the first CPU.

    Among their kind, devices whose drivers bound loops come late, as they do not serve every search, and devices whose
    drivers cannot compile come last.
    """
    if wanted := os.environ.get("CLFRNN_DEVICE", "").strip():
        try:
            return find_device(wanted)
        except NoDeviceError as error:
            raise NoDeviceError(f"CLFRNN_DEVICE is set: {error}") from error
    if os.environ.get("PYOPENCL_CTX", "").strip():
        try:
            return cl.create_some_context(interactive=False).devices[0]
        except (cl.Error, RuntimeError, IndexError, ValueError) as error:
            value = os.environ["PYOPENCL_CTX"]
            raise NoDeviceError(f"PYOPENCL_CTX={value!r} names no device: {error}. {_inventory(present)}") from error
    for kind in ("gpu", "cpu", "other"):
        if of_kind := [device for device in present if _kind(device) == kind]:
            return min(of_kind, key=_shortcomings)
    raise NoDeviceError(f"no OpenCL device was found. {_inventory(present)}")


def _shortcomings(device: cl.Device) -> tuple[bool, bool]:
    profile = read_profile(device)
    return profile.lacks != "", profile.loop_turns is not None


def _inventory(present: list[cl.Device]) -> str:
    """The devices that are present, or what to do where none is."""
    if present:
        names = "; ".join(f"{k}: {d.name.strip()} ({d.platform.name.strip()})" for k, d in enumerate(present))
        return f"Present: {names}. Take one of these"
    where = os.environ.get("OCL_ICD_VENDORS", "")
    # Loaders also accept the bare name of a library, which the system looks up, but no path to a library.
    if where and "/" in where and not Path(where).exists():
        return (
            f"OCL_ICD_VENDORS={where} keeps every driver away: it takes one folder, not a list, and there is none of "
            "this name. Unset it, or name the folder of your .icd files. `clfrnn devices` says more"
        )
    where = where or "/etc/OpenCL/vendors and among the packages of this Python"
    return (
        f"Drivers are looked for in {where}. Install the OpenCL driver of your GPU, "
        "or a driver for the CPU that needs no root rights: pip install 'clfrnn[pocl]' (64-bit x86 Linux). "
        "`clfrnn devices` says what is missing."
    )


def context_of(queue: cl.CommandQueue) -> cl.Context:
    """The context of a queue that a session can take; raises InvalidInputError where it cannot."""
    if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        raise InvalidInputError(
            "expected an in-order pyopencl.CommandQueue, got an out-of-order one; "
            "create it without OUT_OF_ORDER_EXEC_MODE_ENABLE",
            argument="device",
        )
    try:
        return queue.context
    except cl.LogicError as error:  # some drivers' queues do not hold their contexts
        raise InvalidInputError(
            f"expected a pyopencl.CommandQueue whose context is still there, got one whose context is gone "
            f"({error}); keep the context in a variable as long as the queue",
            argument="device",
        ) from error
