"""Binding: the arguments of a NeighborFunction, by what is declared: taken, or refused before anything runs."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from pyopencl import cltypes

import clfrnn
from clfrnn.functions import Argument, walk_function

POINTS = np.float32([[0, 0, 0], [1, 0, 0], [0, 2, 0], [5, 5, 5]])


@pytest.fixture(scope="module")
def index(session):
    return clfrnn.build_index(POINTS, 1.5, method="brute_force", session=session)


def run(index, arguments, finish, **given):
    return index.visit(clfrnn.NeighborFunction(arguments=arguments, finish=finish), **given)


def refuse(index, match, arguments, **given):
    compiled = index.session.programs.compiled
    with pytest.raises(clfrnn.ArgumentError, match=match) as caught:
        run(index, arguments, "", **given)
    assert isinstance(caught.value, clfrnn.InvalidInputError)
    assert isinstance(caught.value, TypeError)
    assert index.session.programs.compiled == compiled


def zeros(index, shape=4, dtype=np.float32, queue=None):
    return cla.zeros(queue or index.session.queue, shape, dtype)


SCALARS = {
    "char": (np.int8, -128),
    "uchar": (np.uint8, 255),
    "short": (np.int16, -32768),
    "ushort": (np.uint16, 65535),
    "int": (np.int32, -(2**31)),
    "uint": (np.uint32, 2**32 - 1),
    "long": (np.int64, -(2**63)),
    "ulong": (np.uint64, 2**64 - 1),
    "float": (np.float32, 0.1),
}


def test_scalars_of_every_type(index):
    arguments = ", ".join(f"const {name} v_{name}, global {name} *o_{name}" for name in SCALARS)
    finish = " ".join(f"o_{name}[i] = v_{name};" for name in SCALARS)
    out = {f"o_{name}": zeros(index, dtype=dtype) for name, (dtype, _) in SCALARS.items()}

    run(index, arguments, finish, **out, **{f"v_{name}": value for name, (_, value) in SCALARS.items()})

    for name, (dtype, value) in SCALARS.items():
        assert np.array_equal(out[f"o_{name}"].get(), np.full(4, value, dtype)), name


def test_vectors_of_every_length(index):
    lanes = {2: (1, 2), 3: [1, 2, 3], 4: np.arange(4), 8: range(8), 16: np.arange(16.0)}
    arguments = ", ".join(f"float{n} v{n}, global float{n} *o{n}" for n in lanes)
    finish = " ".join(f"o{n}[i] = v{n};" for n in lanes)
    out = {f"o{n}": zeros(index, (4, 4 if n == 3 else n)) for n in lanes}

    run(index, arguments, finish, **out, **{f"v{n}": value for n, value in lanes.items()})

    for n, value in lanes.items():
        assert np.array_equal(out[f"o{n}"].get()[:, :n], np.tile(np.float32(value), (4, 1)))


def test_vectors_of_integers_and_of_pyopencl(index):
    out, more = zeros(index, (4, 4), np.int32), zeros(index, (4, 3))

    run(
        index,
        "int4 v, float3 w, global int4 *out, global float *more",
        "out[i] = v + i; vstore3(w, i, more);",
        v=cltypes.make_int4(1, -2, 3, 4),
        w=cltypes.make_float3(5, 6, 7),
        out=out,
        more=more,
    )

    assert np.array_equal(out.get(), np.arange(4)[:, None] + [1, -2, 3, 4])
    assert np.array_equal(more.get(), [[5, 6, 7]] * 4)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 12])
def test_real_and_real_vec_follow_the_points(session, dtype, dimension):
    index = clfrnn.build_index(np.zeros((2, dimension), dtype), 1, session=session)
    lanes = next(n for n in (1, 2, 4, 4, 8, 16) if n >= dimension)
    rows = np.zeros((2, lanes), dtype)
    rows[:, :dimension] = np.add.outer([1, 10], np.arange(dimension))
    out = zeros(index, (2, lanes), dtype)

    run(
        index,
        "real a, real_vec v, global const real_vec *rows, global real_vec *out",
        "out[i] = a * v + rows[i];",
        a=0.1,
        v=np.arange(dimension) * 0.3,
        rows=rows,
        out=out,
    )

    expected = dtype.type(0.1) * (np.arange(dimension) * 0.3).astype(dtype) + rows[:, :dimension]
    assert np.array_equal(out.get()[:, :dimension], expected)
    refuse(index, "^v: expected .*number.* for 'real_vec v', got ", "real_vec v", v=np.zeros(dimension + 1))


@pytest.mark.parametrize(
    ("declared", "value", "match"),
    [
        ("int", 1.0, "a whole number for 'int x', got 1.0; pass a number"),
        ("int", "1", "a whole number for 'int x', got '1'"),
        ("int", None, "a whole number for 'int x', got None"),
        ("int", [1], r"a whole number for 'int x', got \[1\]"),
        ("int", 2**31, "what fits into 'int x', got 2147483648; declare a wider type"),
        ("uint", -1, "what fits into 'uint x', got -1"),
        ("uchar", 256, "what fits into 'uchar x', got 256"),
        ("ulong", 2**64, "a whole number for 'ulong x', got 18446744073709551616"),
        ("long", np.uint64(2**63), "what fits into 'long x'"),
        ("float", 1e39, r"what fits into 'float x', got 1e\+39"),
        ("float", 1j, "a number for 'float x', got 1j"),
        ("float", "half", "a number for 'float x', got 'half'"),
        ("real", [1.0, 2.0], "a number for 'real x'"),
        ("real", np.zeros(3), r"a number for 'real x', got ndarray of shape \(3,\) and float64"),
        ("float4", (1, 2, 3), r"4 numbers for 'float4 x', got \(1, 2, 3\); pass a sequence or an array of as many"),
        ("float4", 1, "4 numbers for 'float4 x', got 1"),
        ("float4", [1, [2], 3, 4], "4 numbers for 'float4 x'"),
        ("float4", cltypes.make_float2(1, 2), "4 numbers for 'float4 x'"),
        ("int2", (1.5, 2), "2 whole numbers for 'int2 x'"),
        ("int2", (1, 2**40), "what fits into 'int2 x'"),
        ("real_vec", (1, 2), "3 numbers for 'real_vec x'"),
    ],
)
def test_values_that_do_not_fit(index, declared, value, match):
    refuse(index, f"^x: expected {match}", f"const {declared} x", x=value)


def test_a_device_array_is_no_number(index):
    refuse(index, r"^x: expected a number for 'float x', got Array of shape \(4,\)", "float x", x=zeros(index))


@pytest.mark.parametrize("value", [True, np.int8(7), np.uint64(7), np.float16(7), np.array(7)])
def test_numbers_come_in_many_types(index, value):
    out = zeros(index)

    run(index, "real x, global float *out", "out[i] = x;", x=value, out=out)

    assert np.array_equal(out.get(), np.full(4, float(value), np.float32))


def test_missing_and_unknown_arguments(index):
    refuse(index, "^a, c: declared by the function and not given; pass a=...", "int a, int b, int c", b=1)
    refuse(index, "^x, y: not declared by the function, which takes a, b; rename", "int a, int b", a=1, b=1, y=2, x=3)
    refuse(index, "^x: not declared by the function, which takes nothing", "", x=3)


def test_buffers_from_the_device_and_from_the_host(index):
    weights, out = np.float32([1, 2, 3, 4]), zeros(index)
    code = "global const float *weights, global float *out", "out[i] += weights[i];"

    run(index, *code, weights=weights, out=out)
    run(index, *code, weights=cla.to_device(index.session.queue, weights), out=out)
    run(index, *code, weights=np.repeat(weights, 2)[::2], out=out)
    run(index, *code, weights=np.float32(1).repeat(4).reshape(2, 2).T, out=out)

    assert np.array_equal(out.get(), 3 * weights + 1)


def test_buffers_of_types_that_users_declare(index):
    kind = np.dtype([("a", np.int32), ("b", np.float32)])
    values = np.array([(1, 0.5), (2, 1.5), (3, 2.5), (4, 3.5)], kind)
    out, flags = zeros(index), zeros(index, dtype=np.bool_)
    function = clfrnn.NeighborFunction(
        preamble="typedef struct { int a; float b; } pair;",
        arguments="global const pair *pairs, global float *out, global uchar *flags",
        finish="out[i] = pairs[i].a + pairs[i].b; flags[i] = i == 2;",
    )

    index.visit(function, pairs=values, out=out, flags=flags)

    assert out.get().tolist() == [1.5, 3.5, 5.5, 7.5]
    assert flags.get().tolist() == [False, False, True, False]
    with pytest.raises(
        clfrnn.ArgumentError, match="^pairs: expected numbers for 'global const pair .pairs', got object"
    ):
        index.visit(function, pairs=values.astype(object), out=out, flags=flags)


def test_an_empty_buffer_is_a_buffer(index):
    out = zeros(index)

    run(
        index,
        "global const float *none, global const float *nil, global float *out",
        "out[i] = 1;",
        none=zeros(index, 0),
        nil=np.zeros(0, np.float32),
        out=out,
    )

    assert out.get().all()


def test_what_a_kernel_writes_to_lies_on_the_device(index):
    refuse(
        index,
        r"^out: expected a pyopencl.array.Array for 'global float \*out', got a numpy array, which .*to_device",
        "global float *out",
        out=np.zeros(4, np.float32),
    )


@pytest.mark.parametrize(
    ("value", "shown"), [([1.0], r"\[1.0\]"), (None, "None"), (1.0, "1.0"), (np.float32(1), r"np.float32\(1.0\)|1.0")]
)
def test_what_is_no_array(index, value, shown):
    refuse(
        index,
        rf"^w: expected a numpy array or pyopencl.array.Array for 'global const float \*w', got ({shown}); pass ",
        "global const float *w",
        w=value,
    )
    refuse(
        index,
        rf"^w: expected a pyopencl.array.Array for 'global float \*w', got ({shown}); ",
        "global float *w",
        w=value,
    )


@pytest.mark.parametrize("const", ["const ", ""])
@pytest.mark.parametrize(
    ("declared", "dtype"),
    [("float", np.float64), ("float", np.int32), ("int", np.uint32), ("int4", np.float32), ("real_vec", np.int32)],
)
def test_buffers_of_another_dtype(index, const, declared, dtype):
    wanted = {"real_vec": "float32"}.get(declared, f"{declared.rstrip('4')}32")
    refuse(
        index,
        rf"^w: expected {wanted} for 'global {const}{declared} \*w', got {np.dtype(dtype)}; "
        rf"convert it with astype\(numpy.{wanted}\)$",
        f"global {const}{declared} *w",
        w=zeros(index, (4, 4), np.int32).view(dtype) if np.dtype(dtype).itemsize == 4 else zeros(index, 4, dtype),
    )


def test_masked_arrays_are_not_read_through_their_mask(index):
    masked = np.ma.masked_greater(np.float32([1, 2, 3, 4]), 2)
    refuse(
        index, "^w: expected plain numbers for .*, got a masked array; fill it first", "global const float *w", w=masked
    )
    out = zeros(index)

    run(index, "global const float *w, global float *out", "out[i] = w[i];", w=np.ma.array(masked.data), out=out)

    assert np.array_equal(out.get(), masked.data)


def test_foreign_byte_order_is_another_dtype(index):
    refuse(index, "^w: expected float32 .* got >f4; convert", "global const float *w", w=np.zeros(4, ">f4"))


def test_rows_of_three_are_not_rows_of_four(index):
    """float3 takes the room of four: 4 rows of three numbers would pass for 3 rows of four."""
    for declared in ("real_vec", "float3", "float4"):
        refuse(
            index,
            rf"^v: expected rows of 4 float32 for 'global const {declared} \*v', got shape \(4, 3\); fill",
            f"global const {declared} *v",
            v=np.zeros((4, 3), np.float32),
        )
    with pytest.raises(clfrnn.InvalidInputError, match=r"pointer to one number and use vload3 and vstore3"):
        run(index, "global real_vec *v", "v[i] = 0;", v=zeros(index, (4, 3)))
    out = zeros(index, (4, 3))
    flat = zeros(index, 16) + 1

    run(index, "global const float3 *v, global float *out", "vstore3(v[i] * (i + 1), i, out);", v=flat, out=out)

    assert np.array_equal(out.get(), np.arange(1, 5)[:, None] * np.ones(3))


def test_views_begin_where_they_begin(index):
    """At a place that the device can address, a view is used where it lies; else what is only read is copied."""
    step = index.session.device.mem_base_addr_align // 8 // 4
    whole = cla.arange(index.session.queue, 4 * step, dtype=np.float32)
    out = zeros(index, 2 * step)
    code = "global const float *w, global float *out", "out[i] = w[i];"

    run(index, *code, w=whole[step : step + 4], out=out[step : step + 4])
    run(index, *code, w=whole[3:7], out=out)

    out = out.get()
    assert out[:4].tolist() == [3, 4, 5, 6]
    assert np.array_equal(out[step : step + 4], step + np.arange(4))
    assert np.count_nonzero(out) == 8
    refuse(
        index,
        rf"^out: expected an array that starts its buffer for 'global float \*out', got a view 12 bytes into one; "
        rf".*addresses parts that start at multiples of {4 * step} bytes. Pass the whole array",
        "global float *out",
        out=whole[3:7],
    )


def test_views_of_pooled_memory(index):
    session = index.session
    step = session.device.mem_base_addr_align // 8 // 4
    pooled = session.allocate(2 * step, np.float32, purpose="a test")
    pooled.fill(0)

    run(index, "global float *out", "out[i] = i + 1;", out=pooled[step : step + 4])

    assert pooled.get()[step - 1 : step + 5].tolist() == [0, 1, 2, 3, 4, 0]


@pytest.mark.parametrize("const", ["const ", ""])
def test_strides_are_refused(index, const):
    refuse(
        index,
        r"^w: expected a contiguous array for .*, got shape \(4,\) and strides \(8,\); pass a copy",
        f"global {const}float *w",
        w=zeros(index, 8)[::2],
    )


def test_arrays_of_another_context(index):
    context = cl.Context([index.session.device])
    queue = cl.CommandQueue(context)
    for declared in ("global const float *w", "global float *w"):
        with pytest.raises(clfrnn.InvalidInputError, match="^w: expected an array of the session's OpenCL context"):
            run(index, declared, "", w=zeros(index, queue=queue))


def test_arrays_of_another_queue_are_waited_for_both_ways(index):
    """The visit reads what the other queue was asked to write before it, and that queue reads what the visit wrote."""
    session = index.session
    other = cl.CommandQueue(session.context, session.device)
    code = clfrnn.NeighborFunction(
        arguments="global float *out, global const float *w, global const float *view, const int wait",
        state="float a = 0; for (int k = 0; k < wait; ++k) a = sin(a + k);",
        finish="out[i] += w[i] + view[i] + (a > 2);",
    )
    step = session.device.mem_base_addr_align // 8 // 4
    busy = zeros(index, 1 << 20, queue=other)
    for k in range(6):
        out, w, large = (zeros(index, 2 * step, queue=other) for _ in range(3))
        for _ in range(10):
            busy.fill(k)  # what comes next on this queue is late
        out.fill(k)
        w.fill(2 * k)
        large.fill(4 * k)
        index.visit(code, out=out, w=w, view=large[step:] if k % 2 else large[1:], wait=100_000)
        w.fill(0)
        large.fill(0)
        out += 1
        assert out[:5].get().tolist() == [7 * k + 1] * 4 + [k + 1]


def test_an_event_and_arrays_tell_when_it_is_done(index):
    """Those that it reads, too: another queue could write to them meanwhile."""
    out, read = zeros(index), zeros(index)

    event = run(index, "global float *out, global const float *read", "out[i] = 1 + read[i];", out=out, read=read)

    assert isinstance(event, cl.Event)
    assert out.events == read.events == [event]
    event.wait()


def test_a_visit_of_nothing_is_an_event_too(session):
    index = clfrnn.build_index(np.zeros((0, 3), np.float32), 1, session=session)
    out = zeros(index)

    event = run(index, "global float *out", "out[i] = 1;", out=out)
    run(index, "global float *out", "out[i] = 1;", out=out, queries=np.zeros((0, 3), np.float32)).wait()

    event.wait()
    assert not out.get().any()


# --- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" // nothing\n", []),
        ("int a", [Argument("a", "int", False, False)]),
        ("const real a,\n real_vec b", [Argument("a", "real", False, True), Argument("b", "real_vec", False, False)]),
        ("unsigned int a, unsigned b", [Argument("a", "uint", False, False), Argument("b", "uint", False, False)]),
        ("signed char a, unsigned char b", [Argument("a", "char", False, False), Argument("b", "uchar", False, False)]),
        ("global float *a", [Argument("a", "float", True, False)]),
        ("__global const float4* restrict a", [Argument("a", "float4", True, True)]),
        ("const global float * const a", [Argument("a", "float", True, True)]),
        ("global float *const a", [Argument("a", "float", True, False)]),
        ("global float const *a", [Argument("a", "float", True, True)]),
        ("volatile global int *a", [Argument("a", "int", True, False)]),
        ("global my_type *a", [Argument("a", "my_type", True, False)]),
        (
            "int a, // one, two\n /* , */ int b",
            [Argument("a", "int", False, False), Argument("b", "int", False, False)],
        ),
    ],
)
def test_declarations_are_read(text, expected):
    assert list(walk_function(clfrnn.NeighborFunction(arguments=text)).parsed_arguments) == expected


@pytest.mark.parametrize(
    "text",
    ["float", "float *a", "local float *a", "global float a", "constant float *a", "float a[3]", "global float **a",
     "float a = 1", "image2d_t a", "sampler_t a", "my_type a", "size_t a", "float5 a", "int a,", "int a; int b",
     "struct s a", "float a b", "void *a", "int 3a", "bool a"],
)  # fmt: skip
def test_what_is_no_declaration(text):
    with pytest.raises(clfrnn.InvalidInputError, match=r"^arguments: expected .*, got '.*'; (declare|other types)"):
        clfrnn.NeighborFunction(arguments=text)


@pytest.mark.parametrize("name", ["function", "queries", "radius", "include_self", "self"])
def test_names_of_visits_keywords_are_taken(name):
    with pytest.raises(clfrnn.InvalidInputError, match=f"^arguments: '{name}' is a keyword of visit.*; choose another"):
        clfrnn.NeighborFunction(arguments=f"int a, global int *{name}")


@pytest.mark.parametrize(
    "name", ["i", "j", "d2", "dx", "shift", "r2", "reach2", "real", "real_vec", "frnn_q", "FRNN_X", "frnn_radius"]
)
def test_names_in_scope_are_taken(name):
    with pytest.raises(
        clfrnn.InvalidInputError, match=f"^arguments: '{name}' is a name of the library's; choose another"
    ):
        clfrnn.NeighborFunction(arguments=f"const float {name}")


def test_a_name_is_declared_once():
    with pytest.raises(clfrnn.InvalidInputError, match="^arguments: 'a' is declared 2 times; rename one"):
        clfrnn.NeighborFunction(arguments="int a, float b, global int *a")


def test_only_functions_are_visited(index):
    with pytest.raises(clfrnn.InvalidInputError, match="^function: expected a clfrnn.NeighborFunction, got str; wrap"):
        index.visit("count += 1;")
