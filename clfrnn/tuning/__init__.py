"""Tuning: the numbers that were measured on some device, as frozen data that plans take as an argument.

Numbers of mathematics, limits of integers and the layout of records are not tuning; they stand where they are used. A
comment above each number says its unit, what it decides, and in parentheses on what device it was measured; where no
device is named, it was chosen. Defaults are those of a class of device: "cpu", "gpu" or "other".
"""

import dataclasses
import functools
from typing import Any

from ..profile import DeviceProfile
from .auto import AutoTuning
from .binning import BinningTuning
from .fenns import FennsTuning
from .grid import GridTuning, Prices
from .linking import LinkingTuning
from .lists import ListTuning
from .nearest import NearestTuning
from .primitives import PrimitiveTuning
from .queries import QueryTuning, Tiers
from .runtime import RuntimeTuning
from .section import Section
from .tree import TreeTuning
from .walks import WalkTuning

__all__ = ["Prices", "Tiers", "Tuning", "default_tuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tuning(Section):
    """The numbers of one device, by section."""

    primitives: PrimitiveTuning
    walks: WalkTuning
    grid: GridTuning
    binning: BinningTuning
    fenns: FennsTuning
    tree: TreeTuning
    lists: ListTuning
    queries: QueryTuning
    nearest: NearestTuning
    linking: LinkingTuning
    auto: AutoTuning
    runtime: RuntimeTuning

    def but(self, **sections: dict[str, Any]) -> "Tuning":
        """The same tuning with other numbers, given by section and name."""
        changed = {name: dataclasses.replace(getattr(self, name), **numbers) for name, numbers in sections.items()}
        return dataclasses.replace(self, **changed)

    @functools.cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in dataclasses.fields(self)))

    def __hash__(self) -> int:
        # Computed once: plans are looked up by their tuning in less time than a launch takes.
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Another process hashes texts in another way.
        return {name: value for name, value in vars(self).items() if name != "_hash"}


def default_tuning(profile: DeviceProfile) -> Tuning:
    """The defaults for the class of the device."""
    return _default(profile.kind)


@functools.cache
def _default(kind: str) -> Tuning:
    return Tuning.default(kind)
