"""Lists of few neighbors by FENNS, whose numbers a count puts by: from tiles that stay, and where tiles come and go.

In groups of few items, as drivers for CPUs take a minute to compile a kernel in the arrangement for a GPU.
"""

import dataclasses
import re

import numpy as np
import pytest
from conftest import POINTS, set_facts, takes_long_as_gpu, tuned
from test_rendering import CONFIGS
from test_stash import same, watch

import clfrnn
from clfrnn import clouds, reference
from clfrnn.first_pass import neighbor_buffer as stash
from clfrnn.methods.fenns import fenns
from clfrnn.planning import fenns as blocks
from clfrnn.planning.configs import REAL_SIZE, VisitVariant
from clfrnn.queries.make_request import make_request
from clfrnn.runtime.rendering import own_function, render

N = min(500, POINTS)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(fenns, "_WORTH_A_STASH", 0.0)


def in_groups(session, items=16, **facts):
    """A session whose device is a GPU of small groups."""
    fresh = clfrnn.Session(session.queue)
    changed = {"kind": "gpu", "max_work_group_size": items, "simd_width": min(items, 8), "loop_turns": None, **facts}
    set_facts(fresh, **changed)
    return tuned(fresh, fenns={"tile_points_of_item": (2,)})


def crowded(dim, dtype):
    """A third of the points all over the box, the others so close that no tile holds them, some in one place."""
    points = clouds.uniform(N, dim, dtype=dtype, seed=3)
    points[N // 3 :] = points[N // 3 :] * dtype.type(0.1) + dtype.type(0.45)
    points[4:12] = points[4]
    return points


@pytest.mark.core
def test_tiles_that_stay_and_tiles_that_go(session, dim, dtype, monkeypatch):
    """Rows of none, of few, and of more than are put by; with the self and without; again after an update."""
    made = watch(monkeypatch, 4)
    if (dim, dtype.itemsize) != (3, 4) and takes_long_as_gpu(session, "fenns"):
        pytest.skip(
            "this driver takes long for a kernel in the arrangement for a GPU; lists of every kind need these, too"
        )
    points = crowded(dim, dtype)
    radius = 0.02 if dim == 3 else 0.01
    index = clfrnn.build_index(points, radius, method="fenns", coarse_shape=3, session=in_groups(session))
    held = index._held()
    assert held[held > 0].min() <= 16
    assert held.max() > index.config.tile == 32, "some cells with what they see fit a tile, and another does not"
    for moved in (points, points[::-1].copy()):
        index.update(moved)
        for kept in (False, True):
            expected = reference.neighbors(moved, radius, include_self=kept)
            same(index.query(sort="index", include_self=kept), expected)
            counts = np.diff(expected.offsets)
            assert counts.max() > 4
            assert counts.min() <= 4
    assert len(made) == 4
    assert None not in made


@pytest.mark.parametrize("asked", ["half", "radii", "hint"])
def test_every_kind_of_list(session, asked, monkeypatch):
    if asked != "hint" and takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    made = watch(monkeypatch, 4)
    points = crowded(3, np.dtype(np.float32))
    radii = np.random.default_rng(1).uniform(0, 0.05, N).astype(np.float32)
    index = clfrnn.build_index(points, 0.05, method="fenns", coarse_shape=3, session=in_groups(session))
    if asked == "half":
        same(index.query(sort="index", half=True), reference.neighbors(points, 0.05, half=True))
    elif asked == "radii":
        same(index.query(sort="index", radius=radii), reference.neighbors(points, radii))
    else:
        for hint in (1, 10**5):
            same(index.query(sort="index", hint=hint), reference.neighbors(points, 0.05))
    assert made
    assert None not in made


@pytest.mark.parametrize(("items", "memory"), [(1, None), (16, 600)], ids=["items alone", "no tiles"])
def test_other_arrangements(session, items, memory, monkeypatch):
    """A tile of one item's own, and each query by itself where local memory holds no tile."""
    if items == 1 and session.profile.loop_turns is not None:
        pytest.skip("an item alone takes more turns of a loop than the driver lets it")
    made = watch(monkeypatch, 4)
    facts = {} if memory is None else {"local_memory": memory + session.profile.local_reserve}
    points = crowded(3, np.dtype(np.float32))
    index = clfrnn.build_index(points, 0.03, method="fenns", coarse_shape=3, session=in_groups(session, items, **facts))
    assert bool(index.config.tile) == (memory is None)

    same(index.query(sort="index"), reference.neighbors(points, 0.03))
    assert None not in made


def test_slots_that_take_more_than_what_is_done_with(session, monkeypatch):
    """Of rows longer than they are, none is put by beyond the last slot."""
    if takes_long_as_gpu(session, "fenns"):
        pytest.skip("this driver takes long for a kernel in the arrangement for a GPU")
    made = watch(monkeypatch, 16)
    points = clouds.uniform(64, 2, seed=3)
    points[:40] = points[:4].repeat(10, axis=0)
    points[40:60] = points[40]
    index = clfrnn.build_index(points, 0.05, method="fenns", coarse_shape=1, session=in_groups(session, 64))
    assert blocks.block_memory(index.config, slots=16) > blocks.block_memory(index.config)
    expected = reference.neighbors(points, 0.05)
    assert np.diff(expected.offsets).max() > 16

    same(index.query(sort="index"), expected)
    assert None not in made


def test_launches_in_slices(session, monkeypatch):
    """Places in the stash are those of queries, whichever slice of the groups serves them."""
    made = watch(monkeypatch, 4)
    slices = {"slice_seconds": 1e-9, "least_budget": 500, "clocks_of_pair": 1 << 60}
    points, groups = crowded(3, np.dtype(np.float32)), tuned(in_groups(session), runtime=slices)
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=groups)
    with index.session.recorded() as launches:
        found = index.query(sort="index")
    same(found, reference.neighbors(points, 0.02))
    assert [name for name, _ in launches].count("frnn_visit") > 4
    assert made[0] is not None


def stashes(index, queries=None, *, numbers=True):
    """Whether a list has a stash, by what an index that was never asked would find."""
    vars(index).pop("_slots", None)
    ask = make_request(index, queries, radius=None, include_self=False)
    return index.make_hit_mask(ask, numbers=numbers) is not None


def test_lists_that_do_without(session, monkeypatch):
    """Those that carry more than numbers, of foreign queries, in periodic boxes, and on a CPU."""
    made = watch(monkeypatch, 4)
    points = crowded(2, np.dtype(np.float32))
    shared = in_groups(session)
    index = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=shared)
    domain = {"box": (1.0, 1.0), "periodic": True}
    on_torus = clfrnn.build_index(points, 0.02, method="fenns", coarse_shape=3, session=shared, **domain)

    assert stashes(index)
    assert not stashes(index, numbers=False)
    assert not stashes(index, points)
    assert not stashes(on_torus)
    shared.profile = dataclasses.replace(shared.profile, kind="cpu")
    assert not stashes(index)
    assert len(made) == 1


def test_slots_have_to_fit_beside_the_tile(session, monkeypatch):
    watch(monkeypatch, 4)
    shared = in_groups(session)
    points = crowded(2, np.dtype(np.float32))
    index = clfrnn.build_index(points, 0.01, method="fenns", coarse_shape=3, session=shared)
    needed = blocks.block_memory(index.config, slots=4)
    for usable, fit in ((needed, True), (needed - 1, False)):
        memory = shared.profile.local_reserve - (-20 * usable // 19)
        shared.profile = dataclasses.replace(shared.profile, local_memory=memory)
        assert shared.profile.usable_local_memory == usable
        assert stashes(index) == fit


@pytest.mark.parametrize("slots", [0, 4, 16])
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("size", [1, 16, 256])
def test_local_memory_is_what_kernels_declare(slots, real, size):
    """Slots lie where what is done with lay before, and take more only where they are more."""
    bytes_of = {"int": 4, "real": REAL_SIZE[real], "frnn_record": 4 * REAL_SIZE[real]}
    for dim, periodic in ((2, False), (3, False), (3, True)):
        changed = {"dim": dim, "real": real, "periodic": periodic and not slots, "team": 1, "lockstep": 1}
        config = dataclasses.replace(CONFIGS["fenns"], work_group_size=size, **changed)
        variant = VisitVariant(marks="stashed" if slots else "", stashed=slots)
        source = render("fenns/fenns", config, own_function("count"), variant)
        declared = 0
        for kind, names in re.findall(r"^ +local (\w+) (\w[^*;]*);", source, re.MULTILINE):
            declared += sum(bytes_of[kind] * int(many or 1) for many in re.findall(r"\w+(?:\[(\d+)\])?(?:,|$)", names))
        assert declared <= blocks.block_memory(config, slots=slots) < declared + 8


def test_few_neighbors_do_without(session, monkeypatch):
    made = []
    monkeypatch.setattr(stash, "make_neighbor_buffer", lambda *_, **asked: made.append(asked))
    points = clouds.uniform(N, 2, seed=4)
    units = [{"units": N, "slots": 4}]
    index = clfrnn.build_index(points, 0.01, method="fenns", coarse_shape=3, session=in_groups(session))
    for least, expected in ((0.9, []), (0.0, units)):
        monkeypatch.setattr(fenns, "_WORTH_A_STASH", least)
        stashes(index)
        assert made == expected
