"""Crystals, surfaces, molecules and tubes that ASE makes: the same pairs and shifts as its neighbor list."""

import numpy as np
import pytest

import clfrnn
from clfrnn.methods import METHODS

ase = pytest.importorskip("ase", reason="ASE makes the structures")

#: In Angstrom; no shell of neighbors lies at one of them.
CUTOFFS = (2.2347, 3.7183, 6.1371)


def bulks():
    """Every element whose structure ASE knows, as a primitive cell, and as a cubic one where there is one."""
    from ase.build import bulk
    from ase.data import chemical_symbols

    for symbol in chemical_symbols[1:]:
        for shape in ({}, {"cubic": True}, {"orthorhombic": True}):
            try:
                yield f"{symbol} {shape}", bulk(symbol, **shape)
            except (ValueError, RuntimeError, KeyError, NotImplementedError, AssertionError):
                continue  # no such cell of this element
    for name, lattice, a in (("NaCl", "rocksalt", 5.64), ("ZnS", "zincblende", 5.41), ("CsCl", "cesiumchloride", 4.12)):
        yield f"{name} {lattice}", bulk(name, lattice, a=a)
    yield "ZnO wurtzite", bulk("ZnO", "wurtzite", a=3.25, c=5.2)


def surfaces():
    """Slabs, periodic along two vectors, with the third one zero or not; skewed and orthogonal."""
    from ase import build

    made = {
        "fcc100": "Cu", "fcc110": "Cu", "fcc111": "Al", "fcc211": "Au", "bcc100": "Fe", "bcc110": "Fe",
        "bcc111": "W", "hcp0001": "Ti", "hcp10m10": "Mg", "diamond100": "Si", "diamond111": "C",
    }  # fmt: skip
    for name, symbol in made.items():
        size = (3, 2, 3) if name == "fcc211" else (2, 2, 3)
        for vacuum in (None, 6.0):
            yield f"{name} {vacuum}", getattr(build, name)(symbol, size, vacuum=vacuum)
    yield "graphene", build.graphene(size=(2, 3, 1), vacuum=4.0)
    yield "MoS2", build.mx2(size=(2, 2, 1), vacuum=5.0)
    yield "tilted slab", build.surface("Au", (2, 1, 1), 4, vacuum=5.0)


def tubes():
    """Nanotubes, periodic along one vector; the others are zero or wide."""
    from ase.build import nanotube

    for n, m in ((6, 0), (3, 3), (4, 2)):
        yield f"tube {n} {m}", nanotube(n, m, length=2)
        tube = nanotube(n, m, length=1, vacuum=4.0)
        yield f"tube {n} {m} in a cell", tube


def molecules():
    """Molecules in skewed cells, which some of them stick out of, periodic along all vectors or some."""
    from ase.collections import dcdft, g2, s22

    for collection in (g2, s22, dcdft):
        for k, name in enumerate(collection.names):
            atoms = collection[name]
            if not atoms.cell.rank:
                atoms.center(vacuum=1.5)
                cell = atoms.cell.array
                cell[1] += 0.4 * cell[0]
                cell[2] += 0.3 * cell[0] - 0.45 * cell[1]
                atoms.set_cell(cell, scale_atoms=False)
                atoms.pbc = [True, k % 2 == 0, k % 3 == 0]
            yield f"{collection.name} {name}", atoms


@pytest.mark.parametrize(
    "structures",
    [bulks, *(pytest.param(made, marks=pytest.mark.long) for made in (surfaces, tubes, molecules))],
    ids=lambda made: made.__name__,
)
def test_structures_of_ase(session, structures):
    """Each by another method, at three cutoffs, of which the longest is beyond many cells."""
    if not session.profile.fp64:
        pytest.skip("the device has no fp64")
    from ase.neighborlist import primitive_neighbor_list

    for k, (name, atoms) in enumerate(structures()):
        points, cell, flags = atoms.positions, atoms.cell.array, atoms.pbc
        method = sorted(METHODS)[k % len(METHODS)]
        for cutoff in CUTOFFS:
            i, j, shifts = primitive_neighbor_list("ijS", flags, cell, points, cutoff, self_interaction=False)
            order = np.lexsort((*shifts.T[::-1], j, i))

            found = clfrnn.search(
                points, cutoff, cell=cell, periodic=flags, method=method, sort="index", vectors=True, session=session
            ).to_host()

            assert np.array_equal(found.offsets, np.searchsorted(i[order], np.arange(len(points) + 1))), name
            assert np.array_equal(found.indices, j[order]), name
            if flags.any():
                assert np.array_equal(found.shifts, shifts[order]), name
