"""The AABB-tree: its curve, its boxes, when it is built again, and queries in packs."""

import contextlib
import dataclasses
import itertools
import math
import re

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS, RECORDED, as_gpu

import clfrnn
from clfrnn import clouds, packs, reference, trees
from clfrnn.configs import REAL_SIZE, VisitVariant
from clfrnn.methods import METHODS, tree
from clfrnn.methods.medians import order_by_medians
from clfrnn.methods.tree_order import TreeOrder
from clfrnn.plan import Problem
from clfrnn.rendering import own_function, render
from clfrnn.session import Scratch
from clfrnn.survey import Survey

N = min(900, POINTS)
CLOUD = clouds.uniform(N, 3, seed=1)


def build(points, radius=0.1, *, session, **options):
    return clfrnn.build_index(points, radius, method="aabb_tree", session=session, **options)


def boxes_of(index):
    """Low and high corners by node."""
    corners = index.session.read(index._tree.nodes).reshape(index._builder.leaves + index._builder.held, -1)
    half = corners.shape[1] // 2
    return corners[:, : index.dim], corners[:, half : half + index.dim]


def assert_counts(index, points, radius, **kind):
    expected = np.diff(reference.neighbors(points, radius, **kind).offsets)
    assert np.array_equal(index.count().get(), expected)


# --- the tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_curve_has_no_jumps(session, dim, monkeypatch):
    """Points that follow each other in a full lattice are next to each other, before blocks of them are halved."""
    monkeypatch.setattr(TreeOrder, "_halve", lambda *_: None)
    lattice = np.array(list(itertools.product(range(8), repeat=dim)), np.float32)
    shuffled = lattice[np.random.default_rng(0).permutation(len(lattice))]
    for radius in (1.0, 0.01):  # keys of few bits and of many
        order = build(shuffled, radius, session=session).order.get()
        assert np.abs(np.diff(shuffled[order], axis=0)).sum(axis=1).max(initial=0) == 1


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("leaf_size", [1, 5, None])
def test_boxes_are_those_of_the_points(session, dim, leaf_size):
    """From the leaves that hold points to the root, also after the points have moved."""
    points = clouds.uniform(N, dim, seed=2)
    index = build(points, session=session, **({} if leaf_size is None else {"leaf_size": leaf_size}))
    for moved in (points, points * np.float32(1.5) + np.float32(0.1) * points[::-1]):
        index.update(moved)
        low, high = boxes_of(index)
        order, size = index.order.get(), index._plan.leaf_size
        leaves = index._builder.leaves
        assert index._builder.held == -(-N // size)
        for node in range(1, leaves + index._builder.held):
            level = int(math.log2(node))
            first = (node << (int(math.log2(leaves)) - level)) - leaves
            many = leaves >> level
            inside = moved[order[first * size : (first + many) * size]]
            assert np.array_equal(low[node], inside.min(axis=0, initial=np.inf))
            assert np.array_equal(high[node], inside.max(axis=0, initial=-np.inf))


@pytest.mark.parametrize(
    ("dim", "leaf_size", "n", "periodic"),
    [(2, 1, 700, False), (3, 5, 3001, True), (3, 31, 2000, False), (3, 16, 1024, False), (7, 8, 900, True)],
)
def test_blocks_of_the_curve_are_halved(session, monkeypatch, dim, leaf_size, n, periodic):
    """Full leaves of a part are on one side of the rest, along its widest axis; blocks hold what the curve gave."""
    session = as_gpu(session)
    points = np.mod(clouds.clustered(n, dim, seed=7), np.float32(1))
    options = {"box": [1.0] * dim, "periodic": True} if periodic else {}

    def order():
        return build(points, 0.05, session=session, leaf_size=leaf_size, **options).order.get()

    halved = order()
    monkeypatch.setattr(TreeOrder, "_halve", lambda *_: None)
    before = order()
    making = trees.plan_tree(session.profile, dim=dim, real="float", periodic=periodic)
    leaves = making.halved // making.slots(leaf_size)

    def check(first, leaves):
        part = points[halved[first : first + leaves * leaf_size]]
        if leaves == 1 or len(part) <= leaves // 2 * leaf_size:
            return
        axis = np.argmax(np.ptp(part, axis=0))
        middle = leaves // 2 * leaf_size
        blur = 1e-6 * np.ptp(part[:, axis])
        assert part[:middle, axis].max() <= part[middle:, axis].min() + blur
        check(first, leaves // 2)
        check(first + middle, leaves // 2)

    for first in range(0, n, leaves * leaf_size):
        block = slice(first, first + leaves * leaf_size)
        assert np.array_equal(np.sort(halved[block]), np.sort(before[block]))
        check(first, leaves)


def test_levels_of_very_many_nodes(session, monkeypatch):
    """More nodes beside each other than one group goes up from."""
    monkeypatch.setattr(tree, "_MOST_OF_GROUP", 2)
    monkeypatch.setattr(tree, "_OF_GROUP", 2)
    points = clouds.uniform(min(1200, POINTS), 3, seed=3)
    index = build(points, session=session, leaf_size=1)
    low, high = boxes_of(index)
    assert np.array_equal(low[1], points.min(axis=0))
    assert np.array_equal(high[1], points.max(axis=0))
    assert_counts(index, points, 0.1)


def test_medians_divide_points_evenly():
    """Left children are full, and no point of one lies beyond the points of the other, on some axis."""
    points = clouds.clustered(333, 3, clusters=4, seed=5)
    order = order_by_medians(points, 10)
    assert np.array_equal(np.sort(order), np.arange(333))
    size = 640
    while size > 10:
        for first in range(0, 333, size):
            left, right = points[order[first : first + size // 2]], points[order[first + size // 2 : first + size]]
            if len(right):
                assert (left.max(axis=0) <= right.min(axis=0)).any()
        size //= 2


def test_trees_by_medians_are_tighter(session, monkeypatch):
    """What the paper's construction is kept for: to compare."""
    monkeypatch.setattr(TreeOrder, "_halve", lambda *_: None)  # as tight, of so few points
    volumes = []
    for construction in ("morton", "median"):
        index = build(CLOUD, session=session, construction=construction, leaf_size=8)
        low, high = boxes_of(index)
        volumes.append(np.prod(np.maximum(high - low, 0), axis=1, dtype=float)[index._builder.leaves :].sum())
    assert volumes[1] < volumes[0]


def test_memory_beyond_the_points(session):
    """At most 12 bytes a point at the default size of leaves."""
    for n in (4097, 4352, 5000, 8191, 8192, 8200, 11000):
        sizes = build(clouds.uniform(n, 3, seed=6), session=as_gpu(session)).nbytes
        assert sizes["nodes"] + sizes["leaf_volumes"] <= 12 * n
        assert set(sizes) == {"sorted_points", "nodes", "leaf_volumes"}


# --- when it is built again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["host", "device"])
def test_a_leaf_that_grew_makes_the_next_step_build(session, where):
    index = build(CLOUD, session=session, leaf_size=8)
    assert index.last_update == "rebuilt"
    near, scattered = CLOUD + np.float32(0.001), CLOUD[np.random.default_rng(7).permutation(N)]
    for points, said in ((near, "refit"), (scattered, "refit"), (scattered, "rebuilt"), (scattered, "refit")):
        index.update(points if where == "host" else cla.to_device(session.queue, points))
        assert index.last_update == said
        assert_counts(index, points, 0.1)


def test_the_threshold_is_a_ratio_of_volumes(session):
    """A cloud that doubles its sides has eight times its volume."""
    for threshold, said in ((7.5, "rebuilt"), (8.5, "refit"), (math.inf, "refit")):
        index = build(CLOUD, 0.001, session=session, rebuild_threshold=threshold)
        index.update(CLOUD * np.float32(2))
        assert index.last_update == "refit"
        index.update(CLOUD * np.float32(2))
        assert index.last_update == said


def test_flat_leaves_have_a_volume(session):
    """Points in a plane, on a line, all in one place: what they grow by is measured in shares of the radius."""
    for axes in ((2,), (1, 2), (0, 1, 2)):
        flat = CLOUD.copy()
        flat[:, axes] = 0.5
        index = build(flat, session=session)
        index.update(flat + np.random.default_rng(8).normal(0, 1e-5, flat.shape).astype(np.float32))
        index.update(flat)
        assert index.last_update == "refit"
        assert_counts(index, flat, 0.1)


@pytest.mark.usefixtures("unsliced")
@pytest.mark.parametrize("kind", [lambda session: session, as_gpu], ids=["itself", "as a gpu"])
def test_an_update_waits_for_the_step_before_alone(session, kind, monkeypatch):
    session, waited = kind(session), []
    wait = cl.Event.wait
    monkeypatch.setattr(cl.Event, "wait", lambda event: (waited.append(event), wait(event))[1])
    index = build(CLOUD, session=session, leaf_size=8)
    on_device = cla.to_device(session.queue, CLOUD)
    for _ in range(3):
        before = index._tree.measured
        del waited[:]
        index.update(on_device)
        index.count()
        assert waited == [before]


def test_points_that_jump_have_a_new_order_in_every_step(session):
    """From the third step on: the first is not expected, and the second is what the first has told."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=21)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, told = np.random.default_rng(22), []
    for k in range(8):
        here = points if k >= 5 else points[rng.permutation(len(points))]
        index.update(here)
        told.append(index.last_update)
        assert_counts(index, here, 0.05)
    assert told == ["refit", *["rebuilt"] * 5, "refit", "refit"]


def test_points_that_jump_after_a_rest(session):
    points = clouds.uniform(min(2000, POINTS), 3, seed=24)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, told = np.random.default_rng(25), []
    for k in range(8):
        index.update(points if k < 4 else points[rng.permutation(len(points))])
        told.append(index.last_update)
    assert told == ["refit"] * 5 + ["rebuilt"] * 3


def test_a_new_order_without_room_leaves_the_old_points(session, monkeypatch):
    """Also where the boxes around the new ones were looked at first."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=29)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, before = np.random.default_rng(30), points
    for _ in range(3):
        before = points[rng.permutation(len(points))]
        index.update(before)
    assert index._restless

    def refuse(*_):
        raise clfrnn.DeviceMemoryError("no room", needed=1, available=0, largest_allocation=0)

    monkeypatch.setattr(index, "_grow", refuse)
    with pytest.raises(clfrnn.DeviceMemoryError):
        index.update(clouds.uniform(len(points), 3, seed=31))
    assert_counts(index, before, 0.05)


def test_points_that_drift_are_not_looked_at_twice(session, monkeypatch):
    """Those whose leaves grow little by little are in no hurry."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=26)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, at = np.random.default_rng(27), points
    for _ in range(60):
        at = (at + rng.normal(0, 0.004, at.shape)).astype(np.float32)
        index.update(at)
        assert not index._restless
    assert_counts(index, at, 0.05)


def test_crowds_are_told_by_leaves(session):
    """About as many as there are, whatever the shape of leaves."""
    n, rng = 4000, np.random.default_rng(28)
    flat = rng.random((n, 3), dtype=np.float32) * np.array([1, 1, 0], np.float32)
    line = rng.random((n, 3), dtype=np.float32) * np.array([1, 0, 0], np.float32)
    for cloud, radius, true in (
        (rng.random((n, 3), dtype=np.float32), 0.05, n * 0.05**3),
        (rng.random((n, 3), dtype=np.float32) * np.float32(0.01), 0.005, n * 0.5**3),
        (flat, 0.03, n * 0.03**2),
        (line, 0.01, n * 0.01),
    ):
        for leaf_size in (4, 16):
            index = build(cloud, radius, session=as_gpu(session), leaf_size=leaf_size)
            index._is_crowd()
            assert true / 4 <= index._crowd <= 4 * true


def test_a_stray_point_spoils_no_later_tree(session):
    """An order that is made anew while the box is wide tells points apart as well as the first did."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=17)
    index = build(points, 0.05, session=session)

    def tested():
        return float(re.search(r"candidates: ([\d.]+) tested", index.explain())[1])

    least = tested()
    stray = points.copy()
    stray[0] = 300
    for each in (stray, stray, points, points, points):
        index.update(each)
        assert tested() < 2 * least + 10


def test_leaves_that_held_no_number_grow(session):
    """An order made of rows that are no numbers is not what later ones are compared with."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=18)
    index = build(points, 0.05, session=session, leaf_size=8)
    bad = np.full_like(points, np.nan)
    scattered = points[np.random.default_rng(19).permutation(len(points))]
    for each in (scattered, bad, bad, points):
        index.update(cla.to_device(session.queue, each))
        with contextlib.suppress(clfrnn.InvalidInputError):
            index.check()
    index.update(points)
    assert index.last_update == "rebuilt"
    assert_counts(index, points, 0.05)


def test_a_tree_that_is_never_built_again_asks_for_nothing(session, monkeypatch):
    """Copies to the host are waited for when they are dropped."""
    index = build(CLOUD, session=session, rebuild_threshold=math.inf)
    on_device = cla.to_device(session.queue, CLOUD)
    monkeypatch.setattr(cl, "enqueue_copy", None)
    index.update(on_device)
    assert index.last_update == "refit"


def test_medians_begin_where_the_box_does(session):
    """Points about the origin are at home in a box that begins below it."""
    points = clouds.uniform(N, 3, seed=20) - np.float32(0.5)
    index = build(points, 0.05, session=session, construction="median", leaf_size=8, box=(1, 1, 1), periodic=True)
    low, high = boxes_of(index)
    assert (high - low)[index._builder.leaves : index._builder.leaves + N // 8].max() < 0.9


@pytest.mark.parametrize("dim", [1, 4, 7, 12])
def test_many_dimensions(session, dtype, dim):
    if dtype.itemsize == 8 and dim > 4:
        pytest.skip("every dimension is another program to compile")
    points = clouds.uniform(min(300, POINTS), dim, dtype=dtype, seed=9)
    radius = 0.25 * math.sqrt(dim)
    index = build(points, radius, session=session)
    for moved in (points, points[::-1].copy(), points[::-1].copy()):
        index.update(moved)
        expected = reference.neighbors(moved, radius)
        found = index.query(sort="index", distances=True).to_host()
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.indices, expected.indices)
        nearest = index.nearest(points[:20]).distances.get()
        other = reference.neighbors(moved, radius, queries=points[:20])
        assert np.array_equal(nearest, np.minimum.reduceat(other.distances, other.offsets[:-1]))


# --- packs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_unit", [0, N], ids=["alone", "shared out"])
def test_packs_find_what_others_find(session, monkeypatch, of_unit):
    """Queries that go down the tree together: of one radius, of radii of their own, halves, parts."""
    monkeypatch.setattr(packs, "_FEW_OF_UNIT", of_unit)
    points = clouds.uniform(N, 3, seed=10)
    index = build(points, session=as_gpu(session))
    assert index.config.packed
    assert_counts(index, points, 0.1)
    radii = (np.random.default_rng(11).random(N) ** 3 * 0.1).astype(np.float32)
    radii[::7] = 0
    found = index.query(radius=radii, sort="index").to_host()
    assert np.array_equal(found.indices, reference.neighbors(points, radii).indices)
    half = index.query(half=True, sort="index").to_host()
    assert np.array_equal(half.indices, reference.neighbors(points, 0.1, half=True).indices)
    parts = [part.to_host().indices for part in index.query_blocks(max_bytes=4 * N, sort="index")]
    assert len(parts) > 1
    assert np.array_equal(np.concatenate(parts), reference.neighbors(points, 0.1).indices)


@pytest.mark.parametrize("periodic", [(True, True, True), (False, True, False)])
def test_packs_look_into_images(session, periodic):
    """All queries of a group look into every image that one of them meets."""
    domain = {"box": (1.0, 0.7, 1.0), "periodic": periodic}
    points = clouds.uniform(min(400, N), 3, seed=12)
    index = build(points, 0.2, session=as_gpu(session), **domain)
    for moved in (points, points * np.float32(1.6) - np.float32(0.3)):
        index.update(moved)
        assert_counts(index, moved, 0.2, **domain)


@pytest.mark.parametrize(
    ("foreign", "periodic"), [(False, False), (True, True)], ids=["self", "foreign in a periodic box"]
)
def test_queries_are_sorted(session, foreign, periodic, monkeypatch):
    """Foreign ones along the curve, and those with radii of their own by these; in lists, parts, and the nearest."""
    monkeypatch.setattr(packs, "_CROWD", 0)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    domain = {"box": (1.0, 1.0, 1.0), "periodic": (True, False, True)} if periodic else {}
    rng = np.random.default_rng(15)
    points = clouds.uniform(min(300, N), 3, seed=15) * np.float32(1.7)
    queries = (rng.random((200, 3)) * 3 - 1).astype(np.float32) if foreign else None
    radii = (0.2 * 10 ** rng.uniform(-3, 0, 200 if foreign else len(points))).astype(np.float32)
    radii[:3] = 0
    index = build(points, 0.2, session=as_gpu(session), **domain)
    assert index.config.sorts
    assert index._is_crowd()
    for radius in (None, radii):
        expected = reference.neighbors(points, 0.2 if radius is None else radius, queries=queries, **domain)
        found = index.query(queries, radius=radius, sort="index").to_host()
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.indices, expected.indices)
        parts = index.query_blocks(queries, radius=radius, sort="index", max_bytes=3000)
        assert np.array_equal(np.concatenate([part.to_host().indices for part in parts]), expected.indices)
        nearest = index.nearest(queries, radius=radius).distances.get()
        has = np.diff(expected.offsets) > 0
        assert np.array_equal(nearest[has], np.minimum.reduceat(expected.distances, expected.offsets[:-1][has]))
        assert np.isinf(nearest[~has]).all()


def test_crowds_have_their_radii_sorted(session, monkeypatch):
    """A crowd is one by what the leaves hold, wherever a sample would have looked; asked once, whatever comes later."""
    n = min(2000, POINTS)
    points = clouds.uniform(n, 3, seed=23)
    monkeypatch.setattr(packs, "_CROWD", n * 0.1**3 * 20)
    for cloud, ranks in ((points, False), (points * np.float32(0.1), True)):
        for threshold in (10, math.inf):
            index = build(cloud, 0.1, session=as_gpu(session), rebuild_threshold=threshold)
            if threshold == 10:
                assert index._is_crowd() == ranks
            for _ in range(2):
                index.update(points)
            radii = np.full(n, 0.1, np.float32)
            assert np.array_equal(index.count(radius=radii).get(), index.count().get())
            assert index._is_crowd() == ranks
    assert not build(points * np.float32(0.1), 0.1, session=session)._is_crowd() or session.profile.kind == "gpu"


@pytest.mark.parametrize("foreign", [False, True], ids=["self", "foreign"])
def test_radii_side_by_side_are_alike(session, foreign, monkeypatch):
    """The largest of a block first, each pack of them in the order of the curve; what no radius can be comes last."""
    monkeypatch.setattr(packs, "_CROWD", 0)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    index = build(CLOUD, 1.0, session=as_gpu(session))
    radii = np.random.default_rng(16).random(N).astype(np.float32).round(2)
    radii[5] = np.nan
    queries = cla.to_device(index.session.queue, CLOUD) if foreign else None
    (placed,) = index.place_queries(queries, None, cla.to_device(index.session.queue, radii))
    order = index.session.read(Scratch(placed, N, np.dtype(np.int32)))
    numbers = order if foreign else index.order.get()[order]
    assert np.array_equal(np.sort(order), np.arange(N))
    block = index._builder.config.block
    assert block >= 256 or index.session.profile.usable_local_memory < 4096
    for first in range(0, N, block):
        found = np.nan_to_num(radii[numbers[first : first + block]], nan=-1)
        parts = [found[at : at + 32] for at in range(0, len(found), 32)]
        assert all(larger.min() >= smaller.max() for larger, smaller in itertools.pairwise(parts))
        assert foreign or all((np.diff(order[at : at + 32]) > 0).all() for at in range(first, first + len(found), 32))


def test_blocks_of_like_radii_keep_their_order(session, monkeypatch):
    monkeypatch.setattr(packs, "_CROWD", 0)
    index = build(CLOUD, 1.0, session=as_gpu(session))
    alike = (1 - np.random.default_rng(16).random(N) * 0.3).astype(np.float32)
    for radii, stays in ((alike, True), (np.where(np.arange(N) % 7, alike, 0).astype(np.float32), False)):
        (placed,) = index.place_queries(None, None, cla.to_device(index.session.queue, radii))
        order = index.session.read(Scratch(placed, N, np.dtype(np.int32)))
        assert np.array_equal(order, np.arange(N)) == stays


def test_only_uneven_crowds_are_divided():
    even = Survey(n=10**6, low=(0.0,) * 3, high=(1.0,) * 3, others=500.0)
    uneven = dataclasses.replace(even, unevenness=8.0)
    assert [packs.pays_to_divide(each, 10**6) for each in (even, uneven)] == [False, True]
    assert not packs.pays_to_divide(uneven, 2**31 - 1), "the numbers of items would be no ints"


@pytest.mark.parametrize(("dim", "periodic"), [(1, False), (3, True)])
def test_packs_far_apart_in_themselves(session, dim, periodic):
    """Queries from clumps far from each other beside the radius go down the tree together; one is at the edge."""
    points = clouds.clustered(N, dim, seed=33, clusters=7, width=0.001)
    points = np.mod(points - points[0], np.float32(1))
    domain = {"box": (1.0,) * dim, "periodic": True} if periodic else {}
    index = build(points, 0.002, session=as_gpu(session), **domain)
    assert_counts(index, points, 0.002, **domain)
    queries = np.random.default_rng(34).permutation(points)[:101]
    expected = reference.neighbors(points, 0.002, queries=queries, **domain)
    assert np.array_equal(index.query(queries, sort="index").to_host().indices, expected.indices)


def test_queries_that_go_alone_are_not_divided(session):
    """However few: on a CPU, where no items share a query."""
    index = build(CLOUD[:50], session=session)
    if not index.config.packed:
        assert "divided False" in index.explain()


def test_few_queries_are_divided(session, monkeypatch):
    """As there are too few packs to keep a device busy."""
    h200 = RECORDED["h200"]
    assert [packs.are_few(m, h200) for m in (1, 30_000, 10**6)] == [True, True, False]
    for few, of_unit in ((True, N), (False, 0)):
        monkeypatch.setattr(packs, "_FEW_OF_UNIT", of_unit)
        index = build(CLOUD, session=as_gpu(session))
        assert f"divided {few}" in index.explain()
        assert_counts(index, CLOUD, 0.1)


def test_wide_blocks_keep_their_order(session, monkeypatch):
    """Where queries lie far apart beside their largest radius, a pack from all over them would touch too much."""
    monkeypatch.setattr(packs, "_CROWD", 0)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    index = build(CLOUD, 0.1, session=as_gpu(session))
    radii = np.random.default_rng(16).random(N).astype(np.float32) * np.float32(0.01)
    radii[CLOUD.max(axis=1) > 0.9] = np.nan
    (placed,) = index.place_queries(None, None, cla.to_device(index.session.queue, radii))
    assert np.array_equal(index.session.read(Scratch(placed, N, np.dtype(np.int32))), np.arange(N))


@pytest.mark.parametrize(
    ("dim", "foreign", "periodic"),
    [(3, False, False), (3, False, True), (3, True, True), (7, True, False)],
)
def test_crowds_are_counted_by_several_items_each(session, dim, foreign, periodic, monkeypatch):
    """Leaves that lie within reach as a whole are not looked into; those that are shared out end up in one sum."""
    monkeypatch.setattr(packs, "_CROWD", 0)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    n, rng = min(777, 4 * POINTS), np.random.default_rng(31)
    points = (rng.random((n, dim)) ** 3).astype(np.float32)
    points[: n // 4] = points[0]
    queries = rng.random((101, dim)).astype(np.float32) if foreign else None
    domain = {"box": (1.0,) * dim, "periodic": (True, False, *(False,) * (dim - 2))} if periodic else {}
    index = build(points, 0.5, session=as_gpu(session), leaf_size=5, **domain)
    radii = rng.choice([0, 0.01, 0.1, 0.3, 0.5], 101 if foreign else n).astype(np.float32)
    for radius in (None, 0.2, radii):
        found = reference.neighbors(points, 0.5 if radius is None else radius, queries=queries, **domain)
        expected = np.diff(found.offsets)
        assert np.array_equal(index.count(queries, radius=radius).get(), expected)
        own = {} if foreign else {"include_self": True}
        assert np.array_equal(index.count(queries, radius=radius, **own).get(), expected + (not foreign))
    assert any(each[-1] for each in index._programs), "some were shared out"
    shares = dataclasses.replace(index.config, divided=True).shares
    assert any(f"counts by {shares} items each" in line for line in index.describe()) == (shares > 1)


@pytest.mark.parametrize("dim", [1, 3, 5])
@pytest.mark.parametrize("crowd", [0, math.inf], ids=["crowded", "not crowded"])
def test_what_is_not_finite_is_nobodys_neighbor_in_a_leaf_within_reach(session, dim, crowd, monkeypatch):
    """Such leaves are counted as a whole, unless any point is not finite; and again when all are."""
    monkeypatch.setattr(packs, "_CROWD", crowd)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_FEW_OF_UNIT", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    n = min(200, N)
    points = clouds.uniform(n, dim, seed=32)
    index = build(points, 4.0, session=as_gpu(session), leaf_size=8)
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
def test_explain_says_what_counts_are_compiled_for(session, crowd, monkeypatch):
    monkeypatch.setattr(packs, "_CROWD", crowd)
    monkeypatch.setattr(packs, "_UNEVENNESS", 0)
    monkeypatch.setattr(packs, "_MANY", 0)
    monkeypatch.setattr(packs, "_FEW_OF_UNIT", 0)
    said = build(CLOUD[:50], session=as_gpu(session)).explain()
    assert f"divided {crowd == 0}" in said
    assert ("items each" in said) == (crowd == 0)


def test_packs_that_nobody_searches_in_look_into_one_image(session):
    """However many lengths the box lies from the origin: radii that are none, and parts of other queries."""
    points = clouds.uniform(min(200, N), 3, seed=21) + np.float32(4000)
    index = build(points, 0.1, session=as_gpu(session), box=((4000,) * 3, (4001,) * 3), periodic=True)
    parts = index.query_blocks(max_bytes=600, sort="index")
    expected = reference.neighbors(points, 0.1, box=((4000,) * 3, (4001,) * 3), periodic=True)
    assert np.array_equal(np.concatenate([part.to_host().indices for part in parts]), expected.indices)
    index.count(radius=cla.to_device(index.session.queue, np.full(len(points), -1, np.float32))).get()
    with pytest.raises(clfrnn.InvalidInputError, match="radius"):
        index.check()


def test_more_leaves_than_a_list_holds(session):
    """Every leaf is touched by every pack: lists are emptied on the way, and the stack is not outgrown."""
    points = clouds.uniform(N, 3, seed=13)
    index = build(points, 3.0, session=as_gpu(session), leaf_size=1)
    assert index._builder.leaves > index.config.room
    assert (index.count().get() == N - 1).all()


def test_functions_that_idle_items_would_show_go_alone(session):
    points = clouds.uniform(min(250, N), 3, seed=14)
    index = build(points, session=as_gpu(session))
    runs = cla.zeros(index.session.queue, 1, np.int32)
    index.visit(clfrnn.NeighborFunction(arguments="global int *runs", state="atomic_inc(runs);"), runs=runs)
    assert runs.get()[0] == len(points)


def test_the_nearest_meets_close_boxes_first(session):
    """What lowers reach2 goes alone, the closer of two boxes first; counts meet boxes in any order."""
    index = build(CLOUD, session=as_gpu(session))
    variant = VisitVariant()
    for name, first in (("nearest", True), ("count", False)):
        function = own_function(name)
        config = index.config_for(function, variant)
        assert config.packed != first
        assert ("frnn_right_apart < frnn_left_apart" in render("aabb_tree", config, function, variant)) == first


def test_packs_of_too_small_groups_go_alone():
    """A driver may allow a kernel fewer work-items than a node has descendants three levels down."""
    config = packs.plan_tree_walk(RECORDED["h200"], dim=3, real="float", periodic=False)
    assert config.names()["packed"]
    assert not dataclasses.replace(config, work_group_size=4).names()["packed"]


@pytest.mark.parametrize("neighbors", [3.0, 50.0])
@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_every_query_has_its_items(size, neighbors):
    """As many that are active as it has shares, those of the same place in each; a driver may make groups smaller."""
    config = packs.plan_tree_walk(RECORDED["h200"], dim=3, real="float", periodic=False, neighbors=neighbors)
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


# --- plans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("local_memory", [None, 8192, 4096, 2048])
@pytest.mark.parametrize("name", RECORDED)
def test_plans_fit_the_device(name, local_memory):
    profile = RECORDED[name]
    if local_memory is not None:
        profile = dataclasses.replace(profile, local_memory=local_memory, local_reserve=0)
    for dim, real in itertools.product(range(1, 13), ("float", "double")):
        walk = packs.plan_tree_walk(profile, dim=dim, real=real, periodic=True)
        assert walk.work_group_size <= profile.max_work_group_size
        assert not walk.packed or walk.local_memory <= profile.usable_local_memory
        assert walk.packed <= (profile.kind == "gpu")
        making = trees.plan_tree(profile, dim=dim, real=real, periodic=True)
        sorting = making.block * (REAL_SIZE[real] + 4) + making.work_group_size * REAL_SIZE[real]
        assert sorting <= profile.usable_local_memory
        assert 1 <= making.work_group_size <= profile.max_work_group_size
        assert making.leaves & (making.leaves - 1) == 0


def test_items_keep_few_points_of_a_block():
    """As code is written out for each of them, on a device of small groups, too."""
    for size in (1, 2, 8, 64):
        profile = dataclasses.replace(RECORDED["h200"], max_work_group_size=size)
        making = trees.plan_tree(profile, dim=3, real="float", periodic=False)
        assert making.halved == 16 * size
        assert len(render("tree", making)) < 100_000


def declared(source, real):
    """Bytes of the arrays in local memory of a kernel."""
    bytes_of = {"int": 4, "uint": 4, "real": REAL_SIZE[real], "frnn_record": 4 * REAL_SIZE[real]}
    found = re.findall(r"^ +local (\w+) (\w+\[[^;]*);", source, re.MULTILINE)
    sizes = {
        kind: re.findall(r"\[([\d* ]+)\]", " ".join(names for each, names in found if each == kind))
        for kind, _ in found
    }
    return sum(bytes_of[kind] * math.prod(map(int, size.split("*"))) for kind in sizes for size in sizes[kind])


@pytest.mark.parametrize("local_memory", [48 << 10, 16 << 10, 8 << 10])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("real", ["float", "double"])
def test_local_memory_is_what_kernels_declare(real, periodic, local_memory):
    profile = dataclasses.replace(RECORDED["h200"], local_memory=local_memory, local_reserve=0)
    for dim in (1, 2, 3, 4, 5, 12):
        making = trees.plan_tree(profile, dim=dim, real=real, periodic=periodic)
        source = render("tree", making)
        assert ("order_by_halves" in source) == (making.halved > 0)
        for kernel in source.split("\nkernel ")[1:]:
            assert declared(kernel, real) <= profile.usable_local_memory
        walk = packs.plan_tree_walk(profile, dim=dim, real=real, periodic=periodic)
        for divided in (False, True) if walk.packed else ():
            config = dataclasses.replace(walk, divided=divided)
            found = declared(render("aabb_tree", config, own_function("count"), VisitVariant()), real)
            assert found <= walk.local_memory if divided else found == walk.local_memory


@pytest.mark.parametrize("neighbors", [0.0, 50.0, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("name", RECORDED)
def test_nodes_take_little_memory_by_default(name, neighbors):
    """32 bytes a node and 4 a leaf, in three dimensions: 12 a point. Candidates fill the loops over them."""
    for n in (100, 1000, 1 << 20, (1 << 20) + 1, 1_100_000, 1_300_000, 10**9):
        size = trees.default_leaf_size(RECORDED[name], n, neighbors)
        leaves, held = trees.count_leaves(n, size), trees.needed_leaves(n, size)
        assert held * size >= n > (held - 1) * size
        assert 32 * (leaves + held) + 4 * held <= 12 * n
        assert size in (8, 16, 32)
    for n in range(9):
        assert trees.count_leaves(n, trees.default_leaf_size(RECORDED[name], n, neighbors)) == 1


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("n", [1, 8, 33, 41, 73])
def test_leaves_that_are_not_kept_hold_nothing(session, kind, n):
    """Whoever looks everywhere finds each point once."""
    session = as_gpu(session) if kind == "gpu" else session
    points = clouds.uniform(n, 3, seed=7)
    index = build(points, 1e19, session=session, leaf_size=8)
    assert (index.count().get() == n - 1).all()
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = index.nearest()
    assert np.allclose(nearest.distances.get() ** 2, apart.min(axis=1))
    assert np.array_equal(nearest.indices.get() == -1, np.isinf(apart.min(axis=1)))


def test_leaves_are_larger_where_points_have_more_neighbors():
    profile = next(profile for profile in RECORDED.values() if profile.kind == "gpu")
    sizes = [trees.default_leaf_size(profile, 1 << 20, neighbors) for neighbors in (3.0, 100.0, 1000.0)]
    assert sizes == [8, 16, 32]
    survey = Survey(n=1 << 20, low=(0.0,) * 3, high=(1.0,) * 3)
    assert survey.neighbors((49 / (4.18879 * 2**20)) ** (1 / 3)) == pytest.approx(49, rel=1e-3)
    assert survey.neighbors(0.0) == 0.0


def test_bits_follow_crowding_and_radius():
    def bits(radius, others=0.0, dim=3, real="float"):
        survey = Survey(n=10**6, low=(0.0,) * dim, high=(1.0,) * dim, others=others)
        return trees.curve_bits(Problem(n=10**6, dim=dim, real=real, radius=radius, survey=survey))

    assert bits(0.1) < bits(0.01) < bits(0.001)
    assert bits(0.01, 1000.0) > bits(0.01)
    assert bits(1e-30) == bits(0.0) == 21
    assert bits(1e-30, dim=12) == 5
    assert bits(1e-30, dim=1) == 24
    assert bits(1e-30, dim=1, real="double") == 31
    assert bits(1e30) == 1
    flat = Survey(n=10, low=(1.0,), high=(1.0,))
    assert trees.curve_bits(Problem(n=10, dim=1, real="float", radius=0.1, survey=flat)) == 1


def test_halves_need_fewer_bits_where_points_are_even():
    """Within a block they say nothing; where points crowd unevenly, one cube might hold many blocks."""

    def bits(unevenness, *, halved):
        survey = Survey(n=10**6, low=(0.0,) * 3, high=(1.0,) * 3, others=20.0, unevenness=unevenness)
        return trees.curve_bits(Problem(n=10**6, dim=3, real="float", radius=0.01, survey=survey), halved=halved)

    assert bits(1.0, halved=True) < bits(1.0, halved=False)
    assert bits(5.0, halved=True) == bits(5.0, halved=False)


@pytest.mark.parametrize("dim", range(1, 13))
def test_keys_of_queries_fit_a_number(dim):
    for m in (0, 1, 1000, 10**9):
        for most in (1, 5, 21):
            bits = trees.query_bits(m, dim, most)
            assert 1 <= bits <= most
            assert bits * dim <= 32


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"construction": "sah"}, "construction: expected 'morton' or 'median', got 'sah'"),
        ({"leaf_size": 0}, "leaf_size: expected a number of points from 1 to 65,536, got 0"),
        ({"leaf_size": 2.5}, "leaf_size: expected a number of points from 1 to 65,536, got 2.5"),
        ({"leaf_size": True}, "leaf_size: expected a number of points from 1 to 65,536, got True"),
        ({"rebuild_threshold": 0.5}, "rebuild_threshold: expected a ratio of volumes of at least 1, got 0.5"),
        ({"rebuild_threshold": math.nan}, "rebuild_threshold: expected a ratio of volumes of at least 1, got nan"),
        ({"rebuild_threshold": "often"}, "rebuild_threshold: expected a ratio of volumes of at least 1, got 'often'"),
    ],
)
def test_options_that_make_no_sense(options, said):
    with pytest.raises(clfrnn.InvalidInputError) as caught:
        METHODS["aabb_tree"].check(options)
    assert str(caught.value).startswith(said)
    assert ";" in str(caught.value) or "leave it out" in str(caught.value)
