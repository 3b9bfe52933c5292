"""Choices: the numbers of a tuning that are measured on a device, and the settings that each may have.

They are those that were found to differ between devices. Other numbers cannot come from a file, and other settings
cannot either: for all of these plans are exact and fit the device. Pure functions of its profile.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...profile import DeviceProfile
from .. import Tuning, default_tuning

__all__ = ["Choice", "changes", "choices", "why_illegal"]

#: Numbers by section and name, as ``Tuning.but`` takes them.
Numbers: TypeAlias = Mapping[str, dict[str, Any]]

_WALKS = ("count few", "count many", "list many")
_SIDES = ("count few", "count some", "count many")
_ONCE = ("once few", "once many")
_TREES = ("tree on a line", "tree few", "tree many")
_NEAREST = ("nearest some", "nearest many")

#: Bytes of local memory in which a work-item has the beginning and the end of its row, and some more.
_BYTES_OF_ROW = 32


class Choice(NamedTuple):
    """Numbers that are decided together, by the times of some steps of :mod:`clfrnn.tuner.bench`."""

    name: str
    #: the numbers of each setting, by its name in what is printed; the default is among them
    settings: Mapping[str, Numbers]
    steps: tuple[str, ...]


def choices(profile: DeviceProfile) -> list[Choice]:
    """What is measured on a device, the most rewarding first."""
    default = default_tuning(profile)
    once = default.auto.pairs_once
    found = [_choice("points whose pairs are all tested", "auto.pairs_once", [once // 2, once, 2 * once], _ONCE)]
    if profile.kind == "gpu":
        found.append(
            _choice("places from which neighbors are counted first", "nearest.counted_first", [0, 16], _NEAREST)
        )
    else:
        found.append(Choice("points of a leaf", _leaves(default, 64, 128, 256), _TREES))
    found.append(_choice("group of a walk", "walks.group", _walk_groups(default, profile), _WALKS))
    found.append(Choice("prices of rows and cells", _prices(default), _SIDES))
    if profile.kind == "gpu" and profile.simd_width <= 32:  # a packet has no fewer queries than run in lockstep
        found.append(_choice("queries of a packet", "tree.packet_queries", [8, 16, 32], _TREES))
    return [choice for choice in found if len(choice.settings) > 1]


def _choice(name: str, of: str, values: Sequence[int], steps: tuple[str, ...]) -> Choice:
    """A choice of one number, which `of` names by section and name."""
    section, field = of.split(".")
    return Choice(name, {f"{value:,}": {section: {field: value}} for value in values}, steps)


def _walk_groups(default: Tuning, profile: DeviceProfile) -> list[int]:
    """Groups of a walk over cells that the device allows.

    A GPU has no idle lanes in them, and local memory for the rows of a list, or for the slots of a neighbor buffer.
    """
    least, bytes_of_item, sizes = 1, 0, [64, 256, 1024]
    if profile.kind != "cpu":
        rows = max(default.walks.mask_stage + 4, default.lists.buffer_slots + 1)
        bytes_of_item, sizes = 4 * rows + _BYTES_OF_ROW, [32, 64, 128, 256]
    if profile.kind == "gpu":
        least = profile.simd_width
    most = min(profile.max_work_group_size, profile.usable_local_memory // max(bytes_of_item, 1))
    return [size for size in sizes if least <= size <= most or size == default.walks.group]


def _prices(default: Tuning) -> dict[str, Numbers]:
    """How much rows and cells cost beside tests of candidates: the sides of cells, in the end."""
    usual = {name: getattr(default.grid, name) for name in ("prices_2d", "prices_3d")}
    return {
        f"rows x {row:g}, cells x {cell:g}": {
            "grid": {
                name: dataclasses.replace(each, row=row * each.row, cell=cell * each.cell)
                for name, each in usual.items()
            }
        }
        for row, cell in ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0))
    }


def _leaves(default: Tuning, *sizes: int) -> dict[str, Numbers]:
    """The points of a leaf: as by default, or one number, however many neighbors there are."""
    alike: dict[str, Numbers] = {str(size): {"tree": {"leaf_sizes": ((math.inf, size),)}} for size in sizes}
    return {"the default": {"tree": {"leaf_sizes": default.tree.leaf_sizes}}, **alike}


def changes(tuning: Tuning, usual: Tuning) -> dict[str, dict[str, Any]]:
    """The numbers of a tuning that differ from the usual ones, by section, as JSON holds them."""
    found: dict[str, dict[str, Any]] = {}
    before = usual.to_dict()
    for section, numbers in tuning.to_dict().items():
        for name, value in numbers.items():
            if value != before[section][name]:
                found.setdefault(section, {})[name] = value
    return found


def why_illegal(tuning: Tuning, profile: DeviceProfile) -> str:
    """The first number of a tuning that no choice for the device has, in words; "" where there is none."""
    default = default_tuning(profile)
    settings = [default.but(**numbers) for choice in choices(profile) for numbers in choice.settings.values()]
    allowed = [each for setting in settings for each in _places(changes(setting, default))]
    for name, value in _places(changes(tuning, default)):
        if name not in (each for each, _ in allowed):
            return f"{name} is not a number that files may change"
        if (name, value) not in allowed:
            return f"{name} is {value!r}, which is not tried on such a device"
    return ""


def _places(numbers: Numbers) -> Iterator[tuple[str, Any]]:
    """Each number by its section and name."""
    return ((f"{section}.{name}", value) for section, values in numbers.items() for name, value in values.items())
