"""Cells of any side: whatever `bin_width` is, every kind of query finds what the reference finds."""

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    RECORDED,
    assert_counts,
    assert_nearest,
    assert_same,
    joined,
    own_session,
    rows_of,
    structure_of,
    truth,
    tuned,
    with_tuning,
)

import clfrnn
from clfrnn import clouds
from clfrnn.answers.count_nearest import count_neighbors
from clfrnn.arrays import one_radius
from clfrnn.domain.box import open_space
from clfrnn.methods import METHODS
from clfrnn.methods.traversal import Traversal
from clfrnn.problem import Problem
from clfrnn.survey import Survey

N = min(500, POINTS)
RADIUS = 0.17
WIDTHS = [0.25, 0.5, 1, 1.7]

pytestmark = pytest.mark.core

SUM_OF_IDS = clfrnn.NeighborFunction(
    arguments="global int *out", state="int sum = 0;", per_neighbor="sum += j + 1;", finish="out[i] = sum;"
)


@pytest.fixture(params=["strips", "uniform_grid"])
def method(request):
    return request.param


def domain_of(dim, periodic):
    return {"box": (1.0,) * dim, "periodic": (True,) + (False,) * (dim - 1)} if periodic else {}


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_kind_of_query(session, method, dim, dtype, periodic, width):
    check_every_kind(session, method, dim, dtype, domain_of(dim, periodic), width)


def check_every_kind(session, method, dim, dtype, domain, width):
    points, queries = clouds.uniform(N, dim, dtype=dtype, seed=4), clouds.uniform(70, dim, dtype=dtype, seed=5)
    own = (RADIUS * np.random.default_rng(6).random(N)).astype(dtype)
    index = clfrnn.build_index(points, RADIUS, method=method, bin_width=width, session=session, **domain)
    assert structure_of(index).cell_grid.sides[-1] == pytest.approx(width * RADIUS)  # the last axis is open
    for _ in range(2):  # of the second points the cells are those of the first
        expected = truth(points, RADIUS, **domain)
        assert_counts(index.count(), expected)
        assert_nearest(index.nearest(), expected)
        assert_same(index.query(**FULL), expected)
        assert_same(joined(index.query_blocks(max_bytes=4000, **FULL)), expected)
        out = cla.zeros(session.queue, N, np.int32)
        index.visit(SUM_OF_IDS, out=out)
        sums = np.zeros(N, int)
        np.add.at(sums, rows_of(expected), expected.indices + 1)
        assert np.array_equal(out.get(), sums)
        points = (points[::-1] * dtype.type(0.9)).copy()
        index.update(points)
    assert_same(index.query(half=True, **FULL), truth(points, RADIUS, half=True, **domain))
    assert_same(index.query(radius=own, **FULL), truth(points, own, **domain))
    assert_same(index.query(queries, **FULL), truth(points, RADIUS, queries=queries, **domain))
    assert_same(index.query(hint=10, **FULL), truth(points, RADIUS, **domain))


@pytest.mark.parametrize("radius", [0.0, 2.5], ids=["no radius", "beyond the box"])
@pytest.mark.parametrize("width", WIDTHS)
def test_radii_out_of_the_ordinary(session, method, width, radius):
    points, domain = clouds.duplicates(60, 2, seed=3), domain_of(2, periodic=True)
    found = clfrnn.search(points, radius, method=method, bin_width=width, session=session, **FULL, **domain)
    assert_same(found, truth(points, radius, **domain))


@pytest.mark.parametrize("spread", [1.0, 60.0], ids=["a grid", "a torus"])
def test_cells_reach_farther_than_they_were_made_for(session, method, dim, dtype, spread):
    """On a torus windows are wider than it, and on every axis they begin and end beyond the points."""
    points = clouds.uniform(N, dim, dtype=dtype, seed=4) * dtype.type(spread)
    structure = structure_of(clfrnn.build_index(points, RADIUS, method=method, bin_width=1, session=session))
    if session.profile.loop_turns is not None:
        assert not structure.reaches(2 * RADIUS)
        return
    assert structure.cell_grid.wrapped == (spread > 1)
    for radius in (2.3 * RADIUS, 0.4 * spread, 3 * spread):
        assert structure.reaches(radius)
        traversal = Traversal(structure, one_radius(radius, points.dtype))
        expected = truth(points, radius)
        assert_counts(count_neighbors(traversal, None, radius=None, include_self=False), expected)
        assert_counts(
            count_neighbors(traversal, points[:50], radius=radius, include_self=False),
            truth(points, radius, queries=points[:50]),
        )
    periodic = clfrnn.build_index(points, RADIUS, method=method, box=(2 * spread,) * dim, session=session)
    assert structure_of(periodic).reaches(structure_of(periodic).problem.radius)
    assert not structure_of(periodic).reaches(2 * RADIUS)


def test_lists_by_the_hit_mask(session, method):
    """Of many neighbors: narrow cells divide the candidates of a row into more runs, each with words of its own."""
    points = clouds.uniform(N, 3, seed=8)
    for width in (0.25, 1):
        index = clfrnn.build_index(
            points, 0.4, method=method, bin_width=width, session=tuned(session, lists={"mask_neighbors": 0.0})
        )
        assert structure_of(index).list_facts.mask_words > 0
        assert_same(index.query(sort="index"), truth(points, 0.4))


def test_narrow_cells_take_more_words_where_each_is_a_run(session):
    points = clouds.uniform(N, 3, seed=8)
    gpu = tuned(own_session(session, kind="gpu"), lists={"mask_neighbors": 0.0})

    def words(method, width):
        index = clfrnn.build_index(points, 0.4, method=method, bin_width=width, session=gpu)
        return structure_of(index).list_facts.mask_words

    assert words("uniform_grid", 1) == words("strips", 1)
    assert words("uniform_grid", 0.25) > words("strips", 0.25)


def test_default_sides_stay():
    """Those of r, or of cells of about one point."""
    survey = Survey(n=1000, low=(0.0,) * 2, high=(1.0,) * 2)
    for radius, side in ((0.1, 0.1), (0.001, 1000**-0.5)):
        problem = Problem(
            n=1000,
            domain=open_space(2),
            real="float",
            radius=radius,
            survey=survey,
            options={"construction": "counting"},
        )
        plan = METHODS["uniform_grid"].plan(problem, *with_tuning(RECORDED["h200"]))
        assert plan.grid.sides == pytest.approx((side, side))


def test_explain_says_why(session):
    def told(radius, **options):
        index = clfrnn.build_index(
            clouds.uniform(200, 2, seed=1), radius, method="uniform_grid", session=session, **options
        )
        return next(line for line in index.explain(long=True).splitlines() if line.startswith("sides: "))

    assert told(0.2) == "sides: the radius"
    assert told(0.2, bin_width=0.5) == "sides: 0.5 in radii, asked for by bin_width"
    assert told(1e-3) == "sides: wider than the radius, so that a cell holds about one point"
