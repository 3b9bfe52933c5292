"""What sides of cells are foreseen to cost, over recorded device profiles: no device is needed here, but to explain."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from conftest import RECORDED, ROOT, structure_of, with_tuning

import clfrnn
from clfrnn import clouds
from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.methods import METHODS
from clfrnn.methods.grid import cost_model as side_costs
from clfrnn.methods.grid import strips
from clfrnn.problem import Problem
from clfrnn.survey import Survey
from clfrnn.tuning import Prices, Tuning, default_tuning

RADIUS = 0.05


def problem(*, others=5.0, n=100_000, dim=3, real="float", radius=RADIUS, extent=1.0, bin_width=None, box=None):
    survey = Survey(n=n, low=(0.0,) * dim, high=(extent,) * dim, others=others)
    options = {"construction": "counting", "bin_width": bin_width}
    return Problem(n=n, domain=box or open_space(dim), real=real, radius=radius, survey=survey, options=options)


def even(neighbors, *, n=1_000_000, dim=3, **options):
    """A cloud that fills the unit cube, in which a point has so many neighbors."""
    ball = {2: math.pi, 3: 4 / 3 * math.pi}[dim]
    radius = (neighbors / (ball * n)) ** (1 / dim)
    return problem(others=neighbors / ball, n=n, dim=dim, radius=radius, **options)


def sides_taken(profile, asked):
    """In radii, along the strip and across it."""
    return tuple(side / asked.radius for side in METHODS["strips"].plan(asked, *with_tuning(profile)).grid.sides[:2])


def as_cpu(profile):
    return dataclasses.replace(profile, kind="cpu", simd_width=1)


def as_gpu(profile):
    return dataclasses.replace(profile, kind="gpu", simd_width=32)


@pytest.mark.parametrize("neighbors", [0.01, 0.7, 3.0, 12.0, 49.0, 145.0, 300.0, 1000.0])
def test_the_cheapest_is_taken(profile, dim, neighbors):
    asked = even(neighbors, dim=dim)
    prices = side_costs.prices_for(default_tuning(profile), dim=dim, real="float")
    every = [
        side_costs.cost_of_sides(asked, prices, sides)
        for sides in side_costs.sides_to_try(asked, *with_tuning(profile))
    ]

    taken = side_costs.cost_of_sides(asked, prices, METHODS["strips"].plan(asked, *with_tuning(profile)).grid.sides)

    assert taken.cost == pytest.approx(min(each.cost for each in every if not each.wrapped))


def test_denser_clouds_get_narrower_cells(profile, dim):
    areas = []
    for neighbors in (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0):
        along, across = sides_taken(profile, even(neighbors, dim=dim))
        areas.append(round(along * across ** (dim - 1), 3))

    assert areas == sorted(areas, reverse=True)
    assert areas[0] > 2
    assert areas[-1] <= 1 / 4 * (1 / 2) ** (dim - 1) * 1.01


def test_a_cost_is_the_sum_of_what_is_foreseen(profile):
    """By hand: cubes of a quarter of the box, 1,000 points in them, all in one window and a half."""
    prices = Prices(query=1000.0, row=100.0, stranger=10.0, cell=1.0)
    asked = problem(n=1000, radius=0.1, others=1.0)

    cost = side_costs.cost_of_sides(asked, prices, (0.05, 0.1, 0.1))

    assert cost.rows == pytest.approx(9)
    assert cost.candidates == pytest.approx(1000 * 0.25 * 0.3 * 0.3, rel=1e-3)
    assert cost.cells == pytest.approx(20 * 10 * 10 / 1000, rel=0.3)
    assert not cost.wrapped
    assert cost.strangers == 0
    assert cost.cost == pytest.approx(1000 + 900 + cost.candidates + cost.cells)


def test_strangers_share_the_addresses_of_a_torus():
    prices = Prices(query=0.0, row=0.0, stranger=10.0, cell=0.0)
    asked = problem(n=1000, radius=1e-3, others=1.0)

    cost = side_costs.cost_of_sides(asked, prices, (1e-3,) * 3)

    assert cost.wrapped
    assert cost.cells == 2048 / 1000  # the power of two next to twice the points
    assert cost.strangers == pytest.approx(27 / 2.048)
    assert cost.cost == pytest.approx(27 + 10 * cost.strangers)


def test_no_window_has_more_rows_than_the_domain_or_more_candidates_than_points(profile):
    """Unless the box is periodic: each of its images is then looked into."""
    asked = problem(n=1000, radius=10.0, others=999.0)
    images = problem(n=1000, radius=10.0, others=999.0, box=PeriodicBox(lengths=(1.0,) * 3, low=None))

    for cost in side_costs.rank_sides(asked, *with_tuning(profile)):
        assert cost.rows == 1
        assert cost.candidates == 1000
    for cost in side_costs.rank_sides(images, *with_tuning(profile)):
        assert cost.rows == pytest.approx(21**2)
        assert cost.candidates <= 1000 * 21**3
    first, *rest = side_costs.rank_sides(asked, *with_tuning(profile))
    assert all(each.cost == first.cost for each in rest)
    assert first.sides == (10.0,) * 3, "of equals the widest"


def test_what_only_a_torus_holds_comes_last(profile):
    """Points that take up little of their box, in cubes that are all held."""
    asked = problem(n=300_000, radius=0.01, others=12.0)

    first, *rest = side_costs.rank_sides(asked, *with_tuning(profile))

    assert first.sides == pytest.approx((0.01,) * 3, rel=1e-3)
    assert all(each.wrapped for each in rest)
    assert (
        "foreseen to cost least of those that need no torus"
        in side_costs.describe_sides(asked, *with_tuning(profile), None)[0]
    )


def test_devices_and_types_have_their_own_prices(profile):
    cpu, gpu = (side_costs.prices_for(default_tuning(each(profile)), dim=3, real="float") for each in (as_cpu, as_gpu))
    doubles = side_costs.prices_for(default_tuning(profile), dim=3, real="double")
    own = side_costs.prices_for(default_tuning(profile), dim=3, real="float")

    assert cpu != gpu
    assert doubles.row < own.row, "as a test of doubles costs more"
    assert side_costs.prices_for(Tuning.default("other"), dim=3, real="float") == gpu


def test_a_cpu_keeps_long_runs_where_a_gpu_cuts_them(profile):
    crowds = [even(neighbors) for neighbors in (12.0, 49.0, 100.0, 145.0, 200.0, 300.0)]

    taken = [[sides_taken(each(profile), asked) for asked in crowds] for each in (as_cpu, as_gpu)]

    assert taken[0] != taken[1]


@pytest.mark.parametrize("others", [0.0, 0.3, 5.0, 500.0])
def test_the_width_asked_for_wins(profile, others):
    for width in (0.3, 1.0, 2.5):
        asked = problem(others=others, extent=4.0, bin_width=width)
        assert sides_taken(profile, asked) == pytest.approx((width, width))


@pytest.mark.parametrize("radius", [0.0, 1e-300, 1e-30, 0.05, 1e30, 1e300])
@pytest.mark.parametrize("extent", [0.0, 1e-30, 1.0, 1e30])
def test_what_is_foreseen_of_hostile_clouds_are_numbers(profile, dim, radius, extent):
    for n, others in itertools.product((0, 1, 1000), (0.0, 1e-300, 1.0, 1e9, 1e300, math.inf)):
        asked = problem(others=others, n=n, dim=dim, real="double", radius=radius, extent=extent)
        for cost in side_costs.rank_sides(asked, *with_tuning(profile)):
            assert math.isfinite(cost.cost)
            assert min(cost.cost, cost.rows, cost.candidates, cost.strangers, cost.cells) >= 0
        assert len(side_costs.describe_sides(asked, *with_tuning(profile), None)) >= 2


def described(text):
    """The sides of the line about them, and the cost of each that follows."""
    head = re.search(r"^sides: (.+?)( in radii)?, (.+), where testing a candidate costs 1:$", text, re.MULTILINE)
    listed = re.findall(
        r"^    (.+): cost (\d+), of ([\d.]+) rows, ([\d.]+) candidates, ([\d.]+) cells", text, re.MULTILINE
    )
    return head, {sides: tuple(map(float, numbers)) for sides, *numbers in listed}


def test_an_explanation_has_the_numbers_of_all_sides(session, dim):
    points = clouds.uniform(300, dim, seed=3)
    index = clfrnn.build_index(points, 0.1, method="strips", session=session)
    ranked = side_costs.rank_sides(structure_of(index).problem, session.profile, session.tuning)

    head, listed = described(index.explain(long=True))

    assert head[3].startswith("foreseen to cost least")
    assert head[1] == next(iter(listed)), "the one taken comes first"
    assert [cost for cost, *_ in listed.values()] == pytest.approx([each.cost for each in ranked], abs=0.51)
    rows = [rows for _, rows, *_ in listed.values()]
    assert rows == pytest.approx([each.rows for each in ranked], abs=0.051)
    assert structure_of(index).cell_grid.sides == pytest.approx(ranked[0].sides)


def test_an_explanation_tells_what_was_asked_for(session):
    """And what would have been taken."""
    points = clouds.uniform(300, 3, seed=3)
    index = clfrnn.build_index(points, 0.1, method="strips", session=session, bin_width=0.7)
    best = side_costs.rank_sides(structure_of(index).problem, session.profile, session.tuning)[0]

    head, listed = described(index.explain(long=True))

    assert (head[1], head[3]) == ("0.7 x 0.7 x 0.7", "asked for by bin_width")
    own, second, *_ = (cost for cost, *_ in listed.values())
    assert own >= second == pytest.approx(best.cost, abs=0.51)


def test_sides_are_told_without_a_radius(session):
    index = clfrnn.build_index(np.zeros((5, 3), np.float32), 0.0, method="strips", session=session)

    head, listed = described(index.explain(long=True))

    assert head[2] is None
    assert len(listed) == 1


def test_plans_of_given_sides_have_them(profile):
    asked = problem()
    assert strips.plan_strips(asked, *with_tuning(profile), (0.02, 0.1, 0.1)).grid.sides == pytest.approx(
        (0.02, 0.1, 0.1)
    )


def measured(command):
    """The rows of a table of the page on sides by their titles: the one above a command."""
    above, _ = (ROOT / "docs/measured/tables/sides.md").read_text(encoding="utf-8").split(command)
    table = above.rsplit("\n\n|", 1)[1]
    lines = table.split("\n\n", 1)[0].splitlines()
    titles, _, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in lines)
    return [dict(zip(titles, row, strict=True)) for row in rows]


IN_RADII = {"1": 1, "1/2": 1 / 2, "1/3": 1 / 3, "1/4": 1 / 4}


@pytest.mark.parametrize(
    ("device", "command", "n"),
    [
        ("h200", "asv_benches.tools.sides`, an H200", 1 << 20),
        ("pocl", "asv_benches.tools.sides --device pocl", 1 << 17),
    ],
)
def test_choices_are_near_the_best_that_was_measured(device, command, n):
    """In the tables of the docs, for even clouds whose sides are all there."""
    compared = 0
    for row in measured(command):
        found = re.match(r"(\d)D, ([\d.]+) neighbors(, doubles)?$", row["cloud"])
        asked = found and even(float(found[2]), dim=int(found[1]), n=n, real="double" if found[3] else "float")
        times = {
            tuple(IN_RADII[side] for side in sides.split(", ")): float(time.strip("*"))
            for sides, time in row.items()
            if time and "," in sides and sides != "cloud"
        }
        taken = found and tuple(round(side * 12) / 12 for side in sides_taken(RECORDED[device], asked))
        if taken in times:
            assert times[taken] <= 1.05 * min(times.values()), row
            compared += 1
    assert compared >= 9
