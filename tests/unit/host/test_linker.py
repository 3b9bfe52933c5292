"""A driver that runs the machine's linker: helped where the linker fails, and refused in words where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clfrnn
from clfrnn.host import linker

POCL = "Portable Computing Language"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drivers run `ld` on Linux alone")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without programs, and with empty caches; what is put into its folder is in its PATH."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("LIBRARY_PATH", raising=False)
    return programs


@pytest.fixture(scope="module")
def real():
    """The command of a linker that this machine has."""
    found = list(linker._linkers())
    if not found:
        pytest.skip("this machine has no linker, and the wheel ziglang is not installed")
    return found[-1]


#: Lines of a shell script that leave the folders of this machine out of what a linker searches.
NO_LIBRARIES = """for each do
    shift
    case $each in -L/usr/*|-L/lib*) ;; *) set -- "$@" "$each" ;; esac
done
set -- -nostdlib "$@"
"""


def install(programs, command, *, first=""):
    """Put a script into the PATH that runs a linker, after some other lines."""
    script = programs / "ld"
    script.write_text(f'#!/bin/sh\n{first}exec {" ".join(command)} "$@"\n')
    script.chmod(0o755)


def why_not_linked():
    return linker.why_not_linked.__wrapped__("a platform that is not here", "NO_CACHE")


def without_wheel(monkeypatch):
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)


def test_a_linker_that_works_is_left_alone(machine, real, monkeypatch):
    without_wheel(monkeypatch)
    install(machine, real)
    for library in linker._LIBRARIES:
        (machine / f"lib{library}.a").write_bytes(linker._EMPTY_ARCHIVE)
    monkeypatch.setenv("LIBRARY_PATH", str(machine))
    assert why_not_linked() == ""
    assert os.environ["PATH"] == str(machine)


def test_missing_libraries_are_replaced(machine, real, monkeypatch):
    """As where a system has a linker alone: "cannot find -lc"."""
    without_wheel(monkeypatch)
    install(machine, real, first=NO_LIBRARIES)
    assert not linker._links("ld")
    assert why_not_linked() == ""
    assert linker._links("ld")
    first, last = os.environ["PATH"].split(os.pathsep)
    assert last == str(machine)
    assert (Path(first) / "libc.a").read_bytes() == b"!<arch>\n"
    # Processes that inherit the variables find it done.
    assert why_not_linked() == ""
    assert os.environ["PATH"] == f"{first}{os.pathsep}{last}"


def test_the_libraries_of_the_machine_come_first(machine, real, monkeypatch):
    without_wheel(monkeypatch)
    install(machine, ["/bin/echo"])
    folder = machine / "help"
    folder.mkdir()
    assert linker._helped((str(machine / "ld"),), folder)
    printed = subprocess.run([folder / "ld", "-L/usr/lib", "-lc"], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["-L/usr/lib", "-lc", f"-L{folder}"]


@pytest.mark.parametrize("broken", [False, True], ids=["no linker", "a broken linker"])
def test_the_linker_of_the_wheel(machine, broken):
    if shutil.which("zig") is None and linker.importlib.util.find_spec("ziglang") is None:
        pytest.skip("the wheel ziglang is not installed")
    if broken:
        install(machine, ["/bin/false"])
    assert why_not_linked() == ""
    assert Path(shutil.which("ld")).parent != machine
    assert linker._links("ld")


def test_folders_that_cannot_be_written(machine, real, monkeypatch, tmp_path):
    """A home that is read-only: the script lies among temporary files."""
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    without_wheel(monkeypatch)
    install(machine, real, first=NO_LIBRARIES)
    assert why_not_linked() == ""
    assert str(tmp_path / "file") not in os.environ["PATH"]


def test_no_linker(machine, monkeypatch):
    without_wheel(monkeypatch)
    why = why_not_linked()
    assert POCL not in why
    assert "a platform that is not here" in why
    assert "`ld`, which is not on this machine" in why
    assert "pip install ziglang" in why
    install(machine, ["/bin/false"])
    assert "`ld`, which fails" in why_not_linked()


def test_a_linker_that_hangs(machine, monkeypatch):
    without_wheel(monkeypatch)
    monkeypatch.setattr(linker, "_SECONDS", 0.1)
    install(machine, [sys.executable, "-c", "'import time; time.sleep(600)'"])
    assert "`ld`, which fails" in why_not_linked()


@pytest.fixture
def unlinked(session, tmp_path):
    """Variables under which the driver has no linker: no programs, and a wheel that holds none."""
    if session.profile.platform != POCL or session.profile.kind != "cpu":
        pytest.skip("this driver runs no linker of the machine")
    (tmp_path / "ziglang.py").write_text("")
    folders = os.pathsep.join([str(tmp_path), str(Path(clfrnn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    named = {"PATH": str(tmp_path), "PYTHONPATH": folders, "XDG_CACHE_HOME": str(tmp_path / "caches")}
    trial = [sys.executable, "-c", linker._TRIAL, POCL]
    off = {"POCL_KERNEL_CACHE": "0", "PYOPENCL_NO_CACHE": "1"}
    if linker._succeeds(trial, {**os.environ, **named, **off}):
        pytest.skip("this driver links without a program of the machine")
    return {**os.environ, **named, "CLFRNN_DEVICE": POCL}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import clfrnn, numpy; clfrnn.search(numpy.zeros((9, 3)), 1.0)"),
        ("-m", "clfrnn", "search", "points.csv", "--radius", "1"),
        ("-m", "clfrnn", "devices"),
    ],
    ids=["Python", "search", "devices"],
)
def test_without_a_linker_the_process_does_not_die(unlinked, tmp_path, arguments):
    (tmp_path / "points.csv").write_text("0,0,0\n1,1,1\n")
    done = subprocess.run(
        [sys.executable, *arguments], env=unlinked, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    # The report of devices ends well where another driver is there.
    others = any(profile.platform != POCL for profile in clfrnn.devices())
    assert done.returncode == (0 if others and "devices" in arguments else 1), done.stderr
    printed = done.stdout if "devices" in arguments else done.stderr
    assert "pip install ziglang" in printed
    assert POCL in printed


def test_another_device_is_preferred(session, monkeypatch):
    """A driver that cannot compile is the default only where nothing else is there."""
    import dataclasses

    from clfrnn.runtime import device

    read = device.read_profile
    lacking = session.device
    others = [each for each in device.list_devices() if device._kind(each) == device._kind(lacking) and each != lacking]

    def read_without(each):
        return read(each) if each != lacking else dataclasses.replace(read(each), lacks="a program is missing")

    monkeypatch.setattr(device, "read_profile", read_without)
    monkeypatch.delenv("CLFRNN_DEVICE", raising=False)
    assert device._shortcomings(lacking) > (False, True)
    assert all(device._shortcomings(each) < device._shortcomings(lacking) for each in others)
