"""Counts and nearest neighbors that are written in another form first: what they are, and where that is done."""

import dataclasses

import numpy as np
import pytest
from conftest import (
    POINTS,
    RECORDED,
    as_gpu,
    as_narrow_gpu,
    assert_counts,
    assert_nearest,
    launched,
    refusing,
    structure_of,
    truth,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds
from clfrnn.answers.requests import make_request
from clfrnn.domain.box import open_space
from clfrnn.methods.grid import cost_model as side_costs
from clfrnn.primitives.unpack import unpack_bytes, unpack_pairs
from clfrnn.problem import Problem
from clfrnn.runtime.scratch import Scratch
from clfrnn.survey import Survey

N = min(701, POINTS)
RADIUS = {2: 0.08, 3: 0.2}
UNPACKING = {"unpack_bytes", "unpack_pairs"}


def tiers(many, most):
    """Encodings from so many queries on, each of which tests at most so many candidates."""
    return dict.fromkeys(("bytes_2d", "bytes_3d", "pairs_2d", "pairs_3d"), ((many, most),))


#: However few the queries are, and however much work each has.
ALWAYS = tiers(1, np.inf)


@pytest.fixture
def device(session):
    """One that sorts points and queries by regions first, however few they are, and always encodes what it finds."""
    queries = {"many_queries": 1, "least_to_sort_for": 0}
    regions = {"few_of_item": 0, "most_open_bytes": 0}
    return tuned(as_narrow_gpu(session, fma=True), binning=regions, grid=queries, queries=ALWAYS)


def unpacking(index, queries=None):
    """The kernels that bring counts and nearest neighbors into their own form."""
    names, _ = launched(index.session, lambda: (index.count(queries), index.nearest(queries)))
    return UNPACKING & set(names)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"include_self": True},
        {"radius": True},
        {"queries": True},
        {"box": 1.0},
        {"box": 0.9},
    ],
    ids=["plain", "self", "radii", "queries", "inside", "outside"],
)
def test_every_kind_of_query(device, asked, dim, dtype):
    """By regions, and then as those that come nearly sorted: in both forms, and after points have moved."""
    if dtype.itemsize == 8 and (dim == 2 or asked not in ({}, {"queries": True})):
        pytest.skip("float64 is tested in three dimensions, of the points and of others")
    points, radius, kept = clouds.uniform(N, dim, dtype=dtype, seed=3), RADIUS[dim], {**asked}
    domain = {"box": (kept.pop("box"),) * dim, "periodic": True} if "box" in kept else {}
    if "queries" in kept:
        kept["queries"] = clouds.uniform(N // 2, dim, dtype=dtype, seed=4)
    alike = {**kept}
    if alike.pop("radius", False):
        kept["radius"] = radius = np.random.default_rng(1).uniform(0, radius, N).astype(dtype)
    index = clfrnn.build_index(points, np.max(radius), method="strips", session=device, **domain)
    for disorder in (1, 0):
        expected = truth(points, radius, **domain, **alike)
        names, found = launched(index.session, lambda: index.count(**kept))
        assert names[-1] == "unpack_bytes"
        assert_counts(found, expected)
        names, found = launched(index.session, lambda: index.nearest(**kept))
        assert names[-1] == "unpack_pairs"
        assert_nearest(found, expected)
        layout = structure_of(index)._layout_of_queries[2] if "queries" in kept else structure_of(index)._bins.layout
        assert device.read(layout.binning.disorder)[0] == disorder
        # From now on they are said to come nearly sorted, however they come.
        layout.binning.buckets.plan = dataclasses.replace(layout.plan, entered=1 << 30)
        points = points[::-1].copy()
        index.update(points)


@pytest.mark.core
def test_counts_of_255_and_more(device):
    """Crowds of which each point has 254, 255 and 256 others, and 600; and what blocks are cut by."""
    crowds = [255, 256, 257, 601] if POINTS > 1000 else [255, 256, 257]
    places = np.random.default_rng(2).permutation(np.repeat(np.arange(len(crowds)), crowds))
    points = np.zeros((len(places), 3), np.float32)
    points[:, 0] = 10 * places
    index = clfrnn.build_index(points, 1.0, method="uniform_grid", session=device)
    expected = np.take(crowds, places) - 1

    assert np.array_equal(index.count().get(), expected)
    assert np.array_equal(index.count(include_self=True).get(), expected + 1)
    names, blocks = launched(index.session, lambda: list(index.query_blocks(max_bytes=1 << 18)))
    assert names.count("unpack_bytes") == 1
    assert np.array_equal(np.concatenate([block.to_host().counts for block in blocks]), expected)


def to_scratch(session, values, offset=0):
    held = session.upload(values, purpose="a test")
    return Scratch(held.base_data, held.size - offset, held.dtype, offset * held.dtype.itemsize)


@pytest.mark.core
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 500, 5000])
@pytest.mark.parametrize("asked", [1, 0])
def test_bytes_leave_numbers_of_full_bytes(session, n, asked):
    small = np.random.default_rng(n).integers(250, 256, n).astype(np.uint8)
    before = np.arange(1000, 1000 + n, dtype=np.int32)
    numbers = session.upload(before, purpose="a test")

    unpack_bytes(
        session, to_scratch(session, small), numbers, unless_zero=to_scratch(session, np.int32([7, 0, asked]), 2)
    )

    assert np.array_equal(numbers.get(), np.where((small == 255) | (not asked), before, small))


@pytest.mark.core
@pytest.mark.parametrize("n", [0, 1, 3, 500, 5000])
@pytest.mark.parametrize("asked", [1, 0])
def test_pairs_are_unpacked(session, n, asked, dtype):
    rng = np.random.default_rng(n)
    whole, reals = rng.integers(-1, 2**31 - 1, n), rng.normal(size=n).astype(dtype)
    reals[: n // 3] = np.inf
    pairs = np.stack([whole.astype(f"i{dtype.itemsize}"), reals.view(f"i{dtype.itemsize}")], axis=1)
    given = session.upload(np.full(n, -5, np.int32), purpose="a test"), session.upload(-reals, purpose="a test")

    asked_of = to_scratch(session, np.int32([0, asked]), 1)
    unpack_pairs(session, to_scratch(session, pairs.reshape(-1).view(dtype)), *given, unless_zero=asked_of)

    assert np.array_equal(given[0].get(), whole if asked else np.full(n, -5))
    assert np.array_equal(given[1].get(), reals if asked else -reals)


def test_only_where_the_device_knows_their_order(session, device):
    """Not for queries in the caller's order, by methods without regions, or where there are none, as on a CPU."""
    points = clouds.uniform(N, 3, seed=1)
    for method in ("fenns", "aabb_tree", "brute_force"):
        index = clfrnn.build_index(points, 0.1, method=method, session=tuned(as_gpu(session), queries=ALWAYS))
        assert not unpacking(index)
    for options in ({"construction": "sort"}, {}):
        index = clfrnn.build_index(points, 0.1, method="strips", session=device, **options)
        assert unpacking(index) == (set() if options else UNPACKING)
    unsorted = tuned(device, grid={"many_queries": N})
    assert not unpacking(clfrnn.build_index(points, 0.1, method="strips", session=unsorted), points[:9])
    if session.profile.kind == "cpu":
        cpu = tuned(session, queries=ALWAYS)
        assert not unpacking(clfrnn.build_index(points, 0.1, method="strips", session=cpu))


def test_not_where_queries_have_much_to_do(device):
    points = clouds.uniform(N, 3, seed=1)
    work = structure_of(clfrnn.build_index(points, 0.2, method="strips", session=device)).work_of_query
    assert work > 100
    for most, many in ((work, N), (0.999 * work, N), (work, N + 1)):
        chosen = tuned(device, queries=tiers(many, most))
        index = clfrnn.build_index(points, 0.2, method="strips", session=chosen)
        pays = most == work and many == N
        assert unpacking(index) == (UNPACKING if pays else set())
        said = "written first, unless points come nearly sorted: counts as bytes, nearest neighbors in pairs"
        assert (said in index.explain(long=True)) == pays


@pytest.mark.parametrize(
    ("dim", "neighbors", "as_bytes", "in_pairs"),
    [
        (3, 0.05, 3, 5),
        (3, 3, 2, 5),
        (3, 6, 2, 2),
        (3, 12, 0, 2),
        (3, 49, 0, 0),
        (2, 3, 3, 5),
        (2, 12, 2, 0),
        (2, 49, 1, 0),
    ],
)
def test_work_of_even_clouds(dim, neighbors, as_bytes, in_pairs):
    """At how many of three, four, six, eight and sixteen millions either form is sooner, about as measured."""
    n, ball = 1 << 23, {2: np.pi, 3: 4 / 3 * np.pi}[dim]
    survey = Survey(n=n, low=(0.0,) * dim, high=(1.0,) * dim, others=neighbors / ball)
    radius = float((neighbors / (ball * n)) ** (1 / dim))
    problem = Problem(n=n, domain=open_space(dim), real="float", radius=radius, survey=survey, options={})
    profile, tuning = with_tuning(RECORDED["h200"])
    cheapest = side_costs.rank_sides(problem, profile, tuning)[0]
    work = side_costs.work_of_query(problem, tuning, cheapest.sides)

    def pays(limits):
        return sum(any(m << 20 >= many and work <= most for many, most in limits) for m in (3, 4, 6, 8, 16))

    assert (pays(tuning.queries.as_bytes(dim)), pays(tuning.queries.in_pairs(dim))) == (as_bytes, in_pairs)


def test_queries_have_an_order_of_their_own(device):
    """Points that come nearly sorted, and queries that do not."""
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=1), 0.1, method="strips", session=device)
    layout = structure_of(index)._bins.layout
    layout.binning.buckets.plan = dataclasses.replace(layout.plan, entered=1 << 30)
    index.update(clouds.uniform(N, 3, seed=2))
    queries = clouds.uniform(N // 2, 3, seed=3)
    asks = [make_request(index._traversal, given, radius=None, include_self=False) for given in (None, queries)]

    assert [device.read(structure_of(index).disorder(ask))[0] for ask in asks] == [0, 1]


@pytest.mark.parametrize("share", [1 / 8, 0.0])
def test_another_form_takes_a_share_of_the_memory_that_is_left(device, share):
    limited = tuned(device, queries={"encoding_share": share})
    index = clfrnn.build_index(clouds.uniform(N, 3, seed=1), 0.1, method="strips", session=limited)
    assert unpacking(index) == (UNPACKING if share else set())


def test_without_memory_for_another_form(device):
    points = clouds.uniform(N, 3, seed=1)
    index = clfrnn.build_index(points, 0.1, method="strips", session=device)
    with refusing("results in search order") as refused:
        names, (counts, nearest) = launched(index.session, lambda: (index.count(), index.nearest()))
    assert refused
    assert not UNPACKING & set(names)
    assert_counts(counts, truth(points, 0.1))
    assert_nearest(nearest, truth(points, 0.1))
