"""Coming from another library: their lines and ours find the same, and differ in what the page says and no more."""

import importlib
import importlib.util

import numpy as np
import pytest
from pages import DOCS, blocks, execute, run, section

import clfrnn

PAGE = DOCS / "start/coming-from.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")


@pytest.fixture(autouse=True)
def fp64():
    """The page's points are float64, and its code asks for the default device."""
    if not clfrnn.default_session().profile.fp64:
        pytest.skip("the default device has no fp64")


def both(heading, module, part=0):
    """What their lines and ours leave behind; skips where the library is not installed."""
    library = pytest.importorskip(module)
    if module == "warp":
        library.config.quiet = True
    start = blocks(PAGE)[:1]
    found = section(PAGE, heading)
    before = found[: 2 * part]
    theirs, ours = found[2 * part : 2 * part + 2]
    assert [text.split("\n")[0] for _, text in (theirs, ours)] == [f"# {NAMES[module]}", "# clfrnn"]
    as_written = execute if module == "warp" else run
    return (
        as_written([*start, *before[::2], theirs], {"__name__": "page"}, f"{module}'s lines"),
        run([*start, ours], {"__name__": "page"}, f"lines beside {module}'s"),
    )


NAMES = {"scipy": "scipy", "sklearn": "scikit-learn", "freud": "freud", "warp": "Warp", "ase": "ASE"}


def assert_rows(theirs, ours):
    assert len(theirs) == len(ours)
    assert sum(map(len, theirs)) > len(theirs) // 2
    assert all(sorted(a) == sorted(b) for a, b in zip(theirs, ours, strict=True))


def triples(*columns):
    """Rows in one order, whatever order they came in."""
    table = np.column_stack([np.asarray(column, np.float64) for column in columns])
    return table[np.lexsort(table.T[::-1])]


def test_the_page_can_be_pasted():
    """From its top; the lines of libraries that are not installed are left out, and Warp's, which need a file."""
    left_out = {
        f"# {name}" for module, name in NAMES.items() if module == "warp" or not importlib.util.find_spec(module)
    }
    found = [(language, text) for language, text in blocks(PAGE) if text.split("\n")[0] not in left_out]

    scope = run(found, {"__name__": "__main__"}, PAGE.name)

    assert len(found) > len(NAMES)
    assert len(scope["sums"]) == len(scope["points"])


def test_scipy():
    theirs, ours = both("## scipy.spatial.cKDTree", "scipy")

    for name in ("rows", "with_self"):
        assert_rows(theirs[name], ours[name])
        assert all(np.array_equal(a, b) for a, b in zip(theirs[name], ours[name], strict=True)), "the order too"
    assert np.array_equal(theirs["counts"], ours["counts"])
    assert np.array_equal(triples(*theirs["pairs"].T), triples(*ours["pairs"].T))
    np.testing.assert_allclose(ours["matrix"].toarray(), theirs["matrix"].toarray(), rtol=1e-12)
    missing = theirs["nearest"] == 2_000
    assert np.array_equal(np.where(missing, -1, theirs["nearest"]), ours["nearest"])
    np.testing.assert_allclose(ours["distances"], theirs["distances"], rtol=1e-12)
    for name in ("eight", "own"):
        assert np.array_equal(ours[name], theirs[name])
        np.testing.assert_allclose(ours[f"{name}_distances"], theirs[f"{name}_distances"], rtol=1e-12)


def test_scipy_on_a_torus():
    theirs, ours = both("## scipy.spatial.cKDTree", "scipy", part=1)

    assert_rows(theirs["rows"], ours["rows"])
    with pytest.raises(ValueError, match="periodic box"):
        theirs["cKDTree"](theirs["points"] + 1, boxsize=1.0)


def test_scikit_learn():
    theirs, ours = both("## scikit-learn", "sklearn")

    assert_rows(theirs["rows"], ours["rows"])
    for a, b in zip(theirs["distances"], ours["distances"], strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
    assert_rows(theirs["own"], ours["own"])
    np.testing.assert_allclose(ours["graph"].toarray(), theirs["graph"].toarray(), rtol=1e-12)


def test_freud():
    theirs, ours = both("## freud", "freud")
    table = [triples(scope["i"], scope["j"], scope["distances"], scope["vectors"]) for scope in (theirs, ours)]

    assert len(table[0]) > 1_000
    assert np.array_equal(table[0][:, :2], table[1][:, :2])
    np.testing.assert_allclose(table[1][:, 2:], table[0][:, 2:], atol=1e-6)
    assert np.array_equal(theirs["counts"], ours["counts"])
    assert np.array_equal(theirs["j"], ours["j"]), "rows by index"
    rows = theirs["counts"] > 0
    assert np.array_equal(np.asarray(theirs["nlist"].segments)[rows], ours["found"].offsets[:-1][rows])


def test_warp():
    theirs, ours = both("## NVIDIA Warp HashGrid", "warp")

    assert ours["sums"].mean() > 1
    np.testing.assert_allclose(ours["sums"], theirs["sums"], rtol=1e-3, atol=1e-4)


def test_ase():
    theirs, ours = both("## ASE neighbor_list", "ase")
    table = [triples(*(scope[name] for name in ("i", "j", "S", "d", "D"))) for scope in (theirs, ours)]

    assert len(table[0]) > 1_000
    assert table[0][:, 2:5].any()
    assert np.array_equal(table[0][:, :5], table[1][:, :5])
    np.testing.assert_allclose(table[1][:, 5:], table[0][:, 5:], atol=1e-12)
    assert (np.diff(theirs["i"]) >= 0).all()


#: At exactly the radius, at the same place, and far away.
EDGE = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [5, 5, 5]], np.float64)


def ask_scipy():
    tree = importlib.import_module("scipy.spatial").cKDTree(EDGE)
    return [(i, j) for i, row in enumerate(tree.query_ball_point(EDGE, 1.0)) for j in row]


def ask_sklearn():
    finder = importlib.import_module("sklearn.neighbors").NearestNeighbors(radius=1.0).fit(EDGE)
    return [(i, j) for i, row in enumerate(finder.radius_neighbors(EDGE, return_distance=False)) for j in row]


def ask_freud():
    freud = importlib.import_module("freud")
    system = freud.locality.AABBQuery(freud.box.Box.cube(20), EDGE.astype(np.float32))
    return [(i, j) for i, j, *_ in system.query(EDGE.astype(np.float32), {"r_max": 1.0})]


def ask_ase():
    atoms = importlib.import_module("ase").Atoms(positions=EDGE)
    return list(zip(*importlib.import_module("ase.neighborlist").neighbor_list("ij", atoms, 1.0), strict=True))


ASKED = {"scipy": ask_scipy, "sklearn": ask_sklearn, "freud": ask_freud, "ase": ask_ase}


@pytest.mark.parametrize("module", sorted(ASKED))
def test_conventions_are_as_the_table_says(module):
    pytest.importorskip(module)
    name = f"{NAMES[module]} "
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {name}"))
    ball, itself = row.split("|")[2:4]
    found = {(int(i), int(j)) for i, j in ASKED[module]()}
    expected = {(1, 2), (2, 1)}  # at the same place: neighbors in all of them
    if "closed" in ball:
        expected |= {(0, 1), (1, 0), (0, 2), (2, 0)}
    if itself.strip().startswith("found"):
        expected |= {(i, i) for i in range(4)}

    assert found == expected


def test_ours_are_too():
    i, j = clfrnn.search(EDGE, 1.0).to_coo()

    assert set(zip(i.tolist(), j.tolist(), strict=True)) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)}
