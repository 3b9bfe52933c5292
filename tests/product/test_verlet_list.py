"""Lists that live: the pairs of each step are those of the definition, to the last bit, however points have moved."""

import itertools
import os

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import as_gpu, needs_fp64, rows_of

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

N = 48
#: Steps of each walk: thousands where somebody asks for them.
STEPS = int(os.environ.get("CLFRNN_TEST_STEPS", "12"))
SIZES = {np.float32: "uint", np.float64: "ulong"}
DOMAINS = ["open", "box", "small_box", "slab", "cell", "sheared_cell", "open_batch", "batch"]

#: Each number of a pair times a number of its own, so that sums of these tell pairs apart.
FACTORS = [2654435761, 2246822519, 3266489917, 668265263, 374761393, 2166136261, 16777619, 40503, 2971215073]


def digest(dtype, dim):
    """Sums, for each query, over what is in scope for its neighbors, in integers and so in any order."""
    word = SIZES[np.dtype(dtype).type]
    dims = range(dim)
    numbers = ["(uint)(j + 1)", *(f"(uint)shift.s{k}" for k in dims)]
    # A zero has no sign after 0 is added to it.
    numbers += [f"(uint)(as_{word}({each} + 0) % 4294967291)" for each in ("d2", *(f"dx.s{k}" for k in dims))]
    mixed = " ^ ".join(
        f"(({each} + {k}u) * {factor}u)" for k, (each, factor) in enumerate(zip(numbers, FACTORS, strict=False))
    )
    return clfrnn.NeighborFunction(
        arguments="global uint *sums, global int *counts",
        state="uint sum = 0; int count = 0;",
        per_neighbor=f"sum += {mixed}; ++count;",
        finish="sums[i] = sum; counts[i] = count;",
    )


def digest_of(expected, dim):
    """The same of a reference."""
    word = {4: np.uint32, 8: np.uint64}[expected.squares.dtype.itemsize]
    real = [expected.squares, *(np.ascontiguousarray(expected.vectors[:, k]) for k in range(dim))]
    numbers = [expected.indices + 1, *(expected.shifts[:, k] for k in range(dim))]
    numbers += [(each + 0).view(word) % word(4294967291) for each in real]
    mixed = np.zeros(len(expected.indices), np.uint32)
    with np.errstate(over="ignore"):
        for k, each in enumerate(numbers):
            mixed ^= (each.astype(np.uint32) + np.uint32(k)) * np.uint32(FACTORS[k])
        sums = np.zeros(len(expected.offsets) - 1, np.uint32)
        np.add.at(sums, rows_of(expected), mixed)
    return sums, np.diff(expected.offsets)


def visited(pairs, function=None):
    sums, counts = (cla.zeros(pairs.session.queue, pairs.num_points, each) for each in (np.uint32, np.int32))
    pairs.visit(function or digest(pairs.dtype, pairs.dim), sums=sums, counts=counts)
    return sums.get(), counts.get()


def assert_same_pairs(pairs, points, radius, *, where=None, **known):
    expected = reference.neighbors(points, radius, where=where, **known)
    for mine, theirs in zip(visited(pairs), digest_of(expected, points.shape[1]), strict=True):
        assert np.array_equal(mine, theirs)
    return expected


def domain_of(kind, dim, rng):
    """Keywords of a domain, and its lattice vectors for each point; zeros along what does not repeat."""
    rows, known = np.eye(dim), {}
    if kind in ("box", "batch", "slab"):
        known["box"] = np.ones(dim)
    elif kind == "small_box":
        rows = np.diag([0.35, 1.0, 1.0][:dim])
        known["box"] = np.diag(rows)
    elif kind in ("cell", "sheared_cell"):
        rows = np.eye(dim) + np.triu(np.full((dim, dim), 0.2), 1)
        rows[1] += 7 * rows[0] if kind == "sheared_cell" else 0
        known["cell"] = rows
    if kind == "slab":
        known["periodic"] = [True] + [False] * (dim - 1)
        rows = np.diag([1.0] + [0.0] * (dim - 1))
    if kind in ("open_batch", "batch"):
        known["batch"] = rng.integers(0, 4, N) * 3
    return known, rows * (kind not in ("open", "open_batch"))


def scaled(known, factor):
    return {name: known[name] * factor for name in ("box", "cell") if name in known}


def walk(rng, points, rows, skin):
    """The points after a step, which may be as long as the skin allows, or longer; some points are wrapped."""
    size = rng.choice([0.01, 0.1, 0.3, 0.5 - 2.0**-12, 0.7], p=[0.3, 0.3, 0.2, 0.1, 0.1]) * skin
    step = rng.normal(size=points.shape)
    step *= size / np.linalg.norm(step, axis=1, keepdims=True)
    wraps = rng.integers(-1, 2, points.shape) * (rng.random((len(points), 1)) < 0.1)
    return (points + step + wraps @ rows).astype(points.dtype)


@pytest.mark.threes
@pytest.mark.parametrize("half", [False, True], ids=["full", "half"])
@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("method", sorted(METHODS))
def test_random_walks(session, method, kind, half, dim, dtype):
    """Also where points are wrapped and boxes change."""
    rng = np.random.default_rng([dim, DOMAINS.index(kind)])
    known, rows = domain_of(kind, dim, rng)
    points = (rng.random((N, dim)) @ (rows if rows.all(axis=None) or kind == "sheared_cell" else np.eye(dim))).astype(
        dtype
    )
    radius, skin = 0.2, 0.06
    pairs = clfrnn.VerletList(points, radius, skin=skin, half=half, method=method, session=session, **known)
    made = 1
    for step in range(STEPS):
        other = {}
        points = walk(rng, points, rows, skin)
        if step % 10 == 7 and rows.any():
            factor = rng.uniform(0.9, 1.1)
            other, rows, points = scaled(known, factor), rows * factor, (points * factor).astype(dtype)
            known |= other
        again = pairs.update(points, **other)
        made += again
        assert again or not other
        assert pairs.num_builds == made
        assert_same_pairs(pairs, points, radius, half=half, **known)
    assert 1 < pairs.num_builds < STEPS + 1


def squares(p, q, shift):
    """d2 of pairs of rows, by the definition."""
    dx = (p - q) + shift
    return (dx[:, 0] * dx[:, 0] + dx[:, 1] * dx[:, 1]) + dx[:, 2] * dx[:, 2]


def hidden_pairs(rng, dtype, radius, skin, length):
    """Positions then and now of pairs that a list without a margin misses, by rounding alone; of as many as there are.

    Each pair is just farther apart than the list reaches, by d2, and each of its points moves towards the other by just
    half of the skin, by d2 again; they are then within the radius. In a box, they lie on both sides of its edge.
    """
    many, eps = 600_000, np.finfo(dtype).eps
    reach, half = dtype.type(radius) + dtype.type(skin), dtype.type(skin) / 2
    shift = np.array([length, 0, 0], dtype)
    unit = eps * max(1.0, length)
    along = rng.normal(size=(many, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    along[:, 0] = np.abs(along[:, 0])
    q = (np.array([length - 0.1, 0, 0]) + 0.05 * rng.random((many, 3))).astype(dtype)
    apart = reach + unit * rng.uniform(-2, 2, (many, 1))
    p = (q + along * apart - shift).astype(dtype)
    steps = [along * (half + unit * rng.uniform(-2, 2, (many, 1))) for _ in range(2)]
    p_now, q_now = (p - steps[0]).astype(dtype), (q + steps[1]).astype(dtype)
    radius = dtype.type(radius)
    hidden = (squares(p, q, shift) > reach * reach) & (squares(p_now, q_now, shift) <= radius * radius)
    hidden &= (squares(p, p_now, 0) <= half * half) & (squares(q, q_now, 0) <= half * half)
    return np.concatenate([p[hidden], q[hidden]]), np.concatenate([p_now[hidden], q_now[hidden]])


@pytest.mark.core
@pytest.mark.parametrize("length", [0.0, 1.0])
def test_pairs_that_rounding_may_hide(session, dtype, length):
    """Each is a system of its own, in open space or in a box."""
    rng = np.random.default_rng(3)
    radius, skin = 0.3, 0.14
    points, moved = hidden_pairs(rng, dtype, radius, skin, length)
    assert len(points) >= 2
    pair = np.tile(np.arange(len(points) // 2), 2)
    known = {"box": np.full(3, length)} if length else {}
    pairs = clfrnn.VerletList(points, radius, skin=skin, batch=pair, session=session, **known)
    assert not pairs.neighbors.num_pairs
    assert pairs.update(moved)
    assert_same_pairs(pairs, moved, radius, batch=pair, **known)
    assert visited(pairs)[1].min() == 1


def test_a_list_lives_until_a_point_has_moved_by_half_of_the_skin(session):
    points = np.float32([[0, 0, 0], [1, 0, 0], [5, 5, 5]])
    pairs = clfrnn.VerletList(points, 1.2, skin=0.4, session=session)
    first = pairs.neighbors
    for x, again in [(0.1, False), (0.19, False), (-0.19, False), (0.21, True), (0.39, False), (0.42, True)]:
        moved = points + np.float32([[x, 0, 0], [0, 0, 0], [0, 0, 0]])
        assert pairs.update(moved) is again, x
        assert_same_pairs(pairs, moved, 1.2)
    assert pairs.num_builds == 3
    assert pairs.neighbors is not first
    assert sorted(first.to_host().indices.tolist()) == [0, 1]


def test_points_that_are_wrapped_have_not_moved(session, dim, dtype):
    rng = np.random.default_rng(0)
    for kind in ("box", "small_box", "cell", "sheared_cell", "batch"):
        known, rows = domain_of(kind, dim, rng)
        points = (rng.random((N, dim)) @ rows).astype(dtype)
        pairs = clfrnn.VerletList(points, 0.2, skin=0.06, session=session, **known)
        moved = (points + rng.integers(-2, 3, points.shape) @ rows).astype(dtype)
        assert not pairs.update(moved)
        assert_same_pairs(pairs, moved, 0.2, **known)


def test_what_makes_a_list_again(session):
    rng = np.random.default_rng(4)
    points, box = rng.random((N, 3)).astype(np.float32), np.ones(3)
    pairs = clfrnn.VerletList(points, 0.2, skin=0.1, box=box, session=session)
    assert not pairs.update(points)
    assert not pairs.update(points, box=[1, 1, 1])
    box *= 1.25  # the caller's own array, which was not given
    assert not pairs.update(points)
    assert pairs.update(points, box=box)
    assert_same_pairs(pairs, points, 0.2, box=box)
    assert not pairs.update(points)
    assert pairs.update(points, cell=np.diag(box) + 0.1 * np.eye(3, k=1))
    assert pairs.update(points[:20])
    assert_same_pairs(pairs, points[:20], 0.2, cell=np.diag(box) + 0.1 * np.eye(3, k=1))
    assert pairs.update(points[:0])
    assert visited(pairs)[1].size == 0
    assert pairs.update(points)
    assert pairs.num_builds == 6
    assert "made 6 times in 9 updates" in pairs.explain()


def test_a_batch_may_change(session):
    rng = np.random.default_rng(5)
    points = rng.random((N, 3)).astype(np.float32)
    batch = np.arange(N) % 3
    pairs = clfrnn.VerletList(points, 0.3, skin=0.1, batch=batch, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^points: expected 48 points, as many as batch has"):
        pairs.update(points[:10])
    assert not pairs.update(points)
    assert pairs.update(points[:10], batch=batch[:10])
    assert_same_pairs(pairs, points[:10], 0.3, batch=batch[:10])


def test_boxes_of_systems_of_any_form(session):
    """By lengths and by corners, and on the device."""
    rng = np.random.default_rng(15)
    points, batch = rng.random((N, 3)).astype(np.float32), np.arange(N) % 2
    box = [[1.0, 1.0, 1.0], [[0.0, 0.0, 0.0], [1.0, 1.0, 1.25]]]
    of_points = cla.to_device(session.queue, batch.astype(np.int32))
    pairs = clfrnn.VerletList(points, 0.2, skin=0.1, box=box, batch=of_points, session=session)
    lengths = np.array([[1, 1, 1], [1, 1, 1.25]])
    assert_same_pairs(pairs, points, 0.2, box=lengths, batch=batch)
    assert not pairs.update(points, batch=of_points)
    pairs.update(points, box=box)
    assert_same_pairs(pairs, points, 0.2, box=lengths, batch=batch)
    assert pairs.update(points, box=lengths * 1.5)
    assert_same_pairs(pairs, points, 0.2, box=lengths * 1.5, batch=batch)


def test_a_condition_is_evaluated_at_each_visit(session):
    points = np.random.default_rng(6).random((N, 2)).astype(np.float32)
    kinds = cla.to_device(session.queue, np.arange(N, dtype=np.int32) % 2)
    where = clfrnn.Condition("kind[i] != kind[j] && d2 > inner", kind=kinds, inner=0.01)
    pairs = clfrnn.VerletList(points, 0.3, skin=0.1, where=where, half=True, session=session)
    for kind in (np.arange(N) % 2, np.arange(N) // 24):
        kinds.set(kind.astype(np.int32))
        meets = lambda i, j, d2, dx, shift, kind=kind: (kind[i] != kind[j]) & (d2 > np.float32(0.01))  # noqa: E731
        assert_same_pairs(pairs, points, 0.3, half=True, where=meets)
        points = points + np.float32(0.01)
        assert not pairs.update(points)


def test_arrays_on_the_device_are_copied(session):
    points = np.random.default_rng(7).random((N, 3)).astype(np.float32)
    array = cla.to_device(session.queue, points)
    pairs = clfrnn.VerletList(array, 0.3, skin=0.1, session=session)
    array += 5
    assert_same_pairs(pairs, points, 0.3)
    array -= 5
    moved = array.get()
    pairs.update(array)
    array += 7
    assert_same_pairs(pairs, moved, 0.3)
    pairs.update(array)
    array += 7
    assert_same_pairs(pairs, moved + np.float32(7), 0.3)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("boxed", [False, True], ids=["open", "box"])
def test_after_an_error_the_list_is_the_old_one(session, boxed, on_device):
    points = np.random.default_rng(8).random((N, 3)).astype(np.float32)
    known = {"box": np.ones(3)} if boxed else {}
    pairs = clfrnn.VerletList(points, 0.2, skin=0.1, session=session, **known)
    bad = points.copy()
    bad[5, 1] = np.nan
    given = cla.to_device(session.queue, bad) if on_device else bad
    others = {"box": 2 * np.ones(3)} if boxed else {}
    for asked in ({}, others):
        with pytest.raises(clfrnn.InvalidInputError, match="^points: .*row 5"):
            pairs.update(given, **asked)
        assert_same_pairs(pairs, points, 0.2, **known)
        assert pairs.num_builds == 1
    points = points + np.float32(0.01)
    assert not pairs.update(points)
    assert_same_pairs(pairs, points, 0.2, **known)
    points = points + np.float32(0.2)
    assert pairs.update(points)
    assert_same_pairs(pairs, points, 0.2, **known)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_points_and_points_that_coincide(session, n):
    points = np.full((n, 3), 0.5, np.float32)
    for known in ({}, {"box": np.full(3, 0.3, np.float32)}):
        pairs = clfrnn.VerletList(points, 0.4, skin=0.1, session=session, **known)
        assert_same_pairs(pairs, points, 0.4, **known)
        assert not pairs.update(points)
        assert_same_pairs(pairs, points, 0.4, **known)
        assert "made 1 times" in pairs.explain()


def test_a_radius_of_zero(session):
    points = np.float32([[0, 0], [0, 0], [0.3, 0]])
    pairs = clfrnn.VerletList(points, 0, skin=0.1, session=session)
    assert visited(pairs)[1].tolist() == [1, 1, 0]
    points[1, 0] = points[2, 0] = 0.15
    assert pairs.update(points)
    assert visited(pairs)[1].tolist() == [0, 1, 1]


@pytest.mark.filterwarnings("ignore::clfrnn.PrecisionWarning")
def test_a_skin_that_rounding_swallows_is_made_again_each_time(session):
    """Coordinates are so large that no margin is left; the pairs are still those of the definition."""
    points = (np.random.default_rng(9).integers(0, 3, (N, 2)) + 1e7).astype(np.float32)
    pairs = clfrnn.VerletList(points, 1.0, skin=1e-3, session=session)
    for again in range(2, 5):
        assert pairs.update(points)
        assert pairs.num_builds == again
        assert_same_pairs(pairs, points, 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"skin": 0}, "^skin: expected a finite number above 0, got 0"),
        ({"skin": -1.0}, "^skin: "),
        ({"skin": np.nan}, "^skin: "),
        ({"skin": "wide"}, "^skin: "),
        ({"radius": -1.0}, "^radius: "),
        ({"skin": 1e30}, r"^radius \+ skin: "),
        ({"where": "d2 > 0"}, "^where: "),
        ({"box": [1, 1], "cell": np.eye(2)}, "^box"),
        ({"method": "quick"}, "^method: "),
    ],
)
def test_wrong_arguments(session, given, message):
    asked = {"radius": 0.5, "skin": 0.1, "session": session, **given}
    with pytest.raises(clfrnn.InvalidInputError, match=message):
        clfrnn.VerletList(np.zeros((4, 2), np.float32), **asked)


def test_wrong_calls(session):
    points = np.zeros((4, 2), np.float32)
    with pytest.raises(TypeError, match="unexpected option 'lenght'"):
        clfrnn.VerletList(points, 0.5, skin=0.1, session=session, lenght=3)
    pairs = clfrnn.VerletList(points, 0.5, skin=0.1, session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="^points: .*2"):
        pairs.update(np.zeros((4, 3), np.float32))
    with pytest.raises(clfrnn.InvalidInputError, match="^points: expected float32"):
        pairs.update(points.astype(np.float64))
    with pytest.raises(clfrnn.InvalidInputError, match="^box: expected none, as there was no box when it was built"):
        pairs.update(points, box=[1, 1])
    with pytest.raises(TypeError, match="verletlist.update takes"):
        pairs.update(points, boxes=[1, 1])
    with pytest.raises(clfrnn.InvalidInputError, match="^function: "):
        pairs.visit("sum += d2;")
    short = cla.zeros(session.queue, 3, np.int32)
    counts = clfrnn.NeighborFunction(arguments="global int *c", finish="c[i] = 0;")
    with pytest.raises(clfrnn.ArgumentError, match="^c: expected one element"):
        pairs.visit(counts, c=short)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pairs.__reduce__()


def test_a_planned_gpu_makes_the_same_pairs(session):
    rng = np.random.default_rng(10)
    gpu = as_gpu(session)
    for kind, half in itertools.product(("open", "box", "small_box"), (False, True)):
        known, rows = domain_of(kind, 3, rng)
        points = rng.random((N, 3)).astype(np.float32)
        pairs = clfrnn.VerletList(points, 0.2, skin=0.06, half=half, session=gpu, **known)
        for _ in range(5):
            points = walk(rng, points, rows, 0.06)
            pairs.update(points)
            assert_same_pairs(pairs, points, 0.2, half=half, **known)


@needs_fp64
def test_in_one_and_in_many_dimensions(session):
    rng = np.random.default_rng(11)
    for dim in (1, 5):
        points = rng.random((N, dim))
        pairs = clfrnn.VerletList(points, 0.3, skin=0.1, session=session)
        counts = session.allocate(N, np.int32, purpose="counts")
        count = clfrnn.NeighborFunction(
            arguments="global int *c", state="int n = 0;", per_neighbor="++n;", finish="c[i] = n;"
        )
        for _ in range(6):
            points = points + rng.normal(0, 0.02, points.shape)
            pairs.update(points)
            pairs.visit(count, c=counts)
            assert np.array_equal(counts.get(), np.diff(reference.neighbors(points, 0.3).offsets))
