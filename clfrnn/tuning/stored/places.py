"""Places of tunings: the user's file for a device, and the name of the one that came with clfrnn."""

from __future__ import annotations

import re
from pathlib import Path

from ...host.folders import settings_folder
from ...host.text_cache import digest
from ...profile import DeviceProfile

__all__ = ["slug", "stored_path"]


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
