"""Memory of the host: how much the process may still take, by its own limits, its cgroup's and the machine's."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import math
import mmap
import os
import re
from collections.abc import Callable
from pathlib import Path

from ..errors import DeviceMemoryError

__all__ = [
    "LOOKED_AT",
    "check_host_memory",
    "check_memory_to_compile",
    "check_memory_to_launch",
    "give_free_memory_back",
    "host_memory_left",
    "is_limited",
]

#: Bytes from which on an allocation is compared with what is left, which takes as long as to write a part of them.
LOOKED_AT = 1 << 24

#: Bytes that are left for the rest of the process, as drivers crash where they get none: as many as are wanted, within
#: these bounds.
_LEAST_SPARE, _MOST_SPARE = 1 << 24, 1 << 26

#: Bytes that a compiler takes, about.
_BYTES_TO_COMPILE = 1 << 25

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")

#: The lines of ``meminfo`` that say what is free, in KiB.
_FREE = re.compile(r"^(MemAvailable|SwapFree):\s*(\d+)", re.MULTILINE)


def check_host_memory(size: int, purpose: str) -> None:
    """Raise where `size` bytes for `purpose` do not fit the memory that the process may still take."""
    if size >= LOOKED_AT and size > (left := host_memory_left(size)):
        raise DeviceMemoryError(
            f"{purpose} needs {size:,} bytes, and this process may take about {max(0, left):,.0f} more by its limits "
            "(ulimit), those of its cgroup, or what the machine has free. Drop what is no longer needed, read a part "
            "of a large array, or raise the limit",
            needed=size,
            available=max(0, int(left)),
        )


def check_memory_to_compile() -> None:
    """Raise where a driver's compiler would run out of memory, and end the process; compiling takes far longer."""
    check_host_memory(_BYTES_TO_COMPILE, "compiling a kernel")


def check_memory_to_launch() -> None:
    """Raise where limits of the process leave a driver less than it may need to start a kernel, which then crashes."""
    if is_limited() and (left := _left_of_process()) < _LEAST_SPARE:
        raise DeviceMemoryError(
            f"starting a kernel needs up to {_LEAST_SPARE:,} bytes, and this process may take {max(0, left):,.0f} "
            "more by its limits (ulimit). Drop what is no longer needed, or raise the limit",
            needed=_LEAST_SPARE,
            available=max(0, int(left)),
        )


def is_limited() -> bool:
    """Whether the process has a limit of addresses or of data; takes less than a microsecond."""
    limit, addresses, data, unlimited = _process_limits()
    return limit(addresses)[0] != unlimited or limit(data)[0] != unlimited


@functools.cache
def _process_limits() -> tuple[Callable[[int], tuple[int, int]], int, int, int]:
    """The function that reads limits of the process, the kinds of addresses and of data, the value of no limit."""
    try:
        import resource  # noqa: PLC0415 — not on every system
    except ImportError:
        return (lambda _: (-1, -1)), 0, 0, -1
    return resource.getrlimit, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIM_INFINITY


def host_memory_left(size: int) -> float:
    """About how many bytes the process may still take, where it wants `size`; infinite without any limit."""
    spare = max(_LEAST_SPARE, min(_MOST_SPARE, size))
    return min(_left_of_process(), _left_of_machine(), *(group.left(size + spare) for group in _cgroups())) - spare


def give_free_memory_back() -> None:
    """Give memory that was freed, and that the C library holds for later, back to the system where it can."""
    if trim := _malloc_trim():
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    """The function of the GNU C library, None where there is another."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):
        return None


def _left_of_process() -> float:
    """What the limits of addresses and of data leave."""
    limit, *kinds, unlimited = _process_limits()
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = (_PROC / "self/statm").read_text(encoding="ascii").split()
        found = ((limit(kind)[0], int(pages[place]) * mmap.PAGESIZE) for kind, place in zip(kinds, (0, 5), strict=True))
        return min((most - taken for most, taken in found if most != unlimited), default=math.inf)
    return math.inf


def _left_of_machine() -> float:
    """What the machine has free or can free, swap included; all that it has where the system does not say."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        facts = dict(_FREE.findall((_PROC / "meminfo").read_text(encoding="ascii")))
        return 1024 * (int(facts["MemAvailable"]) + int(facts["SwapFree"]))
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    return math.inf


@dataclasses.dataclass(frozen=True)
class _Cgroup:
    """A control group of processes, whose memory may be limited: its folder, and the files of limit and usage."""

    folder: Path
    limit: str
    usage: str

    def left(self, enough: int) -> float:
        """What it leaves. Where that is not `enough`, pages of files that it can drop at once count as free."""
        try:
            most = int((self.folder / self.limit).read_text(encoding="ascii"))
            left = most - int((self.folder / self.usage).read_text(encoding="ascii"))
        except (OSError, ValueError):  # "max" is no limit
            return math.inf
        if left >= enough:
            return left
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = (self.folder / "memory.stat").read_text(encoding="ascii")
            facts = dict(line.split() for line in text.splitlines())
            return left + int(facts.get("total_inactive_file", facts.get("inactive_file", "0")))
        return left


@functools.cache
def _cgroups() -> tuple[_Cgroup, ...]:
    """The cgroups of this process, and those around them; paths in a container may be those of its host."""
    found = []
    with contextlib.suppress(OSError):
        for line in (_PROC / "self/cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if not kinds:
                root, files = _CGROUPS, ("memory.max", "memory.current")
            elif "memory" in kinds.split(","):
                root, files = _CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
            else:
                continue
            own = root / path.lstrip("/")
            around = [folder for folder in (own, *own.parents) if folder.is_relative_to(root)]
            found += [_Cgroup(folder, *files) for folder in around if _limits(folder / files[0])]
    return tuple(found)


def _limits(file: Path) -> bool:
    """Whether a file has the limit of a cgroup, and a limit that may be met; some say "max", others 2**63 - 4096."""
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text(encoding="ascii")) < 1 << 60
    return False
