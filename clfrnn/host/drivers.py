"""Drivers that pip installed: found in the environment of this Python, and shown to the loader beside the system's.

A loader reads the .icd files of one folder, and pip can write none there. So while platforms are listed for the first
time, a variable of the loader's names a temporary folder with the .icd files of the system and one for each such
driver. Nothing is done where the user has set a variable of a loader's.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["SYSTEM_FOLDER", "VARIABLES", "beside_registered", "default_folder", "unregistered"]

SYSTEM_FOLDER = "/etc/OpenCL/vendors"

#: The variables by which users tell a loader where drivers are.
VARIABLES = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES")


def default_folder(package: Path) -> Path:
    """The folder of .icd files that the loader of pyopencl in `package` reads: the system's, or conda's."""
    conda = Path(sys.prefix, "conda-meta").is_dir() and not _bundled_loader(package)
    return Path(sys.prefix, "etc/OpenCL/vendors") if conda else Path(SYSTEM_FOLDER)


def _bundled_loader(package: Path) -> bool:
    """Whether pyopencl brings a loader, which then finds the .icd files beside itself."""
    return any(package.glob(".libs/libOpenCL*"))


def unregistered(package: Path, libraries: Sequence[str], *, registered: Path | None = None) -> list[Path]:
    """The libraries of drivers that pip installed and that the loader of pyopencl in `package` does not find by itself.

    `libraries` are paths below the folder of an environment's data. A library whose name an .icd file in the folder
    `registered` names is left out, as two versions of one driver in a process share parts that differ.
    """
    if any(os.environ.get(name) for name in VARIABLES):
        return []
    folder = default_folder(package) if registered is None else registered
    named = {Path(_library(file)).name for file in _icd_files(folder)}
    found = [Path(data, library) for data in _data_folders(package) for library in libraries]
    if not _bundled_loader(package):
        found += [package / ".libs" / _library(file) for file in _icd_files(package / ".libs")]
    there = dict.fromkeys(path for path in found if path.name not in named and path.is_file())
    return list(there)


def _data_folders(package: Path) -> list[str]:
    """Where pip puts the data of packages: of this environment, of the user, and beside packages in a --target."""
    user = sysconfig.get_path("data", sysconfig.get_preferred_scheme("user"))
    return list(dict.fromkeys([sysconfig.get_path("data"), sys.prefix, str(package.parent), user, sys.base_prefix]))


def _icd_files(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.suffix == ".icd")
    return []


def _library(file: Path) -> str:
    """The library that an .icd file names; "" where it cannot be read."""
    with contextlib.suppress(OSError):
        return (file.read_text(encoding="utf-8", errors="replace").splitlines() or [""])[0].strip()
    return ""


@contextlib.contextmanager
def beside_registered(package: Path, libraries: Sequence[str]) -> Iterator[None]:
    """While it lasts, a loader that reads its variables finds the drivers that pip installed, too."""
    found = unregistered(package, libraries)
    if not found:
        yield
        return
    with contextlib.ExitStack() as until_listed:
        if sys.platform == "win32":  # drivers of the system are in its registry, and these come on top
            for folder in dict.fromkeys(str(library.parent) for library in found):
                until_listed.enter_context(os.add_dll_directory(folder))
            os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join(map(str, found))
            until_listed.callback(os.environ.pop, "OCL_ICD_FILENAMES", None)
        else:
            with contextlib.suppress(OSError):  # no temporary files: the loader finds what it finds by itself
                folder = until_listed.enter_context(tempfile.TemporaryDirectory(prefix="clfrnn-"))
                for file in _icd_files(default_folder(package)):
                    Path(folder, file.name).write_text(f"{_library(file)}\n", encoding="utf-8")
                for number, library in enumerate(found):
                    Path(folder, f"pip-{number}.icd").write_text(f"{library}\n", encoding="utf-8")
                os.environ["OCL_ICD_VENDORS"] = folder
                until_listed.callback(os.environ.pop, "OCL_ICD_VENDORS", None)
        yield
