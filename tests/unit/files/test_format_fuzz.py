"""Each format by chance: a valid file that lost, gained or spoilt a row is refused, and other damage is seen.

By default a part of the seeds are drawn; ``--all`` reads more than two thousand damaged files.
"""

import random
import warnings

import hostile
import numpy as np
import pytest
from test_atoms_fuzz import said
from test_frames import KINDS as OF_ATOMS
from test_frames import N, text_of

from clfrnn.errors import ClfrnnError
from clfrnn.files import frames, read

#: Seeds of a usual run and of a whole one, and how many copies of a file each seed spoils.
FEW, MANY, COPIES = 6, 60, 3

POINTS = np.round(np.random.default_rng(2).uniform(-9, 9, (12, 3)), 3)
ROWS = [" ".join(f"{x:.3f}" for x in row) for row in POINTS]
FACES = [f"3 {k} {k + 1} {k + 2}" for k in range(10)]

PCD = (
    "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 12\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n"
    "POINTS 12\nDATA {}\n"
)


def literals(data):
    """What LZF packs without finding anything twice."""
    parts = [data[k : k + 32] for k in range(0, len(data), 32)]
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


def packed_pcd():
    data = POINTS.astype("<f4").T.tobytes()
    packed = literals(data)
    return PCD.format("binary_compressed").encode() + np.array([len(packed), len(data)], "<u4").tobytes() + packed


#: name -> bytes of a valid file
FILES = {name: text_of(name).encode() for name in OF_ATOMS} | {
    "a.off": f"OFF\n12 10 0\n{chr(10).join(ROWS)}\n{chr(10).join(FACES)}\n".encode(),
    "a.obj": "".join(f"v {row}\n" for row in ROWS).encode() + b"f 1 2 12\nf 3/1 4//2 11/1/1\n",
    "a.pcd": PCD.format("ascii").encode() + "".join(f"{row}\n" for row in ROWS).encode(),
    "b.pcd": packed_pcd(),
    "a.pts": f"12\n{chr(10).join(ROWS)}\n".encode(),
    "b.txt": f"12\n{chr(10).join(ROWS)}\n".encode(),
    "a.csv": b"x;y;z\n" + "".join(f"{row}\n" for row in ROWS).replace(" ", ";").replace(".", ",").encode(),
    "a.asc": "".join(f"{row}\n" for row in ROWS).encode(),
}

#: Files that say how many rows they have, so that one that is lost or doubled is seen.
COUNTED = [name for name in FILES if name not in ("b.pcd", "a.csv", "a.asc", "a.obj", "a.pdb", "a.ent")]


def rows_of(name):
    """The lines of a file, and which of them have coordinates: three numbers with a point or a decimal comma."""
    lines = FILES[name].decode().split("\n")
    sign = "," if name == "a.csv" else "."
    rows = [k for k, line in enumerate(lines) if line.count(sign) >= 3]
    return lines, [k for k in rows if k >= len(lines) - 8 or name in ("a.off", "a.pcd")][:N] or rows


@pytest.mark.parametrize("name", FILES)
def test_valid_files(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    cloud = read(tmp_path / name)
    if name in OF_ATOMS:
        assert (len(cloud.points), cloud.frames) == (N, 4)
    else:
        assert np.allclose(cloud.points, POINTS, atol=1e-6)


@pytest.mark.parametrize("name", COUNTED)
def test_rows_that_are_lost_or_doubled(tmp_path, name):
    lines, rows = rows_of(name)
    for k in rows:
        for changed in ([*lines[:k], *lines[k + 1 :]], [*lines[: k + 1], lines[k], *lines[k + 1 :]]):
            (tmp_path / name).write_text("\n".join(changed))
            with pytest.raises(ClfrnnError):
                read(tmp_path / name)


@pytest.mark.parametrize("name", [name for name in FILES if name != "b.pcd"])
@pytest.mark.parametrize("spoilt", ["x", "1e999", "1.2.3", "*"])
def test_a_number_that_is_none(tmp_path, name, spoilt):
    lines, rows = rows_of(name)
    for k in rows[-3:]:
        sign = "," if name == "a.csv" else "."
        at = lines[k].index(sign)
        changed = [*lines[:k], lines[k][:at] + spoilt + lines[k][at + len(spoilt) :], *lines[k + 1 :]]
        (tmp_path / name).write_text("\n".join(changed))
        with pytest.raises(ClfrnnError):
            list(frames(tmp_path / name))


@pytest.mark.parametrize("name", FILES)
def test_other_damage(tmp_path, request, name):
    """What is read is finite, and as many frames and rows as its clouds say; or it is refused."""
    path, read_anyway = tmp_path / name, 0
    seeds = MANY if request.config.getoption("--all") else FEW
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(seeds):
            for spoilt in hostile.spoilt(FILES[name], random.Random(seed), COPIES):
                path.write_bytes(spoilt)
                try:
                    every = list(frames(path))
                except ClfrnnError as error:
                    said(error, path)
                    continue
                read_anyway += 1
                for cloud in every:
                    assert np.isfinite(cloud.points).all()
                    assert cloud.points.shape[1] in (1, 2, 3)
                    assert cloud.frames == len(every)
                    for each in (cloud.species, cloud.names):
                        assert each is None or each.shape == (len(cloud.points),)
                    assert cloud.cell is None or np.isfinite(cloud.cell).all()
    assert read_anyway < seeds * COPIES
