"""Small searches of the clfrnn that Python finds first, each announced on standard output: see ``instructions.py``.

Nothing of this package is imported, as the other checkout may have another, and nothing of clfrnn but what users may
rely on, as the other may be of any commit.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl.array as cla

import clfrnn

#: Points of the unit cube, and a radius that finds 15 neighbors of a point inside; a search that tests all pairs has
#: some of these points.
POINTS, RADIUS, FEW = 1000, 0.153, 300

GRIDS_AND_TREE = ("uniform_grid", "strips", "fenns", "aabb_tree")


def say(word: str, text: object) -> None:
    """Write a line behind all that the driver has written: it writes to C's buffer, of which Python knows nothing."""
    ctypes.CDLL(None).fflush(None)
    os.write(1, f"\nclfrnn {word}: {' '.join(str(text).split())}\n".encode())


def searches(session: clfrnn.Session) -> Iterator[tuple[str, Callable[[], object]]]:
    """The searches by name. An index is built by the first search that it is named for, and used by those behind it."""
    points = np.random.default_rng(0).random((POINTS, 3), dtype=np.float32)

    @functools.cache
    def index(method: str, n: int = POINTS, **options: Any) -> clfrnn.Index:
        return clfrnn.build_index(points[:n], RADIUS, method=method, session=session, **options)

    def visit() -> object:
        total = cla.to_device(session.queue, np.zeros(POINTS, np.float32))
        function = clfrnn.NeighborFunction(
            arguments="global float *total", state="float sum = 0;", per_neighbor="sum += d2;", finish="total[i] = sum;"
        )
        return index("strips").visit(function, total=total)

    for method in GRIDS_AND_TREE:
        yield f"{method}, build", functools.partial(index, method)
        yield f"{method}, counts", lambda method=method: index(method).count()
    for method in ("strips", "aabb_tree"):
        yield f"{method}, lists", lambda method=method: index(method).query()
        yield f"{method}, nearest", lambda method=method: index(method).nearest()
    yield "strips, sorted lists with distances", lambda: index("strips").query(distances=True, sort="index")
    yield "strips, a function of a user's own", visit
    yield "strips, build and counts in a periodic box", lambda: index("strips", box=(1.0,) * 3, periodic=True).count()
    yield "brute_force, counts", lambda: index("brute_force", FEW).count()


def main() -> None:
    """Say whose searches these are, then run each."""
    say("package", Path(clfrnn.__file__).parent)
    session = clfrnn.Session("Oclgrind")
    for name, search in searches(session):
        say("search", name)
        try:
            held = search()
            session.queue.finish()
            del held
        except Exception as error:  # noqa: BLE001 — of another commit: whatever it raises is what there is to say
            say("failed", f"{type(error).__name__}: {error}")
    say("search", "")  # C's buffer is written, and what is freed behind it counts nowhere


if __name__ == "__main__":
    main()
