"""Queries in packs: what they find, how they are sorted, and when several items serve each."""

import contextlib
import dataclasses
import itertools
import math

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    RECORDED,
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_same,
    joined,
    structure_of,
    truth,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds
from clfrnn.config import VisitVariant
from clfrnn.methods.tree import walk_plan as packs
from clfrnn.primitives.config import plan_sample
from clfrnn.runtime.rendering import own_function, render
from clfrnn.runtime.scratch import Scratch
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning

GPU = Tuning.default("gpu")
N = min(900, POINTS)
CLOUD = clouds.uniform(N, 3, seed=1)

#: Any points are a crowd, and uneven, with many neighbors.
CROWDED = {"crowd": 0, "uneven_crowd": 0, "many_neighbors": 0}


def build(points, radius=0.1, *, session, **options):
    return clfrnn.build_index(points, radius, method="aabb_tree", session=session, **options)


@pytest.mark.parametrize("of_unit", [0, N], ids=["alone", "shared out"])
def test_packs_find_what_others_find(session, of_unit):
    """Queries that go down the tree together: of one radius, of radii of their own, halves, parts."""
    points = clouds.uniform(N, 3, seed=10)
    index = build(points, session=tuned(as_gpu(session), tree={"few_queries_a_unit": of_unit}))
    assert structure_of(index).config.packed
    assert_counts(index.count(), truth(points, 0.1))
    radii = (np.random.default_rng(11).random(N) ** 3 * 0.1).astype(np.float32)
    radii[::7] = 0
    assert_same(index.query(radius=radii, sort="index"), truth(points, radii))
    assert_same(index.query(half=True, sort="index"), truth(points, 0.1, half=True))
    parts = list(index.query_blocks(max_bytes=4 * N, sort="index"))
    assert len(parts) > 1
    assert_same(joined(parts), truth(points, 0.1))


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize("domain", [{}, {"box": (1.0, 1.0, 1.0), "periodic": True}], ids=["open", "periodic"])
def test_packets_of_other_widths(session, width, domain):
    index = build(CLOUD, session=tuned(as_gpu(session), tree={"packet_queries": width}), **domain)
    assert_same(index.query(sort="index"), truth(CLOUD, 0.1, **domain))


@pytest.mark.parametrize("periodic", [(True, True, True), (False, True, False)])
def test_packs_look_into_images(session, periodic):
    """All queries of a group look into every image that one of them meets."""
    domain = {"box": (1.0, 0.7, 1.0), "periodic": periodic}
    points = clouds.uniform(min(400, N), 3, seed=12)
    index = build(points, 0.2, session=as_gpu(session), **domain)
    for moved in (points, points * np.float32(1.6) - np.float32(0.3)):
        index.update(moved)
        assert_counts(index.count(), truth(moved, 0.2, **domain))


@pytest.mark.parametrize(
    ("foreign", "periodic"), [(False, False), (True, True)], ids=["self", "foreign in a periodic box"]
)
def test_queries_are_sorted(session, foreign, periodic):
    """Foreign ones along the curve, and those with radii of their own by these; in lists, parts, and the nearest."""
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, True)} if periodic else {}
    rng = np.random.default_rng(15)
    points = clouds.uniform(min(300, N), 3, seed=15) * np.float32(1.7)
    queries = (rng.random((200, 3)) * 3 - 1).astype(np.float32) if foreign else None
    radii = (0.2 * 10 ** rng.uniform(-3, 0, 200 if foreign else len(points))).astype(np.float32)
    radii[:3] = 0
    index = build(points, 0.2, session=tuned(as_gpu(session), tree=CROWDED), **domain)
    assert structure_of(index).config.sorts
    assert structure_of(index)._is_crowded()
    for radius in (None, radii) if foreign else (radii,):
        expected = truth(points, 0.2 if radius is None else radius, queries=queries, **domain)
        assert_same(index.query(queries, radius=radius, sort="index"), expected)
        if radius is not None:
            parts = index.query_blocks(queries, radius=radius, sort="index", max_bytes=3000)
            assert_same(joined(parts), expected)
        assert_nearest(index.nearest(queries, radius=radius), expected)


def test_crowds_have_their_radii_sorted(session):
    """A crowd is one by what the leaves hold, wherever a sample would have looked; asked once, whatever comes later."""
    n = min(2000, POINTS)
    points = clouds.uniform(n, 3, seed=23)
    for cloud, ranks in ((points, False), (points * np.float32(0.1), True)):
        for threshold in (10, math.inf):
            index = build(
                cloud, 0.1, session=tuned(as_gpu(session), tree={"crowd": n * 0.1**3 * 20}), rebuild_threshold=threshold
            )
            if threshold == 10:
                assert structure_of(index)._is_crowded() == ranks
            for _ in range(2):
                index.update(points)
            radii = np.full(n, 0.1, np.float32)
            assert np.array_equal(index.count(radius=radii).get(), index.count().get())
            assert structure_of(index)._is_crowded() == ranks
    index = build(points * np.float32(0.1), 0.1, session=session)
    assert not structure_of(index)._is_crowded() or session.profile.kind == "gpu"


@pytest.mark.parametrize("foreign", [False, True], ids=["self", "foreign"])
def test_radii_side_by_side_are_alike(session, foreign):
    """The largest of a block first, each pack of them in the order of the curve; what no radius can be comes last."""
    index = build(CLOUD, 1.0, session=tuned(as_gpu(session), tree=CROWDED))
    radii = np.random.default_rng(16).random(N).astype(np.float32).round(2)
    radii[5] = np.nan
    queries = cla.to_device(index.session.queue, CLOUD) if foreign else None
    (placed,) = structure_of(index).order_queries(queries, None, cla.to_device(index.session.queue, radii))
    order = index.session.read(Scratch(placed, N, np.dtype(np.int32)))
    numbers = order if foreign else index.order.get()[order]
    assert np.array_equal(np.sort(order), np.arange(N))
    block = structure_of(index)._builder.config.block
    assert block >= 256 or index.session.profile.usable_local_memory < 4096
    for first in range(0, N, block):
        found = np.nan_to_num(radii[numbers[first : first + block]], nan=-1)
        parts = [found[at : at + 32] for at in range(0, len(found), 32)]
        assert all(larger.min() >= smaller.max() for larger, smaller in itertools.pairwise(parts))
        assert foreign or all((np.diff(order[at : at + 32]) > 0).all() for at in range(first, first + len(found), 32))


def test_blocks_of_like_radii_keep_their_order(session):
    index = build(CLOUD, 1.0, session=tuned(as_gpu(session), tree={"crowd": 0}))
    alike = (1 - np.random.default_rng(16).random(N) * 0.3).astype(np.float32)
    for radii, stays in ((alike, True), (np.where(np.arange(N) % 7, alike, 0).astype(np.float32), False)):
        (placed,) = structure_of(index).order_queries(None, None, cla.to_device(index.session.queue, radii))
        order = index.session.read(Scratch(placed, N, np.dtype(np.int32)))
        assert np.array_equal(order, np.arange(N)) == stays


def test_only_uneven_crowds_are_divided():
    even = Survey(n=10**6, low=(0.0,) * 3, high=(1.0,) * 3, others=500.0)
    uneven = dataclasses.replace(even, unevenness=8.0)
    assert [packs.divides_uneven_queries(each, 10**6, GPU) for each in (even, uneven)] == [False, True]
    assert not packs.divides_uneven_queries(uneven, 2**31 - 1, GPU), "the numbers of items would be no ints"
    # Of a thousand million points one of 1,024 is counted, of which two in one cell stand for a million pairs.
    sample = plan_sample(GPU, 1 << 30)
    chance = dataclasses.replace(even, n=1 << 30, others=40.0, unevenness=4.0, sample=sample)
    assert chance.unevenness_beyond_chance < 3 < dataclasses.replace(chance, others=1e4).unevenness_beyond_chance
    assert [
        packs.divides_uneven_queries(each, 10**6, GPU) for each in (chance, dataclasses.replace(chance, others=1e4))
    ] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("dim", "periodic"), [(1, False), (3, True)])
def test_packs_far_apart_in_themselves(session, dim, periodic):
    """Queries from clumps far from each other beside the radius go down the tree together; one is at the edge."""
    points = clouds.clustered(N, dim, seed=33, clusters=7, width=0.001)
    points = np.mod(points - points[0], np.float32(1))
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    index = build(points, 0.002, session=as_gpu(session), **domain)
    assert_counts(index.count(), truth(points, 0.002, **domain))
    queries = np.random.default_rng(34).permutation(points)[:101]
    expected = truth(points, 0.002, queries=queries, **domain)
    assert_same(index.query(queries, sort="index"), expected)


@pytest.mark.parametrize("of_unit", [0, N], ids=["alone", "shared out"])
@pytest.mark.parametrize(("dim", "leaf_size"), [(1, 8), (2, 1), (3, 32), (3, 64)])
def test_packs_reach_as_far_as_their_queries(session, of_unit, dim, leaf_size):
    """To the points of a lattice next to theirs, exactly a radius away, in whole packs and in fewer points than one."""
    side = {1: N, 2: 20, 3: 7}[dim]
    lattice = np.array(list(itertools.product(range(side), repeat=dim)), np.float32) + np.float32(100)
    for n in (1, leaf_size, 33, min(N, len(lattice))):
        points = np.random.default_rng(35).permutation(lattice[:n])
        index = build(
            points, 1.0, session=tuned(as_gpu(session), tree={"few_queries_a_unit": of_unit}), leaf_size=leaf_size
        )
        assert_counts(index.count(), truth(points, 1.0))
        found = index.query(radius=0.5).to_host()
        assert not found.indices.size


def test_queries_that_go_alone_are_not_divided(session):
    """However few: on a CPU, where no items share a query."""
    index = build(CLOUD[:50], session=session)
    if not structure_of(index).config.packed:
        assert "divided no" in index.explain(long=True)


def test_few_queries_are_divided(session):
    """As there are too few packs to keep a device busy."""
    h200 = RECORDED["h200"]
    assert [packs.are_few_queries(m, *with_tuning(h200)) for m in (1, 30_000, 10**6)] == [True, True, False]
    for few, of_unit in ((True, N), (False, 0)):
        index = build(CLOUD, session=tuned(as_gpu(session), tree={"few_queries_a_unit": of_unit}))
        assert f"divided {'yes' if few else 'no'}" in index.explain(long=True)
        assert_counts(index.count(), truth(CLOUD, 0.1))


def test_wide_blocks_keep_their_order(session):
    """Where queries lie far apart beside their largest radius, a pack from all over them would touch too much."""
    index = build(CLOUD, 0.1, session=tuned(as_gpu(session), tree=CROWDED))
    radii = np.random.default_rng(16).random(N).astype(np.float32) * np.float32(0.01)
    radii[CLOUD.max(axis=1) > 0.9] = np.nan
    (placed,) = structure_of(index).order_queries(None, None, cla.to_device(index.session.queue, radii))
    assert np.array_equal(index.session.read(Scratch(placed, N, np.dtype(np.int32))), np.arange(N))


@pytest.mark.parametrize(
    ("dim", "foreign", "periodic"),
    [(3, False, False), (3, True, True), (5, True, False)],
)
def test_crowds_are_counted_by_several_items_each(session, dim, foreign, periodic):
    """Leaves that lie within reach as a whole are not looked into; those that are shared out end up in one sum."""
    n, rng = min(777, 4 * POINTS), np.random.default_rng(31)
    points = (rng.random((n, dim)) ** 3).astype(np.float32)
    points[: n // 4] = points[0]
    queries = rng.random((101, dim)).astype(np.float32) if foreign else None
    domain = {"box": (1.0,) * dim, "periodic": (True, False, *(False,) * (dim - 2))} if periodic else {}
    index = build(points, 0.5, session=tuned(as_gpu(session), tree=CROWDED), leaf_size=5, **domain)
    radii = rng.choice([0, 0.01, 0.1, 0.3, 0.5], 101 if foreign else n).astype(np.float32)
    for radius in (None, 0.2, radii):
        found = truth(points, 0.5 if radius is None else radius, queries=queries, **domain)
        expected = np.diff(found.offsets)
        assert np.array_equal(index.count(queries, radius=radius).get(), expected)
        own = {} if foreign else {"include_self": True}
        assert np.array_equal(index.count(queries, radius=radius, **own).get(), expected + (not foreign))
    assert any(each[-1] for each in index._traversal._programs), "some were shared out"
    shares = dataclasses.replace(structure_of(index).config, divided=True).shares
    assert any(f"counts by {shares} items each" in line for line in structure_of(index).describe()) == (shares > 1)


@pytest.mark.parametrize(("dim", "crowd"), [(1, math.inf), (3, 0), (5, 0)])
def test_what_is_not_finite_is_nobodys_neighbor_in_a_leaf_within_reach(session, dim, crowd):
    """Such leaves are counted as a whole, unless any point is not finite; and again when all are."""
    n = min(200, N)
    points = clouds.uniform(n, dim, seed=32)
    index = build(
        points,
        4.0,
        session=tuned(
            as_gpu(session), tree={"crowd": crowd, "uneven_crowd": 0, "few_queries_a_unit": 0, "many_neighbors": 0}
        ),
        leaf_size=8,
    )
    bad = points.copy()
    bad[5], bad[6, 0] = np.nan, np.inf
    for moved, many in ((bad, n - 2), (points, n)):
        index.update(cla.to_device(index.session.queue, moved))
        finite = np.isfinite(moved).all(axis=1)
        assert np.array_equal(index.count().get(), np.where(finite, many - 1, 0))
        assert np.array_equal(index.count(points[:9]).get(), np.full(9, many))
        with contextlib.nullcontext() if many == n else pytest.raises(clfrnn.InvalidInputError):
            index.check()


@pytest.mark.parametrize("crowd", [0, math.inf], ids=["crowded", "not crowded"])
def test_explain_says_what_counts_are_compiled_for(session, crowd):
    said = build(
        CLOUD[:200],
        4.0,
        session=tuned(
            as_gpu(session), tree={"crowd": crowd, "uneven_crowd": 0, "many_neighbors": 0, "few_queries_a_unit": 0}
        ),
        leaf_size=8,
    ).explain(long=True)
    assert f"divided {'yes' if crowd == 0 else 'no'}" in said
    assert ("items each" in said) == (crowd == 0)


def test_packs_that_nobody_searches_in_look_into_one_image(session):
    """However many lengths the box lies from the origin: radii that are none, and parts of other queries."""
    points = clouds.uniform(min(200, N), 3, seed=21) + np.float32(4000)
    index = build(points, 0.1, session=as_gpu(session), box=((4000,) * 3, (4001,) * 3), periodic=True)
    parts = index.query_blocks(max_bytes=600, sort="index")
    expected = truth(points, 0.1, box=((4000,) * 3, (4001,) * 3), periodic=True)
    assert np.array_equal(np.concatenate([part.to_host().indices for part in parts]), expected.indices)
    index.count(radius=cla.to_device(index.session.queue, np.full(len(points), -1, np.float32))).get()
    with pytest.raises(clfrnn.InvalidInputError, match="radius"):
        index.check()


def test_more_leaves_than_a_list_holds(session):
    """Every leaf is touched by every pack: lists are emptied on the way, and the stack is not outgrown."""
    points = clouds.uniform(N, 3, seed=13)
    index = build(points, 3.0, session=as_gpu(session), leaf_size=1)
    assert structure_of(index)._builder.leaves > structure_of(index).config.leaf_capacity
    assert (index.count().get() == N - 1).all()


def test_functions_that_idle_items_would_show_go_alone(session):
    points = clouds.uniform(min(250, N), 3, seed=14)
    index = build(points, session=as_gpu(session))
    runs = cla.zeros(index.session.queue, 1, np.int32)
    index.visit(
        clfrnn.NeighborFunction(arguments="global int *runs", state="atomic_inc(runs);"), runs=runs, checked=False
    )
    assert runs.get()[0] == len(points)


def test_the_nearest_meets_close_boxes_first(session):
    """What lowers reach2 goes alone, the closer of two boxes first; counts meet boxes in any order."""
    index = build(CLOUD, session=as_gpu(session))
    variant = VisitVariant()
    for name, first in (("nearest", True), ("count", False)):
        function = own_function(name)
        config = structure_of(index).config_for(function, variant)
        assert config.packed != first
        assert (
            "frnn_right_apart < frnn_left_apart" in render("methods/tree/aabb_tree", config, function, variant)
        ) == first


@pytest.mark.parametrize(("band", "leaf_size", "chunk"), [(4, 3, 8), (4, 33, 16), (8, 9, 16), (16, 100, 32)], ids=str)
def test_leaves_of_any_size_come_in_chunks(session, band, leaf_size, chunk):
    """Fewer points than a chunk, one more, a chunk and a part, several and a part; the last leaf of all is not full."""
    points = CLOUD[:-1]
    index = build(points, session=tuned(as_gpu(session), tree={"bands": ((math.inf, band),)}), leaf_size=leaf_size)
    if structure_of(index).config.work_group_size >= band:
        assert (structure_of(index).config.band, structure_of(index).config.chunk) == (band, chunk)
    assert_counts(index.count(), truth(points, 0.1))


@pytest.mark.parametrize(("dim", "leaf_size"), [(2, 33), (5, 9)])
def test_numbers_of_points_come_with_chunks(session, dim, leaf_size):
    """Where points lie in columns, in one of their own, which counts leave out."""
    points = clouds.uniform(N, dim, seed=2)
    index = build(points, 0.3, session=as_gpu(session), leaf_size=leaf_size)
    expected = truth(points, 0.3)
    assert_same(index.query(sort="index"), expected)


@pytest.mark.parametrize(("size", "band", "chunk"), [(8, 16, 32), (16, 4, 16)])
def test_groups_that_a_driver_makes_smaller_search_exactly(session, size, band, chunk):
    """Also those that are no whole band any more, with as many points for each band as before."""
    index = build(CLOUD, session=as_gpu(session), leaf_size=33)
    if structure_of(index).config.work_group_size < size:
        pytest.skip("the device's groups are smaller")
    config = dataclasses.replace(structure_of(index).config, work_group_size=size, band=band, chunk=chunk)
    structure_of(index)._plan = dataclasses.replace(structure_of(index)._plan, config=config)
    assert structure_of(index).config.names()["band"] == min(size, band)
    assert_counts(index.count(), truth(CLOUD, 0.1))


@pytest.mark.parametrize("dim", range(1, 13))
def test_what_an_item_holds_is_bounded(dim):
    """Of the points that a band fetches together, also where bands are smaller as queries are sorted by their radii."""
    for neighbors, leaf_size in itertools.product((3, 50, 10**4), (1, 3, 8, 9, 16, 32, 33, 1000)):
        config = packs.plan_tree_walk(
            *with_tuning(RECORDED["h200"]),
            dim=dim,
            real="float",
            periodic=False,
            leaf_size=leaf_size,
            neighbors=neighbors,
        )
        assert config.packed
        ranked = config.ranked(GPU)
        assert ranked.ranks
        assert ranked.band == min(8, config.band)
        for each in (config, ranked):
            of_item, rest = divmod(each.chunk, each.band)
            assert not rest
            assert of_item == 1 or of_item * (dim + 1) <= 16
        assert config.chunk < 2 * max(config.band, min(max(leaf_size, 8), 32)), "no more than a leaf needs"


def test_packs_of_too_small_groups_go_alone():
    """A driver may allow a kernel fewer work-items than a node has descendants three levels down."""
    config = packs.plan_tree_walk(*with_tuning(RECORDED["h200"]), dim=3, real="float", periodic=False, leaf_size=32)
    assert config.names()["packed"]
    assert not dataclasses.replace(config, work_group_size=4).names()["packed"]


@pytest.mark.parametrize("neighbors", [3.0, 50.0, 1e4])
@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_every_query_has_its_items(size, neighbors):
    """As many that are active as it has shares, those of the same place in each; a driver may make groups smaller."""
    config = packs.plan_tree_walk(
        *with_tuning(RECORDED["h200"]), dim=3, real="float", periodic=False, leaf_size=32, neighbors=neighbors
    )
    config = dataclasses.replace(config, work_group_size=size, divided=True)
    assert config.shares == max(1, size // config.band if size >= 8 else 1)
    of_group = size // config.shares
    for m in range(70):
        unit, end = np.arange(size * -(-m // of_group)), config.units(m)
        turns = unit // size * of_group + unit % of_group
        active = (unit | size - of_group if config.shares > 1 else unit) < end
        assert len(unit) - size < end <= len(unit)
        assert np.array_equal(active, turns < m)
    assert config.units(packs._MOST_DIVIDED) + size <= 2**31, "their numbers are ints"
