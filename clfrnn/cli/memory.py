"""How much memory of the host is free: what a program asks before it fills it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_memory"]

#: Where Linux tells of the whole machine, and of the container that a process is in.
_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that this process may still fill, or of the whole machine where nothing tells; None on Windows."""
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    if found:
        return min(found)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_machine() -> int | None:
    """What Linux takes for available, caches that it would give up included."""
    try:
        lines = _MACHINE.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _of_container() -> int | None:
    """What the limit of a container leaves, where there is one."""
    try:
        limit, used = (
            int((_CONTAINER / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # no limit is the word max
        return None
    return max(0, limit - used)
