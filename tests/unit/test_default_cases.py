"""Which cases of a test are run without ``--all``."""

import itertools
from types import SimpleNamespace

import pytest
from conftest import COMBINED, repeated

VALUES = {"way": "abcde", "dim": (2, 3), "dtype": ("single", "double"), "cloud": range(9), "far": (False, True)}


CASES = [
    SimpleNamespace(callspec=SimpleNamespace(params=dict(zip(VALUES, values, strict=True))))
    for values in itertools.product(*VALUES.values())
]


def run(*, paired):
    """The parameters of the cases that are not left out."""
    left = list(map(id, repeated(CASES, paired=paired)))
    return [case.callspec.params for case in CASES if id(case) not in left]


def test_each_value_is_run():
    found = run(paired=False)
    for name, values in VALUES.items():
        assert {each[name] for each in found} == {*values}
    assert len(found) == max(map(len, VALUES.values()))


def test_each_two_of_method_dimension_and_dtype_are_run_together():
    found = run(paired=True)
    for name, values in VALUES.items():
        assert {each[name] for each in found} == {*values}
    for pair in itertools.combinations([name for name in VALUES if name in COMBINED], 2):
        met = {tuple(each[name] for name in pair) for each in found}
        assert met == {*itertools.product(*(VALUES[name] for name in pair))}
    assert len(found) <= 2 * len(VALUES["way"]) + 1


@pytest.mark.parametrize("paired", [False, True])
def test_a_test_without_parameters_is_run(paired):
    """It has no value that another case could have."""
    assert not repeated([SimpleNamespace()], paired=paired)
