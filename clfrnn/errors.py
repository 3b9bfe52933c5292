"""Errors and a warning; a message names the argument, what was expected, what was given, what to do."""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ClfrnnError",
    "DeviceMemoryError",
    "InvalidInputError",
    "KernelBuildError",
    "NoDeviceError",
    "PrecisionWarning",
]


class ClfrnnError(Exception):
    """The base class of clfrnn's errors."""


class InvalidInputError(ClfrnnError, ValueError):
    """An argument has a value that cannot be searched: a NaN, a wrong shape, a negative radius.

    It has ``argument``, the name of that argument, with commas where several are meant together, or None where it is
    about something else, as a file; and ``problem``, the message without the name.
    """

    def __init__(self, problem: str, *, argument: str | None = None) -> None:
        super().__init__(problem if argument is None else f"{argument}: {problem}")
        self.argument = argument
        self.problem = problem


class ArgumentError(InvalidInputError, TypeError):
    """An argument of a user's own function is missing, not declared, or of another type than declared."""


class PrecisionWarning(UserWarning):
    """Rounding may decide which points are neighbors: coordinates are coarse, or integers are searched in float32."""


class NoDeviceError(ClfrnnError, RuntimeError):
    """There is no OpenCL device that can be used, or none with the name that was given; see ``clfrnn devices``."""


class DeviceMemoryError(ClfrnnError, MemoryError):
    """A result or an index does not fit memory; nothing was truncated or returned.

    It has ``needed``, the bytes in all; ``available``, the bytes that the device or the given limit has left; and
    ``largest_allocation``, the bytes that the device allows in one allocation.
    """

    def __init__(self, message: str, *, needed: int = 0, available: int = 0, largest_allocation: int = 0) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available
        self.largest_allocation = largest_allocation


class KernelBuildError(ClfrnnError, RuntimeError):
    """The compiler of the device refused a kernel, mostly because of code of your own in it.

    It has ``device``, its name; ``source``, the text of the kernel with numbered lines; and ``config``, what it was
    compiled for.
    """

    def __init__(self, message: str, *, device: str = "", config: object = None, source: str = "") -> None:
        super().__init__(message)
        self.device = device
        self.config = config
        self.source = "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))
