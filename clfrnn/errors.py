"""The errors that clfrnn raises on purpose. A message says which argument, what was expected, what came, what to do."""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ClfrnnError",
    "DeviceMemoryError",
    "InvalidInputError",
    "KernelBuildError",
    "NoDeviceError",
]


class ClfrnnError(Exception):
    """The root of clfrnn's errors."""


class InvalidInputError(ClfrnnError, ValueError):
    """An argument holds a value that cannot be searched: a NaN, a wrong shape, a radius below zero."""


class ArgumentError(InvalidInputError, TypeError):
    """An argument of a user's own function is missing, not declared, or of another type than declared."""


class NoDeviceError(ClfrnnError, RuntimeError):
    """No OpenCL device fits what was asked for."""


class DeviceMemoryError(ClfrnnError, MemoryError):
    """A result or an index does not fit; nothing was truncated, nothing was returned.

    Carries ``needed``, bytes in all; ``available``, bytes that the device, or the budget given, has left; and
    ``largest_allocation``, bytes that the device allows in one piece.
    """

    def __init__(self, message: str, *, needed: int = 0, available: int = 0, largest_allocation: int = 0) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available
        self.largest_allocation = largest_allocation


class KernelBuildError(ClfrnnError, RuntimeError):
    """The device's compiler refused a kernel. Carries ``device``, ``config`` and the numbered ``source``."""

    def __init__(self, message: str, *, device: str = "", config: object = None, source: str = "") -> None:
        super().__init__(message)
        self.device = device
        self.config = config
        self.source = "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))
