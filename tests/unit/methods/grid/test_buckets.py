"""Points into cells by way of buckets, against numpy; steps of clouds that fill them evenly and not."""

import dataclasses
import re

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    as_gpu,
    as_narrow_gpu,
    assert_counts,
    assert_same,
    launched,
    own_session,
    refusing,
    structure_of,
    truth,
    tuned,
)

import clfrnn
from clfrnn import clouds
from clfrnn.config import INT
from clfrnn.domain.box import open_space
from clfrnn.domain.cells import fit_cells
from clfrnn.methods.grid.binning import bucket_sort, region_sort, select_cells, serial_cells
from clfrnn.methods.grid.binning import config as buckets
from clfrnn.methods.grid.binning.plan import BinningPlan
from clfrnn.methods.grid_arguments import pack_cells
from clfrnn.primitives.readback import PendingBox, Readback

N = min(1500, POINTS)


@pytest.fixture
def dtype(dim, dtype):
    """float64 in three dimensions: what a sort does with numbers of eight bytes follows no dimension."""
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    return dtype


#: The numbers by which few points go into cells in each way.
WAYS = {
    "select_cells": {"few_of_item": POINTS},
    "bucket_sort": {"few_of_item": 0},
    "region_sort": {"few_of_item": 0, "most_open_bytes": 0},
}


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


#: How the launches of a sort are named, by the way of it.
LAUNCHES = {
    "select_cells": ["select_cells"],
    "bucket_sort": ["count_buckets", "sort_buckets", "fill_cells"],
    "region_sort": ["count_buckets", "sort_buckets", "sort_regions", "sort_within_regions", "fill_cells"],
}


SERIAL = BinningPlan(way="serial_cells", why="asked for")


def binning_of(session, grid, plan, *, n, dtype, layout="records", **facts):
    """What brings `n` points into the cells of `grid` by a plan that is none of a walk's own."""
    cells = pack_cells(grid, dtype, open_space(len(grid.low)))
    if plan.way == "serial_cells":
        return serial_cells.SerialCells(session, cells, n=n, layout=layout)
    classes = {
        "select_cells": select_cells.SelectCells,
        "bucket_sort": bucket_sort.BucketSort,
        "region_sort": region_sort.RegionSort,
    }
    return classes[plan.way](session, cells, plan, n=n, layout=layout, **facts)


@pytest.fixture
def narrow(request, session):
    """A GPU of many small groups, on which points go into cells in the way that the test asks for."""
    gpu = as_narrow_gpu(session)
    return tuned(gpu, binning=WAYS[request.getfixturevalue("way")]) if "way" in request.fixturenames else gpu


def addresses(points, grid):
    """The cell of each point, by the rules of ``methods/grid/cells.mako``."""
    real = points.dtype.type
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = (points - real(grid.low)) * real(grid.inverses)
    cells = np.floor(np.fmin(np.fmax(scaled, -(2.0**29)), 2.0**29)).astype(int)
    first, last = np.array(grid.ends).T
    return np.mod(np.clip(cells, first, last), grid.shape) @ np.cumprod([1, *grid.shape[:-1]])


def assert_filled(session, points, grid, plan, *, steps=2, later=()):
    """Starts, the sorted copy and the box are those of numpy, of `later` clouds too; counters are left for the next."""
    n, dim = points.shape
    starts = session.scratch(grid.cells + 1, INT, purpose="starts")
    places = session.scratch(4 * n, points.dtype, purpose="places")
    binning = binning_of(session, grid, plan, n=n, dtype=points.dtype)
    for cloud in (*[points] * steps, *later):
        box = PendingBox(Readback(session, dim=dim, dtype=points.dtype), dim)
        binning.sort(cla.to_device(session.queue, cloud), starts, places, box)
        assert_in_order(cloud, grid, session.read(starts), session.read(places).reshape(n, 4), box.read())


def assert_in_order(points, grid, starts, records, box):
    n, dim = points.shape
    of = addresses(points, grid)
    ordered = np.lexsort((np.arange(n), of))
    assert np.array_equal(starts, np.searchsorted(of[ordered], np.arange(grid.cells + 1)))
    ids = records[:, 3].copy().view(np.int32 if points.dtype == np.float32 else np.int64)
    assert np.array_equal(ids[np.lexsort((ids, of[ids]))], ordered)
    assert np.array_equal(of[ids], of[ordered])
    assert records[:, :dim].tobytes() == points[ids].tobytes()
    finite = np.isfinite(points).all(axis=1)
    assert box.first_bad == (None if finite.all() else int(np.argmin(finite)))
    if finite.any():
        assert np.array_equal(box.low, points[finite].min(axis=0))
        assert np.array_equal(box.high, points[finite].max(axis=0))


def in_buckets(grid, shift, span=None):
    """In regions of two to the power of `span` buckets where that is given."""
    many = -(-grid.cells // (1 << shift))
    if span is None:
        return BinningPlan(way="bucket_sort", why="asked for", shift=shift, buckets=many)
    regions = {"span": span, "regions": -(-many // (1 << span))}
    return BinningPlan(way="region_sort", why="asked for", shift=shift, buckets=many, **regions)


def selected(grid, shift):
    """Each group selects its bucket out of all points."""
    return BinningPlan(way="select_cells", why="asked for", shift=shift, buckets=-(-grid.cells // (1 << shift)))


def assert_in_tiles(session, points, grid, plan, tile):
    """The copy has every point once, by buckets, and in each tile of these by cells; and the box is that of numpy."""
    n, dim = points.shape
    places = session.scratch(4 * n, points.dtype, purpose="places")
    binning = binning_of(session, grid, plan, n=n, dtype=points.dtype, tiles=True)
    assert not binning.finds_starts
    for _ in range(2):  # counters are left for the next
        box = PendingBox(Readback(session, dim=dim, dtype=points.dtype), dim)
        binning.sort(cla.to_device(session.queue, points), None, places, box)
        records, found = session.read(places).reshape(n, 4), box.read()
        ids = records[:, 3].copy().view(np.int32 if points.dtype == np.float32 else np.int64)
        of = addresses(points, grid)[ids]
        assert np.array_equal(np.sort(ids), np.arange(n))
        assert records[:, :dim].tobytes() == points[ids].tobytes()
        bucket = of >> plan.shift
        tiles = (np.arange(n) - np.searchsorted(bucket, bucket)) // tile
        assert (np.diff(bucket) >= 0).all()
        assert ((np.diff(of) >= 0) | (np.diff(bucket) > 0) | (np.diff(tiles) != 0)).all()
        assert np.array_equal(found.low, points.min(axis=0))
        assert np.array_equal(found.high, points.max(axis=0))


@pytest.mark.core
@pytest.mark.parametrize("size", [1, 8])
def test_points_selected_by_groups_smaller_than_planned(narrow, size):
    """As a driver may allow no wider ones: then an item has more points than bits. All lie in one row of cells."""
    narrow = tuned(narrow, binning={"select_group": size})
    points = clouds.uniform(N, 2, seed=3)
    points[:, 1] = 0.5
    grid = fit_cells(low=(0.0,) * 2, high=(1.0,) * 2, sides=(0.1,) * 2, n=N, real="float")
    assert_filled(narrow, points, grid, selected(grid, 3))


@pytest.mark.core
def test_tiles_of_groups_of_one_item(narrow):
    narrow = tuned(narrow, binning={"fill_group": 1, "fill_tile": 32})
    points = clouds.uniform(300, 2, seed=3)
    grid = fit_cells(low=(0.0,) * 2, high=(1.0,) * 2, sides=(0.1,) * 2, n=300, real="float")
    assert_in_tiles(narrow, points, grid, in_buckets(grid, 4), 32)


@pytest.mark.core
@pytest.mark.parametrize("method", ["strips", "uniform_grid"])
def test_no_points_at_all_have_a_box(session, way, method):
    """Of none that is not finite, whatever its memory held before."""
    gpu = tuned(as_gpu(session), binning=WAYS[way])
    held = [gpu.upload(np.full(1 << 14, np.nan, np.float32), purpose="a mess") for _ in range(4)]
    index = clfrnn.build_index(np.empty((0, 3), np.float32), 0.1, method=method, session=gpu)
    del held
    for _ in range(20):
        index.update(cla.to_device(gpu.queue, np.empty((0, 3), np.float32)))
    index.check()
    assert index._traversal.checks.box_of_points() == ((0.0,) * 3, (0.0,) * 3, None)


@pytest.mark.core
@pytest.mark.parametrize("tile", [64, 4096])
@pytest.mark.parametrize("span", [None, 2], ids=["buckets", "regions"])
@pytest.mark.parametrize("shift", [0, 3, 9])
def test_buckets_sorted_tile_by_tile(narrow, dim, dtype, span, shift, tile):
    """Many buckets and one; with tiles that crowds fill, all points at one place among them."""
    narrow = tuned(narrow, binning={"fill_tile": tile})
    points = clouds.clustered(N, dim, dtype=dtype, seed=shift)
    grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=(0.15,) * dim, n=N, real=dtype_name(dtype))
    plan = in_buckets(grid, shift, span)
    for cloud in (points, points[:1] + 0 * points, np.where(np.arange(N)[:, None] % 3, points[0], points)):
        assert_in_tiles(narrow, cloud, grid, plan, tile)


@pytest.mark.core
@pytest.mark.parametrize("shift", [3, 6, 9])
def test_buckets_selected_out_of_all_points(session, narrow, dim, dtype, shift):
    """Many groups and one, with room for the points of each bucket, and for some of full ones or hardly any."""
    points = clouds.clustered(N, dim, dtype=dtype, seed=shift)
    grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=(0.15,) * dim, n=N, real=dtype_name(dtype))
    plan = selected(grid, shift)
    assert_filled(narrow, points, grid, plan)
    if (dim, dtype.itemsize) != (3, 4):  # room for points differs in nothing that follows dimension or dtype
        return
    tile = 8
    assert np.bincount(addresses(points, grid) >> shift).max() > tile
    assert_filled(tuned(narrow, binning={"select_tile": tile}), points, grid, plan)


@pytest.mark.core
@pytest.mark.parametrize("layout", ["records", "pairs", "columns"])
def test_points_that_one_work_item_places(session, dim, dtype, layout):
    """In each cell in the order of input; some that are not finite, and all at one place."""
    bad = clouds.uniform(N, dim, dtype=dtype, seed=2)
    bad[N // 2 :: 7, dim - 1] = np.nan
    bad[N - 1, 0] = -np.inf
    clustered = clouds.clustered(N, dim, dtype=dtype, seed=4)
    grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=(0.15,) * dim, n=N, real=dtype_name(dtype))
    if layout == "records":
        assert_filled(session, clustered, grid, SERIAL, later=(bad, clustered[:1] + 0 * clustered))
        assert_filled(session, clustered[:1], grid, SERIAL)
    binning = binning_of(session, grid, SERIAL, n=N, dtype=dtype, layout=layout)
    starts = session.scratch(grid.cells + 1, INT, purpose="starts")
    places = session.scratch(4 * N, dtype, purpose="places")
    box = PendingBox(Readback(session, dim=dim, dtype=dtype), dim)
    binning.sort(cla.to_device(session.queue, clustered), starts, places, box)
    lanes = session.read(places)
    of = addresses(clustered, grid)
    ordered = np.lexsort((np.arange(N), of))
    columns = (
        lanes.reshape(N, 4)[:, [*range(dim), 3]] if layout == "records" else lanes[: (dim + 1) * N].reshape(-1, N).T
    )
    if layout == "pairs":  # the first two coordinates stand beside each other
        columns = np.column_stack([lanes[: 2 * N].reshape(N, 2), *lanes[2 * N : (dim + 1) * N].reshape(-1, N)])
    ids = np.ascontiguousarray(columns[:, dim]).view(np.int32 if dtype == np.float32 else np.int64)
    assert np.array_equal(ids, ordered)
    assert columns[:, :dim].tobytes() == clustered[ordered].tobytes()
    assert np.array_equal(session.read(starts), np.searchsorted(of[ordered], np.arange(grid.cells + 1)))


@pytest.mark.core
def test_one_work_item_without_points(session):
    """A start for each cell all the same, and a box of nobody who is not finite."""
    grid = fit_cells(low=(0.0,) * 3, high=(1.0,) * 3, sides=(0.4,) * 3, n=100, real="float")
    binning = binning_of(session, grid, SERIAL, n=0, dtype=np.dtype(np.float32))
    starts = session.upload(np.full(grid.cells + 1, 7, np.int32), purpose="starts")
    places = session.scratch(4, np.dtype(np.float32), purpose="places")
    box = PendingBox(Readback(session, dim=3, dtype=np.dtype(np.float32)), 3)
    binning.sort(cla.to_device(session.queue, np.empty((0, 3), np.float32)), starts, places, box)
    assert not starts.get().any()
    assert box.read() == ((0.0,) * 3, (0.0,) * 3, None)


@pytest.mark.core
@pytest.mark.parametrize("cloud", sorted(clouds.CLOUDS))
@pytest.mark.parametrize("plan", [SERIAL, BinningPlan(way="counting_sort", why="asked for")], ids=lambda each: each.way)
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_clouds_without_buckets(session, dim, dtype, cloud, plan, periodic, monkeypatch):
    """As CPUs fill cells, with few points and with many: whole searches, and steps to other points."""
    for module in ("plan", "binning.binning"):
        monkeypatch.setattr(f"clfrnn.methods.grid.{module}.plan_binning", lambda *_, **__: plan)
    monkeypatch.setattr(session, "_results", {})  # plans of equal problems are made once
    points = clouds.CLOUDS[cloud](400, dim, dtype=dtype, seed=8)
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    moved = (points[::-1] * dtype.type(1.25)).copy()
    index = clfrnn.build_index(points, 0.11, method="strips", session=session, **domain)
    for step in (points, moved, moved):
        if step is moved:
            index.update(cla.to_device(session.queue, moved))
        assert f"counting, {plan.describe()}" in index.explain(long=True)
        assert_same(index.query(sort="index"), truth(step, 0.11, **domain))


@pytest.mark.core
@pytest.mark.parametrize("shift", [0, 1, 3, 6, 9])
def test_buckets_of_any_size(session, narrow, dim, dtype, shift):
    """A cell each, some cells of which the last bucket has fewer, all cells at once; groups of 32 and of hundreds."""
    points = clouds.clustered(N, dim, dtype=dtype, seed=shift)
    grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=(0.15,) * dim, n=N, real=dtype_name(dtype))
    assert shift == 0 or grid.cells % (1 << shift), "the last bucket is not full"
    # Groups of hundreds differ in nothing that follows dimension or dtype.
    for one in (narrow, as_gpu(session)) if (dim, dtype.itemsize) == (3, 4) else (narrow,):
        assert_filled(one, points, grid, in_buckets(grid, shift))


def test_groups_that_leave_local_memory_to_others(session):
    """Counters and tiles of a quarter of a unit's memory: of even points, and of a bucket with more than its tile."""
    gpu = as_narrow_gpu(session, local_memory=64 << 10, unit_local_memory=64 << 10)
    facts = {"dim": 3, "real": "float", "periodic": ""}
    filling = buckets.plan_bucket_cells(gpu.profile, gpu.tuning, **facts, layout="records", cells=64)
    assert 4 * filling.counters + 2 * filling.tile < 16 << 10
    grid = fit_cells(low=(0.0,) * 3, high=(1.0,) * 3, sides=(0.15,) * 3, n=N, real="float")
    even = clouds.uniform(2 * filling.tile, 3, seed=1)
    assert_filled(gpu, even, grid, in_buckets(grid, 6), later=[(even * np.float32(0.1)).astype(np.float32)])


@pytest.mark.core
@pytest.mark.parametrize("span", [None, 2], ids=["buckets", "regions"])
@pytest.mark.parametrize("shift", [0, 6])
def test_clouds_that_follow_others(narrow, shift, span):
    """Even, clustered, all points at one place, all outside of the cells: one sort serves them all."""
    kinds = [clouds.uniform(N, 3, seed=1), clouds.clustered(N, 3, seed=2), np.full((N, 3), 0.7, np.float32)]
    grid = fit_cells(low=(0.0,) * 3, high=(1.0,) * 3, sides=(0.15,) * 3, n=N, real="float")
    later = (*kinds[1:], kinds[0], kinds[2], -kinds[1], kinds[1])
    assert_filled(narrow, kinds[0], grid, in_buckets(grid, shift, span), later=later)


def test_nothing_of_a_sort_stays_with_an_index(session):
    """Between steps the pool holds what the index names, and little more."""
    cloud = clouds.uniform(20 * N, 3, seed=1)
    fresh = tuned(as_narrow_gpu.__wrapped__(session), binning=WAYS["bucket_sort"])
    index = clfrnn.build_index(cloud, 0.05, method="strips", session=fresh)
    for _ in range(3):
        index.update(cloud)
    fresh.queue.finish()
    assert set(index.nbytes) == {"sorted_points", "cell_starts"}
    assert fresh._pool.active_bytes <= 1.3 * sum(index.nbytes.values()) + (1 << 16)
    assert_counts(index.count(), truth(cloud, 0.05))


def test_a_step_without_memory_for_its_records(session):
    """The index answers for the points it had, and takes others when there is memory again."""
    before, after = (clouds.uniform(N, 3, seed=seed) for seed in (1, 2))
    scarce = tuned(as_narrow_gpu.__wrapped__(session), binning=WAYS["bucket_sort"])
    index = clfrnn.build_index(before, 0.15, method="strips", session=scarce)
    with refusing("the points in the order of buckets"), pytest.raises(clfrnn.DeviceMemoryError):
        index.update(after)
    assert_counts(index.count(), truth(before, 0.15))
    index.update(after)
    assert_counts(index.count(), truth(after, 0.15))


@pytest.mark.core
@pytest.mark.parametrize(("shift", "span"), [(0, 3), (1, 0), (3, 2), (3, 8)])
def test_regions_of_any_size(session, narrow, dim, dtype, shift, span):
    """Of a bucket each, of some of which the last region has fewer, of all; in small tiles and one."""
    points = clouds.clustered(N, dim, dtype=dtype, seed=shift + span)
    grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=(0.15,) * dim, n=N, real=dtype_name(dtype))
    plan = in_buckets(grid, shift, span)
    assert span == 0 or plan.buckets % (1 << span), "the last region is not full"
    for one in (narrow, as_gpu(session)) if (dim, dtype.itemsize) == (3, 4) else (narrow,):
        assert_filled(one, points, grid, plan)


@pytest.mark.parametrize("many", [255, 256, 257, 512, 600])
def test_tiles_that_are_full_to_the_last_place(narrow, many):
    """Regions that end where a tile does, before it and behind it, and some without any points."""
    config = buckets.plan_regions(narrow.profile, narrow.tuning, dim=2, real="float", periodic=False)
    assert config.tile == 256
    grid = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(0.07, 0.02), n=4000, real="float")
    ends = np.array([[0.01, 0.01], [0.5, 0.5], [0.99, 0.99]], np.float32)
    for shares in ([many, 0, 0], [0, 0, many], [256, many - 255, 1], [1, 0, many]):
        points = np.repeat(ends, shares, axis=0)
        points = points[np.random.default_rng(many).permutation(len(points))]
        assert_filled(narrow, points, grid, in_buckets(grid, 2, 3))


@pytest.mark.parametrize("come", ["sorted", "anyhow", "anyhow to one group"])
def test_points_that_come_nearly_sorted_go_into_buckets_at_once(narrow, monkeypatch, come):
    """As the device decides: by the buckets that groups enter, and by any that enters twice as many as it may."""
    points = clouds.uniform(N, 2, seed=14)
    grid = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(0.07, 0.02), n=4000, real="float")
    points = points[np.argsort(addresses(points, grid), kind="stable")]
    points[[0, -1]] = points[[-1, 0]]
    plan = in_buckets(grid, 2, 3)
    size = buckets.plan_buckets(narrow.profile, narrow.tuning, dim=2, real="float", periodic=False).work_group_size
    groups = buckets.bucket_groups(narrow.profile, narrow.tuning, N, size)
    if come == "anyhow":
        points = np.random.default_rng(15).permutation(points)
    elif come == "anyhow to one group":
        chosen = np.arange(N) // size % groups == 1
        spread = np.linspace(0, N - 1, chosen.sum()).astype(int)
        points = _with_rows_at(points, spread, chosen)
    starts = []
    take = clfrnn.Session.scratch

    def watched(*given, purpose):
        taken = take(*given, purpose=purpose)
        if purpose == "the starts of regions":
            starts.append(taken)
        return taken

    monkeypatch.setattr(clfrnn.Session, "scratch", watched)
    entered = [np.unique(addresses(points[np.arange(N) // size % groups == g], grid) >> 2).size for g in range(groups)]
    most, total = max(entered), sum(entered)
    for bound in (total - 1, total, groups * ((most - 1) // 2), groups * ((most + 1) // 2), groups * plan.buckets):
        assert_filled(narrow, points, grid, dataclasses.replace(plan, entered=bound))
        assert narrow.read(starts[-1])[-1] == (total > bound or most > 2 * (bound // groups))
    if plan.buckets < N and N >= 500:  # fewer points are too few for a group of its own
        assert (most * groups > 2 * total) == (come == "anyhow to one group"), "groups are not what they should be"


def _with_rows_at(rows, chosen, places):
    """The same rows, the `chosen` ones at these `places`, and the others in the order in which they were."""
    moved = np.empty_like(rows)
    moved[places], moved[~places] = rows[chosen], np.delete(rows, chosen, axis=0)
    return moved


def test_as_many_runs_as_a_tile_tells_apart(narrow):
    """A region for each of 256 buckets, and 256 buckets in one."""
    points = clouds.uniform(N, 2, seed=11)
    grid = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(1 / 32, 1 / 32), n=4000, real="float")
    shift = (grid.cells - 1).bit_length() - 8
    for span in (0, 8):
        plan = in_buckets(grid, shift, span)
        assert 128 < plan.buckets <= 256
        assert_filled(narrow, points, grid, plan)


def test_indexes_that_take_turns(narrow):
    """What the sort of one leaves for its next is not disturbed by another's."""
    narrow = tuned(narrow, binning=WAYS["bucket_sort"])
    kinds = [clouds.uniform(N, 3, seed=seed) for seed in (1, 2)]
    indexes = [clfrnn.build_index(points, 0.15, method="strips", session=narrow) for points in kinds]
    for index, points in [*zip(indexes, kinds[::-1], strict=True), *zip(indexes, kinds, strict=True)] * 2:
        index.update(cla.to_device(narrow.queue, points))
        assert_counts(index.count(), truth(points, 0.15))


def dtype_name(dtype):
    return "float" if dtype == np.float32 else "double"


@pytest.mark.parametrize("many", [1, 2, 31, 33, 700])
@pytest.mark.parametrize("shape", ["spread", "corner", "place"])
def test_few_points_and_full_buckets(narrow, many, shape):
    """Empty buckets, buckets with all points, points beyond the cells on either side."""
    points = clouds.uniform(many, 2, seed=many) * np.float32({"spread": 3, "corner": 0.05, "place": 0}[shape]) - 1
    grid = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(0.07, 0.02), n=4000, real="float")
    for shift in (2, 5):
        assert_filled(narrow, points, grid, in_buckets(grid, shift))
        assert_filled(narrow, points, grid, in_buckets(grid, shift, 2))
        assert_filled(narrow, points, grid, selected(grid, shift))


@pytest.mark.parametrize("wrapped", [False, True])
def test_rows_that_are_not_finite_are_found_and_placed(narrow, wrapped):
    points = clouds.uniform(N, 3, seed=5) * np.float32(50 if wrapped else 1)
    points[[N // 2, 3, N - 1]] = [[np.nan, 0, 0], [np.inf, 1, -np.inf], [0, 0, np.nan]]
    high = (50.0,) * 3 if wrapped else (1.0,) * 3
    grid = fit_cells(low=(0.0,) * 3, high=high, sides=(0.2,) * 3, n=N, real="float")
    assert grid.wrapped == wrapped
    for plan in (in_buckets(grid, 4), in_buckets(grid, 1, 4), selected(grid, 4), selected(grid, 9)):
        assert_filled(narrow, points, grid, plan, steps=1)
    points[:] = np.nan
    for plan in (in_buckets(grid, 4), in_buckets(grid, 1, 4), selected(grid, 4)):
        assert_filled(narrow, points, grid, plan, steps=1)


# --- indexes ----------------------------------------------------------------------------------------------------------

CLOUDS = {
    "uniform": lambda dim, dtype: clouds.uniform(N, dim, dtype=dtype, seed=1),
    "far apart": lambda dim, dtype: clouds.uniform(N, dim, dtype=dtype, seed=2) * dtype.type(1e3),
    "clusters": lambda dim, dtype: clouds.clustered(N, dim, dtype=dtype, seed=3),
    "one place": lambda dim, dtype: np.full((N, dim), 0.3, dtype),
}


@pytest.mark.core
@pytest.mark.parametrize(
    ("method", "cloud"), [("strips", "uniform"), ("strips", "one place"), ("uniform_grid", "far apart")]
)
def test_steps_from_cloud_to_cloud(narrow, way, dim, dtype, method, cloud):
    """Cells of the first cloud, or others where these serve the next no longer; empty ones and full ones."""
    if dtype == np.float64 and cloud != "one place":
        pytest.skip("float64 is tested in pairs here, in records where buckets are of any size")
    index = clfrnn.build_index(CLOUDS[cloud](dim, dtype), 0.12, method=method, session=narrow)
    for step, name in enumerate(steps := [cloud, *CLOUDS, cloud]):
        points = CLOUDS[name](dim, dtype)
        index.update(cla.to_device(narrow.queue, points) if name == "uniform" else points)
        expected = truth(points, 0.12)
        assert_counts(index.count(), expected)
        if name != "one place" or step == len(steps) - 1:  # a list of all pairs takes longest
            assert_same(index.query(sort="index"), expected)
        assert np.array_equal(np.sort(index.order.get()), np.arange(N))


@pytest.mark.parametrize("dim", [2, 3])
def test_a_sorted_copy_without_room_for_records(narrow, dim):
    """In 2D it takes three numbers a point where queries have many candidates: not so what passes hand on."""
    narrow = tuned(narrow, binning=WAYS["region_sort"])
    points = clouds.uniform(N, dim, seed=12)
    index = clfrnn.build_index(points, 0.25, method="strips", session=narrow)
    assert structure_of(index).config.layout == "pairs"
    assert structure_of(index)._bins.layout.plan.regions
    assert structure_of(index)._bins.places.size == (dim + 1) * N
    assert_counts(index.count(), truth(points, 0.25))


def test_one_cell(narrow, way):
    points = clouds.uniform(N, 3, seed=4)
    index = clfrnn.build_index(points, 10.0, method="strips", session=narrow)
    assert structure_of(index).cell_grid.cells == 1
    assert structure_of(index)._bins.layout.plan.way == way
    assert (index.count().get() == N - 1).all()


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_a_step_takes_two_launches_or_four_or_six(narrow, way, unsliced, periodic):
    """On a device array; the box of the points is found on the way, unless images must be known before."""
    domain = {"box": (1.0, 1.0, 1.0), "periodic": True} if periodic else {}
    points = clouds.uniform(N, 3, seed=6)
    index = clfrnn.build_index(points, 0.05, method="strips", session=narrow, **domain)
    device = cla.to_device(narrow.queue, points)
    for _ in range(2):
        index.check()
        names, _ = launched(narrow, lambda: (index.update(device), index.count()))
    before = ["box_and_images"] if periodic else []
    assert names[: names.index("frnn_visit")] == [*before, *LAUNCHES[way]]


def test_bad_points_are_reported_and_taken_back(narrow, way):
    points = clouds.uniform(N, 3, seed=7)
    index = clfrnn.build_index(points, 0.1, method="strips", session=narrow)
    bad = points.copy()
    bad[11], bad[5] = np.nan, np.inf
    index.update(cla.to_device(narrow.queue, bad))
    for _ in range(2):
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 5\\b"):
            index.check()
    index.update(cla.to_device(narrow.queue, points))
    index.check()
    assert_counts(index.count(), truth(points, 0.1))


def test_nothing_is_compiled_by_a_step(narrow, way):
    points = clouds.uniform(N, 2, seed=8)
    index = clfrnn.build_index(points, 0.02, method="strips", session=narrow)
    index.update(points)
    index.count()
    compiled = narrow.programs.compiled
    for moved in (points[::-1] * np.float32(40), points * np.float32(0.01)):
        index.update(moved)
        index.check()
        assert_counts(index.count(), truth(moved, 0.02))
    assert narrow.programs.compiled == compiled


def test_points_that_spread_beyond_all_buckets(session):
    """Their cells become too many for local memory; their box is found all the same, and what is wrong in it."""
    fresh = own_session(session, kind="gpu", local_memory=140 + session.profile.local_reserve, loop_turns=None)
    fresh = tuned(fresh, binning=WAYS["bucket_sort"])
    points = clouds.uniform(600, 3, seed=8)
    index = clfrnn.build_index(points, 0.2, method="strips", session=fresh)
    assert structure_of(index)._bins.layout.plan.way == "bucket_sort"
    far = points * np.float32(1e3)
    index.update(cla.to_device(fresh.queue, far))
    index.check()  # from here on the box is known, and the next step has other cells
    bad = far.copy()
    bad[7] = np.inf
    index.update(cla.to_device(fresh.queue, bad))
    assert structure_of(index)._bins.layout.plan.way == "counting_sort"
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 7\\b"):
        index.check()
    index.update(cla.to_device(fresh.queue, far))
    index.check()
    assert_counts(index.count(), truth(far, 0.2))


def test_a_crowd_is_counted_in_global_memory_and_says_so(narrow, way):
    even = clfrnn.build_index(clouds.uniform(N, 3, seed=9), 0.1, method="strips", session=narrow)
    sort = clfrnn.build_index(clouds.uniform(N, 3), 0.1, method="strips", construction="sort", session=narrow)
    text = {
        "select_cells": "by groups that each select a bucket out of all points, as points are few",
        "bucket_sort": r"by way of [0-9,]+ buckets of",
        "region_sort": r"by way of [0-9,]+ regions and [0-9,]+ buckets of",
    }

    assert re.search(f"construction: counting, {text[way]}", even.explain(long=True))
    assert "construction: sort, by a radix sort of the addresses of cells, as asked for\n" in sort.explain(long=True)
    if way != "select_cells":
        full = tuned(narrow, binning={"soon_filled": 10})
        crowd = clfrnn.build_index(np.full((N, 3), 0.3, np.float32), 0.1, method="strips", session=full)
        text = "construction: counting, by counters in global memory, as many points are expected in few cells"
        assert text in crowd.explain(long=True)
        assert (crowd.count().get() == N - 1).all()
        crowd.update(cla.to_device(narrow.queue, clouds.uniform(N, 3, seed=9)))
        crowd.check()
        assert np.array_equal(crowd.count().get(), even.count().get())
