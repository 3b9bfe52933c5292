"""IndexedPoints: what an index tells of its points, their order, and arrays on its device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .answers.kernel_source import KernelSource, make_kernel_source
from .answers.reorder import reorder
from .device_array import DeviceArray
from .domain.systems import Systems
from .errors import InvalidInputError
from .host.numbers import shown, whole_number
from .host.turns import locked
from .methods.traversal import Traversal
from .primitives.fill import clear
from .runtime.session import Session
from .updates import PointUpdates

__all__ = ["IndexedPoints"]

Element = TypeVar("Element", bound=np.generic)


@locked
class IndexedPoints:
    """The part of :class:`clfrnn.Index` that searches nothing."""

    _session: Session
    _updates: PointUpdates

    @property
    def _traversal(self) -> Traversal:
        return self._updates.traversal

    @property
    def session(self) -> Session:
        """The session of the device that holds the index."""
        return self._session

    @property
    def radius(self) -> float:
        """The largest radius of a query, rounded to the points' dtype."""
        return self._traversal.radius

    @property
    def num_points(self) -> int:
        """The number of points."""
        return self._traversal.num_points

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return self._traversal.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the points, in which distances are computed."""
        return self._traversal.dtype

    @property
    def order(self) -> DeviceArray[np.int32]:
        """On the device: the index of the point at each place of the search order, (n,) int32."""
        with self.session.lock:
            return self._traversal.structure.order()

    @overload
    def reorder(self, array: npt.NDArray[Element] | DeviceArray[Element], /) -> DeviceArray[Element]: ...

    @overload
    def reorder(self, array: Any, /) -> DeviceArray[Any]: ...

    @overload
    def reorder(self, *arrays: Any) -> tuple[DeviceArray[Any], ...]: ...

    def reorder(self, *arrays: Any) -> Any:
        """Return rows of `arrays` in search order, ``array[order]``, in a new array on the device for each.

        Parameters
        ----------
        *arrays : (n, ...) of any dtype, on the device or on the host; several are returned as a tuple

        Raises
        ------
        InvalidInputError
            An array has not one row for each point.

        Notes
        -----
        Cost: one read and one write of each array; not waited for.
        """
        return reorder(self._traversal, arrays)

    @property
    def nbytes(self) -> dict[str, int]:
        """The bytes of the index on the device, by buffer."""
        with self.session.lock:
            structure = self._traversal.structure
            sizes = {name: int(each.size) * each.dtype.itemsize for name, each in structure.buffers().items()}
            box = structure.problem.box
            return {**sizes, "systems": box.placing.nbytes} if isinstance(box, Systems) else sizes

    @overload
    def empty(self, shape: int | Sequence[int], dtype: type[Element] | np.dtype[Element]) -> DeviceArray[Element]: ...

    @overload
    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = ...) -> DeviceArray[Any]: ...

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = None) -> DeviceArray[Any]:
        """Make an array on the device for :meth:`~clfrnn.Index.visit`, whose numbers are not set.

        Parameters
        ----------
        shape : whole number, or one for each axis
        dtype : the points' dtype when not given

        Raises
        ------
        InvalidInputError
            `shape` or `dtype` is not of that kind.
        DeviceMemoryError
            There is no memory for it.

        Examples
        --------
        >>> import clfrnn
        >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0)
        >>> index.empty((2, 3), "int32").shape
        (2, 3)
        """
        return self.session.allocate(_as_shape(shape), _as_dtype(dtype, self.dtype), purpose="an array for a visit")

    @overload
    def zeros(self, shape: int | Sequence[int], dtype: type[Element] | np.dtype[Element]) -> DeviceArray[Element]: ...

    @overload
    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = ...) -> DeviceArray[Any]: ...

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = None) -> DeviceArray[Any]:
        """Make an array on the device as :meth:`empty` does, of zeros; not waited for.

        Notes
        -----
        Cost: one write of the array.
        """
        array = self.empty(shape, dtype)
        clear(self.session, array)
        return array

    def check(self) -> None:
        """Wait for the device, and raise errors that earlier calls have not waited for.

        Raises
        ------
        InvalidInputError
            Points, queries or radii on the device were not finite, or a radius was too large.
        """
        self.session.queue.finish()
        self._traversal.checks.settle()

    def kernel_source(self) -> KernelSource:
        """Return a loop over neighbors for your own kernels; its arguments describe the current points."""
        return make_kernel_source(self._traversal, self._updates.method.name)


def _as_shape(shape: object) -> tuple[int, ...]:
    """Return `shape` as a tuple, or raise."""
    listed = isinstance(shape, (list, tuple)) or (isinstance(shape, np.ndarray) and shape.ndim > 0)
    given: Any = shape if listed else (shape,)
    sizes = tuple(-1 if (size := whole_number(each)) is None else size for each in given)
    if min(sizes, default=0) < 0 or max(sizes, default=0) >= 2**63:
        raise InvalidInputError(
            f"shape: expected a whole number, or one for each axis, of at least 0, got {shown(shape)}; pass index."
            "num_points for one number for each point"
        )
    return sizes


def _as_dtype(dtype: npt.DTypeLike | None, default: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype`, or raise where a device has no such numbers."""
    try:
        found = default if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        found = np.dtype(object)
    if found.hasobject:
        raise InvalidInputError(f"dtype: expected a dtype of numbers, got {shown(dtype)}; pass numpy.float32, say")
    return found
