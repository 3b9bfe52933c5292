"""Compiling ahead: what a search finds compiled, and what it says about it."""

import numpy as np
import pytest
from conftest import own_session

import clfrnn
from clfrnn import clouds


@pytest.mark.parametrize(("dim", "periodic"), [(2, False), (3, True), (5, False)])
def test_nothing_is_compiled_after_precompile(session, dim, periodic):
    session = own_session(session)
    clfrnn.precompile(dim=dim, dtype="float32", periodic=periodic, session=session)
    compiled = session.programs.compiled
    assert compiled
    for n in (30, 60, 900, 25_000 if dim < 4 and session.profile.kind != "other" else 900):
        points = clouds.uniform(n, dim, seed=n)
        radius, box = 0.5 * (20 / n) ** (1 / dim), {"box": (1.0,) * dim} if periodic else {}
        index = clfrnn.build_index(points, radius, session=session, **box)
        found = [clfrnn.search(points, radius, distances=each, session=session, **box) for each in (False, True)]
        for _ in range(2):
            index.update(points)
            found += [index.query(), index.query(distances=True)]
        assert {each.num_pairs for each in found} == {int(index.count(to_host=True).sum())}

    # On a GPU, programs differ with the number of neighbors in more ways than clouds are made for.
    assert session.programs.compiled <= compiled + (4 if session.profile.kind == "gpu" else 0)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"dim": 0}, "dim: expected a whole number of at least 1, got 0; pass points"),
        ({"dim": 2.5}, r"dim: expected a whole number of at least 1, got 2\.5"),
        ({"dim": 2**63}, "dim: expected as many coordinates as points have, got 9223372036854775808"),
        ({"dim": 13}, "dim: expected at most 12 coordinates a point, got 13"),
        ({"dim": 1, "method": "strips"}, "dim: expected 2 to 3 coordinates .*'strips', got 1.*'brute_force'"),
        ({"dtype": "float16"}, "dtype: expected float32 or float64, got 'float16'; pass points.dtype"),
        ({"dtype": "real"}, "dtype: expected float32 or float64, got 'real'"),
    ],
)
def test_what_is_refused(session, given, match):
    with pytest.raises(clfrnn.InvalidInputError, match=match):
        clfrnn.precompile(**given, session=session)
    with pytest.raises(TypeError, match="unexpected option 'dims': did you mean 'dim'"):
        clfrnn.precompile(dims=3)


def test_float64_without_fp64(session):
    if session.profile.fp64:
        pytest.skip("the device has fp64")
    with pytest.raises(clfrnn.InvalidInputError, match="no fp64"):
        clfrnn.precompile(dtype=np.float64, session=session)
