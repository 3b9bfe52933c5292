"""Budget: whether a list fits the caller's limit and the memory of the device."""

from __future__ import annotations

from ...errors import DeviceMemoryError
from ...runtime.session import Session
from .columns import Columns

__all__ = ["affords", "check_budget", "check_memory", "fits"]

#: Least number of bytes for which an error recommends a list in blocks.
_LEAST_BUDGET = 1 << 12


def fits(session: Session, columns: Columns, rows: int, pairs: int, *, held: int = 0) -> bool:
    """Whether the device has memory for the list, of which `held` bytes are allocated already."""
    (widest, whole), (largest, available) = columns.footprint(rows, pairs), session.available()
    return widest <= largest and whole - held <= available


def affords(session: Session, columns: Columns, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0) -> bool:
    """Whether the list fits the caller's limit and the memory of the device."""
    allowed = max_bytes is None or columns.footprint(rows, pairs)[1] <= max_bytes
    return allowed and fits(session, columns, rows, pairs, held=held)


def check_budget(
    session: Session, columns: Columns, rows: int, pairs: int, max_bytes: int | None, *, held: int = 0
) -> None:
    """Raise where the list would exceed the caller's limit or the memory of the device."""
    needed = columns.footprint(rows, pairs)[1]
    if max_bytes is not None and needed > max_bytes:
        raise DeviceMemoryError(
            f"max_bytes: the list of {pairs:,} pairs needs {needed:,} bytes, {max_bytes:,} were allowed. Nothing was "
            "truncated. With index = clfrnn.build_index(points, radius), "
            f"index.query_blocks(max_bytes={max_bytes}) gives it in parts if no row alone needs more; index.count() "
            "needs no list",
            needed=needed,
            available=max_bytes,
        )
    check_memory(session, columns, rows, pairs, held=held)


def check_memory(session: Session, columns: Columns, rows: int, pairs: int, *, held: int = 0) -> None:
    """Raise where the list would exceed the memory of the device."""
    if fits(session, columns, rows, pairs, held=held):
        return
    sizes = columns.sizes(rows, pairs)
    largest, available = session.available()
    greatest = max(sizes, key=lambda name: sizes[name])
    budget = min(largest, available // 2)
    advice = f"index.query_blocks(max_bytes={budget}) gives it in parts"
    if budget < _LEAST_BUDGET:
        advice = "Drop arrays and lists that are no longer needed"
    raise DeviceMemoryError(
        f"the list of {pairs:,} pairs needs {sum(sizes.values()):,} bytes, {sizes[greatest]:,} of them in one "
        f"allocation for its {greatest}; {session.profile} allows {largest:,} bytes in one and has about "
        f"{available:,} left. Nothing was truncated. {advice}; index.count() needs no list; a smaller radius finds "
        "fewer pairs",
        needed=sum(sizes.values()),
        available=available,
        largest_allocation=largest,
    )
