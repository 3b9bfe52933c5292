"""Drivers that end the loops of a work-item early: what could lose a neighbor there is refused, the rest is served."""

import dataclasses

import numpy as np
import pytest
from conftest import assert_same, own_session, truth

import clfrnn
from clfrnn import clouds
from clfrnn.methods import METHODS
from clfrnn.runtime.launch_limits import sorts_within_turns


def bounded(session, turns):
    """The device as one whose driver ends loops after so many turns."""
    return own_session(session, loop_turns=turns)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("domain", [{}, {"box": (1.0, 1.0, 1.0), "periodic": True}], ids=["open", "periodic"])
def test_searches_that_could_take_more_turns_are_refused(session, method, domain):
    points = clouds.uniform(400, 3, seed=1)
    few = 2 * len(points)

    with pytest.raises(clfrnn.NoDeviceError, match=r"ends the loops.*after 800 turns.*query of 400 points.*devices"):
        clfrnn.build_index(points, 0.9, method=method, session=bounded(session, few), **domain)

    index = clfrnn.build_index(points, 0.1, method=method, session=bounded(session, 10**6), **domain)
    expected = truth(points, 0.1, **domain)
    assert_same(index.query(sort="index"), expected)


def test_narrow_cells_take_turns_of_their_own(session):
    points = clouds.uniform(100, 3, seed=1)
    poor = bounded(session, 20_000)

    clfrnn.build_index(points, 0.1, method="strips", session=poor)
    with pytest.raises(clfrnn.NoDeviceError, match="ends the loops"):
        clfrnn.build_index(points, 0.1, method="strips", bin_width=0.01, session=poor)


def test_rows_that_take_too_long_to_sort_are_refused(session):
    points = np.zeros((300, 2), np.float32)
    turns = max(2500, 320 * session.profile.simd_width)
    index = clfrnn.build_index(points, 0.1, method="strips", session=bounded(session, turns))
    index.session.profile = dataclasses.replace(index.session.profile, loop_turns=2500)

    assert len(index.query().to_host()) == 300
    with pytest.raises(clfrnn.NoDeviceError, match="sorting a row of 299 neighbors"):
        index.query(sort="index")
    few = index.query(np.ones((3, 2), np.float32), sort="index").to_host()
    assert few.indices.size == 0


def test_turns_to_sort(profile):
    assert sorts_within_turns(dataclasses.replace(profile, loop_turns=None), 10**9)
    for turns in (100, 65_535):
        device = dataclasses.replace(profile, loop_turns=turns)
        longest = max(k for k in range(turns) if sorts_within_turns(device, k))
        assert 0 < longest < turns / 2
