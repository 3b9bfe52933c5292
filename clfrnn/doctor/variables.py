"""The effect of environment variables on OpenCL. Pure functions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping

from ..host.drivers import SYSTEM_FOLDER
from .facts import Facts

__all__ = ["VARIABLES", "Effect", "effects"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """A variable and its effect on this machine."""

    name: str
    value: str
    #: "used", "ignored" or "wrong"
    verdict: str
    why: str


def _vendors(facts: Facts, value: str) -> tuple[str, str]:
    folder = next((each for each in facts.folders if each.named_by == "OCL_ICD_VENDORS"), None)
    if facts.system == "Windows":
        return "ignored", "on Windows, drivers are registered with the system"
    if folder is None:
        return "used", f"drivers are looked for here instead of in {SYSTEM_FOLDER}"
    if folder.state == "missing" and os.pathsep in value:
        return "wrong", "it takes one folder, not a list, so no driver is loaded, not even one that came with pyopencl"
    if folder.state == "missing":
        return "wrong", "there is no such folder or file, so no driver is loaded, not even one that came with pyopencl"
    if folder.state != "folder":
        return "used", "this driver is loaded, and no other"
    wheel = facts.loader is not None and facts.loader.origin == "wheel"
    beside = ", beside drivers that came as pip packages with pyopencl" if wheel else ""
    empty = "" if folder.files else "; it holds no .icd file"
    return "used", f"drivers are looked for here instead of in {SYSTEM_FOLDER}{beside}{empty}"


def _vendor_path(facts: Facts, value: str) -> tuple[str, str]:
    if facts.loader is not None and facts.loader.kind == "khronos":
        return "ignored", "this loader reads OCL_ICD_VENDORS"
    if "OCL_ICD_VENDORS" in facts.environment:
        return "ignored", "OCL_ICD_VENDORS is set and goes first"
    folder = next((each for each in facts.folders if each.named_by == "OPENCL_VENDOR_PATH"), None)
    if folder is not None and folder.state == "missing":
        return "wrong", f"there is no folder {value}"
    return "used", f"drivers are looked for here instead of in {SYSTEM_FOLDER}"


def _filenames(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if facts.loader is not None and facts.loader.kind == "ocl-icd":
        return "ignored", "only the loader of the Khronos Group reads it; use OCL_ICD_VENDORS"
    return "used", "these drivers are loaded besides the registered ones"


def _of_driver(words: tuple[str, ...], driver: str, what: str) -> Callable[[Facts, str], tuple[str, str]]:
    """A variable that only one driver reads, which is recognised by words in the name of its platform or library."""

    def effect(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
        names = [each.name for each in facts.platforms] + [each.library for each in facts.entries if not each.error]
        there = any(word in name.lower() for word in words for name in names)
        return ("used", what) if there else ("ignored", f"{driver} is not loaded")

    return effect


def _capabilities(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if {"all", "compute"} & set(value.replace(" ", "").split(",")):
        return "used", "lets this container have NVIDIA's OpenCL library"
    return "wrong", "without `compute` in it, this container gets no OpenCL library of NVIDIA's"


def _clfrnn_device(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if facts.default_failure:
        return "wrong", "it names no device that is present"
    return "used", "names the device that clfrnn takes by default"


def _pyopencl_ctx(facts: Facts, value: str) -> tuple[str, str]:
    if "CLFRNN_DEVICE" in facts.environment:
        return "ignored", "by clfrnn, as CLFRNN_DEVICE is set and goes first"
    return _clfrnn_device(facts, value)


def _clfrnn_tuning(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if value.strip().lower() == "off":
        return "used", "keeps every device at the defaults of its class"
    return "used", "this file has the tuning of the device that it is for"


def _preload(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if "oclgrind" in value.lower():
        return "used", "Oclgrind stands in for the loader and is the only device, whatever else is registered"
    return "used", "these libraries are loaded first and can stand in for the loader"


def _conda(facts: Facts, value: str) -> tuple[str, str]:  # noqa: ARG001
    if facts.loader is not None and facts.loader.origin == "conda":
        return "used", "the loader is conda's, and reads conda's folder of drivers"
    return "ignored", "the loader is not conda's, so drivers that conda installed are not found"


def _always(why: str) -> Callable[[Facts, str], tuple[str, str]]:
    return lambda facts, value: ("used", why)  # noqa: ARG005


#: The variables that the doctor reports, and the function that finds the effect of each.
VARIABLES: Mapping[str, Callable[[Facts, str], tuple[str, str]]] = {
    "CLFRNN_DEVICE": _clfrnn_device,
    "CLFRNN_TUNING": _clfrnn_tuning,
    "CLFRNN_QUIET": _always("hides the line on a terminal that waits for a driver's compiler"),
    "PYOPENCL_CTX": _pyopencl_ctx,
    "OCL_ICD_VENDORS": _vendors,
    "OPENCL_VENDOR_PATH": _vendor_path,
    "OCL_ICD_FILENAMES": _filenames,
    "OPENCL_LAYERS": _always("these layers stand between programs and drivers"),
    "RUSTICL_ENABLE": _of_driver(("rusticl",), "rusticl", "names the hardware that rusticl drives"),
    "POCL_DEVICES": _of_driver(("pocl", "portable computing"), "PoCL", "names the devices that PoCL offers"),
    "CUDA_VISIBLE_DEVICES": _of_driver(("nvidia",), "NVIDIA's driver", "hides the other GPUs of NVIDIA's driver"),
    "GPU_DEVICE_ORDINAL": _of_driver(("amd",), "AMD's driver", "hides the other GPUs of AMD's driver"),
    "ROCR_VISIBLE_DEVICES": _of_driver(("amd",), "AMD's driver", "hides the other GPUs of AMD's driver"),
    "NVIDIA_DRIVER_CAPABILITIES": _capabilities,
    "CONDA_PREFIX": _conda,
    "LD_PRELOAD": _preload,
    "LD_LIBRARY_PATH": _always("drivers registered without a folder are looked for here first"),
}


def effects(facts: Facts) -> tuple[Effect, ...]:
    """The effects of all variables that are set, those of clfrnn first."""
    found = []
    for name, decide in VARIABLES.items():
        if value := facts.environment.get(name):
            verdict, why = decide(facts, value)
            found.append(Effect(name=name, value=value, verdict=verdict, why=why))
    return tuple(found)
