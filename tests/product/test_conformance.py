"""The exactness contract, as one product: way of searching x space x device x dimension x dtype, against the reference.

Clouds and spaces are many here and what is asked of them is little; every kind of question is in test_laws.py. What one
kind of space has alone is in test_periodic.py, test_cells.py and test_batches.py.
"""

import functools
import itertools

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    arranged_as_gpu,
    assert_counts,
    assert_nearest,
    assert_rows,
    assert_same,
    counts_of,
    joined,
    rows_of,
    structure_of,
    truth,
)
from spaces import ALL_CELLS, SYSTEMS, build, search, space_of, spaces

import clfrnn
from clfrnn import clouds, reference
from clfrnn.verify import Case, edge_cloud

CORE = ("open", "box")


@pytest.fixture
def space(request, dim):
    return space_of(request.param, dim)


def radius_for(points, neighbors=12):
    """A radius that finds about as many neighbors in a uniform cloud of the unit cube."""
    n, dim = points.shape
    ball = np.pi if dim == 2 else 4 / 3 * np.pi
    return float((neighbors / (max(n, 2) * ball)) ** (1 / dim))


# --- clouds ---------------------------------------------------------------------------------------------------------


@functools.cache
def sampled(name, space, dtype):
    """A cloud, a radius for it, and the reference, computed once for all ways."""
    # Of the points of one cloud nearly all are neighbors of each other.
    points = clouds.CLOUDS[name](
        space.number // (3 if name == "multiscale" and space.kind == "open" else 1), space.dim, dtype=dtype, seed=7
    )
    radius = space.short if space.repeats else radius_for(points)
    return points, radius, reference.neighbors(points, radius, **space.domain)


@spaces("open", "box", core=CORE)
@pytest.mark.parametrize("cloud", sorted(clouds.CLOUDS))
def test_every_cloud(session, way, space, dtype, cloud):
    points, radius, expected = sampled(cloud, space, dtype)

    assert_same(space.search(session, way, points, radius), expected)


@pytest.mark.core
@pytest.mark.optimized
@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 127, 129])
def test_few_points(session, way, dim, dtype, n):
    """Lists of indices alone, as most are."""
    points = clouds.uniform(n, dim, dtype=dtype, seed=n)
    method, options = way

    found = clfrnn.search(points, 0.4, method=method, session=session, sort="index", **options)

    assert_same(found, truth(points, 0.4))
    assert found.distances is found.vectors is found.shifts is None


def far_apart(uniform):
    return np.where(np.arange(len(uniform))[:, None] % 2, uniform, uniform + 1e6)


def decades(uniform):
    rng = np.random.default_rng(5)
    return rng.standard_normal(uniform.shape) * 10.0 ** rng.uniform(-6, 3, (len(uniform), 1))


#: Clouds on which careless code fails, of a uniform one in single and in double precision, and a radius for each.
DEGENERATE = {
    "coincident": (lambda x: np.full_like(x[:300], 0.3), 0.1),
    "coincident, radius zero": (lambda x: clouds.duplicates(*x.shape, dtype=x.dtype), 0.0),
    "collinear": (lambda x: x * np.eye(1, x.shape[1], x.shape[1] - 1), 0.02),
    "lattice": (lambda x: clouds.lattice(*x.shape, dtype=x.dtype), None),
    "decades": (decades, 0.01),
    "far": (lambda x: x + (1e6 if x.dtype == np.float32 else 1e14), 0.25),
    "negative": (lambda x: x - x.dtype.type(0.5), 0.09),
    "outlier": (lambda x: np.where(np.arange(len(x))[:, None] == len(x) // 2, 1e6, x), 0.09),
    "clusters far apart": (far_apart, 0.3),
    "huge extent, tiny radius": (lambda x: (x - 0.5) * 1e30, 1e-6),
    "tiny": (lambda x: x * 1e-15, 1e-16),
    "everything in reach": (lambda x: x[:250], 3.0),
    "squares that vanish": (lambda x: x[:200] * (1e-30 if x.dtype == np.float32 else 1e-200), 0.0),
}


@functools.cache
def degenerate(name, dim, dtype):
    """Such a cloud, its radius, and the reference, computed once for all ways."""
    make, radius = DEGENERATE[name]
    points = make(clouds.uniform(min(POINTS, 700), dim, dtype=dtype, seed=3)).astype(dtype)
    radius = float(np.diff(np.unique(points[:, 0]))[0]) if radius is None else radius
    return points, radius, reference.neighbors(points, radius)


@pytest.mark.core
@pytest.mark.optimized
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_clouds(session, way, dim, dtype, name):
    points, radius, expected = degenerate(name, dim, dtype)

    assert_same(search(points, radius, way, session), expected)


@pytest.mark.core
@pytest.mark.optimized
@pytest.mark.parametrize("far", [False, True], ids=["held", "wrapped"])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_on_cell_edges(session, way, dim, dtype, seed, far):
    radius = float(dtype.type(np.random.default_rng([seed, dim]).uniform(0.05, 1.5)))
    case = Case(method=way[0], options=way[1], dim=dim, dtype=dtype, seed=seed, points=max(POINTS, 1200))
    points = edge_cloud(session, case, radius=radius, seed=seed, far=far)
    expected = reference.neighbors(points, radius)
    grid = structure_of(build(points, radius, way, session)).cell_grid

    # The cells of FENNS follow what a sample tells of these very points, on a GPU in small clouds as well.
    if grid is not None and not (way[0] == "fenns" and (far or session.profile.kind == "gpu")):
        assert grid.wrapped == far
        steps = (points[1 : len(points) // 2] - np.asarray(grid.low)) / np.asarray(grid.sides)
        assert np.abs(steps - np.round(steps)).max() < 1e-3, "the points lie on the edges of these very cells"
    assert expected.offsets[-1] > 0
    assert_same(search(points, radius, way, session), expected)


# --- spaces ---------------------------------------------------------------------------------------------------------


@spaces("box", *ALL_CELLS, *SYSTEMS, core=("box", "cell"))
@pytest.mark.parametrize("reach", ["short", "long"])
def test_points_anywhere(session, way, space, dtype, reach):
    """Inside, on the faces, and far away; a long radius is beyond half of a box, and beyond the whole of some."""
    many, radii = (space.number, (space.short,)) if reach == "short" else (18, space.long)
    places = [(many, 0, False), (many, 0, True), (many, space.far, False), (1, 1, False), (2, 1, True)]
    for radius, (n, far, faces) in itertools.product(radii, places):
        points = space.points(max(n, 5) if space.kind == "systems" else n, dtype, far=far, faces=faces)
        expected = space.truth(points, radius)

        found = space.search(session, way, points, radius)

        assert_same(found, expected)
        assert not space.repeats or found.shifts.shape == (found.num_pairs, space.dim)
        if space.kind == "box":
            assert n < 18 or abs(expected.shifts).max() > far / 2
            assert (rows_of(expected) == expected.indices).any() == (radius >= 1), "images of the query itself"


@spaces("box", *ALL_CELLS, core=("box", "cell"))
def test_every_subset_of_axes(session, method, space):
    """Lengths of other axes and other vectors never change results, whatever they are."""
    (given, whole), points = next(iter(space.domain.items())), space.points(space.number // 2, np.float32, far=2)
    for flags in itertools.product([True, False], repeat=space.dim):
        for other in (0.0, np.nan, -3.0, np.inf) if any(flags) and not all(flags) else (1.0,) if any(flags) else ():
            kept = np.array(flags) if given == "box" else np.array(flags)[:, None]
            domain = {given: np.where(kept, whole, other), "periodic": flags}
            expected = truth(points, 2 * space.short, **{given: np.where(kept, whole, 1.0), "periodic": flags})
            assert not expected.shifts[:, ~np.array(flags)].any()
            assert_same(search(points, 2 * space.short, (method, {}), session, **domain), expected)


def test_a_box_means_a_box(session, dim):
    """All axes are periodic where a box or a cell is given; flags may be integers. False makes it a hint."""
    points = space_of("cell.hexagonal", dim).points(80, np.float32)
    plain = truth(points, 0.3)
    for name, domain in (("box", [1.0] * dim), ("cell", space_of("cell.hexagonal", dim).rows)):
        wrapped = truth(points, 0.3, **{name: domain})
        assert wrapped.offsets[-1] > plain.offsets[-1]
        for periodic in (None, True, 1, [1] * dim, np.ones(dim, np.int8)):
            found = clfrnn.search(points, 0.3, **{name: domain}, periodic=periodic, session=session, **FULL)
            assert_same(found, wrapped)
        assert_counts(clfrnn.build_index(points, 0.3, **{name: domain}, session=session).count(), wrapped)
    hints = [[1, 1, 1], [0, -1, 2], [np.nan, np.inf, 1], [[0.2] * 3, [0.1] * 3]]
    for box in (np.array(hint)[..., :dim] for hint in hints):
        for periodic in (False, 0, [0] * dim, np.zeros(dim, bool)):
            found = clfrnn.search(points, 0.3, box=box, periodic=periodic, session=session, **FULL)
            assert_same(found, plain)
            assert found.shifts is None


@spaces("open", "box", "torus", *SYSTEMS, core=CORE)
def test_foreign_queries(session, way, space, dtype):
    """Nothing is self, wherever the queries lie; none of them, and some among no points."""
    points = space.points(min(space.number, 200), dtype)
    near, far = space.points(50, dtype, seed=2, far=1), space.points(6, dtype, seed=3, far=space.far)
    queries = np.concatenate([near, far, points[:20]])
    expected = space.truth(points, 2 * space.short, queries=queries)

    assert_same(space.search(session, way, points, 2 * space.short, queries=queries), expected)
    assert_same(space.search(session, way, points, 2 * space.short, queries=queries, include_self=True), expected)
    assert len(space.search(session, way, points, 2 * space.short, queries=queries[:0])) == 0
    none = space.search(session, way, points[:0], 2 * space.short, queries=queries)
    assert none.to_host().counts.tolist() == [0] * len(queries)


@spaces(*ALL_CELLS)
def test_counts_and_nearest(session, way, space, dtype):
    """Of an index, whose points lie in the cell or far away; queries lie anywhere, and have radii of their own."""
    (reach,) = space.long
    for far in (0, 9):
        points = space.points(space.number, dtype, far=far)
        queries = space.points(space.number // 2, dtype, seed=8, far=30)
        radii = np.random.default_rng(2).uniform(0, reach, len(queries)).astype(dtype)
        index = space.index(session, way, points, reach)
        for radius in (space.short, reach):
            own, foreign = space.truth(points, radius), space.truth(points, radius, queries=queries)
            assert_counts(index.count(radius=radius), own)
            assert_nearest(index.nearest(radius=radius), own)
            assert_counts(index.count(queries, radius=radius), foreign)
            assert_nearest(index.nearest(queries, radius=radius), foreign)
        expected = space.truth(points, radii, queries=queries)
        assert_counts(index.count(queries, radius=radii), expected)
        assert_same(index.query(queries, radius=radii, **FULL), expected)


@spaces("cell.hexagonal", "cell.skewed", *SYSTEMS)
def test_k_nearest_and_conditions(session, method, space, dtype):
    """Within a radius and without one, of points and of queries; more than there are; and on one side."""
    points = space.points(space.number, dtype, far=2)
    queries = space.points(space.number // 3, dtype, seed=2, far=4)
    known, foreign = space.known(len(points)), {"queries": queries, **space.asked(len(queries))}
    asked = {"method": method, "session": session, "vectors": True, **known}
    for k, radius in ((5, 0.2), (5, 0.9), (5, None), (len(points) + 20, None)):
        if k > len(points) and space.name in ("systems.open", "systems.boxes"):
            continue  # not as many, or far away: images in one direction
        for given in ({}, foreign):
            found = clfrnn.nearest(points, k, radius=radius, **given, **asked)
            assert_rows(found, reference.nearest(points, k, radius=radius, **given, **known))
    where = clfrnn.Condition(f"dx.x > 0 && {'(shift.x + shift.y) % 2 == 0' if space.repeats else '((j - i) & 1)'}")

    def met(i, j, d2, dx, shift):
        chosen = (shift[:, 0] + shift[:, 1]) % 2 == 0 if space.repeats else (j - i) % 2 == 1
        return (dx[:, 0] > 0) & chosen

    index = space.index(session, (method, {}), points, 0.7)
    expected = reference.neighbors(points, 0.7, where=met, **known)
    assert_same(index.query(where=where, **FULL), expected)
    assert_counts(index.count(where=where), expected)
    nearest = reference.nearest(points, 4, radius=0.7, where=met, **known)
    assert_rows(index.nearest(k=4, where=where, vectors=True), nearest)


@spaces("box", *ALL_CELLS, *SYSTEMS)
def test_user_functions(session, method, space):
    """See the shifts, and the differences of which the squares are added."""
    points, axes, n = space.points(space.number // 2, np.float32, far=1), "xyz"[: space.dim], space.number // 2
    expected = space.truth(points, 2 * space.short)
    sums = clfrnn.NeighborFunction(
        arguments="global int *shifts, global real *last, global int *wrong",
        state=f"int {', '.join(f's{a} = 0' for a in axes)}, bad = 0; real far = 0;",
        per_neighbor=" ".join(f"s{a} += shift.{a} * (j + 1);" for a in axes)
        + f" bad += d2 != {' + '.join(f'dx.{a} * dx.{a}' for a in axes)}; far = fmax(far, d2);",
        finish=" ".join(f"shifts[{space.dim} * i + {k}] = s{a};" for k, a in enumerate(axes))
        + " last[i] = far; wrong[i] = bad;",
    )
    shifts = cla.zeros(session.queue, (n, space.dim), np.int32)
    last, wrong = cla.zeros(session.queue, n, np.float32), cla.zeros(session.queue, n, np.int32)

    space.index(session, (method, {}), points, 2 * space.short).visit(sums, shifts=shifts, last=last, wrong=wrong)

    total, farthest = np.zeros((n, space.dim), np.int64), np.zeros(n, np.float32)
    if space.repeats:
        np.add.at(total, rows_of(expected), expected.shifts * (expected.indices[:, None] + 1))
    np.maximum.at(farthest, rows_of(expected), expected.squares)
    assert farthest.any()
    assert np.array_equal(shifts.get(), total)
    assert np.array_equal(last.get(), farthest)
    assert not wrong.get().any()


# --- updates --------------------------------------------------------------------------------------------------------


@spaces("open", "box", "torus", *ALL_CELLS, *SYSTEMS, core=CORE)
def test_updates(session, way, space, dtype):
    """Points go anywhere between two steps and come back, and the domain may change; earlier lists stay as they are."""
    (points, _), *steps = space.steps(dtype)
    radius, known = 2 * space.short, space.known(len(points))
    index = build(points, radius, way, session, **known)
    held, first = index.query(**FULL), truth(points, radius, **known)
    for step, (points, changed) in enumerate(steps):
        known |= changed
        expected = truth(points, radius, **known)
        for given in (points, cla.to_device(session.queue, points))[:: (-1) ** step]:
            assert index.update(given, **changed) is None
            assert_counts(index.count(), expected), "before the device has told where points lie"
            assert_same(index.query(**FULL), expected)
        assert_counts(index.count(), expected), "and after it"
        grid = structure_of(index).cell_grid
        assert space.kind != "torus" or grid is None or grid.wrapped or way[0] == "fenns"
    assert index.last_update == "rebuilt" or way[0] == "aabb_tree"
    index.check()
    assert_same(held, first)


@pytest.mark.core
@pytest.mark.optimized
def test_updates_far_beyond_the_cells(session, way, dim, dtype):
    """Device arrays are binned before their box is known: coordinates may then lie beyond every integer."""
    rng = np.random.default_rng(20)
    index = build(rng.random((400, dim)).astype(dtype), 0.1, way, session)
    for cells in (2.0**29, 2.0**31, 2.0**40, -(2.0**31)):
        points = (0.1 * cells + rng.uniform(-0.4, 0.4, (400, dim))).astype(dtype)

        index.update(cla.to_device(session.queue, points))

        assert_counts(index.count(), truth(points, 0.1))


@spaces("box", *ALL_CELLS, *SYSTEMS, core=CORE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_device_rows_that_are_not_finite(session, method, space, bad):
    """Nobody's neighbor, in whatever image, until the next call that waits."""
    good = space.points(60, np.float32)
    points, whole = good.copy(), np.delete(np.arange(60), [17, 40])
    points[17, space.dim - 1] = points[40] = bad
    index = space.index(session, (method, {}), good, 2 * space.short)
    expected = np.zeros(60, np.int64)
    expected[whole] = counts_of(truth(points[whole], 2 * space.short, **space.known(60, whole)))

    index.update(cla.to_device(session.queue, points))

    assert np.array_equal(index.count().get(), expected)
    assert np.array_equal(index.nearest().indices.get() == -1, expected == 0)
    for call in (index.check, index.query):
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 17"):
            call()
    index.update(good)
    counts = index.count(cla.to_device(session.queue, points), **space.asked(60))
    assert counts.get()[[17, 40]].tolist() == [0, 0]
    with pytest.raises(clfrnn.InvalidInputError, match="queries: .*row 17"):
        index.check()
    assert_same(index.query(**FULL), space.truth(good, 2 * space.short))


# --- other dimensions, and the arrangement for a GPU ------------------------------------------------------------------


@spaces("open", "box", "axis", "systems.open", "systems.axis", core=("open", "box", "axis"), drawn=())
@pytest.mark.parametrize("dim", [1, 4, 7, 12])
def test_other_dimensions(session, space, dim, dtype):
    """One for each length of vectors that the product above leaves out; every dimension is a program of its own."""
    if dtype == np.float64 and (dim in {4, 7} or space.kind == "systems"):
        pytest.skip("float64 is tested in the shortest vectors and the longest")
    if space.kind in ("box", "axis") and (dim > 4 or (dim == 1) != (dtype == np.float64)):
        pytest.skip("each further length of vectors, and dtype, is met in open space and in systems")
    points, queries = (space.points(n, dtype, seed=n, far=space.kind == "axis") for n in (90, 40))
    radius = 0.3 * dim**0.5
    for way in [("brute_force", {}), ("aabb_tree", {})][: 2 if space.kind == "systems" else 1]:
        assert_same(space.search(session, way, points, radius), space.truth(points, radius))
    if space.kind != "systems":
        foreign = space.search(session, way, points, radius, queries=queries)
        assert_same(foreign, space.truth(points, radius, queries=queries))
    if space.kind in ("box", "axis"):
        half = space.search(session, way, points, radius, half=True)
        assert_same(half, space.truth(points, radius, half=True))
        far = 3.2 if space.kind == "axis" else radius
        assert_same(space.search(session, way, points[:6], far), space.truth(points[:6], far))


@spaces("open", "box", "axis", "torus", *ALL_CELLS, *SYSTEMS)
@pytest.mark.parametrize(("name", "dim"), [("strips", 3), ("uniform_grid", 2), ("brute_force", 2), ("aabb_tree", 3)])
def test_arranged_as_on_a_gpu(session, space, name):
    """Windows in step, packets of queries, sorts by buckets, and attributes that are measured afterwards."""
    if name == "aabb_tree" and space.kind not in ("cell", "systems"):
        pytest.skip("packs take longest to compile, and have tests of their own in test_small.py and test_periodic.py")
    gpu, way = arranged_as_gpu(session, name), (name, {})
    for far, radius in ((0, space.short), (space.far, space.short), (0, space.long[-1])):
        points = space.points(20 if radius > 1 else min(space.number, 200), np.float32, far=far if space.repeats else 0)
        queries = space.points(50, np.float32, seed=8, far=far)
        index = space.index(gpu, way, points, radius)
        if structure_of(index).cell_grid is not None:
            assert not structure_of(index).config.columns
            assert structure_of(index).cell_grid.wrapped or space.kind != "torus"
        own, foreign = space.truth(points, radius), space.truth(points, radius, queries=queries)
        assert_same(space.search(gpu, way, points, radius), own)
        assert_same(space.search(gpu, way, points, radius, queries=queries), foreign)
        if space.kind in ("cell", "systems"):
            assert_counts(index.count(queries, **space.asked(50)), foreign)
        elif space.kind in ("open", "box") and radius == space.short and name != "brute_force":
            assert_counts(index.count(), own)
            assert_nearest(index.nearest(), own)
            half = space.search(gpu, way, points, radius, half=True)
            assert_same(half, space.truth(points, radius, half=True))
            radii = np.linspace(0, radius, len(points)).astype(np.float32)
            assert_same(space.search(gpu, way, points, radii), space.truth(points, radii))
            blocks = list(index.query_blocks(max_bytes=len(own.indices) * 10, **FULL))
            assert len(blocks) > 1
            assert_same(joined(blocks), own)
    if space.kind in ("open", "axis", "torus"):
        return
    for step, (points, changed) in enumerate(space.steps(np.float32)):
        index = index if step else space.index(gpu, way, points, space.short)
        index.update(cla.to_device(gpu.queue, points) if step % 2 else points, **changed)
        expected = truth(points, space.short, **{**space.known(len(points)), **changed})
        assert_counts(index.count(), expected)
        assert_same(index.query(**FULL), expected)
    for bad in (np.nan, np.inf, -np.inf) if space.kind == "box" else ():
        points[3, 0] = points[7, -1] = bad
        index.update(cla.to_device(gpu.queue, points))
        assert index.count().get()[[3, 7]].tolist() == [0, 0]
        with pytest.raises(clfrnn.InvalidInputError, match="points: .*row 3"):
            index.check()
