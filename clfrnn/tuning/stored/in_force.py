"""The tuning in force on a device: of the file that CLFRNN_TUNING names, the user's, one that came with clfrnn, or the
defaults.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInputError
from ...host.folders import settings_folder
from ...host.text_cache import digest
from ...profile import DeviceProfile
from .. import Tuning, default_tuning

__all__ = ["VARIABLE", "InForce", "find_tuning", "slug", "stored_path"]

#: The environment variable that names another file, or is "off" for the defaults.
VARIABLE = "CLFRNN_TUNING"

#: Tunings that came with clfrnn, each with the name of its device.
_SHIPPED = Path(__file__).with_name("shipped")

_CLASSES = {"cpu": "a CPU", "gpu": "a GPU", "other": "a device of neither kind"}


class InForce(NamedTuple):
    """A tuning, and where it comes from, in words."""

    tuning: Tuning
    origin: str


def find_tuning(profile: DeviceProfile) -> InForce:
    """The tuning of a device. A file that cannot be used costs one warning and changes no result.

    Cost: a look-up of one file, which most machines do not have.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named.lower() != "off":
        path = Path(named) if named else stored_path(profile)
        if path is not None and (found := _of_file(path, profile, named=bool(named))):
            return found
        if f"{slug(profile)}.json" in _shipped_names() and (found := _of_shipped(profile)):
            return found
    return InForce(default_tuning(profile), f"the defaults for {_CLASSES[profile.kind]}")


def _of_file(path: Path, profile: DeviceProfile, *, named: bool) -> InForce | None:
    """The tuning of a file; None where it is missing or cannot be used."""
    if os.path.exists(path):  # noqa: PTH110 — false, too, where one may not look or a name is impossible
        from .files import read_tuning  # noqa: PLC0415 — most sessions have no file, and start sooner

        try:
            return InForce(read_tuning(path, profile).tuning, str(path))
        except InvalidInputError as error:
            _warn(path, str(error), _remedy(named=named))
    elif named:
        _warn(path, "there is no such file", _remedy(named=named))
    return None


def _of_shipped(profile: DeviceProfile) -> InForce | None:
    """The tuning that came with clfrnn; None where a device of the same name is another one after all."""
    from .files import read_tuning  # noqa: PLC0415

    try:
        found = read_tuning(_SHIPPED / f"{slug(profile)}.json", profile, shipped=True)
    except InvalidInputError:
        return None
    return InForce(found.tuning, "measured on such a device, came with clfrnn")


@functools.cache
def _shipped_names() -> frozenset[str]:
    """The names of the files that came with clfrnn: read once in a process."""
    try:
        return frozenset(os.listdir(_SHIPPED))  # noqa: PTH208 — names alone
    except OSError:
        return frozenset()


def _remedy(*, named: bool) -> str:
    if named:
        return f"{VARIABLE} names this file: let it name another one, or unset it"
    return "measure anew by `clfrnn tune`, or remove the file by `clfrnn tune --forget`"


@functools.cache
def _warn(path: Path, why: str, remedy: str) -> None:
    """Warn once in a process of a file and its fault."""
    warnings.warn(f"{path}: this tuning is not used: {why}. Results are the same; {remedy}", UserWarning, 2)


def stored_path(profile: DeviceProfile) -> Path | None:
    """The user's file for a device and its driver, whether there is one or not; None where there is no home folder."""
    folder = settings_folder()
    if folder is None:
        return None
    summed = digest(*(text.encode() for text in (profile.name, profile.platform, profile.driver)))
    return folder / "tunings" / f"{slug(profile)}-{summed[:8]}.json"


def slug(profile: DeviceProfile) -> str:
    """The name of a device as a part of the name of a file."""
    return re.sub("[^a-z0-9]+", "-", profile.name.lower()).strip("-")[:40] or "device"
