"""Binding: checks the values for the arguments of a NeighborFunction, and brings them to the device."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..config import LANES, vector_length
from ..errors import ArgumentError
from ..functions import CALL_KEYWORDS, Argument, WalkFunction
from ..host.keywords import hint
from ..host.numbers import briefly, is_masked
from ..runtime.session import Session
from .adoption import adopt
from .lengths import LONGER, too_short
from .transfer import await_queue, check_context

__all__ = ["Bound", "bind"]

_DTYPES = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bound:
    """The values of a function's arguments as kernels take them, and the caller's device arrays among them."""

    values: list[Any]
    written: list[cla.Array]
    #: the caller's device arrays, whether the function writes to them or not
    borrowed: list[cla.Array]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Kind:
    """A type of OpenCL C: the dtype and number of its lanes."""

    dtype: np.dtype[Any]
    lanes: int

    @property
    def stored(self) -> int:
        return 4 if self.lanes == 3 else self.lanes


def bind(
    session: Session,
    function: WalkFunction,
    given: Mapping[str, Any],
    *,
    dtype: np.dtype[Any],
    dim: int,
    many: Mapping[str, int] | None = None,
) -> Bound:
    """Bind the values `given` for the arguments of `function`; raise ArgumentError for a value that does not fit.

    `many` are the numbers of queries and of points, by the names of their indices: arrays that the code indexes by one
    of these have as many elements, and those that it may write to one for each query. None checks no lengths.
    """
    declared = {argument.name: argument for argument in function.parsed_arguments}
    if unknown := sorted(given.keys() - declared.keys()):
        found = hint(unknown[0], declared.keys() | CALL_KEYWORDS)
        raise ArgumentError(
            f"not declared by the function, which takes {_listed(declared)}; {found or 'rename or declare it'}",
            argument=_listed(unknown),
        )
    if missing := [name for name in declared if name not in given]:
        raise ArgumentError(f"declared by the function and not given; pass {missing[0]}=...", argument=_listed(missing))
    values: list[Any] = []
    written: list[cla.Array] = []
    borrowed: list[cla.Array] = []
    for name, argument in declared.items():
        kind = _kind(argument.ctype, dtype, dim)
        if not argument.buffer:
            assert kind is not None
            values.append(_value(name, argument, given[name], kind, dim))
            continue
        array = _as_array(session, given[name], name) if argument.const else given[name]
        values.append(_buffer(session, argument, array, kind))
        if isinstance(array, cla.Array):
            borrowed.append(array)
        if many is not None:
            _check_length(function, argument, array, kind or _kind(function.element_of(argument), dtype, dim), many)
        if not argument.const:
            written.append(array)
    return Bound(values=values, written=written, borrowed=borrowed)


def _kind(ctype: str, dtype: np.dtype[Any], dim: int) -> _Kind | None:
    """The kind of a declared type; None for a type of the user's own."""
    if ctype == "real":
        return _Kind(dtype=dtype, lanes=1)
    if ctype == "real_vec":
        return _Kind(dtype=dtype, lanes=vector_length(dim))
    match = re.fullmatch(r"([a-z]+)(\d*)", ctype)
    if not match or match[1] not in _DTYPES or int(match[2] or 1) not in LANES:
        return None
    return _Kind(dtype=np.dtype(_DTYPES[match[1]]), lanes=int(match[2] or 1))


def _value(name: str, argument: Argument, given: Any, kind: _Kind, dim: int) -> Any:
    """A value for an argument that is a number or a vector."""
    wanted = dim if argument.ctype == "real_vec" else kind.lanes
    numbers = _as_numbers(given, kind, wanted)
    shape = () if kind.lanes == 1 and argument.ctype != "real_vec" else (wanted,)
    fits = numbers.shape == shape or (wanted == 1 and numbers.shape == ())
    if not fits or numbers.dtype.kind not in ("fiub" if kind.dtype.kind == "f" else "iub"):
        whole = "whole " if kind.dtype.kind in "iu" else ""
        what = f"a {whole}number" if wanted == 1 else f"{wanted} {whole}numbers"
        how = "a number of Python's or numpy's" if wanted == 1 else "a sequence or an array of as many"
        raise ArgumentError(
            f"expected {what} for '{argument.ctype} {name}', got {_shown(given)}; pass {how}", argument=name
        )
    with np.errstate(all="ignore"):
        lanes = np.zeros(kind.stored, kind.dtype)
        lanes[:wanted] = numbers.astype(kind.dtype)
    lost = np.isfinite(numbers) & ~np.isfinite(lanes[:wanted])
    if kind.dtype.kind in "iu":
        limits = np.iinfo(kind.dtype)
        exact = [int(number) for number in np.atleast_1d(numbers)]
        lost = np.array([not limits.min <= number <= limits.max for number in exact])
    if np.any(lost):
        raise ArgumentError(
            f"expected what fits into '{argument.ctype} {name}', got {_shown(given)}; declare a wider type",
            argument=name,
        )
    return lanes if kind.lanes > 1 else lanes[0]


def _as_numbers(given: Any, kind: _Kind, wanted: int) -> np.ndarray[Any, Any]:
    """`given` as an array of numbers, or as an array of objects, which is refused later, where it is something else."""
    nothing = np.zeros((), object)
    try:
        numbers = nothing if isinstance(given, cla.Array) or is_masked(given) else np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        return nothing
    if numbers.dtype.names is None:
        return numbers
    base, many = _base(numbers.dtype)
    return np.frombuffer(numbers.tobytes(), base)[:wanted] if many == kind.stored and not numbers.ndim else nothing


def _as_array(session: Session, given: Any, name: str) -> Any:
    """An array of another library as one of numpy or of the session; all other values as they are."""
    array = adopt(session, given, name)
    if isinstance(array, (np.ndarray, np.generic, cla.Array)) or not hasattr(array, "__array__"):
        return array
    try:
        return np.asarray(array)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ArgumentError(
            f"expected an array, got {type(given).__name__} that numpy cannot convert ({error}); convert it",
            argument=name,
        ) from None


def _buffer(session: Session, argument: Argument, given: Any, kind: _Kind | None) -> Any:
    """The buffer for a global pointer; a const pointer also accepts a host array."""
    name, declared = argument.name, f"'global {'const ' * argument.const}{argument.ctype} *{argument.name}'"
    if isinstance(given, np.ndarray) and not argument.const:
        raise ArgumentError(
            f"expected a pyopencl.array.Array for {declared}, got a numpy array, which a kernel cannot write "
            "to; pass index.zeros(shape, dtype) or clfrnn.to_device(array), or declare it const",
            argument=name,
        )
    if not isinstance(given, (np.ndarray, cla.Array)):
        also = "numpy array or " if argument.const else ""
        raise ArgumentError(
            f"expected a {also}pyopencl.array.Array for {declared}, got {_shown(given)}; pass clfrnn.to_device(array)",
            argument=name,
        )
    _check_elements(name, declared, given, kind)
    if is_masked(given):
        raise ArgumentError(f"expected plain numbers for {declared}, got a masked array; fill it first", argument=name)
    if isinstance(given, np.ndarray):
        return session.upload(np.ascontiguousarray(given), purpose=f"the argument {name}").base_data
    check_context(session, given, name)
    if not given.flags.c_contiguous:
        raise ArgumentError(
            f"expected a contiguous array for {declared}, got shape {given.shape} and strides {given.strides}; "
            "pass a copy",
            argument=name,
        )
    await_queue(session, given)
    return _memory(session, argument, given, declared)


def _check_elements(name: str, declared: str, given: Any, kind: _Kind | None) -> None:
    """Raise where the elements of `given` do not have the declared type; a user's own type is not checked."""
    base, numbers = _base(given.dtype)
    if kind is None:
        if given.dtype.hasobject:
            raise ArgumentError(
                f"expected numbers for {declared}, got {given.dtype}; convert it with astype", argument=name
            )
        return
    if base != kind.dtype and not (base == np.dtype(bool) and kind.dtype.itemsize == 1):
        raise ArgumentError(
            f"expected {kind.dtype} for {declared}, got {given.dtype}; convert it with astype(numpy.{kind.dtype})",
            argument=name,
        )
    # Rows of three numbers must not be read as vectors of three, which occupy four numbers. Flat arrays may hold
    # either.
    row = numbers * (given.shape[-1] if given.ndim else 1)
    if row % kind.stored:
        remedy = "declare the type of one number and index it by row"
        if kind.lanes == 3:
            remedy = "declare a pointer to one number and use vload3 and vstore3, whose rows are of three"
        raise ArgumentError(
            f"expected rows of {kind.stored} {kind.dtype} for {declared}, got shape {given.shape}; "
            f"fill rows up with zeros, or {remedy}",
            argument=name,
        )


def _check_length(
    function: WalkFunction, argument: Argument, array: Any, kind: _Kind | None, many: Mapping[str, int]
) -> None:
    """Raise where the code of `function` reads or writes beyond an array, as far as that is known."""
    name = argument.name
    elements = array.nbytes // max(1, array.dtype.itemsize if kind is None else kind.stored * kind.dtype.itemsize)
    if not argument.const and elements < many["i"]:
        raise ArgumentError(
            f"expected one element of 'global {argument.ctype} *{name}' for each of {many['i']:,} queries, got "
            f"{_shown(array)}, which is {elements:,}; the code may write beyond it: pass a longer array, "
            f"index.zeros({many['i']}) say, or checked=False where the code writes to fewer places",
            argument=name,
        )
    for each in function.indexed:
        if each.array == name and (problem := too_short(each, elements, many)):
            raise ArgumentError(f"{problem}, got {_shown(array)}, which is {elements:,}; {LONGER}", argument=name)


def _memory(session: Session, argument: Argument, array: cla.Array, declared: str) -> Any:
    """The buffer of a contiguous device array, from its first element on."""
    if array.offset == 0 or not array.nbytes:
        return array.base_data
    alignment = max(1, session.device.mem_base_addr_align // 8)
    if array.offset % alignment == 0:
        with contextlib.suppress(cl.Error):  # a part of a part, which OpenCL does not have
            # Buffers of pools are objects of a class that has no parts.
            return cl.Buffer.from_int_ptr(array.base_data.int_ptr).get_sub_region(array.offset, array.nbytes)
    if not argument.const:
        raise ArgumentError(
            f"expected an array that starts its buffer for {declared}, got a view {array.offset} "
            f"bytes into one; {session.profile.name} addresses parts that start at multiples of {alignment} bytes. "
            "Pass the whole array and index it, or a copy",
            argument=argument.name,
        )
    copy = session.allocate(array.shape, array.dtype, purpose=f"the argument {argument.name}")
    session.copy(array, copy)
    return copy.base_data


def _base(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int]:
    """The dtype of the numbers that an element consists of, and how many they are."""
    if dtype.names is None:
        return (dtype.subdtype[0], int(np.prod(dtype.subdtype[1]))) if dtype.subdtype else (dtype, 1)
    bases = {dtype[field] for field in dtype.names}
    base = bases.pop() if len(bases) == 1 else dtype
    return base, dtype.itemsize // base.itemsize


def _listed(names: Any) -> str:
    return ", ".join(names) or "nothing"


def _shown(value: Any) -> str:
    if isinstance(value, (np.ndarray, cla.Array)):
        return f"{type(value).__name__} of shape {value.shape} and {value.dtype}"
    return briefly(value)
