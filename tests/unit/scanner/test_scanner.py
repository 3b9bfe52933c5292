"""Scanner: what a piece of user code may not contain is refused by name and line, and nothing else is."""

import pytest

import clfrnn
from clfrnn.scanner import check_leaving, check_piece, check_preamble, forbidden_macros, tokens


def refuse(match, **pieces):
    with pytest.raises(clfrnn.InvalidInputError, match=match):
        clfrnn.NeighborFunction(**pieces)


@pytest.mark.parametrize("piece", ["state", "per_neighbor", "finish"])
@pytest.mark.parametrize(
    ("code", "line", "found"),
    [
        ("return;", 1, "return"),
        ("float a = 0;\nif (a > 0)\n    return;", 3, "return"),
        ("goto out;", 1, "goto"),
        ("int a = 0;\nagain: a++;", 2, "the label again"),
        ("if (1) { } out: ;", 1, "the label out"),
        ("switch (i) { case 1: out: break; }", 1, "the label out"),
        ("do again: ; while (0);", 1, "the label again"),
        ("barrier(CLK_LOCAL_MEM_FENCE);", 1, "barrier"),
        ("\n\nwork_group_barrier(0);", 3, "work_group_barrier"),
        ("sub_group_barrier(0);", 1, "sub_group_barrier"),
        ("float s = work_group_reduce_add(d2);", 1, "work_group_reduce_add"),
        ("float s = intel_sub_group_shuffle(d2, 0);", 1, "intel_sub_group_shuffle"),
        ("wait_group_events(1, &e);", 1, "wait_group_events"),
        ("async_work_group_copy(a, b, 1, 0);", 1, "async_work_group_copy"),
        ('asm("bar.sync 0;");', 1, "asm"),
        ('__asm__ volatile ("bar.sync 0;");', 1, "__asm__"),
        ("/* one\n two */ return;", 2, "return"),
        ("#define STOP \\\n return\nSTOP;", 2, "return"),
    ],
)
def test_what_would_break_the_walk_is_refused_by_name(piece, code, line, found):
    refuse(rf"^{piece}: line {line}: {found}; .* use if, in per_neighbor also break and continue, ", **{piece: code})


@pytest.mark.parametrize(
    ("preamble", "word"),
    [
        ("#define DONE return", "return"),
        ("#define DONE(x) { if (x) return; }", "return"),
        ("#define INNER return\n#define DONE INNER", "return"),
        ("#define DONE INNER\n#define INNER goto out", "goto"),
        ("#define DONE \\\n    return", "return"),
        ("  #  define DONE /* soon */ return", "return"),
        ("#define DONE /* so\non */ return", "return"),
        ("#define DONE // no\n#undef DONE\n#define DONE return", "return"),
        ("#define DONE here:", "the label here"),
        ("#define DONE(x) x: ;", "the label x"),
    ],
)
def test_macros_of_the_preamble_do_not_hide_it(preamble, word):
    refuse(
        rf"^per_neighbor: line 2: {word} \(by way of the macro DONE\); ", preamble=preamble, per_neighbor="\nDONE(1);"
    )


@pytest.mark.parametrize("piece", ["state", "finish"])
@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("break;", 1, "break"),
        ("continue;", 1, "continue"),
        ("if (i > 3)\n    break;", 2, "break"),
        ("{ { if (i) a(); else { continue; } } }", 1, "continue"),
        ("for (int k = 0; k < 3; ++k) { break; }\nbreak;", 2, "break"),
        ("for (;;) if (i) break; else break;\nbreak;", 2, "break"),
        ("do ++k; while (k < 3);\nif (k) continue;", 2, "continue"),
        ("do { continue; } while (0); break;", 1, "break"),
        ("while (k--) ;\nbreak;", 2, "break"),
        ("switch (i) { case 1: break;\n default: continue; }", 2, "continue"),
        ("float w[2] = {0, 1};\nint k = i ? 1 : 2; break;", 2, "break"),
        ("#define K 3\nif (i == K) break;", 2, "break"),
    ],
)
def test_what_would_leave_the_piece_is_refused(piece, code, line, word):
    refuse(rf"^{piece}: line {line}: {word}; it would leave the piece, .*: use if$", **{piece: code})
    clfrnn.NeighborFunction(per_neighbor=code)


@pytest.mark.parametrize(
    ("preamble", "word"),
    [
        ("#define DONE break", "break"),
        ("#define DONE(x) { if (x) continue; }", "continue"),
        ("#define INNER break\n#define DONE INNER", "break"),
        ("#define DONE for (;;) { break; } break", "break"),
        ("#define DONE(x) DONE(x); break", "break"),
    ],
)
def test_macros_do_not_hide_what_would_leave_the_piece(preamble, word):
    message = rf": line 2: {word} \(by way of the macro DONE\); it would leave the piece"
    refuse(f"^state{message}", preamble=preamble, state="\nDONE(1);")
    refuse(f"^finish{message}", state=preamble, finish="\nDONE(1);")
    clfrnn.NeighborFunction(preamble=preamble, per_neighbor="DONE(1);", finish="for (;;) { DONE(1); }")


@pytest.mark.parametrize(
    "code",
    [
        "for (int k = 0; k < 3; ++k) { if (k == 1) continue; else if (k) { break; } }",
        "for (int k = 0; k < 3; ++k) if (k) a(); else break;",
        "for (;;) if (i) x = i ? 1 : 2; else if (k) continue; else break;",
        "for (;;) for (;;) break;",
        "while (1) { { break; } }",
        "if (i) do break; while (0); else a();",
        "do if (i) continue; else break; while (0);",
        "do { switch (i) { case 1: continue; } } while (0);",
        "switch (i) { case A ? 2 : 3: for (;;) continue; case 'x': break; default: if (i) break; }",
        "switch (i) case 1: break;",
        "switch (i) { case 1: { break; } default: }",
        "__attribute__((opencl_unroll_hint(2))) for (;;) { break; }",
        '_Pragma("unroll") for (int k = 0; k < 3; ++k) if (k) break;',
        '_Pragma("unroll") { for (;;) { break; } } for (;;) break;',
        "#define f(x) break\nint f = 3; f += 1;",
        "#pragma unroll\nfor (;;) {\n#if A\n break;\n#else\n continue;\n#endif\n}",
        "struct { int low : 4; } b; int w[] = {1, 2}; for (;;) break;",
        "EACH(k) break;",
        "EACH(k) { UNLESS(k > 3) a(); else break; }",
        "CLEAR(w); BOTH(k, l) { SKIP; } FIND(w);",
        "#define MANY(k) while (k--)\nMANY(k) { if (k) continue; break; }",
        "BEGIN(3) break; END",
        "a(); // break;\n/* continue; */",
    ],
)
def test_loops_of_a_piece_may_be_left(code):
    preamble = """
        #define EACH(k) for (int k = 0; k < 3; ++k)
        #define BOTH(k, l) EACH(k) EACH(l)
        #define UNLESS(x) if (!(x))
        #define SKIP continue
        #define CLEAR(w) do { w = 0; } while (0)
        #define FIND(w) do { EACH(k) if (w) break; } while (0)
        #define BEGIN(n) while (n) {
        #define END }
    """
    assert check_leaving(code, preamble) is None


@pytest.mark.parametrize("word", ["barrier", "work_group_barrier", "sub_group_reduce_add", "async_work_group_copy"])
def test_a_preamble_synchronises_nothing(word):
    refuse(rf"^preamble: line 2: {word}; not all work-items would reach it", preamble=f"void f(void)\n{{ {word}(0); }}")


@pytest.mark.parametrize(
    "code",
    [
        "",
        "// return; goto out; barrier(0);",
        "/* return\n goto */",
        "// two lines \\\n return;",
        "int a \\\n = 3; \\",
        "#define LONG(x) \\\n ((x) + \\\n 1) // one\nint a = LONG(3);",
        "#define TEXT(x) #x\nint a = 1 < 2 ? 3 : 4; a %= 2;",
        "if (i) a();" + 2000 * "\nelse if (j) b();",
        "int a = 1;" + 20_000 * "\n++a;",
        'constant char *text = "return; goto"; char c = \'"\'; int returned = 0;',
        "int a = d2 > 0 ? i : j;",
        "int a = d2 > 0 ? i ? 1 : 2 : j ? 3 : 4;",
        "int a = (i > 0) ? (j) : i;",
        "int a = i > 0\n ? 1\n : 2;",
        "switch (i) { case 1: break; case 'x': { break; } case (A ? 2 : 3): break; default: break; }",
        "switch (i) { case FIRST: break; default : continue; }",
        "struct { int low : 4; int high : 4; } bits;",
        "mem_fence(CLK_GLOBAL_MEM_FENCE);",
        "const size_t k = get_sub_group_size() + get_local_id(0);",
        "float w[3] = {0, 0, 0}; for (int k = 0; k < 3; ++k) { if (k == 1) continue; w[k] = d2; }",
        "while (0) break;",
        "#if 0\n#endif",
        "#ifdef A\nif (i) {\n#elif B\nif (j) {\n#else\n{\n#endif\n}",
        "float a = 1e-3f, b = 0x1p-2f, c = .5f;",
        "goto_work(); my_return = a.barrier_count;",
    ],
)
def test_what_does_no_harm_is_let_through(code):
    assert check_piece(code, {}) is None
    clfrnn.NeighborFunction(per_neighbor=code)


def test_functions_in_the_preamble_may_return():
    preamble = "float half_of(float x)\n{\n    return x / 2;\n}\n#define TWICE(x) ((x) * 2)\n"

    assert check_preamble(preamble) is None
    assert forbidden_macros(preamble) == {}
    clfrnn.NeighborFunction(preamble=preamble, per_neighbor="float a = half_of(TWICE(d2));")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if (d2 > 0) {\n a();", r"line 1: '\{' that is never closed"),
        ("a(b[2);", r"line 1: '\)' without its '\('"),
        ("}\n{", r"line 1: '\}' without its '\{'"),
        ("a();\n}} while (0);", r"line 2: '\}' without its '\{'"),
        ("int a;\n/* no end", "line 2: a comment that never ends"),
        ("#if A\n{\n#else\n}\n#endif", r"line 2: '\{' that is never closed"),
    ],
)
@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_what_would_swallow_the_code_around_it_is_refused(piece, code, found):
    refuse(rf"^{piece}: {found}; each piece stands for itself: close in it what it opens$", **{piece: code})


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("int a; ret\\\nurn;", "line 1: a backslash at its end, which joins what stands on both sides"),
        ("int a;\nret\\\r\n\\\nurn;", "line 2: a backslash"),
        ("#define STOP ret\\\nurn\n", "line 1: a backslash"),
        ("{ /\\\n/ }\n}", "line 1: a backslash"),
        ("/\\\n* { */", "line 1: a backslash"),
        ("int a; // one \\ \t", "line 1: a backslash"),
        ("int a;\n// one \\ \nint b;", "line 2: a backslash"),
        ("int a; // what??/\nreturn;", r"line 1: the trigraph '\?\?/'; write the character that it stands for"),
        ("\n%:define STOP return", "line 2: the digraph '%:'; write the character that it stands for"),
        ("if (i) <% a(); %>", "line 1: the digraph '<%'"),
        ("#define PASTE(a, b) a ## b", "line 1: ##, which pastes words together; write the whole word"),
        ("#define PASTE(a, b) a \\\n##b\n", "line 2: ##, which"),
        ("int a = " + 300 * "(" + "1" + 300 * ")" + ";", "line 1: brackets nested more than 200 deep; split the code"),
        (2000 * "{" + 2000 * "}", "line 1: brackets nested more than 200 deep; split the code into functions"),
    ],
)
@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_what_compilers_read_otherwise_is_refused(piece, code, found):
    refuse(rf"^{piece}: {found}", **{piece: code})


BOMB = "\n".join(["#define B0 x x x x x x x x", *(f"#define B{k} " + 8 * f"B{k - 1} " for k in range(1, 12))])
EMPTY = BOMB.replace("x x x x x x x x", "")
CHAIN = "\n".join(["#define C0 1", *(f"#define C{k} C{k - 1}" for k in range(1, 3000))])


@pytest.mark.parametrize(
    ("preamble", "code", "found"),
    [
        (
            "",
            "\n" + 150 * "{" + 150 * "}",
            "line 2: statements nested more than 100 deep; split the code",
        ),
        (
            "",
            "\n" + 101 * "if (i) ",
            "line 2: statements nested more than 100 deep; split",
        ),
        ("", 101 * "for (;;) ", "line 1: statements nested more than 100 deep"),
        ("#define NOT !!!!!!!!!!", "a = " + 101 * "NOT " + "1;", "line 1: more than 1,000 operators"),
        (BOMB, "\nB11;", "line 2: the macro B11, which expands to more than 20,000 tokens; split the code"),
        (EMPTY, "B11;", "line 1: the macro B11, which expands to more than 20,000 tokens"),
        (BOMB.replace("x x", "(x) x"), "B11(1);", "line 1: the macro B11, which expands to more than 20,000 tokens"),
        ("", BOMB + "\nB11;", "line 13: the macro B11, which"),
        (CHAIN, "C2999;", "line 1: the macro C2999, which expands to more than 100 macros in turn; split"),
        ("#define COLON :", "here COLON ;", "line 1: the label here; "),
        ("", "#define LABEL here: ;\nLABEL", "line 2: the label here; "),
        ("", "#define LABEL (0); here: ;\na = LABEL", "line 2: the label here; "),
        ("", "#define LABEL(x) x: ;\nLABEL(here)", "line 2: the label here; "),
        ("#define SAME(x) x", "SAME(here: ;)", "line 1: the label here; "),
    ],
)
@pytest.mark.parametrize("piece", ["state", "per_neighbor", "finish"])
def test_what_macros_and_nests_make_of_it_is_refused(piece, preamble, code, found):
    refuse(rf"^{piece}: {found}", preamble=preamble, **{piece: code})


@pytest.mark.parametrize(
    "chain",
    [
        "a = " + 1001 * "!" + "1;",
        "a = " + 1001 * "(int)" + "1;",
        "a = " + 1001 * "i < 1 || " + "1;",
        "a = " + 1001 * "i + " + "1;",
        "a = " + 501 * "i ? 1 : " + "1;",
        "a = " + 501 * "i ? " + "1" + 501 * " : 1" + ";",
        "a = (" + 1001 * "i, " + "1);",
        1001 * "a = " + "1;",
        "a = " + 1001 * "sizeof " + "1;",
        "a = " + 10 * ("(" + 101 * "i + ") + "1" + 10 * ")" + ";",
        "a = " + 1001 * "(int){1} + " + "1;",
        "int a" + 1001 * "[1]" + ";",
        "if (i) a();" + 3003 * " else if (j) b();",
        "if (i) { a(); }" + 3003 * " else { b(); }",
        "#if " + 1001 * "!" + "1\n#endif",
        "#if " + 1001 * "0 || " + "1\n#endif",
    ],
)
@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_what_ends_compilers_is_refused(piece, chain):
    """They follow it by calls inside calls, and the process ends where memory for these does."""
    refuse(
        f"^{piece}: line 1: more than 1,000 operators or statements in a row or inside each other; split the code",
        **{piece: chain},
    )


def test_long_code_of_short_statements_is_taken_and_too_long_code_is_not():
    clfrnn.NeighborFunction(per_neighbor=3000 * "if (i < 3 || j > 4) a += 2 * b[j]; else { a = -1; }\n")
    clfrnn.NeighborFunction(preamble="constant int table[] = {" + 9000 * "1 + 2, " + "3};")
    clfrnn.Condition(" || ".join(f"kind[j] == {k}" for k in range(900)), kind=[0])

    refuse("^finish: expected at most 250,000 characters of code, got 250,001; pass numbers", finish=250_001 * " ")
    refuse("^state: line 201: #if inside more than 200 others", state=300 * "#if 1\n" + 300 * "#endif\n")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("long", "a word of OpenCL C"),
        ("if", "a word of OpenCL C"),
        ("float", "a word of OpenCL C"),
        ("__global", "a word of OpenCL C"),
        ("real", "a name of the library's"),
        ("j", "a name of the library's"),
        ("reach2", "a name of the library's"),
        ("frnn_n", "a name of the library's"),
        ("FRNN_LEAST_REACH", "a name of the library's"),
        ("fmax", "a name that comes with OpenCL C"),
        ("isfinite", "a name that comes with OpenCL C"),
        ("get_global_id", "a name that comes with OpenCL C"),
        ("INFINITY", "a name that comes with OpenCL C"),
        ("CLK_LOCAL_MEM_FENCE", "a name that comes with OpenCL C"),
        ("s0", "a name that comes with OpenCL C"),
        ("reqd_work_group_size", "a name that comes with OpenCL C"),
        ("__OPENCL_VERSION__", "a name of the compiler's"),
        ("_cl_max", "a name of the compiler's"),
    ],
)
@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_macros_with_names_that_the_library_uses_are_refused(piece, word, why):
    refuse(rf"^{piece}: line 2: #define of {word}, {why}; choose another name", **{piece: f"\n#define {word} 1"})
    refuse(rf"^{piece}: line 1: #undef of {word}, {why}", **{piece: f"#undef {word}"})
    refuse(rf"^{piece}: line 1: #define of {word}, {why}", **{piece: f" #  define {word}(x) \\\n x"})


@pytest.mark.parametrize("name", ["PI", "M_PI", "kind", "get_kind", "cutoff", "ON", "OFF", "_eps", "x", "i2", "real3"])
def test_other_macros_are_taken(name):
    clfrnn.NeighborFunction(preamble=f"#define {name} 1")
    clfrnn.Condition("1", f"#ifndef {name}\n#define {name}(a) ((a) + 1)\n#endif")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("real fmax(real a, real b) { return a; }", "fmax"),
        ("__attribute__((overloadable)) float sqrt(float x) { return 0; }", "sqrt"),
        ("typedef double real;", "real"),
        ("typedef struct { int a; } real_vec;", "real_vec"),
        ("constant int a = 1, i = 2;", "i"),
        ("int d2(int a);", "d2"),
        ("constant float max[2] = {1, 2};", "max"),
        ("#define MAKE(name) int name(int a) { return a; }\nMAKE(isnan)", "isnan"),
    ],
)
def test_declarations_with_names_that_the_library_uses_are_refused(code, name):
    refuse(rf"^preamble: line \d: declares {name}, a name .*; choose another name$", preamble=code)


def test_declarations_inside_functions_and_values_are_free():
    clfrnn.NeighborFunction(
        preamble="constant float root = sqrt(2.0f), other = 1;\nint f(int i, int j) { int d2 = i; real dx = j; }"
    )


@pytest.mark.parametrize("name", ["real", "real_vec"])
def test_state_hides_no_name_that_the_walk_uses_behind_it(name):
    """`typedef double real;` compiled, and changed in which type distances were computed."""
    refuse(rf"^state: line 2: declares {name}, a name of the library's", state=f"int a = 1;\nint b = 2, {name} = 3;")
    clfrnn.NeighborFunction(state=f"int a = 1; {{ int {name} = 2; a += {name}; }} for (int {name} = 0; ;) break;")
    refuse(r"^state: line 1: declares real, ", state="typedef double real;")


@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_names_of_the_library_are_out_of_reach(piece):
    refuse(rf"^{piece}: line 2: frnn_t, a name of the library's", **{piece: "\nint a = sizeof(frnn_t);"})


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('#include "a.h"', "#include, which compilers replace by text that nobody has checked; paste the text"),
        ("#import <a.h>", "#import, which"),
        ("#pragma OPENCL FP_CONTRACT ON", "#pragma: products and sums are rounded each by itself; .* call fma"),
        ("#pragma clang fp contract(fast)", "#pragma: it may change the code of the library around it; leave it out"),
        ('_Pragma("OPENCL FP_CONTRACT ON")', "_Pragma: products and sums"),
        ('_Pragma ( "float_control(precise, off)" )', "_Pragma: it may change"),
        ("#define P _Pragma\nP(1)", "_Pragma: it may change"),
        ("int größe = 1;", "'größe'|'ö'"),
        ("int a\u00a0= 1;", "'.xa0', which is no character of OpenCL C"),
        ("int a$b;", "'\\$', which is no character"),
        ("int a; \0 return;", "a NUL, at which compilers stop reading; delete it"),
        ("int a; // one\rreturn;", "a carriage return alone, which ends a line for some compilers"),
        ('constant char *a = "one;', '", a quotation mark that is never closed'),
        ("#if 0\n' /*\n#endif\nreturn; /* ' */", "', a quotation mark that is never closed"),
    ],
)
@pytest.mark.parametrize("piece", ["preamble", "state", "per_neighbor", "finish"])
def test_what_compilers_read_from_elsewhere_or_otherwise_is_refused(piece, code, found):
    refuse(rf"^{piece}: line \d: ({found})", **{piece: code})


def test_comments_may_have_any_letters():
    clfrnn.NeighborFunction(per_neighbor='int a = 1; // größe $ \u00a0\nconstant char *b = "grün";\r\n#pragma unroll\n')


def test_bombs_in_preambles_are_refused():
    refuse("^preamble: line 13: the macro B11, which expands to", preamble=BOMB + "\nvoid f(void) { B11; }")
    with pytest.raises(clfrnn.InvalidInputError, match="^expression: line 1: the macro B11, which expands to"):
        clfrnn.Condition("B11 > 0", BOMB)
    with pytest.raises(clfrnn.InvalidInputError, match="^expression: line 2: brackets nested more than 200 deep"):
        clfrnn.Condition("\n" + 300 * "(" + "1" + 300 * ")")
    with pytest.raises(clfrnn.InvalidInputError, match="^expression: line 1: more than 1,000 operators"):
        clfrnn.Condition(101 * "NOT " + "1", "#define NOT !!!!!!!!!!")
    with pytest.raises(clfrnn.InvalidInputError, match=r"^expression: line 1: '=' assigns \(by way of the macro EQ\)"):
        clfrnn.Condition("d2 EQ 1", "#define EQ =")
    with pytest.raises(clfrnn.InvalidInputError, match="^preamble: line 1: ##, which pastes"):
        clfrnn.Condition("1", "#define PASTE(a, b) a ## b")


@pytest.mark.parametrize("piece", ["preamble", "arguments", "state", "per_neighbor", "finish"])
def test_a_piece_is_text(piece):
    refuse(rf"^{piece}: expected OpenCL C in a str, got list", **{piece: ["a();"]})


def test_tokens_know_their_lines():
    found = list(tokens('a /* b\n */ c\n# define d(x) \\\n #x\n"e" 1.5e-3f'))

    assert [(token.text, token.line, token.is_name) for token in found] == [
        ("a", 1, True),
        ("c", 2, True),
        ("#", 3, False),
        ("define", 3, True),
        ("d", 3, True),
        ("(", 3, False),
        ("x", 3, True),
        (")", 3, False),
        ("#", 4, False),
        ("x", 4, True),
        ("1.5e-3f", 5, False),
    ]
    assert [token.directive for token in found] == [0, 0, *[1] * 8, 0]
