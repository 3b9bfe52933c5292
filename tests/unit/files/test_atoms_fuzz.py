"""Files of atoms by chance: valid ones are read to the last digit, and damaged ones are refused."""

import random
import warnings

import atoms_on_file
import hostile
import numpy as np
import pytest

from clfrnn.errors import ClfrnnError
from clfrnn.files import read


def needs(kind):
    if kind == "cif":
        pytest.importorskip("gemmi", reason="gemmi is of the extra files")


def check(kind, cloud, written, *, name):
    scale = 1 + np.abs(written.points).max(initial=0)
    assert cloud.points.shape == written.points.shape, name
    assert np.abs(cloud.points - written.points).max(initial=0) <= 1e-9 * scale, name
    assert (cloud.cell is None) == (written.cell is None), name
    if written.cell is not None:
        assert np.abs(cloud.cell - written.cell).max() <= 1e-9 * (1 + np.abs(written.cell).max()), name
    assert cloud.periodic == written.periodic, name
    assert cloud.unit == ("nm" if kind == "gro" else "Å")
    if written.species is not None:
        assert cloud.species.tolist() == written.species, name


def fuzz(folder, kind, seeds):
    """How many files of a kind were valid, refused because they were damaged, and read although they were spoilt."""
    done = {"valid": 0, "refused": 0, "spoilt": 0}
    for seed in seeds:
        chance = np.random.default_rng(seed)
        written = atoms_on_file.KINDS[kind](chance)
        path = folder / written.name
        raw = atoms_on_file.odd(chance, written)
        path.write_bytes(raw)
        try:
            check(kind, read(path), written, name=f"{kind} {seed}")
        except ClfrnnError as error:
            raise AssertionError(f"{kind} {seed}: {error}\n{written.text}") from error
        done["valid"] += 1
        for name, lines in atoms_on_file.damaged(chance, written):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            if lines == written.text.rstrip("\n").split("\n"):
                continue
            try:
                cloud = read(path)
            except ClfrnnError as error:
                said(error, path)
                done["refused"] += 1
            else:
                pytest.fail(f"{kind} {seed} {name}: read {cloud}\n" + "\n".join(lines))
        for spoilt in hostile.spoilt(raw, random.Random(seed), 3):
            path.write_bytes(spoilt)
            try:
                cloud = read(path)
                assert np.isfinite(cloud.points).all()
                assert cloud.points.shape[1] in (1, 2, 3)
            except ClfrnnError as error:
                said(error, path)
            done["spoilt"] += 1
        path.unlink()
    return done


def said(error, path):
    assert str(error).startswith(str(path)), error
    assert "; " in str(error), error
    assert "\n" not in str(error), error
    assert len(str(error)) < 700


@pytest.mark.parametrize("kind", atoms_on_file.KINDS)
def test_files_of_atoms(tmp_path, kind):
    needs(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = fuzz(tmp_path, kind, range(60))
    assert done["valid"] == 60
    assert done["refused"] > 300
    assert done["spoilt"] == 180
