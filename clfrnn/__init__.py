"""Exact fixed-radius near-neighbor search on any OpenCL device.

The public names, loaded when first used, so that importing clfrnn touches no OpenCL driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .api import build_index, default_session, search
    from .device import devices
    from .errors import ClfrnnError, DeviceMemoryError, InvalidInputError, KernelBuildError, NoDeviceError
    from .methods import Index
    from .profile import DeviceProfile
    from .results import NeighborList
    from .session import Session

__all__ = [
    "ClfrnnError",
    "DeviceMemoryError",
    "DeviceProfile",
    "Index",
    "InvalidInputError",
    "KernelBuildError",
    "NeighborList",
    "NoDeviceError",
    "Session",
    "__version__",
    "build_index",
    "default_session",
    "devices",
    "search",
]

_HOME = {
    "ClfrnnError": "errors",
    "DeviceMemoryError": "errors",
    "DeviceProfile": "profile",
    "Index": "methods",
    "InvalidInputError": "errors",
    "KernelBuildError": "errors",
    "NeighborList": "results",
    "NoDeviceError": "errors",
    "Session": "session",
    "build_index": "api",
    "default_session": "api",
    "devices": "device",
    "search": "api",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'clfrnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
