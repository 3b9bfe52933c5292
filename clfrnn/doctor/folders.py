"""Where a loader looks for drivers, and what is registered there. Reads files, loads nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..host.drivers import SYSTEM_FOLDER
from .facts import Entry, Facts, Folder, Loader

__all__ = ["entries", "find_loader", "folders", "register_commands"]

#: Text in the libraries of loaders, by which they are recognised; the second is in both.
_KINDS = {b"OCL Icd free software": "ocl-icd", b"Khronos Group": "khronos"}


def find_loader(mapped: str, package: str, environment: Mapping[str, str]) -> Loader:
    """The loader at the path `mapped`, or, where that is not known, the loader beside pyopencl in `package`."""
    path = mapped or next(_bundled(package), "")
    wheel = path and Path(path).parent in {Path(package) / ".libs", Path(package) / ".dylibs", Path(f"{package}.libs")}
    conda = environment.get("CONDA_PREFIX", "")
    if path and path in environment.get("LD_PRELOAD", "").replace(":", " ").split():
        origin = "preloaded"
    elif wheel:
        origin = "wheel"
    elif path and conda and Path(path).is_relative_to(conda):
        origin = "conda"
    else:
        origin = "system"
    return Loader(path=path, origin=origin, kind=_kind(path))


def _bundled(package: str) -> Iterator[str]:
    for folder in (".libs", ".dylibs", f"../{Path(package).name}.libs"):
        yield from (str(path) for path in sorted(Path(package, folder).resolve().glob("libOpenCL*")))


def _kind(path: str) -> str:
    try:
        text = Path(path).read_bytes() if path else b""
    except OSError:
        return ""
    return next((kind for words, kind in _KINDS.items() if words in text), "")


def folders(
    loader: Loader, environment: Mapping[str, str], *, standard: str = SYSTEM_FOLDER, by_pip: Sequence[Path] = ()
) -> list[Folder]:
    """The folders that `loader` reads, the drivers `by_pip` that clfrnn shows it, and usual ones that it does not."""
    conda = environment.get("CONDA_PREFIX", "")
    of_conda = str(Path(conda, "etc/OpenCL/vendors")) if conda else ""
    default = of_conda if loader.origin == "conda" else standard
    read = list(_read_by(loader, environment, default))
    read += [Folder(path=str(library), named_by="pip", state="library") for library in by_pip]
    known = [_folder(path, "", read=False) for path in (standard, of_conda) if path]
    reached = {os.path.realpath(each.path) for each in read}
    return read + [each for each in known if each.files and os.path.realpath(each.path) not in reached]


def _read_by(loader: Loader, environment: Mapping[str, str], default: str) -> Iterator[Folder]:
    named = environment.get("OCL_ICD_VENDORS", "")
    if loader.kind == "khronos":
        for library in filter(None, environment.get("OCL_ICD_FILENAMES", "").split(os.pathsep)):
            yield Folder(path=library, named_by="OCL_ICD_FILENAMES", state="library")
        yield _folder(named or default, "OCL_ICD_VENDORS" if named else "loader")
        return
    if named and not Path(named).is_dir():
        yield _one_driver(named, default)
        return  # this loader then reads no other folder, not even that of the wheel
    other = environment.get("OPENCL_VENDOR_PATH", "")
    variable = "OCL_ICD_VENDORS" if named else "OPENCL_VENDOR_PATH" if other else "loader"
    yield _folder(named or other or default, variable)
    if loader.origin == "wheel":
        yield _folder(str(Path(loader.path).parent), "wheel")


def _one_driver(named: str, default: str) -> Folder:
    """The driver that ocl-icd takes from a value that is no folder: an .icd file, or a library."""
    if named.endswith(".icd"):
        beside = Path(default, named)
        path = str(beside) if "/" not in named and beside.is_file() else named
        found = Path(path).is_file()
        return Folder(
            path=path,
            named_by="OCL_ICD_VENDORS",
            state="file" if found else "missing",
            files=(path,) if found else (),
        )
    known = Path(named).exists() or "/" not in named  # the system looks up a bare name as it does for libraries
    return Folder(path=named, named_by="OCL_ICD_VENDORS", state="library" if known else "missing")


def _folder(path: str, named_by: str, *, read: bool = True) -> Folder:
    try:
        files = sorted(str(file) for file in Path(path).iterdir() if file.suffix == ".icd")
    except OSError:
        return Folder(path=path, named_by=named_by, state="missing", read=read)
    return Folder(path=path, named_by=named_by, state="folder", read=read, files=tuple(files))


def entries(known: Sequence[Folder]) -> list[Entry]:
    """The drivers that are registered in the folders that are read; none is loaded."""
    found = []
    for folder in known:
        if folder.read and folder.state == "library":
            found.append(Entry(file="", library=folder.path))
        elif folder.read:
            found.extend(_entry(Path(file), bundled=folder.named_by == "wheel") for file in folder.files)
    return found


def _entry(file: Path, *, bundled: bool) -> Entry:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return Entry(file=str(file), library="", error=f"the file cannot be read: {error.strerror}")
    library = lines[0].strip() if lines else ""
    if not library:
        return Entry(file=str(file), library="", error="the file is empty; its first line should name a library")
    beside = file.parent / library
    return Entry(file=str(file), library=str(beside) if bundled and beside.exists() else library)


def register_commands(facts: Facts, library: str) -> tuple[str, ...]:
    """Shell commands that register a driver: where the loader looks, or without root rights in another folder."""
    file = Path(library).name.split(".")[0].removeprefix("lib") + ".icd"
    read = [folder for folder in facts.folders if folder.read and folder.named_by in ("OCL_ICD_VENDORS", "loader")]
    conda = facts.loader is not None and facts.loader.origin == "conda"
    own = [folder.path for folder in read if folder.named_by == "OCL_ICD_VENDORS" or facts.root or conda]
    if own:
        return f"mkdir -p {own[0]}", f"echo {library} > {own[0]}/{file}"
    copies = tuple(f'cp {folder.path}/*.icd "$HOME/opencl/"' for folder in read if folder.files)
    return (
        'mkdir -p "$HOME/opencl"',
        *copies,
        f'echo {library} > "$HOME/opencl/{file}"',
        'export OCL_ICD_VENDORS="$HOME/opencl"',
    )
