"""NeighborFunction: the code that runs for every neighbor, in pieces that walks insert."""

from __future__ import annotations

import dataclasses
import functools
import re
import weakref
from typing import Any, NamedTuple

from .errors import InvalidInputError
from .host.keywords import checks_keywords
from .scanner import (
    Indexed,
    check_leaving,
    check_names,
    check_piece,
    check_preamble,
    check_reading,
    check_state,
    definitions,
    expanded_pieces,
    forbidden_macros,
    indexed,
    meaning_of_type,
)

__all__ = [
    "CALL_KEYWORDS",
    "PIECES",
    "WHERE_PIECES",
    "Argument",
    "Census",
    "ConditionCode",
    "NeighborFunction",
    "Waiting",
    "WalkFunction",
    "check_name",
    "check_text",
    "is_held",
    "under",
    "walk_function",
]

#: The pieces of a function, in the order in which they stand in a kernel.
PIECES = ("preamble", "arguments", "state", "per_neighbor", "finish")

#: The pieces of a condition, as errors of compilers name them.
WHERE_PIECES = ("where_preamble", "where_expression")

#: Keywords of the calls that run a function, and names in scope of the code.
CALL_KEYWORDS = frozenset({"function", "queries", "radius", "include_self", "where", "checked", "self"})
_IN_SCOPE = frozenset({"i", "j", "d2", "dx", "shift", "r2", "reach2", "real", "real_vec"})

#: Jumps that leave one neighbor.
_FREE = frozenset({"break", "continue"})

_ARGUMENT = re.compile(
    r"""^(?P<words>(?:\w+\s+)*?)(?P<type>(?:(?:un)?signed\s+)?(?!const\b)[A-Za-z_]\w*)\s*(?P<behind>\bconst\b\s*)?
        (?P<pointer>\*\s*(?:const\s+)?(?:restrict\b\s*)?)?\b(?P<name>[A-Za-z_]\w*)$""",
    re.VERBOSE,
)
_UNSIGNED = {"unsigned": "uint", "signed": "int"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_VALUE = re.compile(r"^(real|real_vec|(u?(char|short|int|long)|float|double|half)(2|3|4|8|16)?)$")


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a NeighborFunction, as declared."""

    name: str
    ctype: str
    buffer: bool
    const: bool


@dataclasses.dataclass(frozen=True)
class ConditionCode:
    """The text of a :class:`~clfrnn.Condition`, without its values: what a walk is compiled with."""

    expression: str
    preamble: str
    #: const arrays, and numbers of the type ``real`` or ``int``
    arguments: tuple[Argument, ...]

    @property
    def of_pair(self) -> bool:
        """Whether it may differ from one neighbor of a query to the next."""
        return self.reads("j", "d2", "dx", "shift")

    @property
    def gathers(self) -> bool:
        """Whether it may read arrays for each neighbor, which a CPU cannot do for several at once."""
        return self.of_pair and any(argument.buffer for argument in self.arguments)

    @functools.cached_property
    def macros(self) -> tuple[str, ...]:
        """The names that the preamble defines for the preprocessor; no code behind the condition sees them."""
        return tuple(dict.fromkeys(name for name, _ in definitions(self.preamble)))

    @functools.cached_property
    def indexed(self) -> frozenset[Indexed]:
        """Which arrays it reads at i or at j."""
        (code,) = expanded_pieces(self.preamble, self.expression)
        return indexed([(code, "ij")], [argument.name for argument in self.arguments if argument.buffer])

    def reads(self, *names: str) -> bool:
        """Whether the text may read one of these names that are in scope of the expression."""
        text = f"{self.expression} {self.preamble}"
        return not set(re.findall(r"[A-Za-z_]\w*", text)).isdisjoint(names)


@checks_keywords
@dataclasses.dataclass(frozen=True, kw_only=True)
class NeighborFunction:
    """Your own OpenCL C for a query and its neighbors, run by :meth:`clfrnn.Index.visit`.

    OpenCL C is the language of programs on devices, C with a few additions. The pieces are put into the library's
    search, so that no list of neighbors is needed.

    Parameters
    ----------
    arguments : declarations, separated by commas: ``T name``, ``real name``, ``real_vec name`` or ``global [const] T
        *name``; their values are keywords of ``visit``
    state : runs once for each query, before its neighbors; the other two pieces see what it declares
    per_neighbor : runs once for each neighbor; ``break`` and ``continue`` leave this neighbor only
    finish : runs once for each query, after its neighbors, also where there are none
    preamble : stands before the kernel: functions, types, ``#define``

    Raises
    ------
    InvalidInputError
        A piece contains ``return``, ``goto``, a label or a barrier, which would break the walk around it; ``state`` or
        ``finish`` contains ``break`` or ``continue`` outside of a loop of its own; an argument cannot be read, or its
        name is in use; a piece is longer or deeper than compilers take, has ``#include``, or defines a word of OpenCL C
        or a name that the library uses.

    Notes
    -----
    The code may use these names:

    - ``int i, j``, the numbers of the query and of the neighbor in your arrays
    - ``d2``, the squared distance, and ``r2``, the squared radius
    - ``dx``, the vector from the query to the neighbor: ``dx.s0``, ``dx.s1``, …
    - ``shift``, in a periodic box, where the image of the neighbor lies, in whole lengths of the box, or whole lattice
      vectors
    - ``reach2``, which starts as ``r2``. ``state`` and ``per_neighbor`` may lower it: neighbors farther than its square
      root may then be left out, and below 0 all of them
    - ``real``, the type of a coordinate (float or double), and ``real_vec``, a vector of ``dim`` of them (real, real2,
      real3, real4, real8 or real16; components that are not needed are zero)

    ``j``, ``d2``, ``dx`` and ``shift`` are there in ``per_neighbor`` alone. All neighbors of a query are met by one
    work-item, one after the other, so that writing to places of ``i`` needs no atomics. The order in which they are
    met, and with it the rounding of sums, is the same in each run with ``construction="sort"``; with ``"counting"``,
    and in ``fenns``, it is not. The compiler does not turn a multiplication and an addition into one operation; call
    ``fma`` where you want it. Names that begin with ``frnn_`` belong to the library.

    Examples
    --------
    >>> import clfrnn, numpy, pyopencl.array
    >>> spread = clfrnn.NeighborFunction(
    ...     arguments="global float *sums", state="float sum = 0;", per_neighbor="sum += d2;", finish="sums[i] = sum;"
    ... )
    >>> index = clfrnn.build_index(numpy.float32([[0, 0], [3, 4], [0, 1]]), 5)
    >>> sums = pyopencl.array.zeros(index.session.queue, 3, numpy.float32)
    >>> event = index.visit(spread, sums=sums)
    >>> sums.get().tolist()
    [26.0, 43.0, 19.0]
    """

    arguments: str = ""
    state: str = ""
    per_neighbor: str = ""
    finish: str = ""
    preamble: str = ""

    def __post_init__(self) -> None:
        pieces = {piece: getattr(self, piece) for piece in PIECES}
        for name, text in pieces.items():
            check_text(name, text)
        _check_code(**pieces)
        walked = WalkFunction(**pieces)
        for argument in walked.parsed_arguments:
            check_name(argument.name, "arguments", "a keyword of visit()")
        object.__setattr__(self, "_walked", walked)
        object.__setattr__(self, "_holder", _holders.setdefault(walked, _Holder()))

    def __reduce__(self) -> Any:
        """Made anew where it is unpickled: hashes of text differ between processes, and holders belong to one."""
        return functools.partial(NeighborFunction, **{piece: getattr(self, piece) for piece in PIECES}), ()


class Census(NamedTuple):
    """How a function takes neighbors that were counted by distance first; it reads no more than j, d2 and shift."""

    wanted: str  #: the number of neighbors that it keeps, an expression in its arguments
    collected: str  #: runs once for each query, for the neighbors that wait
    slots: int  #: the most that wait, as ``per_neighbor`` runs for others at once


class Waiting(NamedTuple):
    """How a function takes neighbors that have waited in local memory; it reads no more than j and d2."""

    taken: str  #: runs for the neighbors of a query that wait, also where there are none
    forgotten: str  #: runs where the search of a query is given up, which then has no neighbors
    slots: int  #: the most that wait


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkFunction:
    """A function as walks run it: a user's function, or one of the library's own with further facts."""

    arguments: str = ""
    state: str = ""
    per_neighbor: str = ""
    finish: str = ""
    preamble: str = ""
    #: whether the function is the library's own, whose lines are not numbered for error messages
    own: bool = False
    #: whether ``per_neighbor`` is a plain sum, which compilers vectorise as it is, and which may stand in a kernel more
    #: than once
    light: bool = False
    #: how many squared distances, ``frnn_edge0`` and following, it counts the neighbors below, in ``frnn_nearer0`` and
    #: following, besides all of them in ``frnn_count``: walks that test a vector of candidates count by vectors then
    edges: int = 0
    #: whether of each pair of points it meets one alone, where a walk can tell which one comes later: see
    #: :attr:`~clfrnn.methods.structure.SearchStructure.looks_ahead`
    ahead: bool = False
    #: whether ``per_neighbor`` takes much longer than the test of a candidate, so that work-items in lockstep test some
    #: candidates first and then go through the neighbors among them together
    costly: bool = False
    #: how it takes neighbors where a walk counts them first; None where it need not
    census: Census | None = None
    #: how it takes neighbors some at a time, in packets of queries; None where it takes each at once
    waiting: Waiting | None = None
    #: the number of a query, as conditions see it
    number: str = "i"
    #: the type of the offsets by which it writes the indices of neighbors, a sector of memory at once and nothing else;
    #: "" for other functions
    sectors: str = ""
    #: a neighbor counts only where it holds; None where every neighbor counts
    condition: ConditionCode | None = None

    def __hash__(self) -> int:
        return hash(self.key)

    @functools.cached_property
    def key(self) -> str:
        """What equal functions share and no others have, as a text, which remembers its hash; programs go by it."""
        return repr(dataclasses.astuple(self))

    @functools.cached_property
    def parsed_arguments(self) -> tuple[Argument, ...]:
        """The declared arguments in order."""
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", self.arguments, flags=re.DOTALL)
        found = tuple(_parse(" ".join(piece.split())) for piece in text.split(",")) if text.strip() else ()
        names = [argument.name for argument in found]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(
                    f"{name!r} is declared {names.count(name)} times; rename one", argument="arguments"
                )
        return found

    @functools.cached_property
    def indexed(self) -> frozenset[Indexed]:
        """Which arrays it reads or writes at i or at j."""
        state, near, finish = expanded_pieces(self.preamble, self.state, self.per_neighbor, self.finish)
        pieces = ((state, "i"), (near, "ij"), (finish, "i"))
        return indexed(pieces, [argument.name for argument in self.parsed_arguments if argument.buffer])

    def element_of(self, argument: Argument) -> str:
        """The type of the elements of an array, by the macros and types of the preamble."""
        return _plain_type(meaning_of_type(argument.ctype, self.preamble))

    @functools.cached_property
    def lowers(self) -> bool:
        """Whether ``per_neighbor`` may lower ``reach2``, so that walks should meet close neighbors first."""
        return "reach2" in f"{self.per_neighbor} {self.preamble}"

    @functools.cached_property
    def skips(self) -> bool:
        """Whether ``state`` may lower ``reach2`` below 0, so that grids should not look for neighbors of a query."""
        return "reach2" in self.state

    @functools.cached_property
    def idles(self) -> bool:
        """Whether idle work-items may run ``state``, which then names nothing that it could write to."""
        written = [argument.name for argument in self.parsed_arguments if argument.buffer and not argument.const]
        text = f"{self.state} {self.preamble}"
        words = set(re.findall(r"[A-Za-z_]\w*", text))
        return self.own or not words & {"printf", *written}


class _Holder:
    """An object that equal functions share, and which is gone when nobody holds one of them."""


_holders: weakref.WeakValueDictionary[WalkFunction, _Holder] = weakref.WeakValueDictionary()


def is_held(function: WalkFunction) -> bool:
    """Whether somebody holds a :class:`NeighborFunction` of this code."""
    return function in _holders


def walk_function(function: NeighborFunction) -> WalkFunction:
    """The function that walks run for a user's function."""
    walked: WalkFunction = function._walked  # type: ignore[attr-defined]  # noqa: SLF001 — users see five pieces alone
    return walked


@functools.lru_cache(maxsize=256)
def under(function: WalkFunction, condition: ConditionCode) -> WalkFunction:
    """The function for those neighbors alone for which the condition holds; the same object for equal arguments."""
    return dataclasses.replace(function, condition=condition)


def check_text(name: str, text: object) -> None:
    """Raise for what no compiler takes: no text, or text with half of a character, which no encoding has."""
    if not isinstance(text, str):
        raise InvalidInputError(
            f"expected OpenCL C in a str, got {type(text).__name__}; pass the text of the code", argument=name
        )
    if half := _SURROGATE.search(text):
        line = text.count("\n", 0, half.start()) + 1
        raise InvalidInputError(
            f"line {line}: expected text, got {half[0]!r}, a lone surrogate, which no file or compiler takes; "
            "read the code as UTF-8, or delete it",
            argument=name,
        )


@functools.lru_cache(maxsize=64)  # loops may write the same function down anew
def _check_code(*, preamble: str, arguments: str, state: str, per_neighbor: str, finish: str) -> None:
    """Raise for code that would break the walk around it."""
    texts = {"preamble": preamble, "arguments": arguments, "state": state, "per_neighbor": per_neighbor}
    for name, text in {**texts, "finish": finish}.items():
        if problem := check_reading(text) or (check_names(text) if name != "arguments" else None):
            raise InvalidInputError(problem, argument=name)
    if problem := check_preamble(preamble):
        raise InvalidInputError(problem, argument="preamble")
    macros = forbidden_macros(preamble)
    for name, text in (("state", state), ("per_neighbor", per_neighbor), ("finish", finish)):
        if problem := check_piece(text, macros):
            raise InvalidInputError(problem, argument=name)
    if problem := check_leaving(state, preamble) or check_state(state, preamble):
        raise InvalidInputError(problem, argument="state")
    if problem := check_leaving(per_neighbor, preamble, state, free=_FREE):
        raise InvalidInputError(problem, argument="per_neighbor")
    if problem := check_leaving(finish, preamble, state, per_neighbor):
        raise InvalidInputError(problem, argument="finish")


def check_name(name: str, where: str, keyword: str) -> None:
    """Raise for an argument whose name is a `keyword` of the calls that pass it, or belongs to the library."""
    if name in CALL_KEYWORDS | _IN_SCOPE or name.lower().startswith("frnn_"):
        why = keyword if name in CALL_KEYWORDS else "a name of the library's"
        raise InvalidInputError(f"{name!r} is {why}; choose another name", argument=where)


def _parse(declaration: str) -> Argument:
    """Parse one declaration, which is either a value or a global pointer."""
    match = _ARGUMENT.match(declaration)
    words = set((match["words"] + (match["behind"] or "")).split()) if match else set()
    pointer = bool(match and match["pointer"])
    is_global = bool(words & {"global", "__global"})
    known = {"const", "global", "__global", "restrict", "volatile"}
    if not match or words - known or pointer != is_global or match["type"] in known:
        raise InvalidInputError(
            f"expected 'T name' or 'global [const] T *name', got {declaration!r}; "
            "declare scalars by value and arrays as global pointers",
            argument="arguments",
        )
    ctype = _plain_type(match["type"])
    if not pointer and not _VALUE.match(ctype):
        raise InvalidInputError(
            f"expected a number, a vector of OpenCL C, real or real_vec, got {declaration!r}; "
            "other types are passed as global pointers",
            argument="arguments",
        )
    return Argument(name=match["name"], ctype=ctype, buffer=pointer, const="const" in words)


def _plain_type(name: str) -> str:
    """The short name of a type in OpenCL C: ``unsigned int`` is ``uint``."""
    words = name.split()
    if len(words) == 2 and words[0] in _UNSIGNED:
        return {"unsigned": "u", "signed": ""}[words[0]] + words[1]
    return _UNSIGNED.get(name, name)
