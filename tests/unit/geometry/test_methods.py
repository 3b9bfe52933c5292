"""Every function of geometry searches by the method that it is given, with the results of every other one."""

import numpy as np
import pytest
from conftest import POINTS

import clfrnn
from clfrnn import geometry
from clfrnn.geometry import distance_field, normals, offset_surface, orient, smooth, statistical_outliers, wlop

N = min(POINTS, 300)
RNG = np.random.default_rng(0)
BALL = RNG.normal(size=(N, 3)).astype(np.float32)
BALL /= np.linalg.norm(BALL, axis=1, keepdims=True)
FIELD = {"spacing": 0.4, "radius": 0.8}

#: each function with what it takes beside the points and keywords, and what is compared of its results
CALLS = {
    "normals": (lambda **given: normals(BALL, 0.7, **given).counts),
    "orient": (lambda **given: orient(BALL, -BALL, 0.7, **given)),
    "radius_outliers": (lambda **given: geometry.radius_outliers(BALL, 0.5, 10, **given)),
    "statistical_outliers": (lambda **given: statistical_outliers(BALL, 4, 1.0, **given)),
    "smooth": (lambda **given: smooth(BALL, 0.7, iterations=2, **given)),
    "wlop": (lambda **given: wlop(BALL, N // 4, 0.9, iterations=2, seed=0, **given)),
    "distance_field": (lambda **given: distance_field(BALL, BALL, **FIELD, **given).values),
    "offset_surface": (lambda **given: offset_surface(BALL, BALL, 0.4, spacing=0.4, **given).vertices),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_method_is_that_of_the_search(session, name):
    call = CALLS[name]
    found, expected = (np.asarray(call(method=method, session=session)) for method in ("aabb_tree", "brute_force"))
    if name in ("smooth", "wlop"):  # which add up in the order of neighbors
        assert np.abs(found - expected).max() < 1e-3
    else:
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
    assert len(np.unique(found)) > 1 or name == "orient"
    with pytest.raises(TypeError, match="'brute_force' takes no options"):
        call(method="brute_force", bin_width=0.5, session=session)


@pytest.mark.parametrize("method", ["strips", "uniform_grid", "fenns"])
def test_a_field_has_the_same_bits_in_every_method(session, method):
    found, expected = (CALLS["distance_field"](method=way, session=session).get() for way in (method, "brute_force"))
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isfinite(found).any()


def test_a_mistyped_keyword_is_one_of_the_function():
    with pytest.raises(TypeError, match="'iteration': did you mean 'iterations'"):
        smooth(BALL, 0.5, iteration=3)
    with pytest.raises(TypeError, match="'ratios': did you mean 'ratio'"):
        statistical_outliers(BALL, 4, ratio=1.0, ratios=2.0)
    with pytest.raises(clfrnn.InvalidInputError, match="^method: "):
        wlop(BALL, 3, 0.5, method="octree")
