"""What errors say of values."""

import numpy as np
import pytest

from clfrnn.host.numbers import briefly, shown


@pytest.mark.parametrize("say", [shown, briefly])
def test_a_value_is_shown_in_one_line_and_says_where_it_is_cut(say):
    assert say(np.diag([1.5, 2.0])) == "array([[1.5, 0. ], [0. , 2. ]])"
    long = say(np.full((3, 3), 1 / 3))
    assert "\n" not in long
    assert long.endswith("…")
    assert say("x" * 58) == repr("x" * 58)
