"""Arrays on the device for applications: what is taken, what is refused, and whose memory it is."""

import pickle

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn import clouds

POINTS = clouds.uniform(300, 3, seed=1)


@pytest.mark.parametrize("given", [POINTS, POINTS.tolist(), np.asfortranarray(POINTS), POINTS[::-2]])
def test_points_are_those_that_searches_take(session, given):
    if not session.profile.fp64 and isinstance(given, list):
        pytest.skip("lists are float64")
    points = clfrnn.as_points(given, session=session)

    assert isinstance(points, clfrnn.DeviceArray)
    assert points.flags.c_contiguous
    np.testing.assert_array_equal(points, np.asarray(given))
    assert clfrnn.as_points(points) is points
    found, wanted = (clfrnn.search(each, 0.2, session=session) for each in (points, given))
    assert found.num_pairs == wanted.num_pairs > 0


def test_views_are_copied_and_other_arrays_are_not(session):
    whole = clfrnn.to_device(POINTS, session=session)
    plain = cla.Array(session.queue, POINTS.shape, POINTS.dtype, data=whole.base_data)
    for take in (clfrnn.as_points, clfrnn.to_device):
        assert take(plain, session=session).base_data is whole.base_data
        half = take(whole[::2], session=session)
        assert half.base_data is not whole.base_data
        np.testing.assert_array_equal(half, POINTS[::2])
    columns = clfrnn.to_device(clfrnn.to_device(np.arange(12).reshape(2, 3, 2), session=session)[:, 1:])
    assert columns.tolist() == np.arange(12).reshape(2, 3, 2)[:, 1:].tolist()


def test_points_in_a_dtype(session):
    assert clfrnn.as_points([[1, 2]], dtype="float32", session=session).dtype == np.float32
    with pytest.raises(clfrnn.InvalidInputError, match="centers: expected float32, as the points are, got float64"):
        clfrnn.as_points(POINTS.astype(np.float64), dtype=np.float32, name="centers", session=session)
    with pytest.raises(clfrnn.InvalidInputError, match="dtype: expected float32 or float64, got 'int32'"):
        clfrnn.as_points(POINTS, dtype="int32", session=session)


@pytest.mark.parametrize("take", [clfrnn.as_points, clfrnn.bounds])
def test_numbers_that_are_not_finite(session, take):
    bad = POINTS.copy()
    bad[7, 1] = np.nan
    for given in (bad, clfrnn.to_device(bad, session=session)):
        with pytest.raises(clfrnn.InvalidInputError, match="sites: expected finite numbers, got NaN or inf in row 7"):
            take(given, name="sites", session=session)


def test_bounds(session):
    for given in (POINTS, clfrnn.to_device(POINTS, session=session)):
        low, high = clfrnn.bounds(given, session=session)
        assert (low.dtype, high.dtype) == (np.float64, np.float64)
        np.testing.assert_array_equal([low, high], [POINTS.min(axis=0), POINTS.max(axis=0)])
    with pytest.raises(clfrnn.InvalidInputError, match="points: expected at least one point, got none"):
        clfrnn.bounds(np.zeros((0, 2), np.float32), session=session)


def test_what_is_no_array_of_this_device(session):
    with pytest.raises(clfrnn.InvalidInputError, match="weights: expected an array of numbers"):
        clfrnn.to_device([object()], name="weights", session=session)
    other = cl.CommandQueue(cl.Context([session.device]))
    with pytest.raises(clfrnn.InvalidInputError, match="weights: expected an array of the session's OpenCL context"):
        clfrnn.to_device(cla.zeros(other, 3, np.float32), name="weights", session=session)


def test_the_session_is_that_of_arrays_and_of_conditions(session):
    kind = clfrnn.to_device(np.arange(3, dtype=np.int32), session=session)
    where = clfrnn.Condition("kind[i] != kind[j]", kind=kind)
    for given in (kind, where):
        assert clfrnn.choose_session(None, [1, 2], POINTS, None, given).queue == session.queue
    assert clfrnn.choose_session(session, kind) is session
    with pytest.raises(clfrnn.InvalidInputError, match=r"session: expected a clfrnn\.Session, got CommandQueue"):
        clfrnn.choose_session(session.queue)


def test_errors_have_the_argument_that_they_mean(session):
    with pytest.raises(clfrnn.InvalidInputError) as raised:
        clfrnn.search(POINTS, -1.0, session=session)
    error = pickle.loads(pickle.dumps(raised.value))
    assert error.argument == "radius"
    assert str(error) == str(raised.value) == f"radius: {error.problem}"
    assert clfrnn.InvalidInputError("no argument is meant").argument is None


@pytest.mark.parametrize(
    "values", [[[1, 2], [3]], ["a", "b"], np.ma.masked_less(np.arange(4), 2), [None], np.array([object()])]
)
def test_what_is_no_array_of_numbers_is_refused(session, values):
    with pytest.raises(clfrnn.InvalidInputError, match="^values: expected an array of numbers without a mask, got"):
        clfrnn.to_device(values, session=session)


@pytest.mark.parametrize("values", [3, 2.5, True, np.float32(7), [], [[]], np.zeros((2, 0, 3), np.int16)])
def test_any_shape_of_numbers_goes_to_the_device(session, values):
    expected = np.asarray(values)
    if expected.dtype == np.float64 and not session.profile.fp64:
        pytest.skip("such numbers are float64")
    found = clfrnn.to_device(values, session=session)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["foo", "int32", object])
def test_points_have_one_of_two_dtypes(session, dtype):
    with pytest.raises(clfrnn.InvalidInputError, match="^dtype: expected float32 or float64, got"):
        clfrnn.as_points(POINTS, dtype=dtype, session=session)


def test_copies_on_the_device_are_waited_for_by_other_queues(session):
    whole = clfrnn.to_device(POINTS, session=session)
    for view in (whole[:, ::2], whole[::3]):
        assert len(clfrnn.to_device(view, session=session).events) == 1
