"""Calls of other libraries, whose warnings are none of clfrnn's."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator

__all__ = ["filters_lock", "ignored_warnings"]

#: Filters of warnings belong to the whole process: where two threads changed them at a time, one would leave those of
#: the other in force for good.
filters_lock = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A child begins with the filters of the process as they were, and with a lock that nobody holds.
    os.register_at_fork(
        before=filters_lock.acquire, after_in_parent=filters_lock.release, after_in_child=filters_lock.release
    )


@contextlib.contextmanager
def ignored_warnings() -> Iterator[None]:
    """Neither print nor raise what is warned of in the body, which calls another library and nothing of clfrnn's.

    One thread at a time runs such a body; others wait. The filters of the caller are in force again behind it.
    """
    with filters_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
