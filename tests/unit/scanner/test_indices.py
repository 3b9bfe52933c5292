"""Indices: which arrays code reads or writes at the number of the query or the neighbor itself."""

import pytest

import clfrnn
from clfrnn.functions import walk_function


def found(per_neighbor="", *, state="", finish="", preamble=""):
    function = clfrnn.NeighborFunction(
        arguments="global const int *a, global float *b, const int n",
        state=state,
        per_neighbor=per_neighbor,
        finish=finish,
        preamble=preamble,
    )
    return {
        f"{each.array}[{each.at}]" + f" * {each.times}" * (each.times > 1) for each in walk_function(function).indexed
    }


@pytest.mark.parametrize(
    ("code", "accesses"),
    [
        ("a[i];", {"a[i]"}),
        ("b[i] += a [ j ];", {"a[j]", "b[i]"}),
        ("a[(i)] + a[((j))];", {"a[i]", "a[j]"}),
        ("a[(int)i] + b[(size_t)(j)] + b[+i];", {"a[i]", "b[j]", "b[i]"}),
        ("(a)[i] + j[a] + (float)b[i];", {"a[i]", "a[j]", "b[i]"}),
        ("atomic_inc(&a[j]); n > a[i];", {"a[j]", "a[i]"}),
        ("a[a[j]] + b[a[i]];", {"a[j]", "a[i]"}),
        ("vload3(j, b) + vload4((i), a); vstore2(x, i, b);", {"b[j] * 3", "a[i] * 4", "b[i] * 2"}),
        ("if (a[j]) b[i] = 1; else b[j] = 2;", {"a[j]", "b[i]", "b[j]"}),
        ("a[2 * i] + a[j + 1] + a[-i] + a[i ? 1 : 0] + a[(uchar)j] + a[n] + *(a + j) + vload3(j, b + 1);", set()),
        ("x.a[i] + x->a[j] + f(a)[i];", set()),
        ("#define AT(k) a[k]\nAT(j) + AT(i);", {"a[i]", "a[j]"}),
        ("// a[i]\n/* a[j] */ 1;", set()),
    ],
)
def test_bare_indices_are_found(code, accesses):
    assert found(code) == accesses


def test_macros_of_the_preamble_are_looked_through():
    preamble = (
        "#define KIND(k) ARRAY[(k)]\n#define ARRAY a\n#define TWICE(x, y) ((x) + (y))\n#define ALL(...) f(__VA_ARGS__)"
    )

    assert found("ADD(KIND(i), b[j]);", preamble=preamble) == {"a[i]", "b[j]"}
    assert found("ALL(1, KIND(j));", preamble=preamble) == {"a[j]"}
    assert clfrnn.Condition("KIND(i) != KIND(j)", preamble, a=[1])._code.indexed == {("a", "i", 1), ("a", "j", 1)}


def test_conditions_multiply_arrays_and_declare_nothing():
    assert clfrnn.Condition("w * a[j] == n * a[i]", a=[1], w=2, n=1)._code.indexed == {("a", "i", 1), ("a", "j", 1)}


@pytest.mark.parametrize(
    ("code", "accesses"),
    [
        ("int i = 5; a[i];", set()),
        ("for (int j = 0; j < 3; ++j) a[j]; b[j];", {"b[j]"}),
        ("for (int j = 0; j < 3; ++j) { a[j]; } b[j];", {"b[j]"}),
        ("for (;;) for (int i = 0, j = 1;;) a[i] + a[j]; b[i];", {"b[i]"}),
        ("{ const int j = 2; a[j]; } b[j];", {"b[j]"}),
        ("int k = a[j], j = 2; b[j];", {"a[j]"}),
        ("global const int *a = f(j); a[i] + b[i];", {"b[i]"}),
        ("struct { int i; int a; } s; a[i];", {"a[i]"}),
        ("c * a[j]; c * j; b[j];", {"a[j]", "b[j]"}),
        ("uint2 *a = f(i); a[i]; my_t *b; b[i];", set()),
    ],
)
def test_names_that_the_code_declares_are_others(code, accesses):
    assert found(code) == accesses


def test_what_state_declares_hides_names_in_the_other_pieces():
    assert found("a[i] + b[j];", state="float b[3]; { int a[2]; }") == {"a[i]"}
    # The neighbor is declared inside of what state declares.
    assert found("a[j];", state="int c = 0, j = 0;") == {"a[j]"}
    assert found(state="for (int j = 0; j < 3; ++j) b[j] = 0; a[i];", finish="b[j] = a[i];") == {"a[i]"}
