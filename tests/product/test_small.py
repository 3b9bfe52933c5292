"""Every kernel once on a small cloud: the cases that also run under a memory and race checker."""

import dataclasses
import math
import os

import numpy as np
import pytest
from conftest import (
    FULL,
    as_gpu,
    as_narrow_gpu,
    assert_counts,
    assert_rows,
    assert_same,
    by_distance,
    launched,
    own_session,
    same_rows,
    structure_of,
    takes_long_as_gpu,
    truth,
    tuned,
    with_slots,
)

import clfrnn
from clfrnn import clouds, reference

pytestmark = pytest.mark.core


def domain_of(name, dim):
    return {"open": {}, "periodic": {"box": (1.0,) * dim}, "cell": {"cell": np.eye(dim) + 0.4 * np.tri(dim, k=-1)}}[
        name
    ]


def test_every_kernel_on_a_small_cloud(session, way, dim):
    """Counts, lists with all that they carry, foreign queries, radii, halves, sorts, and a step."""
    method, options = way
    points = clouds.duplicates(130, dim, seed=1)
    queries = clouds.uniform(67, dim, seed=2)
    radii = np.random.default_rng(3).random(67).astype(np.float32) * np.float32(0.2)
    index = clfrnn.build_index(points, 0.2, method=method, session=session, **options)

    for _ in range(2):
        expected = truth(points, 0.2)
        assert_same(index.query(**{**FULL, "sort": "distance"}), expected, order=by_distance(expected))
        assert_same(index.query(half=True, sort="index"), truth(points, 0.2, half=True))
        assert_same(index.query(queries, radius=radii, **FULL), truth(points, radii, queries=queries))
        assert_counts(index.count(radius=0.1), truth(points, 0.1))
        points = (points * np.float32(50) + np.float32(3)) if points.max() < 3 else points
        index.update(points)


#: Oclgrind 21.10 takes for uninitialised what the host has written behind the beginning of a buffer, as it does with
#: the bounds of points for a later search.
ONE_AXIS = pytest.param(
    {"box": (1, 1, 1), "periodic": (True, False, False)}, id="one", marks=pytest.mark.oclgrind_expected
)


@pytest.mark.parametrize("domain", [pytest.param({}, id="open"), pytest.param({"box": (1, 1, 1)}, id="all"), ONE_AXIS])
def test_the_k_nearest_of_few_points(session, domain):
    """Of none as well, where no row has an entry whose point could be read."""
    points = clouds.uniform(20, 3, dtype=np.float64 if session.profile.fp64 else np.float32, seed=5)
    for n, radius in ((0, None), (0, 0.3), (20, None), (20, 0.3)):
        asked = {"queries": points[3:17], "radius": radius, **domain}
        found = clfrnn.nearest(points[:n], 3, vectors=True, session=session, **asked)
        assert_rows(found, reference.nearest(points[:n], 3, **asked), shifts=bool(domain))


def test_the_nearest_in_a_crowd(session):
    """Packets whose neighbors wait, a few queries that go through all points, and one that a packet leaves out."""
    if takes_long_as_gpu(session, "aabb_tree"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    points = clouds.uniform(100, 3, seed=5)
    points[:60] = points[:60] * np.float32(1e-4) + np.float32(0.5)
    points[7] = 1e4
    for few_pairs in (0, 1 << 20):
        device = tuned(as_gpu(session), nearest={"waiting": 16, "alike": 2.0, "few_pairs": few_pairs})
        names, found = launched(device, lambda: clfrnn.nearest(points, 3, method="aabb_tree", session=device))
        assert "find_first_bounds" in names
        assert np.array_equal(found.indices.get(), reference.nearest(points, 3).indices)
    again = tuned(as_gpu(session), nearest={"few_pairs": 1 << 20})
    names, found = launched(again, lambda: clfrnn.nearest(points, 3, method="strips", session=again))
    assert "choose_bits" in names
    assert np.array_equal(found.indices.get(), reference.nearest(points, 3).indices)


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_queries_that_go_down_a_tree_together(session, periodic):
    """Packs of queries, with more leaves than their lists hold."""
    if takes_long_as_gpu(session, "aabb_tree"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, False)} if periodic else {}
    points = clouds.uniform(150, 3, seed=4)
    index = clfrnn.build_index(
        points,
        0.4,
        method="aabb_tree",
        session=tuned(as_gpu(session), tree={"few_queries_a_unit": 0}),
        leaf_size=1,
        **domain,
    )
    assert structure_of(index).config.packed
    for _ in range(2):
        expected = truth(points, 0.4, **domain)
        assert_counts(index.count(), expected)
        points = points[::-1].copy()
        index.update(points)


def test_a_crowd_is_counted_by_several_items_each(session):
    """With one radius and with radii of their own, sorted by these."""
    if takes_long_as_gpu(session, "aabb_tree"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    points = clouds.duplicates(100, 3, seed=6)
    radii = np.random.default_rng(7).choice([0.05, 0.4], 100).astype(np.float32)
    index = clfrnn.build_index(
        points,
        0.4,
        method="aabb_tree",
        session=tuned(as_gpu(session), tree={"crowd": 0, "uneven_crowd": 0, "many_neighbors": 0}),
        leaf_size=3,
    )
    for radius in (0.4, radii):
        expected = truth(points, radius)
        assert_counts(index.count(radius=radius), expected)


def test_rows_from_a_neighbor_buffer(session):
    """Rows of a list, of as many as there are slots and of more."""
    points = clouds.duplicates(130, 3, seed=8)
    expected = truth(points, 0.15)
    assert 0 < (np.diff(expected.offsets) > 4).sum() < len(points)
    gpu = tuned(as_gpu(session), lists={"mask_neighbors": np.inf})
    index = with_slots(clfrnn.build_index(points, 0.15, method="strips", session=gpu), 4)
    assert_same(index.query(sort="index"), expected)
    for _ in range(3):  # the first has no memory before; the others are written while their offsets are found
        same_rows(index.query(), expected)


def test_answers_in_another_form_first(session):
    """Counts as bytes, of a crowd of 256 and of others, and nearest neighbors in pairs."""
    regions, always = {"few_of_item": 0, "most_open_bytes": 0}, {"bytes_3d": ((1, np.inf),), "pairs_3d": ((1, np.inf),)}
    device = tuned(as_narrow_gpu(session, fma=True), binning=regions, queries=always)
    points = clouds.uniform(300, 3, seed=8)
    points[:257] = points[0]
    index = clfrnn.build_index(points, 0.1, method="strips", session=device)
    names, (counts, found) = launched(device, lambda: (index.count().get(), index.nearest()))
    assert {"unpack_bytes", "unpack_pairs"} < set(names)
    expected = truth(points, 0.1)
    assert np.array_equal(counts, np.diff(expected.offsets))
    assert counts.min() < 255 < counts.max()
    assert np.array_equal(found.indices.get() < 0, counts == 0)
    assert np.array_equal(found.distances.get()[:257], np.zeros(257))


def test_rows_from_a_hit_mask(session):
    """A list from a mask, whose offsets are scanned by several launches."""
    points = clouds.duplicates(300, 3, seed=8)
    expected = truth(points, 0.1)
    several = tuned(as_gpu(session), primitives={"one_launch_counts": 0}, lists={"mask_neighbors": 0})
    index = with_slots(clfrnn.build_index(points, 0.1, method="strips", session=several), 0)
    for _ in range(3):
        assert_same(index.query(sort="index"), expected)


def test_local_grids_that_fit_a_tile_beside_one_that_does_not(session):
    """FENNS in small groups: cells with all that they see in a tile, and one with more than that."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    fresh = own_session(session, kind="gpu", max_work_group_size=16, simd_width=8, loop_turns=None)
    fresh = tuned(fresh, fenns={"tile_points_of_item": (2,)})
    points = clouds.uniform(130, 3, seed=4)
    points[40:] = points[40:] * np.float32(0.1) + np.float32(0.45)
    points[50:57] = points[57]
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=fresh)
    assert 1 < structure_of(index).config.work_group_size < structure_of(index).config.tile < 90
    for radius, kept in ((0.02, False), (0.015, True)):
        expected = truth(points, radius, include_self=kept)
        found = index.query(radius=radius, include_self=kept, sort="index").to_host()
        assert np.array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("local_memory", [3 << 10, 32 << 10], ids=["tiles", "whole"])
@pytest.mark.parametrize("domain", ["open", "periodic", "cell"])
def test_items_that_share_a_local_grid(session, dim, domain, local_memory):
    """FENNS in groups of many items, whose candidates fit local memory and do not."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes a minute for a kernel in the arrangement for a GPU")
    memory = local_memory + session.profile.local_reserve
    fresh = own_session(
        session, kind="gpu", simd_width=8, local_memory=memory, loop_turns=None
    )  # few points, few turns
    if local_memory > 10_000:
        fresh = tuned(fresh, fenns={"few_of_item": 0})  # sorted by three launches, as many points are
    domain = domain_of(domain, dim)
    points = clouds.uniform(120, dim, seed=4) * np.float32(0.5)
    queries = clouds.uniform(31, dim, seed=5)
    index = clfrnn.build_index(points, 0.2, method="fenns", coarse_shape=2, session=fresh, **domain)

    assert structure_of(index).config.work_group_size > 1
    assert (structure_of(index).config.tile < 100) == (local_memory < 10_000), (
        "a cell and what it sees are nearly all points"
    )
    expected = truth(points, 0.2, **domain)
    assert_same(index.query(sort="index"), expected)
    assert_counts(index.count(), expected)
    foreign = truth(points, 0.2, queries=queries, **domain)
    assert_counts(index.count(queries), foreign)


@pytest.mark.parametrize("way", ["select_cells", "bucket_sort", "region_sort"])
@pytest.mark.parametrize("domain", ["open", "periodic", "cell"])
def test_items_that_fill_cells_together(session, dim, dtype, domain, way):
    """Cells of strips counted in local memory, by one group and by many; then all points in one of them."""
    if dtype == np.float64 and not (domain == "periodic" and dim == 3 and way != "region_sort"):
        pytest.skip("float64 is tested in a periodic box in 3D, but for regions; elsewhere in test_buckets.py")
    if domain != "open" and dim == 2:
        pytest.skip("what a box adds to a sort goes axis by axis, as in 3D")
    numbers = {"few_of_item": 0} if way != "select_cells" else {}
    numbers |= {"most_open_bytes": 0} if way == "region_sort" else {}
    run = {"long_run": 0.0 if way == "bucket_sort" else math.inf}  # in pairs, and in records
    fresh = tuned(as_narrow_gpu(session, fma=True), binning=numbers, grid=run)
    where, domain = domain, domain_of(domain, dim)
    points = clouds.uniform(130, dim, dtype=dtype, seed=4)
    index = clfrnn.build_index(points, 0.2, method="strips", session=fresh, **domain)
    layout = structure_of(index)._bins.layout
    assert layout.plan.way == way
    assert way == "select_cells" or layout.plan.buckets > 1
    assert (layout.plan.regions > 1) == (way == "region_sort")
    assert (structure_of(index).config.layout == "pairs") == (way == "bucket_sort" and where == "open")
    for entered in (0, 1 << 30) if way == "region_sort" else (0,):
        if way == "region_sort":  # in two passes, then in one
            layout.binning.buckets.plan = dataclasses.replace(layout.plan, entered=entered)
        # At the end all in one place, then all in another.
        ends = (np.tile(points[at(points[:, -1])], (130, 1)) for at in (np.argmin, np.argmax))
        for moved in (points, points[::-1].copy(), *ends):
            index.update(moved)
            expected = truth(moved, 0.2, **domain)
            in_one_place = not np.ptp(moved, axis=0).any()
            if not in_one_place:  # else counts and the order say all that a long list would
                assert_same(index.query(sort="index"), expected)
            assert_counts(index.count(), expected)
            assert np.array_equal(np.sort(index.order.get()), np.arange(130))


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_cells_that_are_counted_in_global_memory(session, dim, periodic):
    """As a CPU fills those of more points than one work-item places; at the end all in one place."""
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    points = clouds.uniform(130, dim, seed=4)
    device = tuned(session, binning={"serial_points": 0})
    index = clfrnn.build_index(points, 0.2, method="strips", session=device, **domain)
    assert session.profile.kind == "gpu" or structure_of(index)._bins.layout.plan.way == "counting_sort"
    for moved in (points[::-1].copy(), np.tile(points[7], (130, 1))):
        index.update(moved)
        expected = truth(moved, 0.2, **domain)
        assert_counts(index.count(), expected)
        assert np.array_equal(np.sort(index.order.get()), np.arange(130))


@pytest.mark.parametrize("kind", ["as it is", "selected", "by buckets"])
def test_queries_that_are_sorted_into_cells(session, kind):
    """A copy of the queries, which the walk goes through; on a torus, as they lie anywhere."""
    device = session if kind == "as it is" else as_narrow_gpu(session, fma=True)
    few = {"few_of_item": 0} if kind == "by buckets" else {}
    device = tuned(device, grid={"many_queries": 1, "least_to_sort_for": 0}, binning=few)
    points, queries = clouds.uniform(110, 3, seed=4), 1.4 * clouds.uniform(90, 3, seed=5)
    index = clfrnn.build_index(points, 0.2, method="strips", session=device)
    expected = truth(points, 0.2, queries=queries)
    for _ in range(2):  # counters are left for the second time
        names, counts = launched(device, lambda: index.count(queries))
        assert_counts(counts, expected)
        assert len(names) > 1
    assert_same(index.query(queries, sort="index"), expected)


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
