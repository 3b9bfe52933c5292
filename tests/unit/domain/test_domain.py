"""CellGrid and Survey: the arithmetic of cells, without a device."""

import dataclasses

import numpy as np
import pytest

from clfrnn.domain.cells import CellGrid, fit_cells, padded_radius, torus_like
from clfrnn.primitives.config import plan_sample
from clfrnn.survey import Survey
from clfrnn.tuning import Tuning

GPU = Tuning.default("gpu")


@pytest.mark.parametrize("real", ["float", "double"])
def test_padded_radius(real):
    dtype = np.float32 if real == "float" else np.float64
    radius = dtype(0.3)

    assert dtype(padded_radius(float(radius), real)) == np.nextafter(radius, dtype(1))
    least = padded_radius(0.0, real)
    assert least > 0
    assert dtype(least / 2**12) * dtype(least / 2**12) == dtype(0) or real == "double"
    assert dtype(least) * dtype(least) > 0


def test_a_grid_covers_its_box_exactly():
    grid = fit_cells(low=(0.0, -1.0), high=(1.0, 1.0), sides=(0.25, 0.25), n=1000, real="float")

    assert grid.shape == (5, 9)
    assert not grid.wrapped
    assert grid.cells == 45


def test_queries_have_cells_wherever_they_lie():
    """As many as queries are worth, no more than points have, and none that collects what lies outside."""
    held = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(0.01, 0.01), n=10_000, real="float")
    assert not held.wrapped
    for m, cells in ((100, 256), (1_000_000, 16_384)):
        torus = torus_like(held, m)
        assert torus.wrapped
        assert torus.cells == cells
        assert (torus.low, torus.sides, torus.inverses) == (held.low, held.sides, held.inverses)
        assert min(last - first for first, last in torus.ends) > 1e6
    for high, lengths in (((1.0, 1.0), (1.0, 0.0)), ((1e6, 1.0), ())):
        served = fit_cells(low=(0.0, 0.0), high=high, sides=(0.01, 0.01), n=1000, real="float", lengths=lengths)
        assert torus_like(served, 100) is served


def test_a_flat_domain_does_not_waste_its_torus():
    grid = fit_cells(low=(0.0, 0.0, 0.0), high=(1e6, 1e6, 0.01), sides=(1.0, 1.0, 1.0), n=1000, real="float")

    assert grid.wrapped
    assert grid.shape[2] == 1
    assert 2000 <= grid.cells <= 4000


def test_a_torus_goes_round_a_periodic_box_a_whole_number_of_times():
    """The edge of the box on the first axis is a seam of the torus, and cells are hardly another size for it."""
    rng = np.random.default_rng(1)
    wrapped = 0
    for _ in range(200):
        dim, n = int(rng.integers(2, 4)), int(rng.integers(1, 100_000))
        sides = tuple(float(side) for side in 10.0 ** rng.uniform(-5, 0, dim))
        lengths = (1.0,) * (dim - 1) + (float(rng.integers(0, 2)),)
        grid = fit_cells(low=(0.0,) * dim, high=(1.0,) * dim, sides=sides, n=n, real="float", lengths=lengths)
        wrapped += grid.wrapped
        if grid.wrapped:
            assert grid.periods[0] % grid.shape[0] == 0
        assert grid.sides[0] * grid.periods[0] == pytest.approx(1.0)
        whole = max(1, int(1.000001 / sides[0]))
        assert whole * 7 / 8 <= grid.periods[0] <= whole
        assert grid.cells <= 4 * max(n, 16)
    assert wrapped > 100


def test_a_window_on_a_torus_needs_addresses_of_its_own():
    corners = {"low": (0.0, 0.0), "high": (1.0, 1.0), "real": "float", "lengths": (1.0, 1.0)}
    held = fit_cells(sides=(0.1, 0.1), n=1000, **corners)
    wide = fit_cells(sides=(1e-4, 1e-4), n=100_000, **corners)
    narrow = fit_cells(sides=(1e-4, 1e-4), n=10, **corners)

    assert held.has_unique_addresses((0.4, 0.4))
    assert wide.wrapped
    assert wide.has_unique_addresses((1e-3, 1e-3))
    assert not wide.has_unique_addresses((1e-3, 0.1))
    assert not narrow.has_unique_addresses((1e-3, 1e-3))


def test_serving_a_moved_cloud():
    grid = fit_cells(low=(0.0, 0.0), high=(1.0, 1.0), sides=(0.1, 0.1), n=1000, real="float")

    assert grid.serves((0.0, 0.0), (1.0, 1.0))
    assert grid.serves((-0.05, 0.2), (1.05, 1.0))
    assert not grid.serves((-0.5, 0.0), (1.0, 1.0))
    assert not grid.serves((0.0, 0.0), (1.0, 3.0))
    wrapped = CellGrid(
        low=(0.0, 0.0), sides=(0.1, 0.1), inverses=(10.0, 10.0), shape=(8, 8), wrapped=True, periods=(0, 0)
    )
    assert wrapped.serves((-1e9, 0.0), (1e9, 1.0))


@pytest.mark.parametrize("n", [1, 2, 4095, 4096, 4097, 100_000, 1 << 20, (1 << 20) + 1, 10**8, 2**31 - 1])
def test_the_occupancy_sample_stays_within_the_points(n):
    sample = plan_sample(GPU, n)
    assert 0 < sample.sampled <= sample.counted <= n
    assert sample.sampled * sample.stride <= n
    assert (sample.counted - 1) * sample.step < n <= sample.counted * sample.step
    assert 2 * sample.sampled <= 1 << sample.bits <= 1 << 18


def test_a_part_of_the_points_tells_the_crowding_of_all():
    """Numbers by chance are as uneven as chance makes them, however few of the points are counted."""
    rng = np.random.default_rng(3)
    for n in (1 << 20, 1 << 24):
        sample = plan_sample(GPU, n)
        for mean in (2.0, 40.0):
            drawn = rng.poisson(mean / sample.step, sample.sampled)
            others, unevenness = sample.crowding(sample.sampled, int(drawn.sum()), int((drawn**2).sum()))
            assert others == pytest.approx(mean, rel=0.2)
            assert unevenness == pytest.approx(1 + 1 / mean, rel=0.25)
    assert sample.crowding(5, 0, 0) == (0.0, 1.0)


def test_spread_is_chance_and_more():
    even = Survey(n=10**6, low=(0.0,) * 3, high=(1.0,) * 3, others=3.0, unevenness=1 + 1 / 3)
    mean = even.neighbors(0.0145)
    assert even.spread(0.0145) == pytest.approx(mean**0.5)
    uneven = dataclasses.replace(even, unevenness=2 + 1 / 3)
    assert uneven.spread(0.0145) == pytest.approx((mean + mean**2) ** 0.5)


@pytest.mark.parametrize("bits", [18, 22, 26])
def test_chance_is_no_spread(bits):
    """However few of an even cloud's points are counted."""
    rng, n, others = np.random.default_rng(5), 1 << bits, 0.7
    sample = plan_sample(GPU, n)
    for _ in range(50):
        drawn = rng.poisson(others / sample.step, sample.sampled)
        _, unevenness = sample.crowding(sample.sampled, int(drawn.sum()), int((drawn**2).sum()))
        cloud = Survey(n=n, low=(0.0,) * 3, high=(1.0,) * 3, others=others, unevenness=unevenness, sample=sample)
        radius = (others / n) ** (1 / 3)
        assert cloud.spread(radius) == pytest.approx(cloud.neighbors(radius) ** 0.5, rel=0.2)


def test_density_sees_clusters():
    spread = Survey(n=1000, low=(0.0, 0.0), high=(1.0, 1.0), others=0.0)
    clustered = Survey(n=1000, low=(0.0, 0.0), high=(1.0, 1.0), others=50.0)

    assert spread.density(0.01) == pytest.approx(1000)
    assert clustered.density(0.01) == pytest.approx(50 / 0.01**2)
    assert clustered.dim == 2
