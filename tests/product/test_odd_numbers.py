"""Odd numbers for the arguments of public calls: each is taken, or refused by an error that names the argument.

No call ends in an error of another library, warns, or takes what is no number.
"""

import decimal
import fractions

import numpy as np
import pytest

import clfrnn
from clfrnn import clouds, cluster, geometry, models

P = clouds.uniform(40, 3, seed=1)
UP = np.ones_like(P)
FIELD = geometry.Field(np.linspace(-1, 1, 27).reshape(3, 3, 3), np.zeros(3), 0.1)
CODE = clfrnn.NeighborFunction(
    arguments="const float a, const int b, const real_vec v, global float *out",
    per_neighbor="",
    finish="out[i] = a + b + v.x;",
)
BY = {"method": "brute_force"}

#: numbers that are refused wherever a number is expected
NO_NUMBERS = {
    "a string": "0.1",
    "bytes": b"1",
    "a complex number": 1j,
    "a complex number of numpy": np.complex64(1),
    "a masked number": np.ma.masked,
    "a masked array": np.ma.masked_array([0.1, 0.2], [0, 1]),
    "an array of one number": np.array([0.1]),
    "a list": [0.1],
    "an object": object(),
    "a decimal that signals": decimal.Decimal("sNaN"),
    "a duration": np.timedelta64(1, "s"),
    "a bool of numpy": np.True_,
}
BEYOND = {
    "10**400": 10**400,
    "-10**400": -(10**400),
    "10**5000": 10**5000,
    "a fraction": fractions.Fraction(10**400, 3),
}
NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, **BEYOND}
BROKEN = {"a half": 0.5, "a fraction": fractions.Fraction(1, 2), "a decimal": decimal.Decimal("0.5"), "nan": np.nan}
NEGATIVE = {"-1": -1}
ZERO = {"0": 0, "-0.0": -0.0}
TRUE = {"True": True}
NONE = {"None": None}

#: what is refused where a real number is expected, and where a whole number is
REAL = {**NO_NUMBERS, **NOT_FINITE, **TRUE, **NONE}
WHOLE = {**NO_NUMBERS, **BROKEN, **TRUE}

#: name of the argument in the message -> the call, and what it refuses
CALLS = {
    "radius": (lambda v, s: clfrnn.search(P, v, session=s, **BY), {**REAL, **NEGATIVE}),
    "radius of each": (lambda v, s: clfrnn.search(P, [v] * 40, session=s, **BY), {**REAL, **NEGATIVE}),
    "box": (lambda v, s: clfrnn.search(P, 0.1, box=[v, 1, 1], session=s, **BY), {**REAL, **NEGATIVE, **ZERO}),
    "cell": (lambda v, s: clfrnn.search(P, 0.1, cell=np.array([[1, 0, 0], [0, v, 0], [0, 0, 1]]), session=s, **BY),
             {**BEYOND, "a complex number": 1j, "a string": "1", **ZERO}),
    "periodic": (lambda v, s: clfrnn.search(P, 0.1, box=[1, 1, 1], periodic=[v, True, True], session=s, **BY),
                 {**BEYOND, **NEGATIVE, "a string": "yes", "nan": np.nan, "a masked number": np.ma.masked}),
    "periodic of systems": (
        lambda v, s: clfrnn.search(
            P, 0.1, box=[1, 1, 1], periodic=[[True] * 3, [v, True, True]], batch=np.arange(40) % 2, session=s, **BY
        ),
        {**BEYOND, **NEGATIVE, "a string": "yes", "nan": np.nan, "a complex number": 1j},
    ),
    "batch": (lambda v, s: clfrnn.search(P, 0.1, batch=[v] * 40, session=s, **BY),
              {"nan": np.nan, "a masked number": np.ma.masked, "a string": "1", "10**400": 10**400, "a half": 0.5}),
    "batch of masked numbers": (lambda v, s: clfrnn.search(P, 0.1, batch=v, session=s, **BY),
                                {"masked": np.ma.masked_array(np.arange(40) % 3, np.arange(40) % 2)}),
    "sort": (lambda v, s: clfrnn.search(P, 0.1, sort=v, session=s, **BY), {**WHOLE, "a dict": {}}),
    "max_bytes": (lambda v, s: clfrnn.search(P, 0.1, max_bytes=v, session=s, **BY), {**WHOLE, **NEGATIVE}),
    "bin_width": (lambda v, s: clfrnn.search(P, 0.1, method="uniform_grid", bin_width=v, session=s),
                  {**NO_NUMBERS, **NOT_FINITE, **TRUE, **ZERO}),
    "coarse_shape": (lambda v, s: clfrnn.search(P, 0.1, method="fenns", coarse_shape=[v, 1, 1], session=s),
                     {**WHOLE, **BEYOND, **ZERO}),
    "leaf_size": (lambda v, s: clfrnn.search(P, 0.1, method="aabb_tree", leaf_size=v, session=s),
                  {**WHOLE, **BEYOND, **ZERO}),
    "rebuild_threshold": (lambda v, s: clfrnn.search(P, 0.1, method="aabb_tree", rebuild_threshold=v, session=s),
                          {**NO_NUMBERS, **BEYOND, **TRUE, **NONE, **ZERO, "nan": np.nan}),
    "k": (lambda v, s: clfrnn.nearest(P, v, session=s, **BY), {**WHOLE, **BEYOND, **NEGATIVE, "0": 0, "2**31": 2**31}),
    "eps": (lambda v, s: cluster.dbscan(P, v, 3, session=s, **BY), {**REAL, **NEGATIVE}),
    "min_samples": (lambda v, s: cluster.dbscan(P, 0.1, v, session=s, **BY), {**WHOLE, **NEGATIVE, **ZERO, **NONE}),
    "min_members": (lambda v, s: cluster.friends_of_friends(P, 0.1, min_members=v, session=s, **BY),
                    {**WHOLE, **NEGATIVE, **ZERO, **NONE}),
    "viewpoint": (lambda v, s: geometry.normals(P, 0.2, viewpoint=[v, 0, 0], session=s, **BY), REAL),
    "normals": (lambda v, s: geometry.orient(P, np.array([[v, 0, 0]] * 40), 0.2, session=s, **BY),
                {**BEYOND, "a complex number": 1j, "1e300": 1e300, "inf": np.inf}),
    "min_neighbors": (lambda v, s: geometry.radius_outliers(P, 0.1, v, session=s, **BY), {**WHOLE, **NEGATIVE, **NONE}),
    "k of outliers": (lambda v, s: geometry.statistical_outliers(P, v, 1.0, session=s, **BY),
                      {**WHOLE, **BEYOND, **NEGATIVE, "0": 0}),
    "ratio": (lambda v, s: geometry.statistical_outliers(P, 3, v, session=s, **BY), REAL),
    "iterations": (lambda v, s: geometry.smooth(P, 0.1, iterations=v, session=s, **BY), {**WHOLE, **NEGATIVE, **NONE}),
    "degree": (lambda v, s: geometry.smooth(P, 0.1, degree=v, session=s, **BY),
               {**WHOLE, **BEYOND, **NEGATIVE, **NONE, **ZERO, "3": 3}),
    "particles": (lambda v, s: geometry.wlop(P, v, 0.3, session=s, **BY),
                  {"10**400": 10**400, "-1": -1, "True": True, "None": None, "a half": 0.5, "a string": "5"}),
    "radius of wlop": (lambda v, s: geometry.wlop(P, 5, v, session=s, **BY),
                       {**REAL, **NEGATIVE, **ZERO, "1e-60": 1e-60}),
    "repulsion": (lambda v, s: geometry.wlop(P, 5, 0.3, repulsion=v, session=s, **BY), {**REAL, **NEGATIVE}),
    "seed": (lambda v, s: geometry.wlop(P, 5, 0.3, seed=v, session=s, **BY), {**WHOLE, **NEGATIVE}),
    "spacing": (lambda v, s: geometry.distance_field(P, UP, spacing=v, radius=0.1, session=s, **BY),
                {**REAL, **NEGATIVE, **ZERO, "1e-300": 1e-300}),
    "bounds": (lambda v, s: geometry.distance_field(P, UP, spacing=0.5, radius=0.1, bounds=[[0] * 3, [1, 1, v]],
                                                    session=s, **BY), REAL),
    "level": (lambda v, _: geometry.isosurface(FIELD, v), REAL),
    "field": (lambda v, _: geometry.isosurface(FIELD._replace(origin=[v, 0, 0])), REAL),
    "distance": (lambda v, s: geometry.offset_surface(P, UP, v, spacing=0.2, session=s, **BY), REAL),
    "a, b, c": (lambda v, _: clfrnn.cell_from_parameters(1, v, 1, 90, 90, 90), {**REAL, **NEGATIVE, **ZERO}),
    "alpha, beta, gamma": (lambda v, _: clfrnn.cell_from_parameters(1, 1, 1, 90, v, 90), {**REAL, **NEGATIVE, **ZERO}),
    "neighbors": (lambda v, s: models.Circles(9, v, session=s), {**REAL, **NEGATIVE, **ZERO}),
    "n": (lambda v, s: models.Circles(v, 2, session=s), {**WHOLE, **NEGATIVE, **ZERO, **NONE}),
    "dim": (lambda v, s: models.Circles(9, 2, dim=v, session=s), {**WHOLE, **BEYOND, **ZERO, **NONE}),
    "shape": (lambda v, s: clfrnn.build_index(P, 0.1, session=s, **BY).empty(v),
              {**WHOLE, **BEYOND, **NEGATIVE, "a dict": {}, "a set": {1}}),
    "a": (lambda v, s: visited(s, a=v), {**NO_NUMBERS, **BEYOND, **NONE, "a bool of numpy": "True", "a list": [0, 1]}),
    "b": (lambda v, s: visited(s, b=v), {**BEYOND, **BROKEN, **NONE, "2**31": 2**31, "a masked number": np.ma.masked}),
    "v": (lambda v, s: visited(s, v=[v, 0, 0]), {**BEYOND, **NONE, "a masked number": np.ma.masked, "a string": "1"}),
}  # fmt: skip


def visited(session, **given):
    index = clfrnn.build_index(P, 0.1, session=session, **BY)
    index.visit(CODE, **{"a": 0.0, "b": 0, "v": [0, 0, 0], "out": index.empty(40, "float32"), **given})


@pytest.mark.parametrize("name", CALLS)
def test_odd_numbers_are_refused_by_name(session, name):
    call, refused = CALLS[name]
    argument = name.partition(" of ")[0]
    for what, value in refused.items():
        with pytest.raises(clfrnn.InvalidInputError) as caught:
            pytest.fail(f"{name}: {what} was taken: {call(value, session)!r:.200}")
        assert str(caught.value).startswith(f"{argument}:"), (what, str(caught.value))


@pytest.mark.parametrize(
    "half", [fractions.Fraction(1, 2), decimal.Decimal("0.5"), np.array(0.5), np.float16(0.5)], ids=repr
)
def test_numbers_of_other_types_count(session, half):
    expected = clfrnn.search(P, 0.5, session=session, **BY).num_pairs
    assert clfrnn.search(P, half, session=session, **BY).num_pairs == expected
    assert clfrnn.search(P, [half] * 40, session=session, **BY).num_pairs == expected
    assert clfrnn.search(P, 0.5, box=[half * 2] * 3, session=session, **BY).num_pairs > expected
    assert clfrnn.cell_from_parameters(half, 1, 1, 90, 90, 90)[0].tolist() == [0.5, 0.0, 0.0]
    stays = [geometry.statistical_outliers(P, np.array(3), ratio, session=session, **BY).get() for ratio in (0.5, half)]
    assert np.array_equal(*stays)
