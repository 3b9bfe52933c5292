"""Vertices of .obj and .off files, and packed .pcd files."""

import numpy as np
import pytest

from clfrnn.errors import InvalidInputError
from clfrnn.files import read
from clfrnn.files.lzf import unpack

OBJ = "# a mesh\nmtllib no.mtl\nv 0 0 0\nv\t1.5 0 0 1.0\nvn 0 0 1\nv 0 -2e0 0 0.5 0.5 0.5\nf 1/1/1 2//1 -1\nv 9 9 9\n"
OFF = "COFF # colors\n4 1 0\n\n0 0 0 255 0 0 1\n1 0 0 255 0 0 1\n0 1 0 255 0 0 1\n0 0 1 255 0 0 1\n3 0 1 2 # face\n"


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_vertices_stay_in_their_order(tmp_path):
    """Those without a face, and those at one place, too."""
    assert read(written(tmp_path, "a.obj", OBJ)).points.tolist() == [[0, 0, 0], [1.5, 0, 0], [0, -2, 0], [9, 9, 9]]
    assert read(written(tmp_path, "a.off", OFF)).points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert read(written(tmp_path, "b.off", "OFF 1 0 0\n1 2 3\n")).points.tolist() == [[1, 2, 3]]
    assert read(written(tmp_path, "c.off", "OFF\n0 0 0\n")).points.shape == (0, 3)
    holes = written(tmp_path, "d.obj", "v 1 2 3\nv nan 0 0\n")
    assert read(holes, skip_nan=True).skipped == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.obj", OBJ.replace("f 1/1/1", "f 5/1/1"), "line 7: expected corners among the 4 vertices, got '5/1/1'"),
        ("a.obj", OBJ.replace("-1\n", "-4\n"), "line 7: expected corners among the 4 vertices, got '-4'"),
        ("a.obj", OBJ.replace("f 1/1/1", "f 0"), "line 7: expected corners among the 4 vertices, got '0'"),
        ("a.obj", OBJ.replace("v 9", "w 9"), "line 8: expected an element of .obj files, as v, vn and f, got 'w'"),
        ("a.obj", OBJ.replace("v 9 9 9", "v 9 9"), "line 8: expected 3 columns or more, got 2"),
        ("a.obj", OBJ.replace("v 9 9", "v 9 x"), "line 8: expected rows of numbers, got 'x'"),
        ("a.obj", "g nothing\n", "expected vertices, lines as v 1.0 2.0 3.0, got none"),
        (
            "a.off",
            OFF.replace("4 1", "5 1"),
            "expected 5 vertices and 1 faces, as it says, got 5 lines; the file may be",
        ),
        ("a.off", OFF.replace("4 1", "3 1"), "expected 3 vertices and 1 faces"),
        (
            "a.off",
            OFF.replace("3 0 1 2", "3 0 1 4"),
            "line 8: expected the number of a face's corners and these, among 4",
        ),
        ("a.off", OFF.replace("3 0 1 2", "4 0 1 2"), "line 8: expected the number of a face's corners"),
        ("a.off", OFF.replace("COFF", "4OFF"), "expected OFF, COFF, NOFF and the numbers of vertices and faces"),
        ("a.off", "OFF BINARY\n4 1 0\n", "expected OFF, COFF, NOFF and the numbers"),
        ("a.off", "", "expected OFF, COFF, NOFF and the numbers of vertices and faces, got nothing"),
    ],
)
def test_meshes_that_are_none(tmp_path, name, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read(written(tmp_path, name, text))


def lzf(data):
    """Pack bytes as LibLZF may: a run of three or more equal to bytes before is a reference to them."""
    packed, literals, k = bytearray(), bytearray(), 0

    def put_literals():
        for begin in range(0, len(literals), 32):
            part = literals[begin : begin + 32]
            packed.extend(bytes([len(part) - 1]) + part)
        literals.clear()

    while k < len(data):
        before = max(0, k - 8000)
        rest = len(data) - k
        length = next((n for n in (200, 60, 9, 3) if n <= rest and data[k : k + n] in data[before : k + n - 1]), 0)
        if not length:
            literals.append(data[k])
            k += 1
            continue
        back = k - data.rindex(data[k : k + length], before, k + length - 1) - 1
        put_literals()
        high, low = back >> 8, back & 255
        packed.extend([(length - 2) << 5 | high, low] if length < 9 else [7 << 5 | high, length - 9, low])
        k += length
    put_literals()
    return bytes(packed)


def test_packed_clouds(tmp_path):
    """Fields stand one behind the other, in their own dtypes; references may overlap what they write."""
    draw = np.random.default_rng(1)
    points = np.repeat(draw.integers(0, 5, (50, 3)), 3, axis=0).astype("<f8")
    data = points[:, 0].tobytes() + np.arange(150, dtype="<u2").tobytes() + points[:, 1:].T.tobytes()
    header = (
        "FIELDS x intensity y z\nSIZE 8 2 8 8\nTYPE F U F F\nCOUNT 1 1 1 1\nWIDTH 150\nHEIGHT 1\nPOINTS 150\n"
        "DATA binary_compressed\n"
    ).encode("ascii")
    packed = lzf(data)
    assert unpack(packed, len(data)) == data
    assert len(packed) < len(data) / 2
    sizes = np.array([len(packed), len(data)], "<u4").tobytes()
    (tmp_path / "a.pcd").write_bytes(header + sizes + packed)
    assert np.array_equal(read(tmp_path / "a.pcd").points, points)
    assert unpack(b"\x00a\xe0\xff\x00", 265) == b"a" * 265
    for raw in (header + sizes + packed[:-1], header + sizes[:5], header + sizes[::-1] + packed, header):
        (tmp_path / "a.pcd").write_bytes(raw)
        with pytest.raises(InvalidInputError):
            read(tmp_path / "a.pcd")


@pytest.mark.parametrize("packed", [b"\x05abc", b"\x20", b"\xe0", b"\x20\x00", b"\x00a\x20\x05", b"\x00a\x00b\x00c"])
def test_packed_bytes_that_are_damaged(packed):
    with pytest.raises(ValueError, match="bytes"):
        unpack(packed, 2)
