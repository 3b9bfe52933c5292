"""What a count leaves for its list: how large buffers and masks are, and which of them a structure asks for."""

import dataclasses
import math

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import RECORDED, as_gpu, with_tuning

import clfrnn
from clfrnn import clouds
from clfrnn.answers.count_nearest import count_for_list
from clfrnn.answers.requests import request_of_points
from clfrnn.config import INT, LONG, sorted_copy_length
from clfrnn.methods.first_pass.base import make_hit_mask, make_neighbor_buffer
from clfrnn.methods.first_pass.neighbor_buffer import useful_slots
from clfrnn.methods.walk_plan import plan_walk
from clfrnn.runtime.scratch import Scratch
from clfrnn.survey import Survey

N = 3000


def radius_for(neighbors, dim=3, n=N):
    ball = math.pi if dim == 2 else 4 / 3 * math.pi
    return (neighbors / (ball * n)) ** (1 / dim)


def slots_of(neighbors, *, crowd=1.0, most=20, profile="h200"):
    """Slots for points that have so many others in a cell, unevenly many where they crowd."""
    others = neighbors * 3 / (4 * math.pi)
    survey = Survey(
        n=10**6, low=(0.0,) * 3, high=(1e3,) * 3, others=others, unevenness=1 + 1 / others if crowd == 1 else crowd
    )
    return useful_slots(RECORDED[profile], survey, 0.01, most=most)


def test_slots_are_as_many_as_no_query_is_expected_to_exceed_or_few():
    assert slots_of(0.1) == 4
    assert slots_of(3) == 16
    assert slots_of(5) == 20
    assert slots_of(10) == 20
    assert slots_of(12) == 0
    assert slots_of(3, crowd=12.0) == 0, "where few points have most neighbors, most slots stay empty"
    assert slots_of(3, profile="pocl") == 0
    counts = np.random.default_rng(0).poisson(3, 10**6)
    assert counts.max() <= slots_of(3)
    assert 0 < (counts > 12).mean() < 1e-4


@pytest.mark.parametrize(
    ("neighbors", "buffer", "mask"), [(0.5, True, False), (3, True, False), (8, True, True), (30, False, True)]
)
def test_what_cells_ask_for_on_a_gpu(session, neighbors, buffer, mask):
    gpu = as_gpu(session)
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=2), radius_for(neighbors), method="strips", session=gpu)

    facts = index._traversal.structure.list_facts

    assert (facts.slots > 0, facts.mask_words > 0) == (buffer, mask)
    assert facts.by_sectors == mask


def test_trees_and_brute_force_ask_for_nothing(session):
    for method in ("aabb_tree", "brute_force"):
        index = clfrnn.build_index(clouds.uniform(200, 3, seed=2), 0.1, method=method, session=session)
        facts = index._traversal.structure.list_facts
        assert (facts.slots, facts.mask_words) == (0, 0.0)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("neighbors", [8, 49, 200])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_hardly_a_query_of_an_even_cloud_needs_more_words(session, dim, neighbors, kind):
    if session.profile.kind != kind:
        if kind == "cpu":
            pytest.skip("a mask of places is a CPU's")
        session = as_gpu(session)
    points, radius = clouds.uniform(N, dim, seed=11), radius_for(neighbors, dim)
    index = clfrnn.build_index(points, radius, method="strips", session=session)
    traversal, facts = index._traversal, index._traversal.structure.list_facts

    mask = make_hit_mask(session, queries=N, words=1, word_bytes=facts.mask_word_bytes, spare=facts.mask_spare)
    count_for_list(traversal, request_of_points(traversal), mask)
    used = session.read(Scratch(mask.arguments[1], N, INT))

    words = math.ceil(facts.mask_words)
    assert (used > words).mean() < 0.05
    assert words < 6 * used.mean() + 6, "room for words that nobody needs"


@pytest.mark.parametrize("real", ["float", "double"])
def test_batches_stay_within_the_sorted_copy(profile, real):
    """A batch that begins with the id of the last point, which is the last number there is."""
    cpu = with_tuning(dataclasses.replace(profile, kind="cpu"))
    for dim in (2, 3):
        config = plan_walk(*cpu, dim=dim, real=real, periodic=False)
        for n in (1, 3, 100):
            assert config.columns
            assert dim * n + (n - 1) + config.width <= sorted_copy_length(config.layout, dim, n)


@pytest.mark.core
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
@pytest.mark.parametrize("capacity", [0, 7, 26])
def test_rows_from_a_buffer_stay_within_their_list(session, wide, capacity):
    """Rows in search order come to where offsets say, as far as there is memory."""
    rows, slots = np.array([7, 0, 5, 3, 9, 2]), 8
    m, places = len(rows), np.array([3, 1, 0, 5, 2, 4])
    total = session.upload(np.zeros(2, np.int64), purpose="a total")
    total = Scratch(total.base_data, 2, LONG)
    buffer = make_neighbor_buffer(session, queries=m, slots=slots, total=total, serial=5).buffer
    held = np.zeros((slots // 4, m, 4), np.int32)
    for i, count in enumerate(rows):
        values = 100 * i + np.arange(min(count, slots))
        held.reshape(slots // 4, m, 4)[np.arange(len(values)) // 4, places[i], np.arange(len(values)) % 4] = values
        if count > slots:
            held[0, places[i], 0] = count
    bits = (slots + 1).bit_length()
    packed = (places.astype(np.uint32) << bits | np.minimum(rows, slots + 1).astype(np.uint32)).view(np.int32)
    for array, values in ((buffer.indices, held.ravel()), (buffer.counts, packed)):
        session.copy(session.upload(values, purpose="a test"), as_array(session, array))
    offsets = np.concatenate([[0], np.cumsum(rows)])
    placed = session.upload(offsets.astype(np.int64 if wide else np.int32), purpose="a test")
    indices = session.upload(np.full(capacity + 4, -1, np.int32), purpose="a test")
    seen = indices[:capacity]

    buffer.write(session, placed, seen)

    expected = np.full(capacity + 4, -1, np.int32)
    for i, count in enumerate(rows):
        if count <= slots:
            for k in range(count):
                if offsets[i] + k < capacity:
                    expected[offsets[i] + k] = 100 * i + k
    assert np.array_equal(indices.get(), expected)


def as_array(session, scratch):
    """A public array over scratch memory, to copy into."""
    return (
        scratch
        if isinstance(scratch, cla.Array)
        else cla.Array(session.queue, (scratch.size,), scratch.dtype, data=scratch.base_data)
    )
