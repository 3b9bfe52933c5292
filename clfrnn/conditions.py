"""Condition: an expression of a pair and its values; a search with it finds only the neighbors for which it holds."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Hashable, Mapping
from typing import Any, final

import numpy as np
import pyopencl.array as cla

from .arrays import is_device_array, is_masked
from .errors import InvalidInputError
from .functions import Argument, ConditionCode, check_name, check_text
from .host.dlpack import to_numpy
from .scanner import (
    Token,
    check_names,
    check_preamble,
    check_reading,
    definitions,
    expanded,
    forbidden_macros,
    forbidden_word,
    is_keyword,
    tokens,
    too_deep,
    unbalanced,
)

__all__ = ["Condition", "parts_of"]

_ADVICE = "a condition is one expression: compare with ==, combine with && and ||, choose with ? :, call functions"

_STATEMENTS = frozenset(["if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue"])
_COMPOUND = frozenset("+-*/%&|^")

#: The type in OpenCL C of an array's numbers.
_CTYPES = {
    np.dtype(bool): "uchar",
    np.dtype(np.int8): "char",
    np.dtype(np.uint8): "uchar",
    np.dtype(np.int16): "short",
    np.dtype(np.uint16): "ushort",
    np.dtype(np.int32): "int",
    np.dtype(np.uint32): "uint",
    np.dtype(np.int64): "long",
    np.dtype(np.uint64): "ulong",
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
}
_INT = np.iinfo(np.int32)


@final
class Condition:
    """An expression that a pair must satisfy to count: ``where=`` of searches, queries, counts and visits.

    Parameters
    ----------
    expression : one expression of OpenCL C, of whole numbers or floats; a pair counts where it is not zero
    preamble : stands before the kernel: functions, types, ``#define``
    checked : whether a search refuses arrays that are shorter than the expression needs, as far as that is known
    **values : what the expression names. Arrays, of numpy or on the device, of any shape and length, are ``global const
        T *`` of their flat numbers; floats are numbers of the points' type, ``real``, and ints are ``int``. Lists of
        floats are arrays of ``real``. Host arrays are copied here; device arrays are read at each search.

    Raises
    ------
    InvalidInputError
        The expression has a statement, an assignment, ``return``, ``goto`` or a barrier; or it is longer or deeper than
        compilers take; or the preamble defines a word of OpenCL C or a name that the library uses; or a name is in use;
        or a value is neither a number nor an array of numbers. A search raises it for an array that is too short.

    Notes
    -----
    The expression may use the names of a :class:`NeighborFunction` but ``reach2``: ``int i, j``, the numbers of query
    and neighbor in your arrays; ``d2``, the squared distance; ``dx``, the vector from query to neighbor; ``shift``,
    where a periodic image lies, in whole lengths of the box; ``r2``, the squared radius; and the types ``real`` and
    ``real_vec``.

    It is evaluated for pairs within the radius alone, any number of times, so functions that it calls must not write.
    With ``half=True`` it must be symmetric: it is evaluated for one of (i, j) and (j, i).

    An array that the expression indexes by bare ``i``, as ``kind[i]``, has at least one element for each query, and one
    that it indexes by bare ``j`` has one for each point; each search checks that, unless `checked` is False. Other
    indices cannot be known: see :doc:`/guides/conditions`.

    A condition can be copied and pickled if its arrays are on the host.

    Cost: one compilation for each text and kind of query; a condition of numbers and device arrays that is used again
    compiles nothing and copies nothing, and host arrays are copied to each session once.

    Examples
    --------
    >>> import clfrnn
    >>> points = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    >>> others = clfrnn.Condition("kind[i] != kind[j]", kind=[0, 0, 1])
    >>> clfrnn.build_index(points, 3.0).count(where=others).get().tolist()
    [1, 1, 2]
    """

    __slots__ = ("__weakref__", "_checked", "_code", "_taken", "_values")

    def __init__(self, /, expression: str, preamble: str = "", *, checked: bool = True, **values: Any) -> None:
        for name, text in (("expression", expression), ("preamble", preamble)):
            check_text(name, text)
        _check_texts(expression, preamble)
        found = {name: _take(name, value) for name, value in values.items()}
        code = _code_of(expression, preamble, tuple(argument for argument, _ in found.values()))
        values = {name: value for name, (_, value) in found.items()}
        self.__setstate__((code, values, bool(checked)))

    def __setstate__(self, state: tuple[ConditionCode, dict[str, Any], bool]) -> None:
        """Set the text, the values by name, and whether lengths are checked."""
        self._code, self._values, self._checked = state
        #: by session, what was made of the values on its device
        self._taken: weakref.WeakKeyDictionary[Any, dict[Hashable, Any]] = weakref.WeakKeyDictionary()

    def __getstate__(self) -> tuple[ConditionCode, dict[str, Any], bool]:
        """All but what was made of the values on devices, for copies and pickles."""
        if on_device := [name for name, value in self._values.items() if is_device_array(value)]:
            raise TypeError(
                f"a Condition with arrays on a device, here {', '.join(on_device)}, cannot be pickled or copied; make "
                "another one, with host arrays (array.get()) where it is to be pickled"
            )
        return self._code, self._values, self._checked

    @property
    def expression(self) -> str:
        """The text of the expression."""
        return self._code.expression

    @property
    def preamble(self) -> str:
        """The text of the preamble."""
        return self._code.preamble

    def __repr__(self) -> str:
        shown = [repr(self.expression)]
        if self.preamble:
            shown.append(f"preamble={self.preamble!r}")
        for name, value in self._values.items():
            array = isinstance(value, (np.ndarray, cla.Array))
            shown.append(f"{name}=<{value.dtype} {value.shape}>" if array else f"{name}={value!r}")
        if not self._checked:
            shown.append("checked=False")
        return f"Condition({', '.join(shown)})"


def parts_of(condition: Condition) -> tuple[ConditionCode, Mapping[str, Any], Any, bool]:
    """The text of a condition, its values by name, what was made of them, by session, and whether to check lengths."""
    return condition._code, condition._values, condition._taken, condition._checked  # noqa: SLF001 — users see two texts


@functools.lru_cache(maxsize=64)  # loops make conditions of the same text with other values
def _check_texts(expression: str, preamble: str) -> None:
    """Raise for texts that are no condition."""
    for name, text in (("expression", expression), ("preamble", preamble)):
        if problem := check_reading(text) or check_names(text):
            raise InvalidInputError(problem, argument=name)
    if problem := check_preamble(preamble):
        raise InvalidInputError(problem, argument="preamble")
    if problem := _check_expression(expression, preamble):
        raise InvalidInputError(problem, argument="expression")


@functools.lru_cache(maxsize=64)
def _code_of(expression: str, preamble: str, arguments: tuple[Argument, ...]) -> ConditionCode:
    """The same code for equal texts and arguments, which is read once for the arrays that it indexes."""
    return ConditionCode(expression, preamble, arguments)


def _check_expression(source: str, preamble: str) -> str | None:
    """The first thing in `source` that is no part of an expression, with its line and advice; None without any."""
    written, macros = list(tokens(source)), forbidden_macros(preamble)
    if not written:
        return f"expected an expression, got {source!r}; {_ADVICE}"
    try:
        whole = list(expanded(written, dict(definitions(preamble))))
    except ValueError as error:
        return f"{error}; {_ADVICE}"
    problem = _no_expression(written, macros) or _no_expression(whole, {}) or unbalanced(written) or too_deep(whole)
    return problem and f"{problem}; {_ADVICE}"


def _no_expression(found: list[Token], macros: dict[str, str]) -> str | None:
    """The first token that is no part of an expression; `macros` are those that expand to forbidden words."""
    for k, token in enumerate(found):
        word = token.text if token.text in _STATEMENTS else macros.get(token.text) or forbidden_word(token.text)
        via = f" (by way of the macro {token.macro or token.text})" if token.macro or word != token.text else ""
        if token.is_name and word:
            return f"line {token.line}: {word}{via}"
        if token.text in (";", "{", "}", "#"):
            return f"line {token.line}: '{token.text}'{via if token.macro else ''}"
        # what the tokens before this one, with nothing between them, make of it
        before = "".join(each.text for each in found[max(0, k - 2) : k] if not each.is_name)[-2:]
        if assigns := _assignment(token.text, before if token.joined else "", _behind(found, k)):
            return f"line {token.line}: '{assigns}' assigns{via if token.macro else ''}"
    return None


def _behind(found: list[Token], k: int) -> str:
    """The token behind the k-th one, where nothing stands between them."""
    return found[k + 1].text if k + 1 < len(found) and found[k + 1].joined else ""


def _assignment(text: str, before: str, behind: str) -> str:
    """The operator that ends with `text`, if it assigns, by what stands `before` it and `behind` it."""
    last = before[-1:]
    if text in "+-" and last == text:
        return 2 * text
    if text != "=" or behind == "=" or last in ("=", "!"):
        return ""
    if last and last in "<>":
        return f"{before}=" if before == 2 * last else ""
    return f"{last}=" if last and last in _COMPOUND else "="


def _take(name: str, value: Any) -> tuple[Argument, Any]:
    """The declaration of a value, and the value as it is held: an int, a float, an array."""
    check_name(name, "where", "a keyword of searches")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or is_keyword(name):
        raise InvalidInputError("this is no name for a value in OpenCL C; choose another one", argument=name)
    if is_device_array(value):
        return Argument(name, _ctype(name, value.dtype), buffer=True, const=True), value
    array, listed = _host(name, value), isinstance(value, (list, tuple))
    if array.ndim == 0:
        return _number(name, array.item())
    if listed and array.dtype.kind == "f":
        return Argument(name, "real", buffer=True, const=True), array
    if listed and array.dtype.kind == "i" and array.min(initial=0) >= _INT.min and array.max(initial=0) <= _INT.max:
        array = array.astype(np.int32)
    return Argument(name, _ctype(name, array.dtype), buffer=True, const=True), array


def _host(name: str, value: Any) -> np.ndarray[Any, Any]:
    """A copy of a number or a host array, contiguous and in native byte order."""
    try:
        foreign = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
        array = np.array(np.asarray(to_numpy(value) if foreign else value), order="C", copy=True)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InvalidInputError(
            f"expected a number or an array of numbers, got {type(value).__name__} that numpy cannot convert "
            f"({error}); pass a rectangular array",
            argument=name,
        ) from None
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(
            f"expected a number or an array of numbers, got {type(value).__name__} of dtype {array.dtype}; "
            "convert it to integers, float32 or float64",
            argument=name,
        )
    if is_masked(value):
        raise InvalidInputError("expected plain numbers, got a masked array; fill it first", argument=name)
    narrow = array.dtype.kind == "f" and array.dtype.itemsize == 2
    return array.astype(np.float32 if narrow else array.dtype.newbyteorder("="), copy=False)


def _number(name: str, number: float) -> tuple[Argument, Any]:
    if isinstance(number, float):
        return Argument(name, "real", buffer=False, const=True), number
    if not _INT.min <= int(number) <= _INT.max:
        raise InvalidInputError(
            f"expected an int of 32 bits, got {number}; pass an array of one int64, and write {name}[0]", argument=name
        )
    return Argument(name, "int", buffer=False, const=True), int(number)


def _ctype(name: str, dtype: np.dtype[Any]) -> str:
    if dtype not in _CTYPES:
        raise InvalidInputError(
            f"expected an array of integers, float32 or float64, got {dtype}; pass an array of plain numbers, "
            "several for each row if need be, and index it by row",
            argument=name,
        )
    return _CTYPES[dtype]
