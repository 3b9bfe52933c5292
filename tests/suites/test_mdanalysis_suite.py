"""Systems of MDAnalysisTests: the pairs that MDAnalysis finds in proteins in water, in boxes of any shape."""

import numpy as np
import pytest

import clfrnn

mdanalysis = pytest.importorskip("MDAnalysis")
distances = pytest.importorskip("MDAnalysis.lib.distances")
datafiles = pytest.importorskip("MDAnalysisTests.datafiles")

pytestmark = pytest.mark.long

CUTOFF = 4.0

#: Pairs this near to the cutoff may fall on either side, as MDAnalysis wraps positions into the box.
NEAR = 1e-3


@pytest.mark.parametrize("name", ["GRO", "PDB", "PDB_full"])
def test_pairs(name):
    if not hasattr(datafiles, name):
        pytest.skip(f"this version has no {name}")
    universe = mdanalysis.Universe(getattr(datafiles, name))
    points, box = universe.atoms.positions, universe.dimensions
    where = {} if box is None or not all(box) else {"cell": clfrnn.cell_from_parameters(*map(float, box))}
    found = clfrnn.search(points, CUTOFF, half=True, distances=True, **where).to_host()
    listed = dict(zip(zip(*(each.tolist() for each in found.to_coo()), strict=True), found.distances, strict=True))
    pairs, far = distances.self_capped_distance(points, CUTOFF, box=box if where else None)
    expected = dict(zip(map(tuple, np.sort(pairs, axis=1).tolist()), far, strict=True))

    both = listed.keys() & expected.keys()
    assert len(both) > len(points)
    assert all(abs(listed[pair] - expected[pair]) < NEAR for pair in both)
    for one, other in ((listed, expected), (expected, listed)):
        assert all(one[pair] > CUTOFF - NEAR for pair in one.keys() - other.keys())
