"""Section: numbers that were measured on some device, checked when they are set, with defaults by class of device."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import InvalidInputError

__all__ = ["Section", "number"]

Own = TypeVar("Own", bound="Section")

_CLASSES = ("cpu", "gpu", "other")


def number(
    default: Any, *, least: float = 0, most: float = math.inf, power_of_two: bool = False, **of_class: Any
) -> Any:
    """A field with a default, other defaults by class of device (``cpu``, ``gpu``, ``other``), and limits."""
    defaults = {**dict.fromkeys(_CLASSES, default), **of_class}
    assert set(defaults) == set(_CLASSES), f"there are no such classes of device: {sorted(of_class)}"
    return dataclasses.field(
        metadata={"defaults": defaults, "least": least, "most": most, "power_of_two": power_of_two}
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """Frozen fields that are numbers, tuples of numbers, or sections; a value out of its limits raises.

    The types of fields are read at run time, so that modules of sections do not import ``annotations``.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not _fits(value, field.type, field.metadata):
                expected = _in_words(field.type, field.metadata)
                raise InvalidInputError(
                    f"{type(self).__name__}.{field.name}: expected {expected}, got {value!r}; "
                    "start from default_tuning() and change what was measured"
                )

    @classmethod
    def default(cls: type[Own], kind: str) -> Own:  # noqa: PYI019 — Self is of Python 3.11
        """The defaults for a class of device."""
        values = {}
        for field in dataclasses.fields(cls):
            own: Any = field.type
            values[field.name] = field.metadata["defaults"][kind] if field.metadata else own.default(kind)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The section as dicts, lists, numbers and the string "inf", which JSON can hold."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls: type[Own], data: Mapping[str, Any]) -> Own:  # noqa: PYI019
        """The section that :meth:`to_dict` wrote; a missing or unknown name raises."""
        types = {field.name: field.type for field in dataclasses.fields(cls)}
        given = set(data) if isinstance(data, Mapping) else set()
        if given != set(types):
            raise InvalidInputError(
                f"{cls.__name__}: expected a value for each of its {len(types)} names, got none for "
                f"{sorted(set(types) - given)}, and others for {sorted(given - set(types))}; write it by to_dict()"
            )
        return cls(**{name: _read(data[name], wanted) for name, wanted in types.items()})


def _is_section(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Section)


def _fits(value: Any, wanted: Any, limits: Mapping[str, Any]) -> bool:
    """Whether a value has the wanted type, and its numbers lie within the limits."""
    if _is_section(wanted):
        return isinstance(value, wanted)
    if parts := typing.get_args(wanted):
        if not isinstance(value, tuple):
            return False
        if parts[-1] is ...:
            may_be_empty = () in limits["defaults"].values()
            return (bool(value) or may_be_empty) and all(_fits(each, parts[0], limits) for each in value)
        return len(value) == len(parts) and all(map(_fits, value, parts, [limits] * len(parts)))
    if isinstance(value, bool) or not isinstance(value, int if wanted is int else (int, float)):
        return False
    if wanted is int and limits["power_of_two"] and int(value).bit_count() != 1:
        return False
    return bool(limits["least"] <= value <= limits["most"])


def _in_words(wanted: Any, limits: Mapping[str, Any]) -> str:
    """The values that a field accepts, in words."""
    if _is_section(wanted):
        return f"a {wanted.__name__}"
    least, most, power = limits["least"], limits["most"], limits["power_of_two"]
    within = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    kind = wanted.__name__ if isinstance(wanted, type) else str(wanted)
    return f"{kind}{', a power of two' if power else ''} {within}"


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return "inf" if value == math.inf else value


def _read(value: Any, wanted: Any) -> Any:
    """The inverse of :func:`_plain`."""
    if _is_section(wanted):
        return wanted.from_dict(value)
    if isinstance(value, (list, tuple)):
        parts = typing.get_args(wanted)
        kinds = [parts[0]] * len(value) if parts and parts[-1] is ... else [*parts, *[None] * len(value)]
        return tuple(map(_read, value, kinds))
    return math.inf if value == "inf" else value
