"""Files that come with MDAnalysis' tests and with laspy: each is read as its own library reads it, or refused.

``CLFRNN_LASPY`` names the folder of laspy's source package, whose files are not in its wheel.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import read

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

ENDINGS = (".pdb", ".ent", ".gro", ".xyz", ".lammpstrj", ".lammpsdump")

#: What is refused, and why; MDAnalysis reads some of these.
REFUSED = {
    "cryst_then_model.pdb.bz2": "it is not packed",
    "cryst_then_model.pdb.gz": "it is not packed",
    "model_then_cryst.pdb.bz2": "it is not packed",
    "model_then_cryst.pdb.gz": "it is not packed",
    "empty_atom.gro": "its number of atoms is wrong",
    "missing_atomname.gro": "its columns are not those of .gro files",
    "spce_no_coords.lammpstrj.bz2": "it has no coordinates",
    "testENT.ent": "it has fewer atoms than MASTER says",
    "varying_occ_tmp.pdb": "a model has no end",
}

#: What MDAnalysis reads otherwise: of .gro files it takes the first frame alone.
MORE_FRAMES = {"two_water_gro_multiframe.gro"}


def files_of_mdanalysis():
    try:
        from MDAnalysisTests import datafiles
    except ImportError:
        return []
    root = Path(datafiles.__file__).parent / "data"
    found = [path for path in root.rglob("*") if path.name.removesuffix(path.suffix).endswith(ENDINGS)
             or path.suffix in ENDINGS]  # fmt: skip
    return sorted(path for path in found if path.suffix in (*ENDINGS, ".gz", ".bz2"))


@pytest.mark.parametrize("path", files_of_mdanalysis(), ids=lambda path: path.name)
def test_files_of_mdanalysis(path):
    mdanalysis = pytest.importorskip("MDAnalysis", reason="MDAnalysis is not installed")
    if path.name in REFUSED:
        with pytest.raises(InvalidInputError):
            read(path)
        return
    dump = ".lammps" in path.name
    given = {"format": "LAMMPSDUMP", "topology_format": "LAMMPSDUMP"} if dump else {}
    universe = mdanalysis.Universe(str(path), **given)
    for k in {0, len(universe.trajectory) // 2, len(universe.trajectory) - 1}:
        cloud, theirs = read(path, frame=k), universe.trajectory[k]
        assert path.name in MORE_FRAMES or cloud.frames == len(universe.trajectory)
        scale = 10 if cloud.unit == "nm" else 1
        points, positions = cloud.points * scale, theirs.positions
        if dump:  # MDAnalysis sorts atoms, and moves the corner of the box to the origin
            points = points[np.argsort(cloud.names.astype(int))]
            points, positions = points - points[0], positions - positions[0]
        assert points.shape == positions.shape
        assert np.allclose(points, positions, atol=2e-3)
        if theirs.dimensions is not None and cloud.cell is not None:
            assert np.allclose(np.linalg.norm(cloud.cell * scale, axis=1), theirs.dimensions[:3], atol=1e-2)


def test_mdanalysis_has_files():
    pytest.importorskip("MDAnalysisTests", reason="MDAnalysisTests is not installed")
    assert len(files_of_mdanalysis()) > 100


def files_of_laspy():
    folder = os.environ.get("CLFRNN_LASPY")
    return sorted(Path(folder).rglob("*.la[sz]")) if folder else []


def test_files_of_laspy():
    laspy = pytest.importorskip("laspy", reason="laspy is not installed")
    if not files_of_laspy():
        pytest.skip("CLFRNN_LASPY does not name a folder with laspy's files")
    for path in files_of_laspy():
        expected = np.asarray(laspy.read(path).xyz)
        assert np.array_equal(read(path).points, expected), path
