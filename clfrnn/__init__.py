"""Exact fixed-radius near-neighbor search on OpenCL devices.

The public names, loaded when first used, so that importing clfrnn touches no OpenCL driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import cluster, files, geometry
    from .answers.kernel_source import KernelSource
    from .api import build_index, nearest, search
    from .compilation import precompile
    from .conditions import Condition
    from .device_array import DeviceArray
    from .domain.lattice import cell_from_parameters
    from .errors import (
        ArgumentError,
        ClfrnnError,
        DeviceMemoryError,
        InvalidInputError,
        KernelBuildError,
        NoDeviceError,
        PrecisionWarning,
    )
    from .functions import NeighborFunction
    from .index import Index
    from .points.sessions import default_session
    from .profile import DeviceProfile
    from .results import Nearest, NeighborList
    from .runtime.device import devices
    from .runtime.session import Session

__all__ = [
    "ArgumentError",
    "ClfrnnError",
    "Condition",
    "DeviceArray",
    "DeviceMemoryError",
    "DeviceProfile",
    "Index",
    "InvalidInputError",
    "KernelBuildError",
    "KernelSource",
    "Nearest",
    "NeighborFunction",
    "NeighborList",
    "NoDeviceError",
    "PrecisionWarning",
    "Session",
    "__version__",
    "build_index",
    "cell_from_parameters",
    "cluster",
    "default_session",
    "devices",
    "files",
    "geometry",
    "nearest",
    "precompile",
    "search",
]

_MODULE_OF = {
    "ArgumentError": "errors",
    "ClfrnnError": "errors",
    "Condition": "conditions",
    "DeviceArray": "device_array",
    "DeviceMemoryError": "errors",
    "DeviceProfile": "profile",
    "Index": "index",
    "InvalidInputError": "errors",
    "KernelBuildError": "errors",
    "KernelSource": "answers.kernel_source",
    "Nearest": "results",
    "NeighborFunction": "functions",
    "NeighborList": "results",
    "NoDeviceError": "errors",
    "PrecisionWarning": "errors",
    "Session": "runtime.session",
    "build_index": "api",
    "cell_from_parameters": "domain.lattice",
    "default_session": "points.sessions",
    "devices": "runtime.device",
    "nearest": "api",
    "precompile": "compilation",
    "search": "api",
}


#: Modules that are public by themselves.
_MODULES = frozenset(["cluster", "files", "geometry"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'clfrnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
