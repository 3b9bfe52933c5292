"""Types of what the public calls take, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

__all__ = ["Flags", "MethodName", "MethodOptions", "Numbers", "Radius", "Rows", "Sort"]


class _OnDevice(Protocol):
    """An array of pyopencl's."""

    @property
    def base_data(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


class _WithArray(Protocol):
    """What numpy converts: data frames, tensors, arrays of other libraries."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


#: numpy's type of all that it converts takes in strings too, which no call takes.
_Array: TypeAlias = "npt.NDArray[Any] | _WithArray | _OnDevice"

#: An array of shape (rows, dim).
Rows: TypeAlias = "_Array | Sequence[Sequence[float] | npt.NDArray[Any]]"

#: A number, or one for each query.
Radius: TypeAlias = "float | np.number[Any] | _Array | Sequence[float]"

#: Lengths, corners or lattice vectors.
Numbers: TypeAlias = "npt.NDArray[Any] | _WithArray | Sequence[float | Sequence[float] | npt.NDArray[Any]]"

#: Which axes repeat.
Flags: TypeAlias = "bool | np.bool_ | Literal[0, 1] | npt.NDArray[Any] | Sequence[bool | np.bool_ | Literal[0, 1]]"

MethodName: TypeAlias = Literal["auto", "brute_force", "uniform_grid", "strips", "fenns", "aabb_tree"]

Sort: TypeAlias = Literal["index", "distance"]


class MethodOptions(TypedDict, total=False):
    """The options of all methods; each method takes some of them."""

    construction: Literal["counting", "sort", "morton", "median"]
    bin_width: float | None
    coarse_shape: int | Sequence[int] | npt.NDArray[Any] | None
    leaf_size: int | None
    rebuild_threshold: float
