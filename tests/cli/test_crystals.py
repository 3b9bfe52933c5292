"""Files of atoms in a cell: what is read of them, through ase, and what is refused."""

import sys

import numpy as np
import pytest
from test_cli import run

from clfrnn import clouds, reference
from clfrnn.cli.files import read_points
from clfrnn.cli.readers.crystals import is_crystal, read_cell
from clfrnn.errors import InvalidInputError

LENGTHS = (10.0, 11.0, 12.0)
#: Å, with as many digits as all formats write.
POINTS = np.round(clouds.uniform(60, 3, dtype=np.float64, seed=1) * LENGTHS, 2)

NAMES = ["atoms.gro", "atoms.cif", "ATOMS.GRO", "POSCAR", "CONTCAR", "atoms.vasp", "atoms.poscar", "POSCAR.relaxed"]


def written(path, *, cell=LENGTHS, points=POINTS):
    ase = pytest.importorskip("ase", reason="ase is an extra")
    from ase.io import write

    name = path.name.lower()
    form = "gromacs" if name.endswith(".gro") else "cif" if name.endswith(".cif") else "vasp"
    write(path, ase.Atoms(f"H{len(points)}", positions=points, cell=cell, pbc=True), format=form)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_points_and_box(tmp_path, name):
    path = written(tmp_path / name)
    assert is_crystal(path)
    assert read_points(path) == pytest.approx(POINTS, abs=1e-4)
    assert np.array(read_cell(path)) == pytest.approx(np.diag(LENGTHS))


@pytest.mark.parametrize("name", ["cloud.xyz", "cloud.npy", "a.poscar.txt", "gro"])
def test_other_names(tmp_path, name):
    assert not is_crystal(tmp_path / name)


@pytest.mark.parametrize("said", [("--periodic",), ("--periodic", "xz"), (), ("--box", "20,20,20", "--periodic")])
def test_the_box_of_the_file_counts_where_axes_are_periodic(place, tmp_path, said):
    """And where no other box is given."""
    path, output = written(tmp_path / "atoms.gro"), tmp_path / "out.npz"
    status, printed = run("search", path, "-r", 3, "--device", place, "--sort", "index", "-o", output, *said)
    assert status == 0, printed
    flags = {"--periodic": True, "xz": (True, False, True)}.get(said[-1]) if said else False
    box = (20, 20, 20) if "--box" in said else np.diag(read_cell(path))
    expected = reference.neighbors(read_points(path), 3.0, **({"box": box, "periodic": flags} if said else {}))
    with np.load(output) as found:
        assert np.array_equal(found["indices"], expected.indices)


def test_a_file_that_changes_is_read_again(tmp_path):
    path = written(tmp_path / "atoms.cif")
    assert len(read_points(path)) == 60
    written(path, points=POINTS[:30])
    assert len(read_points(path)) == 30


@pytest.mark.parametrize("cell", [[[10, 0, 0], [3, 11, 0], [0, 0, 12]], [10, 11, 12, 90, 90, 120]])
def test_cells_that_are_not_rectangular(place, tmp_path, cell):
    path = written(tmp_path / "POSCAR", cell=cell)
    output = tmp_path / "out.npz"
    status, printed = run("search", path, "-r", 3, "--device", place, "--periodic", "--sort", "index", "-o", output)
    assert status == 0, printed
    expected = reference.neighbors(read_points(path), 3.0, cell=read_cell(path))
    with np.load(output) as found:
        assert np.array_equal(found["indices"], expected.indices)
    assert run("search", path, "-r", 3, "--device", place)[0] == 0, "atoms without their cell can be searched"


def test_damaged_files(tmp_path):
    pytest.importorskip("ase", reason="ase is an extra")
    for name in ("atoms.gro", "atoms.cif", "POSCAR"):
        (tmp_path / name).write_text("nothing\nof\nthe kind\n")
        with pytest.raises(InvalidInputError, match=rf"{name}: expected"):
            read_points(tmp_path / name)


def test_a_file_that_is_cut_off(tmp_path):
    path = written(tmp_path / "atoms.gro")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:40]))
    with pytest.raises(InvalidInputError, match=r"atoms.gro: expected 60 atoms, got 37; the file may be cut off"):
        read_points(path)


def test_without_ase(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ase", None)
    monkeypatch.setitem(sys.modules, "ase.io", None)
    (tmp_path / "atoms.gro").write_text("")
    with pytest.raises(InvalidInputError, match=r"package ase, which is not installed; pip install 'clfrnn\[ase\]'"):
        read_points(tmp_path / "atoms.gro")


def test_no_box(place, tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    status, printed = run("search", tmp_path / "a.npy", "-r", 3, "--device", place, "--periodic")
    assert status == 2
    assert "say how long the box is" in printed
