"""Budget: whether a list fits what the caller allows, and the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import DeviceMemoryError
from .columns import Columns

if TYPE_CHECKING:
    from ..index import Index

__all__ = ["affords", "check_budget", "check_room", "fits"]

#: With less than this, parts are no way out.
_LEAST_BUDGET = 1 << 12


def fits(index: Index, spec: Columns, rows: int, pairs: int, *, held: int = 0) -> bool:
    """Whether the device has room for the list, `held` bytes of which there are already."""
    largest, available = index.session.available()
    if spec.largest(rows, pairs) > largest:
        return False
    needed = spec.bytes(rows, pairs) - held
    return needed <= available or (index.session.let_go() and needed <= index.session.available()[1])


def affords(index: Index, spec: Columns, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0) -> bool:
    """Whether the list is within what the caller allows, and the device."""
    return (max_bytes is None or spec.bytes(rows, pairs) <= max_bytes) and fits(index, spec, rows, pairs, held=held)


def check_budget(index: Index, spec: Columns, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0) -> None:
    """Raise when the list would exceed what the caller allows, or the device."""
    needed = spec.bytes(rows, pairs)
    if max_bytes is not None and needed > max_bytes:
        raise DeviceMemoryError(
            f"max_bytes: the list of {pairs:,} pairs needs {needed:,} bytes, {max_bytes:,} were allowed. Nothing was "
            f"truncated. index.query_blocks(max_bytes={max_bytes}) gives it in parts; index.count() needs no list",
            needed=needed,
            available=max_bytes,
        )
    check_room(index, spec, rows, pairs, held=held)


def check_room(index: Index, spec: Columns, rows: int, pairs: int, *, held: int = 0) -> None:
    """Raise when the list would exceed the device."""
    if fits(index, spec, rows, pairs, held=held):
        return
    sizes = spec.sizes(rows, pairs)
    index.session.let_go()  # what is left then is what the parts may have
    largest, available = index.session.available()
    greatest = max(sizes, key=lambda name: sizes[name])
    budget = min(largest, available // 2)
    advice = f"index.query_blocks(max_bytes={budget}) gives it in parts"
    if budget < _LEAST_BUDGET:
        advice = "Drop arrays and lists that are no longer needed"
    raise DeviceMemoryError(
        f"the list of {pairs:,} pairs needs {sum(sizes.values()):,} bytes, {sizes[greatest]:,} of them in one "
        f"allocation for its {greatest}; {index.session.profile} allows {largest:,} bytes in one and has about "
        f"{available:,} left. Nothing was truncated. {advice}; index.count() needs no list; a smaller radius finds "
        "fewer pairs",
        needed=sum(sizes.values()),
        available=available,
        largest_allocation=largest,
    )
