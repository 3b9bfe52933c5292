"""``python -m clfrnn``, and the command ``clfrnn``."""

import os

#: Exit status of a program that Ctrl-C ended, as shells count signals.
_INTERRUPTED = 130

try:
    import _thread
    import signal
    import sys
    import threading
    from typing import Any, NoReturn
except KeyboardInterrupt:
    os._exit(_INTERRUPTED)

__all__ = ["main"]

#: Seconds after which an interrupt that Python dropped is raised again.
_SOON = 0.01

#: The interrupts of this process.
_interrupts: list[int] = []


def main() -> None:
    """Run the command line. Ctrl-C ends it with status 130 and no traceback, and is ignored once its work is done.

    An interrupt may come out of other libraries as another error, or as none, so it is noted where it arrives.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # shells ignore it for jobs in the background
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _dropped
    try:
        try:
            from .cli import main as command  # noqa: PLC0415 — it takes long to load

            command(prog_name="clfrnn")
        finally:
            # Python gives a signal its default action when it shuts down, while drivers still end.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException:
        if _interrupts:
            _end()
        raise


def _interrupt(number: int, _: Any) -> NoReturn:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _dropped(raised: Any) -> None:
    """Raise an interrupt again that came where Python drops exceptions, in a callback of the import system, say.

    Objects that an interrupt left half made fail where they are deleted, which is not shown.
    """
    if isinstance(raised.exc_value, KeyboardInterrupt):
        threading.Timer(_SOON, _interrupt_again).start()
    elif not _interrupts:
        sys.__unraisablehook__(raised)


def _interrupt_again() -> None:
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # also where the main thread waits for the system
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _end() -> NoReturn:
    """End the process at once: Python's own end would raise the signal again where an interrupt left an ``eval``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
            continue
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
