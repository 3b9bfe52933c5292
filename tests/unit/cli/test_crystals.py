"""Files of atoms on the command line: their cell counts unless it is left out, and what is searched is printed."""

import numpy as np
import pytest
from test_cli import run

import clfrnn
from clfrnn import clouds, files, reference

LENGTHS = (10.0, 11.0, 12.0)
#: Å, with as many digits as all formats write.
POINTS = np.round(clouds.uniform(60, 3, dtype=np.float64, seed=1) * LENGTHS, 2)


def gro(path):
    rows = [
        f"{k:5d}{'SOL':<5s}{'OW':>5s}{k:5d}" + "".join(f"{x / 10:8.3f}" for x in row) for k, row in enumerate(POINTS)
    ]
    path.write_text("\n".join(["water", f"{len(POINTS)}", *rows, "1.0 1.1 1.2"]) + "\n")
    return path


def poscar(path, cell):
    rows = [" ".join(map(str, row)) for row in (*cell, *POINTS)]
    path.write_text("\n".join(["atoms", "1", *rows[:3], "H", str(len(POINTS)), "Cartesian", *rows[3:]]) + "\n")
    return path


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ((), True),
        (("--periodic",), True),
        (("--periodic", "xz"), (True, False, True)),
        (("--open",), None),
        (("--cell", "none"), None),
        (("--box", "20,20,20", "--periodic"), True),
        (("--cell", "20,0,0,1,20,0,0,2,20"), True),
    ],
)
def test_the_cell_of_the_file_counts_unless_it_is_left_out(place, tmp_path, said, flags):
    path, output = gro(tmp_path / "atoms.gro"), tmp_path / "out.npz"
    status, printed = run("search", path, "-r", 3, "--device", place, "--sort", "index", "-o", output, *said)
    assert status == 0, printed
    cell = np.diag(LENGTHS)
    if "--box" in said:
        cell = np.diag((20.0, 20, 20))
    elif "20,0,0,1,20,0,0,2,20" in said:
        cell = np.array([[20.0, 0, 0], [1, 20, 0], [0, 2, 20]])
    domain = {} if flags is None else {"cell": cell, "periodic": flags}
    expected = reference.neighbors(files.read(path).points * 10, 3.0, **domain)
    with np.load(output) as found:
        assert np.array_equal(found["indices"], expected.indices)
    lines = printed.splitlines()
    assert "unit     Å, from nm in atoms.gro" in lines
    left = {"--open": "--open", "none": "--cell none"}.get(said[-1] if said else "", said[0] if said else "")
    counts = not said or said[0] == "--periodic"
    assert f"cell     10 0 0 0 11 0 0 0 12, of atoms.gro{'' if counts else f', left out by {left}'}" in lines
    assert ("periodic vectors 1, 2, 3" in lines) == (counts and flags is True)
    assert ("periodic vectors 1, 3" in lines) == (flags == (True, False, True))


@pytest.mark.parametrize("cell", [[[10, 0, 0], [3, 11, 0], [0, 0, 12]], [[0, 11, 0], [10, 0, 0], [1, 2, 12]]])
def test_cells_that_are_not_rectangular(place, tmp_path, cell):
    path, output = poscar(tmp_path / "POSCAR", cell), tmp_path / "out.npz"
    status, printed = run("search", path, "-r", 3, "--device", place, "--sort", "index", "-o", output)
    assert status == 0, printed
    expected = reference.neighbors(POINTS, 3.0, cell=cell)
    with np.load(output) as found:
        assert np.array_equal(found["indices"], expected.indices)
    assert run("search", path, "-r", 3, "--device", place, "--open")[0] == 0, "atoms without their cell can be searched"


def test_queries_in_another_unit_and_cell(place, tmp_path):
    """Both are searched in Å, and the cell is that of the points."""
    points, queries = poscar(tmp_path / "POSCAR", np.diag(LENGTHS) * 2), gro(tmp_path / "q.gro")
    output = tmp_path / "out.npz"
    status, printed = run(
        "search", points, "-r", 2, "--queries", queries, "--device", place, "--sort", "index", "-o", output
    )
    assert status == 0, printed
    expected = reference.neighbors(POINTS, 2.0, queries=files.read(queries).points * 10, cell=np.diag(LENGTHS) * 2)
    with np.load(output) as found:
        assert np.array_equal(found["indices"], expected.indices)
    assert "of q.gro, left out, as the cell is that of the points" in printed


def test_commands_without_cells_say_so(place, tmp_path):
    status, printed = run("clean", gro(tmp_path / "a.gro"), "--k", 3, "--ratio", 2, "--device", place)
    assert status == 0
    assert "cell     10 0 0 0 11 0 0 0 12, of a.gro, left out, as this command knows no cells" in printed


@pytest.mark.parametrize(
    ("comment", "said", "message"),
    [
        ('pbc="T T F"', (), "says that its atoms repeat, and not how far; give the lattice vectors by --cell"),
        ('Lattice="4 0 0 0 4 0 0 0 4"', ("--open", "--periodic"), "--open: expected a search without a cell"),
        ('Lattice="4 0 0 0 4 0 0 0 4"', ("--columns", "2,3"), "has a cell of three dimensions, and the points have 2"),
        ("", ("--periodic",), "say how long the box is"),
    ],
)
def test_cells_that_leave_something_open(place, tmp_path, comment, said, message):
    path = tmp_path / "a.xyz"
    path.write_text(f"1\n{comment}\nH 0 0 0\n")
    status, printed = run("search", path, "-r", 3, "--device", place, *said)
    assert status == 2
    assert message in printed
    if "--periodic" not in said:
        assert run("search", path, "-r", 3, "--device", place, *said, "--open")[0] == 0, "as the message says"


def test_atoms_without_a_cell(place, tmp_path):
    path = tmp_path / "a.xyz"
    path.write_text("2\n\nH 0 0 0\nH 0 0 1\n")
    status, printed = run("search", path, "-r", 3, "--device", place)
    assert status == 0
    assert "cell     none, in a.xyz" in printed
    assert clfrnn.files.read(path).cell is None


def test_no_box(place, tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    status, printed = run("search", tmp_path / "a.npy", "-r", 3, "--device", place, "--periodic")
    assert status == 2
    assert "say how long the box is" in printed
