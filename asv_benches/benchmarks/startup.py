"""What a program pays before its first answer: importing the package, and the first search, which may compile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from .common import PLATFORMS, session, uniform_radius

_FIRST = """
import time; started = time.perf_counter()
import numpy, clfrnn, pyopencl
device = next(d for p in pyopencl.get_platforms() if {platform!r} in p.name for d in p.get_devices())
points = numpy.random.default_rng(0).random((100_000, 3), dtype=numpy.float32)
session = clfrnn.Session(device)
assert clfrnn.search(points, {radius!r}, session=session).num_pairs > 0
session.queue.finish()
print(time.perf_counter() - started)
"""


def seconds_of(code: str, environment: dict[str, str]) -> float:
    """What a new process prints last."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


class Import:
    """``import clfrnn`` in a new process, and what it loads when its first name is used."""

    def track_import(self) -> float:
        """Wall time."""
        code = "import time; s = time.perf_counter(); import clfrnn; clfrnn.search; print(time.perf_counter() - s)"
        return min(seconds_of(code, {}) for _ in range(3))

    track_import.unit = "seconds"  # type: ignore[attr-defined]


class FirstSearch:
    """A search of 100,000 points in a new process: with nothing cached, and with what an earlier process cached."""

    params = (list(PLATFORMS), [12, 50])
    param_names = ("device", "neighbors")
    timeout = 300

    def setup(self, device: str, neighbors: int) -> None:
        """Skip absent devices."""
        session(device)
        self.code = _FIRST.format(platform=PLATFORMS[device], radius=uniform_radius(100_000, neighbors))

    def track_empty_caches(self, device: str, neighbors: int) -> float:  # noqa: ARG002
        """Wall time from the start of the imports to the list; every kernel is compiled."""
        seconds = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as empty:
                seconds.append(self._seconds(empty))
        return min(seconds)

    def track_warm_caches(self, device: str, neighbors: int) -> float:  # noqa: ARG002
        """The same where no kernel is compiled."""
        with tempfile.TemporaryDirectory() as folder:
            self._seconds(folder)
            return min(self._seconds(folder) for _ in range(3))

    def _seconds(self, folder: str) -> float:
        """Of a process whose caches are in `folder`."""
        caches = dict.fromkeys(("XDG_CACHE_HOME", "POCL_CACHE_DIR", "CUDA_CACHE_PATH"), folder)
        return seconds_of(self.code, {**caches, "PYOPENCL_NO_CACHE": "false"})

    track_empty_caches.unit = "seconds"  # type: ignore[attr-defined]
    track_warm_caches.unit = "seconds"  # type: ignore[attr-defined]
