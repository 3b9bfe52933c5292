"""Arrays on a device behave like those of numpy: operators, masks, reductions, indices; by kernels where they can."""

import operator
import warnings

import numpy as np
import pyopencl as cl
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.device_array import DeviceArray

POINTS = clouds.uniform(60, 3, seed=1)

#: Numbers of each dtype, with those at its ends.
NUMBERS = {
    "bool": np.array([True, False, True, True, False]),
    "int8": np.array([5, -128, 0, 127, 7], np.int8),
    "uint8": np.array([5, 255, 0, 3, 7], np.uint8),
    "int32": np.array([5, -3, 0, 2**31 - 1, 7], np.int32),
    "uint32": np.array([5, 2**32 - 1, 0, 3, 7], np.uint32),
    "int64": np.array([5, -3, 0, 2**60 + 1, 7], np.int64),
    "float32": np.array([0.1, -3.5, 0, 1e30, np.nan], np.float32),
    "float64": np.array([0.1, -3.5, 0, 1e300, np.nan]),
}

#: What may stand beside an array.
SIDES = [0, 1, -1, 0.5, 2**40, 255, True, np.float32(0.1), np.float64(0.1), np.int8(-1), np.inf, np.nan, 1 + 2j]
SIDES += [None, "text", [5, 0, 0, 1, 7], np.array(5), np.array([0, 0, 0, 3, 7])]

COMPARISONS = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge
LOGIC = operator.and_, operator.or_, operator.xor
ARITHMETIC = operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod
UNARY = operator.neg, operator.invert, operator.abs, operator.pos


@pytest.fixture
def index(session):
    return clfrnn.build_index(POINTS, 0.3, method="brute_force", session=session)


@pytest.fixture
def put(index):
    """Put an array of numpy on the device."""

    def put(host):
        found = index.empty(host.shape, host.dtype)
        if host.size:
            found.set(np.ascontiguousarray(host))
        return found

    return put


def outcome(function, *given):
    """What a call returns, or the kind of error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*given)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            return error


def check_same(found, known, what):
    """Both are errors, or equal and of one dtype."""
    if isinstance(known, Exception):
        assert isinstance(found, Exception), (what, found)
        assert isinstance(found, type(known)) or isinstance(known, type(found)), (what, found)
        return
    assert not isinstance(found, Exception), (what, found)
    if known is NotImplemented or isinstance(known, (bool, str)):
        assert found == known, what
        return
    host, known = np.asarray(found), np.asarray(known)
    assert host.dtype == known.dtype, what
    assert host.shape == known.shape, what
    assert np.array_equal(host, known, equal_nan=known.dtype.kind in "fc"), (what, host, known)


def to_host(copies):
    """The calls of enqueue_copy that copy to the host."""
    return [given for given in copies if isinstance(given[1], np.ndarray)]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_operators_are_those_of_numpy(put, dtype):
    """With numbers, and with arrays of every dtype on either side."""
    host = NUMBERS[dtype]
    array = put(host)
    for function in (*COMPARISONS[::3], *LOGIC[:2], *ARITHMETIC):
        for side in SIDES:
            check_same(outcome(function, array, side), outcome(function, host, side), (function, side))
            check_same(outcome(function, side, array), outcome(function, side, host), (side, function))
        for other in (host, NUMBERS["int32"], NUMBERS["float32"], NUMBERS["uint8"], NUMBERS["bool"]):
            known = outcome(function, host, other)
            for left, right in ((array, put(other)), (array, other), (host, put(other))):
                check_same(outcome(function, left, right), known, (function, other.dtype))
    for function in UNARY:
        check_same(outcome(function, array), outcome(function, host), function)


@pytest.mark.parametrize("function", [*COMPARISONS, *LOGIC], ids=lambda function: function.__name__)
def test_comparisons_and_logic(put, function):
    host, other = np.array([3, -1, 0, 3], np.int32), np.array([3, 0, -1, 4], np.int32)
    check_same(function(put(host), put(other)), function(host, other), "arrays")
    check_same(function(put(host), 3), function(host, 3), "a number")
    check_same(function(3, put(host)), function(3, host), "a number on the left")
    check_same(function(np.int32(3), put(host)), function(np.int32(3), host), "a number of numpy's on the left")


def test_masks(session, index, calls_of):
    """Comparisons are arrays of bool on the device, which index arrays of numpy."""
    counts = index.count()
    host = counts.get()
    labels = clfrnn.cluster.dbscan(POINTS, 0.2, 5, session=session).labels
    stays = clfrnn.geometry.radius_outliers(POINTS, 0.2, 3, session=session)
    copies = calls_of(cl, "enqueue_copy")
    many, odd = counts > 3, counts != 5
    both, either, one, fewer = many & odd, many | stays, many ^ odd, ~many
    assert not to_host(copies)

    for mask in (many, both, either, one, fewer, labels == -1, stays == 0):
        assert type(mask) is DeviceArray
        assert mask.dtype == np.bool_
        assert np.array_equal(POINTS[mask], POINTS[mask.get()])
    assert np.array_equal(POINTS[labels == -1], POINTS[labels.get() == -1])
    assert np.array_equal(POINTS[many], POINTS[host > 3])
    assert np.array_equal(both.get(), (host > 3) & (host != 5))
    assert np.array_equal((stays == 0).get(), ~stays.get())
    for mixed in (many & (host != 5), (host > 3) & odd):
        assert type(mixed) is np.ndarray
        assert np.array_equal(mixed, both.get())
    assert np.array_equal(np.where(many, host, -1), np.where(host > 3, host, -1))
    assert np.array_equal(np.logical_and(many, odd), both.get())
    assert np.array_equal(POINTS[labels], POINTS[labels.get()])


@pytest.mark.parametrize("reduction", ["sum", "min", "max", "mean", "any", "all"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_reductions(index, put, reduction, dtype):
    """Of one number, of few, and of more than a work-group reduces; whole, with steps, and empty."""
    for n in (1, 5, 128, 20_000):
        host = np.resize(NUMBERS[dtype], n)
        if dtype.startswith("float"):
            host = np.resize(np.array([0.1, 2.5, 3.25, 7], dtype), n)
        for part in (host, host[::3], host[1:], host[: n - n % 4].reshape(-1, 4), host[:0]):
            array = put(part)
            known, found = outcome(getattr(part, reduction)), outcome(getattr(array, reduction))
            if isinstance(known, Exception):
                check_same(found, known, part.shape)
                continue
            assert type(found) is type(known)
            assert np.allclose(found, known, rtol=1e-6, atol=0, equal_nan=True), part.shape
        steps = put(host)[::2]
        assert np.allclose(getattr(steps, reduction)(), getattr(host[::2], reduction)(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_reductions_of_what_is_not_finite_or_wraps(put, dtype):
    hosts = [NUMBERS[dtype], np.resize(NUMBERS[dtype], 3000), np.full(999, NUMBERS[dtype][3])]
    if dtype.startswith("float"):
        hosts += [np.array([1, np.inf], dtype), np.array([-np.inf, np.inf], dtype), np.full(700, np.nan, dtype)]
    for host in hosts:
        for reduction in ("sum", "min", "max", "mean", "any", "all"):
            known, found = outcome(getattr(host, reduction)), outcome(getattr(put(host), reduction))
            assert np.allclose(found, known, rtol=1e-6, atol=0, equal_nan=True), (reduction, host[:5])
            assert type(found) is type(known)


def test_sums_of_many_floats_lose_nothing(put):
    host = np.random.default_rng(3).random(300_000, np.float32)
    exact = host.sum(dtype=np.float64)
    assert abs(put(host).sum() - exact) < 1e-6 * exact
    assert abs(put(host).mean() - exact / host.size) < 1e-6


def test_reductions_are_computed_on_the_device(index, put, calls_of):
    counts = put(np.arange(100_000, dtype=np.int32))
    copies = calls_of(cl, "enqueue_copy")
    assert counts.sum() == np.sum(counts) == 99_999 * 50_000
    assert (counts.min(), counts.max(), bool(counts.any()), bool(counts.all())) == (0, 99_999, True, False)
    assert counts.mean() == np.mean(counts) == 49_999.5
    assert len(to_host(copies)) == 8
    assert all(given[1].nbytes < counts.nbytes / 50 for given in to_host(copies))


def test_reductions_with_arguments_of_numpy(put):
    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    array = put(host)
    for named in ({"axis": 0}, {"axis": -1}, {"axis": (0, 1)}, {"keepdims": True}, {"initial": 5}):
        for reduction in ("sum", "min", "max"):
            check_same(getattr(array, reduction)(**named), getattr(host, reduction)(**named), (reduction, named))
    check_same(array.any(axis=1), host.any(axis=1), "any")
    check_same(array.mean(0), host.mean(0), "mean")
    check_same(np.mean(array, axis=0), host.mean(axis=0), "numpy.mean")
    check_same(array.sum(dtype=np.float32), host.sum(dtype=np.float32), "dtype")
    with pytest.warns(RuntimeWarning) as caught:
        assert np.isnan(array[:0].mean())
    assert "empty slice" in str(caught[0].message)


@pytest.mark.parametrize("function", [operator.iadd, operator.isub, operator.imul, operator.iand, operator.ifloordiv])
def test_in_place(index, put, function):
    host, other = np.array([5, -3, 0, 7], np.int32), np.array([2, 3, 4, 5], np.int32)
    for side in (2, other, put(other)):
        own, array = host.copy(), put(host)
        same = array
        array = function(array, side)
        own = function(own, np.asarray(side))
        assert array is same
        check_same(array, own, side)
    array, own = put(host), host.copy()
    array[1:] += array[:-1]  # which share memory
    own[1:] += own[:-1]
    check_same(array, own, "a part of itself")
    with pytest.raises(TypeError, match="cast"):
        array += 0.5
    mask = array > 0
    mask &= array != 5
    check_same(mask, (own > 0) & (own != 5), "a mask")


KEYS = [np.s_[2], np.s_[-1], np.s_[1:3], np.s_[3:1], np.s_[::-1], np.s_[5:2], np.s_[-2:], np.s_[..., 1], np.s_[:, 1:2]]
KEYS += [np.s_[None], np.s_[1, 2], np.s_[:, None, ::2], np.s_[2:0:-1, ::-2], np.s_[7], np.s_[-5], np.s_[0, 0, 0]]
KEYS += [np.s_[[0, -1]], np.s_[np.array([1, 3])], np.s_[np.array([0, 9])], np.s_[[True, False, True, False]]]
KEYS += [np.s_[:, [2, 0]], np.s_[np.array([3, 1]), np.array([0, 2])], np.s_[()], np.s_["name"], np.s_[1.5], True]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices(put, key):
    host = np.arange(12, dtype=np.float32).reshape(4, 3)
    array = put(host)
    check_same(outcome(operator.getitem, array, key), outcome(operator.getitem, host, key), key)
    check_same(outcome(operator.getitem, array[1:, ::-1], key), outcome(operator.getitem, host[1:, ::-1], key), key)
    for value in (7, -1.5):
        mine, own = array.copy(), host.copy()
        check_same(
            outcome(operator.setitem, mine, key, value) or 0, outcome(operator.setitem, own, key, value) or 0, key
        )
        check_same(mine, own, key)


def test_indices_on_the_device(put):
    """Beyond the end nothing is read, and nothing is written; from the end indices count backwards."""
    host, labels = np.array([4, 5, 6], np.int32), np.array([0, -1, 2, 1], np.int32)
    sizes, places = put(host), put(labels)
    check_same(sizes[places], host[labels], "an array")
    check_same(sizes[places == -1] if places.size == 3 else sizes[sizes > 4], host[host > 4], "a mask")
    with pytest.raises(IndexError):
        sizes[put(np.array([3], np.int32))]
    with pytest.raises(IndexError):
        sizes[put(np.array([3], np.int32))] = 1
    sizes[sizes > 4] = 0
    assert sizes.tolist() == [4, 0, 0]
    sizes[put(np.array([-1]))] = 9
    assert sizes.tolist() == [4, 0, 9]
    table = put(np.zeros((3, 4), np.int32))
    table[:, 1] = sizes
    table[2] = places
    table[0, ::2] = [1, 2]
    assert table.tolist() == [[1, 4, 2, 0], [0, 0, 0, 0], [0, -1, 2, 1]]


def test_numbers(put):
    counts = put(np.array([3, 5], np.int32))
    assert int(counts[0]) == 3
    assert float(counts[1]) == 5.0
    assert complex(counts[0]) == 3
    assert list(range(9))[counts[0]] == 3
    assert bool(counts[0])
    assert f"{counts[1]:04d}" == "0005"
    assert counts[0] == 3
    assert counts[0] + 1 == 4
    assert counts.item(1) == 5
    assert (len(counts), [*counts], counts.tolist()) == (2, [3, 5], [3, 5])
    assert 5 in counts
    assert 4 not in counts
    assert divmod(counts, 2)[1].tolist() == [1, 1]
    assert [row.tolist() for row in put(np.eye(2))] == [[1, 0], [0, 1]]
    for refused in (bool, int, operator.index):
        with pytest.raises((TypeError, ValueError)):
            refused(counts)
    with pytest.raises(TypeError):
        operator.index(counts[:1])
    with pytest.raises(TypeError):
        hash(counts)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(counts > 0)


def test_copies_of_other_forms(put):
    host = np.arange(12, dtype=np.int32).reshape(4, 3)
    array = put(host)
    for part, known in ((array, host), (array[::2, 1:], host[::2, 1:]), (array.T, host.T), (array[:0], host[:0])):
        check_same(part.copy(), known, "copy")
        check_same(part.astype(np.float32), known.astype(np.float32), "astype")
        check_same(part.astype(bool), known.astype(bool), "astype")
        check_same(part * 2, known * 2, "a product")
        check_same(part == part.copy(), known == known.copy(), "equal")
    check_same(put(np.zeros((0, 3), np.int32)).squeeze(), np.zeros((0, 3), np.int32), "squeeze")
    check_same(array[1:2].squeeze(), host[1:2].squeeze(), "squeeze")
    assert not array[:, 0].fill(0)[:].any()
    for dtype, value in ((np.int8, -3), (np.uint32, 7), (np.float32, 0.1), (np.bool_, True)):
        part = put(np.zeros(8, dtype))[2:7]
        part[...] = value
        check_same(part.fill(value), np.full(5, value, dtype), "fill")
    assert type(np.int32(3) < array) is type(array > 3) is clfrnn.DeviceArray
    assert array[:, 1].tolist() == [1, 4, 7, 10]
    other = put(np.zeros((4, 3), np.int32))
    other[...] = array
    check_same(other, array.get(), "an assignment on the device")
    assert (put(np.ones(3, bool)) == True).all()  # noqa: E712


def test_arrays_of_another_queue(index):
    """They are computed too, though not by kernels of the session."""
    counts = index.count()
    foreign = counts.with_queue(cl.CommandQueue(index.session.context))
    assert (foreign + 1).tolist() == (counts.get() + 1).tolist()
    assert np.array_equal((foreign > 3).get(), counts.get() > 3)
    assert foreign.sum() == counts.sum()


def test_dlpack(index):
    """The memory of the host, a copy."""
    counts = index.count()
    taken = np.from_dlpack(counts)
    assert np.array_equal(taken, counts.get())
    assert counts.__dlpack_device__() == (1, 0)
    assert np.array_equal(np.from_dlpack(counts[::2]), counts.get()[::2])
    for named in ({"copy": False}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="a copy in host memory"):
            counts.__dlpack__(**named)


def test_types_are_generic():
    assert DeviceArray[np.int32].__origin__ is DeviceArray
