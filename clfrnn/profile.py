"""DeviceProfile: what one OpenCL device offers, as plain frozen data that planning can be tested with."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["DeviceProfile"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceProfile:
    """The facts about one device that clfrnn's plans depend on, after :mod:`clfrnn.runtime.quirks` corrected them.

    Sizes are in bytes, the clock is in MHz. Plans read these facts and never a vendor's name.
    """

    name: str
    platform: str
    version: str
    driver: str
    #: "cpu", "gpu" or "other"
    kind: str
    compute_units: int
    clock: int
    max_work_group_size: int
    #: kernels run in groups of the size that they were compiled for, whatever the driver says of each
    required_groups: bool = False
    #: work-items that run in lockstep, or the width of a vector unit
    simd_width: int
    #: work-items that a compute unit computes for at the same time, at least
    unit_lanes: int = 2
    local_memory: int
    #: part of ``local_memory`` that the driver keeps for itself
    local_reserve: int = 0
    global_memory: int
    max_allocation: int
    fp64: bool
    int64_atomics: bool
    #: float32 ``sqrt`` can be compiled to be correctly rounded
    rounded_sqrt: bool
    #: float32 subnormal numbers are kept, not flushed to zero
    subnormals: bool
    #: float32 ``fma`` is one operation, not a function
    fma: bool
    #: turns after which all loops of a work-item end, whatever is left to do; None where nothing ends them
    loop_turns: int | None = None
    #: the option that bounds the registers of a work-item, with {} for their number; "" where there is none
    register_option: str = ""
    #: the OpenCL C options every program of this device is compiled with
    build_options: tuple[str, ...] = ("-cl-std=CL1.2",)

    @property
    def usable_local_memory(self) -> int:
        """Bytes of local memory that one work-group may ask for, with slack for what drivers keep back."""
        return (self.local_memory - self.local_reserve) * 19 // 20

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data, as recorded in ``tests/profiles``."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> DeviceProfile:
        """The profile that :meth:`to_dict` wrote."""
        return cls(**{**facts, "build_options": tuple(facts["build_options"])})

    def __str__(self) -> str:
        return f"{self.name} ({self.platform}, {self.driver})"
