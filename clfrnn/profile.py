"""DeviceProfile: the facts about one OpenCL device, as frozen data that plans are tested with."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

__all__ = ["DeviceProfile"]

_KINDS = ("cpu", "gpu", "other")

#: The types of values for each annotation of a field.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "int | None": (int, type(None)),
    "tuple[str, ...]": (tuple,),
}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceProfile:
    """The facts about one device that searches are planned from.

    They are what the driver says, with corrections where a driver is known to be wrong. Sizes are in bytes, and the
    clock is in MHz.
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
    #: whether kernels run in groups of the size that they were compiled for, whatever the driver reports
    required_groups: bool = False
    #: work-items that run in lockstep, or the width of a vector unit
    simd_width: int
    #: least number of work-items that a compute unit computes at the same time
    unit_lanes: int = 2
    local_memory: int
    #: bytes of ``local_memory`` that the driver uses itself
    local_reserve: int = 0
    #: bytes of local memory of a compute unit, which the work-groups that it runs share; 0 where it is not known
    unit_local_memory: int = 0
    global_memory: int
    max_allocation: int
    fp64: bool
    int64_atomics: bool
    #: whether float32 ``sqrt`` can be compiled to be correctly rounded
    rounded_sqrt: bool
    #: whether float32 subnormal numbers are not flushed to zero
    subnormals: bool
    #: whether float32 ``fma`` is one operation, not a function
    fma: bool
    #: number of turns after which the driver ends all loops of a work-item; None without such a bound
    loop_turns: int | None = None
    #: whether the driver serves several threads at the same time, also those of different sessions
    concurrent: bool = True
    #: whether the driver imports memory that another driver has allocated on the same device, by a file descriptor
    external_memory: bool = False
    #: the compiler option that limits the registers of a work-item, with {} for their number; "" where there is none
    register_option: str = ""
    #: what this machine lacks for the driver to compile a kernel, and what to install; "" where it can
    lacks: str = ""
    #: the compiler options of every program of this device
    build_options: tuple[str, ...] = ("-cl-std=CL1.2",)

    @property
    def usable_local_memory(self) -> int:
        """Bytes of local memory that a work-group may declare, with a margin for what drivers use."""
        return (self.local_memory - self.local_reserve) * 19 // 20

    def local_memory_beside(self, groups: int) -> int:
        """Bytes for each of `groups` that a unit runs at a time; all of a group's, if the unit's are not known."""
        if not self.unit_local_memory:
            return self.usable_local_memory
        return min(self.usable_local_memory, self.unit_local_memory // groups * 19 // 20)

    def to_dict(self) -> dict[str, Any]:
        """The profile as plain data, as recorded in ``tests/profiles``."""
        return {**dataclasses.asdict(self), "build_options": list(self.build_options)}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> DeviceProfile:
        """The profile that :meth:`to_dict` wrote.

        Raises
        ------
        ValueError, TypeError, KeyError
            A fact is missing, unknown, or of another type.
        """
        if not isinstance(options := facts["build_options"], (list, tuple)) or not all(map(_is_text, options)):
            raise ValueError(f"build_options is {options!r}")
        profile = cls(**{**facts, "build_options": tuple(options)})
        for field in dataclasses.fields(profile):
            value = getattr(profile, field.name)
            if type(value) not in _TYPES[str(field.type)] or (isinstance(value, int) and value < 0):
                raise ValueError(f"{field.name} is {value!r}")
        if profile.kind not in _KINDS:
            raise ValueError(f"kind is {profile.kind!r}, not one of {', '.join(_KINDS)}")
        return profile

    @functools.cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in dataclasses.fields(self)))

    def __hash__(self) -> int:
        # Computed once: plans are looked up by their profile in less time than a launch takes.
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Another process hashes texts in another way.
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    def __str__(self) -> str:
        return f"{self.name} ({self.platform}, {self.driver})"
