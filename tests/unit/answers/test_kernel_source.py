"""KernelSource: the walk over neighbors inside of kernels that are not the library's, launched by plain pyopencl."""

import re

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS as MOST_POINTS
from conftest import truth

import clfrnn
from clfrnn import clouds
from clfrnn.methods import METHODS

N = min(300, MOST_POINTS)
RADIUS = 0.2


@pytest.fixture(params=sorted(METHODS))
def way(request):
    """Each method once: what its options change is not in the header."""
    return request.param, METHODS[request.param].variations[0]


COUNTS = """
kernel void counts(const int n, const real radius, global int *counts, FRNN_PARAMETERS)
{
    const int place = get_global_id(0);
    if (place >= n) return;
    const int i = FRNN_POINT_ID(place);
    int count = 0;
    FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, i)
        if (j % 2) continue;
        if (d2 > reach2) break;
        ++count;
    FRNN_END_NEIGHBORS
    FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, i)
        if (j % 2 == 0) break;
        ++count;
    FRNN_END_NEIGHBORS
    counts[i] = count;
}
"""

AROUND = """
kernel void around(const real_vec position, const real radius, global int *found, global int *shifts,
                   global real *squares, FRNN_PARAMETERS)
{
    int n = 0;
    FRNN_FOR_NEIGHBORS(position, radius, -1)
        union { frnn_shift all; int lanes[4]; } s;
        s.all = shift;
        found[1 + n] = j;
        for (int k = 0; k < DIM; ++k) shifts[n * DIM + k] = s.lanes[k];
        squares[n++] = d2 == 0 || r2 != radius * radius ? -1 : d2;
    FRNN_END_NEIGHBORS
    found[0] = n;
}
"""


def build(points, way, session, **domain):
    method, options = way
    return clfrnn.build_index(points, RADIUS, method=method, session=session, **options, **domain)


def compiled(index, text, *options):
    """The one kernel of `text`, and the arguments that come last."""
    source = index.kernel_source()
    program = cl.Program(index.session.context, source.header + text).build(list(options))
    return program.all_kernels()[0], source.arguments


def domain_of(periodic, dim):
    return {"box": (1,) * dim, "periodic": True} if periodic else {}


@pytest.mark.core
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
def test_counts_in_a_kernel_of_ones_own(session, way, dim, dtype, periodic):
    if (dim, dtype.itemsize) == (2, 8):
        pytest.skip("float64 is tested in three dimensions")
    points = clouds.duplicates(N, dim, dtype=dtype, seed=1)
    index = build(points, way, session, **domain_of(periodic, dim))
    kernel, arguments = compiled(index, COUNTS)
    found = cla.empty(session.queue, N, np.int32)

    for radius in (dtype.type(RADIUS), dtype.type(0.07)):
        kernel(session.queue, (N,), None, np.int32(N), radius, found.data, *arguments)
        assert np.array_equal(found.get(), index.count(radius=radius).get())

    assert found.get().sum() == len(truth(points, 0.07, **domain_of(periodic, dim)).indices)


@pytest.mark.parametrize("domain", ["open", "periodic", "cell"])
def test_a_position_of_ones_own(session, way, dim, domain):
    points = clouds.uniform(N, dim, seed=1)
    domain = {"cell": np.eye(dim) + np.tri(dim, k=-1)} if domain == "cell" else domain_of(domain == "periodic", dim)
    index = build(points, way, session, **domain)
    kernel, arguments = compiled(index, AROUND, f"-DDIM={dim}")
    for place in (np.full(dim, 0.03, np.float32), np.full(dim, 0.5, np.float32), np.full(dim, 1.1, np.float32)):
        expected = truth(points, 0.15, queries=place[None], **domain)
        found, shifts = (cla.zeros(session.queue, dim * N, np.int32) for _ in range(2))
        squares = cla.zeros(session.queue, N, np.float32)
        position = np.zeros(4 if dim == 3 else dim, np.float32)
        position[:dim] = place

        kernel(session.queue, (1,), None, position, np.float32(0.15), found.data, shifts.data, squares.data, *arguments)

        many, ids = found.get()[0], found.get()[1:]
        shifts = shifts.get()[: many * dim].reshape(many, dim)
        order = np.lexsort((*shifts.T[::-1], ids[:many]))
        assert many == expected.offsets[1]
        assert np.array_equal(ids[:many][order], expected.indices)
        assert np.array_equal(shifts[order], expected.shifts)
        assert np.array_equal(squares.get()[:many][order], expected.squares)


@pytest.mark.parametrize("dimension", [1, 5, 12])
def test_other_dimensions(session, dimension):
    points = clouds.uniform(100, dimension, seed=1)
    radius = 0.05 * dimension + 0.2
    index = clfrnn.build_index(points, radius, method="brute_force", session=session)
    kernel, arguments = compiled(index, COUNTS)
    found = cla.empty(session.queue, 100, np.int32)

    kernel(session.queue, (100,), None, np.int32(100), np.float32(radius), found.data, *arguments)

    assert found.get().sum() > 0
    assert np.array_equal(found.get(), index.count().get())


def test_points_lie_in_the_order_of_the_index(session, way, dim):
    points = clouds.uniform(N, dim, seed=1)
    index = build(points, way, session)
    kernel, arguments = compiled(
        index,
        "kernel void places(global int *ids, global real_vec *points, FRNN_PARAMETERS)\n"
        "{ const int k = get_global_id(0); ids[k] = FRNN_POINT_ID(k); points[k] = FRNN_POINT(k); }",
    )
    ids = cla.empty(session.queue, N, np.int32)
    found = cla.zeros(session.queue, (N, 4 if dim == 3 else dim), np.float32)

    kernel(session.queue, (N,), None, ids.data, found.data, *arguments)

    assert np.array_equal(ids.get(), index.order.get())
    assert np.array_equal(found.get()[:, :dim], points[ids.get()])


HISTOGRAM = """
kernel void histogram(const int n, const real radius, global int *counts, FRNN_PARAMETERS)
{
    local int mine[BINS];
    for (int k = get_local_id(0); k < BINS; k += get_local_size(0)) mine[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int place = get_global_id(0);
    if (place < n) {
        FRNN_FOR_NEIGHBORS(FRNN_POINT(place), radius, FRNN_POINT_ID(place))
            atomic_inc(mine + min((int)(d2 / r2 * BINS), BINS - 1));
        FRNN_END_NEIGHBORS
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < BINS; k += get_local_size(0)) atomic_add(counts + k, mine[k]);
}
"""


@pytest.mark.core
def test_a_histogram_of_each_work_group(session, way):
    """Barriers stand outside of the loop, which a group's work-items may take different turns in."""
    points, bins = clouds.uniform(N, 3, seed=1), 16
    index = build(points, way, session, box=(1, 1, 1), periodic=True)
    kernel, arguments = compiled(index, HISTOGRAM, f"-DBINS={bins}")
    size = 32
    counts = cla.zeros(session.queue, bins, np.int32)

    kernel(session.queue, (-(-N // size) * size,), (size,), np.int32(N), np.float32(RADIUS), counts.data, *arguments)

    squares = truth(points, RADIUS, box=(1, 1, 1), periodic=True).squares
    ratios = squares / (np.float32(RADIUS) * np.float32(RADIUS)) * np.float32(bins)
    expected = np.bincount(np.minimum(ratios.astype(int), bins - 1), minlength=bins)
    assert counts.get().sum() == len(squares)
    assert np.abs(counts.get() - expected).sum() <= 4


BATCH = np.random.default_rng(4).choice([-3, 0, 1, 40], N)
OF_SYSTEM = COUNTS.replace("radius, i)", "radius, i, FRNN_SYSTEM(i))")
DOMAINS = {
    "open": lambda dim: {},
    "boxes": lambda dim: {"box": np.linspace(0.7, 1.3, 4 * dim).reshape(4, dim)},
    "cells": lambda dim: {"cell": np.eye(dim) * np.linspace(0.8, 1.2, 4)[:, None, None] + np.tri(dim, k=-1) * 0.4},
    "far combinations": lambda dim: {"cell": np.tile(np.eye(dim) + np.tri(dim, k=-1) * 7, (4, 1, 1))},
}


@pytest.mark.core
@pytest.mark.parametrize("kind", sorted(DOMAINS))
def test_counts_in_many_systems(session, way, dim, kind):
    """Before an update to other systems, and after it; points lie inside of their boxes and outside."""
    points, domain = clouds.uniform(N, dim, seed=2), DOMAINS[kind](dim)
    index = build(points, way, session, batch=BATCH, **domain)
    for moved, batch in ((points, BATCH), (3 * points[: N // 2] - 1, BATCH[: N // 2])):
        if batch is not BATCH:
            index.update(moved, batch=batch)
        kernel, arguments = compiled(index, OF_SYSTEM)
        found = cla.empty(session.queue, len(moved), np.int32)
        kernel(session.queue, (len(moved),), None, np.int32(len(moved)), np.float32(RADIUS), found.data, *arguments)
        expected = truth(moved, RADIUS, batch=batch, **domain)
        assert np.array_equal(found.get(), np.diff(expected.offsets))


IN_SYSTEM = """
kernel void near(global const real *places, global const int *systems, const real radius, global int *found,
                 FRNN_PARAMETERS)
{
    const int q = get_global_id(0);
    real_vec position = (real_vec)(0);
    for (int k = 0; k < DIM; ++k) ((real *)&position)[k] = places[q * DIM + k];
    int n = 0, sum = 0;
    FRNN_FOR_NEIGHBORS(position, radius, -1, systems[q])
        const int first = j;
        ++n;
        FRNN_FOR_NEIGHBORS(position + dx, 0.5f * radius, first, FRNN_SYSTEM(first))
            ++sum;
        FRNN_END_NEIGHBORS
    FRNN_END_NEIGHBORS
    found[2 * q] = n;
    found[2 * q + 1] = sum;
}
"""


def test_positions_in_a_system(session, way, dim):
    """In each of the systems and in none, with a loop inside of the loop; points do not lie at their images' places."""
    points = np.round(clouds.uniform(N, dim, seed=2) * 64) / 64  # sums are exact
    index = build(points, way, session, batch=BATCH)
    places, systems = (
        np.repeat(points[:3] + np.float32(1 / 128), 6, axis=0),
        np.tile(np.arange(-1, 5, dtype=np.int32), 3),
    )
    kernel, arguments = compiled(index, IN_SYSTEM, f"-DDIM={dim}")
    queries, numbers = cla.to_device(session.queue, places), cla.to_device(session.queue, systems)
    found = cla.empty(session.queue, (len(places), 2), np.int32)
    kernel(session.queue, (len(places),), None, queries.data, numbers.data, np.float32(RADIUS), found.data, *arguments)
    asked = np.array([99, *np.unique(BATCH), 99])[systems + 1]
    expected = truth(points, RADIUS, queries=places, batch=BATCH, query_batch=asked)
    second = np.diff(truth(points, RADIUS / 2, batch=BATCH).offsets)
    sums = [second[expected.indices[a:b]].sum() for a, b in zip(expected.offsets, expected.offsets[1:], strict=False)]
    assert found.get()[:, 0].any()
    assert np.array_equal(found.get(), np.stack([np.diff(expected.offsets), sums], axis=1))


@pytest.mark.parametrize("kind", ["open", "cells"])
def test_the_header_says_how_systems_are_used(session, way, kind):
    index = build(clouds.uniform(N, 3, seed=1), way, session, batch=BATCH, **DOMAINS[kind](3))
    example = "\n".join(re.findall(r"^//   (.*)$", index.kernel_source().header, re.MULTILINE))
    kernel, arguments = compiled(index, example)
    found = cla.empty(session.queue, N, np.int32)
    kernel(session.queue, (N,), None, np.int32(N), np.float32(RADIUS), found.data, *arguments)
    assert np.array_equal(found.get(), index.count().get())


def test_loops_inside_of_loops(session, way):
    """Triples: neighbors of neighbors that are neighbors."""
    points = clouds.uniform(60, 2, seed=1)
    index = build(points, way, session)
    kernel, arguments = compiled(
        index,
        """
        kernel void triples(const real radius, global int *counts, FRNN_PARAMETERS)
        {
            const int place = get_global_id(0), i = FRNN_POINT_ID(place);
            const real_vec p = FRNN_POINT(place);
            int count = 0;
            FRNN_FOR_NEIGHBORS(p, radius, i)
                const int first = j;
                const real_vec toward = dx;
                FRNN_FOR_NEIGHBORS(p + toward, radius, first)
                    const real_vec across = toward + dx;
                    count += j != i && dot(across, across) <= r2;
                FRNN_END_NEIGHBORS
            FRNN_END_NEIGHBORS
            counts[i] = count;
        }
        """,
    )
    counts = cla.empty(session.queue, 60, np.int32)

    kernel(session.queue, (60,), None, np.float32(RADIUS), counts.data, *arguments)

    near = np.zeros((60, 60), int)
    pairs = truth(points, RADIUS)
    near[np.repeat(np.arange(60), np.diff(pairs.offsets)), pairs.indices] = 1
    expected = np.diag(np.linalg.matrix_power(near, 3))
    assert expected.sum() > 60
    # Sums of rounded vectors may fall beside an edge.
    assert np.abs(counts.get() - expected).sum() <= 4


def test_the_arguments_are_the_points_of_their_time(session, way):
    points = clouds.uniform(N, 3, seed=1)
    index = build(points, way, session)
    kernel, old = compiled(index, COUNTS)
    before = index.count().get()
    index.update(points * np.float32(0.5))
    found = cla.empty(session.queue, N, np.int32)

    for arguments, expected in ((old, before), (index.kernel_source().arguments, index.count().get())):
        kernel(session.queue, (N,), None, np.int32(N), np.float32(RADIUS), found.data, *arguments)
        assert np.array_equal(found.get(), expected)


def test_no_radius_finds_nothing_and_no_point_is_lost(session, way):
    points = np.zeros((5, 3), np.float32)
    index = build(points, way, session)
    kernel, arguments = compiled(index, COUNTS)
    found = cla.empty(session.queue, 5, np.int32)

    for radius, expected in ((-1, 0), (np.nan, 0), (0, 4)):
        kernel(session.queue, (5,), None, np.int32(5), np.float32(radius), found.data, *arguments)
        assert found.get().tolist() == [expected] * 5


def test_the_header_says_how_it_is_used(session, way, dim):
    """Its own example is taken out of the comment and run."""
    points = clouds.uniform(N, dim, seed=1)
    index = build(points, way, session)
    header = index.kernel_source().header
    example = "\n".join(re.findall(r"^//   (.*)$", header, re.MULTILINE))
    kernel, arguments = compiled(index, example)
    found = cla.empty(session.queue, N, np.int32)

    kernel(session.queue, (N,), None, np.int32(N), np.float32(RADIUS), found.data, *arguments)

    assert np.array_equal(found.get(), index.count().get())
    assert index.method in header
    assert f"{dim}D" in header


def test_every_name_of_the_header_is_the_librarys(session, way):
    """What a kernel of one's own may be called, or its variables, is not taken by the header, types apart."""
    header = build(clouds.uniform(N, 3, seed=1), way, session, box=(1, 1, 1), periodic=True).kernel_source().header
    code = re.sub(r"//.*|/\*.*?\*/", "", header)

    defined = re.findall(r"#define (\w+)", code) + re.findall(r"^(?:int|float|real) (\w+)\(", code, re.MULTILINE)
    loop = code[code.index("#define FRNN_FOR_NEIGHBORS") :]
    declared = re.findall(r"\b(?:int|real|real_vec|frnn_record|frnn_shift|ulong) (\w+) =", loop)
    typed = re.findall(r"typedef \w+ (\w+);", code)

    assert all(name.lower().startswith("frnn_") for name in defined)
    names = {"j", "r2", "d2", "reach2", "dx", "shift"}
    assert {name for name in declared if not name.startswith("frnn_")} == names
    assert set(typed) == {"real", "real_vec", "frnn_shift", "frnn_pair", "frnn_record"}
