"""Peer: what the procedure asks of every library, clfrnn among them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Absent(Exception):  # noqa: N818 — no error: this machine lacks the peer, or what it needs
    """The peer cannot take part here, and why."""


class Pairs(NamedTuple):
    """Directed pairs in any order: point `rows[k]` has the neighbor `columns[k]`. Some peers count self, some not."""

    rows: Array
    columns: Array


class Peer:
    """A library with points, a radius, and one or both of the tasks.

    `build` takes in the points, reusing what the library can reuse from the build before, as a simulation does from
    step to step; `count` and `lists` answer from what `build` left, by default that of the peer's tree. A peer that
    answers in one call leaves `build` as it is here. `counts_of` and `pairs_of` bring an answer to the host, untimed.
    """

    name = ""
    #: what it is called in an import and in a package index
    module = ""
    package = ""
    #: "cpu" or "gpu"
    place = "cpu"
    tasks: Sequence[str] = ("count", "lists")
    #: what it computes in, and is given points in
    dtype: type = np.float32
    #: `build` is a step of its own
    builds = True
    #: calls return before the device is done, so that build and query overlap unless they are timed apart
    asynchronous = False
    #: the work grows with the square of the number of points
    quadratic = False
    #: what a reader of the table must know of how it was asked
    remark = ""

    def __init__(self) -> None:
        """Take a device, or raise Absent."""
        self.n = 0
        self.radius = 0.0

    @classmethod
    def names(cls) -> frozenset[str]:
        """What it may be called where peers are asked for: its name, the name's first word, its package."""
        return frozenset((cls.name, cls.name.split()[0], cls.package))

    @classmethod
    def find(cls) -> str:
        """The version installed, or Absent."""
        if importlib.util.find_spec(cls.module.split(".")[0]) is None:
            raise Absent(f"{cls.package} is not installed")
        return importlib.metadata.version(cls.package)

    @property
    def device(self) -> str:
        """On what it runs."""
        return ""

    def hold(self, points: Array, radius: float, widest: int) -> None:
        """Put points where the peer wants them; `widest` is the length of the longest list, for those with a cap."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what is made once, before the first step; untimed, but its memory counts."""

    def build(self) -> None:
        """Take in the points."""

    def count(self) -> Any:
        """Neighbors of each point."""
        raise NotImplementedError

    def lists(self) -> Any:
        """The neighbors of each point."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait for the device."""

    def counts_of(self, answer: Any) -> Array:
        """Neighbors of each point, self left out."""
        raise NotImplementedError

    def pairs_of(self, answer: Any) -> Pairs:
        """All pairs on the host."""
        raise NotImplementedError

    def clocked(self, step: Callable[[], object]) -> tuple[object, float, float | None]:
        """What a step returns, its wall time and, where the peer has device events, the time between them."""
        started = time.perf_counter()
        answer = step()
        self.finish()
        return answer, time.perf_counter() - started, None

    def memory_starts(self) -> None:
        """From here on memory counts."""

    def memory_peak(self) -> int | None:
        """The most bytes held since then beyond the points, or None where the peer does not tell."""
        return None

    def release(self) -> None:
        """Let points and structures go."""


def joined(lists: Any, n: int) -> Pairs:
    """Pairs of n lists or arrays of neighbors."""
    lengths = np.fromiter(map(len, lists), np.int64, n)
    if n and isinstance(lists[0], np.ndarray):
        columns = np.concatenate(lists)
    else:
        columns = np.fromiter(itertools.chain.from_iterable(lists), np.int64, int(lengths.sum()))
    return Pairs(np.repeat(np.arange(n, dtype=np.int32), lengths), columns)
