"""Drivers that pip installed where no loader looks: found by their files, and shown to the loader while it lists."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clfrnn
from clfrnn.host import drivers
from clfrnn.runtime.quirks import LIBRARIES

LIBRARY = "lib/libdriver.so"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of a pyopencl that pip has installed by --target, with a loader and a driver beside it."""
    for name in drivers.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(drivers, "SYSTEM_FOLDER", str(tmp_path / "system"))
    package = tmp_path / "site" / "pyopencl"
    write(package / ".libs/libOpenCL-1234.so.1.0.0")
    write(package / ".libs/pocl.icd", "libpocl-1234.so")
    write(package / ".libs/libpocl-1234.so")
    write(package.parent / LIBRARY)
    return package


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def shown(package):
    """The lines of the .icd files that the loader reads."""
    with drivers.beside_registered(package, [LIBRARY]):
        folder = os.environ.get("OCL_ICD_VENDORS")
        return None if folder is None else sorted(path.read_text().strip() for path in Path(folder).iterdir())


posix = pytest.mark.skipif(os.name != "posix", reason="on Windows, drivers are registered with the system")


@posix
def test_beside_the_drivers_of_the_system(package, tmp_path):
    write(tmp_path / "system/gpu.icd", "libgpu.so.1\n")
    assert shown(package) == sorted([str(package.parent / LIBRARY), "libgpu.so.1"])
    assert "OCL_ICD_VENDORS" not in os.environ


@posix
def test_without_a_folder_of_the_system(package):
    assert shown(package) == [str(package.parent / LIBRARY)]


@posix
def test_of_a_loader_of_the_system(package):
    """It does not look into pyopencl's own folder, where pip has put PoCL."""
    (package / ".libs/libOpenCL-1234.so.1.0.0").unlink()
    assert shown(package) == sorted([str(package.parent / LIBRARY), str(package / ".libs/libpocl-1234.so")])


@pytest.mark.parametrize("name", drivers.VARIABLES)
def test_a_variable_of_the_user_wins(package, monkeypatch, name):
    monkeypatch.setenv(name, "/somewhere")
    assert drivers.unregistered(package, [LIBRARY]) == []
    with drivers.beside_registered(package, [LIBRARY]):
        assert {each: os.environ.get(each) for each in drivers.VARIABLES if each in os.environ} == {name: "/somewhere"}


def test_a_driver_that_the_system_has(package, tmp_path):
    """Two versions of one driver in a process would share libraries of which each needs its own."""
    write(tmp_path / "system/driver.icd", "/opt/driver/libdriver.so\n")
    assert drivers.unregistered(package, [LIBRARY]) == []


def test_nothing_installed(package):
    (package.parent / LIBRARY).unlink()
    assert drivers.unregistered(package, [LIBRARY]) == []


@posix
def test_files_that_cannot_be_read(package, tmp_path):
    (tmp_path / "system/folder.icd").mkdir(parents=True)
    write(tmp_path / "system/empty.icd")
    assert str(package.parent / LIBRARY) in shown(package)


@posix
def test_conda_has_a_folder_of_its_own(package, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "conda"))
    (tmp_path / "conda/conda-meta").mkdir(parents=True)
    assert drivers.default_folder(package) == tmp_path / "system"
    (package / ".libs/libOpenCL-1234.so.1.0.0").unlink()
    assert drivers.default_folder(package) == tmp_path / "conda/etc/OpenCL/vendors"


def test_the_drivers_of_this_environment():
    """Each library that pip put into this environment is a platform of a new process, without variables."""
    installed = [library for library in LIBRARIES if Path(sys.prefix, library).is_file()]
    if not installed:
        pytest.skip("pip has installed no driver here that registers itself nowhere")
    named = {**os.environ, "PYTHONPATH": str(Path(clfrnn.__file__).parents[1])}
    environment = {name: value for name, value in named.items() if name not in drivers.VARIABLES}
    ask = "import clfrnn, sys; print({p.platform for p in clfrnn.devices()}); print(open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True)
    for library in installed:
        assert Path(library).name in done.stdout
    assert "Intel(R) OpenCL" in done.stdout.splitlines()[0]
