"""Compiles source text, once per text, and shrinks a work-group until the compiled kernels agree to it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyopencl as cl

from .errors import KernelBuildError
from .plan import KernelConfig
from .profile import DeviceProfile

__all__ = ["Kernel", "ProgramCache"]

Config = TypeVar("Config", bound=KernelConfig)


class Kernel:
    """A compiled kernel that learns the types of its arguments from its first call.

    pyopencl sets an argument whose type it was told in a fraction of a microsecond; one that it has to look at first
    takes ten, more than the launch itself.
    """

    __slots__ = ("_compiled", "_typed", "name")

    def __init__(self, compiled: cl.Kernel) -> None:
        self._compiled = compiled
        self._typed = False
        self.name: str = compiled.function_name

    def largest_group(self, device: cl.Device) -> int:
        """The largest work-group that the driver allows this kernel."""
        return int(self._compiled.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device))

    def enqueue(self, queue: cl.CommandQueue, size: int, work_group_size: int, arguments: Sequence[Any]) -> cl.Event:
        """Launch over `size` work-items. An argument at one place has the same type in every call."""
        if not self._typed:
            self._compiled.set_scalar_arg_dtypes([_argument_type(argument) for argument in arguments])
            self._typed = True
        return self._compiled(queue, (size,), (work_group_size,), *arguments)


def _argument_type(argument: Any) -> np.dtype[Any] | None:
    """None for a buffer, the dtype of a scalar, untyped bytes for a vector such as a float4."""
    if isinstance(argument, np.ndarray):
        return np.dtype((np.void, argument.nbytes))
    return argument.dtype if isinstance(argument, np.generic) else None


class ProgramCache:
    """The compiled programs of one context, keyed by source text. ``compiled`` counts compilations."""

    def __init__(self, context: cl.Context, device: cl.Device, profile: DeviceProfile) -> None:
        self._context = context
        self._device = device
        self._profile = profile
        self._kernels: dict[str, dict[str, Kernel]] = {}
        self.compiled = 0

    def build_to_fit(self, config: Config, render: Callable[[Config], str]) -> tuple[dict[str, Kernel], Config]:
        """The kernels of ``render(config)`` by name, and the config that they were compiled for in the end.

        A driver may allow a kernel smaller groups than the device does in general (registers, barriers); the
        group is halved until every kernel allows it. The size falls at each turn, so this ends.
        """
        while True:
            kernels = self._build(config, render(config))
            allowed = min(kernel.largest_group(self._device) for kernel in kernels.values())
            if allowed >= config.work_group_size or config.work_group_size == 1:
                return kernels, config
            config = dataclasses.replace(config, work_group_size=_power_of_two_below(allowed, config.work_group_size))

    def _build(self, config: KernelConfig, source: str) -> dict[str, Kernel]:
        if source in self._kernels:
            return self._kernels[source]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                program = cl.Program(self._context, source).build(
                    list(self._profile.build_options), devices=[self._device]
                )
                self._kernels[source] = {kernel.function_name: Kernel(kernel) for kernel in program.all_kernels()}
        except cl.Error as error:
            raise KernelBuildError(
                f"{self._profile}: the driver's compiler refused a kernel of clfrnn's.\n{config}\n{error}\n"
                "The exception's `source` holds the numbered text; please report it together with this message.",
                device=str(self._profile),
                config=config,
                source=source,
            ) from None
        self.compiled += 1
        return self._kernels[source]


def _power_of_two_below(allowed: int, size: int) -> int:
    size //= 2
    while size > max(1, allowed):
        size //= 2
    return size
