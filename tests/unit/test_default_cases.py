"""Which cases of a test are run: those that are left out have nothing that others do not have."""

import itertools
import types

import pytest
from conftest import COMBINED, left_out, repeated, repeated_threes

VALUES = {"method": "abcde", "kind": "uvwxyz", "half": (False, True), "dim": (2, 3), "dtype": ("float32", "float64")}
CASES = [
    types.SimpleNamespace(callspec=types.SimpleNamespace(params=dict(zip(VALUES, case, strict=True))))
    for case in itertools.product(*VALUES.values())
]


@pytest.mark.parametrize(("together", "fewest", "most"), [(1, 6, 6), (2, 30, 36), (3, 60, 80)])
def test_values_are_met_together(together, fewest, most):
    left = repeated(CASES, together=together, of=VALUES)
    run = [case for case in CASES if case not in left]
    assert fewest <= len(run) <= most
    for names in itertools.combinations(VALUES, together):
        met = {tuple(case.callspec.params[name] for name in names) for case in run}
        assert met == set(itertools.product(*(VALUES[name] for name in names)))


def test_other_parameters_are_met_alone():
    left = repeated(CASES, together=2, of=("method", "dim"))
    run = [case.callspec.params for case in CASES if case not in left]
    assert len(run) == 10
    assert {each["kind"] for each in run} == set(VALUES["kind"])


@pytest.mark.parametrize("together", [1, 2, 3])
def test_a_test_without_parameters_is_run(together):
    """It has no value that another case could have."""
    assert not repeated([types.SimpleNamespace()], together=together, of=VALUES)


class Item:
    """A test of pytest's, as far as the choice asks for it."""

    def __init__(self, number, params, mark):
        self.nodeid = f"test_a.py::test_b[{number}]"
        self.callspec = types.SimpleNamespace(params=params, indices=dict.fromkeys(params, 0))
        self.get_closest_marker = lambda name: name if name == mark else None


def met_by(cases, names):
    return {tuple(case.callspec.params[name] for name in names) for case in cases}


@pytest.mark.parametrize(
    ("mark", "leave_out", "of", "together"),
    [
        ("core", lambda items: left_out(items, whole=False), COMBINED, 2),
        ("threes", repeated_threes, VALUES, 3),
    ],
)
def test_tests_of_a_mark_run_values_together(mark, leave_out, of, together):
    """The core method, dimension and dtype, and threes all parameters."""
    items = [Item(number, case.callspec.params, mark) for number, case in enumerate(CASES)]
    run = set(items) - leave_out(items)
    assert len(run) < len(items) / 2
    for names in itertools.combinations([name for name in VALUES if name in of], together):
        assert met_by(run, names) == met_by(items, names)
    assert not leave_out([Item(number, case.callspec.params, "") for number, case in enumerate(CASES[:1])])
