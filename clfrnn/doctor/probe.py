"""What runs in a process of its own, as drivers may crash or hang: ``python -m clfrnn.doctor.probe WHAT [WHICH]``.

``loader`` says which loader there is, ``devices`` lists platforms and devices, ``library PATH`` loads a driver's
library, ``device POSITION`` tries a device.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import warnings

from .findings import tell

__all__ = ["main"]


def load_library(path: str) -> None:
    """Load a driver's library as a loader does, and ask how many platforms it offers."""
    tell(step="loading it")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        tell(error=str(error))
        return
    address = getattr(library, "clGetExtensionFunctionAddress", None)
    if address is None:
        tell(error="it is no OpenCL driver: it has no function clGetExtensionFunctionAddress")
        return
    tell(step="asking it for its platforms")
    address.restype = ctypes.c_void_p
    found = address(b"clIcdGetPlatformIDsKHR")
    if not found:
        tell(error="it is no driver that a loader can use: it has no function clIcdGetPlatformIDsKHR")
        return
    count = ctypes.c_uint(0)
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(found)
    tell(platforms=count.value if ask(0, None, ctypes.byref(count)) == 0 else 0)


def main(what: str, which: str = "") -> None:
    """Run one probe; an exception is a finding too."""
    warnings.simplefilter("ignore")  # of compilers that say that they succeeded
    try:
        if what == "library":
            load_library(which)
            return
        tell(step="importing pyopencl")  # which is wrong in a way of its own where its loader is missing
        trials = importlib.import_module(f"{__package__}.trials")
        if what == "loader":
            trials.tell_loader()
        elif what == "devices":
            trials.list_all()
        else:
            trials.try_device(int(which))
    except Exception as error:  # noqa: BLE001 — whatever a driver makes of it
        lines = str(error).strip().splitlines()
        tell(failure=f"{type(error).__name__}: {lines[0] if lines else 'no message'}")
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
