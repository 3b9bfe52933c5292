"""The machine: its processor, and how much memory this process has taken."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

_SELF = Path("/proc/self")


def processor() -> str:
    """The processor's name and the cores that this process may use."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    name = found.group(1) if found else platform.processor() or platform.machine()
    return f"{name}, {cores()} cores"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Resident:
    """The peak growth of resident memory since it was made; Linux alone tells, and lets the peak start anew."""

    def __init__(self) -> None:
        self._start: int | None = None
        try:
            (_SELF / "clear_refs").write_text("5", encoding="ascii")
            self._start = _status("VmRSS")
        except OSError:
            pass

    def peak(self) -> int | None:
        """Bytes, or None where the system does not tell. Memory that was free in the process already is not seen."""
        return None if self._start is None else max(0, _status("VmHWM") - self._start)


def _status(field: str) -> int:
    text = (_SELF / "status").read_text(encoding="ascii")
    found = re.search(rf"{field}:\s*(\d+) kB", text)
    if found is None:
        raise OSError(f"/proc/self/status has no {field}")
    return 1024 * int(found.group(1))
