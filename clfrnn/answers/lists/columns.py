"""Columns: the arrays of a list, their sizes in bytes, and the function that writes them."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from ...config import INT, LONG
from ...errors import InvalidInputError
from ...host.numbers import shown

__all__ = ["Columns", "check_sort", "is_wide", "most_alike", "offset_type"]

_LARGEST_INT32 = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a list, and the order inside its rows."""

    distances: bool
    vectors: bool
    sort: str | None
    #: whether some axis is periodic
    periodic: bool
    #: whether a row may hold several images of one point
    images: bool
    dim: int
    dtype: np.dtype[Any]

    @functools.cached_property
    def of_pair(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """The shape and dtype of a pair's entry in every array but the offsets, by name."""
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
        requested = {"distances": self.distances, "vectors": self.vectors, "shifts": self.vectors and self.periodic}
        return ("offsets", *(name for name in self.of_pair if requested.get(name, True)))

    @functools.cached_property
    def _sizes(self) -> dict[str, int]:
        """The bytes of a pair's entry in every array but the offsets."""
        return {name: math.prod(shape) * dtype.itemsize for name, (shape, dtype) in self.of_pair.items()}

    @functools.cached_property
    def _widths(self) -> tuple[int, int]:
        """The bytes of a pair in the widest of these arrays, and in all."""
        return max(self._sizes.values()), sum(self._sizes.values())

    @functools.cached_property
    def num_attributes(self) -> int:
        """How many numbers a pair has besides the index of its neighbor."""
        return sum(math.prod(shape) for shape, _ in self.of_pair.values()) - 1

    @functools.cached_property
    def indices_alone(self) -> Columns:
        """The columns of the same list without attributes."""
        return dataclasses.replace(self, distances=False, vectors=False, sort=None)

    def sizes(self, rows: int, pairs: int) -> dict[str, int]:
        """The bytes of every array that is allocated to make the list."""
        return {
            "offsets": (rows + 1) * offset_type(pairs).itemsize,
            **{name: size * pairs for name, size in self._sizes.items()},
        }

    def footprint(self, rows: int, pairs: int) -> tuple[int, int]:
        """The bytes of the largest of these arrays, and of all."""
        of_offsets = (rows + 1) * (LONG if pairs > _LARGEST_INT32 else INT).itemsize
        widest, whole = self._widths
        return max(of_offsets, widest * pairs), of_offsets + whole * pairs


def is_wide(pairs: int) -> bool:
    """Whether the offsets of that many pairs are int64."""
    return pairs > _LARGEST_INT32


def offset_type(pairs: int) -> np.dtype[Any]:
    """The dtype of the offsets of that many pairs."""
    return LONG if pairs > _LARGEST_INT32 else INT


def most_alike(pairs: int) -> float:
    """The largest number of pairs with offsets of the same dtype."""
    return math.inf if is_wide(pairs) else _LARGEST_INT32


def check_sort(sort: object) -> str | None:
    """Return the order inside rows, or raise."""
    if sort is not None and (not isinstance(sort, str) or sort not in {"index", "distance"}):
        raise InvalidInputError(
            f"expected None, 'index' or 'distance', got {shown(sort)}; take None where the order does not matter",
            argument="sort",
        )
    return sort


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
    """The columns of a list; equal arguments return the same object, which computes its sizes and functions once."""
    return Columns(
        distances=distances, vectors=vectors, sort=sort, periodic=periodic, images=images, dim=dim, dtype=dtype
    )
