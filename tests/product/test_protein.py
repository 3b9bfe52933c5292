"""A protein in water: 47,681 atoms in a triclinic cell, all pairs with their images, beside scipy's tree.

The file is one of MDAnalysisTests; the test is skipped where that is not installed.
"""

import functools
import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

import clfrnn
from clfrnn.methods import METHODS

spatial = pytest.importorskip("scipy.spatial", reason="scipy finds the pairs to compare with")

#: In nanometres: hydrogen bonds, and the cutoff of a force field.
CUTOFFS = (0.3, 1.0)

#: Queries whose pairs are found and compared at a time, and bytes of a list.
CHUNK, BYTES = 4096, 1 << 27


def data():
    """The file of atoms, found without loading the package, which wants all of MDAnalysis."""
    found = importlib.util.find_spec("MDAnalysisTests")
    return Path(found.submodule_search_locations[0]) / "data" / "adk_oplsaa.gro" if found else None


@functools.cache
def atoms():
    """Positions and lattice vectors as the file has them: columns of fixed width, and v1x v2y v3z v1y v1z v2x ..."""
    lines = data().read_text().splitlines()
    count = int(lines[1])
    positions = [[line[20 + 8 * k : 28 + 8 * k] for k in range(3)] for line in lines[2 : 2 + count]]
    (xx, yy, zz), rest = np.split(np.array(lines[2 + count].split(), float), [3])
    xy, xz, yx, yz, zx, zy = rest
    return np.array(positions, float), np.array([[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]])


@functools.cache
def expected(cutoff):
    """Offsets, points and shifts of all rows, by point and shift: candidates of a tree over all images in reach.

    The tree finds somewhat more. Which of these are neighbors is decided by the definition.
    """
    points, cell = atoms()
    turns = np.floor(points @ np.linalg.inv(cell)).astype(int)
    inside = points - turns @ cell
    reach = cutoff * np.linalg.norm(np.linalg.inv(cell), axis=0) + 1e-6
    images = []
    for shift in itertools.product((-1, 0, 1), repeat=3):
        places = inside @ np.linalg.inv(cell) + shift
        near = np.flatnonzero(((places >= -reach) & (places <= 1 + reach)).all(axis=1))
        images.append((near, np.broadcast_to(shift, (len(near), 3))))
    ids, shifts = (np.concatenate(each) for each in zip(*images, strict=True))
    tree = spatial.cKDTree(inside[ids] + shifts @ cell)
    parts = []
    for first in range(0, len(points), CHUNK):
        found = tree.query_ball_point(inside[first : first + CHUNK], cutoff + 1e-6)
        i = first + np.repeat(np.arange(len(found)), [len(row) for row in found])
        place = np.concatenate([np.array(row, int) for row in found])
        j, s = ids[place], shifts[place] - turns[ids[place]] + turns[i]
        dx = (points[j] - points[i]) + ((s[:, :1] * cell[0] + s[:, 1:2] * cell[1]) + s[:, 2:] * cell[2])
        d2 = (dx[:, 0] * dx[:, 0] + dx[:, 1] * dx[:, 1]) + dx[:, 2] * dx[:, 2]
        listed = (d2 <= cutoff * cutoff) & ~((i == j) & ~s.any(axis=1))
        i, j, s = i[listed], j[listed], s[listed]
        order = np.lexsort((*s.T[::-1], j, i))
        parts.append((i[order].astype(np.int32), j[order].astype(np.int32), s[order].astype(np.int8)))
    i, j, s = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(points)))]), j, s


def compare(found, rows, cutoff):
    """A list of the queries of these numbers with what is expected of them, which each query itself may add to."""
    offsets, j, shifts = expected(cutoff)
    found = found.to_host()
    ids = np.repeat(rows, np.diff(found.offsets))
    others = (found.indices != ids) | found.shifts.any(axis=1)
    places = np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows])
    assert np.array_equal(np.bincount(ids[others], minlength=len(offsets))[rows], np.diff(offsets)[rows])
    assert np.array_equal(found.indices[others], j[places])
    assert np.array_equal(found.shifts[others], shifts[places])
    return np.count_nonzero(~others)


@pytest.mark.skipif(data() is None, reason="MDAnalysisTests has the atoms")
@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_protein_in_water(session, method, cutoff):
    """Every pair of every method; of all pairs by brute force, those of a thousand queries."""
    if not session.profile.fp64:
        pytest.skip("the device has no fp64")
    points, cell = atoms()
    n = len(points)
    assert n == 47_681
    index = clfrnn.build_index(points, cutoff, method=method, cell=cell, session=session)
    asked = {"sort": "index", "vectors": True}
    if method == "brute_force":
        some = np.arange(0, n, 47)
        assert compare(index.query(points[some], **asked), some, cutoff) == len(some)
        return
    assert np.array_equal(index.count(to_host=True), np.diff(expected(cutoff)[0]))
    row = 0
    for part in index.query_blocks(max_bytes=BYTES, **asked):
        assert compare(part, np.arange(row, row + len(part)), cutoff) == 0
        row += len(part)
    assert row == n
