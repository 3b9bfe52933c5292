"""Sessions of calls: the one that is given, that of the arrays given, or the default session."""

from __future__ import annotations

import functools
import threading

import pyopencl as cl
import pyopencl.array as cla

from ..errors import InvalidInputError
from ..host.process import check_process
from ..runtime.session import Session

__all__ = ["choose_session", "default_session"]

#: held while the default session, or the session of a queue, is looked for and made
_choosing = threading.RLock()


def default_session() -> Session:
    """Return the session of this process, made at the first call.

    Its device is ``CLFRNN_DEVICE``, else ``PYOPENCL_CTX``, else the first GPU, else the first CPU. Devices whose
    drivers bound loops come last.

    Raises
    ------
    NoDeviceError
        There is no device.

    Examples
    --------
    >>> import clfrnn
    >>> clfrnn.default_session() is clfrnn.default_session()
    True
    """
    check_process()
    with _choosing:
        return _default_session()


@functools.cache
def _default_session() -> Session:
    return Session()


@functools.lru_cache(maxsize=8)
def _session_of_queue(queue: cl.CommandQueue) -> Session:
    in_order = not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    return Session(queue if in_order else cl.CommandQueue(queue.context, queue.device))


def choose_session(session: Session | None, *arrays: object) -> Session:
    """Return `session`, else the session of the first device array, else the default session."""
    check_process()
    if session is not None:
        if not isinstance(session, Session):
            raise InvalidInputError(
                f"session: expected a clfrnn.Session, got {type(session).__name__}; wrap it: clfrnn.Session(...)"
            )
        return session
    for array in arrays:
        if isinstance(array, cla.Array):
            break
    else:
        return default_session()
    queue = array.queue or cl.CommandQueue(array.context)
    with _choosing:
        living = sorted(
            Session.all_living(), key=lambda each: (each.queue != queue, not _is_default(each), each.number)
        )
        same = (each for each in living if each.context == array.context and each.device == queue.device)
        return next(same, None) or _session_of_queue(queue)


def _is_default(session: Session) -> bool:
    return bool(_default_session.cache_info().currsize) and session is _default_session()
