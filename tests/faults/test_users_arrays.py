"""Arrays that users' code reads: those that it indexes by i or j are long enough, or nothing is launched."""

import copy
import pickle

import numpy as np
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds

N, M, RADIUS = 60, 90, 0.4
POINTS, QUERIES = clouds.uniform(N, 3, seed=1), clouds.uniform(M, 3, seed=2)


@pytest.fixture
def index(session):
    return clfrnn.build_index(POINTS, RADIUS, method="brute_force", session=session)


def refuse(call, name, many, of, got):
    with pytest.raises(
        clfrnn.InvalidInputError,
        match=rf"^{name}: expected .* for each of {many} {of}, .*, got .*, which is {got}; .* checked=False",
    ):
        call()


def test_arrays_of_conditions_follow_the_points(session, index):
    """After an update with more points, the array of an earlier step was read beyond its end."""
    kind = np.arange(N) % 3
    condition = clfrnn.Condition("kind[i] == kind[j]", kind=kind)
    expected = index.count(where=condition).get()
    more = np.concatenate([POINTS, POINTS[:1]])

    index.update(more)
    for call in (index.count, index.nearest, index.query, lambda where: index.nearest(k=2, where=where)):
        refuse(lambda call=call: call(where=condition), "kind", N + 1, "(queries|points)", N)
    refuse(lambda: index.query(half=True, where=condition), "kind", N + 1, "(queries|points)", N)
    refuse(lambda: index.query_blocks(max_bytes=10_000, where=condition), "kind", N + 1, "(queries|points)", N)
    longer = clfrnn.Condition("kind[i] == kind[j]", kind=np.append(kind, 7))
    assert np.array_equal(index.count(where=longer).get()[:N], expected)
    index.update(POINTS)
    assert np.array_equal(index.count(where=condition).get(), expected)
    index.update(POINTS[:9])
    index.count(where=condition)


def test_queries_and_points_are_counted_apart(session, index):
    of_points, of_queries = clfrnn.Condition("a[j] > 0", a=np.ones(N)), clfrnn.Condition("a[i] > 0", a=np.ones(M))
    for where in (of_points, of_queries):
        index.count(QUERIES, where=where)
    index.count(where=of_queries)
    index.count(where=of_points)
    refuse(lambda: index.count(QUERIES, where=clfrnn.Condition("a[i] > 0", a=np.ones(N))), "a", M, "queries", N)
    refuse(lambda: index.count(QUERIES, where=clfrnn.Condition("a[j] > 0", a=np.ones(N - 1))), "a", N, "points", N - 1)
    refuse(
        lambda: clfrnn.nearest(POINTS, 1, queries=QUERIES, where=of_points_and(M - 1), session=session),
        "a",
        M,
        "queries",
        M - 1,
    )


def of_points_and(many):
    return clfrnn.Condition("a[i] > 0 && j >= 0", a=np.ones(many))


def test_searches_batches_and_clusters(session):
    short = clfrnn.Condition("a[j] == 1", a=np.ones(N - 1, np.int32))
    batch = np.arange(N) % 2
    for call in (
        lambda: clfrnn.search(POINTS, RADIUS, where=short, session=session),
        lambda: clfrnn.search(POINTS, RADIUS, where=short, batch=batch, session=session),
        lambda: clfrnn.nearest(POINTS, 2, where=short, session=session),
        lambda: clfrnn.nearest(POINTS, 2, radius=RADIUS, where=short, session=session),
        lambda: clfrnn.cluster.dbscan(POINTS, RADIUS, min_samples=3, where=short, session=session),
        lambda: clfrnn.cluster.friends_of_friends(POINTS, RADIUS, where=short, session=session),
    ):
        refuse(call, "a", N, "points", N - 1)


@pytest.mark.parametrize("checked", [False, True])
def test_those_who_know_may_pass_shorter_ones(session, index, checked):
    """As the code leaves the other numbers out."""
    expression = "j < 30 && few[j < 30 ? j : 0] == 1"
    few = clfrnn.Condition("j < 30 && few[j] == 1", few=np.ones(30, np.int32), checked=checked)
    expected = index.count(where=clfrnn.Condition(expression, few=np.ones(30, np.int32))).get()

    if checked:
        refuse(lambda: index.count(where=few), "few", N, "points", 30)
    else:
        assert np.array_equal(index.count(where=few).get(), expected)
        assert repr(few).endswith("few=<int32 (30,)>, checked=False)")


def test_views_count_what_they_show(session, index):
    """Not what lies behind them in their buffer."""
    whole = cla.to_device(session.queue, np.ones(2 * N, np.int32))
    start = 512  # the part begins where drivers let parts begin

    index.count(where=clfrnn.Condition("a[j] == 1", a=whole[N:]))
    refuse(lambda: index.count(where=clfrnn.Condition("a[j] == 1", a=whole[N + 1 :])), "a", N, "points", N - 1)
    long = cla.to_device(session.queue, np.ones(start + N, np.int32))
    visit(index, "int", "n += a[j];", a=long[start:])
    refuse(lambda: visit(index, "int", "n += a[j];", a=long[start + 1 :]), "a", N, "points", N - 1)


def visit(index, ctype, per_neighbor="", *, queries=None, checked=True, preamble="", finish="", **values):
    """The sum that a function finds for each query."""
    function = clfrnn.NeighborFunction(
        arguments=f"global const {ctype} *a, global int *out",
        state="int n = 0;",
        per_neighbor=per_neighbor,
        finish=finish + "out[i] = n;",
        preamble=preamble,
    )
    out = index.zeros(len(POINTS) if queries is None else len(queries), "int32")
    index.visit(function, queries, out=out, checked=checked, **values)
    return out.get()


@pytest.mark.parametrize(
    ("ctype", "preamble", "lanes", "dtype"),
    [
        ("short", "", 1, np.int16),
        ("uchar", "", 1, bool),
        ("float4", "", 4, np.float32),
        ("float3", "", 4, np.float32),
        ("real_vec", "", 4, np.float32),
        ("vec", "typedef float4 vec;", 4, np.float32),
        ("vec", "#define vec float3", 4, np.float32),
        ("vec", "typedef unsigned int word;\ntypedef word vec;", 1, np.uint32),
    ],
)
def test_elements_are_those_of_the_declared_type(session, index, ctype, preamble, lanes, dtype):
    """A float3 takes the memory of four numbers."""
    code = "if (sizeof(a[j]) > 0) ++n;"
    enough = np.zeros(N * lanes, dtype)

    assert np.array_equal(visit(index, ctype, code, preamble=preamble, a=enough), index.count().get())
    refuse(lambda: visit(index, ctype, code, preamble=preamble, a=enough[:-lanes]), "a", N, "points", N - 1)
    if lanes > 1:
        refuse(
            lambda: visit(index, ctype, code, preamble=preamble, a=enough[: N // lanes * lanes]), "a", N, "points", 15
        )
    visit(index, ctype, "if (j < 3) n += sizeof(a[j]);", preamble=preamble, a=enough[: 3 * lanes], checked=False)


def test_arrays_of_visits_follow_queries_and_points(session, index):
    """The shorter one was read beyond its end."""
    refuse(lambda: visit(index, "int", "n += a[j];", a=np.ones(N - 1, np.int32)), "a", N, "points", N - 1)
    refuse(
        lambda: visit(index, "int", finish="n = a[i];", queries=QUERIES, a=np.ones(N, np.int32)), "a", M, "queries", N
    )
    visit(index, "int", "n += a[j];", queries=QUERIES, a=np.ones(N, np.int32))
    visit(index, "float", "n += a[3 * j + 2];", a=POINTS)
    found = visit(index, "float", "n += vload3(j, a).x >= 0;", a=POINTS)
    assert np.array_equal(found, index.count().get())
    with pytest.raises(clfrnn.ArgumentError, match="^a: expected 3 elements for each of 60 points, .* which is 177;"):
        visit(index, "float", "n += vload3(j, a).x >= 0;", a=POINTS[:-1])
    scatter = clfrnn.NeighborFunction(arguments="global int *hits", per_neighbor="atomic_inc(&hits[j]);")
    hits = index.zeros(M, "int32")
    index.visit(scatter, POINTS[:5], hits=hits)
    refuse(lambda: index.visit(scatter, POINTS[:5], hits=index.zeros(N - 1, "int32")), "hits", N, "points", N - 1)


def test_lengths_are_read_once(session, index, calls_of):
    """Each call compares numbers alone."""
    from clfrnn import functions

    condition = clfrnn.Condition("a[j] == 1", a=np.ones(N, np.int32))
    index.count(where=condition)
    read = calls_of(functions, "indexed")
    for _ in range(3):
        index.count(where=condition)

    assert not read


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_conditions_are_copied_and_pickled(session, index, how):
    """Lists of floats stay arrays of the points' type."""
    condition = clfrnn.Condition(
        "BOTH(kind) || d2 < least[0] * w", "#define BOTH(a) (a[i] == a[j])", kind=np.arange(N) % 2, least=[0.01], w=0.5
    )
    expected = index.count(where=condition).get()

    other = how(condition)

    assert repr(other) == repr(condition)
    assert np.array_equal(index.count(where=other).get(), expected)
    assert other._code == condition._code
    assert not how(clfrnn.Condition("a[j]", a=[1], checked=False))._checked


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_conditions_of_arrays_on_a_device_say_why_not(session, how):
    condition = clfrnn.Condition("a[j] == b", a=cla.zeros(session.queue, N, np.int32), b=1)
    with pytest.raises(TypeError, match=r"arrays on a device, here a, cannot be pickled or copied; make .*array\.get"):
        how(condition)
