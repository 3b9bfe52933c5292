"""Peer: what the procedure asks of every library, clfrnn among them."""

from __future__ import annotations

import dataclasses
import importlib
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


#: The points of a row of the nearest, and those of which a normal is made, the point itself among them; and the points
#: within the distance, itself among them, that make a point core in DBSCAN.
NEAREST, AROUND, CORE = 8, 16, 5


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """A task, and what a peer is given for it before the clock starts."""

    task: str
    points: Array
    radius: float
    #: the length of the longest list, for peers with a cap
    widest: int = 0
    #: (3, 3) lattice vectors as rows, of a cell that repeats along all of them; the points lie inside
    cell: Array | None = None
    #: (n,) int32, ascending from 0: the system of each point
    batch: Array | None = None


class Pairs(NamedTuple):
    """Directed pairs in any order: point `rows[k]` has the neighbor `columns[k]`. Some peers count self, some not."""

    rows: Array
    columns: Array
    #: (pairs, 3), in a periodic cell: the image of the neighbor, in lattice vectors
    shifts: Array | None = None


class Peer:
    """A library with a question, and a method for each of the tasks that it has, which bears the task's name.

    `build` takes in the points, reusing what the library can reuse from the build before, as a simulation does from
    step to step; the method of the task answers from what `build` left. A peer that answers in one call leaves `build`
    as it is here. Methods whose names end with `_of` bring an answer to the host, untimed: counts of `count`; pairs of
    `lists`, `cells` and `batches`; rows of `nearest`; labels of `friends` and `dbscan`; normals of `normals`.
    """

    name = ""
    #: what it is called in an import and in a package index
    module = ""
    package = ""
    #: "cpu" or "gpu"
    place = "cpu"
    tasks: Sequence[str] = ()
    #: what it computes in, and is given points in
    dtype: type = np.float32
    #: `build` is a step of its own
    builds = True
    #: calls return before the device is done, so that build and query overlap unless they are timed apart
    asynchronous = False
    #: the work grows with the square of the number of points
    quadratic = False
    #: it compiles anew for each number of points, so that a part of a cloud foretells nothing
    compiles = False
    #: what a reader of the table must know of how it was asked
    remark = ""

    def __init__(self) -> None:
        """Take a device, or raise Absent."""

    @classmethod
    def names(cls) -> frozenset[str]:
        """What it may be called where peers are asked for: its name, the name's first word, its package."""
        return frozenset((cls.name, cls.name.split()[0], cls.package))

    @classmethod
    def find(cls) -> str:
        """The version installed, or Absent."""
        if importlib.util.find_spec(cls.module.split(".")[0]) is None:
            raise Absent(f"{cls.package} is not installed")
        try:
            return importlib.metadata.version(cls.package)
        except importlib.metadata.PackageNotFoundError:  # a wheel for one CUDA has another name
            return str(importlib.import_module(cls.module.split(".")[0]).__version__)

    @property
    def device(self) -> str:
        """On what it runs."""
        return ""

    def hold(self, question: Question) -> None:
        """Put points where the peer wants them; subclasses do so after this."""
        self.question = question
        self.n, self.radius = len(question.points), question.radius

    def prepare(self) -> None:
        """Make what is made once, before the first step; untimed, but its memory counts."""

    def build(self) -> None:
        """Take in the points."""

    def finish(self) -> None:
        """Wait for the device."""

    def counts_of(self, answer: Any) -> Array:
        """Neighbors of each point, self left out."""
        raise NotImplementedError

    def pairs_of(self, answer: Any) -> Pairs:
        """All pairs on the host."""
        raise NotImplementedError

    def rows_of(self, answer: Any) -> Array:
        """(n, NEAREST) ids, in any order within a row."""
        raise NotImplementedError

    def labels_of(self, answer: Any) -> Array:
        """(n,): a number for each cluster, negative for noise."""
        raise NotImplementedError

    def normals_of(self, answer: Any) -> Array:
        """(n, 3) of length 1, of either sign."""
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
