"""DeviceArray: the arrays on a device that users get, which behave like those of numpy."""

from __future__ import annotations

import abc
import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array as cla

from .host.libraries import optional_library
from .host.locks import queue_lock
from .host.memory import check_host_memory
from .host.process import check_process

__all__ = ["ArrayOperations", "DeviceArray", "edges_on_gpu", "read_strided"]

Element_co = TypeVar("Element_co", bound=np.generic, covariant=True)

#: The number of the host among the devices of DLPack.
_DLPACK_HOST = 1, 0

#: The operator that is computed where a number of numpy's stands on its left, by the function that it then calls.
_OPERATOR_OF: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


class ArrayOperations(abc.ABC):
    """What the session of an array computes for it; pyopencl passes it on to new arrays as their allocator."""

    @abc.abstractmethod
    def __call__(self, size: int) -> cl.Buffer:
        """Memory for what pyopencl computes."""

    @abc.abstractmethod
    def memory(self, queue: cl.CommandQueue, size: int, dtype: np.dtype[Any]) -> cl.Buffer | None:
        """Memory for `size` elements that the session's queue writes; None for another queue."""

    @abc.abstractmethod
    def serves(self, array: DeviceArray[Any]) -> bool:
        """Whether kernels can read an array as it is."""

    @abc.abstractmethod
    def result_dtype(self, operation: str, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """The dtype of an operation on elements of a dtype, or None where no kernel computes it."""

    @abc.abstractmethod
    def operate(self, operation: str, out: DeviceArray[Any], sides: Sequence[Any]) -> None:
        """Enqueue an operation on arrays of one layout and numbers, all of one dtype."""

    @abc.abstractmethod
    def address_for_cuda(self, array: DeviceArray[Any], ordinal: int) -> int | None:
        """An address of CUDA with the elements of an array, until the next call; None where there is none."""

    @abc.abstractmethod
    def edges_for_cuda(
        self, offsets: DeviceArray[Any], indices: DeviceArray[Any], ordinal: int, *, points_first: bool
    ) -> Any:
        """The pairs of a list as two rows of int64 in memory that CUDA addresses; None where there is none."""

    @abc.abstractmethod
    def pad(self, offsets: DeviceArray[Any], indices: DeviceArray[Any], fill: int, out: DeviceArray[Any]) -> None:
        """Enqueue the writing of the rows of a list to a table, (rows, columns), filled up with a number."""

    @abc.abstractmethod
    def reduce(self, reduction: str, array: DeviceArray[Any]) -> Any:
        """The sum, min, max, any or all of an array that kernels can read; waits for it."""


def _operators(of_two: Callable[[Any, Any], Any], in_place: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """The methods for an operator: with the array on the left, on the right, and in place."""

    def forward(self: DeviceArray[Any], other: Any) -> Any:
        return _compute(of_two, self, other)

    def reflected(self: DeviceArray[Any], other: Any) -> Any:
        return _compute(of_two, other, self)

    def assign(self: DeviceArray[Any], other: Any) -> Any:
        check_process()
        if _compute_by_kernel(of_two, (self, other), self) is None:
            self[...] = in_place(self.get(), _to_host(other))
        return self

    return forward, reflected, assign


class DeviceArray(cla.Array, Generic[Element_co]):  # type: ignore[misc]  # pyopencl is not read by mypy
    """A ``pyopencl.array.Array`` on the device that behaves like an array of numpy.

    Operators give what numpy gives, in arrays on the device; comparisons give arrays of bool, which index arrays of
    numpy. With an array of numpy on either side, the result is one of numpy. ``sum``, ``min``, ``max``, ``mean``,
    ``any`` and ``all`` compute on the device and return a number of numpy. ``numpy.asarray``, functions of numpy and
    :meth:`get` copy an array to the host. Slices are views on the device; other indices give copies.

    Notes
    -----
    The device computes the operators ``+ - * & | ^ ~``, comparisons, and ``/`` of floats, where all operands have one
    dtype, in which numpy computes, and one layout. All else is copied to the host, computed by numpy, and copied back.

    Examples
    --------
    >>> import clfrnn
    >>> counts = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0).count()
    >>> int(counts.max()), (counts == 0).tolist()
    (1, [False, False, True])
    """

    dtype: np.dtype[Element_co]
    __hash__ = None  # type: ignore[assignment]  # as arrays of numpy

    # Arrays of numpy, and what stands for one in their functions.

    @overload
    def __array__(self, dtype: None = ..., copy: bool | None = ...) -> npt.NDArray[Element_co]: ...

    @overload
    def __array__(self, dtype: npt.DTypeLike, copy: bool | None = ...) -> npt.NDArray[Any]: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A copy in host memory, waited for."""
        if copy is False:
            raise ValueError(
                "copy: expected True or None, got False, and this array lies on a device, from where it must be "
                "copied; call numpy.asarray(array), or array.get()"
            )
        host = self.get()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        """Compute on the host, but ``number * array`` and the like as operators do, also for numbers of numpy's."""
        number = isinstance(inputs[0], (np.generic, np.ndarray)) and inputs[0].ndim == 0
        if method == "__call__" and number and ufunc in _OPERATOR_OF and not named:
            return _compute(_OPERATOR_OF[ufunc], inputs[0][()], *inputs[1:])  # comparisons come with arrays of no axis
        if any(isinstance(each, DeviceArray) for each in named.get("out", ())):
            return NotImplemented
        named = {name: _to_host(value) for name, value in named.items()}
        return getattr(ufunc, method)(*map(_to_host, inputs), **named)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A copy in host memory, waited for, as other libraries take it over."""
        if copy is False or dl_device not in (None, _DLPACK_HOST):
            raise BufferError(
                f"this array is exported as a copy in host memory, got copy={copy} and dl_device={dl_device}; call "
                "from_dlpack(array) without them, and move what it returns"
            )
        # Versions of numpy before 2.1 know no version; callers then try again without one.
        named: dict[str, Any] = {} if max_version is None else {"max_version": max_version}
        host: npt.NDArray[Any] = self.get()
        return host.__dlpack__(stream=stream, **named)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host, where the copy is."""
        return _DLPACK_HOST

    def to_torch(self, device: Any = None, *, out: Any = None) -> Any:
        """A tensor of PyTorch with the same elements.

        Parameters
        ----------
        device : the tensor's device; the CPU when not given
        out : a tensor of the same shape, of any dtype and device, to copy to

        Returns
        -------
        A tensor, which shares no memory with the array

        Raises
        ------
        ClfrnnError
            PyTorch is not installed.

        Notes
        -----
        Cost: a copy to the host. For a tensor on the GPU of the array, two copies on the GPU instead, where its driver
        imports memory of CUDA: see :doc:`/guides/arrays`.
        """
        torch = optional_library("torch", "to_torch()")
        place = out.device if out is not None else torch.device("cpu" if device is None else device)
        shown = self._shown_on(torch, place) if place.type == "cuda" else None
        found = torch.from_numpy(self.get()) if shown is None else shown
        if out is not None:
            out.copy_(found)
        else:
            out = found if found.device == place and shown is None else found.to(place, copy=True)
        if shown is not None:
            torch.cuda.current_stream(place).synchronize()  # before the memory is written to again
        return out

    def _shown_on(self, torch: Any, place: Any) -> Any:
        """A tensor on a GPU over memory that both drivers see, until the next one; None where there is none."""
        operations, ordinal = self.allocator, _ordinal(torch, place)
        if not isinstance(operations, ArrayOperations):
            return None
        with _lock_of(self.queue):
            address = operations.address_for_cuda(self, ordinal)
        return None if address is None else torch.as_tensor(_AtAddress(self, address), device=f"cuda:{ordinal}")

    def get(self, queue: cl.CommandQueue | None = None, ary: npt.NDArray[Any] | None = None) -> npt.NDArray[Element_co]:
        """Wait for the device, and return a copy, an array of numpy; it is written to `ary` where that is given.

        Raises :class:`~clfrnn.errors.DeviceMemoryError` where the host has no memory for it.
        """
        check_process()
        check_host_memory(self.nbytes, "a copy in host memory")
        queue = queue or self.queue
        with _lock_of(queue):
            if self.flags.forc:
                found: npt.NDArray[Any] = super().get(queue, ary)
                return found
            host = read_strided(queue, self)
        if ary is None:
            return host
        ary[...] = host
        return ary

    def tolist(self) -> Any:
        """The elements as numbers of Python, in lists for the axes."""
        return self.get().tolist()

    def item(self, *index: Any) -> Any:
        """The only element, or that at an index, as a number of Python."""
        return self.get().item(*index)

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    if not TYPE_CHECKING:  # for which an index of an array of numpy would be one number

        def __index__(self) -> int:
            # numpy tries this for each index before it takes an array of indices.
            return operator.index(self.get() if not self.shape else np.empty(2))

    def __format__(self, form: str) -> str:
        return format(self.get(), form)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def __contains__(self, value: object) -> bool:
        return value in self.get()

    def __copy__(self) -> DeviceArray[Element_co]:
        """A copy on the device, in the order of the array's queue."""
        copied: DeviceArray[Element_co] = self.copy()
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceArray[Element_co]:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an array on a device cannot be pickled; pickle array.get(), and copy that to a device again")

    # Operators.

    __add__, __radd__, __iadd__ = _operators(operator.add, operator.iadd)
    __sub__, __rsub__, __isub__ = _operators(operator.sub, operator.isub)
    __mul__, __rmul__, __imul__ = _operators(operator.mul, operator.imul)
    __truediv__, __rtruediv__, __itruediv__ = _operators(operator.truediv, operator.itruediv)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators(operator.floordiv, operator.ifloordiv)
    __mod__, __rmod__, __imod__ = _operators(operator.mod, operator.imod)
    __pow__, __rpow__, __ipow__ = _operators(operator.pow, operator.ipow)
    __matmul__, __rmatmul__, __imatmul__ = _operators(operator.matmul, operator.imatmul)
    __rand__, __iand__ = _operators(operator.and_, operator.iand)[1:]
    __ror__, __ior__ = _operators(operator.or_, operator.ior)[1:]
    __rxor__, __ixor__ = _operators(operator.xor, operator.ixor)[1:]
    __lshift__, __rlshift__, __ilshift__ = _operators(operator.lshift, operator.ilshift)
    __rshift__, __rrshift__, __irshift__ = _operators(operator.rshift, operator.irshift)
    __divmod__, __rdivmod__ = _operators(divmod, divmod)[:2]

    def __and__(self, other: Any) -> DeviceArray[Element_co]:
        return _compute(operator.and_, self, other)

    def __or__(self, other: Any) -> DeviceArray[Element_co]:
        return _compute(operator.or_, self, other)

    def __xor__(self, other: Any) -> DeviceArray[Element_co]:
        return _compute(operator.xor, self, other)

    def __eq__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.eq, self, other)

    def __ne__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.ne, self, other)

    def __lt__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.lt, self, other)

    def __le__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.le, self, other)

    def __gt__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.gt, self, other)

    def __ge__(self, other: object) -> DeviceArray[np.bool_]:
        return _compute(operator.ge, self, other)

    def __invert__(self) -> DeviceArray[Element_co]:
        return _compute(operator.invert, self)

    def __neg__(self) -> DeviceArray[Element_co]:
        return _compute(operator.neg, self)

    def __pos__(self) -> DeviceArray[Element_co]:
        return _compute(operator.pos, self)

    def __abs__(self) -> DeviceArray[Any]:
        return _compute(operator.abs, self)

    # Reductions: without arguments on the device, with those of numpy on the host.

    def sum(self, *given: Any, **named: Any) -> Any:
        """The sum of all elements, as ``numpy.sum``, whose arguments are taken."""
        return _reduce(self, "sum", given, named)

    def min(self, *given: Any, **named: Any) -> Any:
        """The smallest element, as ``numpy.min``, whose arguments are taken."""
        return _reduce(self, "min", given, named)

    def max(self, *given: Any, **named: Any) -> Any:
        """The largest element, as ``numpy.max``, whose arguments are taken."""
        return _reduce(self, "max", given, named)

    def any(self, *given: Any, **named: Any) -> Any:
        """Whether any element is true, as ``numpy.any``, whose arguments are taken."""
        return _reduce(self, "any", given, named)

    def all(self, *given: Any, **named: Any) -> Any:
        """Whether all elements are true, as ``numpy.all``, whose arguments are taken."""
        return _reduce(self, "all", given, named)

    def mean(self, *given: Any, **named: Any) -> Any:
        """The mean of all elements, as ``numpy.mean``, whose arguments are taken."""
        narrow = self.dtype.kind in "biu" and self.dtype.itemsize < np.dtype(np.int64).itemsize
        if _has_values(given, named) or not self.size or not (narrow or self.dtype in (np.float32, np.float64)):
            return self.get().mean(*given, **named)
        return np.float64(self.sum()) / self.size if narrow else self.dtype.type(self.sum() / self.size)

    # Elements.

    def __getitem__(self, key: Any) -> Any:
        if not _is_basic(key):
            return self._new_from(self.get()[_to_host(key)])
        # numpy finds the shape, the strides and the offset of a view. Its memory is not there, so it is never read.
        whole = np.lib.stride_tricks.as_strided(np.empty(0, self.dtype), self.shape, self.strides, writeable=False)
        keys = key if isinstance(key, tuple) else (key,)
        view = whole[keys if any(each is ... for each in keys) else (*keys, ...)]
        offset = self.offset + view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        return self._new_with_changes(
            self.base_data, offset=offset if view.size else 0, shape=view.shape, strides=view.strides
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        check_process()
        if not _is_basic(key):
            host = self.get()
            host[_to_host(key)] = _to_host(value)
            self._write(host)
            return
        target = self[key]
        if not target._copy_from(value):  # noqa: SLF001
            given = _to_host(value)
            if np.ndim(given) == 0 and target.flags.forc and target.dtype.kind in "iuf":
                number = np.empty((), target.dtype)
                number[...] = given
                with _lock_of(target.queue):
                    cla.Array.fill(target, number[()])
                return
            host = np.empty(target.shape, target.dtype)
            host[...] = given
            target._write(host)  # noqa: SLF001

    def _copy_from(self, other: Any) -> bool:
        """Copy an array of the same layout and queue on the device; return whether it is one."""
        if not isinstance(other, DeviceArray) or not _is_like(other, self) or _overlaps(other, self):
            return False
        if self.size and self.base_data is not other.base_data:
            with _lock_of(self.queue):
                stretch = {"src_offset": other.offset, "dst_offset": self.offset, "byte_count": self.nbytes}
                before = [*self.events, *other.events]
                self.add_event(cl.enqueue_copy(self.queue, self.base_data, other.base_data, **stretch, wait_for=before))
        return True

    def _write(self, host: npt.NDArray[Any]) -> None:
        """Set all elements to those of `host`."""
        check_process()
        if not self.size:
            return
        with _lock_of(self.queue):
            if self.flags.forc:
                self.set(np.asarray(host, order="C" if self.flags.c_contiguous else "F"))
            else:
                _write_strided(self.queue, self, host)

    def _new_from(self, host: Any) -> Any:
        """An array of numpy on the device of this one; anything else as it is, as numbers are."""
        if type(host) is tuple:
            return tuple(map(self._new_from, host))
        if type(host) is not np.ndarray or not host.ndim:
            return host
        found = _empty(self, host.shape, host.dtype)
        found._write(host)  # noqa: SLF001
        return found

    # What pyopencl has for arrays without steps, and for some dtypes.

    def setitem(self, subscript: Any, value: Any, queue: Any = None, wait_for: Any = None) -> None:  # noqa: ARG002
        """As ``array[subscript] = value``."""
        self[subscript] = value

    def copy(self, queue: Any = None) -> DeviceArray[Element_co]:
        """A copy on the device."""
        if self.flags.forc and queue is None:
            with _lock_of(self.queue):
                return super().copy()
        copied = self._new_from(np.atleast_1d(self.get())).reshape(self.shape)
        return copied if queue is None else copied.with_queue(queue)

    def astype(self, dtype: npt.DTypeLike, queue: Any = None) -> DeviceArray[Any]:  # noqa: ARG002
        """A copy in another dtype, converted by numpy on the host."""
        if np.dtype(dtype) == self.dtype:
            return self.copy()
        return self._new_from(np.atleast_1d(self.get().astype(dtype))).reshape(self.shape)

    def fill(self, value: object, queue: Any = None, wait_for: Any = None) -> DeviceArray[Element_co]:  # noqa: ARG002
        """Set all elements to `value`."""
        self[...] = value
        return self

    def squeeze(self) -> DeviceArray[Element_co]:
        """A view without the axes of length 1."""
        return self[tuple(0 if length == 1 else slice(None) for length in self.shape)]


def edges_on_gpu(
    torch: Any, place: Any, offsets: DeviceArray[Any], indices: DeviceArray[Any], *, points_first: bool
) -> Any:
    """The pairs of a list as a tensor on a GPU, (2, pairs) int64, over memory that both drivers see; else None."""
    operations = indices.allocator
    if place.type != "cuda" or not isinstance(operations, ArrayOperations):
        return None
    ordinal = _ordinal(torch, place)
    with _lock_of(indices.queue):
        shared = operations.edges_for_cuda(offsets, indices, ordinal, points_first=points_first)
    return None if shared is None else torch.as_tensor(shared, device=f"cuda:{ordinal}")


def padded_on_device(
    offsets: DeviceArray[Any], indices: DeviceArray[np.int32], columns: int, fill: int
) -> DeviceArray[np.int32]:
    """The rows of a list as a table on its device, (rows, columns), filled up with a number."""
    found = _empty(indices, (offsets.size - 1, columns), indices.dtype)
    if not indices.size:
        return found.fill(fill) if found.size else found
    operations = indices.allocator
    assert isinstance(operations, ArrayOperations), "lists are of sessions"
    with _lock_of(indices.queue):
        operations.pad(offsets, indices, fill, found)
    return found


def _ordinal(torch: Any, place: Any) -> int:
    """The number of a GPU, as CUDA counts them."""
    return int(torch.cuda.current_device() if place.index is None else place.index)


class _AtAddress:
    """The elements of an array at an address of CUDA, as libraries take them."""

    def __init__(self, array: DeviceArray[Any], address: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (address, False),
            "version": 3,
            "stream": None,
        }


def _lock_of(queue: cl.CommandQueue | None) -> AbstractContextManager[Any]:
    """The lock of a queue, where there is one."""
    return contextlib.nullcontext() if queue is None else queue_lock(queue.int_ptr)


def _to_host(value: Any) -> Any:
    """A device array, also in a tuple or list, as one of numpy; anything else as it is."""
    if isinstance(value, DeviceArray):
        return value.get()
    return type(value)(map(_to_host, value)) if type(value) in (tuple, list) else value


def _is_basic(key: Any) -> bool:
    """Whether an index gives a view: whole numbers, slices, ``...`` and None."""
    keys = key if isinstance(key, tuple) else (key,)
    return all(each is None or each is ... or isinstance(each, slice) or _is_whole(each) for each in keys)


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_array(side: object) -> bool:
    """Whether an operand is an array on a device with axes, whose elements kernels go through."""
    return isinstance(side, DeviceArray) and side.shape != ()


def _is_like(one: DeviceArray[Any], other: DeviceArray[Any]) -> bool:
    """Whether two arrays have the same queue and dtype, and their elements at the same offsets."""
    if one.shape != other.shape or one.dtype != other.dtype or one.queue is None or one.queue != other.queue:
        return False
    return bool(
        (one.flags.c_contiguous and other.flags.c_contiguous) or (one.flags.f_contiguous and other.flags.f_contiguous)
    )


def _overlaps(one: DeviceArray[Any], other: DeviceArray[Any]) -> bool:
    """Whether two arrays may share memory without being the same elements."""
    return one.base_data is other.base_data and one.offset != other.offset


def _as_number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as one of `dtype`, where numpy computes in it with an array of `dtype`; else None."""
    if isinstance(value, (DeviceArray, np.ndarray)):  # without axes, or refused here
        value = value[()] if isinstance(value, np.ndarray) else value.get()[()]
    if not isinstance(value, (int, float, np.generic)):
        return None
    try:
        return dtype.type(value) if np.result_type(dtype, value) == dtype else None
    except (OverflowError, TypeError, ValueError):
        return None


def _has_values(given: Sequence[Any], named: Mapping[str, Any]) -> bool:
    """Whether an argument of numpy is given: functions of numpy pass all, as None."""
    return any(value is not None for value in (*given, *named.values()))


def _reduce(array: DeviceArray[Any], reduction: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A reduction of all elements by a kernel; by numpy with arguments, and for arrays that kernels do not read."""
    check_process()
    operations = array.allocator
    if isinstance(operations, ArrayOperations) and not _has_values(given, named):
        with _lock_of(array.queue):
            if operations.serves(array):
                return operations.reduce(reduction, array)
    return getattr(array.get(), reduction)(*given, **named)


def _empty(like: DeviceArray[Any], shape: tuple[int, ...], dtype: Any, order: str = "C") -> DeviceArray[Any]:
    """An array on the device of another one."""
    operations, dtype, memory = like.allocator, np.dtype(dtype), None
    if isinstance(operations, ArrayOperations):
        memory = operations.memory(like.queue, math.prod(shape), dtype)
    return DeviceArray(like.queue, shape, dtype, order=order, data=memory, allocator=operations)


def _compute(of_python: Callable[..., Any], *sides: Any) -> Any:
    """What an operator of Python gives: by a kernel where that is what numpy gives, else by numpy."""
    if any(isinstance(side, np.ndarray) and side.ndim for side in sides):
        return NotImplemented  # the array of numpy computes, by __array_ufunc__
    check_process()
    found = _compute_by_kernel(of_python, sides)
    if found is None:
        first = next(side for side in sides if isinstance(side, DeviceArray))
        found = first._new_from(of_python(*map(_to_host, sides)))  # noqa: SLF001
    return found


def _compute_by_kernel(
    of_python: Callable[..., Any], sides: Sequence[Any], out: DeviceArray[Any] | None = None
) -> DeviceArray[Any] | None:
    """The result of an operator in a new array, or in `out`; None where numpy has to compute it."""
    arrays = [side for side in sides if _is_array(side)]
    operations = arrays[0].allocator if arrays else None
    if not isinstance(operations, ArrayOperations):
        return None
    lead = arrays[0]
    dtype = operations.result_dtype(of_python.__name__, lead.dtype)
    if dtype is None or not all(_is_like(each, lead) and operations.serves(each) for each in arrays):
        return None
    if out is not None and (
        dtype != out.dtype or not _is_like(out, lead) or any(_overlaps(each, out) for each in arrays)
    ):
        return None
    with _lock_of(lead.queue):
        alike = [side if _is_array(side) else _as_number(side, lead.dtype) for side in sides]
        if any(side is None for side in alike):
            return None
        if out is None:
            out = _empty(lead, lead.shape, dtype, "C" if lead.flags.c_contiguous else "F")
        operations.operate(of_python.__name__, out, alike)
    return out


def read_strided(queue: cl.CommandQueue, array: cla.Array) -> np.ndarray[Any, Any]:
    """A device array of any strides in host memory: the part of memory that it covers, in one transfer."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    start, view = _covered(array)
    before = list(array.events) or None
    cl.enqueue_copy(queue, view.base, array.base_data, src_offset=start, wait_for=before)
    return view


def _write_strided(queue: cl.CommandQueue, array: cla.Array, values: npt.NDArray[Any]) -> None:
    """Set the elements of a device array of any strides; what lies between them is read and written back."""
    start, view = _covered(array)
    before = list(array.events) or None
    cl.enqueue_copy(queue, view.base, array.base_data, src_offset=start, wait_for=before)
    view[...] = values
    cl.enqueue_copy(queue, array.base_data, view.base, dst_offset=start)


def _covered(array: cla.Array) -> tuple[int, np.ndarray[Any, Any]]:
    """Where the part of memory begins that an array covers, and the array over as many bytes on the host."""
    steps = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    last, first = sum(step for step in steps if step > 0), sum(step for step in steps if step < 0)
    stretch = np.empty(last - first + array.dtype.itemsize, np.uint8)
    return array.offset + first, np.ndarray(array.shape, array.dtype, stretch, -first, array.strides)
