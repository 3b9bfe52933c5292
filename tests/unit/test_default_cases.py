"""Which cases of a test are run without ``--all``."""

import itertools
from types import SimpleNamespace

from conftest import COMBINED, repeated

VALUES = {"way": "abcde", "dim": (2, 3), "dtype": ("single", "double"), "cloud": range(9), "far": (False, True)}


def test_every_value_and_every_combination_of_method_dimension_and_dtype_is_run():
    cases = [
        SimpleNamespace(callspec=SimpleNamespace(params=dict(zip(VALUES, values, strict=True))))
        for values in itertools.product(*VALUES.values())
    ]
    left = list(map(id, repeated(cases, combined=True)))
    run = [case.callspec.params for case in cases if id(case) not in left]
    for name, values in VALUES.items():
        assert {each[name] for each in run} == {*values}
    combined = [name for name in VALUES if name in COMBINED]
    met = {tuple(each[name] for name in combined) for each in run}
    assert met == {*itertools.product(*(VALUES[name] for name in combined))}
    assert len(run) <= len(met) + sum(map(len, VALUES.values()))
    # Outside of the core, each value is enough.
    left = list(map(id, repeated(cases, combined=False)))
    run = [case.callspec.params for case in cases if id(case) not in left]
    for name, values in VALUES.items():
        assert {each[name] for each in run} == {*values}
    assert len(run) <= sum(map(len, VALUES.values()))


def test_a_test_without_parameters_is_run():
    assert not list(repeated([SimpleNamespace()], combined=True))
