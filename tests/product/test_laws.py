"""Laws of all that is asked of an index, stated once for every way to search, dimension, dtype and domain."""

import functools
import itertools

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    COLUMNS,
    FULL,
    POINTS,
    WAYS,
    assert_counts,
    assert_nearest,
    assert_same,
    by_distance,
    counts_of,
    joined,
    nbytes,
    rows_of,
    truth,
)
from spaces import CELLS

import clfrnn

pytestmark = [pytest.mark.core, pytest.mark.optimized]

N = min(240, POINTS)

#: No box, one of length 1, one whose every point sees several images of the others, and its own, as in a cell that is
#: not rectangular, and systems in boxes of their own, each second of which is periodic.
BOUNDARIES = ["open", "periodic", "images", "cell", "systems"]

#: The systems of the points: their numbers come in no order.
BATCH = np.array([7, -2, 40, 3, 11])[np.random.default_rng(3).integers(0, 5, N)]


class Scene:
    """A cloud in an index, asked for by one way, and the reference of its lists."""

    def __init__(self, session, way, dim, dtype, boundary):
        self.session, (self.method, self.options) = session, way
        self.dim, self.dtype, self.boundary = dim, dtype, boundary
        self.points = cloud(dim, dtype, boundary)
        self.radius = {"images": 1.05, "cell": 0.9, "systems": 0.4}.get(boundary, {2: 0.11, 3: 0.2}[dim])
        self.domain = domain_of(boundary, dim)
        self.index = self.build(self.points)

    def build(self, points, **other):
        given = {"method": self.method, "session": self.session, **self.options, **self.domain, **other}
        return clfrnn.build_index(points, self.radius, **given)

    def of(self, rows):
        """The systems of queries that belong to those of these points, where there are systems."""
        return {"query_batch": BATCH[rows]} if self.boundary == "systems" else {}

    def expected(self, radius=None, **asked):
        return truth(self.points, self.radius if radius is None else radius, **self.domain, **asked)

    @functools.cached_property
    def full(self):
        """The list of all pairs, which the first law compares with the reference."""
        return self.index.query(**FULL).to_host()


def domain_of(boundary, dim):
    """The arguments that say where points lie."""
    systems = np.unique(BATCH)
    return {
        "open": {},
        "cell": {"cell": CELLS["skewed"][dim]},
        "systems": {
            "batch": BATCH,
            "box": np.random.default_rng(dim).uniform(0.7, 1.5, (len(systems), dim)),
            "periodic": np.repeat(np.arange(len(systems))[:, None] % 2 == 0, dim, axis=1),
        },
    }.get(boundary, {"box": (1.0,) * dim, "periodic": True})


@functools.cache
def cloud(dim, dtype, boundary):
    """A lattice, whose distances tie, points in one place, and others; some lie outside of a box."""
    n = N // {"images": 8, "cell": 4}.get(boundary, 1)
    rng = np.random.default_rng(dim)
    points = rng.random((n, dim))
    points[::3] = np.round(points[::3] * 8) / 8
    points[1::9] = points[::9][: len(points[1::9])]
    if boundary in ("cell", "systems") or (boundary == "periodic" and (dim, dtype.itemsize) != (3, 4)):
        points[::4] += rng.integers(-3, 4, points[::4].shape)
    return (points @ np.array(CELLS["skewed"][dim]) if boundary == "cell" else points).astype(dtype)


_SCENES = {}


def check(boundary, dim, dtype):
    """Leave out what only takes long to compile: every cloud is searched there in test_conformance.py."""
    if dtype.itemsize == 8 and (boundary == "images" or (boundary == "periodic" and dim == 2)):
        pytest.skip("float64 in a periodic box is tested in three dimensions and by single images")
    if boundary in ("cell", "systems") and (dtype.itemsize == 4) != (dim == 3):
        pytest.skip("cells and systems are searched in float32 in three dimensions, and in float64 in two")


def ways_in(boundary):
    """The ways to search there: methods without options where test_conformance.py has the others."""
    return [way for way in WAYS.values() if boundary not in ("cell", "systems") or not way[1]]


def scene_of(session, way, *kind):
    key = (session, repr(way), *kind)
    if key not in _SCENES:
        _SCENES[key] = Scene(session, way, *kind)
    return _SCENES[key]


@pytest.fixture(params=BOUNDARIES)
def scene(request, session, way, dim, dtype):
    """Made once for all laws."""
    check(request.param, dim, dtype)
    if way not in ways_in(request.param):
        pytest.skip("options of methods are searched by in test_conformance.py")
    return scene_of(session, way, dim, dtype, request.param)


def pairs_of(found):
    """A row for each pair: query, point and shift."""
    i, j = found.to_coo()
    shifts = np.zeros((len(i), 0), int) if found.shifts is None else found.shifts
    return np.column_stack([i, j, shifts])


def is_first(pairs):
    """Whether a pair is the one of the two mirrored ones that half a list has."""
    i, j, shifts = pairs[:, 0], pairs[:, 1], pairs[:, 2:]
    first = [next((step for step in shift if step), 0) for shift in shifts.tolist()]
    return (i < j) | ((i == j) & (np.array(first) > 0))


def mirrored(pairs):
    return np.column_stack([pairs[:, 1], pairs[:, 0], -pairs[:, 2:]])


def in_order(pairs):
    return pairs[np.lexsort(pairs.T[::-1])]


@pytest.mark.parametrize("include_self", [False, True], ids=["others", "self"])
def test_the_list_is_that_of_the_reference(scene, include_self):
    found = scene.index.query(include_self=include_self, **FULL)

    assert_same(found, scene.expected(include_self=include_self))
    assert found.num_pairs > (scene.index.num_points if include_self else 0)


@pytest.mark.parametrize("include_self", [False, True], ids=["others", "self"])
def test_half_and_its_mirror_are_the_whole(scene, include_self):
    half = scene.index.query(half=True, include_self=include_self, **FULL)
    whole = scene.index.query(include_self=include_self, **FULL)

    pairs = pairs_of(half.to_host())
    itself = (pairs[:, 0] == pairs[:, 1]) & ~pairs[:, 2:].any(axis=1)
    assert itself.sum() == (scene.index.num_points if include_self else 0)
    assert (is_first(pairs) | itself).all()
    both = np.concatenate([pairs, mirrored(pairs)[~itself]])
    assert np.array_equal(in_order(both), pairs_of(whole.to_host()))
    assert_same(half, scene.expected(half=True, include_self=include_self))


def test_pairs_are_symmetric(scene):
    pairs = pairs_of(scene.full)

    assert np.array_equal(in_order(mirrored(pairs)), pairs)


def test_counts_are_the_lengths_of_rows(scene):
    assert_counts(scene.index.count(), scene.full)
    assert_counts(scene.index.count(include_self=True), scene.expected(include_self=True))
    assert_counts(scene.index.count(radius=0.6 * scene.radius), scene.expected(0.6 * scene.radius))


def test_the_nearest_is_the_first_of_a_row_by_distance(scene):
    assert_nearest(scene.index.nearest(), scene.expected())
    itself = scene.index.nearest(include_self=True)
    assert not itself.distances.get().any()
    assert (itself.indices.get() <= np.arange(scene.index.num_points)).all()


def test_rows_by_distance_are_the_rows(scene):
    """Ties by number and by image, also where the list shows no distances."""
    expected = scene.expected()
    order = by_distance(expected)

    assert_same(scene.index.query(**{**FULL, "sort": "distance"}), expected, order=order)
    if scene.dtype.itemsize == 8 or scene.boundary == "periodic":
        return  # the squares that a list does not show are sorted alike
    bare = scene.index.query(sort="distance")
    assert_same(bare, expected, order=order)
    assert bare.distances is bare.vectors is bare.shifts is None


def test_blocks_joined_are_the_whole(scene):
    longest = max(int(counts_of(scene.full).max()), 1)
    budget = 8 + nbytes(scene.full) // 3 + longest * nbytes(scene.full) // scene.full.num_pairs

    parts = list(scene.index.query_blocks(max_bytes=budget, **FULL))

    assert len(parts) > 1
    assert all(nbytes(part) <= budget for part in parts)
    assert_same(joined(parts), scene.full)


def test_a_hint_changes_nothing(scene):
    for hint in (1, 2 * scene.full.num_pairs):
        assert_same(scene.index.query(hint=hint, **FULL), scene.full)


def test_an_update_to_the_same_points_changes_nothing(scene):
    """As they are, from the host and from the device; and after they have been elsewhere."""
    index, rng = scene.build(scene.points), np.random.default_rng(1)
    elsewhere = (scene.points * scene.dtype.type(1.5) + rng.normal(0, 0.1, scene.points.shape)).astype(scene.dtype)
    for points in (scene.points, elsewhere, scene.points):
        for given in (points, cla.to_device(scene.session.queue, points)):
            index.update(given)
            assert_same(index.query(**FULL), truth(points, scene.radius, **scene.domain))
    assert_counts(index.count(), scene.full)


def test_points_as_queries_find_themselves_too(scene):
    systems = scene.of(slice(None))
    found = scene.index.query(scene.points, **systems, **FULL)

    assert_same(found, scene.index.query(include_self=True, **FULL))
    assert_counts(scene.index.count(scene.points, **systems), found.to_host())


def test_queries_may_be_anywhere_and_be_divided(scene):
    """Lists of parts of the queries are the list of all of them."""
    rng = np.random.default_rng(2)
    queries = (rng.random((N // 4, scene.dim)) * 1.4 - 0.2).astype(scene.dtype)
    whole = scene.index.query(queries, **scene.of(slice(N // 4)), **FULL)

    assert_same(whole, scene.expected(queries=queries, **scene.of(slice(N // 4))))
    slices = [slice(9), slice(9, 9), slice(9, N // 4)]
    parts = [scene.index.query(queries[part], **scene.of(part), **FULL) for part in slices]
    assert_same(joined(parts), whole)


@pytest.mark.parametrize("foreign", [False, True], ids=["own", "foreign"])
def test_a_radius_of_its_own_cuts_each_row(scene, foreign):
    """Zero leaves what is coincident."""
    if scene.boundary == "images" or (scene.boundary == "periodic" and foreign != (scene.dim == 2)):
        pytest.skip("what a radius of each query adds to a walk is the same whatever the box")
    queries, systems = (scene.points[::2], scene.of(slice(None, None, 2))) if foreign else (None, {})
    m = len(scene.points[::2]) if foreign else scene.index.num_points
    radii = (scene.radius * np.linspace(0, 1, m)).astype(scene.dtype)
    radii[::7] = 0
    whole = scene.expected(queries=queries, **systems)
    rows = rows_of(whole)
    inside = whole.squares <= (radii * radii)[rows]

    found = scene.index.query(queries, radius=radii, **systems, **FULL).to_host()

    assert np.array_equal(found.counts, np.bincount(rows[inside], minlength=m))
    for name in ("indices", "distances", "vectors"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)[inside]), name


def test_a_smaller_radius_finds_a_part(scene):
    radius = scene.dtype.type(0.6 * scene.radius)
    inside = scene.expected().squares <= radius * radius

    found = scene.index.query(radius=radius, **FULL).to_host()

    assert 0 < inside.sum() < len(inside)
    assert np.array_equal(found.indices, scene.full.indices[inside])
    assert np.array_equal(found.vectors, scene.full.vectors[inside])


def test_the_order_is_a_permutation(scene):
    order = scene.index.order

    assert isinstance(order, cla.Array)
    assert (order.dtype, order.shape) == (np.int32, (scene.index.num_points,))
    assert np.array_equal(np.sort(order.get()), np.arange(scene.index.num_points))
    assert np.array_equal(scene.index.reorder(scene.points).get(), scene.points[order.get()])


def test_renumbered_points_have_the_same_pairs(scene):
    order = np.random.default_rng(3).permutation(scene.index.num_points)

    systems = {"batch": BATCH[order]} if scene.boundary == "systems" else {}
    pairs = pairs_of(scene.build(scene.points[order], **systems).query(**FULL).to_host())

    renumbered = np.column_stack([order[pairs[:, :2]], pairs[:, 2:]])
    assert np.array_equal(in_order(renumbered), pairs_of(scene.full))


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("sort", ["index", "distance"])
def test_every_way_and_run_gives_the_same_bits(session, dim, dtype, boundary, sort):
    check(boundary, dim, dtype)
    bits = set()
    for way, _ in itertools.product(ways_in(boundary), range(2)):
        found = scene_of(session, way, dim, dtype, boundary).index.query(**{**FULL, "sort": sort}).to_host()
        bits.add(b"|".join(np.ascontiguousarray(getattr(found, name)).tobytes() for name in COLUMNS[1:4]))
    assert len(bits) == 1
