"""A radius near the spacing of numbers at the coordinates has a warning, once and at the caller's line."""

import warnings

import numpy as np
import pyopencl.array as cla
import pytest

import clfrnn

RNG = np.random.default_rng(2)
#: a scan in coordinates of maps, in metres
SCAN = RNG.random((400, 3)) * [20, 20, 1] + [448_000, 5_411_000, 300]
COARSE = SCAN.astype(np.float32)
WORDS = (
    r"points: at the coordinate 5\.411.*e\+06, adjacent numbers of float32 are 0\.5 apart, and the "
    r"(radius|size of a voxel), 0\.5, is 1"
)

CALLS = {
    "search": lambda points, s: clfrnn.search(points, 0.5, session=s),
    "brute force": lambda points, s: clfrnn.search(points, 0.5, method="brute_force", session=s),
    "few": lambda points, s: clfrnn.search(points[:9], 0.5, session=s),
    "build_index": lambda points, s: clfrnn.build_index(points, 0.5, session=s),
    "nearest": lambda points, s: clfrnn.nearest(points, 3, radius=0.5, session=s),
    "radii": lambda points, s: clfrnn.search(points, np.full(len(points), 0.5), session=s),
    "box": lambda points, s: clfrnn.search(points, 0.5, box=(1e6, 1e7, 1e3), session=s),
    "cell": lambda points, s: clfrnn.search(points, 0.5, cell=[[1e6, 0, 0], [1e5, 1e7, 0], [0, 0, 1e3]], session=s),
    "batch": lambda points, s: clfrnn.search(points, 0.5, batch=np.arange(len(points)) % 3, session=s),
    "voxels": lambda points, s: clfrnn.geometry.voxel_downsample(points, 0.5, session=s),
    "mirrored": lambda points, s: clfrnn.search(-points, 0.5, session=s),
}


def seen(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


@pytest.mark.parametrize("name", CALLS)
def test_coarse_coordinates_have_a_warning(session, name):
    found = seen(lambda: CALLS[name](COARSE, session))
    assert [each.category for each in found] == [clfrnn.PrecisionWarning]
    assert found[0].filename == __file__
    message = str(found[0].message)
    with pytest.raises(AssertionError, match=WORDS):
        raise AssertionError(message)
    assert "(points - origin).astype(numpy.float32)" in message


@pytest.mark.parametrize("name", ["search", "box", "cell", "batch", "brute force", "voxels"])
def test_arrays_on_the_device_have_it_too(session, name):
    array = cla.to_device(session.queue, COARSE)
    found = seen(lambda: CALLS[name](array, session))
    assert [each.category for each in found] == [clfrnn.PrecisionWarning]


def test_updates_from_the_host_have_it(session):
    index = clfrnn.build_index(COARSE - COARSE.mean(axis=0), 0.5, session=session)
    assert len(seen(lambda: index.update(COARSE))) == 1


DOMAINS = {
    "open": {},
    "box": {"box": (1e6, 1e7, 1e3)},
    "cell": {"cell": [[1e6, 0, 0], [1e5, 1e7, 0], [0, 0, 1e3]]},
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("n", [len(COARSE), 300])
def test_updates_on_the_device_have_it_once_their_bounds_are_read(session, name, n):
    near = (SCAN - SCAN.mean(axis=0)).astype(np.float32)
    index = clfrnn.build_index(near, 0.5, session=session, **DOMAINS[name])
    both_sides = np.concatenate([COARSE, -COARSE])[:: 800 // n].copy()[:n]
    for points, warnings_of_it in ((COARSE[:n], 1), (near[:n], 0), (both_sides, 0)):
        array = cla.to_device(session.queue, points)

        def update(array=array):
            index.update(array)
            index.check()

        found = seen(update)
        assert [each.category for each in found] == [clfrnn.PrecisionWarning] * warnings_of_it
        assert all(
            each.filename == __file__ and "adjacent numbers of float32 are 0." in str(each.message) for each in found
        )
    assert not seen(index.check)


def test_float64_at_its_own_end(session):
    found = seen(lambda: clfrnn.search(SCAN * 1e9, 0.5, session=session))
    assert "adjacent numbers of float64 are 1 apart" in str(found[0].message)
    assert "subtract an origin where the coordinates are computed" in str(found[0].message)


def test_no_warning_where_rounding_changes_little(session):
    """In float64, with longer radii, for radius 0, and for some strays beside points near the origin."""
    near = RNG.random((400, 3)).astype(np.float32)
    strays = np.concatenate([near, np.float32([[1e7, 0, 0], [0, -3e12, 0]])])
    for points, radius in ((SCAN, 0.5), (COARSE, 33.0), (COARSE, 0.0), (near, 1e-4), (strays, 0.05)):
        assert not seen(lambda points=points, radius=radius: clfrnn.search(points, radius, session=session))


def test_nearest_without_a_radius_has_a_warning(session):
    found = seen(lambda: clfrnn.nearest(COARSE[:, :2], 3, session=session))
    assert [each.category for each in found] == [clfrnn.PrecisionWarning]
    assert "the distance of even points" in str(found[0].message)
    assert not seen(lambda: clfrnn.nearest(SCAN, 3, session=session))
