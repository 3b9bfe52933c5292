"""``python -m asv_benches.peers.data``: clouds of real data, out of packages of the Python package index.

Surfaces are those of :mod:`..tools.scans`. Atoms are put beside them, into the same folder: ``NAME.npz`` with points
(n, 3) in Å, float32, and the cell (3, 3) in which they repeat. ``python -m asv_benches.peers`` reads them from there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np

from clfrnn import files
from clfrnn.errors import ClfrnnError

from ..tools import scans

#: atoms by name
ATOMS = {
    "water": scans.Source(
        "water in a box", "mdanalysistests==2.11.0", wheel=False, files=("MDAnalysisTests/data/bigbox.gro.bz2",)
    ),
    "protein": scans.Source(
        "a protein in water", "mdanalysistests==2.11.0", wheel=False, files=("MDAnalysisTests/data/adk_oplsaa.gro",)
    ),
}

#: the scans that peers take
SURFACES = ("terrain", "mean-cortex")


def fetch(name: str) -> Path:
    """Download the package of a cloud, and write the cloud's file."""
    if name not in ATOMS:
        return scans.fetch(name)
    path = scans.folder() / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        (atoms,) = scans.unpacked(ATOMS[name], Path(scratch))
        read = files.read(atoms)
    cell = 10.0 * np.asarray(read.cell, np.float64)  # .gro files are in nm
    inside = (10.0 * np.asarray(read.points, np.float64) @ np.linalg.inv(cell)) % 1.0
    np.savez_compressed(path, points=(inside @ cell).astype(np.float32), cell=cell.astype(np.float32))
    return path


@click.command()
def main() -> None:
    """Fetch all clouds of real data. The terrain needs the extra `las`."""
    for name in (*ATOMS, *SURFACES):
        try:
            click.echo(fetch(name))
        except (click.ClickException, ClfrnnError) as error:
            click.echo(f"{name}: left out, as {error}", err=True)


if __name__ == "__main__":
    main(prog_name="python -m asv_benches.peers.data")
