"""Planning over recorded device profiles: no device is needed here."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from conftest import RECORDED, with_tuning

from clfrnn import config as configs
from clfrnn.answers.linking import cliques
from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.domain.cells import grid_of
from clfrnn.groups import busy_units, share_out
from clfrnn.methods import METHODS
from clfrnn.methods import walk_plan as walks
from clfrnn.methods.domain_tables import plan as tables
from clfrnn.methods.fenns import block_plan as blocks
from clfrnn.methods.grid import coarse_plan as coarse
from clfrnn.methods.grid.binning import config as buckets
from clfrnn.methods.grid.binning.plan import plan_binning
from clfrnn.methods.tree import build_plan as trees
from clfrnn.methods.tree import walk_plan as packs
from clfrnn.primitives import config as plan
from clfrnn.problem import Problem
from clfrnn.profile import DeviceProfile
from clfrnn.runtime import array_config as operations
from clfrnn.runtime import launch_limits as limits
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning, default_tuning
from clfrnn.tuning.stored.choices import choices

REAL_SIZE = {"float": 4, "double": 8}


def reals(profile):
    return ("float", "double") if profile.fp64 else ("float",)


def is_power_of_two(size):
    return size >= 1 and size & (size - 1) == 0


def local_bytes(config):
    """What the templates declare as local memory, by config."""
    size = config.work_group_size
    if isinstance(config, configs.TileConfig):
        return config.tile * config.dim * REAL_SIZE[config.real]
    if isinstance(config, plan.ReduceConfig):
        return size * max(2 * config.dim * REAL_SIZE[config.real] + 4, 24)
    if isinstance(config, plan.ScanConfig):
        assert config.local_memory == size * 8 * (1 + (config.items + 1) * config.through_local)
        return config.local_memory
    if isinstance(config, plan.BufferToRowsConfig):
        return size * config.buffer_slots * 4
    if isinstance(config, plan.SortConfig):
        pairs = size * config.items * {"uint": 8, "ulong": 12}[config.key]
        return 4 * ((size << config.digit_bits) + size + (1 << config.digit_bits)) + (pairs if config.held else 0)
    if isinstance(config, buckets.RegionConfig):
        record = 4 * REAL_SIZE[config.real]
        assert config.names()["tile"] == size * config.batch
        return size * config.batch * (record + 2) + 12 * config.names()["local_ints"] + 4
    if isinstance(config, buckets.SelectCellsConfig):
        return 4 * config.names()["local_ints"] + 4 * config.tile + 4 * (config.spread + 1)
    if isinstance(config, buckets.BucketCellsConfig):
        return 4 * config.names()["local_ints"] + 2 * config.tile + 4
    if isinstance(config, configs.CounterConfig):
        return 4 * config.names()["local_ints"]
    if isinstance(config, blocks.BlockConfig):
        return blocks.block_memory(config) if config.tile else 0
    if isinstance(config, packs.TreeWalkConfig):
        return config.local_memory if config.packed else 0
    if isinstance(config, trees.TreeConfig):
        return config.leaves * ((2 * config.dim + 2) * REAL_SIZE[config.real] + 4)
    return 0


def all_configs(profile):
    for real in reals(profile):
        for dim in range(1, 13):
            yield walks.plan_tile(*with_tuning(profile), dim=dim, real=real, periodic="box")
            yield plan.plan_reduce(*with_tuning(profile), dim=dim, real=real)
            yield plan.plan_gather(*with_tuning(profile), dim=dim, real=real)
            yield walks.plan_walk(*with_tuning(profile), dim=dim, real=real, periodic="box")
            carried = {"distances": True, "vectors": True, "shifts": True}
            yield plan.plan_row_sort(
                *with_tuning(profile), dim=dim, real=real, by_distance=True, offset="int", **carried
            )
            yield tables.plan_images(*with_tuning(profile), dim=dim, real=real)
            yield trees.plan_tree(*with_tuning(profile), dim=dim, real=real, periodic="box", leaves=256)
            yield packs.plan_tree_walk(*with_tuning(profile), dim=dim, real=real, periodic="box", leaf_size=32)
        for dim in (2, 3):
            yield packs.plan_tree_walk(*with_tuning(profile), dim=dim, real=real, periodic="cell", leaf_size=32)
            yield tables.plan_images(*with_tuning(profile), dim=dim, real=real, periodic="cell")
            yield walks.plan_walk(*with_tuning(profile), dim=dim, real=real, periodic="box", edges=True)
            yield coarse.plan_coarse(*with_tuning(profile), dim=dim, real=real, periodic="box")
            yield buckets.plan_buckets(*with_tuning(profile), dim=dim, real=real, periodic="box")
            yield buckets.plan_serial_cells(*with_tuning(profile), dim=dim, real=real, periodic="box", layout="columns")
            yield buckets.plan_select_cells(*with_tuning(profile), dim=dim, real=real, periodic="box", layout="pairs")
            yield buckets.plan_bucket_cells(*with_tuning(profile), dim=dim, real=real, periodic="box", layout="pairs")
            yield buckets.plan_regions(*with_tuning(profile), dim=dim, real=real, periodic="box")
            yield fenns(profile, dim=dim, real=real).config
            yield cliques.plan_cliques(*with_tuning(profile), dim=dim, real=real, periodic="box", layout="columns")
    for total, out in (("int", "int"), ("long", "int"), ("long", "long")):
        yield plan.plan_scan(*with_tuning(profile), total=total, out=out)
        yield plan.plan_short_scan(*with_tuning(profile), total=total, out=out)
    for key in ("uint", "ulong"):
        yield plan.plan_sort(*with_tuning(profile), key=key)
    for slots in (4, 16):
        yield plan.plan_buffer_to_rows(*with_tuning(profile), buffer_slots=slots, offset="long")
    yield plan.plan_fill(*with_tuning(profile))
    yield plan.plan_permute_rows(*with_tuning(profile), word="uint")
    yield operations.plan_reduction(*with_tuning(profile), reduction="sum", element="int", total="long")
    sides = {"element": "int", "wide": "ulong", "out": "int", "x_array": True, "y_array": True, "truth": False}
    yield operations.plan_operation(*with_tuning(profile), operation="add", **sides)


def test_profiles_survive_json(profile):
    assert DeviceProfile.from_dict(json.loads(json.dumps(profile.to_dict()))) == profile


def fenns(profile, **asked):
    return METHODS["fenns"].plan(problem(coarse_shape=None, **asked), *with_tuning(profile))


def test_every_config_is_legal(profile):
    for config in all_configs(profile):
        assert is_power_of_two(config.work_group_size), config
        assert config.work_group_size <= profile.max_work_group_size, config
        assert local_bytes(config) <= profile.usable_local_memory, config
        assert profile.usable_local_memory < profile.local_memory
        assert hash(config) == hash(dataclasses.replace(config))


def test_tiles_of_a_short_scan(profile):
    """As large on every GPU, as far as items hold them in registers."""
    config = plan.plan_short_scan(*with_tuning(profile), total="int", out="int")
    widest = profile.max_work_group_size
    if profile.kind != "gpu":
        assert (config.work_group_size, config.items) == (1, 512)
    elif widest < 256:
        assert (config.work_group_size, config.items) == (widest, 16)
    else:
        assert config.work_group_size == min(1024, widest)
        assert config.work_group_size * config.items == 4096


def test_groups_that_count_buckets_have_a_batch_for_each_item(profile):
    """From two of them for each compute unit on, to four."""
    units, batches = busy_units(profile), 4 * 512
    expected = {
        1: 1,
        513: 2,
        units * batches: 2 * units,
        3 * units * batches: 3 * units,
        9 * units * batches: 4 * units,
    }
    for n, groups in expected.items():
        assert buckets.bucket_groups(*with_tuning(profile), n, 512) == min(groups, -(-n // 512))


def test_groups_are_whole_wavefronts(profile):
    """Items that run in lockstep idle where a group has not as many; only tree packs may do with less."""
    if profile.kind != "gpu":
        pytest.skip("work-items of a CPU, and of what pretends to be one, take turns")
    assert is_power_of_two(profile.simd_width)
    for config in all_configs(profile):
        size = config.work_group_size
        assert size % profile.simd_width == 0 or size < profile.simd_width, config
        small = size < min(profile.simd_width, profile.max_work_group_size)
        packed = isinstance(config, packs.TreeWalkConfig) and config.packed
        assert not small or packed or size == 1, f"{config} leaves lanes idle"


def test_every_tuning_that_a_file_may_hold_is_legal(profile, monkeypatch):
    """Of each choice the first setting, the second ones, and so on, until each has been there."""
    offered = choices(profile)
    for k in range(max(len(choice.settings) for choice in offered)):
        tuning = default_tuning(profile)
        for choice in offered:
            tuning = tuning.but(**list(choice.settings.values())[k % len(choice.settings)])
        monkeypatch.setitem(globals(), "with_tuning", lambda profile, tuning=tuning: (profile, tuning))
        for config in all_configs(profile):
            assert is_power_of_two(config.work_group_size), config
            assert config.work_group_size <= profile.max_work_group_size, config
            assert local_bytes(config) <= profile.usable_local_memory, config


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("dim", [2, 3])
def test_more_local_memory_never_means_smaller_plans(profile, dim, real):
    """Tiles, sorts, packs and the cells that can be counted, from 2 to 256 KiB."""
    grid = fenns(dataclasses.replace(profile, local_memory=(64 << 10) + profile.local_reserve), dim=dim).grid
    asked = problem(dim=dim, real=real, coarse_shape=None)
    before = None
    for memory in (*range(2 << 10, 64 << 10, 1 << 10), *range(64 << 10, 256 << 10, 4 << 10)):
        device = dataclasses.replace(profile, local_memory=memory + profile.local_reserve)
        sort, walk = (
            plan.plan_sort(*with_tuning(device), key="ulong"),
            packs.plan_tree_walk(*with_tuning(device), dim=dim, real=real, periodic="box", leaf_size=32),
        )
        making = trees.plan_tree(*with_tuning(device), dim=dim, real=real, periodic="box", leaves=256)
        reduction = plan.plan_reduce(*with_tuning(device), dim=dim, real=real)
        assert local_bytes(reduction) <= device.usable_local_memory
        sizes = {
            "all pairs": walks.plan_tile(*with_tuning(device), dim=dim, real=real, periodic="box").tile,
            "sort": sort.work_group_size * sort.items,
            "scan": plan.plan_scan(*with_tuning(device), total="int", out="int").work_group_size,
            "reduction": reduction.work_group_size,
            "packs": walk.packed,
            "boxes": making.leaves,
            "block": making.block,
            "counters": coarse.most_coarse_cells(device),
            "tile of a region": buckets.plan_regions(*with_tuning(device), dim=dim, real=real, periodic="box").tile,
            "cells of a bucket": buckets.most_cells_of_bucket(*with_tuning(device)),
            "local grid": blocks.plan_block(*with_tuning(device), problem=asked, grid=grid).tile,
        }
        for name, size in sizes.items():
            assert before is None or size >= before[name], f"{name} at {memory:,} bytes"
        before = sizes


@pytest.mark.parametrize("name", ["h200", "pocl", "intel-cpu", "rusticl", "oclgrind"])
def test_devices_that_were_measured_have_neither_wider_packets_nor_larger_tiles(name):
    """Their plans are what was measured; only lockstep beyond 32 and local memory beyond 48 KiB lead to others."""
    profile = RECORDED[name]
    for dim, real, neighbors in itertools.product((2, 3), reals(profile), (3.0, 50.0, 1e3)):
        facts = {"dim": dim, "real": real, "periodic": "", "leaf_size": 8, "neighbors": neighbors}
        walk = packs.plan_tree_walk(*with_tuning(profile), **facts)
        assert not walk.packed or (walk.work_group_size, walk.hit_words) == (32, 1)
        tile = fenns(profile, dim=dim, real=real, others=neighbors, n=1_000_000, radius=0.01).config
        numbers = with_tuning(profile)[1].fenns
        most = numbers.tile_points_alone if profile.kind == "cpu" else numbers.tile_points_of_item
        assert tile.tile <= tile.work_group_size * most[-1]


def test_more_lockstep_never_means_smaller_packets(profile):
    """Up to 64 queries; the same where work-items take turns, and where local memory does not hold more."""
    before = 0
    for width in (1, 4, 8, 16, 32, 64, 128):
        device = dataclasses.replace(profile, simd_width=width)
        facts = {"dim": 3, "real": "float", "periodic": "box", "leaf_size": 8}
        walk = packs.plan_tree_walk(*with_tuning(device), **facts)
        size = walk.work_group_size if walk.packed else 0
        assert before <= size <= 64
        before = size
        if profile.kind != "gpu":
            assert not size
        elif profile.usable_local_memory > 12 << 10 and profile.max_work_group_size >= 64:
            assert size == (64 if width > 32 else 32)
            assert trees.plan_tree(*with_tuning(device), dim=3, real="float", periodic="", leaves=256).packet == size


def test_local_memory_beyond_48_kib_holds_larger_tiles(profile):
    """Of blocks that no other tile holds, so that cells are larger and fewer of their candidates are of borders."""
    found = {}
    for memory in (48, 64, 100, 128):
        device = dataclasses.replace(profile, kind="gpu", max_work_group_size=256, local_reserve=0, loop_turns=None)
        device = dataclasses.replace(device, local_memory=memory << 10)
        found[memory] = fenns(device, dim=3, real="float", others=50.0, n=1_000_000, radius=0.04)
        assert found[memory].config.fine < 1 << 15, "fine cells are counted in half an int"
        assert local_bytes(found[memory].config) <= device.usable_local_memory
    tiles = [plan.config.tile for plan in found.values()]
    assert tiles[0] <= 2048
    assert tiles == sorted(tiles)
    assert tiles[1] > tiles[0]
    assert tiles[-1] > tiles[1]
    cells = [plan.grid.cells for plan in found.values()]
    assert cells == sorted(cells, reverse=True)
    assert cells[-1] < cells[0]


def test_local_grids_are_those_of_the_device(profile):
    """FENNS' grid has cells that a group can count, and a tile wherever a block of even points fits local memory."""
    for dim in (2, 3):
        for real in reals(profile):
            decided = fenns(profile, dim=dim, real=real, others=1.0, n=1_000_000, radius=0.01)
            assert 1 <= decided.grid.cells <= coarse.most_coarse_cells(profile)
            if profile.loop_turns is None and profile.usable_local_memory > 24 << 10 and profile.kind == "gpu":
                assert decided.config.tile >= 256
                assert decided.config.tile % decided.config.work_group_size == 0


@pytest.mark.parametrize("memory", [1 << 10, 4 << 10, 16 << 10, 64 << 10])
def test_little_local_memory_shrinks_groups_and_tiles(profile, memory):
    small = dataclasses.replace(profile, local_memory=memory + profile.local_reserve)
    for config, roomy in zip(all_configs(small), all_configs(profile), strict=True):
        assert local_bytes(config) <= small.usable_local_memory, config
        assert local_bytes(config) <= max(local_bytes(roomy), 1 << 16)


def test_roots_are_rounded_one_way_or_another(profile):
    assert plan.square_root(profile, "double") == "native"
    assert plan.square_root(dataclasses.replace(profile, rounded_sqrt=True), "float") == "native"
    poor = dataclasses.replace(profile, rounded_sqrt=False)
    assert plan.square_root(poor, "float") == ("double" if profile.fp64 else "integer")


def problem(*, n=100_000, dim=3, real="float", radius=0.05, extent=1.0, others=5.0, **options):
    survey = Survey(n=n, low=(0.0,) * dim, high=(extent,) * dim, others=others)
    return Problem(n=n, domain=open_space(dim), real=real, radius=radius, survey=survey, options=options)


CELLS = {
    "uniform_grid": {"construction": "counting", "bin_width": None},
    "strips": {"construction": "counting", "bin_width": None},
}


@pytest.mark.parametrize("method", sorted(CELLS))
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("extent", [0.0, 1e-30, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("radius", [0.0, 1e-12, 0.05, 1e12])
def test_memory_is_bounded_by_the_number_of_points(profile, method, dim, extent, radius):
    for n in (1, 1000, 1_000_000):
        asked = problem(n=n, dim=dim, radius=radius, extent=extent, **CELLS[method])
        decided = METHODS[method].plan(asked, *with_tuning(profile))
        grid = decided.grid
        assert 1 <= grid.cells <= max(64, 4 * n)
        assert all(is_power_of_two(side) for side in grid.shape) or not grid.wrapped
        for side, inverse in zip(grid.sides, grid.inverses, strict=True):
            assert math.isfinite(side)
            assert side > 0
            assert inverse > 0
            with np.errstate(over="ignore"):
                farthest = (np.float32(extent) - np.float32(0)) * np.float32(inverse)
            assert farthest <= 2.0**29


def test_the_side_is_kept_on_a_torus(profile):
    asked = {**CELLS["strips"], "bin_width": 0.5}
    near = METHODS["strips"].plan(problem(extent=1.0, **asked), *with_tuning(profile)).grid
    far = METHODS["strips"].plan(problem(extent=1e6, **asked), *with_tuning(profile)).grid

    assert not near.wrapped
    assert far.wrapped
    assert far.sides == near.sides
    assert far.cells <= 4 * 100_000


@pytest.mark.parametrize("method", sorted(CELLS))
def test_bin_width_is_cell_side_over_radius(profile, method):
    for width in (0.3, 0.5, 1.0, 2.0):
        options = {"construction": "counting", "bin_width": width}
        grid = METHODS[method].plan(problem(**options), *with_tuning(profile)).grid
        assert grid.sides == pytest.approx((width * 0.05,) * 3)


def test_default_sides_follow_density(profile):
    def side(method, others, n=100_000):
        asked = problem(others=others, n=n, **CELLS[method])
        along, across, _ = METHODS[method].plan(asked, *with_tuning(profile)).grid.sides
        return across / 0.05, across / along

    assert side("uniform_grid", 100.0) == pytest.approx((1, 1))
    assert side("strips", 1000.0) == pytest.approx((0.5, 2))
    assert side("strips", 12.5) == pytest.approx((1, 4))
    assert side("strips", 0.0, n=1000)[0] > 1.5
    assert side("uniform_grid", 0.0, n=1000)[0] > 1.5


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("spacing", [1.1, 1.3, 1.45, 1.55, 1.8, 2.3, 2.7, 7.9, 99.0, 101.0])
def test_cells_of_sparse_points_are_whole_radii_across(profile, dim, spacing):
    """On devices whose work-items go in step; about as many cells as points either way."""
    extent = 20 * spacing * 0.05
    asked = problem(others=spacing**-dim, dim=dim, n=20**dim, extent=extent, **CELLS["strips"])
    along, *across = (side / 0.05 for side in METHODS["strips"].plan(asked, *with_tuning(profile)).grid.sides)
    if profile.kind == "cpu" or spacing > 100:
        assert [along, *across] == pytest.approx([spacing] * dim, rel=0.01)
        return
    assert across == pytest.approx([max(1, round(spacing))] * (dim - 1), rel=0.01)
    points_of_cell = along * across[0] ** (dim - 1) * spacing**-dim
    assert 0.4 < points_of_cell < 1.4


def test_points_that_take_up_little_of_their_box_have_cells_for_all_of_it(profile):
    """Rather than a torus of narrower ones, where cubes of the radius are few enough."""

    def planned(n):
        survey = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3, others=12.0)
        asked = Problem(n=n, domain=open_space(3), real="float", radius=0.01, survey=survey, options=CELLS["strips"])
        return METHODS["strips"].plan(asked, *with_tuning(profile)).grid

    assert planned(300_000).sides == pytest.approx((0.01,) * 3, rel=1e-3)
    assert not planned(300_000).wrapped
    for n in (10_000, 3_000_000):
        assert planned(n).wrapped == (n == 10_000)
        along, *across = planned(n).sides
        assert along < 0.006
        assert across == pytest.approx((0.01, 0.01), rel=1e-3)


def filling(profile, *, n, cells, others=5.0, per_cell=1.0, wrapped=False):
    """How n points come into cells, a row of them, each of side r and expected to hold `per_cell` points."""
    survey = Survey(n=n, low=(0.0, 0.0), high=(n / per_cell, 1.0), others=others)
    asked = Problem(n=n, domain=open_space(2), real="float", radius=1.0, survey=survey)
    grid = grid_of(low=(0.0, 0.0), sides=(1.0, 1.0), shape=(cells, 1), periods=(0, 0), real="float", wrapped=wrapped)
    return plan_binning(*with_tuning(profile), problem=asked, grid=grid)


@pytest.mark.parametrize("name", [name for name, profile in RECORDED.items() if profile.kind == "gpu"])
@pytest.mark.parametrize("power", [24, 26, 27, 28])
def test_cells_of_very_many_points_are_filled_by_buckets(name, power):
    """Those that are too many are so much longer; a bucket's points are written in one go where they are not."""
    n, profile = 1 << power, RECORDED[name]
    survey = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3)
    radius = (3 / (4.19 * n)) ** (1 / 3)
    asked = Problem(n=n, domain=open_space(3), real="float", radius=radius, survey=survey, options=CELLS["strips"])
    plan = METHODS["strips"].plan(asked, *with_tuning(profile))
    small = profile.loop_turns is not None or profile.usable_local_memory < (40_000 if power == 28 else 24_000)
    assert plan.binning.by_buckets or small
    if name == "h200":
        facts = {"dim": 3, "real": "float", "periodic": False, "layout": "records"}
        filling = buckets.plan_bucket_cells(*with_tuning(profile), **facts)
        assert (n / plan.binning.buckets <= filling.tile) == (power <= 26)
        along, *across = (side / radius for side in plan.grid.sides)
        assert across == pytest.approx([1, 1], rel=1e-3)
        assert along == pytest.approx({24: 1.12, 26: 2.07, 27: 2.07, 28: 4.14}[power], rel=0.01)


@pytest.mark.parametrize("n", [1, 1000, 40_000, 1 << 20, 1 << 24, 1 << 26])
@pytest.mark.parametrize("per_cell", [0.3, 1.0, 3.7])
def test_buckets_hold_all_cells_and_are_counted_in_local_memory(profile, n, per_cell):
    cells = max(1, int(n / per_cell))
    found = filling(profile, n=n, cells=cells, others=0.0, per_cell=per_cell)
    most, of_bucket = coarse.most_coarse_cells(profile), buckets.most_cells_of_bucket(*with_tuning(profile))
    assert is_power_of_two(of_bucket)
    if profile.kind != "gpu":
        few = "points are few, and a launch takes longer than one work-item for them"
        expected = ("serial_cells", few) if n <= 4096 else ("counting_sort", "the device is no GPU")
        assert (found.way, found.why) == expected
        return
    few = n <= 64 * min(1024, profile.max_work_group_size)
    selecting = buckets.plan_select_cells(*with_tuning(profile), dim=2, real="float", periodic=False, layout="records")
    selects = max(1, busy_units(profile) - 1)  # one group finds the bounding box meanwhile
    assert (found.way == "select_cells") == (few and cells <= selects * selecting.counters)
    if found.way == "select_cells":
        assert found.buckets << found.shift >= cells > (found.buckets - 1) << found.shift
        assert found.buckets <= busy_units(profile)
        assert 1 << found.shift <= selecting.counters
    if found.by_buckets:
        assert found.buckets << found.shift >= cells > (found.buckets - 1) << found.shift
        assert found.buckets <= most
        assert 1 << found.shift <= of_bucket
        assert n / found.buckets <= max(2 * 1024, 2 * n / most + 1)
    assert found.way != "counting_sort" or cells > most * of_bucket / 2


@pytest.mark.parametrize("n", [1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 30])
@pytest.mark.parametrize("others", [0.0, 300.0])
def test_regions_are_as_many_as_each_has_buckets(profile, n, others):
    found = filling(profile, n=n, cells=n, others=others)
    assert (found.way == "region_sort") == (found.regions > 0)
    if not found.regions:
        assert found.span == 0
        return
    config = buckets.plan_regions(*with_tuning(profile), dim=2, real="float", periodic=False)
    assert n > 1 << 20, "middle clouds are sorted in one pass"
    assert 0 < found.entered < 1 << 30
    assert found.regions << found.span >= found.buckets > (found.regions - 1) << found.span
    assert max(found.regions, 1 << found.span) <= config.counters
    assert 0.4 < found.regions / (1 << found.span) < 2.1
    assert config.tile * 16 >= 128 * max(found.regions, 1 << found.span), "a tile has whole lines for each run"


def test_regions_spare_open_lines():
    """Where groups are many enough, and what they write; there must be room for tiles in local memory."""
    wide = RECORDED["h200"]
    few, small = (dataclasses.replace(wide, **less) for less in ({"compute_units": 8}, {"local_memory": 8 << 10}))
    asked = {"n": 1 << 24, "cells": 1 << 24}

    assert filling(wide, **asked).regions > 1
    assert filling(few, **asked).way == "bucket_sort"
    assert filling(few, **asked).regions == 0
    assert filling(small, **asked).regions == 0
    # In a crowd buckets are many, but what is written is little.
    crowd = filling(wide, n=1 << 20, cells=1 << 20, others=60.0)
    assert crowd.way == "bucket_sort"
    assert crowd.regions == 0


def test_groups_go_by_units_of_many_lanes(profile):
    """Where a driver counts smaller units, groups and buckets are as many as for the wide units with as many lanes."""
    lanes = 64 if profile.kind != "gpu" else profile.unit_lanes
    assert busy_units(profile) == max(1, profile.compute_units * lanes // 64)
    if profile.kind != "gpu":
        return
    # 128 lanes in a unit are real, but the numbers of groups were measured for each unit.
    assert busy_units(dataclasses.replace(profile, unit_lanes=128)) == profile.compute_units
    wide = dataclasses.replace(profile, compute_units=busy_units(profile), unit_lanes=64)
    tuning, asked = default_tuning(profile), {"n": 1 << 20, "cells": 1 << 20, "per_cell": 1.0}
    assert filling(profile, **asked) == filling(wide, **asked)
    assert share_out(profile, tuning, 1 << 24, 256) == share_out(wide, tuning, 1 << 24, 256)
    config = buckets.plan_buckets(profile, tuning, dim=3, real="float", periodic="")
    found = [buckets.bucket_groups(profile, tuning, n, config.work_group_size) for n in (1 << 16, 1 << 20, 1 << 24)]
    assert found == sorted(found), "no fewer groups for more points"
    # Groups leave fewer counters than there are points, on all devices but those with more groups than work.
    assert found[1] * filling(profile, **asked).buckets < (1 << 20) * 1.5


def test_groups_of_a_unit_share_its_local_memory(profile):
    """Where it is known, and what is counted leaves room; what is planned for many buckets and cells is as ever."""
    tuning, facts = default_tuning(profile), {"dim": 3, "real": "float", "periodic": ""}
    unknown = dataclasses.replace(profile, unit_local_memory=0)
    wide = buckets.plan_buckets(unknown, tuning, **facts)
    whole = buckets.plan_bucket_cells(unknown, tuning, **facts, layout="records")
    known = {8 << 10, 64 << 10, 96 << 10, 128 << 10, 256 << 10, 1 << 20, profile.unit_local_memory} - {0}
    sizes = []
    for unit in sorted(known):
        device = dataclasses.replace(profile, unit_local_memory=unit)
        share = min(profile.usable_local_memory, unit // 4 * 19 // 20)
        for number in (1, 1024, 2048, 4096, 16384):
            config = buckets.plan_buckets(device, tuning, **facts, buckets=number)
            assert buckets.plan_buckets(unknown, tuning, **facts, buckets=number) == wide
            assert config.counters == (share // 4 if number <= share // 4 else wide.counters)
            filled = buckets.plan_bucket_cells(device, tuning, **facts, layout="records", cells=number)
            assert buckets.plan_bucket_cells(unknown, tuning, **facts, layout="records", cells=number) == whole
            if filled != whole:
                assert filled.counters == max(1024, number)
                assert filled.tile >= 3 * tuning.binning.bucket_points
                assert local_bytes(filled) <= share
        sizes.append(buckets.plan_buckets(device, tuning, **facts, buckets=1).counters)
    assert sizes == sorted(sizes), "no fewer counters with more memory"


def test_groups_grow_with_units(profile):
    more = [dataclasses.replace(profile, compute_units=units) for units in (1, 7, 64, 100, 1024)]
    assert [busy_units(each) for each in more] == sorted(busy_units(each) for each in more)


def test_crowds_and_bounded_loops_are_counted_in_global_memory(profile):
    if profile.kind != "gpu":
        pytest.skip("a CPU has no buckets")
    profile = dataclasses.replace(profile, compute_units=16, unit_lanes=64)
    even = filling(profile, n=1 << 20, cells=1 << 18, per_cell=4.0)
    some = filling(profile, n=1 << 20, cells=1 << 18, per_cell=4.0, others=200.0)
    crowd = filling(profile, n=1 << 20, cells=1 << 18, per_cell=4.0, others=1e5)
    bounded = filling(dataclasses.replace(profile, loop_turns=1000), n=1 << 20, cells=1 << 18, per_cell=4.0)

    assert even.way == some.way == "bucket_sort"
    assert some.shift < even.shift, "a bucket in a crowd has fewer cells"
    assert (crowd.way, crowd.why) == ("counting_sort", "many points are expected in few cells")
    assert (bounded.way, bounded.why) == ("counting_sort", "the driver bounds loops")


@pytest.mark.parametrize("others", [0.0, 1e-300, 1e300])
@pytest.mark.parametrize("side", [1e-300, 1.0, 1e300])
def test_any_survey_is_answered(profile, others, side):
    survey = Survey(n=10**6, low=(0.0,) * 3, high=(side,) * 3, others=others)
    asked = Problem(n=10**6, domain=open_space(3), real="double", radius=side, survey=survey)
    grid = grid_of(low=(0.0,) * 3, sides=(side,) * 3, shape=(128,) * 3, periods=(0,) * 3, real="double", wrapped=True)
    assert plan_binning(*with_tuning(profile), problem=asked, grid=grid).way in (
        "bucket_sort",
        "region_sort",
        "counting_sort",
    )


def test_counts_at_the_edges_of_a_box_hold_few_registers_in_wide_groups(profile):
    box = PeriodicBox(lengths=(1.0, 1.0, 1.0), low=None)

    def plans(real):
        asked = dataclasses.replace(problem(real=real, **CELLS["strips"]), domain=box)
        return METHODS["strips"].plan(asked, *with_tuning(profile))

    config, edges = plans("float").config, plans("float").edges
    assert config.registers is None
    assert edges.work_group_size <= profile.max_work_group_size
    if profile.kind == "cpu":
        assert edges == config
        assert config.lockstep == 1
    else:
        assert edges.work_group_size == min(2 * config.work_group_size, profile.max_work_group_size)
        assert config.lockstep == profile.simd_width
    assert edges.registers == (32 if profile.register_option else None)
    assert plans("double").edges.registers is None, "a double takes two"


def test_as_many_points_as_int32_counts(profile):
    """Addresses, and the one behind the last, stay in int32."""
    for extent in (1.0, 1e6):
        asked = problem(n=2**31 - 2**22, extent=extent, radius=1e-4, others=0.01, **CELLS["strips"])
        assert METHODS["strips"].plan(asked, *with_tuning(profile)).grid.cells <= 2**30


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("radius", [0.0, 1e-200, 1e-30, 1e15, 1e111, 1e150])
def test_any_radius_can_be_planned(profile, real, radius):
    for n in (0, 1, 5000):
        for others in (0.0, 7.0, 5e8):
            asked = problem(n=n, radius=radius, real=real, others=others, **CELLS["strips"])
            assert all(math.isfinite(side) for side in METHODS["strips"].plan(asked, *with_tuning(profile)).grid.sides)


def test_brute_force_tiles_through_local_memory(profile):
    for dim in (1, 3, 12):
        config = METHODS["brute_force"].plan(problem(dim=dim), *with_tuning(profile)).config
        assert config.tile >= 1
        assert config.dim == dim


def test_launch_budget_grows_with_the_device(profile):
    doubled = dataclasses.replace(profile, compute_units=profile.compute_units * 64, clock=profile.clock * 64)

    assert limits.launch_budget(*with_tuning(doubled)) > limits.launch_budget(*with_tuning(profile)) >= 1 << 20


def test_a_launch_gets_what_the_lanes_can_do():
    """As much for each lane and second on every GPU, however large the units are that its driver counts."""

    def share(name):
        profile = RECORDED[name]
        return limits.launch_budget(*with_tuning(profile)) / (
            profile.compute_units * profile.unit_lanes * profile.clock
        )

    assert share("arc-a770") == pytest.approx(share("mi300x"))
    # 4,096 lanes at 2,400 MHz against 19,456 at 2,100: by units alone the smaller would be given the more.
    smaller, larger = (limits.launch_budget(*with_tuning(RECORDED[name])) for name in ("arc-a770", "mi300x"))
    assert smaller < larger / 4


def test_planning_uses_keyword_only_frozen_data():
    for kind in (getattr(module, name) for module in (configs, plan) for name in module.__all__):
        if isinstance(kind, type):
            assert dataclasses.is_dataclass(kind)
            assert kind.__dataclass_params__.frozen
            assert all(field.kw_only for field in dataclasses.fields(kind))


def test_what_chance_explains_is_no_crowd():
    """A sample of some thousand points tells twice the mean from the mean only where neighbors are not too rare."""
    n, radius = 4_194_304, 0.2 / 180
    sample = plan.plan_sample(Tuning.default("gpu"), n)
    even = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3, sample=sample)
    assert dataclasses.replace(even, others=2 * n * radius**3).density(radius) == pytest.approx(n)
    assert dataclasses.replace(even, others=20 * n * radius**3).density(radius) == pytest.approx(20 * n)
    assert dataclasses.replace(even, others=2 * n * 0.01**3).density(0.01) == pytest.approx(2 * n)
    assert dataclasses.replace(even, others=2 * n * 0.01**3, counted=7.0).density(0.01) == pytest.approx(7.0)
