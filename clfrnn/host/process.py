"""The process that uses OpenCL: a forked child is refused, as drivers hang in it."""

from __future__ import annotations

import os

from ..errors import ClfrnnError

__all__ = ["check_process"]

#: the process that first used OpenCL through clfrnn; empty before that
_first_user: list[int] = []


def check_process() -> None:
    """Note the process where none has used OpenCL yet; raise in a child that was forked from one that has.

    Every call that touches OpenCL comes here first, before it takes a lock: the lock that another thread of the parent
    held during the fork is never released in the child.
    """
    process = os.getpid()
    if not _first_user:
        _first_user.append(process)
    elif _first_user[0] != process:
        raise ClfrnnError(
            "clfrnn used OpenCL before a fork made this process, and OpenCL drivers hang in forked children; start "
            "children by 'spawn' or 'forkserver', as multiprocessing.get_context('spawn') does, or fork before clfrnn "
            "is first used"
        )
