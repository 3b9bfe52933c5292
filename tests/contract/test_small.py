"""Every kernel once on a small cloud: the cases that also run under a memory and race checker."""

import dataclasses
import math
import os

import numpy as np
import pytest
from conftest import as_gpu, as_narrow_gpu, structure_of, takes_long_as_gpu

import clfrnn
from clfrnn import clouds, reference
from clfrnn.first_pass import neighbor_buffer as stash
from clfrnn.methods.fenns import coarse_sort as coarse
from clfrnn.methods.grid import plan as cell_plan
from clfrnn.methods.grid import structure as cells
from clfrnn.planning import fenns as blocks
from clfrnn.planning import tree_traversal as packs
from clfrnn.primitives import scan
from clfrnn.queries import count_nearest as answers

pytestmark = pytest.mark.core


def test_every_kernel_on_a_small_cloud(session, way, dim):
    """Counts, lists with all that they carry, foreign queries, radii, halves, sorts, and a step."""
    method, options = way
    points = clouds.duplicates(130, dim, seed=1)
    queries = clouds.uniform(67, dim, seed=2)
    radii = np.random.default_rng(3).random(67).astype(np.float32) * np.float32(0.2)
    index = clfrnn.build_index(points, 0.2, method=method, session=session, **options)

    for _ in range(2):
        own = index.query(distances=True, vectors=True, sort="distance").to_host()
        half = index.query(half=True, sort="index").to_host()
        foreign = index.query(queries, radius=radii, distances=True, vectors=True, sort="index").to_host()
        counts = index.count(radius=0.1).get()

        expected = reference.neighbors(points, 0.2)
        rows = np.repeat(np.arange(len(points)), np.diff(expected.offsets))
        order = np.lexsort((expected.indices, expected.squares, rows))
        assert np.array_equal(own.indices, expected.indices[order])
        assert np.array_equal(own.distances, expected.distances[order])
        assert np.array_equal(own.vectors, expected.vectors[order])
        assert np.array_equal(half.indices, reference.neighbors(points, 0.2, half=True).indices)
        assert np.array_equal(counts, np.diff(reference.neighbors(points, 0.1).offsets))
        expected = reference.neighbors(points, radii, queries=queries)
        assert np.array_equal(foreign.indices, expected.indices)
        assert np.array_equal(foreign.distances, expected.distances)
        assert np.array_equal(foreign.vectors, expected.vectors)
        points = (points * np.float32(50) + np.float32(3)) if points.max() < 3 else points
        index.update(points)


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_queries_that_go_down_a_tree_together(session, periodic, monkeypatch):
    """Packs of queries, with more leaves than their lists hold."""
    monkeypatch.setattr(packs, "_FEW_OF_UNIT", 0)
    if takes_long_as_gpu(session, "aabb_tree"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, False)} if periodic else {}
    points = clouds.uniform(150, 3, seed=4)
    index = clfrnn.build_index(points, 0.4, method="aabb_tree", session=as_gpu(session), leaf_size=1, **domain)
    assert structure_of(index).config.packed
    for _ in range(2):
        expected = reference.neighbors(points, 0.4, **domain)
        assert np.array_equal(index.count().get(), np.diff(expected.offsets))
        points = points[::-1].copy()
        index.update(points)


def test_a_crowd_is_counted_by_several_items_each(session, monkeypatch):
    """With one radius and with radii of their own, sorted by these."""
    if takes_long_as_gpu(session, "aabb_tree"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    monkeypatch.setattr(packs, "_CROWD", 0)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    points = clouds.duplicates(100, 3, seed=6)
    radii = np.random.default_rng(7).choice([0.05, 0.4], 100).astype(np.float32)
    index = clfrnn.build_index(points, 0.4, method="aabb_tree", session=as_gpu(session), leaf_size=3)
    for radius in (0.4, radii):
        expected = reference.neighbors(points, radius)
        assert np.array_equal(index.count(radius=radius).get(), np.diff(expected.offsets))


def test_numbers_that_a_count_puts_by(session, monkeypatch):
    """Rows of a list, of as many as there are slots and of more."""
    monkeypatch.setattr(cells, "_FEW_ELSEWHERE", np.inf)
    monkeypatch.setattr(stash, "slots_for", lambda *_: (4,))
    points = clouds.duplicates(130, 3, seed=8)
    expected = reference.neighbors(points, 0.15)
    assert 0 < (np.diff(expected.offsets) > 4).sum() < len(points)
    index = clfrnn.build_index(points, 0.15, method="strips", session=as_gpu(session))
    assert np.array_equal(index.query(sort="index").to_host().indices, expected.indices)
    for _ in range(3):  # the first has no room before; the others are written while their offsets are found
        found = index.query().to_host()
        assert np.array_equal(found.offsets, expected.offsets)
        rows = np.repeat(np.arange(len(points)), found.counts)
        assert np.array_equal(found.indices[np.lexsort((found.indices, rows))], expected.indices)


def test_answers_in_another_form_first(session, monkeypatch):
    """Counts as bytes, of a crowd of 256 and of others, and nearest neighbors in pairs."""
    monkeypatch.setattr("clfrnn.planning.binning._FEW_OF_ITEM", 0)
    monkeypatch.setattr("clfrnn.planning.binning._MOST_OPEN", 0)
    for limits in ("_AS_BYTES", "_IN_PAIRS"):
        monkeypatch.setattr(answers, limits, {3: ((1, np.inf),)})
    points = clouds.uniform(300, 3, seed=8)
    points[:257] = points[0]
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_narrow_gpu(session, fma=True))
    with index.session.recorded() as launches:
        counts, found = index.count().get(), index.nearest()
    assert {"widen", "part"} < {name for name, _ in launches}
    expected = reference.neighbors(points, 0.1)
    assert np.array_equal(counts, np.diff(expected.offsets))
    assert counts.min() < 255 < counts.max()
    assert np.array_equal(found.indices.get() < 0, counts == 0)
    assert np.array_equal(found.distances.get()[:257], np.zeros(257))


def test_offsets_from_sums_of_marked_counts(session, monkeypatch):
    """A list by marks, whose scan goes from sums that the count has added up."""
    monkeypatch.setattr(scan, "_SOME", {"gpu": 0})
    monkeypatch.setattr(cells, "_FEW_ELSEWHERE", 0.0)
    monkeypatch.setattr(stash, "slots_for", lambda *_: ())
    points = clouds.duplicates(300, 3, seed=8)
    expected = reference.neighbors(points, 0.1)
    index = clfrnn.build_index(points, 0.1, method="strips", session=as_gpu(session))
    for _ in range(3):
        assert np.array_equal(index.query(sort="index").to_host().indices, expected.indices)


def test_local_grids_that_fit_a_tile_beside_one_that_does_not(session, monkeypatch):
    """FENNS in small groups: cells with all that they see in a tile, and one with more than that."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    monkeypatch.setattr(blocks, "_EACH", (2,))
    fresh = clfrnn.Session(session.queue)
    fresh.profile = dataclasses.replace(
        session.profile, kind="gpu", max_work_group_size=16, simd_width=8, loop_turns=None
    )
    points = clouds.uniform(130, 3, seed=4)
    points[40:] = points[40:] * np.float32(0.1) + np.float32(0.45)
    points[50:57] = points[57]
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=fresh)
    assert 1 < structure_of(index).config.work_group_size < structure_of(index).config.tile < 90
    for radius, kept in ((0.02, False), (0.015, True)):
        expected = reference.neighbors(points, radius, include_self=kept)
        found = index.query(radius=radius, include_self=kept, sort="index").to_host()
        assert np.array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("local_memory", [3 << 10, 32 << 10], ids=["tiles", "whole"])
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_items_that_share_a_local_grid(session, monkeypatch, dim, periodic, local_memory):
    """FENNS in groups of many items, whose candidates fit local memory and do not."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    if local_memory > 10_000:
        monkeypatch.setattr(coarse, "_FEW_OF_ITEM", 0)  # sorted by three launches, as many points are
    fresh = clfrnn.Session(session.queue)
    fresh.profile = dataclasses.replace(
        session.profile,
        kind="gpu",
        simd_width=8,
        local_memory=local_memory + session.profile.local_reserve,
        loop_turns=None,  # few points take few turns
    )
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    points = clouds.uniform(120, dim, seed=4) * np.float32(0.5)
    queries = clouds.uniform(31, dim, seed=5)
    index = clfrnn.build_index(points, 0.2, method="fenns", coarse_shape=2, session=fresh, **domain)

    assert structure_of(index).config.work_group_size > 1
    assert (structure_of(index).config.tile < 100) == (local_memory < 10_000), (
        "a cell and what it sees are nearly all points"
    )
    expected = reference.neighbors(points, 0.2, **domain)
    assert np.array_equal(index.query(sort="index").to_host().indices, expected.indices)
    assert np.array_equal(index.count().get(), np.diff(expected.offsets))
    foreign = reference.neighbors(points, 0.2, queries=queries, **domain)
    assert np.array_equal(index.count(queries).get(), np.diff(foreign.offsets))


@pytest.mark.parametrize("way", ["select_cells", "bucket_sort", "region_sort"])
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_items_that_fill_cells_together(session, monkeypatch, dim, dtype, periodic, way):
    """Cells of strips counted in local memory, by one group and by many; then all points in one of them."""
    if dtype == np.float64 and not (periodic and dim == 3 and way != "region_sort"):
        pytest.skip("float64 is tested in a periodic box in 3D, but for regions; elsewhere in test_buckets.py")
    if periodic and dim == 2:
        pytest.skip("what a box adds to a sort goes axis by axis, as in 3D")
    if way != "select_cells":
        monkeypatch.setattr("clfrnn.planning.binning._FEW_OF_ITEM", 0)
    monkeypatch.setattr(cell_plan, "_LONG_RUN", 0.0 if way == "bucket_sort" else math.inf)  # in pairs, and in records
    if way == "region_sort":
        monkeypatch.setattr("clfrnn.planning.binning._MOST_OPEN", 0)
    fresh = as_narrow_gpu(session, fma=True)
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    points = clouds.uniform(130, dim, dtype=dtype, seed=4)
    index = clfrnn.build_index(points, 0.2, method="strips", session=fresh, **domain)
    layout = structure_of(index)._bins.layout
    assert layout.plan.way == way
    assert way == "select_cells" or layout.plan.buckets > 1
    assert (layout.plan.regions > 1) == (way == "region_sort")
    assert (structure_of(index).config.layout == "pairs") == (way == "bucket_sort" and not periodic)
    for entered in (0, 1 << 30) if way == "region_sort" else (0,):
        if way == "region_sort":  # in two passes, then in one
            layout.binning.buckets.plan = dataclasses.replace(layout.plan, entered=entered)
        # At the end all in one place, then all in another.
        ends = (np.tile(points[at(points[:, -1])], (130, 1)) for at in (np.argmin, np.argmax))
        for moved in (points, points[::-1].copy(), *ends):
            index.update(moved)
            expected = reference.neighbors(moved, 0.2, **domain)
            in_one_place = not np.ptp(moved, axis=0).any()
            if not in_one_place:  # else counts and the order say all that a long list would
                assert np.array_equal(index.query(sort="index").to_host().indices, expected.indices)
            assert np.array_equal(index.count().get(), np.diff(expected.offsets))
            assert np.array_equal(np.sort(index.order.get()), np.arange(130))


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_cells_that_are_counted_in_global_memory(session, monkeypatch, dim, periodic):
    """As a CPU fills those of more points than one work-item places; at the end all in one place."""
    monkeypatch.setattr("clfrnn.planning.binning._FEW_SERIAL", 0)
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    points = clouds.uniform(130, dim, seed=4)
    index = clfrnn.build_index(points, 0.2, method="strips", session=session, **domain)
    assert session.profile.kind == "gpu" or structure_of(index)._bins.layout.plan.way == "counting_sort"
    for moved in (points[::-1].copy(), np.tile(points[7], (130, 1))):
        index.update(moved)
        expected = reference.neighbors(moved, 0.2, **domain)
        assert np.array_equal(index.count().get(), np.diff(expected.offsets))
        assert np.array_equal(np.sort(index.order.get()), np.arange(130))


@pytest.mark.parametrize("kind", ["as it is", "selected", "by buckets"])
def test_queries_that_are_sorted_into_cells(session, monkeypatch, kind):
    """A copy of the queries, which the walk goes through; on a torus, as they lie anywhere."""
    monkeypatch.setattr(cell_plan, "_MANY_QUERIES", {})
    monkeypatch.setattr(cell_plan, "_MANY_QUERIES_ELSEWHERE", 1)
    monkeypatch.setattr(cell_plan, "_LEAST_TO_SORT_FOR", {})
    if kind == "by buckets":
        monkeypatch.setattr("clfrnn.planning.binning._FEW_OF_ITEM", 0)
    points, queries = clouds.uniform(110, 3, seed=4), 1.4 * clouds.uniform(90, 3, seed=5)
    index = clfrnn.build_index(
        points, 0.2, method="strips", session=session if kind == "as it is" else as_narrow_gpu(session, fma=True)
    )
    expected = reference.neighbors(points, 0.2, queries=queries)
    for _ in range(2):  # counters are left for the second time
        with index.session.recorded() as launches:
            counts = index.count(queries).get()
        assert np.array_equal(counts, np.diff(expected.offsets))
        assert len(launches) > 1
    assert np.array_equal(index.query(queries, sort="index").to_host().indices, expected.indices)


@pytest.mark.oclgrind_expected
def test_the_checker_is_awake(session, capfd):
    """Where reports fail a test, a race must be reported."""
    if session.profile.platform != "Oclgrind":
        pytest.skip("no checker runs on this device")
    import pyopencl as cl

    program = cl.Program(session.context, "kernel void race(global int *a) { a[0] = get_global_id(0); }").build()
    cell = session.scratch(1, np.dtype(np.int32), purpose="a race")
    cl.Kernel(program, "race")(session.queue, (64,), (32,), cell.base_data)
    session.queue.finish()

    assert "data race" in capfd.readouterr().err


@pytest.mark.oclgrind_expected
def test_the_checker_knows_what_was_written(session, capfd):
    """Of memory of the pool: what kernels wrote where a shorter array was uploaded before, and nothing from before."""
    if session.profile.platform != "Oclgrind" or not os.environ.get("OCLGRIND_UNINITIALIZED"):
        pytest.skip("no checker of unset memory runs on this device")
    import pyopencl as cl

    text = """
        kernel void put(global int *a) { a[get_global_id(0)] = 1; }
        kernel void look(global const int *a, global int *b) { if (a[get_global_id(0)]) b[get_global_id(0)] = 1; }
    """
    program = cl.Program(session.context, text).build()
    put, look = cl.Kernel(program, "put"), cl.Kernel(program, "look")

    def scratch():
        return session.scratch(4, np.dtype(np.int32), purpose="a look").base_data

    for written in (True, False):
        short = session.upload(np.zeros(1, np.int32), purpose="a short array")
        place = short.base_data.int_ptr
        del short  # the next of this size lies in the same memory
        buffer = scratch()
        assert buffer.int_ptr == place
        if written:
            put(session.queue, (4,), (1,), buffer)
        look(session.queue, (4,), (1,), buffer, scratch())
        session.queue.finish()
        assert ("uninitialized" in capfd.readouterr().err) != written
        del buffer
