"""The errors that clfrnn raises on purpose. A message says which argument, what was expected, what came, what to do."""

from __future__ import annotations

__all__ = ["ClfrnnError", "DeviceMemoryError", "InvalidInputError", "KernelBuildError", "NoDeviceError"]


class ClfrnnError(Exception):
    """The root of clfrnn's errors."""


class InvalidInputError(ClfrnnError, ValueError):
    """An argument holds a value that cannot be searched: a NaN, a wrong shape, a radius below zero."""


class NoDeviceError(ClfrnnError, RuntimeError):
    """No OpenCL device fits what was asked for."""


class DeviceMemoryError(ClfrnnError, MemoryError):
    """A result or an index does not fit on the device; nothing was truncated, nothing was returned."""


class KernelBuildError(ClfrnnError, RuntimeError):
    """The device's compiler refused a kernel. Carries ``device``, ``config`` and the numbered ``source``."""

    def __init__(self, message: str, *, device: str = "", config: object = None, source: str = "") -> None:
        super().__init__(message)
        self.device = device
        self.config = config
        self.source = "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))
