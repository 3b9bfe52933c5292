"""A probe, which runs in a process of its own, as drivers may crash: ``main(WHAT, WHICH)``.

``loader`` describes the loader, ``devices`` lists platforms and devices, ``library PATH`` loads the library of a
driver, and ``device POSITION`` tries a device.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import warnings

from .findings import print_finding

__all__ = ["main"]


def load_library(path: str) -> None:
    """Load the library of a driver as a loader does, and count its platforms."""
    print_finding(step="loading it")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        print_finding(error=str(error))
        return
    address = getattr(library, "clGetExtensionFunctionAddress", None)
    if address is None:
        print_finding(error="it is no OpenCL driver: it has no function clGetExtensionFunctionAddress")
        return
    print_finding(step="asking it for its platforms")
    address.restype = ctypes.c_void_p
    found = address(b"clIcdGetPlatformIDsKHR")
    if not found:
        print_finding(error="it is no driver that a loader can use: it has no function clIcdGetPlatformIDsKHR")
        return
    count = ctypes.c_uint(0)
    get_platform_ids = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(found)
    print_finding(platforms=count.value if get_platform_ids(0, None, ctypes.byref(count)) == 0 else 0)


def main(what: str, which: str = "") -> None:
    """Run one probe; an exception is a finding too."""
    warnings.simplefilter("ignore")  # compilers also warn when they succeed
    try:
        if what == "library":
            load_library(which)
            return
        print_finding(step="importing pyopencl")  # fails in its own way where the loader is missing
        trials = importlib.import_module(f"{__package__}.trials")
        if what == "loader":
            trials.print_loader()
        elif what == "devices":
            trials.list_all()
        else:
            trials.try_device(int(which))
    except Exception as error:  # noqa: BLE001 — drivers raise many kinds of errors
        lines = str(error).strip().splitlines()
        print_finding(failure=f"{type(error).__name__}: {lines[0] if lines else 'no message'}")
        sys.exit(1)
