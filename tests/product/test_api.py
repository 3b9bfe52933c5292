"""The public calls: what they accept, what they refuse, and what they say then."""

import contextlib
import math
import threading

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import assert_counts, assert_same, before_allocations, own_session, truth

import clfrnn
from clfrnn import clouds
from clfrnn.methods import METHODS
from clfrnn.runtime.launch_limits import launch_budget

POINTS = clouds.uniform(300, 3, seed=1)
RADIUS = 0.2
EXPECTED = truth(POINTS, RADIUS)


def indices(found):
    return found.to_host().indices.tolist()


# --- input that is accepted -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.asfortranarray,
        lambda p: p.tolist() and p,
        lambda p: np.repeat(p, 2, axis=0)[::2],
        lambda p: np.concatenate([p, p], axis=1)[:, :3],
        lambda p: p[::-1].copy()[::-1],
        lambda p: p.astype(">f4"),
        lambda p: type("Wrapped", (), {"__array__": lambda self, dtype=None, copy=None: p})(),
    ],
    ids=["plain", "fortran", "same", "strided", "columns", "negative stride", "big endian", "__array__"],
)
def test_layouts(session, convert):
    assert indices(clfrnn.search(convert(POINTS), RADIUS, session=session, sort="index")) == EXPECTED.indices.tolist()


def test_half_precision_becomes_float32(session):
    points = np.random.default_rng(2).integers(0, 12, (200, 3)).astype(np.float16)

    found = clfrnn.search(points, 2, session=session, sort="index")

    assert found.dtype == np.float32
    assert indices(found) == truth(points.astype(np.float32), 2).indices.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("where", ["host", "device"])
def test_integers_become_float64(session, dtype, where):
    """Or float32 where the device has no other, with a warning, as squares are rounded there."""
    real = np.float64 if session.profile.fp64 else np.float32
    points = np.random.default_rng(2).integers(0, 12, (200, 3)).astype(dtype)
    given = points if where == "host" else cla.to_device(session.queue, points)

    with contextlib.nullcontext() if session.profile.fp64 else pytest.warns(clfrnn.PrecisionWarning, match="points: "):
        found = clfrnn.search(given, math.sqrt(2), session=session, sort="index")

    assert found.dtype == real
    assert indices(found) == truth(points.astype(real), math.sqrt(2)).indices.tolist()


def test_integers_without_float64(session):
    session = own_session(session, fp64=False)
    with pytest.warns(clfrnn.PrecisionWarning, match=r"points: integers are searched in float32.*astype") as heard:
        found = clfrnn.search([[0, 0], [3, 4]], 5, session=session)

    assert len(heard) == 1
    assert (found.dtype, found.num_pairs) == (np.float32, 2)
    with (
        pytest.raises(clfrnn.InvalidInputError, match=r"points: expected integers up to 2\*\*24.*got 16777217"),
        pytest.warns(clfrnn.PrecisionWarning),
    ):
        clfrnn.search(np.array([[0, 2**24 + 1]]), 5, session=session)


def test_nested_sequences(session):
    if not session.profile.fp64:
        pytest.skip("Python floats are float64, which the device lacks")
    found = clfrnn.search([[0.0, 0.0], (3.0, 4.0)], 5, session=session)

    assert found.dtype == np.float64
    assert [row.tolist() for row in found] == [[1], [0]]
    assert clfrnn.search([[0, 0], [3, 4]], 5, session=session).dtype == np.float64


@pytest.mark.parametrize("where", ["host", "device"])
def test_wider_queries_are_searched_in_their_dtype(session, where):
    """By a search; an index stays in its own dtype, and refuses them. Lists take the points' dtype."""
    index = clfrnn.build_index(POINTS, RADIUS, session=session)
    wide = POINTS[:20].astype(np.float64) + 1e-12
    given = wide if where == "host" or not session.profile.fp64 else cla.to_device(session.queue, wide)
    points = POINTS if where == "host" else cla.to_device(session.queue, POINTS)
    with pytest.raises(clfrnn.InvalidInputError, match=r"queries: expected float32.*got float64.*astype"):
        index.query(given)
    listed = index.query(wide.tolist(), sort="index")
    assert indices(listed) == truth(POINTS, RADIUS, queries=wide.astype(np.float32)).indices.tolist()
    whole = np.zeros((2, 3), np.int64)
    assert indices(index.query(whole, sort="index")) == truth(POINTS, RADIUS, queries=whole).indices.tolist()
    if not session.profile.fp64:
        with pytest.raises(clfrnn.InvalidInputError, match="queries: float64 was given, but .* has no fp64"):
            clfrnn.search(points, RADIUS, queries=given, session=session)
        return
    for queries in (given, whole):
        found = clfrnn.search(points, RADIUS, queries=queries, session=session, sort="index", distances=True)
        near = clfrnn.nearest(points, 3, queries=queries, session=session)
        expected = truth(POINTS.astype(np.float64), RADIUS, queries=wide if queries is given else whole)
        assert found.dtype == near.distances.dtype == np.float64
        assert_same(found, expected)
    found = clfrnn.search(POINTS.astype(np.float64), RADIUS, queries=POINTS[:20], session=session, sort="index")
    assert indices(found) == truth(POINTS.astype(np.float64), RADIUS, queries=POINTS[:20]).indices.tolist()
    assert clfrnn.search(points, RADIUS, queries=wide.tolist(), session=session).dtype == np.float32


def test_input_is_never_modified(session):
    points = POINTS.copy()
    device = cla.to_device(session.queue, points)
    for method in METHODS:
        clfrnn.search(points, RADIUS, method=method, session=session, sort="distance")
        clfrnn.search(device, RADIUS, method=method)

    assert np.array_equal(points, POINTS)
    assert np.array_equal(device.get(), POINTS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_index_copies_its_points(session, method):
    device = cla.to_device(session.queue, POINTS)
    index = clfrnn.build_index(device, RADIUS, method=method)
    device.fill(7)
    index_of_host = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)
    updated = cla.to_device(session.queue, POINTS)
    index_of_host.update(updated)
    updated.fill(7)

    assert indices(index.query(sort="index")) == EXPECTED.indices.tolist()
    assert indices(index_of_host.query(sort="index")) == EXPECTED.indices.tolist()


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a[:, :],
        lambda a: a[100:],
        lambda a: a[::2],
    ],
    ids=["whole", "all", "offset", "stride"],
)
def test_device_arrays_and_their_views(session, view):
    device = view(cla.to_device(session.queue, POINTS))
    expected = truth(view(POINTS), RADIUS)

    assert indices(clfrnn.search(device, RADIUS, sort="index")) == expected.indices.tolist()


def test_a_device_column_as_radii(session):
    table = np.random.default_rng(3).random((300, 4)).astype(np.float32) * np.float32(RADIUS)
    index = clfrnn.build_index(POINTS, RADIUS, session=session)
    device = cla.to_device(session.queue, table)

    found = index.query(radius=device[:, 2], sort="index")

    assert indices(found) == truth(POINTS, table[:, 2]).indices.tolist()


def test_fortran_and_integer_device_arrays(session):
    fortran = cla.to_device(session.queue, np.asfortranarray(POINTS))
    integers = np.random.default_rng(4).integers(0, 9, (100, 2)).astype(np.int32)

    assert indices(clfrnn.search(fortran, RADIUS, sort="index")) == EXPECTED.indices.tolist()
    if session.profile.fp64:
        found = clfrnn.search(cla.to_device(session.queue, integers), 1.5, sort="index")
        assert indices(found) == truth(integers.astype(np.float64), 1.5).indices.tolist()


def test_an_array_of_another_queue_is_waited_for(session):
    other = cl.CommandQueue(session.context)
    device = cla.zeros(other, POINTS.shape, np.float32) + cla.to_device(other, POINTS)

    assert indices(clfrnn.search(device, RADIUS, session=session, sort="index")) == EXPECTED.indices.tolist()


def test_the_session_is_that_of_the_arrays(session):
    device = cla.to_device(session.queue, POINTS)

    index = clfrnn.build_index(device, RADIUS)

    assert index.session is session
    assert clfrnn.build_index(index.count().astype(np.float32).reshape(-1, 2), 1.0).session is session
    assert clfrnn.search(POINTS, RADIUS, queries=device).indices.context == session.context


def test_an_array_of_another_context_is_refused(session):
    context = cl.Context([session.device])  # held: one driver drops it under a live queue
    foreign = cla.to_device(cl.CommandQueue(context), POINTS)
    index = clfrnn.build_index(POINTS, RADIUS, session=session)

    for call in (
        lambda: clfrnn.search(foreign, RADIUS, session=session),
        lambda: index.query(foreign),
        lambda: index.update(foreign),
        lambda: index.query(radius=foreign[:, 0]),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=r"(points|queries|radius): .*another; pass"):
            call()


# --- input that is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(6), r"points: expected shape \(rows, dim\), got \(6,\); use reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"points: expected shape \(rows, dim\).*got \(2, 2, 2\)"),
        (np.zeros((4, 0)), r"points: .*got \(4, 0\)"),
        (np.zeros((4, 3), bool), r"points: .*bool"),
        (np.zeros((4, 3), complex), r"points: .*complex128"),
        (np.zeros((4, 3), np.longdouble), r"points: .*(longdouble|float128|float96)"),
        (np.zeros((4, 3), object), r"points: .*object"),
        (np.zeros((4, 3), "S4"), r"points: .*S4"),
        (np.zeros((4, 3), "datetime64[s]"), r"points: .*datetime64"),
        ([[1.0, 2.0], [3.0]], r"points: .*convert"),
        ("cloud.npy", r"points: .*got dtype"),
        (None, r"points: "),
        (np.array([[0, 2**53 + 1]]), r"points: expected integers up to 2\*\*(53|24).*9007199254740993.*astype"),
        (np.array([[0, 2**63]], np.uint64), r"points: expected integers"),
        (np.ma.masked_equal(np.arange(6.0).reshape(2, 3), 4), r"points: .*masked"),
        (np.zeros((4, 13), np.float32), r"points: expected at most 12 coordinates a point, got 13; no method serves"),
    ],
    ids=lambda value: None,
)
def test_bad_points(session, value, message):
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        clfrnn.search(value, 1.0, session=session)


def test_float64_without_fp64(session):
    if session.profile.fp64:
        pytest.skip("the device has fp64")
    with pytest.raises(clfrnn.InvalidInputError, match=r"points: float64 was given, but .* has no fp64; convert"):
        clfrnn.search(POINTS.astype(np.float64), RADIUS, session=session)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_host_rows_that_are_not_finite(session, method, bad):
    points = POINTS.copy()
    points[200, 2] = bad
    points[123, 1] = bad
    index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)

    for name, call in {
        "points": lambda: clfrnn.search(points, RADIUS, method=method, session=session),
        "queries": lambda: clfrnn.search(POINTS, RADIUS, method=method, queries=points, session=session),
    }.items():
        with pytest.raises(clfrnn.InvalidInputError, match=rf"{name}: .*row 123"):
            call()
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 123"):
        index.update(points)
    assert indices(index.query(sort="index")) == EXPECTED.indices.tolist(), "the old points still answer"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_device_rows_that_are_not_finite(session, method, bad):
    points = POINTS.copy()
    points[200, 2] = bad
    points[123, 1] = bad
    device = cla.to_device(session.queue, points)
    expected = truth(points, RADIUS)
    index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)

    for call in (
        lambda: clfrnn.search(device, RADIUS, method=method),
        lambda: clfrnn.build_index(device, RADIUS, method=method),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 123"):
            call()
    index.update(device)
    counts = index.count()
    assert np.array_equal(counts.get(), np.diff(expected.offsets)), "a bad point is nobody's neighbor"
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 123"):
        index.check()
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 123"):
        index.query()
    index.update(POINTS)
    index.check()
    assert indices(index.query(sort="index")) == EXPECTED.indices.tolist()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_device_queries_that_are_not_finite(session, method):
    queries = POINTS.copy()
    queries[17, 0] = np.nan
    device = cla.to_device(session.queue, queries)
    index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)

    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 17"):
        index.query(device)
    assert index.count(device).get()[17] == 0
    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 17"):
        index.check()
    index.check()


@pytest.mark.parametrize(
    ("radius", "message"),
    [
        (-1, "got -1"),
        (math.nan, "got nan"),
        (math.inf, "got inf"),
        (1e30, "whose square is finite in float32"),
        (10**400, "got inf"),
        ("0.1", "expected a number, got '0.1'"),
        (None, "expected a number, got None"),
        (True, "expected a number, got True"),
        (1j, "expected a number"),
        (np.complex64(1j), "expected a number"),
        (np.timedelta64(1, "s"), "expected a number"),
        ([[1], [1, 2]], "expected a number"),
        ([0.1, None], "expected a number"),
        (np.ma.masked_less(np.linspace(0, 0.1, 300), 0.05), "expected a number or one per query, got a masked array"),
        (np.full(300, -0.5), r"got -0.5 in row 0"),
        (np.where(np.arange(300) == 5, np.nan, 0.1), r"got nan in row 5"),
        (np.zeros(299), r"shape \(300,\).*got shape \(299,\)"),
        (np.zeros((300, 1)), r"shape \(300,\).*got shape \(300, 1\)"),
    ],
    ids=str,
)
def test_bad_radii(session, radius, message):
    with pytest.raises(clfrnn.InvalidInputError, match=f"radius: .*{message}"):
        clfrnn.search(POINTS, radius, session=session)


def test_the_radius_of_a_query_is_bounded_for_every_method(session):
    for method in METHODS:
        index = clfrnn.build_index(POINTS, 0.1, method=method, session=session)
        assert index.count(radius=0.1).size == 300
        too_large = np.nextafter(np.float32(0.1), np.float32(1))
        for radius in (too_large, np.full(300, too_large)):
            with pytest.raises(clfrnn.InvalidInputError, match=r"radius: expected at most 0\.1"):
                index.query(radius=radius)
        device = cla.to_device(session.queue, np.full(300, too_large))
        with pytest.raises(clfrnn.InvalidInputError, match=r"radius: expected at most 0\.1"):
            index.query(radius=device)
        index.count(radius=device)
        with pytest.raises(clfrnn.InvalidInputError, match=r"radius: expected at most 0\.1"):
            index.check()
        negative = cla.to_device(session.queue, np.where(np.arange(300) == 9, -0.05, 0.05).astype(np.float32))
        assert index.count(radius=negative).get()[9] == 0
        with pytest.raises(clfrnn.InvalidInputError, match=r"radius: .*got -0\.05"):
            index.check()


def test_the_radius_is_rounded_to_the_dtype_of_the_points(session):
    index = clfrnn.build_index(POINTS, 0.1, session=session)

    assert index.radius == float(np.float32(0.1))
    index.query(radius=0.1)


def test_a_scalar_radius_only_for_an_index(session):
    with pytest.raises(clfrnn.InvalidInputError, match="radius: expected a number"):
        clfrnn.build_index(POINTS, np.full(300, 0.1), session=session)


def test_half_needs_a_symmetric_relation(session):
    with pytest.raises(clfrnn.InvalidInputError, match="half: .*queries"):
        clfrnn.search(POINTS, RADIUS, queries=POINTS, half=True, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="half: .*radius"):
        clfrnn.search(POINTS, np.full(300, RADIUS), half=True, session=session)


def test_with_queries_nothing_is_self(session):
    found = clfrnn.search(POINTS, RADIUS, queries=POINTS, session=session, include_self=False)
    also = clfrnn.search(POINTS, RADIUS, queries=POINTS, session=session, include_self=True)

    assert found.num_pairs == also.num_pairs == EXPECTED.offsets[-1] + len(POINTS)


def test_bad_words(session):
    with pytest.raises(clfrnn.InvalidInputError, match="sort: expected None, 'index' or 'distance', got 'd'"):
        clfrnn.search(POINTS, RADIUS, sort="d", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match=r"method: expected 'auto' or one of .*strips.*got 'kdtree'"):
        clfrnn.search(POINTS, RADIUS, method="kdtree", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="construction: expected 'counting' or 'sort', got array"):
        clfrnn.search(POINTS, RADIUS, method="strips", construction=np.array(["sort", "x"]), session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="construction: expected 'counting' or 'sort', got 'x'"):
        clfrnn.search(POINTS, RADIUS, method="strips", construction="x", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="session: expected a clfrnn.Session, got str"):
        clfrnn.search(POINTS, RADIUS, session="gpu")
    for width in (0, -1, math.nan, math.inf, "1", True):
        for method in ("strips", "uniform_grid"):
            with pytest.raises(clfrnn.InvalidInputError, match="bin_width: expected"):
                clfrnn.search(POINTS, RADIUS, method=method, bin_width=width, session=session)


def test_unknown_options(session):
    with pytest.raises(TypeError, match=r"'leaf_size'.*'uniform_grid' takes bin_width, construction"):
        clfrnn.search(POINTS, RADIUS, method="uniform_grid", leaf_size=1, session=session)
    with pytest.raises(TypeError, match=r"'binwidth'.*'strips' takes bin_width, construction"):
        clfrnn.build_index(POINTS, RADIUS, method="strips", binwidth=1, session=session)
    with pytest.raises(TypeError, match=r"'cells'.*'brute_force' takes no options"):
        clfrnn.build_index(POINTS, RADIUS, method="brute_force", cells=1, session=session)
    with pytest.raises(TypeError, match=r"'bin_width'.*name the method"):
        clfrnn.build_index(POINTS, RADIUS, bin_width=1, session=session)


def test_queries_and_updates_of_another_shape(session):
    index = clfrnn.build_index(POINTS, RADIUS, session=session)

    with pytest.raises(clfrnn.InvalidInputError, match=r"queries: expected shape \(m, 3\).*got \(5, 2\)"):
        index.query(np.zeros((5, 2), np.float32))
    with pytest.raises(
        clfrnn.InvalidInputError, match=r"points: expected shape \(n, 3\), as the points before.*got \(300, 2\)"
    ):
        index.update(POINTS[:, 1:])
    with pytest.raises(clfrnn.InvalidInputError, match=r"points: expected float32.*got float64"):
        index.update(POINTS.astype(np.float64))


def test_methods_serve_their_dimensions(session):
    line = POINTS[:, :1].copy()

    few = "aabb_tree" if session.profile.kind == "gpu" else "brute_force"
    assert clfrnn.build_index(line[:150], 0.1, session=session).method == few
    with pytest.raises(clfrnn.InvalidInputError, match=r"expected 2 to 3 coordinates.*'strips', got 1.*'brute_force'"):
        clfrnn.search(line, 0.1, method="strips", session=session)


def test_auto(session):
    few = "strips" if session.profile.kind == "gpu" else "brute_force"
    assert clfrnn.build_index(POINTS[:50], RADIUS, session=session).method == few
    assert clfrnn.build_index(POINTS[:51], RADIUS, session=session).method == "strips"
    sparse = clfrnn.build_index(clouds.uniform(5000), 0.05, session=session)
    assert sparse.method == "strips"
    dense = clfrnn.build_index(clouds.uniform(5000), 0.3, session=session)
    assert dense.method == "strips"
    crowded = clfrnn.build_index(clouds.clustered(60_000), 0.01, session=session)
    assert crowded.method == "strips"


class Rows(cla.Array):
    """What other libraries derive from a device array."""


def _arrays(session, points):
    """Device arrays with these rows, that lie ready or in every way that they may not."""
    queue = session.queue
    other = cl.CommandQueue(session.context, session.device)
    stretch = cla.to_device(queue, np.concatenate([np.full((5, 3), 9.0, np.float32), points]))
    wide = cla.to_device(queue, np.ascontiguousarray(np.hstack([points, 9 + points])))
    pending = cla.to_device(queue, 0 * points)
    pending += cla.to_device(queue, points)
    derived = Rows(queue, points.shape, points.dtype)
    derived.set(points)
    return {
        "ready": cla.to_device(queue, points),
        "written by its queue": pending,
        "behind others in its buffer": stretch[5:],
        "Fortran's order": cla.to_device(queue, np.asfortranarray(points)),
        "columns of more": wide[:, :3],
        "of another queue": cla.to_device(other, points),
        "of no queue": cla.to_device(queue, points).with_queue(None),
        "of a derived class": derived,
    }


@pytest.mark.parametrize("method", sorted(METHODS))
def test_updates_by_every_kind_of_array(session, method):
    """None is taken for what it is not, as those are that lie ready."""
    moved = clouds.uniform(300, 3, seed=2)
    expected = truth(moved, RADIUS)
    for kind, array in _arrays(session, moved).items():
        index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)
        index.update(array)
        assert np.array_equal(index.query(sort="index").indices.get(), expected.indices), kind
    awaited, late = (cla.to_device(session.queue, rows) for rows in (np.full_like(moved, 9.0), moved))
    other, gate = cl.CommandQueue(session.context, session.device), cl.UserEvent(session.context)
    awaited.add_event(cl.enqueue_copy(other, awaited.base_data, late.base_data, wait_for=[gate]))
    other.flush()
    index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)
    threading.Timer(0.1, gate.set_status, (cl.command_execution_status.COMPLETE,)).start()
    index.update(awaited)
    assert np.array_equal(index.query(sort="index").indices.get(), expected.indices), "written by another queue"
    for wrong in (moved[:, :2].copy(), moved.reshape(-1)):
        with pytest.raises(clfrnn.InvalidInputError, match="points: expected"):
            index.update(cla.to_device(session.queue, wrong))


def test_facts_of_an_index(session):
    index = clfrnn.build_index(POINTS, RADIUS, method="strips", session=session)

    assert index.session is session
    assert (index.method, index.num_points, index.dim) == ("strips", 300, 3)
    assert index.dtype == np.float32
    assert "300 points in 3D, float32, radius 0.2" in repr(index)
    with pytest.raises(TypeError, match="cannot be pickled"):
        __import__("pickle").dumps(index)


def test_count_is_a_device_array_of_int32(session):
    counts = clfrnn.build_index(POINTS, RADIUS, session=session).count()

    assert isinstance(counts, cla.Array)
    assert counts.dtype == np.int32
    assert counts.shape == (300,)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_errors_found_on_the_device_are_not_lost(session, method):
    """Whatever is taken without waiting is judged at the next wait, though good arrays came in between."""
    bad = POINTS.copy()
    bad[5] = np.nan
    bad, good = cla.to_device(session.queue, bad), cla.to_device(session.queue, POINTS)
    index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)

    index.count(bad)
    index.update(good)
    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 5"):
        index.check()
    index.update(bad)
    index.count()
    index.update(good)
    with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 5"):
        index.check()
    index.count(bad)
    index.count(radius=cla.to_device(session.queue, np.full(300, 9, np.float32)))
    for message in ("queries: .*row 5", "radius: expected at most"):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            index.query()
    assert indices(index.query(sort="index")) == EXPECTED.indices.tolist()


def test_checks_of_a_caller_who_never_waits_do_not_pile_up(session):
    index = clfrnn.build_index(POINTS, RADIUS, method="strips", session=session)
    device = cla.to_device(session.queue, POINTS)
    for _ in range(40):
        index.count(device)
    held = session._pool.active_blocks
    for _ in range(100):
        index.count(device)

    assert abs(session._pool.active_blocks - held) <= 2 * 16


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_update_that_fails_leaves_the_old_points(session, method):
    """No memory, at whichever allocation: the index answers as before, and takes the next points."""
    moved = POINTS * np.float32(20)
    failures = 0
    for device_points in (moved, cla.to_device(session.queue, moved)):
        for fails_at in range(12):
            index = clfrnn.build_index(POINTS, RADIUS, method=method, session=session)
            calls = iter(range(1000))

            def failing(session, size, purpose, calls=calls, fails_at=fails_at):
                if next(calls) == fails_at:
                    session._refuse(size, purpose)

            try:
                with before_allocations(failing):
                    index.update(device_points)
            except clfrnn.DeviceMemoryError:
                failures += 1
                assert indices(index.query(sort="index")) == EXPECTED.indices.tolist()
                index.update(device_points)
            assert_counts(index.count(), truth(moved, RADIUS))
    assert failures >= 3


@pytest.mark.parametrize("what", ["update", "queries", "radius"])
def test_an_array_of_another_queue_may_change_after_the_call(session, what):
    """What the caller enqueues next on the array's own queue comes after our reading of it."""
    other = cl.CommandQueue(session.context)
    cloud = clouds.uniform(20_000 if launch_budget(session.profile, session.tuning) > 1 << 20 else 300, 3, seed=5)
    index = clfrnn.build_index(cloud, 0.05, method="strips", session=session)
    radii = np.linspace(0, 0.05, len(cloud)).astype(np.float32)
    array = cla.to_device(other, radii if what == "radius" else cloud[::-1].copy())
    busy = [index.count() for _ in range(3)]  # the session's queue has something to do first

    if what == "update":
        index.update(array)
        array.fill(0)
        found = index.count()
    elif what == "queries":
        found = index.count(array)
        array.fill(0)
    else:
        found = index.count(radius=array)
        array.fill(0)

    expected = {
        "update": lambda: clfrnn.search(cloud[::-1].copy(), 0.05, session=session).counts,
        "queries": lambda: clfrnn.search(cloud, 0.05, queries=cloud[::-1].copy(), session=session).counts,
        "radius": lambda: clfrnn.search(cloud, radii, session=session).counts,
    }[what]()
    assert np.array_equal(found.get(), expected)
    assert len(busy) == 3


def test_an_array_leads_back_to_the_session_of_its_queue(session):
    others = [clfrnn.Session(cl.CommandQueue(session.context)) for _ in range(4)]

    for each in (others[2], session, others[0]):
        assert clfrnn.build_index(cla.to_device(each.queue, POINTS), RADIUS).session is each


@pytest.mark.parametrize("method", ["uniform_grid", "strips"])
@pytest.mark.parametrize("radius", [1e103, 1e111, 1e150])
def test_a_radius_whose_cube_is_infinite(session, method, radius):
    if not session.profile.fp64:
        pytest.skip("the device has no fp64")
    points = POINTS[:50].astype(np.float64)

    assert clfrnn.search(points, radius, method=method, session=session).num_pairs == 50 * 49


def test_lists_do_not_fit(session):
    n = 40_000
    pairs = n * (n - 1)
    if 4 * pairs <= min(session.profile.max_allocation, session.profile.global_memory):
        pytest.skip("this device holds the list of all pairs")
    if launch_budget(session.profile, session.tuning) <= 1 << 20:
        pytest.skip("testing all these pairs takes a simulator hours")
    points = np.zeros((n, 2), np.float32)
    points[:, 0] = np.linspace(0, 1e-3, n)
    index = clfrnn.build_index(points, 1.0, method="strips", session=session)

    with pytest.raises(
        clfrnn.DeviceMemoryError, match=rf"list of {pairs:,} pairs needs {4 * (pairs + n + 1):,} bytes, .*count"
    ):
        index.query()
    assert index.query(points[:10]).num_pairs == 10 * n, "the index still answers"
