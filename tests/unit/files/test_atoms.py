"""Files of atoms: what each format says is read, and what it leaves open is refused with what is missing."""

import gzip
import sys

import numpy as np
import pytest

from clfrnn import clouds
from clfrnn.errors import InvalidInputError
from clfrnn.files import Cloud, frames, read

LENGTHS = (10.0, 11.0, 12.0)
#: Å, with as many digits as all formats write.
POINTS = np.round(clouds.uniform(60, 3, dtype=np.float64, seed=1) * LENGTHS, 2)

NAMES = ["atoms.gro", "atoms.cif", "ATOMS.GRO", "POSCAR", "CONTCAR", "atoms.vasp", "atoms.poscar", "POSCAR.relaxed"]
NAMES += ["a@300K.cif", "POSCAR@600K", "a@1.gro", "atoms.xyz", "atoms@-1.extxyz"]


@pytest.fixture
def gemmi():
    return pytest.importorskip("gemmi", reason="gemmi is of the extra files")


@pytest.mark.parametrize("name", NAMES)
def test_files_that_ase_writes(tmp_path, name):
    """Each by the name of its file, in which an @ has no meaning."""
    ase = pytest.importorskip("ase", reason="ase writes them")
    if name.endswith(".cif"):
        pytest.importorskip("gemmi", reason="gemmi is of the extra files")
    from ase.io import write

    low = name.lower()
    form = {"gro": "gromacs", "cif": "cif", "xyz": "extxyz", "extxyz": "extxyz"}.get(low.rpartition(".")[2], "vasp")
    path = tmp_path / name
    with path.open("wb" if form == "cif" else "w") as stream:
        write(stream, ase.Atoms("HO" * 30, positions=POINTS, cell=LENGTHS, pbc=True), format=form)
    cloud = read(path)
    scale = 10 if form == "gromacs" else 1
    assert scale * cloud.points == pytest.approx(POINTS, abs=1e-4)
    assert scale * cloud.cell == pytest.approx(np.diag(LENGTHS))
    assert cloud.periodic == (True, True, True)
    assert cloud.unit == ("nm" if form == "gromacs" else "Å")
    assert (cloud.frame, cloud.frames, cloud.skipped) == (0, 1, 0)
    if form != "gromacs":
        assert "".join(cloud.species) == ("HO" * 30)


@pytest.mark.parametrize("name", ["cloud.npy", "a.poscar.txt", "gro", "XPOSCAR"])
def test_other_names(tmp_path, name):
    (tmp_path / name).write_text("1 2 3\n")
    if name.endswith("txt"):
        assert read(tmp_path / name).unit is None
    else:
        with pytest.raises(InvalidInputError):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.gro.gz", "POSCAR.gz", "a.xyz.gz"])
def test_packed_files(tmp_path, name):
    texts = {
        "a.gro.gz": "t\n1\n    1SOL     OW    1   0.100   0.200   0.300\n1 1 1\n",
        "POSCAR.gz": "t\n1\n1 0 0\n0 1 0\n0 0 1\n1\nDirect\n0.1 0.2 0.3\n",
        "a.xyz.gz": '1\nLattice="1 0 0 0 1 0 0 0 1"\nH 0.1 0.2 0.3\n',
    }
    (tmp_path / name).write_bytes(gzip.compress(texts[name].encode()))
    cloud = read(tmp_path / name)
    assert cloud.points.tolist() == [[0.1, 0.2, 0.3]]
    assert np.array_equal(cloud.cell, np.eye(3))


def test_a_file_that_is_not_there(tmp_path):
    for name in ("POSCAR", "a.gro", "a.cif", "a.csv", "a.npy"):
        with pytest.raises(InvalidInputError, match=rf"{name}: the system cannot read it \(No such file"):
            read(tmp_path / name)
    (tmp_path / "a.gro").mkdir()
    with pytest.raises(InvalidInputError, match="a.gro: the system cannot read it"):
        read(str(tmp_path / "a.gro"))


@pytest.mark.parametrize("frame", [1, -2, True, 0.5, None])
def test_frames_that_are_not_there(tmp_path, frame):
    np.save(tmp_path / "a.npy", POINTS)
    for right in (np.int64(0), -1):
        assert isinstance(read(tmp_path / "a.npy", frame=right), Cloud)
    (tmp_path / "a.xyz").write_text("1\n\nH 0 0 0\n")
    whole = isinstance(frame, int) and not isinstance(frame, bool)
    for name, there in (("a.npy", "0, as .* has one frame"), ("a.xyz", "a frame that .* has, from 0 to 0")):
        says = there if whole else "a whole number"
        with pytest.raises(InvalidInputError, match=f"frame: expected {says}, got {frame}"):
            read(tmp_path / name, frame=frame)


@pytest.mark.parametrize("columns", ["xyz", []])
def test_columns_that_are_none(tmp_path, columns):
    (tmp_path / "a.csv").write_text("x,y,z\n1,2,3\n")
    with pytest.raises(InvalidInputError, match="columns: expected a sequence of names or positions"):
        read(tmp_path / "a.csv", columns=columns)


def test_without_gemmi(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gemmi", None)
    (tmp_path / "a.cif").write_text("data_a\n")
    with pytest.raises(InvalidInputError, match=r"gemmi, which is not installed; pip install 'clfrnn\[files\]'"):
        read(tmp_path / "a.cif")


# --- .gro -------------------------------------------------------------------------------------------------------------


def row(text="   0.100   0.200   0.300"):
    return f"    1SOL     OW    1{text}"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["t", "1", row(" 1000.100   0.200   0.300"), "1 1 1"], "line 3: expected a coordinate of one decimal or more"),
        (["t", "2", row(), row("   0.1000   0.2000   0.3000"), "1 1 1"], "line 4: expected three coordinates of 8 col"),
        (["t", "1", row("       1       2       3"), "1 1 1"], "line 3: expected a coordinate of one decimal or more"),
        (["t", "1", row(), "-1 1 1"], "line 4: expected a box whose first three numbers are not negative, got -1 1 1"),
        (["t", "1", row(), "1 1"], "line 4: expected the three or nine numbers of the box, got 1 1; save it again"),
        (
            ["t", "2", row(), "1 1 1"],
            "line 2: expected 3 atoms and the line of the box behind them, got 2 lines; the file may",
        ),
        (["t", "1", row(), row(), "1 1 1"], "line 4: expected the three or nine numbers of the box, got 1SOL"),
        (["t", "one", row(), "1 1 1"], "line 2: expected the number of atoms, got 'one'"),
        (["t"], "line 2: expected the number of atoms, got nothing"),
        (["t", "1", row(), "1 1 nan"], "expected lattice vectors that span a cell where they repeat, got a vector"),
        (["t", "1", row(), "1 1 1 1 0 1 0 0 0"], "expected lattice vectors .* got vectors in one plane or line"),
    ],
)
def test_gro_files_that_are_none(tmp_path, lines, message):
    (tmp_path / "a.gro").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "a.gro")


def test_names_and_holes_of_gro_files(tmp_path):
    rows = [row(), row("     nan     nan     nan"), row("   0.400   0.500   0.600-1.0000 2.0000 3.0000")]
    (tmp_path / "a.gro").write_text("\n".join(["t", "3", *rows, "0 0 0"]))
    with pytest.raises(InvalidInputError, match="row 2: expected finite numbers, got nan"):
        read(tmp_path / "a.gro")
    cloud = read(tmp_path / "a.gro", skip_nan=True)
    assert cloud.points.tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert (cloud.names.tolist(), cloud.skipped, cloud.cell, cloud.periodic) == (["OW"] * 2, 1, None, (False,) * 3)
    assert "its box has no extent" in cloud.notes[0]


# --- POSCAR -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["-60", "1 0 0", "2 0 0", "0 0 1", "1", "Direct", "0 0 0"], "line 5: expected a scale that is not zero"),
        (["1", "1 0 0", "2 0 0", "0 0 1", "1", "Direct", "0 0 0"], "got vectors in one plane or line"),
        (
            ["1", "1 0 0", "0 1 0", "0 0 1", "Na", "1 2", "Direct", "0 0 0"],
            "line 7: expected how many atoms each",
        ),
        (["1", "1 0 0", "0 1 0", "0 0 1", "1", "0 0 0"], "line 7: expected Direct or Cartesian above the coordinates"),
        (["1", "1 0 0", "0 1 0", "0 0 1", "-1", "Direct"], "line 6: expected elements, or how many atoms each has"),
        (["1", "1 0 0", "0 1 0", "0 0 1", "1", "Direct", "0 0 0", "0 0 1"], "line 9: expected 1 atoms, as the numbers"),
        (
            ["1", "1 0 0", "0 1 0", "0 0 1", "1", "Direct", "0 0 0 1"],
            "line 8: expected the three coordinates",
        ),
        (["1", "1 0 0", "0 1 0"], "line 5: expected the three numbers of a lattice vector, got nothing"),
        (["1", "1 0 0", "0 1 0", "0 0 1", "9" * 18, "Direct"], "expected 999,999,999,999,999,999 atoms, got 0 lines"),
    ],
)
def test_poscar_files_that_are_none(tmp_path, lines, message):
    (tmp_path / "POSCAR").write_text("\n".join(["t", *lines]) + "\n")
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "POSCAR")


def test_counts_and_elements_in_several_lines(tmp_path):
    lines = ["t", "1", "1 0 0", "0 1 0", "0 0 1", "Na Cl", "O", "1", "1 2", "Direct", *["0.1 0.2 0.3"] * 4]
    (tmp_path / "POSCAR").write_text("\n".join(lines))
    assert read(tmp_path / "POSCAR").species.tolist() == ["Na", "Cl", "O", "O"]


def test_modes_of_other_names_are_said(tmp_path):
    (tmp_path / "POSCAR").write_text("t\n2\n1 0 0\n0 1 0\n0 0 1\n1\nFractional\n0.1 0.2 0.3\n")
    cloud = read(tmp_path / "POSCAR")
    assert cloud.points.tolist() == [[0.2, 0.4, 0.6]]
    assert "read as fractional (Direct), as VASP does where the line of the mode is Fractional" in cloud.notes[0]


# --- .xyz -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ('Lattice="1 2 3"', "line 2: expected the nine numbers of three lattice vectors, got Lattice=1 2 3"),
        ('Lattice="4 0 0 0 4 0 0 0 4', 'nine numbers of three lattice vectors, got Lattice="4'),
        ('Lattice="4 0 0 0 4 0 0 0 x"', "nine numbers of three lattice vectors"),
        ('Lattice="4 0 0 0 4 0 0 0 4" Lattice="5 0 0 0 5 0 0 0 5"', "expected Lattice once, got several values"),
        ('Lattice="4 0 0 0 4 0 4 4 0"', "got vectors in one plane or line"),
        ('Lattice="4 0 0 0 4 0 0 0 0"', "got a vector without a length"),
        ('Lattice="4 0 0 0 4 0 0 0 4" pbc="T T"', "expected three flags for the lattice vectors that repeat"),
        ('Lattice="4 0 0 0 4 0 0 0 4" pbc="yes no maybe"', "expected three flags"),
        (
            "Properties=species:S:1:pos:R:3:charge:R:1",
            "line 3: expected 5 columns, as the Properties in",
        ),
        ("Properties=species:S:1:pos:R:4", "line 2: expected pos:R:3 among the Properties"),
        ("Properties=species:S:1:pos:R", "line 2: expected pos:R:3 among the Properties"),
    ],
)
def test_comments_that_are_not_clear(tmp_path, comment, message):
    (tmp_path / "a.xyz").write_text(f"1\n{comment}\nH 0 0 0\n")
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "a.xyz")


@pytest.mark.parametrize(
    ("comment", "cell", "periodic"),
    [
        ("", None, (False,) * 3),
        ('pbc="F F F"', None, (False,) * 3),
        ("pbc=T", None, (False,) * 3),
        ('pbc="T T F"', None, (False,) * 3),
        ('lattice="4 0 0 0 5 0 0 0 6"', (4, 5, 6), (True,) * 3),
        ('lattice="fcc" Lattice="4 0 0 0 5 0 0 0 6"', (4, 5, 6), (True,) * 3),
        ('Lattice="4 0 0 0 5 0 0 0 0" pbc="T T F"', (4, 5, 0), (True, True, False)),
        ('Lattice="4 0 0 0 5 0 0 0 6" PBC="0 1 0"', (4, 5, 6), (False, True, False)),
        ('Lattice="4 0 0 0 5 0 0 0 6" pbc=TFT', (4, 5, 6), (True, False, True)),
        ('Lattice="4 0 0 0 5 0 0 0 6" Lattice="4 0 0 0 5 0 0 0 6"', (4, 5, 6), (True,) * 3),
    ],
)
def test_cells_in_comments(tmp_path, comment, cell, periodic):
    (tmp_path / "a.xyz").write_text(f"1\n{comment}\nH 0 0 0\n")
    cloud = read(tmp_path / "a.xyz")
    assert cloud.cell is None if cell is None else np.array_equal(cloud.cell, np.diag(cell))
    assert cloud.periodic == periodic
    (same,) = frames(tmp_path / "a.xyz")
    assert (same.periodic, same.notes) == (periodic, cloud.notes)
    assert any("has no cell: how far is not known" in note for note in cloud.notes) == ("T" in comment and cell is None)


def test_further_columns_of_later_rows_are_noted(tmp_path):
    (tmp_path / "a.xyz").write_text("3\n\nH 0 0 0\nH 1 1 1 99\nH 2 2 2\n")
    cloud = read(tmp_path / "a.xyz")
    assert cloud.points.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert [note.partition(": ")[2] for note in cloud.notes] == ["coordinates are columns 2, 3, 4; left out: 5"]


# --- .cif -------------------------------------------------------------------------------------------------------------

ANGLES = ("alpha", "beta", "gamma")


def cif(parameters, sites, symmetry=""):
    tags = [f"_cell_length_{axis} {value}" for axis, value in zip("abc", parameters[:3], strict=True)]
    tags += [f"_cell_angle_{angle} {value}" for angle, value in zip(ANGLES, parameters[3:], strict=True)]
    loop = ["loop_", "_atom_site_label", *(f"_atom_site_fract_{axis}" for axis in "xyz"), *sites]
    return "\n".join(["data_a", *tags, symmetry, *loop]) + "\n"


CUBIC = (6, 6, 6, 90, 90, 90)
RHOMBOHEDRAL = (6.36, 6.36, 6.36, 46.1, 46.1, 46.1)
HEXAGONAL = (3.16, 3.16, 12.294, 90, 90, 120)
CALCITE = ("Ca1 0 0 0", "C1 0.25 0.25 0.25", "O1 0.507 -0.007 0.25")


@pytest.mark.parametrize(
    ("parameters", "sites", "symmetry", "count"),
    [
        (CUBIC, ["O1 .1 .2 .3"], "", 1),
        (CUBIC, ["Na1 0 0 0"], "_symmetry_Int_Tables_number '225'", 4),
        (CUBIC, ["Na1 0 0 0"], "_space_group_IT_number 225", 4),
        (CUBIC, ["Na1 0 0 0"], "_symmetry_space_group_name_H-M 'F_m_-3_m'", 4),
        (CUBIC, ["Na1 0 0 0"], "_space_group_name_Hall '-F 4 2 3'", 4),
        (CUBIC, ["Na1 0 0 0"], "_symmetry_space_group_name_H-M ?\n_symmetry_Int_Tables_number 225", 4),
        (CUBIC, ["Si1 .125 .125 .125"], "_symmetry_space_group_name_H-M 'F d -3 m :2'", 8),
        (CUBIC, ["Si1 .125 .125 .125"], "_symmetry_space_group_name_H-M 'F d -3 m Z'", 8),
        (CUBIC, ["Si1 0 0 0"], "_symmetry_space_group_name_H-M 'F d -3 m S'", 8),
        (RHOMBOHEDRAL, CALCITE, "_symmetry_space_group_name_H-M 'R -3 c RS'", 10),
        (RHOMBOHEDRAL, CALCITE, "_symmetry_space_group_name_H-M 'R -3 c :R'", 10),
        (RHOMBOHEDRAL, CALCITE, "_symmetry_Int_Tables_number 167", 10),
        (HEXAGONAL, ["Mo1 0.333 0.667 0.25"], "_symmetry_Int_Tables_number 194", 2),
        (HEXAGONAL, ["Mo1 0.33 0.66 0.25"], "_symmetry_Int_Tables_number 194", 2),
        (HEXAGONAL, ["Mo1 0.3333 0.6667 0.25", "S 0.3333(2) 0.6667(1) 0.6211(3)"], "_space_group_IT_number 194", 6),
        (CUBIC, ["O1 .1 .2 .3", "H1 ? ? ?", "H2 . . ."], "_symmetry_space_group_name_H-M 'P 1'", 1),
        (CUBIC, ["O1 .1 .2 .3"], "_symmetry_equiv_pos_as_xyz x,y,z", 1),
        (CUBIC, ["O1 .1 .2 .3"], "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n'-X, -Y, -Z'\n'x,y,z'", 2),
        ((100, 100, 100, 90, 90, 90), ["O1 .0005 0 0"], "_symmetry_space_group_name_H-M 'P -1'", 2),
        ((100, 100, 100, 90, 90, 90), ["O1 .1 .1 .1", "O2 .1 .1 .1", "O3 .1001 .1 .1"], "", 3),
    ],
)
def test_symmetry_that_is_clear(tmp_path, gemmi, parameters, sites, symmetry, count):
    (tmp_path / "a.cif").write_text(cif(parameters, sites, symmetry))
    cloud = read(tmp_path / "a.cif")
    assert len(cloud.points) == len(cloud.names) == count
    assert cloud.skipped == sum(
        " ?" in site or (" ." in site and " .1" not in site and " .0" not in site) for site in sites
    )
    assert (len(cloud.notes) == 1) == (symmetry == "" or cloud.skipped > 0)
    apart = cloud.points[:, None] - cloud.points
    apart -= np.round(apart @ np.linalg.inv(cloud.cell)) @ cloud.cell
    distances = np.sqrt((apart**2).sum(-1))
    if parameters[0] < 100:
        assert distances[~np.eye(count, dtype=bool)].min(initial=9) > 1


@pytest.mark.parametrize(
    ("parameters", "sites", "symmetry", "message"),
    [
        (
            CUBIC,
            ["Si 0 0 0"],
            "_symmetry_Int_Tables_number 227",
            "group 227 without its setting, F d -3 m:1",
        ),
        (CUBIC, ["Si 0 0 0"], "_symmetry_space_group_name_H-M 'F d -3 m'", "'F d -3 m' without its setting"),
        (
            (5, 6, 7, 90, 90, 99),
            ["Si 0 0 0"],
            "_symmetry_Int_Tables_number 14",
            "14 in another setting",
        ),
        (
            (5, 6, 7, 90, 90, 90),
            ["Si 0 0 0"],
            "_symmetry_Int_Tables_number 225",
            "225, whose symmetry",
        ),
        (CUBIC, ["Si 0 0 0"], "_symmetry_space_group_name_H-M 'F x y z'", "a space group that is not known, 'F x y z'"),
        (CUBIC, ["Si 0 0 0"], "_symmetry_Int_Tables_number 231", "a space group that is not known, '231'"),
        (
            CUBIC,
            ["Si 0 0 0"],
            "loop_\n_symmetry_equiv_pos_as_xyz\nx,y,z\n-y,x,z",
            "that are no group",
        ),
        (CUBIC, ["Si 0 0 0"], "_symmetry_equiv_pos_as_xyz -x,-y,-z", "1 operations of symmetry that are no group"),
        (CUBIC, ["Si 0 0 0"], "_symmetry_equiv_pos_as_xyz x,y", "expected exactly two commas"),
        (CUBIC, ["Si 0 0,5 0"], "", "expected finite numbers as the coordinates of site 1, got '0,5'"),
        (
            CUBIC,
            ["Si 0 0 0", "O 0 nan 0"],
            "",
            "expected finite numbers as the coordinates of site 2, got 'nan'; correct it",
        ),
        (CUBIC, ["Si 1e999 0 0"], "_symmetry_Int_Tables_number 225", "expected finite numbers .* got '1e999'"),
        (CUBIC, ["Si 0 0"], "", "expected atoms as .cif files hold them, got something else"),
        (CUBIC, [], "", "expected"),
        (
            (6, 6, "?", 90, 90, 90),
            ["Si 0 0 0"],
            "",
            "expected a number as _cell_length_c, got nothing",
        ),
        ((6, 6, 6, 90, 90, 200), ["Si 0 0 0"], "", "expected the lengths and angles of a cell"),
    ],
)
def test_symmetry_that_is_not_clear(tmp_path, gemmi, parameters, sites, symmetry, message):
    (tmp_path / "a.cif").write_text(cif(parameters, sites, symmetry))
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "a.cif")


def test_blocks_and_models(tmp_path, gemmi):
    one = cif(CUBIC, ["Si 0 0 0"])
    (tmp_path / "a.cif").write_text("data_global\n_journal_year 2026\n" + one)
    assert len(read(tmp_path / "a.cif").points) == 1
    (tmp_path / "a.cif").write_text(one + one.replace("data_a", "data_b"))
    with pytest.raises(InvalidInputError, match=r"expected one structure with atoms, got 2 \(a, b\); save each"):
        read(tmp_path / "a.cif")


def mmcif(lengths, group, models=(1, 1)):
    tags = [f"_cell.length_{axis} {value}" for axis, value in zip("abc", lengths, strict=True)]
    tags += [f"_cell.angle_{angle} 90" for angle in ANGLES]
    names = ("type_symbol", "label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z", "pdbx_PDB_model_num")
    loop = ["loop_", *(f"_atom_site.{name}" for name in names)]
    rows = [f"N N 1.5 2.5 3.5 {models[0]}", f"C CA -2.125 3.5 4.5 {models[1]}"]
    return "\n".join(["data_X", *tags, f"_symmetry.space_group_name_H-M '{group}'", *loop, *rows]) + "\n"


def test_proteins(tmp_path, gemmi):
    """The atoms that are listed stay where they are, and those of the rest of the cell are beside them."""
    (tmp_path / "a.cif").write_text(mmcif((50, 60, 70), "P 21 21 21"))
    cloud = read(tmp_path / "a.cif")
    assert cloud.points.shape == (8, 3)
    assert cloud.names.tolist() == ["N"] * 4 + ["CA"] * 4
    assert cloud.species.tolist() == ["N"] * 4 + ["C"] * 4
    assert cloud.points[[0, 4]].tolist() == [[1.5, 2.5, 3.5], [-2.125, 3.5, 4.5]]
    assert sorted(map(tuple, cloud.points[:4].round(6).tolist())) == sorted(
        [(1.5, 2.5, 3.5), (23.5, 57.5, 38.5), (48.5, 32.5, 31.5), (26.5, 27.5, 66.5)]
    )
    (tmp_path / "a.cif").write_text(mmcif((1, 1, 1), "P 1"))
    cloud = read(tmp_path / "a.cif")
    assert (cloud.cell, cloud.periodic, len(cloud.points)) == (None, (False,) * 3, 2)
    (tmp_path / "a.cif").write_text(mmcif((50, 60, 70), "P 1", models=(1, 2)))
    with pytest.raises(InvalidInputError, match="expected one model, got 2; save each as a file"):
        read(tmp_path / "a.cif")


@pytest.mark.parametrize(("said", "right"), [(4, True), (48, True), (8, False)])
def test_multiplicities(tmp_path, gemmi, said, right):
    """Some programs write how many atoms a site has, others how many operations leave it where it is."""
    text = cif(CUBIC, [f"Na 0 0 0 {said}"], "_symmetry_Int_Tables_number 225")
    (tmp_path / "a.cif").write_text(
        text.replace("Na 0", "Na 0").replace("fract_z\n", "fract_z\n_atom_site_symmetry_multiplicity\n")
    )
    if right:
        assert len(read(tmp_path / "a.cif").points) == 4
    else:
        with pytest.raises(InvalidInputError, match="expected 8 images of a site, .* got 4"):
            read(tmp_path / "a.cif")


def test_every_setting_of_every_group(tmp_path, gemmi):
    """By its operations and by its name, at sites on no element of symmetry and on some: none is lost or doubled."""
    sites = [(0.113, 0.232, 0.371), (0.0, 0.0, 0.0), (0.25, 0.25, 0.25), (0.5, 0.0, 0.25), (0.141, 0.141, 0.0)]
    shapes = {
        "triclinic": (5, 6, 7, 80, 95, 105), "orthorhombic": (5, 6, 7, 90, 90, 90), "tetragonal": (5, 5, 7, 90, 90, 90),
        "trigonal": (5, 5, 7, 90, 90, 120), "hexagonal": (5, 5, 7, 90, 90, 120), "cubic": (6, 6, 6, 90, 90, 90),
    }  # fmt: skip
    for k, group in enumerate(gemmi.spacegroup_table()):
        parameters = shapes.get(group.crystal_system_str())
        if group.ext == "R":
            parameters = RHOMBOHEDRAL
        if group.crystal_system_str() == "monoclinic":
            axis = next(each for each in group.qualifier if each in "abc")
            parameters = (5, 6, 7, *((100 if each == axis else 90) for each in "abc"))
        rows = [f"X{i} {x:.3f} {y:.3f} {z:.3f}" for i, (x, y, z) in enumerate(sites)]
        listed = "\n".join(["loop_", "_symmetry_equiv_pos_as_xyz", *(op.triplet() for op in group.operations())])
        named = f"_space_group_name_Hall '{group.hall}'"
        counts = []
        for symmetry in (listed, named):
            (tmp_path / "a.cif").write_text(cif(parameters, rows, symmetry))
            cloud = read(tmp_path / "a.cif")
            counts.append([int((cloud.names == f"X{i}").sum()) for i in range(len(sites))])
        seitz = [np.array(op.float_seitz()) for op in group.operations()]
        # In twelve thousandths sites and translations are whole.
        moved = [
            np.rint(12_000 * np.array([each @ [*site, 1] for each in seitz])).astype(int) % 12_000 for site in sites
        ]
        expected = [len(np.unique(each, axis=0)) for each in moved]
        assert counts[0] == counts[1] == expected, (k, group)


def test_elements_are_spelled_alike(tmp_path, gemmi):
    """Whatever the letters of a file; names of atoms, and words that are no symbol, stay as they stand."""
    (tmp_path / "a.xyz").write_text("3\n\nSI 0 0 0\ncl 1 0 0\nOW 2 0 0\n")
    (tmp_path / "POSCAR").write_text("t\n1\n9 0 0\n0 9 0\n0 0 9\nSI CL OW\n1 1 1\nCartesian\n0 0 0\n1 0 0\n2 0 0\n")
    atom = "ATOM  {:5d} {:4s} RES A   1    {:8.3f}   0.000   0.000  1.00  0.00          {:>2s}"
    words = [("SI", "SI"), ("CL", "CL"), ("OW", "OW")]
    rows = [atom.format(k + 1, name, float(k), element) for k, (name, element) in enumerate(words)]
    (tmp_path / "a.pdb").write_text("\n".join([*rows, "END"]) + "\n")
    cell = "".join(f"_cell_length_{axis} 9\n" for axis in "abc")
    cell += "".join(f"_cell_angle_{angle} 90\n" for angle in ("alpha", "beta", "gamma"))
    tags = "loop_\n_atom_site_label\n_atom_site_type_symbol\n" + "".join(f"_atom_site_fract_{k}\n" for k in "xyz")
    sites = "SI SI 0 0 0\nCL cl 0.1 0 0\nOW OW 0.2 0 0\n"
    (tmp_path / "a.cif").write_text(f"data_a\n{cell}_space_group_IT_number 1\n{tags}{sites}")
    for name in ("a.xyz", "POSCAR", "a.pdb", "a.cif"):
        cloud = read(tmp_path / name)
        assert cloud.species.tolist() == ["Si", "Cl", "OW"], name
        if name in ("a.pdb", "a.cif"):
            assert cloud.names.tolist() == ["SI", "CL", "OW"], name
