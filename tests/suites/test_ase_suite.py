"""ASE's own tests of its neighbor lists, with the face in their place."""

import pytest

pytest.importorskip("ase")

from conftest import needs_fp64
from suite import imported_with, taken_from

from clfrnn.interop.ase import neighbor_list, primitive_neighbor_list

pytestmark = [pytest.mark.long, needs_fp64]

FACES = {
    "ase.neighborlist.neighbor_list": neighbor_list,
    "ase.neighborlist.primitive_neighbor_list": primitive_neighbor_list,
}


@pytest.fixture(autouse=True)
def within_ase(monkeypatch):
    """ASE's classes of neighbor lists search by the face, too."""
    for name, face in FACES.items():
        monkeypatch.setattr(name, face)


for _name in ("test_neighbor", "test_neighbor_kernel"):
    globals().update(taken_from(imported_with(f"ase.test.neighbor.{_name}", **FACES), {}))
