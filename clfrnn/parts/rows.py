"""Rows of arrays that may not fit memory: read in slices, and refused where they cannot be searched."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..host.numbers import is_masked, real_number, shown, whole_number
from ..host.objects import refuse_objects

__all__ = [
    "Survey",
    "as_rows",
    "at_least_one",
    "check_radius",
    "in_threads",
    "number_dtype",
    "read",
    "real_of",
    "slices",
    "survey",
]

#: Rows that are read at once.
_ROWS = 1 << 18

#: Threads that divide rows at the same time.
_MOST_THREADS = 16

#: Rows of a sample, and of each part: the largest of 1,000 parts then holds 12 % more than the mean.
_SAMPLE, _SAMPLE_OF_PART = 1 << 16, 1 << 10

#: Dimensions that methods serve.
_MOST_COORDINATES = 12

#: Held while a slice is read and copied: some readers fill one buffer with every slice, and serve one thread.
_READING = threading.Lock()

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """What one reading of an array has shown."""

    #: the largest coordinate, without its sign
    farthest: float
    #: rows from all parts of the array, drawn at random with a fixed seed
    sample: npt.NDArray[Any]


def as_rows(points: Any, name: str) -> Any:
    """An array of shape (n, dim) that is read by slices: `points` where they are one, else an array of numpy's.

    Arrays of Zarr, HDF5 and memory-mapped files are not read here.
    """
    if is_masked(points):
        raise InvalidInputError("expected plain rows, got a masked array; drop the masked rows first", argument=name)
    if hasattr(points, "get") and hasattr(points, "queue"):  # on a device
        points = points.get()
    if not all(hasattr(points, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        refuse_objects(points, name)
        try:
            points = np.asarray(points)
        except (ValueError, TypeError, RuntimeError) as error:
            raise InvalidInputError(
                f"expected an array of shape (rows, dim), got {type(points).__name__} that numpy cannot convert "
                f"({error}); pass a rectangular array",
                argument=name,
            ) from None
    kind, size = np.dtype(points.dtype).kind, np.dtype(points.dtype).itemsize
    if len(points.shape) != 2 or not 1 <= points.shape[1] <= _MOST_COORDINATES:
        raise InvalidInputError(
            f"expected shape (rows, dim) with dim from 1 to {_MOST_COORDINATES}, got {tuple(points.shape)}; use "
            "reshape(-1, 1) for points on a line, or numpy.zeros((0, dim)) for none",
            argument=name,
        )
    if kind not in "fiu" or (kind == "f" and size > 8):
        raise InvalidInputError(
            f"expected float32 or float64 (or float16, or integers), got {points.dtype}; convert with "
            "astype(numpy.float64) if no digit that matters is lost",
            argument=name,
        )
    return points


def real_of(points: Any) -> np.dtype[Any]:
    """The dtype in which rows are searched where the device has it: float32, or float64 for wider numbers."""
    dtype = np.dtype(points.dtype)
    narrow = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if narrow else np.float64)


def number_dtype(n: int) -> np.dtype[Any]:
    """The dtype of row numbers below `n`."""
    return np.dtype(np.int32 if n < 2**31 else np.int64)


def slices(points: Any, name: str, first: int = 0) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """The rows in order, as (number of the first row, rows), in native byte order; raises for a NaN or an infinity.

    `first` is the number of the first row in the whole.
    """
    n = int(points.shape[0])
    for start in range(0, n, _ROWS):
        rows = _slice(points, start, min(start + _ROWS, n))
        rows = rows.astype(rows.dtype.newbyteorder("="), copy=False)
        if rows.dtype.kind == "f" and not np.isfinite(rows).all():
            bad = int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise InvalidInputError(
                f"expected finite numbers, got NaN or inf in row {first + start + bad} with {rows[bad].tolist()}; "
                "remove or repair that row",
                argument=name,
            )
        yield first + start, rows


def in_threads(function: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
    """What a function of numpy's makes of each thing that is given, in their order, on the cores of this process.

    Things are taken as they are needed, so that only some of them are in memory.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        yield from map(function, given)
        return
    with ThreadPoolExecutor(min(cores, _MOST_THREADS)) as pool:
        ahead: deque[Future[Made]] = deque()
        try:
            for each in given:
                ahead.append(pool.submit(function, each))
                if len(ahead) > min(cores, _MOST_THREADS):
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def survey(points: Any, name: str, first: int = 0, parts: int = 1) -> Survey:
    """Read an array once: check that it is finite, find its largest coordinate, and draw a sample.

    The sample has as many rows as it takes to cut that number of `parts` evenly.
    """
    wanted = max(_SAMPLE, _SAMPLE_OF_PART * parts)
    n, dim = (int(size) for size in points.shape)
    rng = np.random.default_rng(0)
    farthest, drawn = 0.0, [np.zeros((0, dim), real_of(points))]
    for _, rows in slices(points, name, first):
        farthest = max(farthest, float(rows.max()), -float(rows.min()))
        share = min(len(rows), -(-wanted * len(rows) // n))
        stride = len(rows) // share  # a row of each run, so that no pattern of the order is followed
        drawn.append(rows[np.arange(share) * stride + rng.integers(stride, size=share)].astype(real_of(points)))
    return Survey(farthest=farthest, sample=np.concatenate(drawn))


def read(points: Any, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
    """The rows of these ascending numbers, in memory."""
    if isinstance(points, np.ndarray):
        return np.asarray(points[rows])
    found = np.empty((len(rows), points.shape[1]), points.dtype)
    done = 0
    while done < len(rows):
        start = int(rows[done]) // _ROWS * _ROWS
        end = int(np.searchsorted(rows, start + _ROWS))
        first, last = int(rows[done]), int(rows[end - 1]) + 1
        found[done:end] = _slice(points, first, last)[rows[done:end] - first]
        done = end
    return found


def _slice(points: Any, start: int, stop: int) -> npt.NDArray[Any]:
    """Some rows in memory, which stay as they are when others are read."""
    if isinstance(points, np.ndarray):
        return np.asarray(points[start:stop])
    with _READING:
        return np.array(points[start:stop])


def check_radius(radius: Any, name: str = "radius") -> float:
    """A radius as a float, or raise."""
    number = real_number(radius)
    if not 0 <= number < np.inf:
        raise InvalidInputError(
            f"expected a finite number of at least 0, got {shown(radius)}; pass a distance in the points' unit",
            argument=name,
        )
    return number


def at_least_one(name: str, value: object, what: str) -> int:
    """A whole number from 1 on, or raise; `what` it means."""
    number = whole_number(value)
    if number is None or number < 1:
        raise InvalidInputError(
            f"expected a whole number of at least 1, got {shown(value)}; pass {what}", argument=name
        )
    return number
