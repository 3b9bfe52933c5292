"""What a file has beside points, cell and names is read, or a note says that it is left out: in every format."""

import hostile
import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import frames, read
from clfrnn.files.contents import left_out
from clfrnn.files.formats import FORMATS

ATOM = "ATOM      7  CA  GLY A   3       1.000   2.000   3.000  1.00 20.00      P1   C1+"
POSCAR = "t\n1\n1 0 0\n0 1 0\n0 0 1\n1\nSelective\nDirect\n0.1 0.2 0.3 T T F\n\n0.1 0.1 0.1\n"
CIF = "data_a\nloop_\n_atom_site_label\n_atom_site_Cartn_x\n_atom_site_Cartn_y\n_atom_site_Cartn_z\n"
DUMP = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: ATOMS id type xu yu zu vx element\n1 2 0 0 0 9 H\n"
PLY = "ply\nformat ascii 1.0\nelement vertex 1\n" + "".join(
    f"property float {name}\n" for name in ("x", "y", "z", "nx")
)
PCD = {"FIELDS": "x y z _ rgb", "SIZE": "4 4 4 1 4", "TYPE": "F F F U F", "COUNT": "1 1 1 4 1"}

#: For each format a text, and what it has beside what is read.
TEXTS = {
    ".csv": ("x,y,z,i\n1,2,3,4\n", "coordinates are x, y, z; left out: i"),
    ".pts": ("1\n1 2 3 99 255\n", "coordinates are columns 1, 2, 3; left out: 4, 5"),
    ".xyz": (
        '1\nenergy=-3.5 Lattice="9 0 0 0 9 0 0 0 9"\nH 0 0 0 1\n',
        "coordinates are columns 2, 3, 4; left out: 5, energy=",
    ),
    ".gro": (
        "t\n1\n    1SOL     OW    1   0.100   0.200   0.300  0.1000  0.2000 -0.3000\n2 2 2\n",
        "left out: residues, numbers of atoms, velocities",
    ),
    ".pdb": (
        f"{ATOM}\n",
        "left out: numbers of atoms, residues, chains, numbers of residues, occupancies, temperature factors, seg",
    ),
    ".cif": (f"{CIF}_atom_site_occupancy\nA 1 2 3 0.5\n", "left out: occupancy"),
    ".vasp": (POSCAR, "left out: flags of selective dynamics, what stands behind the atoms, as velocities do"),
    ".lammpstrj": (DUMP, "coordinates are xu, yu, zu; left out: type, vx"),
    ".obj": (
        "o a\nv 0 0 0 1 0 0\nv 1 0 0 0 0 1\nvn 0 0 1\nl 1 2\n",
        "left out: numbers 4 to 6 of vertices, as colors and normals are, the lines of o, vn, l",
    ),
    ".off": ("OFF\n2 1 0\n0 0 0\n1 1 1\n2 0 1\n", "left out: faces"),
    ".ply": (
        f"{PLY}element face 1\nproperty list uchar int corners\nend_header\n0 0 0 1\n1 0\n",
        "left out: nx, the elements face",
    ),
    ".pcd": (
        hostile.pcd(1, b"1 2 3 0 0 0 0 9\n", **PCD, VIEWPOINT="1 0 0 1 0 0 0").decode(),
        "left out: rgb, VIEWPOINT",
    ),
}


def test_long_notes_end_behind_a_name(tmp_path):
    names = [f"property_{k}" for k in range(30)]
    (note,) = left_out(tmp_path / "a.las", names)
    *whole, end = note.partition("left out: ")[2].split(", ")
    assert (whole, end) == (names[: len(whole)], "…")
    assert len(whole) == 9
    (note,) = left_out(tmp_path / "a.las", ["x" * 200])
    assert note.endswith("left out: " + "x" * 119 + "…")


@pytest.mark.parametrize("ending", TEXTS)
def test_what_is_not_read_is_noted(tmp_path, ending):
    for of, package in ((".cif", "gemmi"), (".ply", "plyfile")):
        if ending == of:
            pytest.importorskip(package, reason=f"{package} is of the extra files")
    text, said = TEXTS[ending]
    path = tmp_path / f"cloud{ending}"
    path.write_text(text)
    assert any(note.startswith(f"{path}: {said}") for note in read(path).notes), read(path).notes


def test_every_reader_of_further_values_has_a_case():
    """An array has points alone, and frames of XDATCAR files have atoms alone."""
    without = {FORMATS[ending] for ending in (".npy", ".npz", ".xdatcar", ".las")}
    assert {FORMATS[ending] for ending in TEXTS} == set(FORMATS.values()) - without


def test_arrays_and_scans(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.zeros((2, 3)), colors=np.ones((2, 3)), ids=np.arange(2))
    assert read(tmp_path / "a.npz").notes == (f"{tmp_path / 'a.npz'}: coordinates are points; left out: colors, ids",)
    pytest.importorskip("laspy", reason="laspy is an extra")
    (tmp_path / "a.las").write_bytes(hostile.las())
    assert "left out: intensity, return_number" in " ".join(read(tmp_path / "a.las").notes)


CELL = 'Lattice="4 1 0 0 5 0 0 0 6" Properties=species:S:1:pos:R:3:forces:R:3'


@pytest.mark.parametrize(
    ("columns", "points", "cell"),
    [
        ([2, 3, 4], [1, 2, 3], [[4, 1, 0], [0, 5, 0], [0, 0, 6]]),
        ([4, 2, 3], [3, 1, 2], [[0, 4, 1], [0, 0, 5], [6, 0, 0]]),
        ([5, 6, 7], [7, 8, 9], [[4, 1, 0], [0, 5, 0], [0, 0, 6]]),
        ([2, 3], [1, 2], None),
    ],
)
def test_columns_of_atoms_keep_what_still_holds(tmp_path, columns, points, cell):
    """The cell has the order of the columns; where these are fewer than its axes it is left out, with a note."""
    path = tmp_path / "a.xyz"
    path.write_text(f"1\n{CELL}\nNa 1 2 3 7 8 9\n")
    for cloud in (read(path, columns=columns), next(frames(path, columns=np.array(columns)))):
        assert (cloud.points.tolist(), cloud.species.tolist()) == ([points], ["Na"])
        assert cloud.cell is None if cell is None else cloud.cell.tolist() == cell, cloud.cell
        assert cloud.periodic == ((True,) * 3 if cell else (False,) * len(columns))
        assert any("its cell has 3 axes" in note for note in cloud.notes) == (cell is None)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        (
            "a.xyz",
            [0, 1],
            r"got '0'; it has 7, whose first row is Na, .*: count them from 1, as in columns=\[2, 3, 4\]",
        ),
        ("a.xyz", [2.5], r"expected a sequence of names or positions, counted from 1, .* got \[2.5\]"),
        ("a.xyz", [True, 2], "expected a sequence of names or positions"),
        ("a.npy", [1, 2], "columns: expected none, as .*a.npy has no columns to choose from"),
    ],
)
def test_columns_that_are_refused(tmp_path, name, columns, message):
    (tmp_path / "a.xyz").write_text(f"1\n{CELL}\nNa 1 2 3 7 8 9\n")
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / name, columns=columns)
