"""Files of tunings: one for each device and driver, with the numbers that differ from the defaults, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidInputError
from ...host.folders import write_whole
from ...profile import DeviceProfile
from ...version import __version__
from .. import Tuning, default_tuning
from .choices import changes, why_illegal

__all__ = ["Stored", "read_tuning", "write_tuning"]

#: The number of the form of these files, which changes with the meaning of what they hold.
_FORMAT = 1

#: Longer files, in bytes, are not what was written.
_LONGEST = 1 << 16


class Stored(NamedTuple):
    """A tuning, and of each step milliseconds before and after, and the share by which this was uncertain."""

    tuning: Tuning
    steps: Mapping[str, tuple[float, float, float]]


def write_tuning(path: Path, profile: DeviceProfile, stored: Stored) -> None:
    """Write the file at once; raises OSError where it cannot be written."""
    content = {
        "format": _FORMAT,
        **_facts(profile),
        "changed": changes(stored.tuning, default_tuning(profile)),
        "steps": stored.steps,
    }
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode())


def read_tuning(path: Path, profile: DeviceProfile, *, shipped: bool = False) -> Stored:
    """Read a file; one that came with the package need not be of this driver and version.

    Raises
    ------
    InvalidInputError
        It cannot be used on this device; the message says why.
    """
    content = _content(path)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InvalidInputError("it is not a tuning in the form of this version of clfrnn")
    for name, fact in _facts(profile).items():
        given = content.get(name)
        if given != fact and not (shipped and name in ("driver", "clfrnn")):
            raise InvalidInputError(f"it is for {'the ' * (name != 'clfrnn')}{name} {given!r:.80}, not {fact!r}")
    tuning = _changed(content.get("changed"), profile)
    if why := why_illegal(tuning, profile):
        raise InvalidInputError(why)
    return Stored(tuning, _times(content.get("steps")))


def _facts(profile: DeviceProfile) -> dict[str, str]:
    """What a file is for."""
    return {
        "device": profile.name,
        "platform": profile.platform,
        "driver": profile.driver,
        "clfrnn": __version__,
    }


def _content(path: Path) -> Any:
    """What a file holds, as JSON has it."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
    except OSError as error:
        raise InvalidInputError(f"it cannot be read ({error.strerror})") from error
    if len(text) > _LONGEST:
        raise InvalidInputError(f"it is longer than {_LONGEST:,} bytes")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("it is not JSON") from error


def _changed(changed: Any, profile: DeviceProfile) -> Tuning:
    """The default tuning with the numbers that a file names."""
    numbers = default_tuning(profile).to_dict()
    if not isinstance(changed, dict) or not all(isinstance(each, dict) for each in changed.values()):
        raise InvalidInputError("its numbers do not stand by section")
    for section, values in changed.items():
        if section not in numbers or not values.keys() <= numbers[section].keys():
            raise InvalidInputError(f"there are no such numbers as {section!r:.80} has")
        numbers[section].update(values)
    try:
        return Tuning.from_dict(numbers)
    except (TypeError, RecursionError) as error:
        raise InvalidInputError("its numbers are not of the expected types") from error


def _times(steps: Any) -> dict[str, tuple[float, float, float]]:
    """The times of steps, and how uncertain they were."""
    if not isinstance(steps, dict):
        raise InvalidInputError("it does not say what was measured")
    for times in steps.values():
        if not isinstance(times, list) or len(times) != 3 or not all(map(_is_time, times)) or 0 in times[:2]:
            raise InvalidInputError("what was measured is not two times and their spread for each step")
    return {step: (before, after, spread) for step, (before, after, spread) in steps.items()}


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf
