"""Exact fixed-radius near-neighbor search on OpenCL devices.

The public names, loaded when first used, so that importing clfrnn touches no OpenCL driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from . import cluster, dask, files, geometry, interop, parts
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
    from .histograms import PairCounts, pair_counts
    from .index import Index
    from .methods.named import check_keywords
    from .parts.searches import search_parts
    from .points.argument_types import MethodName, MethodOptions
    from .points.on_device import as_points, bounds, to_device
    from .points.sessions import choose_session, default_session
    from .profile import DeviceProfile
    from .results import Nearest, NeighborList
    from .runtime.device import devices
    from .runtime.session import Session
    from .verlet import VerletList

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
    "MethodName",
    "MethodOptions",
    "Nearest",
    "NeighborFunction",
    "NeighborList",
    "NoDeviceError",
    "PairCounts",
    "PrecisionWarning",
    "Session",
    "VerletList",
    "__version__",
    "as_points",
    "bounds",
    "build_index",
    "cell_from_parameters",
    "check_keywords",
    "choose_session",
    "cluster",
    "dask",
    "default_session",
    "devices",
    "files",
    "geometry",
    "interop",
    "models",
    "nearest",
    "pair_counts",
    "parts",
    "precompile",
    "reference",
    "search",
    "search_parts",
    "to_device",
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
    "MethodName": "points.argument_types",
    "MethodOptions": "points.argument_types",
    "Nearest": "results",
    "NeighborFunction": "functions",
    "NeighborList": "results",
    "NoDeviceError": "errors",
    "PairCounts": "histograms",
    "PrecisionWarning": "errors",
    "Session": "runtime.session",
    "VerletList": "verlet",
    "as_points": "points.on_device",
    "bounds": "points.on_device",
    "build_index": "api",
    "cell_from_parameters": "domain.lattice",
    "check_keywords": "methods.named",
    "choose_session": "points.sessions",
    "default_session": "points.sessions",
    "devices": "runtime.device",
    "nearest": "api",
    "pair_counts": "histograms",
    "precompile": "compilation",
    "search": "api",
    "search_parts": "parts.searches",
    "to_device": "points.on_device",
}


#: Modules that are public by themselves.
_MODULES = frozenset(["cluster", "dask", "files", "geometry", "interop", "models", "parts", "reference"])


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
