"""NeighborFunction: users' own code for every neighbor, by every method, against numpy."""

import os
import pickle
import re
import runpy
import subprocess
import sys

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import POINTS, ROOT, WAYS, own_session, rows_of, truth, tuned, visits

import clfrnn
from clfrnn import clouds
from clfrnn.functions import walk_function
from clfrnn.methods import METHODS
from clfrnn.runtime.compile_errors import compile_errors

EXAMPLES = ROOT / "docs/examples"
MINE = ("sph_density", "radial_distribution", "own_kernel")
N = min(300, POINTS)
RADIUS = 0.2


@pytest.fixture(params=sorted(METHODS))
def method(request):
    """Each method once, where its options make no difference."""
    return request.param, METHODS[request.param].variations[0]


def build(points, way, session, radius=RADIUS, **domain):
    method, options = way
    return clfrnn.build_index(points, radius, method=method, session=session, **options, **domain)


def zeros(session, shape, dtype=np.float32):
    return cla.zeros(session.queue, shape, dtype)


def assert_lists(expected, found):
    """Lists that a function wrote, in any order inside a row, hold the pairs of the reference."""
    place = np.arange(found["ids"].shape[1])[None, :] < found["counts"][:, None]
    assert np.array_equal(found["counts"], np.diff(expected.offsets))
    i = np.nonzero(place)[0]
    ids, shifts = found["ids"][place], found["shifts"][place]
    order = np.lexsort((*shifts.T[::-1], ids, i))
    assert np.array_equal(ids[order], expected.indices)
    assert np.array_equal(shifts[order], expected.shifts)
    assert np.array_equal(found["squares"][place][order], expected.squares)
    assert np.array_equal(found["vectors"][place][order], expected.vectors)


# Writes down all that is in scope. Its names are those that careless code around it would use, too.
EVERYTHING = clfrnn.NeighborFunction(
    preamble="#define DIM_OF(v) (sizeof(v) / sizeof(real))",
    arguments="const int most, global int *ids, global int *shifts, global real *squares, global real *vectors, "
    "global real *spare, global int *counts, global real *limits",
    state="int n = 0, k = 0, q = 0, c = 0, p = 0, s = 0, t = 0, low = 0, first = 0, point = 0, radius = 0, points = 0;"
    "real start = 0, cell = 0, row = 0, tile = 0, count = 0, d = 0, x = 0, y = 0, z = 0, record = 0, stop = 0;",
    per_neighbor="""
        const size_t place = (size_t)i * most + n++;
        union { real_vec all; real lanes[DIM_OF(real_vec)]; } v;
        union { int lanes[DIM_OF(real_vec)]; ints all; } w;
        v.all = dx;
        w.all = shift;
        ids[place] = j;
        squares[place] = d2;
        for (k = 0; k < DIM; ++k) {
            vectors[place * DIM + k] = v.lanes[k];
            shifts[place * DIM + k] = w.lanes[k];
        }
        for (k = DIM == 3 ? 3 : DIM; k < (DIM == 3 ? 3 : (int)DIM_OF(real_vec)); ++k) {
            if (v.lanes[k] != 0 || w.lanes[k] != 0) spare[i] = 1;
        }
    """,
    finish="counts[i] = n; limits[2 * i] = r2; limits[2 * i + 1] = reach2;",
)


LANES = {1: "", 2: 2, 3: 3, 4: 4, 5: 8, 12: 16}


def everything(index, queries=None, dim=None, **asked):
    dim, session = index.dim, index.session
    m = index.num_points if queries is None else len(queries)
    most = max(1, int(index.count(queries, **asked).get().max(initial=0)))
    function = clfrnn.NeighborFunction(
        **{piece: getattr(EVERYTHING, piece) for piece in ("arguments", "state", "per_neighbor", "finish")},
        preamble=EVERYTHING.preamble + f"\n#define DIM {dim}\ntypedef int{LANES[dim]} ints;",
    )
    found = {
        "ids": zeros(session, (m, most), np.int32),
        "shifts": zeros(session, (m, most, dim), np.int32),
        "squares": zeros(session, (m, most), index.dtype),
        "vectors": zeros(session, (m, most, dim), index.dtype),
        "spare": zeros(session, m, index.dtype),
        "counts": zeros(session, m, np.int32),
        "limits": zeros(session, (m, 2), index.dtype),
    }
    index.visit(function, queries, most=most, **found, **asked)
    found = {name: array.get() for name, array in found.items()}
    assert not found["spare"].any()
    return found


@pytest.mark.core
def test_all_that_is_in_scope(session, way, dim, dtype):
    points = clouds.uniform(N, dim, dtype=dtype, seed=1)
    points[: N // 10] += dtype.type(7)
    index = build(points, way, session)

    found = everything(index)

    assert_lists(truth(points, RADIUS), found)
    assert np.array_equal(found["limits"], np.full((N, 2), dtype.type(RADIUS) * dtype.type(RADIUS)))


def test_queries_radii_and_oneself(session, method):
    points, queries = clouds.duplicates(N, 3, seed=1), clouds.uniform(50, 3, seed=2)
    radii = np.random.default_rng(3).random(50).astype(np.float32) * np.float32(RADIUS)
    index = build(points, method, session)

    assert_lists(truth(points, 0.1, queries=queries), everything(index, queries, radius=0.1))
    assert_lists(truth(points, RADIUS, include_self=True), everything(index, include_self=True))
    found = everything(index, queries, radius=radii)
    assert_lists(truth(points, radii, queries=queries), found)
    assert np.array_equal(found["limits"], np.repeat((radii * radii)[:, None], 2, axis=1))


@pytest.mark.parametrize("shift", [0.0, 1.75], ids=["inside", "outside"])
def test_shifts_of_periodic_boxes(session, way, dim, shift):
    points = clouds.uniform(min(N, 150), dim, seed=1)
    points[::3] -= np.float32(shift)
    queries = clouds.uniform(40, dim, seed=2) * np.float32(1 + 2 * shift)
    queries[0] = 0
    points[1] = 1 - np.float32(0.01)
    domain = {"box": (1,) * dim, "periodic": True if dim == 3 else [True, False]}
    index = build(points, way, session, **domain)
    assert_lists(truth(points, RADIUS, **domain), everything(index))
    if dim == 2:
        return  # everything that a user's code sees is another program for every dimension and kind of queries
    expected = truth(points, RADIUS, queries=queries, **domain)
    assert expected.shifts.any()
    assert_lists(expected, everything(index, queries))


@pytest.mark.parametrize("shift", [0.0, 1.75], ids=["inside", "outside"])
def test_a_radius_per_query_in_a_periodic_box(session, method, dim, dtype, shift):
    if (dim, dtype.itemsize) in {(2, 4), (3, 8)}:
        pytest.skip("lists are tested in each dimension and dtype; here each is met once, as are kinds of queries")
    points = clouds.uniform(120, dim, dtype=dtype, seed=1)
    points[::3] -= dtype.type(shift)
    queries = clouds.uniform(40, dim, dtype=dtype, seed=2) * dtype.type(1 + 2 * shift)
    domain = {"box": (1,) * dim, "periodic": True}
    index = build(points, method, session, **domain)
    asked = None if dim == 3 else queries
    radii = np.random.default_rng(3).random(120 if asked is None else 40).astype(dtype) * dtype.type(RADIUS)
    radii[::9] = 0
    expected = truth(points, radii, queries=asked, **domain)

    found = everything(index, asked, radius=radii)

    assert expected.shifts.any()
    assert_lists(expected, found)
    assert np.array_equal(found["limits"], np.repeat((radii * radii)[:, None], 2, axis=1))


def test_every_image_counts(session, method):
    points = clouds.uniform(20, 2, seed=1)
    domain = {"box": (1, 1), "periodic": True}

    found = everything(build(points, method, session, radius=1.6, **domain))

    assert_lists(truth(points, 1.6, **domain), found)


@pytest.mark.parametrize("dimension", [1, 4, 5, 12])
def test_other_dimensions(session, dtype, dimension):
    """real_vec is real, real4, real8 and real16 here, its spare lanes zero."""
    if dtype == np.float64 and dimension in {4, 5}:
        pytest.skip("float64 is tested in the shortest vectors and the longest")
    points = clouds.uniform(80, dimension, dtype=dtype, seed=1)
    radius = 0.05 * dimension + 0.2
    index = clfrnn.build_index(points, radius, method="brute_force", session=session)

    found = everything(index)

    assert found["counts"].sum() > 40
    assert_lists(truth(points, radius), found)


# --- what people write ------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_density_of_smoothed_particles(session, method, dim, dtype):
    if (dim, dtype.itemsize) in {(2, 8), (3, 4)}:
        pytest.skip("all that is in scope is tested in each dimension and dtype; here each is met once")
    points = clouds.dam_break(N, dim, dtype=dtype, seed=1)
    masses = np.random.default_rng(2).uniform(0.5, 1.5, N).astype(dtype)
    function = clfrnn.NeighborFunction(
        arguments="const real scale, global const real *masses, global real *densities",
        state="real sum = 0;",
        per_neighbor="const real w = r2 - d2; sum += masses[j] * w * w * w;",
        finish="densities[i] = scale * sum;",
    )
    densities = zeros(session, N, dtype)

    build(points, method, session).visit(function, include_self=True, scale=2.5, masses=masses, densities=densities)

    expected = truth(points, RADIUS, include_self=True)
    weights = masses[expected.indices] * (dtype.type(RADIUS) ** 2 - expected.squares.astype(float)) ** 3
    sums = 2.5 * np.bincount(rows_of(expected), weights, minlength=N)
    assert np.allclose(densities.get(), sums, rtol=500 * np.finfo(dtype).eps, atol=0)


def test_contact_forces_of_grains(session, method, dim, dtype):
    """Spring and dashpot along the normal, with a diameter for each grain, velocities, and gravity as a real_vec."""
    if (dim, dtype.itemsize) in {(2, 4), (3, 8)}:
        pytest.skip("all that is in scope is tested in each dimension and dtype; here each is met once")
    rng = np.random.default_rng(2)
    points = clouds.uniform(N, dim, dtype=dtype, seed=1)
    sizes = rng.uniform(0.05, RADIUS / 2, N).astype(dtype)
    lanes = 4 if dim == 3 else 2
    velocities = np.zeros((N, lanes), dtype)
    velocities[:, :dim] = rng.standard_normal((N, dim))
    gravity = np.arange(dim) - 9.81
    function = clfrnn.NeighborFunction(
        preamble="real overlap(const real distance, const real a, const real b) { return (a + b) - distance; }",
        arguments="const real stiffness, const real damping, const real_vec gravity, global const real *sizes,\n"
        "global const real_vec *velocities, global real_vec *forces, global int *contacts",
        state="real_vec force = gravity; const real_vec velocity = velocities[i]; int touching = 0;",
        per_neighbor="""
            const real distance = sqrt(d2), deep = overlap(distance, sizes[i], sizes[j]);
            if (deep <= 0 || distance == 0) continue;
            const real_vec normal = dx / distance;
            const real closing = dot(velocities[j] - velocity, normal);
            force += (damping * closing - stiffness * deep) * normal;
            ++touching;
        """,
        finish="forces[i] = force; contacts[i] = touching;",
    )
    forces, contacts = zeros(session, (N, lanes), dtype), zeros(session, N, np.int32)

    build(points, method, session).visit(
        function,
        stiffness=100,
        damping=0.5,
        gravity=gravity,
        sizes=sizes,
        velocities=velocities,
        forces=forces,
        contacts=contacts,
    )

    pairs = truth(points, RADIUS)
    i, j = rows_of(pairs), pairs.indices
    deep = (sizes[i] + sizes[j]) - pairs.distances
    i, j, normal, deep = i[deep > 0], j[deep > 0], (pairs.vectors / pairs.distances[:, None])[deep > 0], deep[deep > 0]
    closing = ((velocities[j] - velocities[i])[:, :dim] * normal).sum(axis=1)
    expected = np.tile(gravity, (N, 1))
    np.add.at(expected, i, (0.5 * closing - 100 * deep)[:, None] * normal)
    assert len(i) > N / 2
    assert np.abs(contacts.get() - np.bincount(i, minlength=N)).max() <= (1 if dtype == np.float32 else 0)
    assert np.allclose(forces.get()[:, :dim], expected, rtol=1e-4, atol=1e-3)


def test_radial_distribution_with_atomics(session, method):
    points = clouds.uniform(N, 3, seed=1)
    bins, copies = 16, 5
    function = clfrnn.NeighborFunction(
        arguments="const int bins, const int copies, global int *counts",
        state="global int *mine = counts + (i % copies) * bins;",
        per_neighbor="atomic_inc(mine + min((int)(d2 / r2 * bins), bins - 1));",
    )
    counts = zeros(session, (copies, bins), np.int32)

    build(points, method, session, box=(1, 1, 1), periodic=True).visit(
        function, bins=bins, copies=copies, counts=counts, checked=False
    )

    squares = truth(points, RADIUS, box=(1, 1, 1), periodic=True).squares
    ratios = squares / (np.float32(RADIUS) * np.float32(RADIUS)) * np.float32(bins)
    expected = np.bincount(np.minimum(ratios.astype(int), bins - 1), minlength=bins)
    found = counts.get().sum(axis=0)
    assert found.sum() == len(squares)
    # Division may be rounded otherwise, which moves what lies on an edge of bins.
    assert np.abs(found - expected).sum() <= 4


def test_the_nearest_few_with_a_reach_that_shrinks(session, way, dim):
    points, few = clouds.uniform(N, dim, seed=1), 4
    function = clfrnn.NeighborFunction(
        preamble=f"#define FEW {few}",
        arguments="global int *ids, global real *squares",
        state="int best[FEW]; real near[FEW]; for (int k = 0; k < FEW; ++k) { best[k] = -1; near[k] = INFINITY; }",
        per_neighbor="""
            int at = FEW - 1;
            if (d2 >= near[at]) break;
            for (; at > 0 && near[at - 1] > d2; --at) { near[at] = near[at - 1]; best[at] = best[at - 1]; }
            near[at] = d2;
            best[at] = j;
            reach2 = min(r2, near[FEW - 1]);
        """,
        finish="for (int k = 0; k < FEW; ++k) { ids[i * FEW + k] = best[k]; squares[i * FEW + k] = near[k]; }",
    )
    ids, squares = zeros(session, (N, few), np.int32), zeros(session, (N, few))

    build(points, way, session).visit(function, ids=ids, squares=squares)

    expected = truth(points, RADIUS)
    for i in range(N):
        row = slice(*expected.offsets[i : i + 2])
        order = np.argsort(expected.squares[row], kind="stable")[:few]
        missing = few - len(order)
        assert np.array_equal(squares.get()[i], [*expected.squares[row][order], *[np.inf] * missing])
        assert sorted(ids.get()[i]) == sorted([*expected.indices[row][order], *[-1] * missing])


# --- what holds for all of them ---------------------------------------------------------------------------------------


@pytest.mark.core
def test_break_and_continue_leave_one_neighbor_only(session, method):
    points = clouds.uniform(N, 3, seed=1)
    function = clfrnn.NeighborFunction(
        arguments="global int *counts",
        state="int all = 0, odd = 0;",
        per_neighbor="++all; if (j % 3 == 0) continue; for (;;) { if (j) break; } if (j % 2 == 0) break; ++odd;",
        finish="counts[2 * i] = all; counts[2 * i + 1] = odd;",
    )
    counts = zeros(session, (N, 2), np.int32)

    # Point 0 would never end the inner loop, were it not left before.
    build(points, method, session).visit(function, counts=counts)

    expected = truth(points, RADIUS)
    odd = (expected.indices % 3 > 0) & (expected.indices % 2 > 0)
    assert np.array_equal(counts.get()[:, 0], np.diff(expected.offsets))
    assert np.array_equal(counts.get()[:, 1], np.bincount(rows_of(expected)[odd], minlength=N))


def test_loops_of_state_and_finish_may_be_left(session, method):
    function = clfrnn.NeighborFunction(
        preamble="#define EACH(k) for (int k = 0; k < 8; ++k)",
        arguments="global int *out",
        state="int n = 0; EACH(k) { if (k == 3) break; ++n; }",
        per_neighbor="++n;",
        finish="while (1) { if (++n % 5) continue; break; } switch (n) { case 0: break; default: out[i] = n; }",
    )
    points = clouds.uniform(N, 3, seed=1)
    out = zeros(session, N, np.int32)

    build(points, method, session).visit(function, out=out)

    counts = np.diff(truth(points, RADIUS).offsets) + 3
    assert np.array_equal(out.get(), (counts // 5 + 1) * 5)


def test_finish_runs_for_those_without_neighbors(session, method):
    points = np.float32([[0, 0, 0], [10, 0, 0], [0, 10, 0], [10, 0.1, 0]])
    function = clfrnn.NeighborFunction(
        arguments="global int *finished", state="int n = 5;", per_neighbor="++n;", finish="finished[i] += n;"
    )
    index = build(points, method, session)
    own, foreign, none = (zeros(session, n, np.int32) for n in (4, 3, 2))

    index.visit(function, finished=own)
    index.visit(function, np.float32([[50, 50, 50], [0, 0, 0], [-1e30, 0, 0]]), finished=foreign)
    index.visit(function, np.float32([[50, 50, 50], [0, 0, 0]]), radius=[0.1, 0.0], finished=none)

    assert own.get().tolist() == [5, 6, 5, 6]
    assert foreign.get().tolist() == [5, 6, 5]
    assert none.get().tolist() == [5, 6]


@pytest.mark.core
@pytest.mark.parametrize("domain", [{}, {"box": (1, 1, 1), "periodic": True}], ids=["open", "periodic"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_device_queries_that_are_not_finite(session, method, bad, domain):
    """They have no neighbors and touch nobody else's results; finish runs for them; check() names the first."""
    points, queries = clouds.uniform(N, 3, seed=1), clouds.uniform(50, 3, seed=2)
    expected = np.diff(truth(points, RADIUS, queries=queries, **domain).offsets) + 5
    queries[[17, 40], [2, 0]] = bad
    expected[[17, 40]] = 5
    function = clfrnn.NeighborFunction(
        arguments="global int *finished", state="int n = 5;", per_neighbor="++n;", finish="finished[i] += n;"
    )
    index = build(points, method, session, **domain)
    finished = zeros(session, 50, np.int32)

    index.visit(function, cla.to_device(session.queue, queries), finished=finished)

    assert np.array_equal(finished.get(), expected)
    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 17"):
        index.check()
    index.check()


@pytest.mark.parametrize("foreign", [False, True], ids=["self", "foreign"])
def test_a_visit_in_slices_serves_every_query_once(session, method, foreign):
    points, queries = clouds.uniform(300, 3, seed=1), clouds.uniform(400, 3, seed=2) if foreign else None
    expected = np.diff(truth(points, RADIUS, queries=queries).offsets)
    function = clfrnn.NeighborFunction(
        arguments="global int *counts, global int *runs",
        state="int n = 0; atomic_inc(runs);",
        per_neighbor="++n;",
        finish="counts[i] += n;",
    )
    slices = {"slice_seconds": 1e-9, "least_budget": 500, "clocks_of_pair": 1 << 60}
    index = build(points, method, tuned(session, runtime=slices))
    counts, runs = (zeros(index.session, n, np.int32) for n in (len(expected), 1))

    many, _ = visits(index.session, lambda: index.visit(function, queries, counts=counts, runs=runs, checked=False))

    assert many > 1
    assert np.array_equal(counts.get(), expected)
    assert runs.get()[0] == len(expected)


def test_pieces_are_text_and_nothing_else(session):
    """What means something to templates means nothing here, and comments end where a piece ends."""
    function = clfrnn.NeighborFunction(
        preamble='#if 0\n## a\n%% for\n% endif\n#endif\n#define TEXT "${no} <%def>"\n#define LAST 3 // ${three}',
        arguments="global int *out // one, two",
        state="int n = 17\n%\n5; // ${n} \\",
        per_neighbor="n +=\n1; // all\n/* ##\n## <%\n% if\n*/ // <%include file='x'/> ${",
        finish="out[i] = n + LAST + sizeof(TEXT) \\\n  ; // done",
    )
    for name in METHODS:
        out = zeros(session, 2, np.int32)
        clfrnn.build_index(np.float32([[0, 0], [0, 1]]), 1, method=name, session=session).visit(function, out=out)
        assert out.get().tolist() == [2 + 1 + 3 + len("${no} <%def>") + 1] * 2


def test_a_name_of_a_built_in_function_is_a_variable(session, method):
    points = clouds.uniform(60, 3, seed=1)
    function = clfrnn.NeighborFunction(
        arguments="const real max, global real *clamp",
        state="real min = max, floor = 0, fmin = 0, fmax = 0, clz = 0, fabs = 0;",
        per_neighbor="if (d2 < min) min = d2;",
        finish="clamp[i] = min;",
    )
    out = zeros(session, 60)

    build(points, method, session, box=(1, 1, 1), periodic=True).visit(function, max=9, clamp=out)

    expected = truth(points, RADIUS, box=(1, 1, 1), periodic=True)
    nearest = np.full(60, 9, np.float32)
    np.minimum.at(nearest, rows_of(expected), expected.squares)
    assert np.array_equal(out.get(), nearest)


@pytest.mark.parametrize("way", [WAYS[name] for name in WAYS if "sort" in name or name == "brute_force"], ids=str)
def test_sums_are_repeatable_without_atomics(session, way):
    points = clouds.uniform(N, 3, seed=1)
    function = clfrnn.NeighborFunction(
        arguments="global real *sums", state="real sum = 0;", per_neighbor="sum += sqrt(d2);", finish="sums[i] = sum;"
    )
    found = []
    for _ in range(4):
        sums = zeros(session, N)
        build(points, way, session).visit(function, sums=sums)
        found.append(sums.get())

    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_nothing_is_compiled_twice(session, way):
    """Neither for other numbers, nor for other points, nor for an equal function written down anew."""
    points = clouds.uniform(N, 3, seed=1)
    fresh = own_session(session)
    index = build(points, way, fresh)
    out = zeros(fresh, N, np.int32)

    def visit(index, **asked):
        function = clfrnn.NeighborFunction(
            arguments="const real least, global int *out",
            state="int n = 0;",
            per_neighbor="n += d2 > least;",
            finish="out[i] = n;",
        )
        index.visit(function, out=out, **asked)

    visit(index, least=0.1)
    index.update(points)
    compiled = fresh.programs.compiled
    visit(index, least=0.2, radius=0.05, include_self=True)
    index.update(points[::-1])
    visit(index, least=0.3)
    visit(build(points * np.float32(3), way, fresh, radius=3 * RADIUS), least=0.4)

    assert fresh.programs.compiled == compiled


def test_a_step_of_particles_moves_what_was_written(session, method):
    """What belongs to i needs no atomics, and work on the session's queue comes after the visit."""
    points = clouds.uniform(N, 2, seed=1)
    function = clfrnn.NeighborFunction(
        arguments="global real_vec *sums",
        state="real_vec sum = 0;",
        per_neighbor="sum += dx;",
        finish="sums[i] += sum;",
    )
    index = build(points, method, session)
    sums = zeros(session, (N, 2))
    for _ in range(3):
        index.visit(function, sums=sums)

    expected = truth(points, RADIUS)
    total = np.zeros((N, 2))
    np.add.at(total, rows_of(expected), expected.vectors)
    assert np.allclose((sums / 3).get(), total, atol=1e-5)


# --- what does not compile --------------------------------------------------------------------------------------------


def refused(session, name="strips", **pieces):
    function = clfrnn.NeighborFunction(**pieces)
    index = clfrnn.build_index(np.zeros((3, 3), np.float32), 1, method=name, session=session)
    values = {"out": zeros(session, 3)} if "out" in pieces.get("arguments", "") else {}
    with pytest.raises(clfrnn.KernelBuildError) as caught:
        index.visit(function, **values)
    assert str(session.profile) in str(caught.value)
    assert "report it" not in str(caught.value)
    return caught.value


@pytest.mark.core
@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_mistake_is_shown_with_its_piece_and_line(session, name):
    error = refused(
        session,
        name,
        arguments="global float *out",
        state="float sum = 0;",
        per_neighbor="sum += d2;\n\tsum += weight[j]; // ${x}\n",
        finish="out[i] = sum;",
    )

    message = str(error)
    assert "the driver's compiler refused the code of this NeighborFunction.\nper_neighbor, line 2: " in message
    assert "weight" in message.splitlines()[1]
    assert "\n    \tsum += weight[j]; // ${x}\n    \t       ^\nCorrect it there. In scope are i, r2" in message
    assert re.search(r"^ +\d+ \tsum \+= weight\[j\]", error.source, re.MULTILINE)


@pytest.mark.core
@pytest.mark.parametrize(
    ("pieces", "where", "text"),
    [
        ({"preamble": "real f(real x)\n{\n    return y;\n}\n"}, "preamble, line 3", "    return y;"),
        ({"arguments": "global my_type *out"}, "arguments, line 1", "global my_type *out"),
        ({"state": "\n\nint i = 0;"}, "state, line 3", "int i = 0;"),
        ({"state": "float a = 0;", "finish": "a = 1;\na = j;"}, "finish, line 2", "a = j;"),
        ({"preamble": "#define BAD nothing_at_all", "per_neighbor": ";\nint a = BAD;"}, "per_neighbor, line 2", "BAD"),
        ({"state": "float a = 0"}, "state, line 1", "float a = 0"),
        ({"per_neighbor": "#if 1\nint a;"}, "per_neighbor, line 1", "#if 1"),
    ],
    ids=["preamble", "arguments", "state", "finish", "macro", "semicolon", "endif"],
)
def test_mistakes_in_every_piece(session, pieces, where, text):
    message = str(refused(session, **pieces))

    assert f"\n{where}: " in message
    assert f"\n    {text}" in message or f" {text}" in message


def test_many_mistakes_are_cut_short(session):
    code = "\n".join(f"unknown_{k} = 1;" for k in range(12))

    message = str(refused(session, finish=code))

    assert "finish, line 1: " in message
    assert "finish, line 8: " in message
    assert "finish, line 9: " not in message
    assert re.search(r"\n\.\.\. and \d+ more\nCorrect it there", message)


def test_a_mistake_that_shows_elsewhere(session):
    """The log is shown whole then, and what to do."""
    message = str(refused(session, preamble="typedef", per_neighbor=""))

    assert "the kernel with this NeighborFunction in it, and names no line of its pieces.\n" in message
    assert "error" in message
    assert "disturbs the code around them" in message


SOURCE = """typedef float real;
#line 1 "state"
float a;
float b = z;

#line 7 "clfrnn"
kernel void f() {
#line 1 "per_neighbor"
a += y;

#line 11 "clfrnn"
}"""


@pytest.mark.parametrize(
    "log",
    [
        "per_neighbor:1:6: error: use of 'y'\nper_neighbor:1:6: note: here\nclfrnn:8:3: warning: no",
        "error: per_neighbor:1:6: use of 'y'\nwarning: state:1:3: unused",
        "Compilation started\nper_neighbor:1:6: error: use of 'y'\n    1 | a += y;\n      |      ^\nCompilation failed",
        "per_neighbor:1:6: fatal error: use of 'y'",
        "per_neighbor:1:6: use of 'y'",
        "/tmp/build/per_neighbor:1:6: error: use of 'y'",
        "error: per_neighbor:1:6 <Spelling=/usr/include/a.h:51:24>: use of 'y'",
        "x\nerror: per_neighbor:1:6: use of 'y'\r\nper_neighbor:1:6: error: use of 'y'\n\"clfrnn\", line 3: error: no",
    ],
)
def test_logs_of_several_compilers(log):
    [complaint] = compile_errors(SOURCE, log)

    assert complaint == ("per_neighbor", 1, 6, "use of 'y'", "a += y;")
    assert str(complaint) == "per_neighbor, line 1: use of 'y'\n    a += y;\n         ^"


@pytest.mark.parametrize(
    "log",
    [
        "<source>:4:11: error: use of 'z'",
        "\"/tmp/dep-1a.cl\", line 4: error: use of 'z'",
        "C:\\tmp\\a.cl:4: error: use of 'z'",
    ],
)
def test_logs_that_count_the_lines_of_the_whole(log):
    assert compile_errors(SOURCE, log) == []
    [complaint] = compile_errors(SOURCE, log, named=False)
    assert complaint[:2] == ("state", 2)
    assert complaint.text == "float b = z;"
    assert compile_errors(SOURCE, log.replace("4", "7"), named=False) == []
    assert compile_errors(SOURCE, "<source>:90:1: error: far", named=False) == []


def test_a_driver_that_ignores_names_of_lines(session, monkeypatch):
    """It is asked again, without them, and its lines are counted."""
    import pyopencl as cl

    build = cl.Program.build

    def forgetful(self, *arguments, **options):
        try:
            return build(self, *arguments, **options)
        except cl.Error as error:
            raise cl.RuntimeError(re.sub(r"\b(per_neighbor|clfrnn):", "<source>:", str(error))) from None

    monkeypatch.setattr(cl.Program, "build", forgetful)
    message = str(refused(session, state="float a = 0;", per_neighbor="a += 1;\na += nothing_here;"))

    assert "\nper_neighbor, line 2: " in message
    assert "\n    a += nothing_here;\n         ^\n" in message


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="runs in a checkout")
@pytest.mark.parametrize("name", MINE)
def test_examples_of_the_page_run(name, capsys):
    scope = runpy.run_path(str(EXAMPLES / f"{name}.py"))

    printed = capsys.readouterr().out
    if name == "sph_density":
        assert 0.8 < np.median(scope["densities"].get()) < 1.4
    elif name == "radial_distribution":
        assert np.abs(scope["g"][scope["bins"] // 2 :] - 1).max() < 0.05
    else:
        assert scope["counts"].get().sum() == scope["index"].count().get().sum()
        assert "pairs" in printed
    assert printed.count("\n") == 1
    assert f"examples/{name}.py" in (EXAMPLES.parent / "guides/functions.md").read_text(encoding="utf-8")


def test_what_a_function_writes_may_be_where_the_queries_lie(session):
    points = clouds.uniform(200, 3, seed=1)
    queries = cla.to_device(session.queue, points[:50].copy())
    found = np.diff(truth(points, 0.3, queries=points[:50]).offsets)
    function = clfrnn.NeighborFunction(
        arguments="global float *out",
        state="int n = 0;",
        per_neighbor="++n;",
        finish="for (int k = 0; k < 3; ++k) out[3 * (49 - i) + k] = n;",
    )

    clfrnn.build_index(points, 0.3, method="strips", session=session).visit(function, queries, out=queries)

    assert np.array_equal(queries.get()[:, 0], found[::-1])


@pytest.mark.parametrize("n", [1, 63, 100, 129])
def test_state_runs_once_for_each_query(session, method, n):
    """Also where a group has items to spare: they must not touch what belongs to another."""
    points = clouds.uniform(n, 3, seed=3)
    out = cla.zeros(session.queue, n, np.int32) + 7
    function = clfrnn.NeighborFunction(
        arguments="global int *out, global int *runs",
        state="out[i] = 0; atomic_inc(runs);",
        per_neighbor="out[i] += 1;",
    )
    runs = zeros(session, 1, np.int32)

    clfrnn.build_index(points, 0.4, method=method[0], session=session, **method[1]).visit(
        function, out=out, runs=runs, checked=False
    )

    assert np.array_equal(out.get(), np.diff(truth(points, 0.4).offsets))
    assert runs.get()[0] == n


def test_arguments_may_be_a_comment(session):
    index = clfrnn.build_index(clouds.uniform(10, 3, seed=1), 0.4, session=session)

    assert index.visit(clfrnn.NeighborFunction(arguments="/* none */")) is not None


@pytest.mark.parametrize("piece", ["arguments", "state", "per_neighbor", "finish", "preamble"])
def test_half_characters_are_no_code(piece):
    """As text has them that was read with errors="surrogateescape"; they ended in an error of the binding's."""
    for half in ("\ud800", "\udcff"):
        with pytest.raises(
            clfrnn.InvalidInputError, match=rf"{piece}: line 2: expected text, got .*lone surrogate.*; read"
        ):
            clfrnn.NeighborFunction(**{piece: f"// grün \U0001f600\n// {half}\n"})


def test_a_function_of_another_process_is_equal_to_one_of_this():
    """Hashes of text differ between processes, and what was pickled must not keep the old one."""
    code = "import pickle, sys, clfrnn; f = clfrnn.NeighborFunction(finish='int a = 1;'); hash(f)\n"
    code += "sys.stdout.buffer.write(pickle.dumps(f))"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
        found, here = pickle.loads(done.stdout), clfrnn.NeighborFunction(finish="int a = 1;")
        assert found == here
        assert hash(found) == hash(here)
        assert walk_function(found) == walk_function(here)
        assert hash(walk_function(found)) == hash(walk_function(here))
