"""What a list carries, the bytes that it takes, and the function that writes it."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..functions import WalkFunction
from ..planning.configs import components
from ..runtime.rendering import own_function
from ..runtime.scratch import INT, LONG

__all__ = ["Columns", "is_wide", "most_alike", "offset_type"]

_LARGEST_INT32 = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """What a list carries, and the order inside its rows."""

    distances: bool
    vectors: bool
    sort: str | None
    #: some axis is periodic
    periodic: bool
    #: a row may hold several images of one point
    images: bool
    dim: int
    dtype: np.dtype[Any]

    @functools.cached_property
    def of_pair(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Shape and dtype of what each pair has in every array but the offsets, by name."""
        found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {"indices": ((), INT)}
        if self.distances or self.sort == "distance":
            found["distances"] = ((), self.dtype)
        if self.vectors:
            found["vectors"] = ((self.dim,), self.dtype)
        if (self.vectors and self.periodic) or (self.sort is not None and self.images):
            found["shifts"] = ((self.dim,), INT)
        return found

    @functools.cached_property
    def returned(self) -> tuple[str, ...]:
        """The names of the arrays that the caller gets."""
        asked = {"distances": self.distances, "vectors": self.vectors, "shifts": self.vectors and self.periodic}
        return ("offsets", *(name for name in self.of_pair if asked.get(name, True)))

    @functools.cached_property
    def _sizes(self) -> dict[str, int]:
        """Bytes of a pair in every array but the offsets."""
        return {name: math.prod(shape) * dtype.itemsize for name, (shape, dtype) in self.of_pair.items()}

    @functools.cached_property
    def _widths(self) -> tuple[int, int]:
        """Bytes of a pair in the widest of these arrays, and in all."""
        return max(self._sizes.values()), sum(self._sizes.values())

    @functools.cached_property
    def carried(self) -> int:
        """How many numbers a pair has besides its neighbor's own."""
        return sum(math.prod(shape) for shape, _ in self.of_pair.values()) - 1

    @functools.cached_property
    def indices_alone(self) -> Columns:
        """The same of indices alone."""
        return dataclasses.replace(self, distances=False, vectors=False, sort=None)

    def sizes(self, rows: int, pairs: int) -> dict[str, int]:
        """Bytes of every array that making the list takes."""
        return {
            "offsets": (rows + 1) * offset_type(pairs).itemsize,
            **{name: size * pairs for name, size in self._sizes.items()},
        }

    def footprint(self, rows: int, pairs: int) -> tuple[int, int]:
        """Bytes of the largest of them, and of all."""
        of_offsets = (rows + 1) * (LONG if pairs > _LARGEST_INT32 else INT).itemsize
        widest, whole = self._widths
        return max(of_offsets, widest * pairs), of_offsets + whole * pairs

    def writer(self, offsets: np.dtype[Any], *, bounded: bool, held: int) -> WalkFunction:
        """The function that writes such a list, by offsets of this type: see :func:`own_function`."""
        key = offsets, bounded, held
        if key not in self._writers:
            shifts = "shifts" in self.of_pair
            self._writers[key] = own_function(
                "write",
                offset="long" if offsets == LONG else "int",
                distances="square" if self.sort == "distance" else "root" if self.distances else "",
                vectors=self.vectors,
                shifts=shifts,
                # What is held back is bounded where it need not be, too: a compiler made wrong lists of it otherwise
                # (see asv_benches/lab-book.md).
                bounded=bounded or held > 0,
                held=held,
                components=components(self.dim) if self.vectors or shifts else (),
            )
        return self._writers[key]

    @functools.cached_property
    def _writers(self) -> dict[tuple[np.dtype[Any], bool, int], WalkFunction]:
        return {}


def is_wide(pairs: int) -> bool:
    """Whether the offsets of so many pairs are int64."""
    return pairs > _LARGEST_INT32


def offset_type(pairs: int) -> np.dtype[Any]:
    """The dtype of their offsets."""
    return LONG if pairs > _LARGEST_INT32 else INT


def most_alike(pairs: int) -> float:
    """As many pairs as have offsets of the same type."""
    return math.inf if is_wide(pairs) else _LARGEST_INT32


@functools.lru_cache(maxsize=64)
def make_columns(
    *,
    distances: bool,
    vectors: bool,
    sort: str | None,
    periodic: bool,
    images: bool,
    dim: int,
    dtype: np.dtype[Any],
) -> Columns:
    """The columns that are asked for: one object for the same ones, which finds its sizes and functions once."""
    if sort not in (None, "index", "distance"):
        raise InvalidInputError(
            f"sort: expected None, 'index' or 'distance', got {sort!r}; take None where the order does not matter"
        )
    return Columns(
        distances=distances, vectors=vectors, sort=sort, periodic=periodic, images=images, dim=dim, dtype=dtype
    )
