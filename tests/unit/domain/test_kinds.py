"""Each kind of domain answers the questions of all, and is a value."""

import dataclasses
import math

import numpy as np
import pytest

from clfrnn.domain.box import PeriodicBox, open_space
from clfrnn.domain.lattice import periodic_cell
from clfrnn.domain.systems import Systems

BOX = PeriodicBox(lengths=(2.0, 0.0), low=None)
CELL = periodic_cell(((1.0, 0.25), (0.25, 1.0)), "double")
FAR = periodic_cell(((1.0, 0.0), (7.25, 1.0)), "double")


def systems_in(*spaces, ranks=(0, 1, 1, 0, 1)):
    return Systems(
        real="double",
        numbers=np.arange(len(spaces)),
        ranks=np.array(ranks, np.int32),
        domains=spaces,
        of_system=np.arange(len(spaces)),
    )


def test_open_space_has_no_images():
    space, corners = open_space(3), ((-1.0, 0.0, 2.0), (5.0, 0.0, 3.0))
    positions = np.array([[1e9, 0.0, -1e9]])

    assert (space.kind, space.has_images, space.describe(), space.space) == ("", False, "", space)
    assert (space.images(9.0), space.most_images(9.0), space.repeats(9.0), space.most_visited) == (1, 1, False, 1)
    assert space.filled(*corners) == corners
    assert space.holds(*corners)
    assert space.limits("float") == space.extents == (math.inf,) * 3
    assert space.into_box(positions, (0.0,) * 3) is positions


def test_a_box_of_which_one_axis_repeats():
    assert (BOX.kind, BOX.num_points, BOX.parts(7)) == ("box", None, ((BOX, 7),))
    assert BOX.images(1.0) == 2.0
    assert BOX.filled((0.5, -3.0), (1.0, 3.0)) == ((0.0, -3.0), (2.0, 3.0))
    assert BOX.describe() == "periodic: axis 0 of length 2"


@pytest.mark.parametrize("space", [open_space(2), BOX, CELL, FAR], ids=["open", "box", "cell", "far vectors"])
def test_a_frame_leads_from_positions_to_heights_and_back(space):
    """Each step changes one height, by the length of its axis."""
    frame = space.frame
    assert np.allclose(frame.combinations @ frame.vectors, frame.steps)
    assert np.allclose(frame.steps @ frame.normals.T, np.diag(space.lengths))
    assert np.allclose(space.heights(frame.steps), np.diag(space.lengths))


def test_systems_lie_in_open_space():
    systems = systems_in(open_space(2), BOX)
    assert (systems.kind, systems.num_points, systems.has_images) == ("systems", 5, True)
    assert systems.space == open_space(2)
    assert systems.parts(5) == [(open_space(2), 2), (BOX, 3)]
    assert (systems.images(1.0), systems.most_images(1.0)) == (1.5, BOX.most_images(1.0))
    assert [systems.repeats(radius) for radius in (0.1, 1.0)] == [BOX.repeats(radius) for radius in (0.1, 1.0)]
    assert systems.describe() == "systems: 2, 1 of them periodic"


def test_the_kind_of_systems_is_that_of_the_widest_tables():
    kinds = [systems_in(open_space(2), each).kind for each in (BOX, CELL, FAR)]
    assert kinds == ["systems", "systems", "reduced_systems"]
    assert not systems_in(open_space(2), open_space(2)).has_images


def test_domains_are_values():
    assert PeriodicBox(lengths=(1.0,), low=None) == PeriodicBox(lengths=(1.0,), low=None)
    assert systems_in(BOX, BOX) != systems_in(BOX, BOX), "that would compare the system of every point"
    for domain in (BOX, CELL, systems_in(BOX, BOX)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            domain.real = "float"
