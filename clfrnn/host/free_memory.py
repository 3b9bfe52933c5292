"""The free memory of the host."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_memory"]

#: The files in which Linux describes the memory of the machine and of the container of a process.
_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """The bytes that this process can still allocate, or those of the machine where unknown; None on Windows."""
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    if found:
        return min(found)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_machine() -> int | None:
    """The available memory of Linux, including caches that can be freed."""
    try:
        lines = _MACHINE.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _of_container() -> int | None:
    """The rest of the memory limit of a container, if there is one."""
    try:
        limit, used = (
            int((_CONTAINER / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # without a limit the file has the word max
        return None
    return max(0, limit - used)
