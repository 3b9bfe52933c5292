"""Text of users: what is a number is a condition, and no definition changes the code around it."""

import numpy as np
import pytest

import clfrnn
from clfrnn import clouds

N, RADIUS = 60, 0.4
POINTS = clouds.uniform(N, 3, seed=1)
WEIGHT = np.where(np.arange(N) % 3 == 0, 0, 0.25).astype(np.float32)


@pytest.fixture
def index(session, method):
    name, options = method
    return clfrnn.build_index(POINTS, RADIUS, method=name, session=session, **options)


def counts(index, expression, preamble="", **values):
    return index.count(where=clfrnn.Condition(expression, preamble, **values)).get().tolist()


@pytest.fixture(params=["brute_force", "strips", "fenns", "aabb_tree"])
def method(request):
    return request.param, {}


@pytest.mark.parametrize("expression", ["w[j]", "-w[j]", "w[j] && 1", "!!w[j]", "w[j] * 0.5f", "1 ? w[j] : 0.0f"])
def test_a_number_is_true_where_it_is_not_zero(index, expression):
    assert counts(index, expression, w=WEIGHT) == counts(index, "w[j] != 0", w=WEIGHT)


@pytest.mark.parametrize(
    "expression", ["0.5f", "r2 - d2 + 1", "-1e-30f", "NAN", "INFINITY", "0.25", "2147483648u", "1UL << 40"]
)
def test_what_is_not_zero_holds_for_every_pair(index, expression):
    everything = index.count().get().tolist()
    assert sum(everything) > 0
    assert counts(index, expression) == everything


@pytest.mark.parametrize("expression", ["0.0f", "-0.0f", "0", "0ul", "d2 * 0"])
def test_zero_holds_for_no_pair(index, expression):
    assert counts(index, expression) == [0] * N


def test_numbers_in_batches(session):
    batch = np.arange(N) % 2
    index = clfrnn.build_index(POINTS, RADIUS, method="brute_force", batch=batch, session=session)

    assert counts(index, "w[j]", w=WEIGHT) == counts(index, "w[j] != 0", w=WEIGHT)


def test_what_is_no_number_is_shown_with_its_line(session):
    index = clfrnn.build_index(POINTS, RADIUS, method="brute_force", session=session)
    for expression in ("\ndx", "\nw[j] + nothing"):
        with pytest.raises(clfrnn.KernelBuildError, match="where_expression, line 2: |names no line"):
            counts(index, expression, w=WEIGHT)


def test_macros_of_a_condition_end_behind_it(session):
    """They changed the function of a visit, and the code of the library."""
    index = clfrnn.build_index(POINTS, RADIUS, method="brute_force", session=session)
    condition = clfrnn.Condition(
        "kind[j] == ONE", "#define ONE 1\n#define n 7\n#define out kind\n#define FACTOR 3", kind=np.arange(N) % 2
    )
    function = clfrnn.NeighborFunction(
        preamble="#ifndef FACTOR\n#define FACTOR 1\n#endif",
        arguments="global int *out",
        state="int n = 0;",
        per_neighbor="n += FACTOR;",
        finish="out[i] = n;",
    )
    out = index.zeros(N, "int32")

    index.visit(function, where=condition, out=out)

    assert out.get().tolist() == index.count(where=condition).get().tolist()
    assert 0 < out.get().sum() < index.count().get().sum()


def test_words_of_the_language_are_not_defined(session):
    """A kernel whose `if` was `while` ran for ever."""
    for line in (
        "#define if while",
        "#define long int",
        "#define float half",
        "#define real double",
        "#undef INFINITY",
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=f"^preamble: line 1: {line[:7].strip()} of "):
            clfrnn.Condition("1", line)
