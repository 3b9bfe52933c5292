"""Ctrl-C: the command ends with 130 and without a traceback wherever it comes, and a command that is done stays so."""

import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import clfrnn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

#: Runs a scene as the command: `interrupt` is Ctrl-C, and `loaded` runs while the command is loaded.
STAGE = """
import importlib.util, signal, sys, time, weakref

def interrupt(*_):
    signal.raise_signal(signal.SIGINT)
    for _ in range(100):
        pass

class Once:
    pass

class Half:
    def __init__(self):
        interrupt()
        self.made = True

    def __del__(self):
        print(self.made)

def dropped():
    watched = Once()
    watcher = weakref.ref(watched, interrupt)
    del watched

def command(prog_name):
    {scene}
    print("done")
    sys.exit(0)

class Loader:
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "clfrnn.cli" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        {loading}
        module.main = command

sys.meta_path.insert(0, Loader())
from clfrnn.__main__ import main
{background}
main()
"""

#: What happens, with the status and what is printed. Python ends with the signal itself, not with a status, where an
#: interrupt left code that was evaluated; it drops what is raised in callbacks of references.
SCENES = {
    "in the command": ("interrupt()", 130, ""),
    "in code that is evaluated": ("eval('interrupt()')", 130, ""),
    "hidden by another error": (
        "try: interrupt()\n    except KeyboardInterrupt: raise ImportError('no numpy')",
        130,
        "",
    ),
    "hidden by none": ("try: interrupt()\n    except KeyboardInterrupt: pass", 130, "done\n"),
    "in an object that is left half made": ("Half()", 130, ""),
    "dropped": ("dropped(); time.sleep(60)", 130, ""),
    "none": ("pass", 0, "done\n"),
    "at the end of Python": ("import atexit; atexit.register(interrupt)", 0, "done\n"),
}


@pytest.fixture
def play(tmp_path):
    def play(scene, *, loading="pass", background="pass"):
        """Run a scene as a module, as `python -m clfrnn` is run: Python ends modules in a way of its own."""
        (tmp_path / "stage.py").write_text(STAGE.format(scene=scene, loading=loading, background=background))
        found = {"PYTHONPATH": str(Path(clfrnn.__file__).parents[1])}
        said = [sys.executable, "-m", "stage"]
        return subprocess.run(said, cwd=tmp_path, env=os.environ | found, capture_output=True, text=True, check=False)

    return play


@pytest.mark.parametrize("name", SCENES)
def test_an_interrupt(play, name):
    scene, status, printed = SCENES[name]
    done = play(scene)
    assert (done.returncode, done.stdout, done.stderr) == (status, printed, "")


def test_an_interrupt_while_the_command_is_loaded(play):
    done = play("pass", loading="eval('interrupt()')")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_signal_that_is_ignored_stays_so(play):
    """As shells have it of jobs in the background."""
    done = play("interrupt()", background="signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_other_errors_have_their_traceback(play):
    done = play("raise ValueError('of the command')")
    assert done.returncode == 1
    assert "ValueError: of the command" in done.stderr


def test_errors_that_python_drops_are_shown(play):
    done = play(
        textwrap.dedent("""
        watched = Once()
        watcher = weakref.ref(watched, int)
        del watched
    """).replace("\n", "\n    ")
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "TypeError" in done.stderr


def test_ctrl_c_on_a_terminal(tmp_path):
    """While the command waits for the rest of its input, of which it has then read more than a pipe holds."""
    ours, theirs = pty.openpty()
    said = [sys.executable, "-m", "clfrnn", "search", "-", "-r", "0.1", "-o", str(tmp_path / "a.npz")]
    with subprocess.Popen(said, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        child.stdin.write(b"1 2 3\n" * 100_000)
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        status = child.wait()
    printed = _all_of(ours)
    assert status == 130, printed
    assert b"Traceback" not in printed
    assert not list(tmp_path.iterdir())


def _all_of(terminal):
    """What was printed on a terminal whose other side is closed."""
    found = b""
    try:
        while part := os.read(terminal, 4096):
            found += part
    except OSError:  # as Linux says it
        pass
    os.close(terminal)
    return found
