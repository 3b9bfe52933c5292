"""Advice about the facts: one pure function for each kind of problem, which returns None where there is none."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ..host.drivers import SYSTEM_FOLDER
from ..runtime.quirks import UNKNOWN_PROCESSOR
from .facts import Facts
from .folders import register_commands

__all__ = ["FIRST", "HINTS", "Hint", "hints"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hint:
    """A problem and its remedy; `commands` can be typed as they are."""

    name: str
    text: str
    commands: tuple[str, ...] = ()


Advice = tuple[str, tuple[str, ...]] | None

#: A command in a sentence.
_PIP = re.compile("`(pip install [^`]+)`")


def _named_by(facts: Facts, variable: str) -> bool:
    return any(folder.named_by == variable and folder.state == "missing" for folder in facts.folders)


def pyopencl_missing(facts: Facts) -> Advice:
    """The binding pyopencl cannot be imported."""
    if facts.pyopencl:
        return None
    text = f"pyopencl cannot be imported ({facts.failure}), and clfrnn reaches devices through it. Install it anew."
    if "libOpenCL" in facts.failure:
        text += " It was built against the system's OpenCL loader, which is missing; its wheels bring their own."
    return text, ("pip install --force-reinstall --only-binary pyopencl pyopencl",)


def vendors_list(facts: Facts) -> Advice:
    """``OCL_ICD_VENDORS`` holds several folders."""
    value = facts.environment.get("OCL_ICD_VENDORS", "")
    if not _named_by(facts, "OCL_ICD_VENDORS") or os.pathsep not in value:
        return None
    copies = tuple(f'cp {folder}/*.icd "$HOME/opencl/"' for folder in value.split(os.pathsep) if folder)
    text = "OCL_ICD_VENDORS holds a list, and takes one folder. Bring the .icd files together in one."
    return text, ('mkdir -p "$HOME/opencl"', *copies, 'export OCL_ICD_VENDORS="$HOME/opencl"')


def vendors_missing(facts: Facts) -> Advice:
    """``OCL_ICD_VENDORS`` or ``OPENCL_VENDOR_PATH`` names nothing."""
    if facts.usable or vendors_list(facts):
        return None
    for variable in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        if _named_by(facts, variable):
            text = f"{variable} names {facts.environment[variable]}, which does not exist. Unset it, or mend it."
            return text, (f"unset {variable}",)
    return None


def vendors_hide(facts: Facts) -> Advice:
    """``OCL_ICD_VENDORS`` hides the drivers of the system."""
    hidden = [folder for folder in facts.folders if not folder.read and folder.path == SYSTEM_FOLDER]
    if facts.usable or not hidden or "OCL_ICD_VENDORS" not in facts.environment:
        return None
    names = ", ".join(Path(file).name for file in hidden[0].files)
    text = f"OCL_ICD_VENDORS hides the drivers of the system, which are registered in {SYSTEM_FOLDER}: {names}."
    return text, ("unset OCL_ICD_VENDORS",)


def broken_driver(facts: Facts) -> Advice:
    """One driver ends every program that lists devices."""
    if not facts.failure or not facts.pyopencl or len(facts.unreachable) < len(facts.devices):
        return None
    fatal = [entry for entry in facts.entries if entry.fatal]
    names = " and ".join(entry.file or entry.library for entry in fatal)
    text = f"Listing the devices failed ({facts.failure}), and so does every program that uses OpenCL. "
    if not names:
        return f"{text}Set OCL_ICD_VENDORS to one .icd file after the other to find the driver whose fault it is.", ()
    text += f"It is the fault of the driver in {names}: repair it, or take that file away"
    own = {file for folder in facts.folders if folder.named_by == "wheel" for file in folder.files}
    if not facts.unreachable or own.intersection(entry.file for entry in fatal):
        return f"{text}.", ()
    sound = [entry.file for entry in facts.entries if not entry.error and entry.file and entry.file not in own]
    copies = (f'cp {" ".join(sound)} "$HOME/opencl/"',) if sound else ()
    return (
        f"{text}, or leave it out by a folder that has only the others:",
        ('mkdir -p "$HOME/opencl"', *copies, 'export OCL_ICD_VENDORS="$HOME/opencl"'),
    )


def wsl(facts: Facts) -> Advice:
    """Linux under Windows has no OpenCL driver of NVIDIA's."""
    if not facts.wsl or not facts.nvidia or facts.has_platform("nvidia"):
        return None
    text = (
        "An NVIDIA GPU is here, but NVIDIA has no OpenCL driver for Linux under Windows (WSL). Use Python for Windows, "
        "where its driver brings OpenCL, or the CPU driver of clfrnn[pocl], or a PoCL that was built with CUDA."
    )
    return text, ()


def nvidia_not_registered(facts: Facts) -> Advice:
    """NVIDIA's OpenCL library exists, but no .icd file names it, as often in containers."""
    named = any("libnvidia-opencl" in entry.library for entry in facts.entries)
    unread = any("nvidia" in file for folder in facts.folders if not folder.read for file in folder.files)
    if facts.wsl or facts.has_platform("nvidia") or not facts.nvidia_library or named or unread:
        return None
    text = (
        "NVIDIA's OpenCL library is here, but no .icd file that the loader reads names it, as in containers whose "
        "NVIDIA Container Toolkit does not bring that file. Write it:"
    )
    return text, register_commands(facts, "libnvidia-opencl.so.1")


def nvidia_without_library(facts: Facts) -> Advice:
    """An NVIDIA GPU without an OpenCL library."""
    if facts.wsl or facts.has_platform("nvidia") or not facts.nvidia or facts.nvidia_library:
        return None
    text = (
        "An NVIDIA GPU is here, but not the OpenCL library of its driver (libnvidia-opencl.so.1). Start a container "
        "with NVIDIA_DRIVER_CAPABILITIES=compute,utility; else install the library with the driver: Ubuntu has it "
        "in libnvidia-compute-N, Debian in nvidia-opencl-icd."
    )
    return text, ()


def nvidia_silent(facts: Facts) -> Advice:
    """NVIDIA's library is registered and loads, but shows no GPU."""
    silent = any("libnvidia-opencl" in entry.library and not entry.error for entry in facts.entries)
    if facts.wsl or facts.has_platform("nvidia") or not silent:
        return None
    text = (
        "NVIDIA's driver is registered and loads, but shows no GPU. If nvidia-smi lists none either, a container was "
        "started without it (docker run --gpus all gives it one), or library and kernel module are of different "
        "versions. If it lists one, see whether CUDA_VISIBLE_DEVICES hides it."
    )
    return text, ()


def conda_loader(facts: Facts) -> Advice:
    """Conda's loader does not read the system's drivers."""
    unread = [folder for folder in facts.folders if not folder.read and folder.path == SYSTEM_FOLDER]
    if facts.loader is None or facts.loader.origin != "conda" or not unread or "OCL_ICD_VENDORS" in facts.environment:
        return None
    text = f"The OpenCL loader is conda's, which reads conda's folder of drivers and not the system's, {SYSTEM_FOLDER}."
    return text, ("conda install -c conda-forge ocl-icd-system",)


def conda_drivers(facts: Facts) -> Advice:
    """The loader of pip's pyopencl does not read conda's drivers."""
    prefix = facts.environment.get("CONDA_PREFIX", "")
    unread = [folder for folder in facts.folders if not folder.read and prefix and folder.path.startswith(prefix)]
    if facts.loader is None or facts.loader.origin == "conda" or not unread or "OCL_ICD_VENDORS" in facts.environment:
        return None
    text = (
        f"Drivers are registered in {unread[0].path}, by conda, but the OpenCL loader in use came with pip's pyopencl "
        "or is the system's, and does not look there. Take pyopencl from conda too, rather than mixing both."
    )
    return text, ("pip uninstall pyopencl", "conda install -c conda-forge pyopencl")


def render_rights(facts: Facts) -> Advice:
    """The device files of the GPU cannot be opened."""
    closed = [gpu for gpu in facts.gpus if not gpu.accessible]
    if not closed:
        return None
    text = (
        f"You may not open {', '.join(gpu.path for gpu in closed)}, through which drivers reach the GPU. Join the "
        "group that owns it, mostly `render`, and log in again; give a container device and group by "
        "docker run --device /dev/dri --group-add render."
    )
    return text, ('sudo usermod -aG render "$USER"',)


#: Words in the names of platforms that drive a maker's GPUs, and the drivers to install.
_DRIVERS = {
    "AMD": ("amd", "rusticl"),
    "Intel": ("intel(r) opencl graphics", "intel(r) opencl hd graphics", "rusticl"),
}
_INSTALL = {
    "AMD": "AMD's is part of ROCm (rocm-opencl-runtime); Mesa's is rusticl (mesa-opencl-icd).",
    "Intel": "Intel's is called intel-opencl-icd or intel-compute-runtime; Mesa's is rusticl (mesa-opencl-icd).",
}


def gpu_without_driver(facts: Facts) -> Advice:
    """A GPU of AMD's or Intel's for which no driver shows a device."""
    lone = [
        maker
        for maker, words in _DRIVERS.items()
        if any(gpu.vendor == maker and gpu.accessible for gpu in facts.gpus) and not facts.has_platform(*words)
    ]
    if not lone or any(device.profile and device.profile.kind == "gpu" for device in facts.devices):
        return None
    return " ".join(f"A GPU by {maker} is here, but no OpenCL driver for it. {_INSTALL[maker]}" for maker in lone), ()


def rusticl(facts: Facts) -> Advice:
    """Mesa's driver offers no device unless a variable names its hardware."""
    if not any("rusticl" in each.name.lower() and not each.devices for each in facts.platforms):
        return None
    names = "radeonsi (AMD), iris (Intel), nouveau (NVIDIA), llvmpipe (any CPU)"
    if value := facts.environment.get("RUSTICL_ENABLE"):
        return f"RUSTICL_ENABLE={value} names no hardware that rusticl finds here. It knows {names}.", ()
    makers = {"AMD": "radeonsi", "Intel": "iris"}
    name = next((makers[gpu.vendor] for gpu in facts.gpus if gpu.vendor in makers), "llvmpipe")
    text = (
        f"rusticl, Mesa's driver, is installed, but offers no device until RUSTICL_ENABLE names its hardware: {names}."
    )
    return text, (f"export RUSTICL_ENABLE={name}",)


def macos(facts: Facts) -> Advice:
    """Loaders do not find Apple's OpenCL by themselves."""
    if facts.system != "Darwin" or facts.has_platform("apple"):
        return None
    text = (
        "Loaders from pip and conda do not see Apple's own OpenCL. Conda has a driver that leads there, and PoCL for "
        "the CPU; take pyopencl from conda with them."
    )
    return text, ("conda install -c conda-forge pyopencl ocl_icd_wrapper_apple pocl",)


def windows(facts: Facts) -> Advice:
    """No driver is installed on Windows."""
    if facts.system != "Windows" or facts.devices:
        return None
    text = (
        "On Windows, the OpenCL driver of a GPU comes with its graphics driver: install that of the GPU's maker rather "
        "than the one that Windows found. For CPUs, Intel has a driver, the OpenCL Runtime for Intel Core and Xeon."
    )
    return text, ()


def linker(facts: Facts) -> Advice:
    """A driver cannot link kernels, as a program of this machine is missing."""
    return _compiles_nothing(facts, unknown=False)


def processor(facts: Facts) -> Advice:
    """The compiler of a driver does not know the processor of this machine."""
    return _compiles_nothing(facts, unknown=True)


def _compiles_nothing(facts: Facts, *, unknown: bool) -> Advice:
    """What the first device lacks whose driver does not know the processor, or that lacks something else."""
    lacks = ((each.name, each.profile.lacks) for each in facts.devices if each.profile is not None)
    for name, lack in lacks:
        if lack and (lack == UNKNOWN_PROCESSOR) == unknown:
            return f"{name} compiles nothing: {lack}.", tuple(_PIP.findall(lack))
    return None


def pocl(facts: Facts) -> Advice:
    """There is no usable device, but a CPU driver can be installed."""
    if facts.usable or not facts.pyopencl or any("pocl" in Path(entry.library).name for entry in facts.entries):
        return None
    wheel = facts.loader is not None and facts.loader.origin == "wheel"
    if facts.system == "Linux" and facts.architecture == "x86_64" and wheel:
        text = "PoCL computes on any CPU, and installs without root rights."
        return text, ("pip install 'clfrnn[pocl]'",)
    if facts.system == "Windows":
        return None
    text = "PoCL computes on any CPU. For this system it comes from conda, with conda's pyopencl."
    return text, ("conda install -c conda-forge pyopencl pocl",)


def default_names_nothing(facts: Facts) -> Advice:
    """``CLFRNN_DEVICE`` or ``PYOPENCL_CTX`` names no device."""
    variable = next((name for name in ("CLFRNN_DEVICE", "PYOPENCL_CTX") if name in facts.environment), "")
    if not facts.default_failure or not variable:
        return None
    return f"clfrnn takes no device by default: {facts.default_failure}", (f"unset {variable}",)


def default_unusable(facts: Facts) -> Advice:
    """The default device failed a trial, though another device passed."""
    if not facts.usable or facts.default in (None, *(device.position for device in facts.usable)):
        return None
    best = min(
        facts.usable, key=lambda device: (device.profile is None or device.profile.kind != "gpu", device.position)
    )
    text = f"clfrnn takes device {facts.default} by default, which failed. Name another, such as {best.name}."
    return text, (f"export CLFRNN_DEVICE={best.position}",)


def caches(facts: Facts) -> Advice:
    """Compiled programs cannot be stored."""
    text = f"Compiled programs cannot be stored ({facts.caches}), so that each process compiles them anew."
    return (text, ('export XDG_CACHE_HOME="$HOME/caches"',)) if facts.caches else None


#: Problems that hide every driver; no other advice is given before they are solved.
FIRST: tuple[Callable[[Facts], Advice], ...] = (pyopencl_missing, vendors_list, vendors_missing, broken_driver)

#: The other problems, in the order of their advice.
HINTS: tuple[Callable[[Facts], Advice], ...] = (
    default_names_nothing,
    default_unusable,
    vendors_hide,
    wsl,
    nvidia_not_registered,
    nvidia_without_library,
    nvidia_silent,
    render_rights,
    gpu_without_driver,
    rusticl,
    conda_loader,
    conda_drivers,
    macos,
    windows,
    linker,
    processor,
    pocl,
    caches,
)


def hints(facts: Facts) -> tuple[Hint, ...]:
    """What to do on this machine, the most urgent first."""
    urgent = _given(FIRST, facts)
    return urgent[:1] or _given(HINTS, facts)


def _given(advisers: Sequence[Callable[[Facts], Advice]], facts: Facts) -> tuple[Hint, ...]:
    """The hints of those functions that have advice."""
    advice = ((adviser.__name__, adviser(facts)) for adviser in advisers)
    return tuple(Hint(name=name, text=given[0], commands=given[1]) for name, given in advice if given)
