"""Conditions: what is no expression is refused with its line, and values by their names."""

import re

import numpy as np
import pyopencl.array as cla
import pytest

import clfrnn
from clfrnn.functions import NeighborFunction
from clfrnn.points.conditions import bind_condition


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "expected an expression, got ''"),
        ("  // nothing", "expected an expression"),
        ("d2 > 1;", "line 1: ';'"),
        ("d2 > 1\n  ; d2 < 2", "line 2: ';'"),
        ("{ d2 > 1 }", "line 1: '{'"),
        ("({ int a = 1; a; })", "line 1: '{'"),
        ("d2 = 1", "line 1: '=' assigns"),
        ("(kind[i]) = 1", "line 1: '=' assigns"),
        ("kind[j] += 1", "line 1: '+=' assigns"),
        ("kind[j]\n -= 1", "line 2: '-=' assigns"),
        ("kind[j] <<= 1", "line 1: '<<=' assigns"),
        ("kind[j] >>=1", "line 1: '>>=' assigns"),
        ("kind[j] |= 1", "line 1: '|=' assigns"),
        ("kind[j] ^=1", "line 1: '^=' assigns"),
        ("kind[j] %=2", "line 1: '%=' assigns"),
        ("kind[j]=1", "line 1: '=' assigns"),
        ("kind[j]=-1", "line 1: '=' assigns"),
        ("kind[j]++", "line 1: '++' assigns"),
        ("--kind[j] > 0", "line 1: '--' assigns"),
        ("+\\\n+kind[j]", "line 2: '++' assigns"),
        ("return d2 > 1", "line 1: return"),
        ("goto end", "line 1: goto"),
        ("if (d2 > 1) 1", "line 1: if"),
        ("for (;;) 1", "line 1: for"),
        ("d2 > 1 ? break : 1", "line 1: break"),
        ("barrier(CLK_LOCAL_MEM_FENCE)", "line 1: barrier"),
        ("work_group_all(d2 > 1)", "line 1: work_group_all"),
        ("#define A 1\nA", "line 1: '#'"),
        ("(d2 > 1", "line 1: '(' that is never closed"),
        ("d2 > 1) || (1", "line 1: ')' without its '('"),
        ("kind[i)]", "line 1: ')' without its"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_line(text, found):
    with pytest.raises(
        clfrnn.InvalidInputError, match=f"^expression: {re.escape(found)}.*; a condition is one expression"
    ):
        clfrnn.Condition(text)


def test_a_comment_that_never_ends():
    with pytest.raises(clfrnn.InvalidInputError, match="^expression: line 1: a comment that never ends; .*close in it"):
        clfrnn.Condition("d2 > 1 /* open")


def test_macros_and_preambles_are_read_as_well():
    with pytest.raises(clfrnn.InvalidInputError, match=r"line 1: return \(by way of the macro STOP\)"):
        clfrnn.Condition("STOP", "#define STOP return 1")
    with pytest.raises(clfrnn.InvalidInputError, match="^preamble: line 1: barrier"):
        clfrnn.Condition("1", "void f() { barrier(0); }")
    clfrnn.Condition("close(d2)", "int close(real d) { if (d > 1) return 0; return 1; }")


@pytest.mark.parametrize(
    "text",
    [
        "d2 == 1",
        "d2!=1 && d2<=2 && d2>=3",
        "i<j",
        "i - -j > 0",
        "i + +j > 0",
        "(i << 2) >= 4 && i >> 1 <= j",
        "i==j?1:d2<=r2",
        "a[b[i]] && !a[j]",
        "max(h[i], h[j]) // of both",
        "(d2 > 1, i != j)",
        "i\n!=\nj",
        "'=' != '+'",
        "1e-3f < d2 && d2 < 1.5e+3f",
    ],
)
def test_expressions_are_taken(text):
    assert clfrnn.Condition(text).expression == text


@pytest.mark.parametrize(
    "name", ["i", "j", "d2", "dx", "shift", "r2", "reach2", "real", "real_vec", "frnn_a", "FRNN_B"]
)
def test_names_of_the_library_are_refused(name):
    with pytest.raises(clfrnn.InvalidInputError, match=f"where: '{name}' is a name of the library's"):
        clfrnn.Condition("1", **{name: 1})


@pytest.mark.parametrize("name", ["queries", "radius", "include_self", "function", "where", "self"])
def test_keywords_are_refused(name):
    with pytest.raises(clfrnn.InvalidInputError, match=f"where: '{name}' is a keyword"):
        clfrnn.Condition("1", **{name: 1})


@pytest.mark.parametrize("name", ["int", "global", "__kernel", "float4", "half", "sigma²", "größe", "unsigned"])
def test_words_that_cannot_be_names_are_refused(name):
    with pytest.raises(clfrnn.InvalidInputError, match="no name for a value in OpenCL C"):
        clfrnn.Condition("1", **{name: 1})


def test_functions_must_not_have_an_argument_with_the_name_of_the_keyword():
    with pytest.raises(clfrnn.InvalidInputError, match="'where' is a keyword of visit"):
        NeighborFunction(arguments="const int where")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("abc", "expected a number or an array of numbers, got str"),
        (None, "expected a number or an array of numbers, got NoneType"),
        (1j, "expected a number or an array of numbers, got complex"),
        ([[1], [2, 3]], "expected a number or an array"),
        (np.zeros(3, "complex64"), "of dtype complex64"),
        (np.zeros(3, "longdouble"), "of dtype "),
        (np.zeros(3, "datetime64[s]"), "of dtype datetime64"),
        (2**31, "expected an int of 32 bits, got 2147483648"),
        (np.int64(-(2**40)), "expected an int of 32 bits"),
        (np.ma.masked_array([1, 2], [0, 1]), "a masked array"),
    ],
)
def test_values_that_are_no_numbers_are_refused(value, found):
    with pytest.raises(clfrnn.InvalidInputError, match=f"^kind: .*{found}"):
        clfrnn.Condition("1", kind=value)


def test_code_must_be_text():
    with pytest.raises(clfrnn.InvalidInputError, match="expression: expected OpenCL C in a str, got function"):
        clfrnn.Condition(lambda i, j: i < j)
    with pytest.raises(clfrnn.InvalidInputError, match="preamble: expected OpenCL C in a str, got int"):
        clfrnn.Condition("1", 2)


def test_values_become_arguments_by_their_types(session):
    values = {
        "whole": 3,
        "flag": True,
        "number": 0.1,
        "scalar": np.float32(2),
        "nothing": np.array(7, np.int64),
        "floats": [0.5, 1.5],
        "ints": [1, 2],
        "longs": [1, 2**40],
        "matrix": np.zeros((2, 3), np.uint8),
        "bools": np.array([True]),
        "halves": np.float16([1]),
        "swapped": np.array([1, 2], ">i4"),
        "strided": np.arange(10, dtype=np.int16)[::2],
        "empty": np.zeros(0, np.int32),
        "device": cla.zeros(session.queue, (4, 2), np.float32),
    }
    condition = clfrnn.Condition("1", **values)

    bound = bind_condition(session, condition, np.dtype(np.float32), m=1, n=1)

    types = {each.name: f"{each.ctype}{' *' * each.buffer}" for each in bound.code.arguments}
    assert types == {
        "whole": "int",
        "flag": "int",
        "number": "real",
        "scalar": "real",
        "nothing": "int",
        "floats": "real *",
        "ints": "int *",
        "longs": "long *",
        "matrix": "uchar *",
        "bools": "uchar *",
        "halves": "float *",
        "swapped": "int *",
        "strided": "short *",
        "empty": "int *",
        "device": "float *",
    }
    given = dict(zip(values, bound.values, strict=True))
    assert given["number"] == np.float32(0.1)
    assert given["floats"].get().tolist() == [0.5, 1.5]
    assert given["swapped"].get().tolist() == [1, 2]
    assert given["strided"].get().tolist() == [0, 2, 4, 6, 8]
    assert given["device"] is values["device"]
    again = bind_condition(session, condition, np.dtype(np.float32), m=1, n=1)
    assert all(one is other for one, other in zip(bound.values, again.values, strict=True))
    assert repr(clfrnn.Condition("a > b[i]", "#define X", a=1, b=[1, 2])) == (
        "Condition('a > b[i]', preamble='#define X', a=1, b=<int32 (2,)>)"
    )


@pytest.fixture
def index(session):
    return clfrnn.build_index(np.float32([[0, 0], [1, 0], [5, 5]]), 2.0, session=session)


def test_calls_take_conditions_alone(index):
    for call in (index.count, index.nearest, index.query):
        with pytest.raises(clfrnn.InvalidInputError, match=r"^where: expected a clfrnn\.Condition, got str; wrap"):
            call(where="i < j")
    with pytest.raises(clfrnn.InvalidInputError, match="^where: expected"):
        clfrnn.search([[0.0, 0.0]], 1.0, where=True, session=index.session)


def test_numbers_beyond_the_dtype_of_points(index):
    assert index.count(where=clfrnn.Condition("d2 < a", a=np.inf)).get().tolist() == [1, 1, 0]
    with pytest.raises(clfrnn.InvalidInputError, match="^a: expected numbers within float32, .* got 1e\\+300"):
        index.count(where=clfrnn.Condition("d2 < a", a=1e300))


def test_views_on_the_device(index):
    whole = cla.to_device(index.session.queue, np.int32([9, 0, 1, 0, 7, 8]))
    assert index.count(where=clfrnn.Condition("kind[j]", kind=whole[1:4])).get().tolist() == [1, 0, 0]
    with pytest.raises(clfrnn.InvalidInputError, match="^kind: expected a contiguous array"):
        index.count(where=clfrnn.Condition("kind[j]", kind=whole[::2]))


def test_errors_of_the_compiler_show_the_line_and_name_arrays_of_other_lengths(index):
    condition = clfrnn.Condition("1 &&\n  kinds[i] > table[0]", kind=[0, 0, 0], table=np.zeros((4, 4)))
    with pytest.raises(clfrnn.KernelBuildError) as caught:
        index.count(where=condition)

    text = str(caught.value)
    assert re.match("where: .* refused the code of this Condition", text)
    assert "where_expression, line 2:" in text
    assert "\n      kinds[i] > table[0]" in text
    assert "Not of the length of the 3 points, should that be meant: table (4, 4)." in text
    assert "kind (3,)" not in text


def test_errors_of_a_preamble_and_of_a_function_beside_a_condition(index):
    with pytest.raises(clfrnn.KernelBuildError, match="where_preamble, line 2:"):
        index.count(where=clfrnn.Condition("f(j)", "// first\nint f(int a) { return b; }"))
    with pytest.raises(clfrnn.KernelBuildError, match="^function: .*\n?per_neighbor, line 1:"):
        index.visit(NeighborFunction(per_neighbor="int a = b;"), where=clfrnn.Condition("i < j"))


def test_a_condition_and_a_function_do_not_see_each_other(index):
    """Equal names of values, states and functions mean different things."""
    out = cla.zeros(index.session.queue, 3, np.int32)
    function = NeighborFunction(
        arguments="const int kind, global int *out",
        state="int limit = 0;",
        per_neighbor="limit += kind;",
        finish="out[i] = limit;",
    )

    index.visit(function, kind=5, out=out, where=clfrnn.Condition("kind[j] < limit", kind=[0, 2, 0], limit=1))

    assert out.get().tolist() == [0, 5, 0]


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("kind[i] != mol[j] && mol[i] > 0", "Pass mol to Condition, as in mol=..."),
        ("kind[i] and kind[j]", "Write && in place of 'and'."),
        ("kind[i][j] == 0", "Arrays are flat"),
    ],
)
def test_a_refused_text_says_what_it_asks_for(session, expression, hint):
    condition = clfrnn.Condition(expression, kind=np.zeros(3, np.int32))
    with pytest.raises(clfrnn.KernelBuildError) as caught:
        clfrnn.build_index(np.zeros((3, 3), np.float32), 1, session=session).count(where=condition)
    assert hint in str(caught.value)
    assert str(caught.value).count("where_expression, line 1") == 1
