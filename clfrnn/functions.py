"""NeighborFunction: the code that runs for every neighbor, in pieces that each walk puts where they belong."""

from __future__ import annotations

import dataclasses
import functools
import re

from .errors import InvalidInputError

__all__ = ["Argument", "NeighborFunction"]

_ARGUMENT = re.compile(
    r"^(?P<space>global\s+|__global\s+)?(?P<const>const\s+)?(?P<type>\w+(?:\s+(?:int|long|char|short))?)\s*"
    r"(?P<pointer>(?:\*\s*(?:restrict\s+)?)?)(?P<name>[A-Za-z_]\w*)$"
)


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a NeighborFunction, as its declaration says."""

    name: str
    ctype: str
    buffer: bool
    const: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class NeighborFunction:
    """OpenCL C for one query and its neighbors.

    ``state`` runs once per query before its neighbors, ``per_neighbor`` for each neighbor, ``finish`` once after them;
    ``preamble`` stands before the kernel; ``arguments`` declares kernel arguments, separated by commas.
    """

    arguments: str = ""
    state: str = ""
    per_neighbor: str = ""
    finish: str = ""
    preamble: str = ""
    #: ``per_neighbor`` is a plain sum, which compilers test a vector at a time as it stands
    light: bool = False

    @functools.cached_property
    def parsed_arguments(self) -> tuple[Argument, ...]:
        """The declared arguments in order."""
        return tuple(_parse(piece.strip()) for piece in self.arguments.split(",") if piece.strip())


def _parse(declaration: str) -> Argument:
    match = _ARGUMENT.match(declaration)
    if not match or bool(match["pointer"]) != bool(match["space"]):
        raise InvalidInputError(
            f"arguments: expected 'T name' or 'global [const] T *name', got {declaration!r}; "
            "declare scalars by value and arrays as global pointers"
        )
    return Argument(name=match["name"], ctype=match["type"], buffer=bool(match["pointer"]), const=bool(match["const"]))
