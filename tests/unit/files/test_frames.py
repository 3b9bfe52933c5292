"""Files of several frames, and other formats of atoms: what each frame says, and what no frame may say."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import contents, frames, read

N, FRAMES = 7, 4
POSITIONS = np.round(np.random.default_rng(1).uniform(0, 9, (FRAMES, N, 3)), 3)
#: A cell for each frame, whose first vector lies along x and whose second in the plane, as all formats can say it.
CELLS = [np.array([[9.0 + k, 0, 0], [1.5, 8.0, 0], [-0.5, 2.0, 7.0 + k]]) for k in range(FRAMES)]


def lines_of(rows, form):
    return "".join(form.format(*row) + "\n" for row in rows)


def xyz(k, blank="\n"):
    lattice = " ".join(f"{x:.3f}" for x in CELLS[k].ravel())
    rows = lines_of([("HO"[i % 2], *POSITIONS[k][i]) for i in range(N)], "{} {:.3f} {:.3f} {:.3f}")
    return f'{N}\nLattice="{lattice}"\n{rows}{blank}'


def gro(k):
    (x, _, _), (xy, y, _), (xz, yz, z) = CELLS[k] / 10
    rows = lines_of(
        [(i + 1, "SOL", "HO"[i % 2], i + 1, *(POSITIONS[k][i] / 10)) for i in range(N)],
        "{:5d}{:<5s}{:>5s}{:5d}{:9.4f}{:9.4f}{:9.4f}",
    )
    return f"t= {k}\n{N}\n{rows}{x:.5f} {y:.5f} {z:.5f} 0 0 {xy:.5f} 0 {xz:.5f} {yz:.5f}\n"


def parameters(cell):
    lengths = np.linalg.norm(cell, axis=1)
    cosines = [cell[a] @ cell[b] / lengths[a] / lengths[b] for a, b in ((1, 2), (0, 2), (0, 1))]
    return *lengths, *np.degrees(np.arccos(cosines))


def pdb(k, before="MODEL     {}\n", behind="ENDMDL\n"):
    cell = "CRYST1{:9.3f}{:9.3f}{:9.3f}{:7.2f}{:7.2f}{:7.2f} P 1           1\n".format(*parameters(CELLS[k]))
    rows = lines_of(
        [(i + 1, "HO"[i % 2], *POSITIONS[k][i], "HO"[i % 2]) for i in range(N)],
        "ATOM  {:5d}  {}   SOL A   1    {:8.3f}{:8.3f}{:8.3f}  1.00  0.00          {:>2s}",
    )
    return before.format(k + 1) + cell + rows + behind


def lammps(k):
    (x, _, _), (xy, y, _), (xz, yz, z) = CELLS[k]
    low = np.array([-1.0, 2.0, 0.5])
    bounds = [
        (low[0] + min(0, xy, xz, xy + xz), low[0] + x + max(0, xy, xz, xy + xz), xy),
        (low[1] + min(0, yz), low[1] + y + max(0, yz), xz),
        (low[2], low[2] + z, yz),
    ]
    rows = lines_of([(i + 1, "HO"[i % 2], *POSITIONS[k][i]) for i in range(N)][::-1], "{} {} {:.3f} {:.3f} {:.3f}")
    return (
        f"ITEM: UNITS\nreal\nITEM: TIMESTEP\n{k}\nITEM: NUMBER OF ATOMS\n{N}\nITEM: BOX BOUNDS xy xz yz pp pp ff\n"
        f"{lines_of(bounds, '{:.6f} {:.6f} {:.6f}')}ITEM: ATOMS id element x y z\n{rows}"
    )


def xdatcar(k):
    rows = lines_of(np.linalg.solve(CELLS[k].T, POSITIONS[k].T).T, "{:.8f} {:.8f} {:.8f}")
    head = f"run\n1.0\n{lines_of(CELLS[k], '{:.3f} {:.3f} {:.3f}')}H O\n3 {N - 3}\n"
    return f"{head}Direct configuration= {k + 1:5d}\n{rows}"


KINDS = {
    "a.xyz": xyz,
    "a.extxyz": xyz,
    "a.gro": gro,
    "a.pdb": pdb,
    "a.ent": lambda k: pdb(k, before="", behind="END\n"),
    "a.lammpstrj": lammps,
    "dump.7": lammps,
    "XDATCAR": xdatcar,
    "b.xdatcar": xdatcar,
}


def text_of(name, count=FRAMES):
    return "".join(KINDS[name](k) for k in range(count))


def assert_frame(cloud, k, name, count=FRAMES):
    scale = 10 if name == "a.gro" else 1
    order = slice(None, None, -1) if KINDS[name] is lammps else slice(None)
    assert np.allclose(cloud.points[order] * scale, POSITIONS[k], atol=1e-5), name
    assert np.allclose(cloud.cell * scale, CELLS[k], atol=2e-3 if KINDS[name] not in (lammps, xyz) else 1e-5), name
    assert cloud.periodic == ((True, True, False) if KINDS[name] is lammps else (True,) * 3)
    assert (cloud.frame, cloud.frames) == (k, count)
    assert cloud.unit == ("nm" if name == "a.gro" else "Å")


@pytest.mark.parametrize("name", KINDS)
def test_every_frame(tmp_path, name):
    path = tmp_path / name
    path.write_text(text_of(name))
    for k in range(FRAMES):
        assert_frame(read(path, frame=k), k, name)
        assert_frame(read(path, frame=k - FRAMES), k, name)
    every = list(frames(path))
    assert len(every) == FRAMES
    for k, cloud in enumerate(every):
        assert_frame(cloud, k, name)
    for k in (FRAMES, -FRAMES - 1):
        with pytest.raises(
            InvalidInputError, match=f"frame: expected a frame that .* has, from 0 to 3, got {k}; it has 4"
        ):
            read(path, frame=k)
    path.write_text(text_of(name, 1) + "\n\n")
    assert_frame(read(path), 0, name, 1)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_packed_frames(tmp_path, ending):
    packing = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[ending]
    for name in ("a.pdb", "a.lammpstrj"):
        packed = packing.compress(text_of(name).encode())
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(packed)
        for k, cloud in enumerate(frames(path)):
            assert_frame(cloud, k, name)
        path.write_bytes(packed[: len(packed) // 2])
        with pytest.raises(InvalidInputError, match="expected a whole file that .* packed, got something else"):
            read(path)
    (tmp_path / "cloud.npy.bz2").write_bytes(b"")
    with pytest.raises(InvalidInputError, match="expected a text where bzip2 packed it"):
        read(tmp_path / "cloud.npy.bz2")


@pytest.mark.parametrize(("sign", "digits"), [(1, 30), (-1, 30), (1, 5000), (-1, 5000)])
@pytest.mark.parametrize("name", ["a.xyz", "a.csv"])
def test_frames_beyond_any_machine_number(tmp_path, name, sign, digits):
    (tmp_path / name).write_text(xyz(0) if name == "a.xyz" else "1,2,3\n")
    with pytest.raises(
        InvalidInputError, match="frame: expected .*, got .*; (it has one frame|leave it out)"
    ) as raised:
        read(tmp_path / name, frame=sign * 10**digits)
    assert (raised.value.argument, len(str(raised.value)) < 400) == ("frame", True)


@pytest.mark.parametrize("chunk", [3, 1 << 22])
@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_packed_files_of_several_streams(tmp_path, monkeypatch, ending, chunk):
    """Each stream counts, with zero bytes behind it; what is none is never left out without a word."""
    monkeypatch.setattr(contents, "_CHUNK", chunk)
    packing = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[ending]
    first, second = packing.compress(b"1,2,3\n"), packing.compress(b"4,5,6\n")
    path = tmp_path / f"a.csv{ending}"
    for whole in (first + second, first + bytes(4) + second + bytes(8)):
        path.write_bytes(whole)
        assert read(path).points.tolist() == [[1, 2, 3], [4, 5, 6]]
    empty = packing.compress(b"")
    path.write_bytes(empty + first + empty)
    assert read(path).points.tolist() == [[1, 2, 3]]
    for behind in (b"\x01" + second[1:], second[:-1], b"4,5,6\n", bytes(4) + b"x"):
        path.write_bytes(first + behind)
        with pytest.raises(InvalidInputError, match="expected a whole file that .* packed, got something else .*again"):
            read(path)


@pytest.mark.parametrize("name", KINDS)
def test_a_cut_off_frame_is_refused_from_the_first_on(tmp_path, name):
    """Also where a whole frame is asked for: the number of frames would be wrong."""
    path = tmp_path / name
    lines = text_of(name).rstrip("\n").split("\n")
    cut = lines[:-3]
    if name == "a.ent":
        cut = [*cut, "MASTER        0    0    0    0    0    0    0    6   28    0    0    0"]
    path.write_text("\n".join(cut) + "\n")
    for call in (lambda: read(path), lambda: frames(path)):
        with pytest.raises(InvalidInputError, match="save it again|may be cut off"):
            call()


@pytest.mark.parametrize("name", KINDS)
def test_a_wrong_number_is_refused_at_its_frame(tmp_path, name):
    path = tmp_path / name
    lines = text_of(name).split("\n")
    number = f"{POSITIONS[2][0][2] / 10:.4f}" if name == "a.gro" else f"{POSITIONS[2][0][2]:.3f}"
    rows = [k for k, line in enumerate(lines) if number in line]
    if KINDS[name] is xdatcar:
        rows = [k for k, line in enumerate(lines) if line == "Direct configuration=     3"]
        rows = [rows[0] + 1]
    place = rows[0]
    lines[place] = lines[place][:-3].replace(".", "x") + lines[place][-3:]
    path.write_text("\n".join(lines))
    each = frames(path)
    for k in range(2):
        assert_frame(next(each), k, name)
    with pytest.raises(InvalidInputError, match=f"line {place + 1}: expected"):
        next(each)
    with pytest.raises(InvalidInputError, match=f"line {place + 1}: expected"):
        read(path, frame=2)


def test_files_without_frames_have_one(tmp_path):
    np.save(tmp_path / "a.npy", POSITIONS[0])
    (cloud,) = frames(tmp_path / "a.npy")
    assert np.array_equal(cloud.points, POSITIONS[0])
    assert (cloud.frame, cloud.frames) == (0, 1)
    (tmp_path / "b.xyz").write_text("1 2 3\n4 5 6\n")
    (cloud,) = frames(tmp_path / "b.xyz")
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(InvalidInputError, match="the system cannot read it"):
        frames(tmp_path / "none.xyz")


def test_one_frame_is_in_memory_at_a_time(tmp_path, monkeypatch):
    """A text of many frames takes the memory of one, and of what is read of the file at once."""
    import tracemalloc

    monkeypatch.setattr(contents, "_CHUNK", 1 << 12)
    path, many = tmp_path / "long.xyz", 2000
    path.write_text("".join(xyz(k % FRAMES) for k in range(many)))
    each = frames(path)
    next(each)
    tracemalloc.start()
    assert sum(len(cloud.points) for cloud in each) == (many - 1) * N
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2


# --- .pdb -------------------------------------------------------------------------------------------------------------

ATOM = "ATOM      1  CA  ALA A   1      11.000  12.000  13.000  1.00  0.00           C\n"
CRYST = "CRYST1   20.000   30.000   40.000  90.00  90.00  90.00 P 1           1\n"
TURNED = "".join(
    f"SCALE{k + 1}    " + "".join(f"{x:10.6f}" for x in row) + "        0.00000\n"
    for k, row in enumerate(np.linalg.inv([[0, 20.0, 0], [30.0, 0, 0], [0, 0, 40.0]]).T)
)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (f"{CRYST}MODEL 1\n{ATOM}ENDMDL\nMODEL 2\n{ATOM}ENDMDL\n", [20, 20]),
        (f"MODEL 1\n{ATOM}ENDMDL\n{CRYST}MODEL 2\n{ATOM}ENDMDL\n{CRYST.replace('20.', '25.')}", [20, 25]),
        (f"{CRYST}MODEL 1\n{ATOM}ENDMDL\n{CRYST.replace('20.', '25.')}MODEL 2\n{ATOM}ENDMDL\n", [20, 25]),
        (f"{ATOM}END\n{CRYST}{ATOM}END\n", [20, None]),
        (f"{CRYST.replace('20.000   30.000   40.000', ' 1.000    1.000    1.000')}{ATOM}", [None]),
        (f"{CRYST}", [20]),
    ],
)
def test_cells_of_models(tmp_path, text, cells):
    (tmp_path / "a.pdb").write_text(text)
    found = [cloud.cell for cloud in frames(tmp_path / "a.pdb")]
    assert [None if cell is None else round(cell[0, 0]) for cell in found] == cells


def test_the_orientation_of_a_cell(tmp_path):
    (tmp_path / "a.pdb").write_text(CRYST + TURNED + ATOM)
    cloud = read(tmp_path / "a.pdb")
    assert np.allclose(cloud.cell, [[0, 20, 0], [30, 0, 0], [0, 0, 40]])
    assert (cloud.names.tolist(), cloud.species.tolist()) == (["CA"], ["C"])
    (tmp_path / "a.pdb").write_text(CRYST.replace("20.", "25.") + TURNED + ATOM)
    with pytest.raises(InvalidInputError, match="that SCALE1 to SCALE3 say"):
        read(tmp_path / "a.pdb")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("REMARK nothing\n", "expected atoms as .pdb files hold them, got none"),
        (ATOM.replace("11.000", "11.0x0"), "line 1: expected three coordinates of 8 columns and 3 decimals"),
        (ATOM.replace(" 11.000", "10011.000"), "line 1: expected three coordinates"),
        (ATOM[:50] + "\n", "line 1: expected three coordinates"),
        (ATOM + ATOM.replace("ATOM", "ATXM"), "line 2: expected ATOM or HETATM before coordinates, got ATXM"),
        (
            f"{ATOM}ATOM 2 C ALA A 1 1.000 1.000 1.000\n{ATOM}",
            "line 2: expected ATOM or HETATM in the first six columns, got ATOM 2 C",
        ),
        (f"{ATOM} {ATOM}", "line 2: expected ATOM or HETATM in the first six columns"),
        (f"{ATOM}hetatm  2 C\n", "line 2: expected ATOM or HETATM in the first six columns"),
        (f"NUMMDL    3\nMODEL 1\n{ATOM}ENDMDL\n", "expected 3 models, as NUMMDL says, got 1"),
        (f"MODEL 1\n{ATOM}", "line 3: expected ENDMDL behind a model, got the end of the file"),
        (f"MODEL 1\n{ATOM}MODEL 2\n{ATOM}", "line 3: expected ENDMDL behind a model, got MODEL 2"),
        (f"MODEL 1\n{ATOM}ENDMDL\n{ATOM}", "line 4: expected MODEL above further atoms"),
        (f"{ATOM}MASTER{'':44}    9", "line 2: expected 9 records of atoms, as MASTER says, got 1"),
        (CRYST.replace("20.000", "twenty") + ATOM, "line 1: expected three lengths and three angles"),
        (CRYST.replace("90.00  90.00  90.00", "10.00  10.00 170.00") + ATOM, "line 1: expected the lengths and angles"),
        (ATOM.replace("13.000", "   nan"), "row 1: expected finite numbers, got nan"),
    ],
)
def test_pdb_files_that_are_none(tmp_path, text, message):
    (tmp_path / "a.pdb").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "a.pdb")
    if "nan" in text:
        assert read(tmp_path / "a.pdb", skip_nan=True).skipped == 1


# --- dumps of LAMMPS --------------------------------------------------------------------------------------------------

DUMP = (
    "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp ff pp\n-1 9\n-2 8\n-3 7\n"
    "ITEM: ATOMS id type xs ys zs\n5 1 0.5 0.25 0.1\n"
)


def test_scaled_coordinates_and_boxes_of_three_vectors(tmp_path):
    path = tmp_path / "a.dump"
    path.write_text(DUMP)
    cloud = read(path)
    assert (cloud.points.tolist(), cloud.periodic, cloud.unit) == ([[4.0, 0.5, -2.0]], (True, False, True), None)
    assert (cloud.names.tolist(), cloud.species) == (["5"], None)
    general = "ITEM: BOX BOUNDS abc origin pp pp pp\n1 2 0 5\n0 3 0 6\n0 0 4 7\n"
    path.write_text(DUMP.replace("ITEM: BOX BOUNDS pp ff pp\n-1 9\n-2 8\n-3 7\n", general))
    cloud = read(path)
    assert np.allclose(cloud.points, [[5.5, 7.75, 7.4]])
    assert cloud.cell.tolist() == [[1, 2, 0], [0, 3, 0], [0, 0, 4]]
    for columns in ("x y z", "xu yu zu"):
        path.write_text(DUMP.replace("xs ys zs", columns))
        assert read(path).points.tolist() == [[0.5, 0.25, 0.1]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("xs ys zs", "vx vy vz", "line 9: expected columns with the coordinates"),
        ("0.5 0.25", "0.5 x", "line 10: expected rows of numbers"),
        ("0.5 0.25", "0.5", "line 10: expected 5 columns"),
        ("ATOMS\n1", "ATOMS\n2", "ITEM: NUMBER OF ATOMS: expected 2 atoms, got 1 lines; the file may be cut off"),
        ("ATOMS\n1", "ATOMS\n0", "expected an item of a dump file"),
        ("pp ff pp", "pp xx pp", "line 5: expected three boundaries"),
        ("-1 9", "9 -1", "line 5: expected bounds of which the second is the higher"),
        ("-1 9", "-1", "line 6: expected 2 numbers of the box, got -1"),
        ("ITEM: TIMESTEP\n0\n", "ITEM: TIMESTEP\n0\nITEM: TIMESTEP\n0\n", "expected one ITEM: TIMESTEP in a frame"),
        ("ITEM: NUMBER OF ATOMS\n1\n", "", "expected ITEM: NUMBER OF ATOMS above the atoms"),
        ("ITEM: BOX BOUNDS pp ff pp\n-1 9\n-2 8\n-3 7\n", "", "expected a box for scaled coordinates"),
        ("ITEM: TIMESTEP", "ITEM: UNITS\nmiles\nITEM: TIMESTEP", "expected units, one of real, metal"),
    ],
)
def test_dumps_that_are_none(tmp_path, old, new, message):
    assert old in DUMP
    (tmp_path / "a.dump").write_text(DUMP.replace(old, new))
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / "a.dump")


@pytest.mark.parametrize("k", [1, -1])
def test_units_that_the_first_frame_alone_says(tmp_path, k):
    """As LAMMPS writes them; a later frame may say others, and a wrong line is still numbered as in the file."""
    path = tmp_path / "a.dump"
    path.write_text(f"ITEM: UNITS\nnano\n{DUMP}{DUMP}")
    assert [cloud.unit for cloud in frames(path)] == ["nm", "nm"]
    cloud = read(path, frame=k)
    assert (cloud.unit, cloud.points.tolist(), cloud.names.tolist()) == ("nm", [[4.0, 0.5, -2.0]], ["5"])
    path.write_text(f"ITEM: UNITS\nnano\n{DUMP}ITEM: UNITS\nreal\n{DUMP}{DUMP}")
    assert [cloud.unit for cloud in frames(path)] == ["nm", "Å", "Å"]
    path.write_text(f"ITEM: UNITS\nnano\n{DUMP}{DUMP.replace('0.5', 'x')}")
    with pytest.raises(InvalidInputError, match="line 22: expected rows of numbers"):
        read(path, frame=k)


# --- XDATCAR ----------------------------------------------------------------------------------------------------------


def test_one_head_for_all_frames(tmp_path):
    head, rows = "run\n2.0\n1 0 0\n0 2 0\n0 0 3\n2\n", "0.5 0.5 0.5\n0.25 0 0\n"
    text = head + "".join(f"Direct configuration= {k}\n{rows}" for k in (1, 2))
    (tmp_path / "XDATCAR").write_text(text)
    every = list(frames(tmp_path / "XDATCAR"))
    assert [cloud.points.tolist() for cloud in every] == [[[1, 2, 3], [0.5, 0, 0]]] * 2
    (tmp_path / "XDATCAR").write_text(text.replace("Direct configuration= 2", "Direct"))
    with pytest.raises(InvalidInputError, match="line 15: expected a line as 'Direct configuration= 1'|how many atoms"):
        read(tmp_path / "XDATCAR")
    (tmp_path / "XDATCAR").write_text(text.replace("0.25 0 0\nDirect", "0.25 0 zero\nDirect"))
    with pytest.raises(InvalidInputError, match="line 9: expected the three coordinates of an atom, got 0.25 0 zero"):
        read(tmp_path / "XDATCAR")


@pytest.mark.parametrize("elements", ["H O\n", ""])
@pytest.mark.parametrize("blanks", ["", "\n\n"])
@pytest.mark.parametrize(
    ("title", "scale"), [("", "2.0"), ("", "2 2 2"), ("  ", "2.0"), ("7", "2.0"), ("1 2 3", "2.0")]
)
def test_titles_of_later_heads(tmp_path, title, scale, blanks, elements):
    """A title is any text, a blank one and one of numbers too; blank lines may stand between frames."""
    heads = [f"{title}\n{scale}\n1 0 0\n0 2 0\n0 0 {z}\n{elements}1 1\nDirect configuration= {z}\n" for z in (3, 4)]
    text = blanks.join(f"{head}0.5 0.5 0.5\n0.25 0 0\n" for head in heads)
    (tmp_path / "XDATCAR").write_text(text)
    every = list(frames(tmp_path / "XDATCAR"))
    assert [cloud.points.tolist() for cloud in every] == [[[1, 2, z], [0.5, 0, 0]] for z in (3, 4)]
    (tmp_path / "XDATCAR").write_text(text[:-2] + "x\n")
    with pytest.raises(InvalidInputError, match=f"line {text.count(chr(10))}: expected the three coordinates"):
        read(tmp_path / "XDATCAR", frame=1)


def test_the_first_of_several_frames_says_that_others_follow(tmp_path):
    path = tmp_path / "a.xyz"
    path.write_text("".join(xyz(k) for k in range(FRAMES)))
    assert any(f"the first of {FRAMES} frames" in note for note in read(path).notes)
    others = [read(path, frame=1), *frames(path)]
    assert not any("frames" in note for cloud in others for note in cloud.notes)


def test_binary_trajectories_are_refused_with_what_reads_them(tmp_path):
    (tmp_path / "run.xtc").write_bytes(b"\0\0\7\313")
    with pytest.raises(InvalidInputError, match="run.xtc: binary trajectories .* MDAnalysis"):
        read(tmp_path / "run.xtc")
