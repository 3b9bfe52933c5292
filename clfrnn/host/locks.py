"""Locks: calls of several threads on one session run one after the other."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any, Protocol, TypeVar

from .keywords import keywords_of, unexpected

__all__ = ["HasLock", "LockedIterator", "locked", "queue_lock"]

Class = TypeVar("Class", bound=type)
Item = TypeVar("Item")


#: the locks by the numbers of queues
_of_queues: dict[int, AbstractContextManager[Any]] = {}


def queue_lock(number: int) -> AbstractContextManager[Any]:
    """The lock of a command queue, given its number, which one thread may take again.

    A driver for GPUs (580.159) ends the process, in a thread of its own, when one thread reads an array while another
    launches kernels on the same queue.
    """
    return _of_queues.setdefault(number, threading.RLock())


class HasLock(Protocol):
    """What a session is to those who only take its lock."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """The lock, which one thread may take again; reading it raises in a forked child."""


def locked(owner: Class) -> Class:
    """Make every public method of a class hold the lock of ``self.session``; properties take it themselves.

    A keyword that the method does not have is answered with the nearest one that it has.
    """
    for name, member in list(vars(owner).items()):
        if not name.startswith("_") and isinstance(member, FunctionType):
            setattr(owner, name, _under_lock(member, owner.__name__.lower()))
    return owner


def _under_lock(method: FunctionType, owner: str) -> Callable[..., Any]:
    known, takes_any = keywords_of(method), bool(method.__code__.co_flags & inspect.CO_VARKEYWORDS)

    # The lock is one of C, and `with` stands in plain view: an interrupt never falls between taking it and the block.
    @functools.wraps(method)
    def under_lock(self: Any, /, *given: Any, **named: Any) -> Any:
        with self.session.lock:
            try:
                return method(self, *given, **named)
            except TypeError:  # looked into where something is wrong, so that right calls do not take longer
                if takes_any or known.issuperset(named):
                    raise
                message = unexpected(f"{owner}.{method.__name__}", named.keys() - known, known)
        raise TypeError(message)

    return under_lock


class LockedIterator(Iterator[Item]):
    """An iterator that holds the lock of a session while it makes an item, and not between items."""

    def __init__(self, session: HasLock, items: Iterator[Item]) -> None:
        self._session, self._items = session, items

    def __next__(self) -> Item:
        with self._session.lock:
            return next(self._items)
