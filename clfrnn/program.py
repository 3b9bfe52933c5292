"""Compiles source text, once per text, and shrinks a work-group until the compiled kernels agree to it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import TypeVar

import pyopencl as cl

from .errors import KernelBuildError
from .plan import KernelConfig
from .profile import DeviceProfile

__all__ = ["ProgramCache"]

Config = TypeVar("Config", bound=KernelConfig)


class ProgramCache:
    """The compiled programs of one context, keyed by source text. ``compiled`` counts compilations."""

    def __init__(self, context: cl.Context, device: cl.Device, profile: DeviceProfile) -> None:
        self._context = context
        self._device = device
        self._profile = profile
        self._kernels: dict[str, dict[str, cl.Kernel]] = {}
        self.compiled = 0

    def build_to_fit(self, config: Config, render: Callable[[Config], str]) -> tuple[dict[str, cl.Kernel], Config]:
        """The kernels of ``render(config)`` by name, and the config that they were compiled for in the end.

        A driver may allow a kernel smaller groups than the device does in general (registers, barriers); the
        group is halved until every kernel allows it. The size falls at each turn, so this ends.
        """
        while True:
            kernels = self._build(config, render(config))
            allowed = min(
                kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self._device)
                for kernel in kernels.values()
            )
            if allowed >= config.work_group_size or config.work_group_size == 1:
                return kernels, config
            config = dataclasses.replace(config, work_group_size=_power_of_two_below(allowed, config.work_group_size))

    def _build(self, config: KernelConfig, source: str) -> dict[str, cl.Kernel]:
        if source in self._kernels:
            return self._kernels[source]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                program = cl.Program(self._context, source).build(
                    list(self._profile.build_options), devices=[self._device]
                )
                self._kernels[source] = {kernel.function_name: kernel for kernel in program.all_kernels()}
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
