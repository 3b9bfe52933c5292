"""What the doctor knows of a machine, as plain frozen data: advice is tested with the facts of machines far away."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..profile import DeviceProfile

__all__ = ["CHECKS", "Check", "Device", "Entry", "Facts", "Folder", "Gpu", "Loader", "Platform"]

#: What is tried on each device, in this order: what a report says where it is right, and where it is wrong.
CHECKS = {
    "build": ("kernels compile", "no kernel compiles"),
    "local_atomics": ("local atomics are right", "local atomics are wrong"),
    "contraction": ("contraction off is obeyed", "contraction off is not obeyed"),
    "square_root": ("square roots are rounded correctly", "square roots are not rounded correctly"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loader:
    """The library through which pyopencl reaches the drivers."""

    #: "" where the system does not tell
    path: str
    #: "wheel" (came with pyopencl), "conda", "system" or "preloaded" (by ``LD_PRELOAD``)
    origin: str
    #: "ocl-icd", "khronos", or "" where it is another
    kind: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder:
    """A place where drivers are registered."""

    path: str
    #: who names it: an environment variable, or "loader"
    named_by: str
    #: "folder", "file" (an .icd file), "library" or "missing"
    state: str
    #: whether the loader reads it
    read: bool = True
    #: the .icd files in it
    files: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A driver as it is registered: an .icd file, and what became of the library that it names."""

    #: "" where a variable names the library itself
    file: str
    library: str
    #: why it serves no one; "" when it loads
    error: str = ""
    #: it crashes or hangs, or ends the process itself, and so every program that lists devices
    fatal: bool = False
    #: platforms that it offers; None when it was not asked
    platforms: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform as the loader lists it."""

    name: str
    devices: int
    error: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """One thing tried on a device."""

    name: str
    #: "passed", "mended" (the driver is wrong, clfrnn knows and works around it) or "failed"
    outcome: str
    detail: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Device:
    """A device, and what became of the process that tried it."""

    #: its position in :func:`clfrnn.devices`
    position: int
    name: str
    platform: str
    #: the driver that had to be named alone to reach it, as another one ends every program; "" where none does
    alone: str = ""
    #: None when the driver refuses to describe the device
    profile: DeviceProfile | None
    checks: tuple[Check, ...] = ()
    #: what ended the trial before its end; "" when it came to its end
    failure: str = ""

    @property
    def usable(self) -> bool:
        """Whether exact answers can be expected of it."""
        done = {check.name for check in self.checks}
        wrong = any(check.outcome == "failed" for check in self.checks)
        return not self.failure and done == set(CHECKS) and not wrong


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gpu:
    """A graphics node of the Linux kernel."""

    path: str
    #: "NVIDIA", "AMD", "Intel", or "" for others
    vendor: str
    accessible: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """All that was gathered."""

    #: as ``platform.system()`` names it
    system: str
    release: str = ""
    architecture: str = ""
    python: str = ""
    #: Linux under Windows
    wsl: bool = False
    #: the system's own folder of drivers can be written to, as in most containers
    root: bool = False
    #: variables that matter to some loader, driver, or clfrnn, where they are set
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: "" when it does not import
    pyopencl: str = ""
    loader: Loader | None = None
    folders: tuple[Folder, ...] = ()
    entries: tuple[Entry, ...] = ()
    platforms: tuple[Platform, ...] = ()
    devices: tuple[Device, ...] = ()
    #: why devices could not be listed, or not to the end
    failure: str = ""
    #: the position of the device that clfrnn takes when none is named, or why there is none
    default: int | None = None
    default_failure: str = ""
    #: graphics nodes; an NVIDIA driver is told by ``nvidia``, as it has nodes of its own
    gpus: tuple[Gpu, ...] = ()
    nvidia: bool = False
    #: the OpenCL library of that driver can be loaded
    nvidia_library: bool = False
    #: the CPU driver of ``clfrnn[intel]``, where that is installed
    intel_library: str = ""

    @property
    def usable(self) -> tuple[Device, ...]:
        """The devices that passed, and that programs reach as things are."""
        return tuple(device for device in self.devices if device.usable and not device.alone)

    @property
    def kept_away(self) -> tuple[Device, ...]:
        """The devices that a driver of others keeps programs from reaching."""
        return tuple(device for device in self.devices if device.alone)

    def has_platform(self, *words: str) -> bool:
        """Whether a platform with devices has one of `words` in its name."""
        return any(word.lower() in each.name.lower() for each in self.platforms if each.devices for word in words)
