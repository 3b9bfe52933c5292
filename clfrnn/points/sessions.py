"""Sessions of calls: the one that is given, that of the arrays given, or the default session."""

from __future__ import annotations

import functools
import threading

import pyopencl as cl
import pyopencl.array as cla

from ..conditions import Condition, parts_of
from ..errors import InvalidInputError
from ..host.process import check_process
from ..runtime.session import Session

__all__ = ["choose_session", "default_session"]

#: held while the default session, or the session of a queue, is looked for and made
_choosing = threading.RLock()


def default_session() -> Session:
    """Return the session of this process, made at the first call.

    Its device is the one that the environment variable ``CLFRNN_DEVICE`` names, else ``PYOPENCL_CTX``, else the first
    GPU, else the first CPU. Devices whose drivers end loops after a number of turns come last.

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
    return _default()


def _default() -> Session:
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
    """Return the session of a call: the given one, else that of the first array on a device, else the default one.

    Parameters
    ----------
    session : a :class:`Session`, or None
    *arrays : what the call was given; only arrays on a device count, and those of a :class:`Condition`

    Raises
    ------
    InvalidInputError
        `session` is neither a session nor None.
    NoDeviceError
        There is no device.

    Examples
    --------
    >>> import clfrnn
    >>> counts = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0).count()
    >>> clfrnn.choose_session(None, [1, 2], counts).queue == counts.queue
    True
    """
    check_process()
    if session is not None:
        if not isinstance(session, Session):
            raise InvalidInputError(
                f"expected a clfrnn.Session, got {type(session).__name__}; wrap it: clfrnn.Session(...)",
                argument="session",
            )
        return session
    for each in arrays:
        array = _first_array(each) if isinstance(each, Condition) else each
        if isinstance(array, cla.Array):
            break
    else:
        return _default()
    queue = array.queue or cl.CommandQueue(array.context)
    with _choosing:
        living = Session.all_living()
        same = [each for each in living if each.queue == queue]
        same = same or [each for each in living if each.context == array.context and each.device == queue.device]
        return min(same, key=lambda each: (not _is_default(each), each.number)) if same else _session_of_queue(queue)


def _first_array(condition: Condition) -> cla.Array | None:
    """The first array on a device among the values of a condition."""
    return next((value for value in parts_of(condition)[1].values() if isinstance(value, cla.Array)), None)


def _is_default(session: Session) -> bool:
    return bool(_default_session.cache_info().currsize) and session is _default_session()
