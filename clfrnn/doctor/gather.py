"""Gathers the facts: variables, folders and device nodes in this process, and drivers in other processes."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..host.drivers import unregistered
from ..host.folders import why_not_all_written
from ..host.text_cache import cache_folder
from ..profile import DeviceProfile
from ..runtime.quirks import LIBRARIES
from .facts import Check, Device, Entry, Facts, Gpu, Loader, Platform
from .folders import entries, find_loader, folders
from .runner import ProbeResult, run_probe
from .variables import VARIABLES

__all__ = ["gather"]


#: Number of probes at the same time. More would hardly be faster, and each loads a driver.
_AT_ONCE = 8

#: The OpenCL library of NVIDIA's driver, which may exist without being registered.
_NVIDIA_LIBRARY = "libnvidia-opencl.so.1"

_MAKERS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

Given = TypeVar("Given")
Made = TypeVar("Made")


def gather(*, seconds: float) -> Facts:
    """Gather all facts about this machine. Each probe gets `seconds`, and the slowest one decides how long it takes."""
    environment = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        listed = pool.submit(run_probe, "devices", seconds=seconds)
        nvidia = pool.submit(run_probe, "library", _NVIDIA_LIBRARY, seconds=seconds)
        binding = run_probe("loader", seconds=seconds)
        version = binding.first("pyopencl")
        loader = find_loader(binding.first("loader"), binding.first("folder"), environment) if version else None
        # Windows registers drivers elsewhere, and the folder of a driver is not informative.
        package = Path(binding.first("folder"))
        by_pip = unregistered(package, LIBRARIES) if loader else []
        known = folders(loader, environment, by_pip=by_pip) if loader and os.name == "posix" else []
        loaded = _submit(pool, lambda entry: _load(entry, seconds), entries(known))
        listing = listed.result()
        tried = _submit(pool, lambda finding: _try(finding, seconds), listing.having("device"))
        drivers = [each.result() for each in loaded]
        devices = [each.result() for each in tried]
        if listing.failure and not tried:
            apart = [each.result() for each in _submit(pool, lambda one: _alone(one, loader, seconds), drivers)]
            drivers = [entry for entry, _ in apart]
            devices = [device for _, found in apart for device in found]
    return Facts(
        environment=environment,
        pyopencl=version,
        loader=loader,
        folders=tuple(known),
        entries=tuple(drivers),
        platforms=tuple(Platform(**finding["platform"]) for finding in listing.having("platform")),
        devices=tuple(devices),
        failure=listing.failure,
        default=listing.first("default", None),
        default_failure=next((finding.get("error", "") for finding in listing.having("default")), ""),
        nvidia_library=_can_load(nvidia.result()),
        **_system(),
    )


def _submit(pool: ThreadPoolExecutor, work: Callable[[Given], Made], given: Iterable[Given]) -> list[Future[Made]]:
    return [pool.submit(work, each) for each in given]


def _can_load(result: ProbeResult) -> bool:
    return not result.failure and not result.having("error")


def _load(entry: Entry, seconds: float) -> Entry:
    """The entry with the result of loading its library."""
    if entry.error:
        return entry
    result = run_probe("library", entry.library, seconds=seconds)
    error = result.first("error") or result.failure
    return dataclasses.replace(
        entry, error=error, fatal=bool(result.failure), platforms=result.first("platforms", None)
    )


def _alone(entry: Entry, loader: Loader | None, seconds: float) -> tuple[Entry, list[Device]]:
    """The entry and its devices, tried with no other driver present, as one of the drivers ends every program."""
    if entry.error or loader is None or loader.kind != "ocl-icd":
        return entry, []
    result = run_probe("devices", seconds=seconds, environment={"OCL_ICD_VENDORS": entry.library})
    if result.failure:
        return dataclasses.replace(entry, error=result.failure, fatal=True), []
    return entry, [_try(finding, seconds, alone=entry.library) for finding in result.having("device")]


def _try(finding: Mapping[str, Any], seconds: float, *, alone: str = "") -> Device:
    """A listed device with the result of its trial; only the driver `alone` is present, where one is named."""
    facts = {**finding["device"], "alone": alone}
    if "error" in finding:
        return Device(**facts, profile=None, failure=f"the driver does not describe it: {finding['error']}")
    environment = {"OCL_ICD_VENDORS": alone} if alone else None
    result = run_probe("device", str(facts["position"]), seconds=seconds, environment=environment)
    checks = tuple(
        Check(name=each["check"], outcome=each["outcome"], detail=each.get("detail", ""))
        for each in result.having("check")
    )
    profile = DeviceProfile.from_dict(finding["profile"])
    return Device(**facts, profile=profile, checks=checks, failure=result.failure)


def _system() -> dict[str, Any]:
    """The facts that need no driver."""
    release, caches = platform.release(), cache_folder()
    return {
        "system": platform.system(),
        "release": release,
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "root": os.access("/etc", os.W_OK),
        "wsl": "microsoft" in release.lower(),
        "gpus": tuple(_gpu(path) for path in sorted(Path("/dev/dri").glob("renderD*"))),
        "nvidia": any(Path("/dev").glob("nvidia[0-9]*"))
        or any(map(os.path.exists, ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/libcuda.so.1"))),
        "caches": "" if caches is None else why_not_all_written(caches.parent, ("clfrnn", "pyopencl", "pytools")),
    }


def _gpu(path: Path) -> Gpu:
    try:
        maker = Path("/sys/class/drm", path.name, "device/vendor").read_text(encoding="ascii").strip()
    except OSError:
        maker = ""
    return Gpu(path=str(path), vendor=_MAKERS.get(maker, ""), accessible=os.access(path, os.R_OK | os.W_OK))
