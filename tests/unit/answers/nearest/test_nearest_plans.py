"""Plans of k nearest neighbors: where rows are held, and how far searches reach."""

import dataclasses
import math

import numpy as np
import pytest
from conftest import RECORDED

from clfrnn.answers.nearest.plan import (
    RowPlan,
    first_reach,
    foreseen_neighbors,
    is_even,
    largest_reach,
    plan_rows,
    spanning_reach,
)
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning, default_tuning

GPU, CPU = Tuning.default("gpu"), Tuning.default("cpu")
COUNTED = GPU.but(nearest={"counted_first": 20, "slots_beside": 8})
OPEN = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("tuning", "k", "real", "images", "plan"),
    [
        (GPU, 3, "float", False, RowPlan("registers", 4)),
        (GPU, 12, "float", False, RowPlan("registers", 12)),
        (GPU, 30, "float", False, RowPlan("registers", 32, slots=40)),
        (GPU, 33, "float", False, RowPlan("heap")),
        (GPU, 17, "double", False, RowPlan("heap")),
        (GPU, 5, "float", True, RowPlan("heap")),
        (COUNTED, 16, "float", False, RowPlan("registers", 16)),
        (COUNTED, 17, "float", False, RowPlan("registers", 20, slots=28)),
        (COUNTED, 16, "double", False, RowPlan("registers", 16)),
        (COUNTED, 30, "float", True, RowPlan("heap")),
        (CPU, 1, "float", False, RowPlan("registers", 4, 4)),
        (CPU, 16, "float", False, RowPlan("registers", 16, 8)),
        (CPU, 16, "double", False, RowPlan("registers", 16)),
    ],
)
def test_rows(tuning, k, real, images, plan):
    profile = RECORDED["awkward" if tuning is CPU else "h200"]
    assert plan_rows(profile, tuning, k=k, real=real, images=images, even=True) == plan
    assert plan_rows(profile, tuning, k=k, real=real, images=images) == plan._replace(slots=0)


@pytest.mark.parametrize("name", RECORDED)
def test_long_rows_are_in_registers_where_vectors_are_long(name):
    profile, plans = RECORDED[name], {}
    held = 64 if profile.kind == "cpu" and profile.simd_width == 16 else 32
    for k in range(1, 200):
        plan = plans[k] = plan_rows(profile, default_tuning(profile), k=k, real="float", images=False)
        assert (plan.way == "registers") == (k <= held)
        assert k <= plan.capacity <= held or plan.way == "heap"
        # In float64, long rows are heaps on every device.
        double = plan_rows(profile, default_tuning(profile), k=k, real="double", images=False)
        assert double.way == ("registers" if k <= 16 else "heap")
    assert len(set(plans.values())) <= 11


def test_rows_in_registers_get_no_shorter_with_width():
    places = [
        max(
            plan_rows(
                dataclasses.replace(RECORDED["pocl"], simd_width=width),
                CPU,
                k=k,
                real="float",
                images=False,
            ).capacity
            for k in range(1, 200)
        )
        for width in (1, 2, 4, 8, 16, 32)
    ]
    assert places == [32, 32, 32, 32, 64, 128]


def test_neighbors_wait_only_where_local_memory_is_large_enough():
    small = dataclasses.replace(RECORDED["h200"], local_memory=8 * 28 * COUNTED.walks.group, local_reserve=0)
    assert plan_rows(small, COUNTED, k=17, real="float", images=False, even=True).slots == 0


def test_points_are_even_where_all_have_about_as_many_around_them():
    bounds = {"n": 1000, "low": (0, 0, 0), "high": (1, 1, 1)}
    assert is_even(Survey(**bounds), GPU)
    assert is_even(Survey(**bounds, others=10.0, unevenness=1.2), GPU)
    assert not is_even(Survey(**bounds, others=10.0, unevenness=1.6), GPU)


def test_the_first_reach_holds_what_is_foreseen():
    wanted = foreseen_neighbors(GPU, 16)
    reach = first_reach(GPU, n=10**6, k=16, low=(0, 0, 0), high=(1, 1, 1), lengths=OPEN)
    assert math.isclose(4 / 3 * math.pi * reach**3 * 10**6, wanted)
    flat = first_reach(GPU, n=10**6, k=16, low=(0, 0, 0), high=(1, 1, 0), lengths=OPEN)
    assert math.isclose(math.pi * flat**2 * 10**6, wanted)
    assert first_reach(GPU, n=10, k=16, low=(0, 0, 0), high=(1, 1, 1), lengths=OPEN) is None
    assert first_reach(GPU, n=10**6, k=16, low=(2, 2, 2), high=(2, 2, 2), lengths=OPEN) is None
    assert first_reach(GPU, n=10, k=16, low=(0, 0, 0), high=(1, 1, 1), lengths=(1.0, 1.0, 1.0)) > 0.5


@pytest.mark.parametrize(("real", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_the_largest_reach_has_a_finite_square(real, dtype):
    reach = dtype(largest_reach(real))
    with np.errstate(over="ignore"):
        assert np.isfinite(reach * reach)
        beyond = dtype(np.nextafter(reach, dtype(np.inf)))
        assert not np.isfinite(beyond * beyond)
    assert spanning_reach(real=real, n=9, k=20, low=OPEN, high=(1, 1, 1), lengths=OPEN) == largest_reach(real)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 26), (1, 27), (5, 4), (5, 500)])
def test_a_spanning_reach_of_a_box_holds_more_images_than_k(n, k):
    reach = spanning_reach(real="float", n=n, k=k, low=OPEN, high=(1, 2, 3), lengths=(1.0, 2.0, 3.0))
    turns = range(-20, 21)
    farthest = sorted(
        math.hypot(0.5 + abs(x), 2 * (0.5 + abs(y)), 3 * (0.5 + abs(z))) for x in turns for y in turns for z in turns
    )
    assert n * sum(distance <= reach for distance in farthest) > k
