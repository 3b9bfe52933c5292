"""Device arrays as numpy reads them: in one transfer, whole and in slices; and how users make and get them."""

import copy
import pickle

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds
from clfrnn.device_array import DeviceArray

POINTS = clouds.uniform(60, 3, seed=1)


@pytest.fixture
def index(session):
    return clfrnn.build_index(POINTS, 0.3, method="brute_force", session=session)


def test_what_users_get_is_read_by_numpy(index, calls_of):
    found = index.query(distances=True, vectors=True, sort="index")
    arrays = [index.count(), *index.nearest(), found.offsets, found.indices, found.distances, found.vectors]
    arrays += [index.order, index.reorder(POINTS), index.empty(3), index.zeros((2, 2), "int8")]
    periodic = clfrnn.search(
        POINTS, 0.3, method="brute_force", vectors=True, box=[1, 1, 1], periodic=True, session=index.session
    )
    copies = calls_of(cl, "enqueue_copy")
    for array in [*arrays, periodic.shifts]:
        copies.clear()
        host = np.asarray(array)

        assert type(array) is DeviceArray
        assert type(host) is np.ndarray
        assert len(copies) == 1
        assert host.dtype == array.dtype
        assert host.tobytes() == array.get().tobytes(), "what is not written may hold anything"


def test_copies_lie_on_the_device_and_pickles_say_why_not(index):
    counts = index.count()
    for copied in (copy.copy(counts), copy.deepcopy(counts)):
        assert type(copied) is DeviceArray
        copied.fill(-1)
        assert np.array_equal(index.count().get(), counts.get())
        assert copied.get().tolist() == [-1] * 60
    with pytest.raises(TypeError, match=r"an array on a device cannot be pickled; pickle array\.get\(\)"):
        pickle.dumps(counts)


@pytest.mark.parametrize("part", [np.s_[:20], np.s_[5:50:3], np.s_[::-1], np.s_[3], np.s_[7:7]], ids=str)
def test_slices(index, calls_of, part):
    points = index.reorder(POINTS)
    whole = points.get()
    copies = calls_of(cl, "enqueue_copy")
    for rows, known in ((points[part], whole[part]), (points[part].T, whole[part].T)):
        copies.clear()
        assert np.array_equal(np.asarray(rows), known)
        assert len(copies) <= 1
        assert np.array_equal(rows.get(), known)
    column, target = points[:, 1], np.empty(len(POINTS), np.float32)
    assert column.get(ary=target) is target
    assert np.array_equal(target, whole[:, 1])


def test_what_numpy_computes(index):
    counts, host = index.count(), index.count(to_host=True)
    for function in (np.mean, np.sum, np.max, np.min, np.std, np.median, np.unique, np.any, np.all, np.bincount):
        assert np.array_equal(function(counts), function(host)), function
    assert np.array_equal(host + counts, 2 * host)
    assert np.array_equal(counts + host, 2 * host)
    assert np.all(host == counts)
    assert np.all(counts == host)
    assert np.array_equal(np.asarray(counts, np.float64), host)
    assert np.array_equal(np.concatenate([counts, counts]), np.concatenate([host, host]))
    assert np.array_equal(POINTS[counts.get() > 2], POINTS[np.asarray(counts) > 2])
    assert host.sum() == np.add.reduce(counts)
    with pytest.raises(TypeError):
        np.add(host, host, out=counts)
    own = host.copy()
    own += counts
    assert np.array_equal(own, 2 * host)


def test_what_pyopencl_computes_stays_on_the_device(index):
    real = index.reorder(POINTS[:, 0])
    host = real.get()
    for found, known in (
        (real + real, host + host),
        (np.float32(2) * real, np.float32(2) * host),
        (np.float32(2) - real, np.float32(2) - host),
        (1 / (1 + real), 1 / (1 + host)),
        (real * np.float32(3), host * np.float32(3)),
    ):
        assert type(found) is DeviceArray
        assert np.allclose(found.get(), known)


def test_no_copy_is_not_to_be_had(index):
    with pytest.raises(ValueError, match="copy: expected True or None, got False, and this array lies on a device"):
        index.count().__array__(copy=False)


def test_to_host(index):
    given = {"session": index.session, "method": "brute_force"}

    found = clfrnn.search(POINTS, 0.3, distances=True, to_host=True, **given)
    assert type(found.indices) is type(found.distances) is np.ndarray
    assert np.array_equal(found.counts, index.count(to_host=True))
    assert type(index.query(to_host=True).indices) is np.ndarray
    assert index.query(hint=10, to_host=True).num_pairs == found.num_pairs
    assert type(index.count(to_host=True)) is np.ndarray
    assert found.to_host() is found
    clusters = clfrnn.cluster.dbscan(POINTS, 0.3, 3, **given).to_host()
    nearest = index.nearest(k=2, vectors=True).to_host()
    lists = [getattr(found, name) for name in ("offsets", "indices", "distances")]
    arrays = [*lists, index.count(to_host=True), clusters.labels, clusters.core, *nearest, nearest.vectors]
    for array in arrays:
        assert type(array) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert index.count().get().flags.writeable


def test_arrays_for_visits(index):
    values = index.zeros((index.num_points, 3), np.float64 if index.session.profile.fp64 else np.float32)
    assert not np.asarray(values).any()
    assert values.shape == (60, 3)
    assert index.empty(7).dtype == index.dtype
    assert index.empty(np.int64(7)).shape == (7,)
    assert index.zeros(0).get().shape == (0,)
    assert not index.zeros(13, bool).get().any()
    assert index.zeros((), np.int32).get() == 0
    for shape in (-1, 1.5, (2, -3), "3", None):
        with pytest.raises(clfrnn.InvalidInputError, match="shape: expected a whole number, or one for each axis"):
            index.zeros(shape)
    for dtype in (object, "nothing"):
        with pytest.raises(clfrnn.InvalidInputError, match="dtype: expected a dtype of numbers, got"):
            index.empty(3, dtype)


WRITES = clfrnn.NeighborFunction(arguments="global int2 *out", finish="out[i] = (int2)(i, -i);")


def test_short_arrays_are_refused(index):
    """Before anything is launched; by elements of the declared type."""
    for short in (index.empty(2, np.int32), index.empty((59, 2), np.int32), index.empty(118, np.int32)):
        with pytest.raises(
            clfrnn.ArgumentError, match=r"out: expected one element of 'global int2 \*out' for each of 60"
        ):
            index.visit(WRITES, out=short)
    enough = index.zeros((60, 2), np.int32)
    index.visit(WRITES, out=enough)
    assert np.array_equal(enough.get()[:, 0], np.arange(60))
    few = index.zeros((5, 2), np.int32)
    index.visit(WRITES, POINTS[:5], out=few)
    assert np.array_equal(few.get()[:, 1], -np.arange(5))


def test_short_arrays_on_purpose(index):
    total = clfrnn.NeighborFunction(arguments="global int *out", per_neighbor="atomic_inc(out);")
    out = index.zeros(1, np.int32)
    with pytest.raises(clfrnn.ArgumentError, match="checked=False where the code writes to fewer places"):
        index.visit(total, out=out)
    index.visit(total, out=out, checked=False)
    assert out.get()[0] == index.count(to_host=True).sum()
    reads = clfrnn.NeighborFunction(arguments="global const int *a, global int *out", finish="out[i] = a[0];")
    index.visit(reads, a=np.int32([7]), out=index.empty(60, np.int32))
    with pytest.raises(clfrnn.InvalidInputError, match="'checked' is a keyword of visit"):
        clfrnn.NeighborFunction(arguments="const int checked")


def test_arrays_of_pyopencl_are_taken_as_before(index):
    index.update(cla.to_device(index.session.queue, POINTS))
    index.update(index.reorder(POINTS))
    assert index.count().get().sum() > 0
