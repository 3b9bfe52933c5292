"""What a layout of many systems serves, by its numbers alone."""

import numpy as np

from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.domain.system_layout import SystemBounds, SystemHeights, widened
from clfrnn.domain.systems import Systems

REACH, MOST = 0.2, 1e30

#: An open system, a periodic one, and one without points.
SYSTEMS = Systems(
    real="double",
    numbers=np.arange(3),
    ranks=np.arange(40, dtype=np.int32) % 2,
    domains=(open_space(2), PeriodicBox(lengths=(1.0, 0.0), low=None)),
    of_system=np.array([0, 1, 0]),
)
BOUNDS = SystemBounds(np.array([[0.1] * 2, [0.1] * 2, [np.inf] * 2]), np.array([[0.9] * 2, [0.9] * 2, [-np.inf] * 2]))


def test_the_numbers_of_a_layout_tell_what_it_serves():
    """They agree with the test of bounds that the host makes."""
    heights, draw = SystemHeights(SYSTEMS, widened(SYSTEMS, BOUNDS, REACH)), np.random.default_rng(2)
    lowest, highest, least = np.moveaxis(heights.served(REACH, MOST), 1, 0)
    found = []
    for scale in np.repeat([0.01, 0.1, 0.3], 60):
        low, high = (each + scale * draw.standard_normal(each.shape) for each in BOUNDS)
        fits = (low >= lowest) & (high <= highest) & (high[:2] - low[:2] >= least[:2]).all()
        found.append(bool(fits.all()))
        assert found[-1] == heights.serve(SystemBounds(low, high), REACH)
    assert 20 < sum(found) < 160


def test_a_layout_of_points_outside_of_their_boxes_has_no_such_numbers():
    """Points that come back into them get another one, which bounds in the numbers of the old one do not tell."""
    outside = BOUNDS._replace(high=BOUNDS.high + 2)
    assert SystemHeights(SYSTEMS, outside).served(REACH, MOST) is None


def test_no_layout_serves_points_that_are_refused():
    """Its margins may reach farther out than points may lie."""
    lowest, highest, _ = np.moveaxis(SystemHeights(SYSTEMS, BOUNDS).served(REACH, 0.5), 1, 0)
    assert np.array_equal(np.stack([lowest, highest], 1)[0], [[0.1, 0.1], [0.5, 0.5]])
