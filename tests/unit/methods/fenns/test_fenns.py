"""FENNS: its coarse grid and local grid, planned from local memory; tiles where candidates do not fit; its memory."""

import dataclasses
import math
import re

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    RECORDED,
    as_gpu,
    assert_counts,
    assert_same,
    launched,
    own_session,
    structure_of,
    takes_long_as_gpu,
    truth,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds
from clfrnn.config import REAL_SIZE
from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.functions import walk_function
from clfrnn.methods import METHODS
from clfrnn.methods.fenns import block_plan as blocks
from clfrnn.methods.grid.coarse_plan import plan_coarse
from clfrnn.problem import Problem
from clfrnn.runtime.rendering import own_function, render
from clfrnn.survey import Survey
from clfrnn.updates import PointUpdates


def problem(*, n=100_000, dim=3, real="float", radius=0.05, extent=1.0, others=5.0, shape=None, box=None):
    box = box or open_space(dim)
    high = tuple(length or extent for length in box.lengths)
    survey = Survey(n=n, low=(0.0,) * dim, high=high, others=others)
    options = METHODS["fenns"].check({"coarse_shape": shape})
    return Problem(n=n, domain=box, real=real, radius=radius, survey=survey, options=options)


def plan(asked, profile):
    return METHODS["fenns"].plan(asked, *with_tuning(profile))


def with_memory(profile, size):
    return dataclasses.replace(profile, local_memory=size + profile.local_reserve)


# --- plans ----------------------------------------------------------------------------------------------------------


def test_the_papers_grid_fits_24_kilobytes(profile):
    many = problem(n=10_000_000, radius=0.001, others=0.01)

    assert plan(many, with_memory(profile, 24 << 10)).grid.shape == (18, 18, 18)
    assert plan(many, with_memory(profile, 48 << 10)).grid.shape == (22, 22, 22)


@pytest.mark.parametrize("size", [16 << 10, 32 << 10, 48 << 10, 64 << 10])
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("periodic", [False, True])
def test_blocks_fit_the_tile_that_there_is_memory_for(size, real, periodic):
    device = with_memory(RECORDED["h200"], size)
    for n, radius in ((50_000, 0.01), (50_000, 0.03), (500_000, 0.003), (500_000, 0.01)):
        asked = problem(n=n, real=real, radius=radius, others=n * radius**3)
        asked = dataclasses.replace(asked, domain=PeriodicBox(lengths=(1.0 if periodic else 0.0,) * 3, low=None))
        decided = plan(asked, device)
        few = decided.grid.cells < decided.most / 2
        assert blocks.block_points(asked, decided.grid) <= decided.config.tile or not few


def test_items_alone_have_small_cells():
    decided = plan(problem(n=1_000_000, radius=0.001, others=0.0), with_memory(RECORDED["pocl"], 256 << 10))
    assert 120 <= 1_000_000 / decided.grid.cells <= 180
    assert decided.config.tile > 10 * 1_000_000 / decided.grid.cells


def test_cells_are_as_large_as_their_points_are_worth():
    profile = RECORDED["h200"]
    roomy = with_memory(profile, 48 << 10)
    even = plan(problem(n=1_000_000, radius=0.001, others=0.0), roomy)
    assert 600 <= 1_000_000 / even.grid.cells <= 850
    # What queries see around a cell fits a tile, and points drawn together want more cells.
    dense = plan(problem(n=1_000_000, radius=0.02, others=8.0), roomy)
    assert even.grid.cells < dense.grid.cells
    assert 1_000_000 * math.prod(side + 2 * 0.02 for side in dense.grid.sides) < 2048
    crowded = plan(problem(n=1_000_000, radius=0.005, others=12.0), roomy)
    assert even.grid.cells < crowded.grid.cells
    # Few points are shared out to all compute units.
    few = plan(problem(n=20_000, radius=0.01, others=0.02), roomy)
    assert profile.compute_units <= few.grid.cells <= 4 * profile.compute_units


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("real", ["float", "double"])
def test_local_memory_is_enough_and_more_of_it_never_hurts(profile, dim, real):
    for radius in (1e-6, 0.01, 0.3, 5.0):
        for others in (0.0, 3.0, 1e4):
            before = 0
            for size in (1 << 10, 4 << 10, 16 << 10, 48 << 10, 256 << 10):
                device = with_memory(profile, size)
                decided = plan(problem(dim=dim, real=real, radius=radius, others=others), device)
                config, sort = decided.config, plan_coarse(*with_tuning(device), dim=dim, real=real, periodic=False)
                assert 4 * sort.counters <= device.usable_local_memory
                assert decided.grid.cells <= sort.counters
                assert blocks.block_memory(config) <= device.usable_local_memory or not config.tile
                assert 1 <= math.prod(decided.fine_shape) <= max(1, config.fine)
                assert config.work_group_size <= device.max_work_group_size
                assert config.tile <= 32767, "places of a tile and fine cells have 16 bits"
                assert config.tile >= config.work_group_size or not config.tile
                assert sort.counters >= before
                before = sort.counters


def test_no_cell_is_narrower_than_the_reach(profile):
    for radius in (0.001, 0.04, 0.2, 0.6, 3.0):
        for shape in (None, 9):
            grid = plan(problem(radius=radius, shape=shape), profile).grid
            assert all(many == 1 or side > radius for many, side in zip(grid.shape, grid.sides, strict=True))
    assert plan(problem(radius=3.0), profile).grid.shape == (1, 1, 1)


def test_cells_of_a_periodic_box_fill_it(profile):
    box = PeriodicBox(lengths=(1.0, 0.0, 0.5), low=None)
    for radius in (0.01, 0.2, 0.9):
        grid = plan(problem(radius=radius, box=box), profile).grid
        for side, many, period, length in zip(grid.sides, grid.shape, grid.periods, box.lengths, strict=True):
            assert period == (many if length else 0)
            assert not length or side * many == pytest.approx(length)


def test_a_flat_domain_is_divided_along_its_plane(profile):
    survey = Survey(n=10**6, low=(0.0, 0.0, 0.0), high=(50.0, 25.0, 0.0), others=1.0)
    asked = dataclasses.replace(problem(n=10**6, radius=0.01), survey=survey)

    along, across, thick = plan(asked, with_memory(profile, 48 << 10)).grid.shape

    assert thick == 1
    assert along == pytest.approx(2 * across, abs=1)
    assert along * across > 10_000


@pytest.mark.parametrize("shape", [0, -3, True, "18", 2.5, (), (4, 4), (4, 4, 4, 4), (4, 0, 4), 10**4])
def test_shapes_that_make_no_sense(session, shape):
    with pytest.raises(clfrnn.InvalidInputError, match=r"^coarse_shape: expected .* got .*; "):
        clfrnn.build_index(np.zeros((9, 3), np.float32), 1.0, method="fenns", coarse_shape=shape, session=session)


def test_a_shape_is_taken_as_it_is(session):
    points = clouds.uniform(500, 3, seed=1)
    for shape, expected in ((4, (4, 4, 4)), ((2, 3, 5), (2, 3, 5)), (np.int32(2), (2, 2, 2))):
        index = clfrnn.build_index(points, 0.05, method="fenns", coarse_shape=shape, session=session)
        assert structure_of(index).cell_grid.shape == expected
        assert "as asked for" in index.explain(long=True)
    wide = clfrnn.build_index(points, 0.4, method="fenns", coarse_shape=5, session=session)
    assert "not the 5 x 5 x 5 asked for" in wide.explain(long=True)


# --- memory ---------------------------------------------------------------------------------------------------------


def test_memory_beyond_the_sorted_points(session):
    """Twelve bytes a coarse cell: eight in §4.3 of the paper, and four for a section of the border's own.

    The session keeps eight more, counters at zero that the next step begins with, whatever number of indexes it has.
    """
    for n, shape in ((3000, None), (3000, 7), (50, 1)):
        index = clfrnn.build_index(
            clouds.uniform(n, 3, seed=2), 0.02, method="fenns", coarse_shape=shape, session=session
        )
        sizes, cells = index.nbytes, structure_of(index).cell_grid.cells
        assert sizes.pop("sorted_points") == 16 * n
        assert sum(sizes.values()) == 12 * cells
        counters = session._cleared.get(2 * cells)
        assert counters is None or counters.size * counters.dtype.itemsize == 8 * cells


# --- searches -------------------------------------------------------------------------------------------------------


def small_gpu(session):
    """As a GPU of two compute units, which few cells keep busy."""
    return own_session(session, kind="gpu", fma=True, compute_units=2)


def sections_of(index):
    """Where the two parts of the border and the cell end, cell by cell."""
    return index.session.read(structure_of(index)._placed.cells.sections)


@pytest.fixture(params=["as it is", "as a GPU", "as many points"])
def arranged(request, session):
    if request.param == "as many points":
        return tuned(session, fenns={"few_of_item": 0})
    if request.param != "as a GPU":
        return session
    if session.profile.kind == "gpu" or takes_long_as_gpu(session, "fenns"):
        pytest.skip("the arrangement for a GPU is tested already, or takes a minute to compile")
    return as_gpu(session)


def crowd(dim, seed):
    """Nearly all points in one coarse cell, more than a tile of little local memory holds."""
    rng = np.random.default_rng(seed)
    points = rng.random((900, dim)) * 0.05 + 0.3
    points[:60] = rng.random((60, dim))
    points[100:110] = points[99]
    return points.astype(np.float32)


def starved(session):
    """The device with so little local memory that a crowd does not fit a tile."""
    return own_session(session, local_memory=6 << 10)


@pytest.mark.parametrize("dim", [2, 3])
def test_candidates_that_do_not_fit_a_tile(arranged, dim):
    points = crowd(dim, 3)
    poor = starved(arranged)
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=poor)
    assert_same(index.query(sort="index"), truth(points, 0.02))
    assert_counts(index.count(), truth(points, 0.02))
    if dim == 2:
        return  # other queries and images go through tiles in the same way, and take long to compile
    assert_same(
        index.query(points[::3] + np.float32(0.01), sort="index"),
        truth(points, 0.02, queries=points[::3] + np.float32(0.01)),
    )
    domain = {"box": (1.0,) * dim, "periodic": True}
    assert_same(
        clfrnn.build_index(points, 0.02, method="fenns", session=poor, **domain).query(sort="index"),
        truth(points, 0.02, **domain),
    )


def test_points_that_move_into_one_cell(arranged):
    """The plan was made for a spread cloud: cells grow too full, or the grid is laid anew around the points."""
    points = clouds.uniform(700, 3, seed=4)
    index = clfrnn.build_index(points, 0.05, method="fenns", session=arranged)
    for scale, offset in ((0.1, 0.4), (3.0, -1.0), (1.0, 0.0), (1e-3, 7.0)):
        moved = (points * np.float32(scale) + np.float32(offset)).astype(np.float32)
        index.update(moved)
        assert_same(index.query(sort="index"), truth(moved, 0.05))
        device = cla.to_device(arranged.queue, points)
        index.update(device)
        assert_same(index.query(sort="index"), truth(points, 0.05))


@pytest.mark.parametrize("place", [0.5, 0.0], ids=["inside of a cell", "around its corner"])
def test_a_crowd_that_no_plan_foresaw(arranged, place):
    """Points from the device come without a wait for their box: all in one cell or in eight, in more tiles than one."""
    points = clouds.uniform(1500, 3, seed=8)
    fresh = own_session(arranged, local_memory=24 << 10)
    index = clfrnn.build_index(points, 0.05, method="fenns", coarse_shape=7, session=fresh)
    grid = structure_of(index).cell_grid
    middle = np.array(grid.low) + np.array(grid.sides) * (np.array(grid.shape) // 2 + place)
    crowded = ((points - 0.5) * 0.04 + middle).astype(np.float32)

    index.update(cla.to_device(fresh.queue, crowded))

    assert 0 < structure_of(index).config.tile < len(points)
    assert structure_of(index).cell_grid.cells > 100
    assert_same(index.query(sort="index"), truth(crowded, 0.05))
    assert_same(index.query(crowded[::9], sort="index"), truth(crowded, 0.05, queries=crowded[::9]))


@pytest.mark.parametrize("memory", [1 << 10, 64 << 10])
def test_the_box_is_found_while_points_are_counted(arranged, dtype, memory):
    """Whether all items of a group can hand on what they found at once, or few at a time."""
    fresh = own_session(arranged, local_memory=memory)
    points = clouds.uniform(3000, 3, dtype=dtype, seed=9)
    index = clfrnn.build_index(points, 0.05, method="fenns", session=fresh)
    for bad in ((), (2999,), (1234, 17, 2000)):
        moved = points + dtype.type(0.01 * len(bad))
        moved[list(bad), 1] = np.nan
        index.update(cla.to_device(fresh.queue, moved))
        if bad:
            with pytest.raises(clfrnn.InvalidInputError, match=f"row {min(bad)}\\b"):
                index.check()
        else:
            index.check()
        box = index._traversal.checks.box_of_points()
        good = np.delete(moved, list(bad), axis=0)
        assert (box.low, box.high) == (tuple(good.min(0).tolist()), tuple(good.max(0).tolist()))


def test_boxes_of_queries_are_read_when_they_are_found(session, dim):
    """Whatever else is read in the same call: the check of the radii is the sixteenth, before the sort of queries."""
    points = clouds.uniform(400, dim, seed=2)
    index = clfrnn.build_index(points, 0.3, method="fenns", session=session)
    radii = cla.to_device(session.queue, np.full(len(points), 0.2, np.float32))
    bad = points.copy()
    bad[7, 0] = np.nan
    good, bad = (cla.to_device(session.queue, each) for each in (points, bad))
    for before in range(13, 17):
        for _ in range(before):
            index.count(good)
        assert index.count(good, radius=radii).get().sum() > 0
        index.check()
        for _ in range(before):
            index.count(good)
        index.count(bad, radius=radii)
        with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 7\\b"):
            index.check()


def test_arrays_of_another_width_are_refused_before_their_box_is_found(session, way):
    method, options = way
    index = clfrnn.build_index(clouds.uniform(50, 2, seed=2), 0.3, method=method, session=session, **options)
    wide = cla.to_device(session.queue, clouds.uniform(50, 3, seed=2))
    for call in (index.update, index.count):
        with pytest.raises(clfrnn.InvalidInputError, match=r"\(50, 3\)"):
            call(wide)
    index.check()


@pytest.mark.parametrize("few", [True, False])
def test_a_step_takes_four_launches_or_two(session, unsliced, few):
    fresh = own_session(session)
    _, config = fresh.planned("methods/fenns/coarse_sort", plan_coarse, dim=3, real="float", periodic=False)
    of_group = fresh.tuning.fenns.few_of_item * config.work_group_size
    points = clouds.uniform(of_group + (not few), 3, seed=9)
    index = clfrnn.build_index(points, 0.02, method="fenns", session=fresh)
    device = cla.to_device(fresh.queue, points)
    for _ in range(2):
        names, _ = launched(fresh, lambda: (index.update(device), index.count()))
    placing = ["place_coarse"] if few else ["count_coarse", "start_coarse", "sort_coarse"]
    assert names == [*placing, "frnn_visit"]
    brute = clfrnn.build_index(points, 0.02, method="brute_force", session=fresh)
    assert np.array_equal(index.count().get(), brute.count().get())


def test_cells_are_planned_anew_when_points_are_counted(session):
    """Water in a corner of its tank: too sparse for the sample, but its coarse cells are full. An even cloud is not."""
    shared = small_gpu(session)
    water = clfrnn.build_index(clouds.dam_break(60_000, 3, seed=1), 1e-4, method="fenns", session=shared)
    even = clfrnn.build_index(clouds.uniform(60_000, 3, seed=1), 1e-4, method="fenns", session=shared)

    assert structure_of(water).cell_grid.cells > 2 * structure_of(even).cell_grid.cells
    assert "planned anew when points were counted, about" in "\n".join(structure_of(water).describe())
    assert "planned anew" not in "\n".join(structure_of(even).describe())
    fullest = np.diff(sections_of(water)[2::3], prepend=0).max()
    assert fullest < 4 * 60_000 / structure_of(even).cell_grid.cells


def test_cells_follow_points_that_draw_together(session):
    """Blocks still fit a tile where the same points have come to lie in a small part of their volume, or in more."""
    points = clouds.uniform(60_000, 3, seed=1)
    index = clfrnn.build_index(points, 0.01, method="fenns", session=small_gpu(session))
    for scale in (0.3, 1.0, 3.0):
        index.update(points * np.float32(scale))
        density = len(points) / scale**3
        assert (
            density * math.prod(side + 0.02 for side in structure_of(index).cell_grid.sides)
            <= structure_of(index).config.tile
        )
        assert 300 <= density * math.prod(structure_of(index).cell_grid.sides) <= 1500 or scale < 1


@pytest.mark.core
@pytest.mark.parametrize("box", [None, "box"])
def test_points_that_crowd_in_coarse_cells(session, dim, box):
    """Where coarse cells are far too few for a crowd, the cells of a uniform grid serve, through updates too."""
    eager = tuned(session, fenns={"most_tests": 0.0})
    domain = {} if box is None else {"box": (1.0,) * dim}
    crowd, radius = clouds.multiscale(min(POINTS, 1500), dim, seed=2), 2e-3
    index = clfrnn.build_index(crowd, radius, method="fenns", session=eager, **domain)

    assert index.method == "fenns"
    assert "coarse grid: none, as points crowd" in index.explain()
    for points in (
        crowd,
        crowd[::-1].copy(),
        crowd[: len(crowd) // 2],
        np.concatenate([crowd, crowd + np.float32(1e-4)]),
    ):
        index.update(points)
        assert_same(index.query(sort="index"), truth(points, radius, **domain))
    queries = crowd[::7] + np.float32(1e-3)
    assert_counts(index.count(queries), truth(points, radius, queries=queries, **domain))


def has_coarse_cells(index):
    return "coarse grid: none" not in structure_of(index).describe()[0]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_as_many_points_that_come_to_crowd(session, on_device):
    """A plan for even points is made anew: at once for points of the host, with update 32 for others."""
    n, radius = 20_000, 1e-4
    even, crowd = clouds.uniform(n, 3, seed=2), clouds.multiscale(n, 3, seed=1)
    index = clfrnn.build_index(even, radius, method="fenns", session=session)
    asked = clfrnn.build_index(even, radius, method="fenns", coarse_shape=9, session=session)
    there = cla.to_device(session.queue, crowd) if on_device else crowd
    for _ in range(32 if on_device else 1):
        assert has_coarse_cells(index)
        index.update(there)
        asked.update(there)
    assert not has_coarse_cells(index)
    assert has_coarse_cells(asked)
    for points in (crowd, even):
        truly = clfrnn.build_index(points, radius, method="strips", session=session).query(sort="index")
        assert_same(index.query(sort="index"), truly.to_host())
        index.update(cla.to_device(session.queue, even) if on_device else even)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_crowds_are_served_where_memory_lacks_for_another_plan(session, on_device, monkeypatch):
    def refuse(*_, **__):
        raise clfrnn.DeviceMemoryError("no memory")

    even, crowd = clouds.uniform(500, 2, seed=2), clouds.multiscale(500, 2, seed=1)
    index = clfrnn.build_index(even, 0.05, method="fenns", session=session)
    monkeypatch.setattr(type(structure_of(index)), "is_crowded", lambda *_, **__: True)
    monkeypatch.setattr(PointUpdates, "_replace", refuse)
    for points in (crowd, even):
        index.update(cla.to_device(session.queue, points) if on_device else points)
        assert_same(index.query(sort="index"), truth(points, 0.05))


def test_how_crowded_coarse_cells_may_be(session):
    """Even points, and cells that were asked for, keep their coarse grid; points over decades of scale do not."""
    if POINTS < 1000:
        pytest.skip("a crowd of many points")
    crowd = clouds.multiscale(150_000, 3, seed=1)
    for points, options, expected in (
        (crowd, {}, False),
        (crowd, {"coarse_shape": 9}, True),
        (clouds.uniform(150_000, 3, seed=1), {}, True),
    ):
        index = clfrnn.build_index(points, 1e-4, method="fenns", session=session, **options)
        assert ("coarse grid: none" not in index.explain()) == expected
    index = clfrnn.build_index(crowd, 1e-4, method="fenns", session=session)
    brute = clfrnn.build_index(crowd, 1e-4, method="strips", session=session)
    assert np.array_equal(index.count().get(), brute.count().get())


def test_more_points_of_a_cell_than_half_a_number_holds(session):
    """A group counts up to 65,535 points, so that there are more groups where a cell may hold more."""
    n = 200_000
    points = clouds.uniform(n, 3, seed=9)
    points[:, 2] = np.where(np.arange(n) < 2, np.arange(n), np.float32(0.499) + np.float32(0.0009) * points[:, 2])
    fresh = own_session(session, compute_units=1)
    index = clfrnn.build_index(points, 0.01, method="fenns", coarse_shape=(1, 1, 2), session=fresh)

    # All but two lie in the lower cell, near the upper one; two groups would count 100,000 each.
    assert sections_of(index).tolist() == [n - 2, n - 2, n - 1, n - 1, n - 1, n]
    assert np.array_equal(np.sort(index.order.get()), np.arange(n))


def test_windows_in_thousands_of_cells_on_one_axis(profile):
    """The last cells' coordinates are rounded most: the next cell is still the farthest that a window reaches."""
    device = with_memory(profile, 256 << 10)
    for length in (1e4, 5e4, 6.2e4):
        survey = Survey(n=10**5, low=(0.0, 0.0), high=(length, 0.0), others=1.0)
        grid = plan(dataclasses.replace(problem(dim=2, n=10**5, radius=1.0), survey=survey), device).grid
        low, inverse = np.float32(grid.low[0]), np.float32(grid.inverses[0])
        x = np.random.default_rng(1).uniform(0.9 * length, length - 2, 10**6).astype(np.float32)
        reach = np.nextafter(np.float32(1), np.float32(2))
        cells = [np.floor((np.float32(each) - low) * inverse) for each in (x - reach, x, x + reach)]
        assert (cells[1] - cells[0]).max() <= 1
        assert (cells[2] - cells[1]).max() <= 1


def test_a_radius_that_spans_the_domain(arranged):
    points = clouds.uniform(300, 3, seed=5)
    for radius in (0.4, 0.9, 40.0):
        assert_same(
            clfrnn.build_index(points, radius, method="fenns", session=arranged).query(sort="index"),
            truth(points, radius),
        )


def test_queries_far_from_a_periodic_box(arranged):
    """Some near enough for tiles, some so far that rounding takes their windows over more than the next cell."""
    points = clouds.uniform(300, 3, seed=6)
    queries = points[:40] + np.float32([0, 5, -70]) * np.arange(40, dtype=np.float32)[:, None]
    domain = {"box": (1.0, 1.0, 1.0), "periodic": True}
    index = clfrnn.build_index(points, 0.1, method="fenns", session=arranged, **domain)
    assert_same(index.query(queries, sort="index"), truth(points, 0.1, queries=queries, **domain))


def test_state_runs_once_for_each_query(arranged):
    """Also where it writes to what others see, which items that have no query must not do."""
    points = clouds.uniform(777, 3, seed=7)
    index = clfrnn.build_index(points, 0.1, method="fenns", session=arranged)
    counted = cla.zeros(arranged.queue, 777, np.int32)
    out = cla.zeros(arranged.queue, 777, np.int32)
    function = clfrnn.NeighborFunction(
        arguments="global int *counted, global int *out",
        state="atomic_inc(&counted[i]); int n = 0;",
        per_neighbor="++n;",
        finish="out[i] = n;",
    )
    assert not walk_function(function).idles

    index.visit(function, counted=counted, out=out)

    assert (counted.get() == 1).all()
    assert np.array_equal(out.get(), np.diff(truth(points, 0.1).offsets))


def test_a_radius_over_very_many_images(session):
    """More cells around one than a group could go through, and more than an int could count if the box were smaller."""
    points = np.float32([[0.0001, 0.2, 0.3], [0.0007, 0.9, 0.1]])
    for length, radius in ((1e-3, 50.0), (1e-6, 0.4)):
        domain = {"box": (length, 1.0, 1.0), "periodic": (True, False, False)}
        index = clfrnn.build_index(points, radius, method="fenns", session=session, **domain)
        assert "very many images" in index.explain(long=True)
        other = clfrnn.build_index(points, radius, method="strips", session=session, **domain)
        assert index.count().get().tolist() == other.count().get().tolist() != [0, 0]


def crowded(dim, dtype):
    """A third of the points all over the box, the others so close that no tile holds them, some in one place."""
    n = min(500, POINTS)
    points = clouds.uniform(n, dim, dtype=dtype, seed=3)
    points[n // 3 :] = points[n // 3 :] * dtype.type(0.1) + dtype.type(0.45)
    points[4:12] = points[4]
    return points


def in_groups(session, **facts):
    """A GPU of groups of 16 with small tiles: drivers for CPUs take a minute to compile a kernel of wide groups."""
    fresh = own_session(session, kind="gpu", max_work_group_size=16, simd_width=8, loop_turns=None, **facts)
    return tuned(fresh, fenns={"tile_points_of_item": (2,)})


@pytest.mark.core
def test_a_crowd_in_local_grids(session, dim, dtype):
    """Cells that a tile holds with all that they see, beside one that no tile holds; after an update, too."""
    if (dim, dtype.itemsize) != (3, 4) and takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU; kinds of lists need these, too")
    points, radius = crowded(dim, dtype), 0.02 if dim == 3 else 0.01
    index = clfrnn.build_index(points, radius, method="fenns", coarse_shape=3, session=in_groups(session))
    structure = structure_of(index)
    held = structure._counts.now(structure._placed.cells.sections)
    assert held[held > 0].min() <= 16
    assert held.max() > structure.config.tile == 32
    for moved in (points, points[::-1].copy()):
        index.update(moved)
        for include_self in (False, True):
            expected = truth(moved, radius, include_self=include_self)
            assert_same(index.query(sort="index", include_self=include_self), expected)


@pytest.mark.parametrize("kind", ["half", "radii", "hint"])
def test_every_kind_of_list_of_a_crowd_in_local_grids(session, kind):
    if kind != "hint" and takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    points = crowded(3, np.dtype(np.float32))
    radii = np.random.default_rng(1).uniform(0, 0.05, len(points)).astype(np.float32)
    index = clfrnn.build_index(points, 0.05, method="fenns", coarse_shape=3, session=in_groups(session))
    radius = radii if kind == "radii" else 0.05
    for asked in {"half": [{"half": True}], "radii": [{"radius": radii}], "hint": [{"hint": 1}, {"hint": 10**5}]}[kind]:
        expected = truth(points, radius, half=kind == "half")
        assert_same(index.query(sort="index", **asked), expected)


def test_a_crowd_without_local_memory_for_tiles(session):
    points = crowded(3, np.dtype(np.float32))
    poor = in_groups(session, local_memory=600 + session.profile.local_reserve)
    index = clfrnn.build_index(points, 0.03, method="fenns", coarse_shape=3, session=poor)
    assert not structure_of(index).config.tile
    assert_same(index.query(sort="index"), truth(points, 0.03))


def test_groups_that_are_launched_in_slices(session):
    slices = {"slice_seconds": 1e-9, "least_budget": 500, "clocks_of_pair": 1 << 60}
    points, groups = crowded(3, np.dtype(np.float32)), tuned(in_groups(session), runtime=slices)
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=groups)
    with index.session.recorded() as launches:
        assert_same(index.query(sort="index"), truth(points, 0.02))
    assert [name for name, _ in launches].count("frnn_visit") > 4


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("size", [1, 16, 256])
def test_local_memory_is_what_kernels_declare(real, size):
    bytes_of = {"int": 4, "real": REAL_SIZE[real], "frnn_record": 4 * REAL_SIZE[real]}
    for dim, periodic in ((2, False), (3, False), (3, True)):
        box = PeriodicBox(lengths=(1.0,) * dim, low=None) if periodic else None
        planned = plan(problem(dim=dim, real=real, box=box), RECORDED["h200"]).config
        config = dataclasses.replace(planned, work_group_size=size, tile=256, fine=256, team=1)
        source = render("methods/fenns/fenns", config, own_function("count"))
        declared = 0
        for kind, names in re.findall(r"^ +local (\w+) (\w[^*;]*);", source, re.MULTILINE):
            declared += sum(bytes_of[kind] * int(many or 1) for many in re.findall(r"\w+(?:\[(\d+)\])?(?:,|$)", names))
        assert declared == blocks.block_memory(config)


@pytest.mark.parametrize("size", [1, 4, 16])
def test_groups_smaller_than_their_teams(size):
    """A driver may allow a kernel fewer work-items than were planned: teams shrink with the group."""
    config = dataclasses.replace(plan(problem(), RECORDED["h200"]).config, work_group_size=size, team=32)
    assert config.names()["team"] == size


def test_devices_of_small_groups(profile):
    device = dataclasses.replace(profile, max_work_group_size=16)
    config = plan(problem(), device).config
    assert config.work_group_size <= 16
    assert blocks.without_tiles(config, *with_tuning(device)).work_group_size <= 16


def test_functions_whose_state_nobody_else_sees():
    def idles(**pieces):
        function = clfrnn.NeighborFunction(arguments="global float *out, global const float *mass", **pieces)
        return walk_function(function).idles

    assert idles(state="float sum = mass[i];", finish="out[i] = sum;")
    assert not idles(state="out[i] = 0;")
    assert not idles(preamble="#define CLEAR out[i] = 0", state="CLEAR;")
    assert not idles(state='printf("%d", i);')
