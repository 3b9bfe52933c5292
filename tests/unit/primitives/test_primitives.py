"""Our own reduce, scan and sorts against numpy."""

import dataclasses
import functools

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS, as_gpu, own_session, tuned
from mako.lookup import TemplateLookup

from clfrnn.config import INT, LONG, count_bits
from clfrnn.domain.cells import padded_radius
from clfrnn.primitives import config as plan
from clfrnn.primitives import scan
from clfrnn.primitives.column_sums import sum_columns, sum_weighted_columns
from clfrnn.primitives.fill import fill
from clfrnn.primitives.gather import pack
from clfrnn.primitives.moved import Period, find_moved
from clfrnn.primitives.pair_geometry import measure_pairs
from clfrnn.primitives.radix_sort import sort_positions
from clfrnn.primitives.reduce import bounding_box, survey_points
from clfrnn.primitives.row_sort import sort_rows
from clfrnn.primitives.scan import exclusive_scan
from clfrnn.runtime import program
from clfrnn.runtime.rendering import template_root
from clfrnn.runtime.scratch import Scratch

pytestmark = pytest.mark.core

SIZES = [1, 2, 7, 64, 257, POINTS, 10 * POINTS + 13, 4095, 4096, 4097, 16_384, 16_385]


def to_scratch(session, values):
    scratch = session.scratch(values.size, values.dtype, purpose="a test")
    if values.size:
        cl.enqueue_copy(session.queue, scratch.base_data, values)
    return scratch


@pytest.mark.parametrize("n", SIZES)
def test_fill(session, n):
    array = session.scratch(n, INT, purpose="a test")

    fill(session, array, -5)

    assert (session.read(array) == -5).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("n", SIZES)
def test_bounding_box(session, dtype, n, dimension):
    points = (np.random.default_rng(n).standard_normal((n, dimension)) * 1e3).astype(dtype)

    box = bounding_box(session, cla.to_device(session.queue, points)).read()

    assert box.low == tuple(points.min(axis=0).tolist())
    assert box.high == tuple(points.max(axis=0).tolist())
    assert box.first_bad is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bounding_box_names_the_first_row_that_is_not_finite(session, dtype, bad):
    points = np.random.default_rng(1).random((POINTS, 3)).astype(dtype)
    points[POINTS // 2, 1] = bad
    points[POINTS // 2 + 1 :: 5, 2] = bad

    box = bounding_box(session, cla.to_device(session.queue, points)).read()

    finite = points[np.isfinite(points).all(axis=1)]
    assert box.first_bad == POINTS // 2
    assert box.low == tuple(finite.min(axis=0).tolist())
    assert box.high == tuple(finite.max(axis=0).tolist())


def test_bounding_box_without_a_finite_row(session):
    box = bounding_box(session, cla.to_device(session.queue, np.full((5, 2), np.nan, np.float32))).read()

    assert (box.low, box.high, box.first_bad) == ((0, 0), (0, 0), 0)


@pytest.mark.parametrize("n", SIZES)
def test_exclusive_scan(session, n):
    counts = np.random.default_rng(n).integers(0, 9, n).astype(np.int32)
    starts = session.scratch(n + 1, INT, purpose="a test")

    exclusive_scan(session, to_scratch(session, counts), starts)

    assert np.array_equal(session.read(starts), np.concatenate([[0], np.cumsum(counts)]))


@pytest.fixture(params=[-1, None], ids=["shares", "few"])
def scanning(request, session):
    """Counts are scanned in two launches, or in one as far as that is sooner."""
    return session if request.param is None else tuned(session, primitives={"one_launch_counts": request.param})


@pytest.mark.parametrize("out", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 100, POINTS])
def test_scan_and_the_total_beside(scanning, n, out):
    session = scanning
    counts = np.random.default_rng(n).integers(0, 1000, n).astype(np.int32)
    starts = session.allocate(n + 1, out, purpose="a test")
    totals = session.upload(np.full(3, -1, np.int64), purpose="a test")

    exclusive_scan(session, to_scratch(session, counts), starts, Scratch(totals.base_data, 1, LONG, 8))

    assert totals.get().tolist() == [-1, counts.sum(), -1]
    assert np.array_equal(starts.get(), np.concatenate([[0], np.cumsum(counts)]))


def pack_rows(session, counts, slots, *, bits):
    """The counts in rows with places in any order, as the host has them, and what a scan needs to know of these."""
    places = np.random.default_rng(7).permutation(len(counts)).astype(np.int64)
    stash = np.full(4 * max(1, len(counts)), -7, np.int32)
    stash[4 * places] = np.where(counts > slots, counts, -7)
    rows = (places << bits | np.minimum(counts, slots + 1)).astype(np.uint32).view(np.int32)
    return session.upload(rows, purpose="a test"), scan.Packed(slots, to_scratch(session, stash))


@pytest.mark.parametrize("n", [0, 1, POINTS])
@pytest.mark.parametrize(("slots", "bits"), [(4, 3), (20, 5)])
def test_scan_of_packed_rows(scanning, n, slots, bits):
    session = scanning
    counts = np.random.default_rng(n).integers(0, 2 * slots, n).astype(np.int32)
    starts = session.scratch(n + 1, INT, purpose="a test")
    rows, packed = pack_rows(session, counts, slots, bits=bits)

    exclusive_scan(session, rows, starts, packed=packed)

    assert np.array_equal(session.read(starts), np.concatenate([[0], np.cumsum(counts)]))


@pytest.mark.parametrize("out", [np.int32, np.int64])
@pytest.mark.parametrize("slots", [0, 12])
@pytest.mark.parametrize("kernels", [["scan_few"], ["sum_shares", "scan_shares"]], ids=len)
def test_scan_by_groups_that_sum_up_what_comes_before(session, out, slots, kernels):
    """In one launch or two; counts that end with a tile, just behind, in its middle, and none."""
    fresh = own_session(session, kind="gpu", max_work_group_size=4)
    most = {"one_launch_counts": -1} if len(kernels) > 1 else {}
    fresh = tuned(fresh, primitives={"short_scan_tile": 32, **most})
    for n in (0, 1, 31, 32, 63, 64, 65, 128, 129, 1000):
        counts = np.random.default_rng(n).integers(0, 24, n).astype(np.int32)
        starts = fresh.allocate(n + 1, out, purpose="a test")
        total = fresh.scratch(1, LONG, purpose="a test")
        plain = fresh.upload(counts, purpose="a test"), None
        given, packed = pack_rows(fresh, counts, slots, bits=4) if slots else plain
        with fresh.recorded() as launches:
            exclusive_scan(fresh, given, starts, total, packed=packed)
        assert [name for name, _ in launches] == kernels
        assert int(fresh.read(total)[0]) == counts.sum()
        assert np.array_equal(starts.get(), np.concatenate([[0], np.cumsum(counts)]))


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_how_many_groups_scan_few_counts(session, monkeypatch, kind):
    """On a CPU one, on a GPU one for each tile, up to as many counts as are few there."""
    fresh, launched = own_session(session, kind=kind), []
    monkeypatch.setattr(fresh, "launch", lambda kernel, items, size, *_: launched.append((kernel.name, items // size)))
    buffer = fresh.scratch(1, INT, purpose="a test")
    few = 1 << 17 if kind == "gpu" else 1 << 14
    for n in (0, 1, few, few + 1):
        counts = dataclasses.replace(buffer, size=n)  # nothing is launched
        exclusive_scan(fresh, counts, counts)

    config = plan.plan_short_scan(fresh.profile, fresh.tuning, total="int", out="int")
    _, config = fresh.kernels("primitives/scan", config)
    most = few // (config.work_group_size * config.items) if kind == "gpu" else 1
    assert launched[:3] == [("scan_few", 1), ("scan_few", 1), ("scan_few", most)]
    assert [name for name, _ in launched[3:]] == ["sum_shares", "scan_shares"]


def test_tiles_shrink_with_the_groups_that_a_driver_allows(session, monkeypatch):
    fresh = own_session(session, kind="gpu", max_work_group_size=16)
    fresh.programs._profile = dataclasses.replace(fresh.profile, required_groups=False)
    monkeypatch.setattr(program.Kernel, "largest_group", lambda kernel, device: 4)
    counts = np.random.default_rng(1).integers(0, 1000, 300).astype(np.int32)
    starts = fresh.scratch(301, INT, purpose="a test")

    with fresh.recorded() as launches:
        exclusive_scan(fresh, to_scratch(fresh, counts), starts)

    assert [name for name, _ in launches] == ["scan_few"]
    assert np.array_equal(fresh.read(starts), np.concatenate([[0], np.cumsum(counts)]))


@pytest.mark.parametrize("out", [np.int32, np.int64])
def test_scan_beyond_int32(scanning, out):
    """The total tells whether offsets are any use."""
    session = scanning
    counts = np.full(1000, 2**31 - 1, np.int32)
    starts = session.allocate(1001, out, purpose="a test")
    total = session.scratch(1, LONG, purpose="a test")

    exclusive_scan(session, cla.to_device(session.queue, counts), starts, total)

    assert int(session.read(total)[0]) == 1000 * (2**31 - 1)
    if out == np.int64:
        assert np.array_equal(starts.get(), np.arange(1001, dtype=np.int64) * (2**31 - 1))


def assert_sorts(session, n, key, bits):
    keys = np.random.default_rng([n, bits]).integers(0, 1 << bits, n, dtype=np.uint64).astype(key)
    keys[::3] = keys[0]

    moved, order = sort_positions(session, to_scratch(session, keys), bits)

    expected = np.argsort(keys, kind="stable")
    assert np.array_equal(session.read(order), expected)
    assert np.array_equal(session.read(moved), keys[expected])


@pytest.mark.parametrize(("key", "bits"), [(np.uint32, 1), (np.uint32, 9), (np.uint32, 32), (np.uint64, 63)])
@pytest.mark.parametrize("n", SIZES)
def test_radix_sort_is_stable(session, n, key, bits):
    assert_sorts(session, n, key, bits)


@pytest.mark.parametrize("tiles", [0, 1000], ids=["starts of all tiles", "each group by itself"])
@pytest.mark.parametrize(("n", "key", "bits"), [(1, np.uint32, 4), (2049, np.uint64, 5), (10_000, np.uint32, 9)])
def test_radix_sort_of_gpus(session, tiles, n, key, bits):
    assert_sorts(tuned(as_gpu(session), primitives={"sort_few_tiles": tiles}), n, key, bits)


@pytest.mark.parametrize("alone", [False, True], ids=["with vectors", "alone on a GPU"])
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
@pytest.mark.parametrize("by_distance", [False, True], ids=["index", "distance"])
def test_row_sort(session, dtype, by_distance, wide, alone):
    session = as_gpu(session) if alone else session
    rng = np.random.default_rng(5)
    lengths = np.concatenate([rng.integers(0, 40, 60), [0, 1, 2, POINTS, 0, 511, 512, 513, 3, 0]])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if wide else np.int32)
    pairs = int(offsets[-1])
    indices = np.concatenate([rng.permutation(length) for length in lengths]).astype(np.int32)
    squares = rng.integers(0, 9, pairs).astype(dtype)
    vectors = np.stack([indices, squares], axis=1).astype(dtype)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    on_device = [cla.to_device(session.queue, array) for array in (offsets, indices, squares, vectors)]
    device_offsets, device_indices, device_squares, device_vectors = on_device

    sort_rows(
        session,
        device_offsets,
        device_indices,
        squares=device_squares if by_distance else None,
        distances=device_squares if by_distance or not alone else None,
        vectors=None if alone else device_vectors,
        shifts=None,
        capacity=pairs,
        dtype=dtype,
        dim=2,
        pairs=pairs,
    )

    order = np.lexsort((indices, squares, rows) if by_distance else (indices, rows))
    assert np.array_equal(device_indices.get(), indices[order])
    if by_distance or not alone:
        assert np.array_equal(device_squares.get(), np.sqrt(squares[order]) if by_distance else squares[order])
    if not alone:
        assert np.array_equal(device_vectors.get(), vectors[order])


def test_rows_in_several_launches(session, monkeypatch):
    """Where entries are more than one launch serves, rows across the seam are sorted as others are."""
    session = as_gpu(session)
    lengths = [300, 400, 500, 200, 511, 3, 0, 129]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    draw = np.random.default_rng(1)
    indices = np.concatenate([draw.permutation(length) for length in lengths]).astype(np.int32)
    sorted_rows = cla.to_device(session.queue, indices)
    given = {"dim": 3, "real": "float", "by_distance": False, "offset": "int"}
    given |= {"distances": False, "vectors": False, "shifts": False}
    _, config = session.planned("primitives/row_sort", plan.plan_row_sort, **given)
    # One tile in a launch, whatever group the compiler leaves.
    monkeypatch.setattr("clfrnn.primitives.row_sort._MOST_ITEMS", config.work_group_size)
    with session.recorded() as launches:
        sort_rows(
            session,
            cla.to_device(session.queue, offsets),
            sorted_rows,
            squares=None,
            distances=None,
            vectors=None,
            shifts=None,
            capacity=indices.size,
            dtype=np.dtype(np.float32),
            dim=3,
            pairs=indices.size,
        )
    assert sum(name == "sort_short_rows" for name, _ in launches) > 1
    expected = np.concatenate([np.arange(length) for length in lengths])
    assert np.array_equal(sorted_rows.get(), expected)


@pytest.mark.parametrize("by_distance", [False, True], ids=["index", "distance"])
def test_rows_of_a_list_that_is_too_short_are_left(session, by_distance):
    """What does not fit is left as it is, and what lies behind the room untouched, whatever offsets say."""
    session, room = as_gpu(session), 700
    for offsets in ([0, 300, 699, 900, 1200], [0, 300, -5, 2**30, 700], [0, 700, 10, 5, 3]):
        numbers = np.arange(2 * room, 0, -1, dtype=np.int32)
        indices = cla.to_device(session.queue, numbers)
        squares = cla.to_device(session.queue, numbers.astype(np.float32))
        sort_rows(
            session,
            cla.to_device(session.queue, np.array(offsets, np.int32)),
            indices,
            squares=squares if by_distance else None,
            distances=None,
            vectors=None,
            shifts=None,
            capacity=room,
            dtype=np.dtype(np.float32),
            dim=3,
            pairs=room,
        )
        assert np.array_equal(indices.get()[room:], numbers[room:])
        if offsets == sorted(offsets):
            assert np.array_equal(indices.get()[:300], np.sort(numbers[:300]))
            assert np.array_equal(indices.get()[699:], numbers[699:])


@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_pairs_are_measured_by_their_numbers(session, dtype, periodic, wide):
    rng = np.random.default_rng(9)
    n, dim, length = 200, 3, dtype.type(1.25)
    lengths = np.concatenate([rng.integers(0, 30, 300), [0, 0, 2500, 0]])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64 if wide else np.int32)
    points = (rng.random((n, dim)) * 4 - 2).astype(dtype)
    queries = (rng.random((len(lengths) + 7, dim)) * 4 - 2).astype(dtype)
    indices = rng.integers(0, n, offsets[-1]).astype(np.int32)
    upload = functools.partial(cla.to_device, session.queue)
    arrays = {"offsets": upload(offsets), "indices": upload(indices)}
    arrays |= {
        "distances": upload(np.zeros(len(indices), dtype)),
        "vectors": upload(np.zeros((len(indices), dim), dtype)),
    }
    if periodic:
        arrays["shifts"] = upload(np.zeros((len(indices), dim), np.int32))
    lengths_of_box = np.array([length, 0, length], dtype)
    period = np.concatenate([lengths_of_box, np.array([1 / length, 0, 1 / length], dtype), np.zeros(dim, dtype)])

    measure_pairs(
        session,
        arrays,
        points=upload(points),
        queries=upload(queries),
        first_row=7,
        period=upload(period) if periodic else None,
        periodic="box" if periodic else "",
        rooted=True,
    )

    plain = points[indices] - queries[7 + np.repeat(np.arange(len(lengths)), lengths)]
    shifts = np.rint(-plain / length).astype(np.int32) * (lengths_of_box > 0) if periodic else np.zeros_like(plain, int)
    vectors = plain + shifts.astype(dtype) * lengths_of_box
    squares = vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1] + vectors[:, 2] * vectors[:, 2]
    assert np.array_equal(arrays["vectors"].get(), vectors)
    assert np.array_equal(arrays["distances"].get(), np.sqrt(squares))
    if periodic:
        assert np.array_equal(arrays["shifts"].get(), shifts)


def test_pack(session, dtype):
    table = np.random.default_rng(6).random((50, 7)).astype(dtype)
    device = cla.to_device(session.queue, table)

    packed = pack(session, device[3:40:2, 1:4])

    assert np.array_equal(packed.get(), table[3:40:2, 1:4])


@pytest.mark.parametrize("n", [50, 20_000])
def test_survey_sees_how_crowded_cells_are(session, n):
    """Points on a line of known density: the estimate is what a histogram gives."""
    if POINTS < 500:
        n = 50
    points = np.random.default_rng(7).random((n, 2)).astype(np.float32)
    radius = 3.0 / n**0.5
    cells = np.floor(points / np.float32(padded_radius(radius, "float"))).astype(int)
    _, counts = np.unique(cells, axis=0, return_counts=True)
    exact = (counts**2).sum() / n - 1

    device = cla.to_device(session.queue, points)
    survey, bad = survey_points(session, device, radius, bounding_box(session, device))

    assert bad is None
    assert survey.low == tuple(points.min(axis=0).tolist())
    assert exact / 1.5 < survey.others < exact * 1.5
    assert 1 <= survey.unevenness < 1.5


def test_survey_sees_how_unevenly_points_crowd(session):
    """A tenth of the points share a cell, the others have one each; the order of input does not matter."""
    n = min(POINTS, 3000)
    points = np.arange(2 * n, dtype=np.float32).reshape(n, 2) * 10
    points[: n // 10] = 0.5
    for rows in (points, np.random.default_rng(8).permutation(points)):
        device = cla.to_device(session.queue, rows)
        survey, _ = survey_points(session, device, 1.0, bounding_box(session, device))
        assert survey.others == pytest.approx((n // 10) ** 2 / n, rel=0.2, abs=0.2)
        assert survey.unevenness == pytest.approx(n / (n // 10), rel=0.2)


def test_survey_is_not_in_step_with_a_lattice(session):
    """Points in rows of sixteen, of which one of each sixteen is counted: all rows are met alike."""
    session = tuned(session, primitives={"sampled_points": 64, "counted_points": 256})
    points = np.stack(np.meshgrid(*[np.arange(16)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.float32) + 0.5
    device = cla.to_device(session.queue, points)

    survey, _ = survey_points(session, device, 2.0, bounding_box(session, device))

    assert survey.others == pytest.approx(7, rel=0.5)


def test_scratch_of_nothing_is_a_buffer(session):
    assert isinstance(session.scratch(0, INT, purpose="a test"), Scratch)


@pytest.mark.parametrize("slots", [4, 12, 20])
def test_packed_rows_hold_every_place(session, slots):
    """From the first one to the last that the bits are enough for, as kernels pack and read them."""
    bits = count_bits(slots)
    defs = TemplateLookup([str(template_root())], strict_undefined=True).get_template(
        "methods/first_pass/packed_counts.mako"
    )
    flags = {"buffer_slots": slots, "count_bits": bits}
    row, place = (
        defs.get_def(name).render(*of, **flags).strip()
        for name, of in (("pack", ("counts[k]", "places[k]")), ("place", ("row",)))
    )
    source = f"""#define frnn_min min
    kernel void unpack(global const int *counts, global const int *places, global int2 *found)
    {{
        const int k = get_global_id(0), row = {row};
        found[k] = (int2)(row & {(1 << bits) - 1}, {place});
    }}"""
    places = [0, 1, (1 << (31 - bits)) - 1, 1 << (31 - bits), (1 << (32 - bits)) - 1]
    counts, places = (np.ravel(each).astype(np.int32) for each in np.meshgrid([0, 1, slots, slots + 1, 10**6], places))
    given = [session.upload(each, purpose="a test").base_data for each in (counts, places)]
    found = session.upload(np.zeros(2 * len(counts), np.int32), purpose="a test")
    unpack = cl.Program(session.context, source).build().unpack

    unpack(session.queue, counts.shape, None, *given, found.base_data)

    assert found.get().reshape(-1, 2).tolist() == np.stack([np.minimum(counts, slots + 1), places], axis=1).tolist()


@pytest.mark.parametrize("n", [0, 1, 700])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts_between_starts(session, n, dtype):
    """Of starts that have come round, too."""
    counts = np.random.default_rng(n).integers(0, 2**31, n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    given = starts if dtype == np.int64 else (starts % 2**32).astype(np.uint32).view(np.int32)

    assert np.array_equal(session.read(scan.counts_between(session, session.upload(given, purpose="a test"))), counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 300])
def test_whether_points_have_moved(session, dtype, n):
    """By more than they may, to the nearest image, less a share of their coordinates; a NaN has moved."""
    if dtype is np.float64 and not session.profile.fp64:
        pytest.skip("the device has no fp64")
    rng = np.random.default_rng(0)
    lengths = np.array([1, 0, 2], dtype)  # the second axis is not periodic
    inverse = np.divide(1, lengths, out=np.zeros(3, dtype), where=lengths > 0)
    numbers = np.concatenate([lengths, inverse, np.zeros(3, dtype)])
    period = Period(kind="box", numbers=cla.to_device(session.queue, numbers), systems=None)
    before = rng.random((n, 3)).astype(dtype)
    wraps = rng.integers(-3, 4, (n, 3)) * (lengths > 0)
    for far, share, too_far in [(0.1, 0, False), (0.3, 0, True), (0.1, 0.05, True), (np.nan, 0, True)]:
        now = (before + wraps * lengths).astype(dtype)
        now[n // 2, 1] += dtype(far)
        arrays = cla.to_device(session.queue, before), cla.to_device(session.queue, now)
        found = find_moved(session, *arrays, period, most=0.2, share=share, wraps=True)
        assert found.too_far is too_far, far
        assert np.array_equal(found.points.get(), now, equal_nan=True)
        assert np.array_equal(found.wraps.get(), wraps)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 3), (5000, 10)])
def test_sums_of_columns(session, rows, columns):
    """Also beyond int32, and of whole numbers in two words, whose rows have weights."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2**31 - 1, (rows, columns)).astype(np.int32)
    found = sum_columns(session, to_scratch(session, table.ravel()), columns)
    assert np.array_equal(found, table.sum(axis=0, dtype=np.int64))
    words = rng.integers(-(2**50), 2**50, (rows, columns, 2))
    weights = rng.normal(size=rows)
    values = weights[:, None] * (words[..., 0] + words[..., 1] * 2.0**-40)
    for device in (session, own_session(session, fp64=False)):
        scratch = to_scratch(device, words.ravel())
        sums = [sum_weighted_columns(device, scratch, columns, 2.0**-40, weights) for _ in range(2)]
        assert np.array_equal(*sums)
        assert np.allclose(sums[0], values.sum(axis=0), rtol=1e-12, atol=1e-13 * np.abs(values).sum())
