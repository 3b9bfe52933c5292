"""The fuzz target: drawn clouds, domains, radii and questions, each answer compared with numpy's to the last bit.

``CLFRNN_FUZZ_CASES`` is the number of cases for each kind of domain on each device, ``CLFRNN_FUZZ_SEED`` the seed; both
have defaults, so that a run without them is always the same. A failing case is shown as text, and ``CLFRNN_FUZZ_CASE``
set to that text runs it alone. A line for each kind of domain at the end of the run tells the seed, the cases, the
pairs compared, and a digest of all that numpy expected: equal for equal seeds, numbers of cases and
``CLFRNN_TEST_POINTS``, on all devices of equal abilities.
"""

import dataclasses
import hashlib
import itertools
import os
import sys
from typing import Any

import hypothesis
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from cluster_reference import assert_clusters, clusters_of
from condition_cases import spread
from conftest import (
    as_gpu,
    assert_counts,
    assert_nearest,
    assert_rows,
    assert_same,
    by_distance,
    counts_of,
    device_id,
    host,
    joined,
    rows_of,
    same_rows,
    takes_long_as_gpu,
    tuned,
)
from fuzz_cases import APPLICATIONS, DOMAINS, K_NEAREST, WAYS, Case, Held, Maker, drawn_cases, drawn_questions
from hypothesis import HealthCheck, Phase

import clfrnn
from clfrnn import reference
from clfrnn.cluster import dbscan, friends_of_friends
from clfrnn.geometry import radius_outliers

CASES = int(os.environ.get("CLFRNN_FUZZ_CASES", "12"))
SEED = int(os.environ.get("CLFRNN_FUZZ_SEED", "1"))
ONE_CASE = os.environ.get("CLFRNN_FUZZ_CASE")

#: Compiling takes longer than all else: few cases have few questions, and many have so many data each.
QUESTIONS = min(max(4, CASES // 12), 250)


# --- asking ---------------------------------------------------------------------------------------------------------


def dressed(session, array, layout):
    """The same rows in another layout."""
    if array is None or layout == "plain":
        return array
    n, dim = array.shape
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    if layout == "reversed":
        return array[::-1].copy()[::-1]
    if layout == "device" or n == 0:
        return cla.to_device(session.queue, array)
    if layout == "queue":
        return cla.to_device(cl.CommandQueue(session.context, session.device), array)
    wide = np.full((2 * n + 1, dim + 2), np.nan, array.dtype)
    wide[1::2, 1:-1] = array
    if layout == "strided":
        return wide[1::2, 1:-1]
    return cla.to_device(session.queue, wide)[1::2, 1:-1]


def dressed_radius(session, radius, layout, real):
    """The same radius, or radii, in another guise."""
    if layout == "plain" or (np.ndim(radius) and not len(radius)):
        return radius
    rounded = np.asarray(radius).astype(real)
    if layout == "numpy" or not rounded.ndim:
        return rounded if rounded.ndim else rounded[()]
    if layout == "view":
        return cla.to_device(session.queue, np.repeat(rounded, 2))[::2]
    return cla.to_device(session.queue, rounded)


def rule_of(case, data):
    """What the reference takes beside points and a radius."""
    asked = {"queries": data.queries, "include_self": case.include_self, "where": data.met, **data.domain}
    return asked if data.batch is None else {**asked, "batch": data.batch, "query_batch": data.query_batch}


def expect(case, data):
    """What numpy finds: the k nearest, or all neighbors."""
    if case.call in K_NEAREST:
        radius = None if case.call == "unbounded" else data.radius
        return reference.nearest(data.points, neighbors_of(case, data), radius=radius, **rule_of(case, data))
    return reference.neighbors(data.points, data.radius, half=case.half, **rule_of(case, data))


def neighbors_of(case, data):
    """k, and fewer where images on few axes, or of few points, would be very many."""
    if case.call != "unbounded" or not any(case.periodic) or (data.batch is None and case.k < len(data.points)):
        return case.k
    return min(case.k, 8 if all(case.periodic) and not case.own else 3)


def check(session, case, data, expected):
    """Ask clfrnn, and compare."""
    method, options = WAYS[case.way]
    points = dressed(session, data.points, case.layout)
    queries = dressed(session, data.queries, case.query_layout)
    radius = dressed_radius(session, data.radius, case.radius_layout, data.points.dtype)
    place = {"method": method, "session": session, **data.domain, **options}
    asked = {"include_self": case.include_self, "where": data.condition}
    if data.batch is not None:
        place["batch"] = data.batch
        asked |= {} if queries is None else {"query_batch": data.query_batch}
    listed = {"distances": case.full, "vectors": case.full, "sort": case.sort, "half": case.half}
    k = neighbors_of(case, data)
    if case.call == "search":
        settle(case, data, clfrnn.search(points, radius, queries=queries, **place, **asked, **listed), expected)
        return
    if case.call in ("within", "unbounded"):
        within = {} if case.call == "unbounded" else {"radius": radius}
        assert_rows(clfrnn.nearest(points, k, queries=queries, vectors=True, **within, **place, **asked), expected)
        return
    if case.call in APPLICATIONS:
        apply(case, points, radius, expected, place)
        return
    held = [*data.before, Held(points, data.batch if case.other else None)]
    first = held[0].batch
    index = clfrnn.build_index(held[0].points, data.built, **(place if first is None else {**place, "batch": first}))
    for each in held[1:]:
        update(index, each)
    if case.spare > 1 or case.per_query:
        asked["radius"] = radius
    answer(index, case, data, expected, queries, asked, listed)
    index.check()


def apply(case, points, radius, expected, place):
    """Ask what stands on a search, and compare."""
    if case.call == "dbscan":
        assert_clusters(dbscan(points, radius, case.k, **place), clusters_of(expected, case.k))
    elif case.call == "friends":
        found = friends_of_friends(points, radius, min_members=case.k, **place)
        assert_clusters(found, clusters_of(expected, 1, min_members=case.k))
    else:
        stay = radius_outliers(points, radius, case.k, **place)
        assert np.array_equal(stay.get(), counts_of(expected) >= case.k)


def answer(index, case, data, expected, queries, asked, listed):
    """Ask an index, and compare."""
    if case.call == "count":
        assert_counts(index.count(queries, **asked), expected)
    elif case.call == "nearest":
        assert_nearest(index.nearest(queries, **asked), expected)
    elif case.call == "k nearest":
        assert_rows(index.nearest(queries, k=neighbors_of(case, data), vectors=True, **asked), expected)
    elif case.call == "visit":
        visit(index, queries, asked, expected)
    elif case.call == "blocks":
        blocks(index, case, data, expected, queries, asked | listed)
    elif case.call == "loop":
        for _ in range(3):
            same_rows(index.query(queries, **asked), expected)
            index.query(queries, **{**asked, "where": None}, hint=1)
    elif case.call == "budget":
        needed = 4 * len(expected.offsets) + 4 * len(expected.indices)
        same_rows(index.query(queries, max_bytes=needed, **asked), expected)
        if len(expected.indices):
            with pytest.raises(clfrnn.DeviceMemoryError):
                index.query(queries, max_bytes=needed - 1, **asked)
    else:
        pairs = len(expected.indices)
        hint = {"short": pairs // 2, "right": pairs, "generous": 2 * pairs + 9}[case.room]
        asked |= {"hint": hint} if case.call == "hint" else {}
        found = index.query(queries, **asked, **listed)
        if data.before and case.call == "hint":
            update(index, data.before[0])  # what is listed are the points as they were
        settle(case, data, found, expected)


def update(index, held):
    index.update(held.points, batch=held.batch)


def blocks(index, case, data, expected, queries, asked):
    """The parts of a list, between two of which the index takes other points."""
    longest = int(counts_of(expected).max(initial=0))
    row = 16 + longest * (4 + (1 + case.dim) * data.points.itemsize + 4 * case.dim)
    budget = row * {"short": 1, "right": 4, "generous": 1000}[case.room]
    rest = index.query_blocks(queries, max_bytes=budget, **asked)
    parts = list(itertools.islice(rest, 1))
    if data.before:
        update(index, data.before[0])
    parts += rest
    if len(counts_of(expected)):
        settle(case, data, joined(parts), expected)
    else:
        assert sum(len(part.indices) for part in parts) == 0


def visit(index, queries, asked, expected):
    """A function of a user's own, which adds up the numbers of neighbors."""
    m, queue = len(counts_of(expected)), index.session.queue
    many, total = cla.zeros(queue, max(1, m), np.int32), cla.zeros(queue, max(1, m), np.int64)
    index.visit(spread(), queries, **asked, many=many, total=total, kind=1)
    sums = np.zeros(m, np.int64)
    np.add.at(sums, rows_of(expected), expected.indices.astype(np.int64) + 1)
    assert np.array_equal(many.get()[:m], counts_of(expected))
    assert np.array_equal(total.get()[:m], sums)


# --- comparing ------------------------------------------------------------------------------------------------------


def settle(case, data, found, expected):
    """A list has the columns that were asked for in the types of the reference, and the order that was asked for."""
    found = host(found)
    wanted = {
        "distances": case.full,
        "vectors": case.full,
        "shifts": case.full and bool(np.any(data.domain.get("periodic", False))),
    }
    for name, there in wanted.items():
        column = getattr(found, name)
        assert (column is not None) == there, name
        assert column is None or column.dtype == getattr(expected, name).dtype, name
    assert found.indices.dtype == np.int32
    if case.sort is None:
        same_rows(found, expected)
    else:
        assert_same(found, expected, order=by_distance(expected) if case.sort == "distance" else slice(None))


def vanishes(case, data, expected):
    """Whether a device that flushes subnormals may differ: squares so small decide something or stand in the result."""
    if data.points.dtype != np.float32:
        return False
    least = 2.0**-101  # also the last bits of squares a little larger come from subnormal ones
    with np.errstate(all="ignore"):
        limits = np.atleast_1d(np.asarray(data.radius).astype(np.float32)) ** 2
        small = dataclasses.replace(case, call="query", include_self=False, half=False)
        close = expect(small, data._replace(radius=2.0**-50, met=None)).squares
    return any(((each > 0) & (each < least)).any() for each in (limits, close, getattr(expected, "squares", close)))


@dataclasses.dataclass
class Tally:
    """What was compared on a device so far."""

    cases: int = 0
    pairs: int = 0
    skipped: int = 0
    digest: Any = dataclasses.field(default_factory=hashlib.sha256)

    def add(self, case, expected):
        self.cases += 1
        self.pairs += int((expected.indices >= 0).sum())
        self.digest.update(str(case).encode())
        for array in expected:
            self.digest.update(np.ascontiguousarray(array).tobytes())


def show(data):
    """The arrays as they can be typed in, where there are few."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", linewidth=120):
        lines = (f"{name} = {value!r}" for name, value in data._asdict().items())
        return "\n".join(line if len(line) < 4000 else f"{line[:4000]} ..." for line in lines)


def run_case(session, case, tally, note):
    """Compare; `note` takes what is worth reading when this fails."""
    if case.gpu and not takes_long_as_gpu(session, WAYS[case.way][0]):
        session = as_gpu(session)
    if case.crowded:
        many = {"fenns": {"few_of_item": 0}, "binning": {"few_of_item": 0}, "grid": {"long_run": 0}}
        session = tuned(session, **many, nearest={"coincident": 1.0}, linking={"coincident": 0.0})
    note(f"clfrnn differs from numpy. Run this case alone with\nCLFRNN_FUZZ_CASE='{case}'\nIts arrays:")
    data = Maker(session, case).make()
    try:
        compare(session, case, data, tally)
    except Exception:  # takes as long as the search, so only where it is read
        note(show(data))
        raise


def compare(session, case, data, tally):
    """Search the arrays of a case, as they are, and compare with numpy."""
    expected = expect(case, data)
    if not session.profile.subnormals and vanishes(case, data, expected):
        tally.skipped += 1
        return
    given = [data.points, data.queries, data.radius, data.batch, data.query_batch]
    copies = [None if each is None else np.array(each, copy=True) for each in given]
    check(session, case, data, expected)
    for before, after in zip(copies, given, strict=True):
        assert before is None or np.array_equal(before, after), "an argument was changed"
    tally.add(case, expected)


# --- the tests ------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_drawn_case_is_answered_as_numpy_answers_it(session, record_property, domain):
    tally = Tally()
    checked = session.profile.platform == "Oclgrind"
    questions = drawn_questions(session.profile, domain, many=QUESTIONS, seed=SEED)

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=CASES,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(case=drawn_cases(questions))
    def every_case(case):
        if checked:  # a checker's report stands behind the case that it is about
            print(case, file=sys.__stderr__, flush=True)
        run_case(session, case, tally, hypothesis.note)

    alone = Case.parse(ONE_CASE) if ONE_CASE else None
    if alone is not None and alone.domain != domain:
        pytest.skip(f"the case lies in the domain {alone.domain!r}")
    outcome = "FAILED"
    try:
        if alone is not None:
            run_case(session, alone, tally, print)
        else:
            every_case()
        outcome = tally.digest.hexdigest()[:32]
    finally:
        record_property(
            "summary",
            f"fuzz, {domain}, on {device_id(session.device)}: seed {SEED}, {tally.cases:,} cases"
            f"{f' ({tally.skipped:,} more skipped, subnormal)' if tally.skipped else ''}, "
            f"{tally.pairs:,} pairs compared, {outcome}",
        )
    assert tally.cases + tally.skipped >= (1 if alone is not None else CASES)
