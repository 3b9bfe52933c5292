"""Binding of conditions: their values on the device of a session, as the kernels of its walks take them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyopencl.array as cla

from ..conditions import Condition, parts_of
from ..errors import InvalidInputError
from ..functions import Argument, ConditionCode
from ..runtime.session import Session
from .lengths import LONGER, too_short
from .transfer import check_context, lies_ready, own_copy

__all__ = ["BoundCondition", "bind_condition"]


class BoundCondition(NamedTuple):
    """A condition for one request."""

    code: ConditionCode
    #: the values as kernels take them; arrays in full
    values: tuple[Any, ...]
    #: the facts on which the number of pairs depends, besides the contents of arrays
    kind: Hashable
    #: whether each value is an array of the caller's, who may write to it after the call
    borrowed: tuple[bool, ...]

    def owned(self, session: Session) -> BoundCondition:
        """The condition over copies of the caller's arrays, for lists that are written later."""
        values = list(self.values)
        for place, borrowed in enumerate(self.borrowed):
            if borrowed:
                given = values[place]
                values[place] = session.allocate(
                    given.shape, given.dtype, purpose="a copy of an array of the condition"
                )
                session.copy(given, values[place])
        return self._replace(values=tuple(values))

    def hint(self, n: int, m: int) -> str:
        """A line about the arrays that have neither one element for each point nor one for each query."""
        arrays = ((argument.name, value) for argument, value in self._arguments() if argument.buffer)
        other = [f"{name} {value.shape}" for name, value in arrays if value.shape[:1] not in ((n,), (m,))]
        if not other:
            return ""
        counted = f"{n:,} points" if n == m else f"{n:,} points and {m:,} queries"
        return f"\nNot of the length of the {counted}, should that be meant: {', '.join(other)}."

    def _arguments(self) -> zip[tuple[Argument, Any]]:
        return zip(self.code.arguments, self.values, strict=True)


def bind_condition(session: Session, condition: Any, dtype: np.dtype[Any], *, m: int, n: int) -> BoundCondition:
    """The condition of a call with `m` queries for `n` points of that dtype."""
    if not isinstance(condition, Condition):
        raise InvalidInputError(
            f"expected a clfrnn.Condition, got {type(condition).__name__}; wrap the expression: "
            "clfrnn.Condition('kind[i] != kind[j]', kind=...)",
            argument="where",
        )
    code, values, taken, checked = parts_of(condition)
    if checked:
        _check_lengths(code, values, {"i": m, "j": n})
    of_session = taken.setdefault(session, {})
    if dtype not in of_session:  # numbers and host arrays stay as they are
        of_session[dtype] = {
            argument.name: _settle(session, argument, values[argument.name], dtype)
            for argument in code.arguments
            if not isinstance(values[argument.name], cla.Array)
        }
    settled = of_session[dtype]
    found, borrowed = [], []
    for argument in code.arguments:
        value = values[argument.name]
        given = settled[argument.name] if argument.name in settled else _ready(session, argument.name, value)
        found.append(given)
        borrowed.append(given is value and argument.buffer)
    numbers = tuple(value for argument, value in zip(code.arguments, found, strict=True) if not argument.buffer)
    return BoundCondition(code, tuple(found), (code, numbers), tuple(borrowed))


def _check_lengths(code: ConditionCode, values: Mapping[str, Any], many: Mapping[str, int]) -> None:
    """Raise where the expression would read behind one of its arrays, as far as that is known."""
    for each in code.indexed:
        array = values[each.array]
        if problem := too_short(each, array.size, many):
            raise InvalidInputError(
                f"{problem}, got shape {array.shape}, which is {array.size:,}; {LONGER}", argument=each.array
            )


def _settle(session: Session, argument: Argument, value: Any, dtype: np.dtype[Any]) -> Any:
    """A number of the kernel's type, or a copy of a host array on the device."""
    if argument.ctype == "int" and not argument.buffer:
        return np.int32(value)
    if argument.ctype == "double" and not session.profile.fp64:
        raise InvalidInputError(
            f"float64 was given, but {session.profile} has no fp64; convert it with astype(numpy.float32)",
            argument=argument.name,
        )
    if argument.ctype == "real":
        with np.errstate(all="ignore"):
            rounded = np.asarray(value).astype(dtype)
        if (np.isfinite(value) & ~np.isfinite(rounded)).any():
            raise InvalidInputError(
                f"expected numbers within {dtype}, the points' dtype, got {value!r}; pass smaller ones",
                argument=argument.name,
            )
        value = rounded if argument.buffer else dtype.type(rounded)
    return session.upload(value, purpose=f"the condition's {argument.name}") if argument.buffer else value


def _ready(session: Session, name: str, array: cla.Array) -> cla.Array:
    """A device array as kernels can read it: itself, or a copy of a view, or of an array of another queue."""
    if lies_ready(session, array, array.dtype):
        return array
    check_context(session, array, name)
    if not array.flags.c_contiguous:
        raise InvalidInputError(
            f"expected a contiguous array, got shape {array.shape} and strides {array.strides}; pass a copy",
            argument=name,
        )
    return own_copy(session, array)
