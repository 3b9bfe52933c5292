"""What periodic boxes have alone; test_conformance.py goes over them with all other spaces."""

import functools
import itertools

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import (
    FULL,
    POINTS,
    arranged_as_gpu,
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_rows,
    assert_same,
    nudged,
    rows_of,
    structure_of,
    truth,
)
from spaces import build, search

import clfrnn
from clfrnn import clouds, reference
from clfrnn.domain.box import SLACK
from clfrnn.methods import METHODS
from clfrnn.points.periodic_box import check_images

pytestmark = pytest.mark.optimized

N = min(200, POINTS)


@pytest.fixture
def dtype(request, dtype):
    """As everywhere, save that float64 in two dimensions is left to the product: it takes as long to compile as all."""
    if dtype == np.float64 and "dim" in request.fixturenames and request.getfixturevalue("dim") == 2:
        pytest.skip("float64 is tested in three dimensions")
    return dtype


@pytest.fixture(params=["as it is", "as a GPU"])
def arranged(request, session):
    """The device as it is, and as a GPU: walks there take as long to compile as all others, packs longest."""
    if request.param == "as it is":
        return session
    test = request.node.originalname
    given = {name: request.getfixturevalue(name) for name in ("way", "dim", "dtype") if name in request.fixturenames}
    method, options = given.get("way", ("strips", {}))
    inside = test == "test_pairs_on_the_edges_of_cells_with_all_points_inside"
    if given.get("dtype") == np.float64 and not (inside and method in {"strips", "aabb_tree"} and not options):
        pytest.skip("float64 in the arrangement for a GPU is left to one test, of a walk over cells and of packs")
    on_edges = test == "test_pairs_on_the_edges_of_periodic_cells"
    if method == "aabb_tree" and not on_edges and (given["dim"] == 2 or (options and not inside)):
        pytest.skip("packs in the plane, and of small leaves, are left to one test")
    return arranged_as_gpu(session, method)


@pytest.fixture
def gpu_like(session):
    """The device as a GPU."""
    return arranged_as_gpu(session)


def unit(dim, periodic=True):
    return {"box": (1.0,) * dim, "periodic": periodic}


@functools.cache
def sample(name, n, dim, dtype):
    return clouds.CLOUDS[name](n, dim, dtype=dtype, seed=7)


# --- boxes of any size -----------------------------------------------------------------------------------------------


def test_corners_are_lengths_wherever_they_lie(session, method, dim):
    """Their difference in the points' dtype is the length: in float32, 1000.1 - 1000 is no 0.1."""
    points = sample("uniform", N // 2, dim, np.float32) * np.float32(1.1)
    ends = [(low, low + 1.3) for low in (0.0, -0.5, 17.0, -1000.0, 0.3)]
    for low, high in [*ends, (1000.0, 1000.1)]:
        corners = [[low, 0, 0][:dim], [high, 1.1, 0.9][:dim]]
        lengths = np.float32(corners[1]) - np.float32(corners[0])
        radius = 0.2 if high - low > 1 else 0.04
        expected = truth(points, radius, box=lengths, periodic=True)

        for box in (corners, lengths):
            assert_same(search(points, radius, (method, {}), session, box=box, periodic=True), expected)


def test_few_cells_on_an_axis(session, way, dim):
    """The first axis is one to four radii long, a little more or less, the others longer."""
    points = sample("uniform", N // 3, dim, np.float32)
    for cells in (1, 2, 3, 4):
        exact = cells * 0.2
        for length in (exact, float(np.nextafter(np.float32(exact), np.float32(0))), exact + 0.05):
            domain = {"box": (length, 1, 0.7)[:dim], "periodic": True}
            assert_same(search(points, 0.2, way, session, **domain), truth(points, 0.2, **domain))


def test_vectors_are_of_raw_coordinates(dim):
    """(p_j - q_i) + shift * length, whose squares summed are the squared distance: what the product compares with."""
    points, length = sample("uniform", N // 2, dim, np.float32) * np.float32(40), np.float32(9.7)
    expected = truth(points, 2.0, box=(length,) * dim)
    vectors = (points[expected.indices] - points[rows_of(expected)]) + expected.shifts.astype(np.float32) * length
    squares = functools.reduce(np.add, (vectors * vectors).T)

    assert expected.shifts.any()
    assert np.array_equal(expected.vectors, vectors)
    assert np.array_equal(expected.distances, np.sqrt(squares))


def test_a_matrix_has_no_place_for_several_images(session, method):
    points = sample("uniform", 12, 2, np.float32)

    single = search(points, 0.3, (method, {}), session, **unit(2))
    several = search(points, 0.9, (method, {}), session, **unit(2))

    assert single.to_scipy().nnz == single.num_pairs
    for found in (several, several.to_host(), search(points, 0.9, (method, {}), session, vectors=False, **unit(2))):
        with pytest.raises(clfrnn.InvalidInputError, match=r"to_scipy: query \d+ sees several images of point \d+"):
            found.to_scipy()


@pytest.mark.parametrize("where", ["host", "device"])
def test_cells_of_a_periodic_box_stay_as_many(session, dim, where):
    """However often points cross the seam: a cell's side is not rounded up anew with each new place of the box."""
    for name in sorted(METHODS):
        points = sample("uniform", N, dim, np.float32)
        index = clfrnn.build_index(points, 0.15, method=name, session=session, **unit(dim))
        if structure_of(index).cell_grid is None:
            continue
        shape = structure_of(index).cell_grid.shape
        for step in range(8):
            moved = points + np.float32(0.01 * (step + 1) * (-1) ** step)
            index.update(moved if where == "host" else cla.to_device(session.queue, moved))
            index.query(**FULL)
            assert structure_of(index).cell_grid.shape == shape


# --- pairs on the seam ------------------------------------------------------------------------------------------------


def test_a_pair_known_to_break_careless_windows(arranged, way, dim, dtype):
    """radius 0.125, length 1, one just about 0.875 and the other a hair above 0."""
    rng = np.random.default_rng(1)
    near = np.nextafter(dtype.type(0.875), np.array([0, 1], dtype))
    q = np.concatenate([near, nudged(rng, np.full(60, 0.875), dtype), 0.875 - rng.random(60) * 1e-7]).astype(dtype)
    x = np.concatenate([[0, np.finfo(dtype).tiny], rng.random(60) * 1e-6, 2.0 ** -rng.uniform(20, 60, 60)]).astype(
        dtype
    )
    for axis in {0, dim - 1}:
        points = np.full((len(q) + len(x), dim), 0.5, dtype)
        points[:, axis] = np.concatenate([q, x])
        expected = truth(points, 0.125, **unit(dim))
        seam = (rows_of(expected) < len(q)) & (expected.indices >= len(q))
        far = (points[expected.indices[seam], axis].astype(np.longdouble) - points[rows_of(expected)[seam], axis]) + 1
        assert (far > 0.125).any(), "pairs that are neighbors by rounding alone"
        assert_same(search(points, 0.125, way, arranged, **unit(dim)), expected)


def edges_and_partners(draw, count, cells, radius, length, dtype):
    """Positions on edges of cells, or a float beside them, and others that lie a radius away from each."""
    sides, low = (np.array(each) for each in cells)
    steps = draw.integers(0, np.rint(length / sides).astype(int) + 2, (count, len(sides)))
    edge = nudged(draw, low + steps * sides, dtype)
    partner, axis = edge.copy(), draw.integers(len(sides), size=count)
    partner[np.arange(count), axis] += draw.choice([-1.0, 1.0], count).astype(dtype) * dtype.type(radius)
    return edge, partner


def settled(points_of, index_of, radius, dim):
    """Points, made for the sides and the corner of cells, in an index that has these very cells, if any."""
    cells = (radius,) * dim, (0.0,) * dim
    for _ in range(6):  # the cells follow the points and the points the cells
        points = points_of(cells)
        index = index_of(points)
        grid = structure_of(index).cell_grid
        if grid is None or (grid.sides, grid.low) == cells:
            return points, index, True
        cells = grid.sides, grid.low
    return points, index, False


@pytest.mark.core
@pytest.mark.parametrize("seed", range(2))
def test_pairs_on_the_edges_of_periodic_cells(session, arranged, way, dim, dtype, seed):
    """On the very edges of the index's cells, their partners a radius away, both moved by whole lengths."""
    if way[0] == "brute_force":
        pytest.skip("it has no cells")
    rng = np.random.default_rng([seed, dim])
    radius = float(dtype.type(rng.uniform(0.05, 0.24)))
    length = float(dtype.type(rng.choice([1.0, 0.7, 3.3][: 5 - dim])))
    domain = {"box": (length,) * dim, "periodic": True}

    def points_of(cells):
        draw = np.random.default_rng([seed, dim, 1])
        edge, partner = edges_and_partners(draw, 100, cells, radius, length, dtype)
        low = np.array(cells[1])
        points = np.concatenate([edge, nudged(draw, partner, dtype)])
        turns = draw.integers(0, 5, points.shape) * (draw.random((200, 1)) < 0.3 * seed)
        points = nudged(draw, points + (turns + (points < low)) * length, dtype)
        points = np.maximum(points, low).astype(dtype)
        points[0] = low  # where the cells begin, in the next round as well
        return points

    points, _, exact = settled(points_of, lambda points: build(points, radius, way, arranged, **domain), radius, dim)
    expected = truth(points, radius, **domain)
    # The cells of FENNS follow what a sample tells of these very points; on a GPU, cells may alternate in size.
    if way[0] != "fenns" and session.profile.kind != "gpu":
        assert exact, "the points lie on the edges of these very cells"
    assert expected.shifts.any()
    assert_same(search(points, radius, way, arranged, **domain), expected)
    queries = nudged(rng, points[::2] + length, dtype)
    foreign = truth(points, radius, queries=queries, **domain)
    assert_same(search(points, radius, way, arranged, queries=queries, **domain), foreign)


def test_pairs_on_the_edges_of_cells_with_all_points_inside(session, arranged, way, dim, dtype):
    """Partners are wrapped into the box: their pairs lie over its edges."""
    if way[0] == "brute_force":
        pytest.skip("it has no cells")
    radius = float(dtype.type(0.13))

    def points_of(cells):
        draw = np.random.default_rng([dim, 2])
        both = np.concatenate(edges_and_partners(draw, 150, cells, radius, 1.0, dtype))
        points = np.clip(nudged(draw, both % dtype.type(1), dtype), 0, 1).astype(dtype)
        points[0], points[1] = 0, 1
        return points

    points, index, _ = settled(points_of, lambda each: build(each, radius, way, arranged, **unit(dim)), radius, dim)
    expected = truth(points, radius, **unit(dim))
    assert structure_of(index)._is_in_box()
    assert expected.shifts.any()
    assert_same(search(points, radius, way, arranged, **unit(dim)), expected)
    if dtype == np.float64 and arranged is not session:
        return
    assert_counts(index.count(), expected)
    radii = (radius * np.random.default_rng(dim).random(len(points))).astype(dtype)
    radii[0] = radius  # the same cells
    assert_same(search(points, radii, way, arranged, **unit(dim)), truth(points, radii, **unit(dim)))


# --- a hair outside of the box ----------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("start", [0.0, 17.0, 7e4, 1e5])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.9, 1.1, 1.9, 2.1])
@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
def test_host_and_device_agree_on_who_is_inside(arranged, name, share, start):
    """What the host takes for inside the device does too, else no kernel would serve the query."""
    outside = share * SLACK
    points = np.float32(start) + np.float32([[-outside, 0.3], [1 + outside, 0.7], [0.5, -outside], [0.2, 1 + outside]])
    points = np.concatenate([points, np.float32(start) + np.random.default_rng(1).random((40, 2), np.float32)])
    domain = {"box": [(start,) * 2, (start + 1,) * 2], "periodic": True}
    index = clfrnn.build_index(points, 0.3, method=name, session=arranged, **domain)

    assert device_says_inside(arranged, index) or not structure_of(index)._is_in_box()
    assert_counts(index.count(), truth(points, 0.3, **domain))


def device_says_inside(session, index):
    """The last number that a periodic walk reads."""
    images = structure_of(index).buffers()["images"]
    return bool(session.read(images)[-1])


@pytest.mark.core
@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
def test_pairs_of_points_a_hair_outside(arranged, name):
    hair = 7e-6
    points = np.float32([[1 + hair, 0.3], [0.1 + 6e-6, 0.3], [-hair, 0.7], [0.9 - 6e-6, 0.7]])
    index = clfrnn.build_index(points, 0.1, method=name, session=arranged, **unit(2))

    assert structure_of(index)._is_in_box()
    assert index.count().get().tolist() == [1, 1, 1, 1]
    assert_same(search(points, 0.1, (name, {}), arranged, **unit(2)), truth(points, 0.1, **unit(2)))


@pytest.mark.parametrize("start", [0.0, -0.5, 3.7, -200.0, 5e4])
def test_the_host_bounds_the_pads_of_the_device(session, start, dtype, real):
    points = (start + np.random.default_rng(2).random((50, 3)) * [1, 2, 0.1]).astype(dtype)
    box = [np.full(3, start), start + np.array([1, 2, 0.1])]
    index = clfrnn.build_index(points, 0.01, method="strips", box=box, periodic=[True, True, False], session=session)

    assert device_says_inside(session, index)
    measured = session.read(structure_of(index).buffers()["images"])[12:15]
    bounded = structure_of(index).problem.space.pads(structure_of(index).cell_grid.low, real)
    assert (np.asarray(bounded) >= measured).all()
    assert measured[:2].all()
    assert bounded[2] == measured[2] == 0


@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
def test_a_query_keeps_its_kernels_whatever_the_index_does_since(arranged, name):
    """So far out that windows are as long as the box; the index then moves to where they are not."""
    length, start = np.float32(0.70434713), np.float32(296300.375)
    points = np.array([[start, start], [start + length, start]], np.float32)
    radius, domain = 0.985 * float(length), {"box": (length, length), "periodic": True}
    expected = truth(points, radius, **domain)
    assert np.abs(expected.shifts).max() > 1
    index = clfrnn.build_index(points, radius, method=name, session=arranged, **domain)
    hinted = index.query(hint=1, **FULL)
    blocks = index.query_blocks(max_bytes=10_000, **FULL)

    index.update(np.float32([[0.1, 0.1], [0.2, 0.2]]))

    assert_same(hinted, expected)
    found = [block.to_host() for block in blocks]
    assert np.array_equal(np.concatenate([block.indices for block in found]), expected.indices)
    assert np.array_equal(np.concatenate([block.shifts for block in found]), expected.shifts)


@pytest.mark.filterwarnings("error", "ignore::clfrnn.errors.PrecisionWarning")
def test_boxes_that_end_beyond_all_numbers(session):
    points = np.linspace(2.5e38, 3.3e38, 20, dtype=np.float32)[:, None].repeat(2, axis=1)
    index = clfrnn.build_index(points, 1.0, method="strips", box=(2e38, 2e38), periodic=True, session=session)
    assert index.count().get().tolist() == [0] * 20


# --- refusals ---------------------------------------------------------------------------------------------------------


PLAIN = clouds.uniform(50, 2, seed=1)


#: Message -> boxes, or flags with a box of two lengths.
BAD = {
    "box: expected a positive, finite length on axis 1.*got 0.0": [(1, 0), [[0, 0], [1, 0]], [[0, 1e9], [1, 1e9 + 1]]],
    "box: .*on axis 0.*got -1.0": [(-1, 1)],
    "box: .*on axis 1.*got -1.0": [[[0, 1], [1, 0]]],
    "box: .*on axis 1.*got nan": [(1, np.nan), [[0, np.nan], [1, 1]]],
    "box: .*on axis 0.*got inf": [(np.inf, 1), (1e39, 1)],
    "box: .*on axis 0": [(1e-40, 1)],
    "box: .*on axis 1": [[[0, -1e39], [1, 1]]],
    r"box: expected 2 lengths.*shape \(2, 2\), got 1.0": [1.0],
    r"box: expected 2 lengths.*got \(1, 1, 1\)": [(1, 1, 1)],
    "box: expected 2 lengths.*got 'unit'": ["unit"],
    "box: expected 2 lengths": [np.ones((3, 2)), np.ones((2, 3)), np.ones((1, 2)), [[0, 0], [1]]],
    r"periodic: expected True, False or 2 of them.*got \[True\]": [[True]],
    "periodic: expected.*got 2": [2],
    "periodic: expected.*got 1.0": [1.0],
    "periodic: expected.*got 'xy'": ["xy"],
    "periodic: expected": [[True] * 3, [0, 2], [True, None]],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_boxes(session, message):
    for given, call in itertools.product(BAD[message], (clfrnn.search, clfrnn.build_index)):
        domain = {"box": given, "periodic": True} if message.startswith("box") else {"box": (1, 1), "periodic": given}
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            call(PLAIN, 0.1, session=session, **domain)


def test_boxes_that_are_needed_or_have_another_shape(session):
    for domain, message in [
        ({"periodic": True}, "box: periodic=True needs the lengths of the box, got None"),
        ({"periodic": [False, True]}, "box: .*needs the lengths"),
        ({"periodic": False, "box": (1, 1, 1)}, "box: expected 2 lengths"),
    ]:
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            clfrnn.search(PLAIN, 0.1, session=session, **domain)


def test_radii_over_too_many_images(session, method):
    """More than numbers of pairs can count; a length of rounds that no integer holds, even without points."""
    asked = {"method": method, "session": session, "box": (1, 1)}
    for radius in (1e4, np.full(50, 1e4)):
        with pytest.raises(clfrnn.InvalidInputError, match=r"radius: .*reaches over images.*2\*\*31"):
            clfrnn.search(PLAIN, radius, **asked)
    for points in (np.full((1, 3), 0.5, np.float32), np.zeros((0, 3), np.float32)):
        with pytest.raises(clfrnn.InvalidInputError, match="radius: 644"):
            clfrnn.build_index(points, 644.55, **{**asked, "box": (1, 1, 1)})


def test_many_points_in_a_box(session):
    """As many as have numbers, where no query can see an image twice: 80 million were refused."""
    box = structure_of(clfrnn.build_index(PLAIN, 0.1, session=session, **unit(2))).problem.domain
    check_images(box, 0.1, 2**31 - 1, "float")
    check_images(box, 0.0, 2**31 - 1, "float")
    with pytest.raises(clfrnn.InvalidInputError, match="radius: 0.5 reaches over images"):
        check_images(box, 0.5, 2**30, "float")


@pytest.mark.parametrize("side", [2e-38, 1e-30, 1e-23])
def test_boxes_so_small_that_squares_vanish(session, method, side):
    """Every image on the way to where squares do not vanish would be a neighbor, which no search came to the end of."""
    points, box = (PLAIN * side).astype(np.float32), (side, side)
    message = "box: expected lengths that are not far below 1.1e-19, .* multiply points and lengths by one number"
    for call in (
        lambda: clfrnn.nearest(points, 3, box=box, method=method, session=session),
        lambda: clfrnn.nearest(points, 3, radius=side, box=box, method=method, session=session),
        lambda: clfrnn.search(points, 0, box=box, method=method, session=session),
        lambda: clfrnn.build_index(points, side, method=method, session=session, **unit(2)).update(points, box=box),
    ):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            call()


def test_small_boxes(session, method):
    """In which squares are subnormal, and windows wider than the box."""
    if not session.profile.subnormals:
        pytest.skip("the device flushes subnormal squares to zero")
    side = 2.0**-67
    points, box = (PLAIN * side).astype(np.float32), (side, side)
    found = clfrnn.nearest(points, 5, box=box, method=method, session=session, vectors=True)
    expected = reference.nearest(points, 5, box=box)
    assert_rows(found, expected)
    for radius in (side / 3, 1.2 * side):
        found = clfrnn.search(points, radius, box=box, method=method, session=session, **FULL)
        assert_same(found, truth(points, radius, box=box))


@pytest.mark.parametrize("method", ["brute_force", "aabb_tree"])
def test_images_whose_squares_vanish(session, method):
    """They are neighbors at radius zero, many times further away than the box is long."""
    if not session.profile.subnormals:
        pytest.skip("the device flushes subnormal squares to zero")
    points = np.float32([[0.0], [0.25]]) * np.float32(2.0**-76)
    domain = {"box": (2.0**-76,)}
    expected = truth(points, 0.0, **domain)
    assert len(expected.indices) > 6
    assert_same(clfrnn.search(points, 0.0, method=method, session=session, **domain, **FULL), expected)
    found = clfrnn.nearest(points, 5, radius=0.0, method=method, session=session, vectors=True, **domain)
    expected = reference.nearest(points, 5, radius=0.0, **domain)
    assert_rows(found, expected)


def test_coordinates_too_far_out(session, method, dtype):
    """Of the host refused at once, of the device by the next call that waits; until then the index makes no harm."""
    plain = PLAIN.astype(dtype)
    far, index = plain.copy(), build(plain, 0.2, (method, {}), session, **unit(2))
    far[7, 1], far[8, 0] = 1e6 if dtype == np.float32 else 1e12, -3e38
    device = cla.to_device(session.queue, far)
    points, queries = (f"{name}: expected coordinates .*got .*on axis [01]" for name in ("points", "queries"))

    def refused(message, call, *given, **asked):
        with pytest.raises(clfrnn.InvalidInputError, match=message):
            call(*given, **asked)

    for call, given in itertools.product((clfrnn.search, clfrnn.build_index), (far, device)):
        refused(points, call, given, 0.2, method=method, session=session, **unit(2))
    refused(points, index.update, far)
    for call in (index.query, index.count, index.nearest):
        refused(queries, call, far)
    refused(queries, index.query, far, hint=100)
    assert_same(index.query(**FULL), truth(plain, 0.2, **unit(2)))
    index.count(device)
    refused(queries, index.check)
    index.check()
    index.update(device)
    index.count().get()
    refused(points, index.check)
    refused(points, index.query)
    index.update(plain)
    index.check()
    assert_same(index.query(**FULL), truth(plain, 0.2, **unit(2)))
    far[8] = plain[8]
    free = {"box": (1, 1), "periodic": [True, False]}
    assert_same(search(far, 0.2, (method, {}), session, **free), truth(far, 0.2, **free))


@pytest.mark.parametrize("sign", [1, -1])
def test_coordinates_as_far_out_as_may_be(session, method, dtype, sign):
    """Half of the points lie there; those that lie farther are refused, from the device by the next call that waits."""
    index = clfrnn.build_index(PLAIN.astype(dtype), 0.2, method=method, session=session, **unit(2))
    limit = 2**19 if dtype == np.float32 else 2**27
    for share, served in ((0.9, True), (1.1, False), (2.2, False), (4.4, False), (1e6, False), (0.9, True)):
        points = PLAIN.astype(dtype)
        points[::2] += dtype.type(sign * share * limit)
        if served:
            expected = truth(points, 0.2, **unit(2))
            assert_same(search(points, 0.2, (method, {}), session, **unit(2)), expected)
        index.update(cla.to_device(session.queue, points))
        if served:
            assert_same(index.query(**FULL), expected)
        else:
            with pytest.raises(clfrnn.InvalidInputError, match="points: expected coordinates"):
                index.query()


# --- kernels of their own ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0.0, -0.5, 3.0, 70_000.0])
@pytest.mark.parametrize("radius", [0.3, 0.49, 0.51, 0.8, 0.98, 0.9999, 1.3])
@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
def test_windows_nearly_as_long_as_the_box(gpu_like, name, radius, start, dim):
    """On either side of where the kernel for points in the box gives up, points a hair outside among them."""
    rng = np.random.default_rng(3)
    points = (start + rng.random((40, dim))).astype(np.float32)
    points[:6, 0] = np.float32(start) + np.float32([-4e-6, 0, 4e-6, 1 - 4e-6, 1, 1 + 4e-6])
    domain = {"box": [(start,) * dim, (start + 1,) * dim], "periodic": [True] * (dim - 1) + [radius < 0.5]}
    index = clfrnn.build_index(points, radius, method=name, session=gpu_like, **domain)

    expected = truth(points, radius, **domain)
    assert structure_of(index)._is_in_box()
    assert_counts(index.count(), expected)
    assert_same(search(points, radius, (name, {}), gpu_like, **domain), expected)
    half = search(points, radius, (name, {}), gpu_like, half=True, **domain)
    assert_same(half, truth(points, radius, half=True, **domain))
    assert_nearest(index.nearest(), expected)


@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
def test_points_inside_have_a_kernel_of_their_own(session, name, dim):
    """For the points' own queries where a window passes one edge at most, and no two of its cells share an address."""
    points = sample("uniform", N, dim, np.float32)

    def served(radius, given=points, box=1.0):
        index = clfrnn.build_index(given, radius, method=name, session=session, box=(box,) * dim, periodic=True)
        return [structure_of(index).images_served(foreign=foreign) for foreign in (False, True)]

    assert served(0.2) == [("wraps_once",), ("in_box",)]
    assert served(0.49) == [("wraps_once",), ("in_box",)]
    assert served(0.51) == served(1.7) == [("in_box",), ("in_box",)]
    assert served(0.2, points * np.float32(2)) == [("wraps_once", "out_of_box"), ("in_box", "out_of_box")]


@pytest.mark.parametrize("name", ["strips", "uniform_grid"])
@pytest.mark.parametrize(("radius", "start"), [(4e-3, 0.0), (1e-3, 300.0), (1e-4, -1.0), (1e-6, 0.0), (2.4e-5, 300.0)])
def test_clusters_over_the_edges_of_a_torus(arranged, name, radius, start, dim):
    """Cells wrapped around a torus whose seam is the edge of the box too; pads from next to nothing to far too wide."""
    rng = np.random.default_rng(int(1e6 * radius))
    lengths = np.exp(rng.normal(0, 0.5, dim))
    centers = np.vstack([rng.integers(0, 2, (4, dim)), rng.random((4, dim))])
    points = (centers[rng.integers(0, 8, 4 * N)] + rng.normal(0, 0.7 * radius, (4 * N, dim))) % 1 * lengths + start
    points = points.astype(np.float32)
    low = np.full(dim, np.float32(start))
    domain = {"box": [low, low + lengths.astype(np.float32)], "periodic": [True] * (dim - 1) + [radius < 1e-3]}
    index = clfrnn.build_index(points, radius, method=name, session=arranged, **domain)

    expected = truth(points, radius, **domain)
    assert structure_of(index).cell_grid.wrapped
    assert len(expected.indices) > 100
    if start == 0:
        assert structure_of(index).images_served(foreign=False) == (("wraps_once",) if radius > 1e-4 else ("in_box",))
    assert_counts(index.count(), expected)
    assert_same(search(points, radius, (name, {}), arranged, **domain), expected)


def test_crowds_count_as_such_although_points_have_left_the_box(session):
    """One point outside leaves the sizes of cells as they are, which follow the crowd."""
    rng = np.random.default_rng(3)
    points = (rng.random((4, 3))[rng.integers(0, 4, 1000)] * 0.9 + rng.random((1000, 3)) * 0.01).astype(np.float32)
    inside = clfrnn.build_index(points, 0.002, session=session, method="strips", **unit(3))
    points[0, 0] = 1.2
    outside = clfrnn.build_index(points, 0.002, session=session, method="strips", **unit(3))

    assert max(structure_of(outside).cell_grid.sides) <= 2 * max(structure_of(inside).cell_grid.sides)
    assert_counts(outside.count(), truth(points, 0.002, **unit(3)))


def test_even_points_that_have_left_the_box_are_no_uneven_crowd(session):
    """What is sampled of them outside is chance: inside, all have as many others around them."""
    rng = np.random.default_rng(4)
    points = (rng.random((3000, 3)) + rng.integers(-5, 5, (3000, 3))).astype(np.float32)
    index = clfrnn.build_index(points, 0.3, session=as_gpu(session), **unit(3))

    assert structure_of(index).problem.survey.others > 50
    assert structure_of(index).problem.survey.unevenness == pytest.approx(1, abs=0.2)
    assert index.method != "aabb_tree"


def test_device_queries_of_another_dtype(session):
    """They are widened by way of the host, and belong to neither of the usual paths."""
    if not session.profile.fp64:
        pytest.skip("the device has no fp64")
    points = clouds.uniform(50, 3, dtype=np.float64, seed=1)
    queries = clouds.uniform(20, 3, seed=2)
    device = cla.to_device(session.queue, queries)
    index = clfrnn.build_index(points, 0.3, box=(1, 1, 1), periodic=True, session=session)

    with pytest.raises(clfrnn.InvalidInputError, match=r"queries: expected coordinates .*got .*on axis 1"):
        index.count(cla.to_device(session.queue, queries + np.float32([0, 1e12, 0])))
    found = clfrnn.search(points, 0.3, queries=device, box=(1, 1, 1), periodic=True, sort="index", session=session)

    expected = truth(points, 0.3, queries=queries, box=(1, 1, 1), periodic=True)
    assert np.array_equal(found.to_host().indices, expected.indices)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e30, 3e4, -1.0])
def test_device_radii_that_nobody_checked_do_not_run_away(session, method, bad):
    """One of them reaches over images without end; it finds nothing until check() names it."""
    points = clouds.uniform(60, 3, seed=1)
    radii = np.full(60, 0.2, np.float32)
    radii[7] = bad
    index = clfrnn.build_index(points, 0.2, method=method, box=(1, 1, 1), periodic=True, session=session)

    counts = index.count(radius=cla.to_device(session.queue, radii)).get()

    expected = np.diff(truth(points, 0.2, box=(1, 1, 1), periodic=True).offsets)
    expected[7] = 0
    assert np.array_equal(counts, expected)
    with pytest.raises(clfrnn.InvalidInputError, match="radius: "):
        index.check()
