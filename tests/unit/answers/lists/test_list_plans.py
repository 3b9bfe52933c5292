"""ListPlan: its decisions from facts alone, and every value of it on a device, as one product against the reference."""

import dataclasses
import itertools

import numpy as np
import pytest
from conftest import POINTS, as_gpu, assert_same, refusing, same_rows, truth, with_tuning

import clfrnn
from clfrnn import clouds
from clfrnn.answers.lists.columns import make_columns
from clfrnn.answers.lists.plan import ListPlan, ListProblem, plan_list
from clfrnn.answers.lists.rows import Rows, writer
from clfrnn.answers.lists.state import ListState
from clfrnn.answers.lists.two_pass import _offsets_for, make_list
from clfrnn.answers.requests import make_request
from clfrnn.config import INT, LONG
from clfrnn.methods.first_pass.plan import ListFacts

N = min(POINTS, 700)

#: A buffer or mask with room for all neighbors of the clouds below, and one that most queries overflow.
AMPLE, TIGHT = {"hit_mask": 64, "neighbor_buffer": 60}, {"hit_mask": 2, "neighbor_buffer": 4}

#: The decisions, each with every value: pairs of memory are those there are times a share.
FIRST_PASSES = ["none", "hit_mask", "hit_mask, tight", "neighbor_buffer", "neighbor_buffer, tight"]
CAPACITIES = [("exact", 0), ("foreseen", 1.5), ("foreseen", 3.0), ("foreseen", 0.5), ("hinted", 1.1), ("hinted", 0.4)]
CARRIED = {
    "indices": {},
    "distances": {"distances": True},
    "all, by index": {"distances": True, "vectors": True, "sort": "index"},
    "by distance": {"distances": True, "sort": "distance"},
}


def plan_of(first_pass, *, offsets=INT, attributes="with_row", capacity="exact", pairs=0, waits=False):
    name, _, tight = first_pass.partition(", ")
    size = 0 if name == "none" else (TIGHT if tight else AMPLE)[name]
    return ListPlan(
        first_pass=name,
        size=size,
        offsets=offsets,
        attributes=attributes,
        capacity=capacity,
        pairs=pairs,
        overflow_waits=waits,
    )


class Case:
    """A cloud in an index, and the reference of its lists."""

    def __init__(self, session, *, dim, dtype, box=None, method="strips", queries=False, half=False):
        self.points = clouds.uniform(N, dim, dtype=dtype, seed=dim)
        self.queries = clouds.uniform(N // 3, dim, dtype=dtype, seed=9) if queries else None
        self.radius = {2: 0.06, 3: 0.15}[dim]
        self.asked = {"box": box, "periodic": True} if box is not None else {}
        self.half = half
        self.index = clfrnn.build_index(self.points, self.radius, method=method, session=session, **self.asked)
        self.expected = truth(self.points, self.radius, queries=self.queries, half=half, **self.asked)

    def list(self, plan, state=None, **carried):
        """The list by a plan, whose memory is told as a share of the pairs there are."""
        traversal, domain = self.index._traversal, self.index._traversal.problem.domain
        request = make_request(traversal, self.queries, radius=None, include_self=False, half=self.half)
        columns = make_columns(
            distances=carried.get("distances", False),
            vectors=carried.get("vectors", False),
            sort=carried.get("sort"),
            periodic=domain.has_images,
            images=domain.repeats(self.radius),
            dim=self.index.dim,
            dtype=self.index.dtype,
        )
        if plan.pairs:
            plan = dataclasses.replace(plan, pairs=int(plan.pairs * len(self.expected.indices)))
        return make_list(traversal, state or ListState(self.index.session), request, columns, plan)

    def check(self, found, carried):
        """Every pair, in the order that was asked for, and every column bit by bit."""
        if carried.get("sort") == "index":
            assert_same(found, self.expected)
        else:
            same_rows(found, self.expected, by_distance=carried.get("sort") == "distance")


@pytest.fixture(scope="module", params=["as it is", "as a GPU"])
def device(request, session):
    """Layouts of cells differ between CPUs and GPUs; buffers are written by those of GPUs alone."""
    if request.param == "as it is":
        return session
    if session.profile.kind == "gpu":
        pytest.skip("it is one")
    return as_gpu(session)


@pytest.fixture(scope="module")
def open_case(device):
    return Case(device, dim=3, dtype=np.dtype(np.float32))


def serves(session, first_pass):
    return "buffer" not in first_pass or session.profile.kind == "gpu"


@pytest.mark.core
@pytest.mark.parametrize("first_pass", FIRST_PASSES)
@pytest.mark.parametrize(("capacity", "share"), CAPACITIES)
@pytest.mark.parametrize("carried", CARRIED)
def test_every_plan(open_case, first_pass, capacity, share, carried):
    """First pass x capacity x columns x (with the row, measured) x offsets of both widths."""
    if not serves(open_case.index.session, first_pass):
        pytest.skip("buffers are for GPUs")
    asked = CARRIED[carried]
    ways = [("with_row", INT)]
    if carried != "indices":
        ways.append(("measured", INT))
    if carried in ("indices", "all, by index"):
        ways.append(("with_row", LONG))
    for attributes, offsets in ways:
        if "buffer" in first_pass and attributes == "with_row" and carried != "indices":
            continue  # a buffer holds indices alone
        for waits in (
            (False, True) if "buffer" in first_pass and capacity == "foreseen" and "sort" not in asked else (False,)
        ):
            plan = plan_of(
                first_pass, offsets=offsets, attributes=attributes, capacity=capacity, pairs=share, waits=waits
            )
            open_case.check(open_case.list(plan, **asked), asked)


SCENES = {
    "2d": {"dim": 2},
    "half": {"dim": 3, "half": True},
    "periodic": {"dim": 3, "box": [1, 1, 1]},
    "periodic, half": {"dim": 2, "box": [1, 1], "half": True},
    "one axis": {"dim": 2, "box": [1, 0.1]},
    "queries": {"dim": 3, "queries": True},
    "uniform_grid": {"dim": 3, "method": "uniform_grid"},
}


@pytest.mark.long
@pytest.mark.parametrize("real", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("scene", SCENES)
def test_first_passes_of_every_scene(device, scene, real):
    """Each first pass, roomy and tight, in every kind of query; indices alone and with distances."""
    if real is np.float64 and not device.profile.fp64:
        pytest.skip("the device has no fp64")
    case = Case(device, dtype=np.dtype(real), **SCENES[scene])
    for first_pass, carried in itertools.product(FIRST_PASSES, ("indices", "distances")):
        domain = case.index._traversal.problem.domain
        buffer = "buffer" in first_pass
        if not serves(device, first_pass) or (buffer and scene == "queries"):
            continue
        measured = carried == "distances" and (buffer or (domain.has_images and "mask" in first_pass))
        if measured and domain.repeats(case.radius):
            continue  # an index does not say which image
        plan = plan_of(first_pass, attributes="measured" if measured else "with_row")
        case.check(case.list(plan, **CARRIED[carried]), CARRIED[carried])


@pytest.mark.parametrize("method", ["brute_force", "fenns", "aabb_tree"])
@pytest.mark.parametrize(("capacity", "share"), CAPACITIES)
def test_methods_without_a_first_pass(session, method, capacity, share):
    case = Case(session, dim=3, dtype=np.dtype(np.float32), method=method)
    for attributes in ("with_row", "measured"):
        plan = plan_of("none", attributes=attributes, capacity=capacity, pairs=share)
        asked = CARRIED["all, by index"]
        case.check(case.list(plan, **asked), asked)


def test_an_overflow_uses_up_its_serial_number(device):
    if device.profile.kind != "gpu":
        pytest.skip("buffers are for GPUs")
    case, state = Case(device, dim=3, dtype=np.dtype(np.float32)), ListState(device)
    first = state.serial
    for _ in range(3):
        case.check(case.list(plan_of("neighbor_buffer"), state), {})
    assert state.serial == first
    for _ in range(3):
        case.check(case.list(plan_of("neighbor_buffer, tight"), state), {})
        assert state.serial != first
        first = state.serial
        case.check(case.list(plan_of("neighbor_buffer", capacity="foreseen", pairs=1.2, waits=True), state), {})
        assert state.serial == first


def test_a_first_pass_without_memory_is_done_without(device):
    case = Case(device, dim=3, dtype=np.dtype(np.float32))
    for first_pass in FIRST_PASSES:
        with refusing("the hit mask", "the neighbor buffer") as refused:
            case.check(case.list(plan_of(first_pass)), {})
        assert bool(refused) == (first_pass != "none")


@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_offsets_that_have_wrapped_are_scanned_again(session, wide):
    """Of more pairs than int32 offsets count, and of fewer than int64 offsets could."""
    index = clfrnn.build_index(clouds.uniform(5, 3, seed=3), 0.1, method="strips", session=session)
    counts = np.array([7, 0, 5, 3, 9] if wide else [2**30, 2**31 - 1, 0, 2**30 + 5, 2**31 - 1, 3])
    exact = np.concatenate([[0], np.cumsum(counts)])
    given = exact if wide else (exact % 2**32).astype(np.uint32).view(np.int32)
    offsets = session.upload(given, purpose="a test")
    rows = Rows(traversal=index._traversal, request=None, columns=None, measured=False, bounded=True)

    assert _offsets_for(rows, offsets, 2**40 if wide else 5) is offsets
    found = _offsets_for(rows, offsets, int(exact[-1])).get()
    assert found.dtype == (np.int32 if wide else np.int64)
    assert np.array_equal(found, exact)


@pytest.mark.parametrize("offset", [np.int32, np.int64])
def test_rows_written_by_sectors_are_bounded(offset):
    """A compiler made wrong lists of them otherwise."""
    columns = make_columns(
        distances=False, vectors=False, sort=None, periodic=True, images=False, dim=2, dtype=np.dtype(np.float32)
    )
    assert "capacity" in writer(columns, np.dtype(offset), bounded=False, held=8).arguments
    assert "capacity" not in writer(columns, np.dtype(offset), bounded=False, held=0).arguments


# What is decided, from facts alone.

GIB = 1 << 30
FACTS = ListFacts(slots=16, mask_words=12.5, mask_word_bytes=8, by_sectors=True)


def planned(profile, *, facts=FACTS, memory=(GIB, 8 * GIB), carried=None, problem=None, **asked):
    columns = make_columns(
        **{"distances": False, "vectors": False, "sort": None, "periodic": False, "images": False, **(carried or {})},
        dim=3,
        dtype=np.dtype(np.float32),
    )
    base = ListProblem(m=100_000, n=100_000, foreign=False, reads_copy=False, pairs=3e5, periodic=False)
    return plan_list(
        dataclasses.replace(base, **(problem or {})), columns, facts, *with_tuning(profile), memory=memory, **asked
    )


def test_indices_alone_take_a_buffer_of_few_neighbors_and_else_a_mask(profile):
    few, many = planned(profile), planned(profile, facts=dataclasses.replace(FACTS, slots=0))

    assert (few.first_pass, few.size) == ("neighbor_buffer", 16)
    assert (many.first_pass, many.size) == ("hit_mask", 13)
    assert planned(profile, facts=ListFacts()).first_pass == "none"


def test_a_buffer_serves_queries_in_search_order_alone(profile):
    foreign = planned(profile, problem={"foreign": True})
    copied = planned(profile, problem={"foreign": True, "reads_copy": True})

    assert (foreign.first_pass, copied.first_pass) == ("hit_mask", "neighbor_buffer")


def test_a_mask_says_no_image(profile):
    carried, periodic = {"distances": True}, {"periodic": True}

    assert planned(profile, carried=carried).first_pass == "hit_mask"
    assert planned(profile, carried={**carried, "periodic": True}, problem=periodic).first_pass == "none"
    assert planned(profile, carried={"periodic": True}, problem=periodic).first_pass == "neighbor_buffer"


def test_a_first_pass_takes_an_eighth_of_the_memory_that_is_left(profile):
    roomy, less, none = (planned(profile, memory=(GIB, 8 * mib << 20)) for mib in (7, 3, 0))

    assert (roomy.first_pass, less.first_pass, less.size) == ("neighbor_buffer", "hit_mask", 3)
    assert none.first_pass == "none"
    assert planned(profile, memory=(2 << 20, GIB)).first_pass == "hit_mask"


def test_places_in_a_buffer_are_packed_with_counts(profile):
    """27 bits of place and 5 of count fill an integer."""
    facts, memory = dataclasses.replace(FACTS, mask_words=0.0), (1 << 40, 1 << 43)
    fits, exceeds = (
        planned(profile, facts=facts, memory=memory, problem={"m": m}).first_pass for m in (1 << 27, (1 << 27) + 1)
    )

    assert (fits, exceeds) == ("neighbor_buffer", "none")


def test_long_lists_of_gpus_are_measured(profile):
    problem = {"pairs": 1e8}
    gpu = profile.kind == "gpu"

    assert planned(profile, carried={"distances": True}, problem=problem).attributes == (
        "measured" if gpu else "with_row"
    )
    assert planned(profile, carried={"distances": True, "images": True}, problem=problem).attributes == "with_row"
    assert planned(profile, problem=problem).attributes == "with_row"
    assert planned(profile, carried={"distances": True}).attributes == "with_row"


def test_capacity(profile):
    assert planned(profile).capacity == "exact"
    foreseen = planned(profile, foreseen=400_000)
    assert (foreseen.capacity, foreseen.pairs, foreseen.overflow_waits) == ("foreseen", 400_000, True)
    assert not planned(profile, foreseen=400_000, overflows=True).overflow_waits
    hinted = planned(profile, foreseen=400_000, hint=7)
    assert (hinted.capacity, hinted.pairs, hinted.overflow_waits) == ("hinted", 7, False)
    assert planned(profile, hint=1 << 31).offsets == LONG
    assert planned(profile, hint=(1 << 31) - 1).offsets == INT
    ordered = planned(profile, foreseen=400_000, carried={"sort": "index"})
    assert ordered.capacity == ("foreseen" if profile.loop_turns is None else "exact")
    assert not ordered.overflow_waits
