"""Indices: which arrays code reads or writes at the number of the query or of the neighbor itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from .tokens import CLOSES, Token
from .words import is_keyword

__all__ = ["Indexed", "declared_outside", "indexed"]

#: Words behind which a name is no declaration, though it stands at the beginning of a statement.
_NO_TYPES = frozenset(["return", "else", "case", "goto", "sizeof", "do", "break", "continue", "default"])

#: Types of integers that hold every number of a point.
_WIDE = frozenset(["int", "uint", "long", "ulong", "size_t", "ptrdiff_t", "signed", "unsigned", "const"])

_VECTORS = re.compile(r"v(load|store)(2|3|4|8|16)")

#: Names of types that a pointer may be declared with.
_TYPES = re.compile(
    r"(__)?(global|local|private|constant)|const|volatile|restrict|unsigned|signed|void|bool|real(_vec)?|\w+_t"
    r"|(u?(char|short|int|long)|float|double|half)(2|3|4|8|16)?"
)


class Indexed(NamedTuple):
    """That code reads or writes `array` at the index ``at``, ``times`` elements for each number of that index."""

    array: str
    at: str
    times: int


def indexed(pieces: Iterable[tuple[Sequence[Token], Collection[str]]], arrays: Collection[str]) -> frozenset[Indexed]:
    """What pieces of code do with `arrays` at bare indices: ``a[i]``, ``a[(int)i]``, ``vload3(i, a)``.

    Each piece comes with the indices that are in scope there. What the first one declares hides names in the others.
    """
    found: set[Indexed] = set()
    scopes: list[set[str]] = [set()]
    outside: Collection[str] = ()
    for number, (code, indices) in enumerate(pieces):
        if number == 0:
            around, outside = scopes, indices
        else:  # the indices that come into scope with a later piece are declared inside of what the first one declares
            around = [scopes[0] - (set(indices) - set(outside)), set()]
        for each in _accesses(code, around):
            if each.array in arrays and each.at in indices:
                found.add(each)
        del scopes[1:]
    return frozenset(found)


def _accesses(code: Sequence[Token], scopes: list[set[str]]) -> Iterator[Indexed]:
    """Every access of a name at a name, but those that are declared in the code; `scopes` are the names declared."""
    partners, ends = _partners(code), dict[int, int]()
    declared = _declared(code, 0, partners)
    for k, token in enumerate(code):
        if k in declared:
            scopes[-1].add(token.text)
        if token.text == "for" and k + 1 in partners:
            scopes.append(set())
            declared |= _declared(code, k + 2, partners)
            end = _end_of_statement(code, partners[k + 1] + 1, partners)
            ends[end] = ends.get(end, 0) + 1
        elif token.text == "{":
            scopes.append(set())
        elif token.text == "}" and len(scopes) > 1:
            scopes.pop()
        elif token.text == "[" or _VECTORS.fullmatch(token.text):
            for each in _access(code, k, partners):
                if not any({each.array, each.at} & scope for scope in scopes):
                    yield each
        if token.text in ("{", "}", ";"):
            declared |= _declared(code, k + 1, partners)
        for _ in range(min(ends.pop(k, 0), len(scopes) - 1)):
            scopes.pop()


def _partners(code: Sequence[Token]) -> dict[int, int]:
    """The place of the other bracket, by the place of each."""
    waiting: list[int] = []
    found: dict[int, int] = {}
    for k, token in enumerate(code):
        if token.text in CLOSES.values():
            waiting.append(k)
        elif token.text in CLOSES and waiting:
            found[k] = waiting.pop()
            found[found[k]] = k
    return found


def _declared(code: Sequence[Token], start: int, partners: dict[int, int]) -> set[int]:
    """The places of the names that a statement declares; none where it declares nothing."""
    first = code[start : start + 2]
    if len(first) < 2 or not first[0].is_name or first[0].text in _NO_TYPES:
        return set()
    # A statement that begins with the product of two names is none of a pointer.
    if not (first[1].is_name or (first[1].text == "*" and _TYPES.fullmatch(first[0].text))):
        return set()
    found, value, k = set[int](), False, start
    while k < len(code) and code[k].text not in (";", "}", ")"):
        text, behind = code[k].text, code[k + 1].text if k + 1 < len(code) else ";"
        if text in ("=", ","):
            value = text == "="
        elif code[k].is_name and not value and k > start and behind in (";", "=", ",", "["):
            found.add(k)
        k = partners.get(k, k) + 1 if text in CLOSES.values() else k + 1
    return found if k < len(code) and code[k].text == ";" else set()


def declared_outside(code: Sequence[Token]) -> list[Token]:
    """The names that `code` declares outside of blocks, which the code behind it sees."""
    partners, depth, found = _partners(code), 0, _declared(code, 0, _partners(code))
    for k, token in enumerate(code):
        depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
        if not depth and token.text in (";", "}"):
            found |= _declared(code, k + 1, partners)
    return [code[k] for k in sorted(found)]


def _end_of_statement(code: Sequence[Token], start: int, partners: dict[int, int]) -> int:
    """The place of the last token of the statement that begins at `start`."""
    k = start
    while k < len(code) and code[k].text != ";":
        if code[k].text in CLOSES.values():
            block, k = code[k].text == "{", partners.get(k, len(code))
            if block:
                break
        k += 1
    return k


def _access(code: Sequence[Token], k: int, partners: dict[int, int]) -> Iterator[Indexed]:
    """The access that a bracket at the place `k` or a function of vectors is, where both of its names are bare."""
    if code[k].text == "[":
        array, index, times = _before(code, k, partners), _bare(code[k + 1 : partners.get(k, k)]), 1
    elif k + 1 in partners and code[k + 1].text == "(":
        given = _split(code[k + 2 : partners[k + 1]])
        index, array = ([*map(_bare, given)][-2:]) if len(given) > 1 else ("", "")
        times = int(code[k].text.lstrip("vloadstre"))
    else:
        return
    if array and index:
        yield Indexed(array, index, times)
        yield Indexed(index, array, times)  # i[a] is a[i]


def _before(code: Sequence[Token], bracket: int, partners: dict[int, int]) -> str:
    """The name in front of a square bracket, in brackets of its own or not; "" where it is a part of something."""
    start = partners.get(bracket - 1, bracket - 1) if bracket else -1
    if start < 0:
        return ""
    before = code[start - 1] if start else None
    if before is not None:
        is_member = before.text == "." or (before.text == ">" and before.joined and code[start - 2].text == "-")
        is_call = code[start].text == "(" and before.is_name and not is_keyword(before.text)
        if is_member or is_call:
            return ""
    return _bare(code[start:bracket])


def _bare(code: Sequence[Token]) -> str:
    """The one name that `code` is, without brackets around it and casts to types that hold every number; or ""."""
    code = list(code)
    while len(code) > 1:
        end = _partners(code).get(0)
        if code[0].text == "+":
            code = code[1:]
        elif code[0].text != "(" or end is None:
            return ""
        elif end == len(code) - 1:
            code = code[1:-1]
        elif {token.text for token in code[1:end]} <= _WIDE:
            code = code[end + 1 :]
        else:
            return ""
    return code[0].text if code and code[0].is_name and not is_keyword(code[0].text) else ""


def _split(code: Sequence[Token]) -> list[Sequence[Token]]:
    """The parts between commas outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in code:
        depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
        if token.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return list(parts)
