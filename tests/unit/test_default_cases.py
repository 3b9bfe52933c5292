"""Which cases of a test are run: those that are left out have nothing that others do not have."""

import itertools
import types

import pytest
from conftest import repeated

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
