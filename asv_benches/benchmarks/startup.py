"""What a program pays before its first answer: importing the package, and the first search, which compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from .common import PLATFORMS, session

_FIRST = """
import time; started = time.perf_counter()
import numpy, clfrnn, pyopencl
device = next(d for p in pyopencl.get_platforms() if {platform!r} in p.name for d in p.get_devices())
points = numpy.random.default_rng(0).random((1000, 3), dtype=numpy.float32)
assert clfrnn.search(points, 0.2, session=clfrnn.Session(device)).num_pairs > 0
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
    """A search in a new process whose kernels nobody has compiled before."""

    params = (list(PLATFORMS),)
    param_names = ("device",)
    timeout = 120

    def setup(self, device: str) -> None:
        """Skip absent devices."""
        session(device)

    def track_first_search(self, device: str) -> float:
        """Wall time from the start of the imports to the answer."""
        with tempfile.TemporaryDirectory() as empty:
            caches = {
                "XDG_CACHE_HOME": empty,
                "POCL_CACHE_DIR": empty,
                "CUDA_CACHE_PATH": empty,
                "PYOPENCL_NO_CACHE": "1",
            }
            return seconds_of(_FIRST.format(platform=PLATFORMS[device]), caches)

    track_first_search.unit = "seconds"  # type: ignore[attr-defined]
