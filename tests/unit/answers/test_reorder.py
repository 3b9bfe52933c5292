"""The order of an index, what it keeps on the device, and how it explains itself."""

import re

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS, own_session, structure_of, truth

import clfrnn
from clfrnn import clouds

N = min(500, POINTS)
CLOUD = clouds.uniform(N, 3, seed=1)


def build(points, radius, way, session, **domain):
    method, options = way
    return clfrnn.build_index(points, radius, method=method, session=session, **domain, **options)


# --- order ------------------------------------------------------------------------------------------------------------


def test_brute_force_keeps_the_order_of_its_input(session):
    index = clfrnn.build_index(CLOUD, 0.1, method="brute_force", session=session)

    assert np.array_equal(index.order.get(), np.arange(N))
    index.update(CLOUD[::-1].copy())
    assert np.array_equal(index.order.get(), np.arange(N))


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_points_of_a_cell_stand_together(session, way, dim, periodic):
    """In the sorted order each cell is one run; addresses ascend, along the first axis fastest."""
    points = clouds.uniform(N, dim, seed=3)
    domain = {"box": (1,) * dim, "periodic": True} if periodic else {}
    index = build(points, 0.13, way, session, **domain)
    if structure_of(index).cell_grid is None:
        pytest.skip("the method has no cells")
    grid = structure_of(index).cell_grid
    order = index.order.get()

    real = np.float32
    cells = np.floor((points[order] - real(grid.low)) * real(grid.inverses)).astype(int)
    ends = np.array(grid.ends)
    cells = np.clip(cells, ends[:, 0], ends[:, 1])
    addresses = np.mod(cells, grid.shape) @ np.cumprod([1, *grid.shape[:-1]])

    assert (np.diff(addresses) >= 0).all()
    assert len(np.unique(addresses)) > 4


def test_the_order_inside_a_cell_is_that_of_the_input_when_sorted(session):
    """construction="sort" is repeatable; all points in one cell keep their order."""
    points = np.full((N, 2), 0.5, np.float32)
    for name in ("strips", "uniform_grid"):
        index = clfrnn.build_index(points, 0.1, method=name, construction="sort", session=session)
        assert np.array_equal(index.order.get(), np.arange(N))


def test_the_order_follows_an_update(session, method):
    if method == "brute_force":
        pytest.skip("its order is always the input's")
    options = {"leaf_size": 4} if method == "aabb_tree" else {}
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=session, **options)
    before = index.order

    index.update(CLOUD[::-1].copy())
    if method == "aabb_tree":  # the step that found leaves grown is not yet the one that makes others
        assert index.last_update == "refit"
        assert np.array_equal(index.order.get(), before.get())
        index.update(CLOUD[::-1].copy())
        assert index.last_update == "rebuilt"

    after = index.order.get()
    assert np.array_equal(np.sort(after), np.arange(N))
    assert not np.array_equal(before.get(), after)
    rank = np.empty(N, int)
    rank[before.get()] = np.arange(N)
    moved = np.empty(N, int)
    moved[after] = np.arange(N)
    together = 1 if structure_of(index).cell_grid is None else N / min(N, structure_of(index).cell_grid.cells)
    assert np.abs(rank - moved[::-1]).max() <= together * 20 + 20, "the same places in space at about the same ranks"


# --- reorder ----------------------------------------------------------------------------------------------------------

ROWS = {
    "float32 (n, 3)": CLOUD,
    "float64 (n,)": np.arange(N) / 3.0,
    "int64 (n, 2, 2)": np.arange(4 * N).reshape(N, 2, 2),
    "int16 (n,)": np.arange(N).astype(np.int16),
    "uint8 (n, 3)": (np.arange(3 * N) % 251).astype(np.uint8).reshape(N, 3),
    "bool (n,)": np.arange(N) % 3 == 0,
    "complex64 (n,)": (np.arange(N) * (1 + 2j)).astype(np.complex64),
    "record (n,)": np.array([(k, k % 7) for k in range(N)], [("a", np.float32), ("b", np.int8)]),
    "float32 (n, 0)": np.zeros((N, 0), np.float32),
}


@pytest.mark.core
@pytest.mark.parametrize("where", ["host", "device"])
def test_rows_of_any_dtype_and_shape(session, method, where):
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=session)
    order = index.order.get()
    for name, rows in ROWS.items():
        if where == "device" and rows.size == 0:
            continue
        given = rows if where == "host" else cla.to_device(session.queue, rows)
        found = index.reorder(given)
        assert isinstance(found, cla.Array), name
        assert (found.dtype, found.shape) == (rows.dtype, rows.shape), name
        assert np.array_equal(found.get(), rows[order]), name
        if where == "device":
            assert np.array_equal(given.get(), rows), "the caller's own stays as it was"


def test_one_array_gives_one_and_several_a_tuple(session, method):
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=session)
    order = index.order.get()

    points, mass = index.reorder(CLOUD, np.arange(N))
    nothing = index.reorder()

    assert isinstance(index.reorder(CLOUD, CLOUD), tuple)
    assert np.array_equal(points.get(), CLOUD[order])
    assert np.array_equal(mass.get(), order)
    assert nothing == ()


def test_views_and_other_queues(session, method):
    """Strided host arrays, slices of device arrays, and arrays of another queue."""
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=session)
    order = index.order.get()
    wide = np.arange(4 * N, dtype=np.float32).reshape(2 * N, 2)
    other = cl.CommandQueue(session.context)

    assert np.array_equal(index.reorder(wide[::2]).get(), wide[::2][order])
    assert np.array_equal(index.reorder(wide.T[:, :N].T).get(), wide[:N][order])
    assert np.array_equal(index.reorder(cla.to_device(session.queue, wide)[N:]).get(), wide[N:][order])
    assert np.array_equal(index.reorder(cla.to_device(other, wide[:N])).get(), wide[:N][order])


def test_reordered_points_have_neighbors_near_in_memory(session, method):
    """A cloud in the index's order is the same cloud, renumbered."""
    index = clfrnn.build_index(CLOUD, 0.2, method=method, session=session)
    order = index.order.get()

    found = clfrnn.search(index.reorder(CLOUD), 0.2, sort="index").to_host()

    pairs = set(zip(*(order[ids].tolist() for ids in found.to_coo()), strict=True))
    expected = truth(CLOUD, 0.2)
    rows = np.repeat(np.arange(N), np.diff(expected.offsets))
    assert pairs == set(zip(rows.tolist(), expected.indices.tolist(), strict=True))


@pytest.mark.parametrize("where", ["host", "device"])
def test_arrays_of_another_length_are_refused(session, method, where):
    index = clfrnn.build_index(CLOUD, 0.1, method=method, session=session)
    for rows in (np.zeros(N - 1), np.zeros((N + 1, 3)), np.zeros((3, N))):
        given = rows if where == "host" else cla.to_device(session.queue, rows)
        with pytest.raises(
            clfrnn.InvalidInputError, match=rf"arrays\[1\]: expected one row for each of the {N} points"
        ):
            index.reorder(CLOUD, given)
    for rows in (np.float32(1), np.array([None] * N)):
        with pytest.raises(clfrnn.InvalidInputError, match=r"arrays\[0\]: expected one row"):
            index.reorder(rows)


def test_an_array_of_another_context_is_refused(session):
    context = cl.Context([session.device])
    foreign = cla.to_device(cl.CommandQueue(context), CLOUD)
    index = clfrnn.build_index(CLOUD, 0.1, session=session)

    with pytest.raises(clfrnn.InvalidInputError, match=r"arrays\[0\]: expected an array of the session's OpenCL"):
        index.reorder(foreign)


def test_no_points(session, method):
    index = clfrnn.build_index(np.zeros((0, 3), np.float32), 0.1, method=method, session=session)

    assert index.order.get().tolist() == []
    assert index.order.dtype == np.int32
    assert index.reorder(np.zeros((0, 2))).shape == (0, 2)
    assert all(size > 0 or name in {"points", "sorted_points"} for name, size in index.nbytes.items())
    assert "points: 0 in 3D" in index.explain()
    assert "there are no points" in index.explain()


# --- nbytes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_bytes_by_buffer(session, way, dim, dtype, periodic):
    points = clouds.uniform(N, dim, dtype=dtype, seed=4)
    domain = {"box": (1,) * dim, "periodic": True} if periodic else {}
    index = build(points, 0.1, way, session, **domain)

    sizes = index.nbytes

    assert all(isinstance(name, str) and type(size) is int and size > 0 for name, size in sizes.items())
    least = N * dim * dtype.itemsize
    assert least <= sum(sizes.values())
    assert ("images" in sizes) == periodic
    if way[0] == "brute_force":
        assert sizes["points"] == least
        return
    # Records, columns of what there is, or columns that a batch of candidates may be loaded from the end of.
    numbers = {N * 4, N * (dim + 1), N * (dim + 1) + 7}
    assert sizes["sorted_points"] in {many * dtype.itemsize for many in numbers}
    if structure_of(index).cell_grid is not None:
        starts = {"cell_sections": 12 * structure_of(index).cell_grid.cells} if way[0] == "fenns" else {}
        starts = starts or {"cell_starts": 4 * (structure_of(index).cell_grid.cells + 1)}
        assert starts.items() <= sizes.items()


def test_the_bytes_are_those_that_the_pool_holds(session, method):
    """What an index keeps beyond them is small: nothing large is forgotten."""
    fresh = own_session(session)
    points = clouds.uniform(20 * N, 3, seed=5)
    index = clfrnn.build_index(points, 0.1, method=method, session=fresh)
    for steps in (0, 3):
        for _ in range(steps):
            index.update(points)
        fresh.queue.finish()

        assert fresh._pool.active_bytes <= 1.3 * sum(index.nbytes.values()) + (1 << 16)


# --- explain ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_an_explanation_names_what_was_decided(session, way, dim):
    points = clouds.uniform(N, dim, seed=6)
    index = build(points, 0.12, way, session)

    short, text = index.explain(), index.explain(long=True)

    assert set(short.splitlines()[:-1]) < set(text.splitlines()), "the short form is a part of the long one"
    assert short.splitlines()[-1].startswith("explain(long=True) says more")
    names = [line.split(":")[0] for line in short.splitlines()[:-1] if not line.startswith("arrays of CUDA")]
    stored = {"brute_force": "tiles", "aabb_tree": "tree", "fenns": "coarse grid"}.get(way[0], "cells")
    assert names == [way[0], "points", "device", "kernels", stored, "bytes", "candidates"]
    assert not re.search(r"\b(None|True|False)\b", "\n".join(short.splitlines()[:-1]) + text), "words of the code"
    assert text.splitlines()[0] == f"{way[0]}: asked for by name"
    assert f"points: {N} in {dim}D, float32, radius 0.12" in text
    assert str(session.profile) in text
    assert f"work-groups of {structure_of(index).config.work_group_size}" in text
    assert f"work_group_size {structure_of(index).config.work_group_size}" in text
    assert f"bytes: {sum(index.nbytes.values()):,} on the device" in text
    for name, size in index.nbytes.items():
        assert f"{name} {size:,}" in text
    assert "last update: rebuilt" in text
    if way[0] == "brute_force":
        assert f"tiles: {structure_of(index).config.tile} points at a time" in text
    elif way[0] == "aabb_tree":
        assert f"leaves of {structure_of(index)._plan.leaf_size} points" in text
        assert f"construction: {way[1].get('construction', 'morton')}" in text
        assert ("queries: in packs of" if structure_of(index).config.packed else "queries: each by itself") in text
    else:
        assert " x ".join(map(str, structure_of(index).cell_grid.shape)) in text
        built = "that local memory could count" if way[0] == "fenns" else way[1].get("construction", "counting")
        assert built in text


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_the_candidates_are_measured(session, method, periodic):
    """All points are asked here, so the mean number of neighbors is exact; brute force tests every point."""
    domain = {"box": (1, 1, 1), "periodic": True} if periodic else {}
    points = clouds.uniform(min(N, 400), 3, seed=7)
    index = clfrnn.build_index(points, 0.2, method=method, session=session, **domain)
    expected = len(truth(points, 0.2, **domain).indices) / len(points)

    text = index.explain()

    tested, each, neighbors, asked = re.search(
        r"candidates: ([\d.]+) tested by a query, ([\d.]+) for each of its ([\d.]+) neighbors, measured on (\d+)", text
    ).groups()
    assert float(neighbors) == pytest.approx(expected, abs=0.051)
    assert float(each) == pytest.approx(float(tested) / expected, rel=0.05)
    assert float(tested) >= float(neighbors)
    assert int(asked) == len(points)
    if method == "brute_force" and not periodic:
        assert float(tested) == len(points)
    if periodic:
        assert "periodic: axis 0 of length 1, axis 1 of length 1, axis 2 of length 1" in text


def test_auto_says_why(session):
    few = clfrnn.build_index(clouds.uniform(40, 3), 0.1, session=session)
    many = clfrnn.build_index(clouds.uniform(2000, 3), 0.1, session=session)
    line = clfrnn.build_index(clouds.uniform(2000, 1), 0.01, session=session)

    assert few.explain().startswith(f"{few.method}: chosen by auto, as ")
    assert many.explain().startswith(f"{many.method}: chosen by auto, as ")
    assert "1 dimensions" in line.explain().splitlines()[0]
    # On a GPU few points go into cells as many do.
    alike = few.explain().splitlines()[0] == many.explain().splitlines()[0]
    assert alike == (session.profile.kind == "gpu")


def test_an_explanation_of_lonely_points(session, method):
    points = np.float32([[0, 0], [5, 5], [9, 9]])

    text = clfrnn.build_index(points, 0.1, method=method, session=session).explain()

    assert "and no neighbors, measured on 3 points" in text
