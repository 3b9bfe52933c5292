"""The AABB-tree: its curve, its boxes, when it is built again, and its plans; queries in packs are in test_packs.py."""

import contextlib
import dataclasses
import functools
import itertools
import math
import re

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import (
    POINTS,
    RECORDED,
    as_gpu,
    assert_counts,
    assert_same,
    own_session,
    refusing,
    truth,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds
from clfrnn.config import REAL_SIZE, VisitVariant
from clfrnn.methods import METHODS
from clfrnn.methods.tree import build_plan as trees
from clfrnn.methods.tree import walk_plan as packs
from clfrnn.methods.tree.medians import order_by_medians
from clfrnn.methods.tree.order import TreeOrder
from clfrnn.runtime.rendering import own_function, render
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning, default_tuning

N = min(900, POINTS)
CLOUD = clouds.uniform(N, 3, seed=1)


def build(points, radius=0.1, *, session, **options):
    return clfrnn.build_index(points, radius, method="aabb_tree", session=session, **options)


def tree_of(index):
    """The search structure."""
    return index._traversal.structure


@functools.cache
def as_cpu(session):
    """A session that plans as for a CPU."""
    return own_session(session, kind="cpu")


def boxes_of(index):
    """Low and high corners by node."""
    corners = index.session.read(tree_of(index)._tree.nodes).reshape(
        tree_of(index)._builder.leaves + tree_of(index)._builder.used_leaves, -1
    )
    half = corners.shape[1] // 2
    return corners[:, : index.dim], corners[:, half : half + index.dim]


# --- the tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_curve_has_no_jumps(session, dim):
    """Points that follow each other in a full lattice are next to each other, sorted by all of their places."""
    lattice = np.array(list(itertools.product(range(8), repeat=dim)), np.float32)
    shuffled = lattice[np.random.default_rng(0).permutation(len(lattice))]
    order = build(shuffled, session=as_cpu(session)).order.get()
    assert np.abs(np.diff(shuffled[order], axis=0)).sum(axis=1).max(initial=0) == 1


def keys_of(session, monkeypatch, points, kernel):
    """What `kernel` writes of points, and the order that is made of it."""
    keys, launched = [], clfrnn.Session.launch
    dtype = np.dtype(np.uint32 if kernel == "curve_parts" else np.uint64)

    def launch(self, launching, *arguments):
        event = launched(self, launching, *arguments)
        if launching.name == kernel:
            keys.append(session.read(clfrnn.runtime.scratch.Scratch(arguments[-1], len(points), dtype)))
        return event

    with monkeypatch.context() as patch:
        patch.setattr(clfrnn.Session, "launch", launch)
        patch.setattr(TreeOrder, "_halve", lambda *_: None)
        order = build(points, session=session).order.get()
    return keys[0].astype(np.int64), order


@pytest.mark.parametrize("kind", ["even", "crowded", "in one place", "with a stray"])
def test_parts_of_the_curve_follow_the_points(session, monkeypatch, kind):
    """They stand in its order, and hold as many points each as a sample can tell, however points crowd."""
    n, cut = 6000, trees.plan_curve_cut(6000, session.tuning)
    points = clouds.uniform(n, 3, seed=3) if kind == "even" else clouds.multiscale(n, 3, seed=3)
    points[:: 2 if kind == "in one place" else n] = points[5]
    if kind == "with a stray":
        points[7] = 100
    parts, rough = keys_of(as_gpu(session), monkeypatch, points, "curve_parts")
    places, whole = keys_of(as_cpu(session), monkeypatch, points, "curve_places")
    for order, keys in ((rough, parts), (whole, places)):
        assert np.array_equal(order, np.argsort(keys, kind="stable"))
    assert (np.diff(parts[np.lexsort((parts, places))]) >= 0).all(), "one curve, whatever it is cut into"
    assert parts.max() < 1 << cut.bits
    ranges = np.bincount(parts >> cut.parts, minlength=cut.sampled)
    if kind != "in one place":
        assert ranges.max() <= 12 * n / cut.sampled
    assert (ranges > 0).sum() > cut.sampled / 3


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_leaves_are_narrow_in_the_tightest_clusters(session, kind):
    """Wherever few bits would take a cluster for one place."""
    session = as_gpu(session) if kind == "gpu" else as_cpu(session)
    rng = np.random.default_rng(8)
    points = rng.uniform(size=(20, 3)).repeat(1000, axis=0) + 1e-4 * rng.standard_normal((20_000, 3))
    points = rng.permutation(points).astype(np.float32)
    index = build(points, 1e-5, session=session, leaf_size=8)
    low, high = boxes_of(index)
    leaves, held = tree_of(index)._builder.leaves, tree_of(index)._builder.used_leaves
    sides = (high - low)[leaves : leaves + held].max(axis=1)
    assert np.median(sides) < 1.5e-4


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("leaf_size", [1, 5, None])
def test_boxes_are_those_of_the_points(session, dim, leaf_size):
    """From the leaves that hold points to the root, also after the points have moved."""
    points = clouds.uniform(N, dim, seed=2)
    index = build(points, session=session, **({} if leaf_size is None else {"leaf_size": leaf_size}))
    for moved in (points, points * np.float32(1.5) + np.float32(0.1) * points[::-1]):
        index.update(moved)
        low, high = boxes_of(index)
        order, size = index.order.get(), tree_of(index)._plan.leaf_size
        leaves = tree_of(index)._builder.leaves
        assert tree_of(index)._builder.used_leaves == -(-N // size)
        for node in range(1, leaves + tree_of(index)._builder.used_leaves):
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
    making = trees.plan_tree(session.profile, session.tuning, dim=dim, real="float", periodic=periodic, leaves=256)
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


def in_groups_of(session, leaves):
    """A session whose trees are made by groups of so many leaves."""
    return tuned(session, tree={"least_group_leaves": leaves, "most_group_leaves": leaves})


@pytest.mark.parametrize("leaves", [2, 16])
@pytest.mark.parametrize(("dim", "dtype"), [(3, np.float32), (2, np.float64), (5, np.float64)])
def test_tops_of_very_many_groups(session, leaves, dim, dtype):
    """More groups than the last of them has slots for, once and often."""
    if dtype is np.float64 and not session.profile.fp64:
        pytest.skip("the device has no fp64")
    session = in_groups_of(session, leaves)
    points = clouds.uniform(min(1200, POINTS), dim, seed=3).astype(dtype)
    index = build(points, session=session, leaf_size=1)
    for each in (points, points[::-1].copy(), points):
        index.update(each)
        low, high = boxes_of(index)
        many = len(low) // 2
        assert np.array_equal(low[1:many], np.minimum(low[2::2], low[3::2])[: many - 1])
        assert np.array_equal(high[1:many], np.maximum(high[2::2], high[3::2])[: many - 1])
        assert np.array_equal(low[1], points.min(axis=0))
        assert np.array_equal(high[1], points.max(axis=0))
        assert_counts(index.count(), truth(each, 0.1))


@pytest.mark.parametrize("leaves", [2, 16])
def test_what_groups_found_is_put_together(session, leaves):
    """How far a leaf has grown, how crowded points are, the first bad row: wherever it is, in few or many groups."""
    points = clouds.uniform(min(1200, POINTS), 3, seed=4)
    whole = build(points, session=session, leaf_size=2)
    crowd = tree_of(whole)._measure()[1]
    session = in_groups_of(session, leaves)
    index = build(points, session=session, leaf_size=2, rebuild_threshold=2.0**100)
    assert tree_of(index)._builder._groups >= 2
    assert tree_of(index)._measure()[1] == pytest.approx(crowd, rel=1e-4)
    order = index.order.get()
    for place in (0, len(points) // 3, len(points) // 2, len(points) - 1):
        moved, bad = points.copy(), points.copy()
        moved[order[place]] += np.float32(1000)
        index.update(moved)
        assert 10 < tree_of(index)._measure()[0] < 100
        bad[order[place:]] = np.nan
        index.update(cla.to_device(session.queue, bad))
        assert index._traversal.checks._points.read().first_bad == order[place:].min()
        with pytest.raises(clfrnn.InvalidInputError):
            index.check()
        index.update(points)
        assert tree_of(index)._measure()[0] == 0
        index.check()


def test_a_box_that_is_known_stays(session):
    """That of points outside of a periodic box is not that of their images in it."""
    points = clouds.uniform(min(300, POINTS), 3, seed=5) * np.float32(3) - np.float32(1)
    index = build(points, session=session, leaf_size=4, box=(1, 1, 1), periodic=True)
    for each in (points, points[::-1].copy()):
        index.update(each)
        box = index._traversal.checks.box_of_points()
        assert np.array_equal(box[:2], (each.min(axis=0), each.max(axis=0)))


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
        volumes.append(np.prod(np.maximum(high - low, 0), axis=1, dtype=float)[tree_of(index)._builder.leaves :].sum())
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
        assert_counts(index.count(), truth(points, 0.1))


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
        assert_counts(index.count(), truth(flat, 0.1))


def test_flat_leaves_have_a_volume_without_a_radius(session):
    """So that a tree that nothing is within reach of follows its points, too."""
    flat = CLOUD.copy()
    flat[:, 2] = 0.5
    index = build(flat, 0.0, session=session)
    for said in ("refit", "rebuilt"):
        index.update(CLOUD)
        assert index.last_update == said
    assert_counts(index.count(), truth(CLOUD, 0.0))


@pytest.mark.usefixtures("unsliced")
@pytest.mark.parametrize("kind", [lambda session: session, as_gpu], ids=["itself", "as a gpu"])
def test_an_update_waits_for_the_step_before_alone(session, kind, calls_of):
    session, waited = kind(session), calls_of(cl.Event, "wait")
    index = build(CLOUD, session=session, leaf_size=8)
    on_device = cla.to_device(session.queue, CLOUD)
    for _ in range(3):
        before = tree_of(index)._builder._growth._copy[0]
        del waited[:]
        index.update(on_device)
        index.count()
        assert waited == [(before,)]


def test_points_that_jump_have_a_new_order_in_every_step(session):
    """From the third step on: the first is not expected, and the second is what the first has told."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=21)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, told = np.random.default_rng(22), []
    for k in range(8):
        here = points if k >= 5 else points[rng.permutation(len(points))]
        index.update(here)
        told.append(index.last_update)
        assert_counts(index.count(), truth(here, 0.05))
    assert told == ["refit", *["rebuilt"] * 5, "refit", "refit"]


def test_points_that_jump_after_a_rest(session):
    points = clouds.uniform(min(2000, POINTS), 3, seed=24)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, told = np.random.default_rng(25), []
    for k in range(8):
        index.update(points if k < 4 else points[rng.permutation(len(points))])
        told.append(index.last_update)
    assert told == ["refit"] * 5 + ["rebuilt"] * 3


def test_a_new_order_without_memory_leaves_the_old_points(session):
    """Also where the boxes around the new ones were looked at first."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=29)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, before = np.random.default_rng(30), points
    for _ in range(3):
        before = points[rng.permutation(len(points))]
        index.update(before)
    assert tree_of(index)._outgrown_at_once

    with refusing("the places of points on a curve"), pytest.raises(clfrnn.DeviceMemoryError):
        index.update(clouds.uniform(len(points), 3, seed=31))
    assert_counts(index.count(), truth(before, 0.05))


def test_points_that_drift_are_not_looked_at_twice(session):
    """Those whose leaves grow little by little are in no hurry."""
    points = clouds.uniform(min(2000, POINTS), 3, seed=26)
    index = build(points, 0.05, session=session, leaf_size=8)
    rng, at = np.random.default_rng(27), points
    for _ in range(60):
        at = (at + rng.normal(0, 0.004, at.shape)).astype(np.float32)
        index.update(at)
        assert not tree_of(index)._outgrown_at_once
    assert_counts(index.count(), truth(at, 0.05))


def test_leaves_show_how_crowded_points_are(session):
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
            tree_of(index)._is_crowded()
            assert true / 4 <= tree_of(index)._crowding <= 4 * true


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
    assert_counts(index.count(), truth(points, 0.05))


def test_a_tree_that_is_never_built_again_copies_nothing_to_the_host(session, calls_of):
    """Copies to the host are waited for when they are dropped."""
    index = build(CLOUD, session=session, rebuild_threshold=math.inf)
    on_device = cla.to_device(session.queue, CLOUD)
    copies = calls_of(cl, "enqueue_copy")
    index.update(on_device)
    assert index.last_update == "refit"
    assert not copies


def test_medians_begin_where_the_box_does(session):
    """Points about the origin are inside a box that begins below it."""
    points = clouds.uniform(N, 3, seed=20) - np.float32(0.5)
    index = build(points, 0.05, session=session, construction="median", leaf_size=8, box=(1, 1, 1), periodic=True)
    low, high = boxes_of(index)
    assert (high - low)[tree_of(index)._builder.leaves : tree_of(index)._builder.leaves + N // 8].max() < 0.9


@pytest.mark.parametrize("dim", [1, 4, 7, 12])
def test_many_dimensions(session, dtype, dim):
    if dtype.itemsize == 8 and dim > 4:
        pytest.skip("every dimension is another program to compile")
    points = clouds.uniform(min(300, POINTS), dim, dtype=dtype, seed=9)
    radius = 0.25 * math.sqrt(dim)
    index = build(points, radius, session=session)
    for moved in (points, points[::-1].copy(), points[::-1].copy()):
        index.update(moved)
        expected = truth(moved, radius)
        assert_same(index.query(sort="index", distances=True), expected)
        nearest = index.nearest(points[:20]).distances.get()
        other = truth(moved, radius, queries=points[:20])
        assert np.array_equal(nearest, np.minimum.reduceat(other.distances, other.offsets[:-1]))


# --- plans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("local_memory", [None, 8192, 4096, 2048])
@pytest.mark.parametrize("name", RECORDED)
def test_plans_fit_the_device(name, local_memory):
    profile = RECORDED[name]
    if local_memory is not None:
        profile = dataclasses.replace(profile, local_memory=local_memory, local_reserve=0)
    for dim, real in itertools.product(range(1, 13), ("float", "double")):
        walk = packs.plan_tree_walk(*with_tuning(profile), dim=dim, real=real, periodic=True, leaf_size=32)
        assert walk.work_group_size <= profile.max_work_group_size
        assert not walk.packed or walk.local_memory <= profile.usable_local_memory
        assert walk.packed <= (profile.kind == "gpu")
        making = trees.plan_tree(*with_tuning(profile), dim=dim, real=real, periodic=True, leaves=256)
        sorting = making.block * (REAL_SIZE[real] + 4) + making.work_group_size * REAL_SIZE[real]
        assert sorting <= profile.usable_local_memory
        assert 1 <= making.work_group_size <= profile.max_work_group_size
        assert making.leaves & (making.leaves - 1) == 0


def test_items_keep_few_points_of_a_block():
    """As code is written out for each of them, on a device of small groups, too."""
    for size in (1, 2, 8, 64):
        profile = dataclasses.replace(RECORDED["h200"], max_work_group_size=size)
        making = trees.plan_tree(*with_tuning(profile), dim=3, real="float", periodic=False, leaves=256)
        assert making.halved == 8 * size
        assert len(render("methods/tree/build", making)) < 100_000


def declared(source, real):
    """Bytes of the arrays in local memory of a kernel."""
    size = REAL_SIZE[real]
    bytes_of = {"int": 4, "uint": 4, "real": size, "frnn_pair": 2 * size, "frnn_record": 4 * size}
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
        making = trees.plan_tree(*with_tuning(profile), dim=dim, real=real, periodic=periodic, leaves=256)
        source = render("methods/tree/build", making)
        assert ("order_by_halves" in source) == (making.halved > 0)
        for kernel in source.split("\nkernel ")[1:]:
            assert declared(kernel, real) <= profile.usable_local_memory
        for neighbors, leaf_size in ((0, 8), (100, 16), (1e6, 32)):
            walk = packs.plan_tree_walk(
                *with_tuning(profile), dim=dim, real=real, periodic=periodic, leaf_size=leaf_size, neighbors=neighbors
            )
            ranked, divided = walk.ranked(default_tuning(profile)), dataclasses.replace(walk, divided=True)
            for config in (walk, ranked, divided) if walk.packed else ():
                variant = VisitVariant(radii=config.ranks)
                found = declared(render("methods/tree/aabb_tree", config, own_function("write"), variant), real)
                assert found <= config.local_memory if config.divided else found == config.local_memory
                assert config.local_memory <= profile.usable_local_memory


@pytest.mark.parametrize("neighbors", [0.0, 50.0, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("name", RECORDED)
def test_nodes_take_little_memory_by_default(name, neighbors):
    """32 bytes a node and 4 a leaf, in three dimensions: 12 a point. Candidates fill the loops over them."""
    for n in (100, 1000, 1 << 20, (1 << 20) + 1, 1_100_000, 1_300_000, 10**9):
        size = trees.default_leaf_size(default_tuning(RECORDED[name]), n, neighbors)
        leaves, held = trees.count_leaves(n, size), trees.needed_leaves(n, size)
        assert held * size >= n > (held - 1) * size
        assert 32 * (leaves + held) + 4 * held <= 12 * n
        assert size in ((64, 128) if RECORDED[name].kind == "cpu" else (8, 16, 32))
        assert trees.default_leaf_size(default_tuning(RECORDED[name]), n, neighbors, periodic=True) in (8, 16, 32)
    for n in range(9):
        assert trees.count_leaves(n, trees.default_leaf_size(default_tuning(RECORDED[name]), n, neighbors)) == 1


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
    tuning = default_tuning(profile)
    sizes = [trees.default_leaf_size(tuning, 1 << 20, neighbors) for neighbors in (3.0, 100.0, 1000.0)]
    assert sizes == [8, 16, 32]
    survey = Survey(n=1 << 20, low=(0.0,) * 3, high=(1.0,) * 3)
    assert survey.neighbors((49 / (4.18879 * 2**20)) ** (1 / 3)) == pytest.approx(49, rel=1e-3)
    assert survey.neighbors(0.0) == 0.0


@pytest.mark.parametrize("n", [0, 1, 2, 9, 10, 100, 1023, 1024, 65_536, 10**6, 2**20, 2**24, 2**31 - 1])
def test_the_curve_is_cut_by_a_part_of_the_points(n):
    cut = trees.plan_curve_cut(n, Tuning.default("gpu"))
    assert cut.sampled == 1 << (cut.sampled.bit_length() - 1)
    assert cut.sampled * cut.apart <= max(1, n)
    assert cut.sampled == 1 or cut.sampled <= n / 10
    assert cut.sampled << cut.parts == 1 << cut.bits
    assert cut.parts <= 24
    assert cut.bits <= 32
    assert n / (1 << cut.bits) <= 8


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("dim", range(1, 13))
def test_keys_fit_a_number(dim, real):
    profile = next(profile for profile in RECORDED.values() if profile.kind == "gpu")
    making = trees.plan_tree(*with_tuning(profile), dim=dim, real=real, periodic=False, leaves=256)
    assert making.curve_bits * dim <= 63
    assert making.curve_bits >= (20 if dim < 4 else 4)
    for m in (0, 1, 1000, 10**9):
        assert 1 <= making.query_bits(m) <= 32
        assert making.query_bits(m) <= making.curve_bits * dim


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
