"""Facts about a machine as frozen data, so that advice is tested with the facts of other machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..profile import DeviceProfile

__all__ = ["CHECKS", "Check", "Device", "Entry", "Facts", "Folder", "Gpu", "Loader", "Platform"]

#: The trials of each device in order, each with the words of a report for a good and for a bad result.
CHECKS = {
    "build": ("kernels compile", "no kernel compiles"),
    "local_atomics": ("local atomics are right", "local atomics are wrong"),
    "contraction": ("contraction off is obeyed", "contraction off is not obeyed"),
    "square_root": ("square roots are rounded correctly", "square roots are not rounded correctly"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loader:
    """The library through which pyopencl reaches drivers."""

    #: "" where the system does not give it
    path: str
    #: "wheel" (came with pyopencl), "conda", "system" or "preloaded" (by ``LD_PRELOAD``)
    origin: str
    #: "ocl-icd", "khronos", or "" where it is another
    kind: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder, or a file, where drivers are registered."""

    path: str
    #: where its name comes from: an environment variable, "loader", "wheel" (pyopencl's), or "pip" (shown by clfrnn)
    named_by: str
    #: "folder", "file" (an .icd file), "library" or "missing"
    state: str
    #: whether the loader reads it
    read: bool = True
    #: the .icd files in it
    files: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A registered driver: an .icd file, and the result of loading its library."""

    #: "" where a variable names the library itself
    file: str
    library: str
    #: why it cannot be used; "" when it loads
    error: str = ""
    #: whether it crashes, hangs or ends the process, and so ends every program that lists devices
    fatal: bool = False
    #: the number of its platforms; None when they were not counted
    platforms: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform in the list of the loader."""

    name: str
    devices: int
    error: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one trial of a device."""

    name: str
    #: "passed", "mended" (the driver is wrong, and clfrnn corrects for it) or "failed"
    outcome: str
    detail: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Device:
    """A device, and the result of the process that tried it."""

    #: its position in :func:`clfrnn.devices`
    position: int
    name: str
    platform: str
    #: the driver that had to be loaded alone to reach it, as another one ends every program; "" otherwise
    alone: str = ""
    #: None when the driver does not describe the device
    profile: DeviceProfile | None
    checks: tuple[Check, ...] = ()
    #: why the trial ended early; "" when it did not
    failure: str = ""

    @property
    def usable(self) -> bool:
        """Whether its results can be expected to be exact."""
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
    """All facts that were gathered."""

    #: as ``platform.system()`` names it
    system: str
    release: str = ""
    architecture: str = ""
    python: str = ""
    #: whether this is Linux under Windows
    wsl: bool = False
    #: whether the system's folder of drivers can be written to, as in most containers
    root: bool = False
    #: the variables that are set and matter to a loader, a driver or clfrnn
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: "" when it cannot be imported
    pyopencl: str = ""
    loader: Loader | None = None
    folders: tuple[Folder, ...] = ()
    entries: tuple[Entry, ...] = ()
    platforms: tuple[Platform, ...] = ()
    devices: tuple[Device, ...] = ()
    #: why devices could not be listed, or not all of them
    failure: str = ""
    #: the position of the default device of clfrnn, or why there is none
    default: int | None = None
    default_failure: str = ""
    #: graphics nodes; ``nvidia`` is about NVIDIA's driver, which has other nodes
    gpus: tuple[Gpu, ...] = ()
    nvidia: bool = False
    #: whether the OpenCL library of that driver can be loaded
    nvidia_library: bool = False
    #: the folder of caches that cannot be written, and why; "" where all can
    caches: str = ""

    @property
    def usable(self) -> tuple[Device, ...]:
        """The devices that passed all trials and that programs reach."""
        return tuple(device for device in self.devices if device.usable and not device.alone)

    @property
    def unreachable(self) -> tuple[Device, ...]:
        """The devices that programs cannot reach because of another driver."""
        return tuple(device for device in self.devices if device.alone)

    def has_platform(self, *words: str) -> bool:
        """Whether a platform with devices has one of `words` in its name."""
        return any(word.lower() in each.name.lower() for each in self.platforms if each.devices for word in words)
