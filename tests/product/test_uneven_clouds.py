"""Clouds whose points crowd, coincide or stray, against the reference: every method, and the k nearest."""

import dataclasses
import functools

import numpy as np
import pytest
from cluster_reference import twin
from conftest import POINTS, as_gpu, assert_counts, assert_rows, launched, own_session, tuned

import clfrnn
from clfrnn import reference
from clfrnn.answers import coincident
from clfrnn.cluster import friends_of_friends
from clfrnn.methods import METHODS
from clfrnn.runtime.program import ProgramCache

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore::clfrnn.PrecisionWarning")]

N = min(1500, POINTS)

#: The largest number whose difference to another of its kind is finite.
LARGEST = {"float32": 1.7e38, "float64": 8e307}

CLOUDS = ("stray", "strays", "speck", "two specks", "coincident", "halos", "wide normal")


def cloud(name, dim, dtype, far=1e6):
    """N points of a kind, in random order."""
    rng = np.random.default_rng(17)
    points = rng.random((N, dim))
    if name == "stray":
        points[0] = far
    elif name == "strays":
        points[:3] = np.array([far, -far, far / 3])[:, None] * rng.uniform(0.5, 1, (3, dim))
    elif name == "speck":
        points[N // 100 :] = 0.3 + 1e-7 * points[N // 100 :]
    elif name == "two specks":
        points[: N // 2] = 1e-7 * points[: N // 2]
        points[N // 2 : -5] = 0.7 + 1e-9 * points[N // 2 : -5]
    elif name == "coincident":
        points[: N // 3] = points[0]
        points[N // 3 : N // 2] = points[-1]
    elif name == "halos":
        widths = 10 ** rng.uniform(-6, -2, 8)
        which = rng.integers(8, size=N // 2)
        points[: N // 2] = rng.random((8, dim))[which] + widths[which, None] * rng.standard_normal((N // 2, dim))
    else:
        points = rng.standard_normal((N, dim)) * 10 ** rng.uniform(-2, 2, (N, 1))
    return rng.permutation(points).astype(dtype)


def radius_of(points):
    """A radius within which most points have a few neighbors."""
    sample = points[:: max(1, N // 60)].astype(np.float64)
    apart = np.sqrt(((sample[:, None] - points[None].astype(np.float64)) ** 2).sum(axis=2))
    return float(points.dtype.type(np.median(np.sort(apart, axis=1)[:, 6])))


#: The most neighbors that are asked for: rows of fewer are the first of these.
MOST = 70


@functools.cache
def nearest_of(name, dim, dtype):
    with np.errstate(over="ignore"):
        return reference.nearest(cloud(name, dim, dtype), MOST)


def first(k, found):
    """The first k columns of the rows of a reference."""
    return type(found)(*(each if each is None else each[:, :k] for each in found))


def nearest_truth(name, dim, dtype, k):
    return first(k, nearest_of(name, dim, dtype))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CLOUDS)
def test_every_method_serves_them(session, method, name):
    """Also after an update that takes the strays away, and one that brings others."""
    points = cloud(name, 3, "float32")
    radius = radius_of(points)
    index = clfrnn.build_index(points, radius, method=method, session=session)
    for each in (points, cloud("halos", 3, "float32"), cloud("strays", 3, "float32", 3e4)):
        if each is not points:
            index.update(each)
        assert_counts(index.count(), reference.neighbors(each, radius))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12, "largest"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_strays_at_any_distance(session, method, dtype, far):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no doubles here")
    far = LARGEST[dtype] if far == "largest" else far
    points = cloud("strays", 2, dtype, far)
    with np.errstate(over="ignore"):
        expected = reference.neighbors(points, 0.05)
    assert_counts(clfrnn.build_index(points, 0.05, method=method, session=session).count(), expected)


@pytest.mark.parametrize("kind", ["as it is", "as a GPU"])
@pytest.mark.parametrize("k", [5, 30, MOST])
@pytest.mark.parametrize("name", CLOUDS)
def test_the_nearest_without_a_radius(session, name, k, kind):
    """Packets of queries in a tree on a GPU, rows in registers and beyond them, and many points at one place."""
    method = "auto"
    if kind == "as a GPU":
        session, method = as_gpu(session), "aabb_tree"
    found = clfrnn.nearest(cloud(name, 3, "float32"), k, method=method, session=session)
    assert_rows(found, nearest_truth(name, 3, "float32", k))


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize(("dim", "dtype"), [(1, "float32"), (2, "float64"), (3, "float64"), (5, "float32")])
def test_the_nearest_in_other_dimensions(session, name, dim, dtype):
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no doubles here")
    found = clfrnn.nearest(cloud(name, dim, dtype), 6, session=session)
    assert_rows(found, nearest_truth(name, dim, dtype, 6))


@pytest.mark.parametrize("far", [1e3, 1e12, "largest"])
@pytest.mark.parametrize("include_self", [False, True])
def test_the_nearest_of_strays(session, far, include_self):
    """They are few, and all points are gone through for them; equal distances are told apart by number."""
    points = cloud("strays", 3, "float32", LARGEST["float32"] if far == "largest" else far)
    with np.errstate(over="ignore"):
        expected = reference.nearest(points, 9, include_self=include_self)
    assert_rows(clfrnn.nearest(points, 9, include_self=include_self, session=session), expected)


DOMAINS = {
    "open": {},
    "box": {"box": (1.0, 1.0, 1.0)},
    "slab": {"box": (1.0, 1.0, 1.0), "periodic": (True, False, False)},
    "cell": {"cell": ((1.0, 0.0, 0.0), (0.3, 1.0, 0.0), (0.0, 0.2, 1.0))},
    "systems": {"box": (1.0, 1.0, 1.0)},
}


#: How many neighbors of points that coincide, and whether with each point itself.
WANTED = ((1, False), (6, False), (6, True))


@functools.cache
def coinciding(domain):
    """Points of which many are in one place, in a domain: the cloud, its queries, and the reference of each."""
    points, rng = cloud("coincident", 3, "float32"), np.random.default_rng(4)
    points[: N // 8, 1] *= np.float32(0)
    points[: N // 16, 1] = -points[: N // 16, 1]  # both zeros are one place
    queries = points[rng.integers(N, size=40)]
    batches = ({"batch": rng.integers(3, 6, N)}, {"query_batch": rng.integers(3, 7, 40)})
    given = {**DOMAINS[domain], **(batches[0] if domain == "systems" else {})}
    of_queries = {**given, "queries": queries, **(batches[1] if domain == "systems" else {})}
    most = max(k for k, _ in WANTED)
    own = {itself: reference.nearest(points, most, include_self=itself, **given) for itself in (False, True)}
    rows = [first(k, own[itself]) for k, itself in WANTED]
    return points, given, rows, of_queries, reference.nearest(points, 3, **of_queries)


@pytest.mark.parametrize("method", [*METHODS, "auto"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_nearest_of_points_that_coincide(session, method, domain):
    """The first points of each place serve all of its queries, each of which is left out of its own row."""
    points, given, expected, of_queries, expected_of_queries = coinciding(domain)
    asked = {"method": method, "session": tuned(session, nearest={"coincident": 1.0})}
    for (k, include_self), rows in zip(WANTED, expected, strict=True):
        names, found = launched(
            session,
            lambda k=k, own=include_self: clfrnn.nearest(points, k, include_self=own, vectors=True, **given, **asked),
        )
        crowded = method != "brute_force" and N >= 500
        if method != "auto":  # which takes brute force for few points of a GPU
            assert ("name_rows" in names) == crowded, names
        assert_rows(found, rows)
    assert_rows(clfrnn.nearest(points, 3, **of_queries, **asked), expected_of_queries)


def test_places_of_subnormal_numbers(session, dtype):
    """Each is a place of its own, also for a device that flushes them to zero; both zeros are one."""
    rng, least = np.random.default_rng(5), np.finfo(dtype).smallest_subnormal
    points = np.zeros((600, 3), dtype)
    points[:, 0] = rng.integers(0, 3, 600)
    points[::4, 1] = rng.integers(-3, 4, 150) * least
    points[1::4, 1] = -0.0
    fresh = own_session(session)
    fresh.profile = dataclasses.replace(
        fresh.profile, subnormals=False, build_options=(*fresh.profile.build_options, "-cl-denorms-are-zero")
    )
    fresh.programs = ProgramCache(fresh.context, fresh.device, fresh.profile)
    found = coincident.first_points(fresh, clfrnn.as_points(points, session=fresh), 1)
    firsts = np.unique(points + 0.0, axis=0, return_index=True)[1]
    assert np.array_equal(found.ids.get(), np.sort(firsts))
    fresh.tuning = fresh.tuning.but(nearest={"coincident": 1.0}, linking={"coincident": 0.0})
    names, rows = launched(fresh, lambda: clfrnn.nearest(points, 9, method="aabb_tree", session=fresh))
    assert "name_rows" in names
    assert_rows(rows, reference.nearest(points, 9))
    assert friends_of_friends(points, 0.5, session=fresh).num_clusters == 3


def test_all_points_are_searched_where_memory_lacks(session, monkeypatch):
    """Places of points are found to save time: without memory for that, results are the same."""

    def refuse(*_):
        raise clfrnn.DeviceMemoryError("no memory")

    monkeypatch.setattr(coincident, "find_groups", refuse)
    points = cloud("coincident", 3, "float32")
    eager = tuned(session, nearest={"coincident": 1.0}, linking={"coincident": 0.0})
    names, found = launched(session, lambda: clfrnn.nearest(points, 4, method="aabb_tree", session=eager))
    assert "place_keys" in names or N < 500
    assert "name_rows" not in names
    assert_rows(found, nearest_truth("coincident", 3, "float32", 4))
    batch = np.arange(N) % 2
    labels = friends_of_friends(points, 0.01, batch=batch, session=eager).labels.get()
    assert np.array_equal(labels, twin(points, 0.01, 1, batch=batch)[0])


def test_a_square_at_the_end_of_the_range(session):
    """A pair is one of neighbors where its squared distance is below that of the largest radius, whoever finds it."""
    points = cloud("coincident", 3, "float32")[:300] * np.float32(1e9)
    points[7] = 1.8446743e19, 0, 0
    for method in ("strips", "aabb_tree", "brute_force"):
        with np.errstate(over="ignore"):
            expected = reference.nearest(points, 3)
        assert_rows(clfrnn.nearest(points, 3, method=method, session=session), expected)


def test_packets_serve_crowds(session):
    """On a GPU a cloud of halos has first bounds for its points; a condition and other queries do without them."""
    session = as_gpu(session)
    points = cloud("halos", 3, "float32")
    with session.recorded() as launches:
        clfrnn.nearest(points, 8, method="aabb_tree", session=session)
    assert "find_first_bounds" in [launch[0] for launch in launches]
    odd = clfrnn.Condition("j & 1")
    found = clfrnn.nearest(points, 4, where=odd, method="aabb_tree", session=session).to_host()
    assert (found.indices[found.indices >= 0] % 2 == 1).all()
    own = clfrnn.nearest(points, 8, queries=points[:50], method="aabb_tree", session=session)
    assert_rows(own, reference.nearest(points, 8, queries=points[:50]))
