"""The face of ASE lists what ASE lists: in cells of any shape and periodicity, with every kind of cutoff."""

import itertools

import numpy as np
import pytest

from clfrnn.interop.ase import neighbor_list, primitive_neighbor_list

ase = pytest.importorskip("ase")
theirs = pytest.importorskip("ase.neighborlist")

PAIRS = {("C", "H"): 3.0, (1, 1): 2.0, (8, "C"): 5.0}


def table(found):
    """The pairs in one order: atoms and shifts, then distances and vectors."""
    i, j, d, D, S = found
    assert [each.dtype.kind for each in found] == ["i", "i", "f", "f", "i"]
    assert (np.diff(i) >= 0).all()
    rows = np.column_stack([i, j, S, d, D])
    return rows[np.lexsort(rows[:, :5].T[::-1])]


def assert_same(atoms, cutoff, session, **asked):
    found = table(neighbor_list("ijdDS", atoms, cutoff, session=session, **asked))
    expected = table(theirs.neighbor_list("ijdDS", atoms, cutoff, **asked))
    assert np.array_equal(found[:, :5], expected[:, :5])
    np.testing.assert_allclose(found[:, 5:], expected[:, 5:], atol=1e-12)
    return len(found)


@pytest.mark.parametrize("pbc", [*itertools.product([False, True], repeat=3)])
def test_cells(session, pbc):
    if not session.profile.fp64:
        pytest.skip("ASE computes in float64")
    rng = np.random.default_rng(sum(pbc))
    cell = rng.normal(size=(3, 3)) * 3 + np.eye(3) * 5
    atoms = ase.Atoms("C15H20", positions=rng.normal(size=(35, 3)) * 9, cell=cell, pbc=pbc)
    found = [
        assert_same(atoms, cutoff, session, self_interaction=own)
        for cutoff in (2.5, 6.0, PAIRS, rng.random(35) * 3)
        for own in (False, True)
    ]
    assert sum(found) > 200


def test_the_ball_is_open(session):
    """Whole shells of crystals at exactly the cutoff are left out, and found just beyond it."""
    if not session.profile.fp64:
        pytest.skip("ASE computes in float64")
    same = ase.Atoms("H2", positions=np.zeros((2, 3)))
    assert assert_same(same, 0.0, session) == assert_same(same, 0.0, session, self_interaction=True) == 0
    grid = ase.Atoms("H64", positions=np.stack(np.meshgrid(*[range(4)] * 3), -1).reshape(-1, 3), cell=[4] * 3, pbc=True)
    for cutoff in (1.0, np.nextafter(1.0, 2), 3.0, np.sqrt(2), np.nextafter(np.sqrt(2), 0), 0.0):
        assert_same(grid, cutoff, session)
        assert_same(grid, np.full(64, cutoff / 2), session)
        assert_same(grid, {("H", "H"): cutoff}, session)
    assert not len(neighbor_list("i", grid, 1.0, session=session))
    assert len(neighbor_list("i", grid, np.nextafter(1.0, 2), session=session)) == 6 * 64


def test_cells_of_which_vectors_are_zero(session):
    if not session.profile.fp64:
        pytest.skip("ASE computes in float64")
    chain = ase.Atoms("H3", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], cell=[3, 0, 0], pbc=[True, False, False])
    far = ase.Atoms("H2", [[0, 0, 0], [600.5, 0, 0]], cell=[[3, 0, 0], [1, 3, 0], [0, 0, 3]], pbc=True)
    assert assert_same(chain, 1.5, session) == 6
    assert assert_same(far, 4.0, session)
    assert np.abs(neighbor_list("S", far, 4.0, session=session)).max() > 127, "more than a byte holds"


def test_without_objects(session):
    positions = np.random.default_rng(0).random((20, 3))
    cell = np.diag([1.0, 2.0, 3.0])
    given = {"cutoff": 0.7, "session": session}
    whole = primitive_neighbor_list("ijS", [1, 1, 0], cell, positions @ cell, **given)
    scaled = primitive_neighbor_list("ijS", [1, 1, 0], cell, positions, use_scaled_positions=True, **given)

    assert len(whole[0])
    assert all(np.array_equal(one, other) for one, other in zip(whole, scaled, strict=True))
    alone = primitive_neighbor_list("D", True, [1, 2, 3], positions, **given)
    assert alone.shape[1] == 3
    assert [each.shape for each in primitive_neighbor_list("DiS", True, cell, [], **given)] == [(0, 3), (0,), (0, 3)]


def test_quantities_in_any_number(session):
    pair = ase.Atoms("H2", positions=[[0, 0, 0], [1, 0, 0]])
    for asked in ("", "i", "iji", ["d", "S"], ("j",)):
        for atoms in (pair, ase.Atoms()):
            found, expected = (call(asked, atoms, 1.5) for call in (neighbor_list, theirs.neighbor_list))
            assert type(found) is type(expected)
            for one, other in zip(found, expected, strict=True):
                assert np.array_equal(one, other)
                assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


@pytest.mark.parametrize(
    "named",
    [{"quantities": None}, {"cutoff": None}, {"cutoff": "2"}, {"max_nbins": None}, {"cutoff": {("H", "H"): None}}],
)
def test_what_ase_raises_a_type_error_for(named):
    for call in (primitive_neighbor_list, theirs.primitive_neighbor_list):
        given = {"quantities": "i", "pbc": [True] * 3, "cell": np.eye(3), "positions": np.zeros((2, 3)), "cutoff": 1.0}
        with pytest.raises(TypeError):
            call(**{**given, "numbers": np.ones(2, int), **named})


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"quantities": "ijx"}, "Unsupported quantity"),
        ({"cutoff": -1}, "cutoff: expected a number"),
        ({"cutoff": [1.0]}, "cutoff: expected a number"),
        ({"cutoff": np.inf}, "cutoff: .*finite"),
        ({"cutoff": {("C", "H"): 1.0}}, "numbers: expected the atomic number"),
        ({"cutoff": {("C", "H"): 1.0}, "numbers": ["C", "H"]}, "numbers: expected the atomic number"),
        ({"cutoff": {}, "numbers": [1, 6]}, "cutoff: expected distances by pairs"),
        ({"cutoff": {("C", "H"): "1"}, "numbers": [1, 6]}, "cutoff: expected distances by pairs"),
        ({"max_nbins": 0}, "max_nbins: expected a number above 0"),
        ({"pbc": [True, False]}, "pbc: expected a flag"),
        ({"pbc": "abc"}, "pbc: expected a flag"),
        ({"pbc": 2}, "pbc: expected a flag"),
        ({"cutoff": {("C", "H"): -1.0}, "numbers": [1, 6]}, "cutoff: expected distances by pairs"),
        ({"cutoff": {"CH": 1.0}, "numbers": [1, 6]}, "cutoff: expected distances by pairs"),
        ({"cutoff": {("C", "Q"): 1.0}, "numbers": [1, 6]}, "cutoff: expected symbols"),
        ({"positions": np.zeros((2, 2))}, "positions: expected three"),
        ({"positions": np.full((2, 3), np.nan)}, "positions: expected finite"),
        ({"cell": np.zeros((2, 2))}, "cell: expected lattice vectors"),
        ({"cell": np.zeros((3, 3))}, "cell: "),
    ],
)
def test_what_is_refused(named, words):
    given = {"quantities": "ij", "pbc": True, "cell": np.eye(3), "positions": np.zeros((2, 3)), "cutoff": 1.0}
    with pytest.raises(ValueError, match=words):
        primitive_neighbor_list(**{**given, **named})
