"""Ctrl-C while a driver compiles: neither the driver, nor its threads and programs, see it."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from conftest import own_session

import clfrnn
from clfrnn.host.interrupts import interrupts_held_back

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


def blocked():
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_comes_behind_the_block():
    reached = []

    @interrupts_held_back()
    def interrupted():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        reached.append(blocked())

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == [True]
    assert not blocked()


def test_threads_and_programs_that_are_started_do_not_see_it():
    """A terminal interrupts every program of its foreground, and with it the linker that a driver waits for."""
    seen = []
    with interrupts_held_back():
        thread = threading.Thread(target=lambda: seen.append(blocked()))
        thread.start()
        thread.join()
        said = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True).stdout
    assert (seen, said.strip()) == ([True], "True")
    assert (
        subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_a_handler_that_a_compiler_left_is_replaced():
    """It would delete files of the compiler at the next Ctrl-C; here, it is the system's, which ends the process."""
    code = """
import ctypes, signal
from clfrnn.host.interrupts import interrupts_held_back
with interrupts_held_back():
    set_handler = ctypes.CDLL(None).signal
    set_handler.argtypes = ctypes.c_int, ctypes.c_void_p
    set_handler(int(signal.SIGINT), None)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("raised")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "raised\n"), done.stderr


def test_programs_are_built_behind_it(session, monkeypatch):
    session = own_session(session)
    seen = []
    plain = session.programs._built
    monkeypatch.setattr(session.programs, "_built", lambda *given: (seen.append(blocked()), plain(*given))[1])
    clfrnn.search([[0.0, 0.0], [0.5, 0.0]], 1, session=session)
    assert seen
    assert all(seen)
    assert not blocked()


def test_a_thread_may_build(session):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(clfrnn.search([[0.0, 0.0], [0.5, 0.0]], 1, session=own_session(session)).num_pairs)
    )
    thread.start()
    thread.join()
    assert found == [2]
