"""Choices: the numbers of a tuning that are worth measuring on a device, and the settings that each may have.

Other numbers cannot come from a file, and other settings cannot either: for all of these plans are exact and fit the
device. Pure functions of its profile.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...profile import DeviceProfile
from .. import Tuning, default_tuning

__all__ = ["ONCE", "Choice", "Setting", "choices", "sizes_of_once", "why_illegal"]

#: The steps of searches for few points, by their sizes as :func:`sizes_of_once` has them.
ONCE = tuple(f"once {k}" for k in range(4))


class Setting(NamedTuple):
    """One setting of a choice: its name in a table, and the numbers by section, as ``Tuning.but`` takes them."""

    label: str
    numbers: dict[str, dict[str, Any]]


class Choice(NamedTuple):
    """Numbers that are decided together, by the times of some steps of :mod:`clfrnn.tuner.steps`."""

    name: str
    settings: tuple[Setting, ...]
    steps: tuple[str, ...]
    #: whether it is worth a part of half a minute
    quick: bool = False


def choices(profile: DeviceProfile) -> tuple[Choice, ...]:
    """What is worth measuring on a device, the most rewarding first; each has the default among its settings."""
    found = _of_gpu(profile) if profile.kind == "gpu" else _of_cpu(profile)
    return tuple(choice for choice in found if len(choice.settings) > 1)


def _of_gpu(profile: DeviceProfile) -> tuple[Choice, ...]:
    default = default_tuning(profile)
    number, groups = functools.partial(_number, default), functools.partial(_allowed, profile)
    return (
        number("group of a walk", "walks.group", _walk_groups(default, profile), _WALKS, quick=True),
        number("candidates at a time", "walks.unrolled", ((1, 2), (2, 4), (4, 4)), _WALKS),
        _prices(default),
        number("neighbors from which hit masks", "lists.mask_neighbors", (0.0, 3.0, 6.0, 12.0), _LISTS, quick=True),
        number("mask words written together", "walks.mask_words_held", (2, 4, 8), ("list many", "list many small")),
        _pairs_once(default),
        _leaves(default, (8, 16, 32, 64), ((30.0, 8), (80.0, 16), (math.inf, 32))),
        # A packet has no fewer queries than run in lockstep.
        number("queries of a packet", "tree.packet_queries", (8, 16, 32) if profile.simd_width <= 32 else (), _TREES),
        number("crowd that shortens a reach", "nearest.crowded", (1.5, 2.0, 4.0), _NEAREST),
        number("neighbors foreseen for k", "nearest.foreseen", (1.0, 1.25, 1.6), _NEAREST),
        number("places from which neighbors are counted first", "nearest.counted_first", (0, 16), _NEAREST_MANY),
        number("points of a bucket", "binning.bucket_points", (512, 1024, 2048), ("count few", "count few small")),
        number("group of a bucket", "binning.fill_group", groups(256, 512, 1024), ("count few", "list few")),
        number("group of a scan", "primitives.scan_group", groups(128, 256, 512), ("list few", "list many")),
        number("points of a coarse cell", "fenns.cell_points", (350, 700, 1400), _FENNS),
        number("group of a block", "fenns.widest_group", groups(128, 256, 512), _FENNS),
        number("bytes of a tile", "fenns.tile_bytes", _tiles(default, profile), _FENNS),
        number("registers of a block", "fenns.registers", (32, 40, 64) if profile.register_option else (), _FENNS),
    )


def _of_cpu(profile: DeviceProfile) -> tuple[Choice, ...]:
    default = default_tuning(profile)
    number = functools.partial(_number, default)
    return (
        number("group of a walk", "walks.group", _walk_groups(default, profile), _WALKS, quick=True),
        _leaves(default, (16, 32, 64, 128, 256), quick=True),
        number("bytes of a vector", "walks.vector_bytes", (16, 32), ("count many", "list many"), quick=True),
        _prices(default),
        _pairs_once(default),
        number("points that one item sorts", "binning.serial_points", (1 << 10, 1 << 12, 1 << 14), ("loop", "once 3")),
        number("places of a vector", "nearest.vector_places", (0, 4, 8), ("nearest",)),
        number("crowd that shortens a reach", "nearest.crowded", (2.0, 5.0, 8.0), _NEAREST),
        number("neighbors foreseen for k", "nearest.foreseen", (1.0, 1.25, 1.6), _NEAREST),
        number("neighbors from which hit masks", "lists.mask_neighbors", (0.0, 6.0, 12.0), _LISTS),
    )


#: Bytes of local memory in which a work-item has the beginning and the end of its row, and some more.
_BYTES_OF_ROW = 32

_WALKS = ("count few", "count many", "list many")
_LISTS = ("list few", "list many", "list many small")
_TREES = ("tree on a line", "tree few", "tree many")
_NEAREST = ("nearest", "nearest small", "nearest in clusters")
_NEAREST_MANY = ("nearest many", "nearest many in clusters")
_FENNS = ("fenns few", "fenns many")


def _number(
    default: Tuning, name: str, of: str, values: tuple[Any, ...], steps: tuple[str, ...], *, quick: bool = False
) -> Choice:
    """A choice of one number, which `of` names by section and name; the default is among its values."""
    section, field = of.split(".")
    usual = getattr(getattr(default, section), field)
    each = values if usual in values else (usual, *values)
    return Choice(name, tuple(Setting(_in_words(value), {section: {field: value}}) for value in each), steps, quick)


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_in_words, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _allowed(profile: DeviceProfile, *sizes: int) -> tuple[int, ...]:
    """Those sizes of work-groups that the device allows, and of a GPU those in which no lane is idle."""
    least = profile.simd_width if profile.kind == "gpu" else 1
    return tuple(size for size in sizes if least <= size <= profile.max_work_group_size)


def _walk_groups(default: Tuning, profile: DeviceProfile) -> tuple[int, ...]:
    """The sizes of a group of a walk over cells: wide ones where items share nothing, else what local memory holds.

    The rows of a list pass through local memory on their way, or the slots of a neighbor buffer.
    """
    if profile.kind == "cpu":
        return _allowed(profile, 64, 256, 1024)
    item = 4 * max(default.walks.mask_stage + 4, default.lists.buffer_slots + 1) + _BYTES_OF_ROW
    return tuple(size for size in _allowed(profile, 32, 64, 128, 256) if size * item <= profile.usable_local_memory)


def _pairs_once(default: Tuning) -> Choice:
    """A choice of the number of points up to which a search tests all pairs."""
    most = default.auto.pairs_once
    values = most // 4, most // 2, most, 2 * most, 4 * most
    return _number(default, "points whose pairs are all tested", "auto.pairs_once", values, ONCE, quick=True)


def sizes_of_once(profile: DeviceProfile) -> tuple[int, ...]:
    """Numbers of points between the thresholds among which is chosen up to which all pairs are tested."""
    most = default_tuning(profile).auto.pairs_once
    return most * 3 // 8, most * 3 // 4, most * 3 // 2, 3 * most


def _prices(default: Tuning) -> Choice:
    """A choice of how much rows and cells cost beside tests of candidates: of the sides of cells, in the end."""
    settings = []
    for row, cell in ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0)):
        usual = {name: getattr(default.grid, name) for name in ("prices_2d", "prices_3d")}
        scaled = {
            name: dataclasses.replace(each, row=row * each.row, cell=cell * each.cell) for name, each in usual.items()
        }
        settings.append(Setting(f"rows x {row:g}, cells x {cell:g}", {"grid": scaled}))
    return Choice("prices of rows and cells", tuple(settings), ("count few", "count some", "count many"), quick=True)


def _leaves(
    default: Tuning, alike: tuple[int, ...], *others: tuple[tuple[float, int], ...], quick: bool = False
) -> Choice:
    """A choice of the points of a leaf: one number for all, or more of them where neighbors are many."""
    settings = tuple(
        Setting(_leaves_in_words(sizes), {"tree": {"leaf_sizes": sizes}})
        for sizes in dict.fromkeys((default.tree.leaf_sizes, *others, *(((math.inf, size),) for size in alike)))
    )
    return Choice("points of a leaf", settings, _TREES, quick)


def _leaves_in_words(sizes: tuple[tuple[float, int], ...]) -> str:
    return ", ".join(str(size) if most == math.inf else f"{size} up to {most:g} neighbors" for most, size in sizes)


def _tiles(default: Tuning, profile: DeviceProfile) -> tuple[int, ...]:
    """How much local memory a tile may take: all that there is, or half of it."""
    numbers = default.fenns
    return min(numbers.tile_bytes, profile.usable_local_memory - numbers.bytes_beside) // 2, numbers.tile_bytes


def why_illegal(tuning: Tuning, profile: DeviceProfile) -> str:
    """The first number of a tuning that no choice for the device has, in words; "" where there is none."""
    default = default_tuning(profile)
    allowed: dict[tuple[str, str], list[Any]] = {}
    for choice in choices(profile):
        for setting in choice.settings:
            for place, value in _places(setting.numbers):
                allowed.setdefault(place, []).append(value)
    for section in dataclasses.fields(Tuning):
        numbers, usual = getattr(tuning, section.name), getattr(default, section.name)
        for field in dataclasses.fields(numbers):
            value = getattr(numbers, field.name)
            if value == getattr(usual, field.name):
                continue
            if (section.name, field.name) not in allowed:
                return f"{section.name}.{field.name} is not a number that files may change"
            if value not in allowed[section.name, field.name]:
                return f"{section.name}.{field.name} is {value!r}, which is not tried on such a device"
    return ""


def _places(numbers: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], Any]]:
    for section, values in numbers.items():
        for name, value in values.items():
            yield (section, name), value
