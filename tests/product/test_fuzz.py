"""The fuzz target: drawn clouds, boxes, radii and calls, each answer compared with numpy's to the last bit.

``CLFRNN_FUZZ_CASES`` is the number of cases on each device, ``CLFRNN_FUZZ_SEED`` the seed; both have defaults, so that
a run without them is always the same. A failing case is shown as text, and ``CLFRNN_FUZZ_CASE`` set to that text runs
it alone. A line at the end of the run tells the seed, the cases, the pairs compared, and a digest of all that numpy
expected: equal for equal seeds, numbers of cases and ``CLFRNN_TEST_POINTS``, on all devices of equal abilities.
"""

import dataclasses
import hashlib
import itertools
import json
import math
import os
import sys
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest
from conftest import POINTS, WAYS, as_gpu, device_id, structure_of, takes_long_as_gpu, tuned, with_tuning
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

CASES = int(os.environ.get("CLFRNN_FUZZ_CASES", "12"))
SEED = int(os.environ.get("CLFRNN_FUZZ_SEED", "1"))
ONE_CASE = os.environ.get("CLFRNN_FUZZ_CASE")

#: Most points of a case: all pairs of all images are cheap in numpy.
MOST = min(150, POINTS // 2)

#: FENNS' cells are few where points are, unless they are asked for.
WAYS = {**WAYS, "fenns_small_cells": ("fenns", {"coarse_shape": 6})}

#: Images times points times queries that the reference looks at in a case, at most.
MOST_TESTS = 400_000

FIELDS = ("indices", "distances", "vectors", "shifts")


# --- what is drawn --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A case in words and a seed. Its arrays follow from it, and from the cells that are laid around them."""

    way: str
    dim: int
    dtype: str
    periodic: tuple[bool, ...]
    seed: int
    n: int
    m: int | None  # None: the points are the queries
    cloud: str
    edges: bool  # half of the points go to the edges of cells, their partners to a radius from them
    exponent: int
    offset: float
    shape: str
    radius: str
    per_query: bool
    box: str
    outside: int  # up to so many lengths outside a periodic box
    call: str
    stage: str
    spare: float  # how much larger the radius of the index is
    include_self: bool
    half: bool
    sort: str | None
    full: bool  # distances and vectors are asked for
    layout: str
    query_layout: str
    radius_layout: str
    narrow: bool  # float32 queries for float64 points
    room: str  # of a hint or of a block

    def __str__(self):
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def parse(cls, text):
        fields = json.loads(text)
        return cls(**{**fields, "periodic": tuple(fields["periodic"])})


#: Eight bits for every choice. Hypothesis mixes constants of the modules that happen to be loaded into integers and
#: floats, but not into booleans: with these, a seed draws the same cases alone and among all tests.
BITS = st.tuples(*[st.booleans()] * 8)


@st.composite
def drawn_cases(draw, families):
    """A case of one of the families. Shrinking goes towards the first entry of each table."""

    def number(most):
        value = sum(bit << k for k, bit in enumerate(reversed(draw(BITS))))
        return value * (most + 1) >> 8

    def pick(table):
        place = number(sum(table.values()) - 1)
        return next(
            value for value, end in zip(table, itertools.accumulate(table.values()), strict=True) if place < end
        )

    method, dim, dtype, repeats = families[number(len(families) - 1)]
    ways = [name for name in WAYS if WAYS[name][0] == method]
    way = ways[number(len(ways) - 1)]
    periodic = (False,) * dim
    if repeats:
        # all axes or some; only one or two where each axis has five images or more to compare with
        some = 1 + number(2 ** min(dim, 3) - 2)
        periodic = tuple(bool(some >> axis & 1) for axis in range(dim))
        if dim <= 3 and pick({False: 1, True: 1}):
            periodic = (True,) * dim
        if dim > 3:
            periodic = tuple(flag and axis < 2 for axis, flag in enumerate(periodic[:1] + periodic[:1] + periodic[2:]))
            periodic = periodic if any(periodic) else (False, True) + (False,) * (dim - 2)
    n = pick({0: 1, 1: 1, 2: 1, 3: 1, None: 24})
    n = 4 + number(max(0, MOST - 4)) if n is None else n
    m = pick({False: 5, True: 3}) and pick({0: 1, 1: 1, None: 12})
    m = None if m is False else 2 + number(min(MOST, 90)) if m is None else m
    cloud = pick(
        {
            "uniform": 4,
            "lattice": 3,
            "clustered": 2,
            "duplicates": 2,
            "coincident": 1,
            "decades": 2,
            "outlier": 2,
            "collinear": 1,
        }
    )
    edges = pick({True: 5, False: 5})
    call = pick({"search": 3, "query": 4, "count": 2, "nearest": 2, "hint": 2, "blocks": 2})
    listing = call not in {"count", "nearest"}
    per_query = pick({False: 4, True: 1})
    full = pick({True: 3, False: 1}) if listing else False
    narrow = m is not None and dtype == "float64" and pick({False: 3, True: 1})
    layouts = {
        "plain": 6,
        "fortran": 1,
        "strided": 1,
        "reversed": 1,
        "big-endian": 1,
        "device": 2,
        "view": 2,
        "queue": 1,
    }
    layout, query_layout = pick(layouts), pick(layouts)
    radius = pick(
        {"fit": 5, "nice": 5, "pair": 3, "spacing": 2, "zero": 1, "tiny": 1, "vanishing": 1, "wide": 3}
        if repeats
        else {"fit": 6, "nice": 4, "pair": 4, "spacing": 3, "zero": 2, "tiny": 1, "vanishing": 1, "wide": 2}
    )
    stage = "fresh" if call == "search" else pick({"fresh": 3, "updated": 2, "updated twice": 1})
    return Case(
        way=way,
        dim=dim,
        dtype=dtype,
        periodic=periodic,
        seed=number(255) << 8 | number(255),
        n=n,
        m=m,
        cloud=cloud,
        edges=edges,
        exponent=pick({0: 9, **{k: 1 for k in range(-8, 9) if k}}),
        offset=pick(
            {0.0: 4, -0.5: 3, -0.3: 2, 1.0: 1, -3.0: 1, 17.3: 1, 1000.0: 2, **({} if repeats else {1e5: 1, 1e7: 1})}
        ),
        shape=pick({"cube": 3, "box": 2, **({} if repeats else {"needle": 1})}),
        radius=radius,
        per_query=per_query,
        box=pick({"lengths": 1, "corners": 1} if repeats else {"none": 6, "lengths": 1, "corners": 1}),
        outside=pick({0: 6, 1: 1, 3: 1, 5000: 2, 100_000: 2}) if repeats else 0,
        call=call,
        stage=stage,
        spare=1.0 if call == "search" else pick({1.0: 3, 1.5: 1, 4.0: 1}),
        include_self=pick({False: 2, True: 1}),
        half=listing and m is None and not per_query and pick({False: 2, True: 1}),
        sort=pick({"index": 4, None: 2, "distance": 3}) if listing else None,
        full=full,
        layout=layout,
        query_layout=query_layout,
        radius_layout=pick({"plain": 3, "numpy": 1, "device": 1, "view": 1}),
        narrow=narrow,
        room=pick({"right": 2, "short": 2, "generous": 2}),
    )


def families_of(profile):
    """What programs are compiled for: method, dimension, dtype, and whether there are images.

    Few cases stay in few of them, since compiling takes longer than all else.
    """
    families = [
        (method.name, dim, dtype, repeats)
        for method in METHODS.values()
        for dim in sorted(method.dims & {1, 2, 3, 5, 12})
        for dtype in (("float32", "float64") if profile.fp64 else ("float32",))
        for repeats in (False, True)
    ]
    order = np.random.default_rng(SEED).permutation(len(families))
    shuffled = [families[k] for k in order]
    # Those with cells come first, with images and without in turn; all pairs, slow to compile, take every fifth turn.
    cells = {each: [one for one in shuffled if one[0] != "brute_force" and one[3] == each] for each in (True, False)}
    ordered = [one for two in zip(cells[True], cells[False], strict=True) for one in two]
    for k, one in enumerate(each for each in shuffled if each[0] == "brute_force"):
        ordered.insert(5 * k + 4, one)
    return ordered[: max(4, CASES // 15)]


# --- its arrays -----------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """The arrays of a case."""

    points: Any
    before: list[Any]  # what the index held before, oldest first
    queries: Any
    radius: Any
    built: float
    box: Any


def nudged(rng, values):
    """Each value, or one of its two neighbors in floating point."""
    towards = rng.choice([-np.inf, 0.0, np.inf], values.shape).astype(values.dtype)
    return np.where(towards == 0, values, np.nextafter(values, towards))


class Maker:
    """Makes the arrays of one case."""

    def __init__(self, session, case):
        self.session, self.case = session, case
        self.rng = np.random.default_rng([case.seed, case.dim])
        self.real = np.dtype(case.dtype)
        self.flags = np.array(case.periodic)
        scale = float(f"1e{case.exponent}")
        shapes = {"cube": [1.0], "box": [1.0, 0.25, 3.0], "needle": [1.0, 1e-3, 40.0]}[case.shape]
        self.extent = scale * np.resize(shapes, case.dim)
        self.low = case.offset * self.extent
        self.grain = int(self.rng.choice([2, 3, 4, 8]))
        self.box, self.lengths = self.make_box()
        # edges in one period, or a little outside as rounding has it, and not in the periods beside it
        self.snug = bool(self.rng.integers(2))

    def make_box(self):
        """The box as it is passed, and its lengths, 0 where not periodic. Other axes carry what must be ignored."""
        case, real = self.case, self.real
        if case.box == "none":
            return None, np.zeros(case.dim, real)
        if case.box == "lengths":
            box = np.where(self.flags, self.extent, self.rng.choice([0.0, -1.0, 1.0]))
            lengths = box.astype(real)
        else:
            box = np.stack([self.low, np.where(self.flags, self.low + self.extent, self.low - 1.0)])
            lengths = box[1].astype(real) - box[0].astype(real)
        return box, np.where(self.flags, lengths, real.type(0))

    def make(self):
        """Points first without edges, since cells are laid around them, then with."""
        case, rng = self.case, self.rng
        radius = self.base_radius()
        n, m, radius = self.affordable(radius)
        radius = self.pair_radius(radius, n) if case.radius == "pair" else radius
        built = radius * case.spare
        points, queries = self.cloud(n), None if m is None else self.cloud(m)
        before = []
        if case.stage != "fresh":
            before = [self.cloud(n, moved=not case.edges)]
        if case.stage == "updated twice":
            before.append(self.cloud(n, moved=True))
        if case.edges and n > 1:
            points, queries = self.with_edges(points, queries, before, radius, built)
        if case.outside:
            # the two apart as well: what lies far out is rounded more coarsely, and windows are padded for either
            which = rng.integers(3)
            points = points if which == 1 else self.scattered(points)
            queries = queries if which == 2 or queries is None else self.scattered(queries)
        if case.narrow:
            queries = queries.astype(np.float32)
        if case.per_query:
            radius = self.radii(radius, points, queries)
        return Data(
            self.near(points), [self.near(each) for each in before], self.near(queries), radius, built, self.box
        )

    def cloud(self, n, *, moved=False):
        """n points of the case's kind in the domain; with `moved` far from where they would be, in other sizes."""
        rng, dim = self.rng, self.case.dim
        unit = rng.random((n, dim))
        kind = self.case.cloud
        if kind == "lattice":
            unit = rng.integers(0, self.grain + 1, (n, dim)) / self.grain
        elif kind == "clustered":
            unit = rng.random((3, dim))[rng.integers(3, size=n)] + 0.01 * (unit - 0.5)
        elif kind == "duplicates":
            unit = unit[rng.integers(max(1, n // 4), size=n)]
        elif kind == "coincident":
            unit = np.broadcast_to(rng.random(dim), (n, dim))
        elif kind == "decades":
            unit = np.ldexp(2 * unit - 1, rng.integers(-20, 10, (n, 1)))
        elif kind == "outlier":
            unit[: n // 20 + 1] = rng.choice([1e5, 1e20 if not self.flags.any() else -1e3])
        elif kind == "collinear":
            unit[:, rng.integers(dim)] = 0.5
        if moved:
            unit = unit * rng.choice([1.0, 40.0, 1 / 400]) + rng.integers(-3, 4)
        return self.near((self.low + self.extent * unit).astype(self.real))

    def near(self, points):
        """The same, save for what lies so far outside a periodic box that it is refused."""
        if points is None or not self.flags.any():
            return points
        away = np.abs(points) > 2.0**18 * self.lengths
        inside = np.broadcast_to((self.low + 0.5 * self.extent).astype(points.dtype), points.shape)
        return np.where(away & self.flags, inside, points)

    def scattered(self, points):
        """Half of the points some lengths away."""
        outside = self.case.outside
        turns = self.rng.integers(-outside, outside + 1, points.shape) * self.rng.integers(0, 2, (len(points), 1))
        return points + turns.astype(points.dtype) * self.lengths

    def base_radius(self):
        rng, case = self.rng, self.case
        axes = np.flatnonzero(self.flags) if self.flags.any() else np.arange(case.dim)
        unit = float(self.extent[rng.choice(axes)])
        ball = math.pi ** (case.dim / 2) / math.gamma(case.dim / 2 + 1)
        fit = float(f"{(6 / max(case.n, 2) / ball) ** (1 / case.dim):.6g}") * unit
        return {
            "fit": fit,
            "pair": fit,
            "zero": 0.0,
            "tiny": 1e-3 * fit,
            "vanishing": float(rng.choice([1e-25, 1e-30, 1e-42])),
            "spacing": unit / self.grain * float(rng.choice([1.0, math.sqrt(2.0), 2.0])),
            "nice": unit * float(rng.choice([0.125, 0.25, 0.375, 0.5, 0.1, 0.3, 0.75116706])),
            "wide": unit * float(rng.choice([0.7, 1.0, 1.5, 2.3])),
        }[case.radius]

    def affordable(self, radius):
        """Numbers of points and queries, and a radius, for which the reference does not take too long."""
        n, m = self.case.n, self.case.m
        lengths = self.lengths[self.flags].astype(float)

        def tests():
            around = math.prod(2 * math.ceil(radius / length * 1.01) + 3 for length in lengths)
            return around * n * (n if m is None else m)

        while tests() > MOST_TESTS:
            if n > 12 or (m or 0) > 12:
                n = max(min(n, 12), 3 * n // 4)
                m = m if m is None else max(min(m, 12), 3 * m // 4)
            else:
                radius /= 2
        return n, m, radius

    def pair_radius(self, radius, n):
        """The distance of two points, or one of its neighbors in floating point, where it is not too far off."""
        state = self.rng.bit_generator.state
        points = self.cloud(n)
        self.rng.bit_generator.state = state  # the same cloud comes once more
        if n < 2:
            return radius
        i, j = np.random.default_rng(self.case.seed).integers(n, size=2)
        apart = np.sqrt(reference.squared_distances(points[i : i + 1], points[j : j + 1])[0])
        apart = float(nudged(np.random.default_rng(self.case.seed), apart)[0])
        unit = self.extent[self.flags].min(initial=np.inf)
        return apart if 0 < apart < min(1e17, unit) else radius

    def radii(self, radius, points, queries):
        """One for each query: zeros, the whole, parts, and the very distance of some point."""
        rng = self.rng
        sources = points if queries is None else queries.astype(self.real)
        m = len(sources)
        radii = radius * rng.choice([0.0, 1.0, 0.5, 0.77], m)
        if len(points) and m:
            partners = points[rng.integers(len(points), size=m)]
            with np.errstate(all="ignore"):
                squares = sum(((partners - sources).astype(self.real) ** 2).T)
                apart = np.sqrt(squares).astype(float)
            radii = np.where((apart <= radius) & (rng.random(m) < 0.5), apart, radii)
        return np.minimum(radii, radius)

    # --- edges of cells ---------------------------------------------------------------------------------------------

    def with_edges(self, points, queries, before, radius, built):
        """Points on edges of the very cells that are laid around them, as far as the two can be brought together."""
        state = self.rng.bit_generator.state
        plain, foreign, lows = points, queries, None
        for _ in range(3):
            grids = self.grids(before[0] if before else points, built)
            if lows == [grid and (grid.low, grid.sides) for grid in grids]:
                break
            lows = [grid and (grid.low, grid.sides) for grid in grids]
            self.rng.bit_generator.state = state
            points, queries = self.on_edges(before[0] if before else plain, plain, foreign, grids, radius)
            if before:
                break
        return points, queries

    def grids(self, points, built):
        """The cells that a CPU and a GPU would lay: the same on both, so that a case is the same on all devices."""
        method, options = WAYS[self.case.way]
        index = clfrnn.build_index(
            points, built, method=method, box=self.box, periodic=self.case.periodic, session=self.session, **options
        )
        profiles = [dataclasses.replace(self.session.profile, kind=kind) for kind in ("cpu", "gpu")]
        return [
            getattr(METHODS[method].plan(structure_of(index).problem, *with_tuning(each)), "grid", None)
            for each in profiles
        ]

    def on_edges(self, around, plain, foreign, grids, radius):
        """`plain` and `foreign` with edges and partners in place of some; all stay within the box of `around`."""
        rng, real = self.rng, self.real
        low, high = around.min(axis=0), around.max(axis=0)
        many = max(1, len(plain) // 2 if foreign is None else 2 * len(plain) // 3)
        edge = plain[rng.integers(len(plain), size=many)]
        for axis, grid in itertools.product(range(self.case.dim), grids):
            take = rng.random(many) < 0.5
            edge[take, axis] = self.edge_values(int(take.sum()), axis, grid, radius, low[axis], high[axis])
        partner = edge.copy()
        rows, axes = np.arange(many), rng.integers(self.case.dim, size=many)
        with np.errstate(over="ignore"):
            partner[rows, axes] += rng.choice([-1, 1], many).astype(real) * real.type(radius)
            turns = rng.integers(-1, 2, many)
            if self.snug:  # into the box again
                turns = ((partner < self.low).astype(int) - (partner > self.low + self.extent))[rows, axes]
            partner[rows, axes] += turns.astype(real) * self.lengths[axes]
        partner[rows, axes] = nudged(rng, partner[rows, axes])
        away = ~self.flags
        edge[:, away] = np.clip(edge, low, high)[:, away]
        if foreign is None:
            partner[:, away] = np.clip(partner, low, high)[:, away]
            # the corners first, lest the cells move
            points = np.concatenate([low[None], high[None], edge, partner, plain])[: len(plain)]
            return rng.permutation(points), None
        points = np.concatenate([low[None], high[None], edge, plain])[: len(plain)]
        queries = np.concatenate([partner, edge, foreign])
        return rng.permutation(points), rng.permutation(queries)[: len(foreign)]

    def edge_values(self, many, axis, grid, radius, low, high):
        """Coordinates on edges, of cells and of the box, and just beside the box's."""
        rng, real = self.rng, self.real
        length = float(self.lengths[axis])
        start, side = (grid.low[axis], grid.sides[axis]) if grid else (float(low), max(radius, 1e-30))
        if length:
            last = grid.periods[axis] if grid else int(min(length / side, 1e6))
        else:
            last = int(min(max((float(high) - start) / side, 0), 2.0**27))
        first = -1 if length and not self.snug else 0
        # edges near zero, where coordinates are finer than the radius, tell most about rounding
        origin = rng.choice([first, rng.integers(first, last + 1), np.clip(np.floor(-start / side) - 1, first, last)])
        steps = np.minimum(origin + rng.integers(0, 5, many), last + (not self.snug))
        values = (start + steps * side).astype(real)
        if rng.random() < 0.5:  # as a kernel might have summed it
            values = real.type(start) + steps.astype(real) * real.type(side)
        if length:
            finest = rng.choice([17, 40])
            beside = np.ldexp(rng.random(many) - 0.5, -rng.integers(8 if finest == 40 else 14, finest, many)) * length
            turns = rng.integers(0, 2, many) if self.snug else rng.integers(-1, 3, many)
            ends = (start + turns * length + beside * rng.integers(0, 2, many)).astype(real)
            values = np.where(rng.random(many) < 0.4, ends, values)
        return nudged(rng, values.astype(real))


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


class Found(NamedTuple):
    """A list, its parts joined."""

    offsets: Any
    indices: Any
    distances: Any
    vectors: Any
    shifts: Any


def joined(parts, case):
    """Blocks as one list."""
    hosts = [part.to_host() for part in parts]
    offsets = [np.zeros(1, np.int32)]
    for host in hosts:
        offsets.append(offsets[-1][-1] + host.offsets[1:])

    def together(name):
        arrays = [getattr(host, name) for host in hosts]
        return None if not arrays or arrays[0] is None else np.concatenate(arrays)

    return Found(np.concatenate(offsets), *(together(name) for name in FIELDS))


def ask(session, case, data, expected):
    """What clfrnn answers: counts, the nearest, or a list."""
    method, options = WAYS[case.way]
    points = dressed(session, data.points, case.layout)
    queries = dressed(session, data.queries, case.query_layout)
    radius = dressed_radius(session, data.radius, case.radius_layout, data.points.dtype)
    place = {"method": method, "box": data.box, "periodic": case.periodic, "session": session, **options}
    place["periodic"] = case.periodic[0] if len(set(case.periodic)) == 1 else case.periodic
    asked = {"include_self": case.include_self}
    listed = {"distances": case.full, "vectors": case.full, "sort": case.sort, "half": case.half}
    if case.call == "search":
        return clfrnn.search(points, radius, queries=queries, **place, **asked, **listed).to_host()
    held = [*data.before, points]
    index = clfrnn.build_index(held[0], data.built, **place)
    for each in held[1:]:
        index.update(each)
    if case.spare > 1 or case.per_query:
        asked["radius"] = radius
    if case.call == "count":
        answer = index.count(queries, **asked).get()
    elif case.call == "nearest":
        answer = tuple(each.get() for each in index.nearest(queries, **asked))
    elif case.call == "blocks":
        longest = int(np.diff(expected.offsets).max(initial=0))
        row = 16 + longest * (4 + (1 + case.dim) * data.points.itemsize + 4 * case.dim)
        budget = row * {"short": 1, "right": 4, "generous": 1000}[case.room]
        blocks = index.query_blocks(queries, max_bytes=budget, **asked, **listed)
        parts = list(itertools.islice(blocks, 1))
        if data.before:
            index.update(data.before[0])  # what is listed are the points as they were
        answer = joined([*parts, *blocks], case)
    else:
        pairs = len(expected.indices)
        hint = {"short": pairs // 2, "right": pairs, "generous": 2 * pairs + 9}[case.room]
        asked |= {"hint": hint} if case.call == "hint" else {}
        found = index.query(queries, **asked, **listed)
        if data.before and case.call == "hint":
            index.update(data.before[0])
        answer = found.to_host()
    index.check()
    return answer


def expect(case, data):
    return reference.neighbors(
        data.points,
        data.radius,
        queries=data.queries,
        include_self=case.include_self,
        half=case.half,
        box=data.box,
        periodic=case.periodic,
    )


# --- comparing ------------------------------------------------------------------------------------------------------


def rows_of(offsets):
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def sorted_columns(columns, rows, keys):
    order = np.lexsort((*keys[::-1], rows))
    return [None if column is None else column[order] for column in columns]


def difference(case, found, expected):
    """What differs from the reference, in words; nothing where all is the same."""
    counts = np.diff(expected.offsets)
    rows = rows_of(expected.offsets)
    if case.call == "count":
        return compare("counts", found, counts.astype(np.int32))
    if case.call == "nearest":
        first = np.lexsort((expected.indices, expected.squares, rows))[expected.offsets[:-1][counts > 0]]
        indices = np.full(len(counts), -1, np.int32)
        distances = np.full(len(counts), np.inf, expected.distances.dtype)
        indices[counts > 0], distances[counts > 0] = expected.indices[first], expected.distances[first]
        return compare("indices", found[0], indices) or compare("distances", found[1], distances)
    if text := compare("offsets", found.offsets, expected.offsets.astype(np.int32)):
        mine, theirs = (
            set(zip(rows_of(each.offsets).tolist(), each.indices.tolist(), strict=True)) for each in (found, expected)
        )
        return f"{text}; missing pairs {sorted(theirs - mine)[:4]}, surplus pairs {sorted(mine - theirs)[:4]}"
    shifted = case.full and any(case.periodic)
    wanted = [expected.indices, *((expected.distances, expected.vectors) if case.full else (None, None))]
    wanted.append(expected.shifts if shifted else None)
    given = [getattr(found, name) for name in FIELDS]
    if case.call == "blocks" and not len(counts):
        return ""
    if case.sort == "distance":
        wanted = sorted_columns(wanted, rows, [expected.squares, expected.indices, *expected.shifts.T])
    elif case.sort is None:
        wanted, given = (
            sorted_columns(columns, rows, [columns[0], *(column for each in columns[:0:-1] for column in lanes(each))])
            for columns in (wanted, given)
        )
    texts = (compare(name, mine, theirs) for name, mine, theirs in zip(FIELDS, given, wanted, strict=True))
    return next(filter(None, texts), "")


def lanes(array):
    return () if array is None else np.atleast_2d(array.T)


def compare(name, found, expected):
    """How two arrays differ, in words."""
    if found is None or expected is None:
        return "" if found is expected else f"{name}: one is None, found {found}, expected {expected}"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{name}: found {found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
    if np.array_equal(found, expected):
        return ""
    where = tuple(int(k) for k in np.argwhere(found != expected)[0])
    number = (found != expected).sum()
    return f"{name} differ in {number} places, first at {where}: {found[where]!r} != {expected[where]!r}"


def vanishes(case, data, expected):
    """Whether a device that flushes subnormals may differ: squares so small decide something or stand in the result."""
    if data.points.dtype != np.float32:
        return False
    least = 2.0**-101  # also the last bits of squares a little larger come from subnormal ones
    with np.errstate(all="ignore"):
        limits = np.atleast_1d(np.asarray(data.radius).astype(np.float32)) ** 2
        small = dataclasses.replace(case, include_self=False, half=False)
        close = expect(small, data._replace(radius=2.0**-50)).squares
    return any(((each > 0) & (each < least)).any() for each in (limits, close, expected.squares))


@dataclasses.dataclass
class Tally:
    """What was compared on a device so far."""

    cases: int = 0
    pairs: int = 0
    skipped: int = 0
    digest: Any = dataclasses.field(default_factory=hashlib.sha256)

    def add(self, case, expected):
        self.cases += 1
        self.pairs += len(expected.indices)
        self.digest.update(str(case).encode())
        for array in expected:
            self.digest.update(np.ascontiguousarray(array).tobytes())


def show(data):
    """The arrays as they can be typed in, where there are few."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", linewidth=120):
        lines = (f"{name} = {value!r}" for name, value in data._asdict().items())
        return "\n".join(line if len(line) < 4000 else f"{line[:4000]} ..." for line in lines)


def run_case(session, case, tally, note):
    """Compare; `note` takes what is worth reading when this fails.

    Odd seeds are searched as on a GPU, and of every four seeds two by what is done with many points, and crowded ones.
    """
    if case.seed % 2 and not takes_long_as_gpu(session, WAYS[case.way][0]):
        session = as_gpu(session)
    if case.seed // 2 % 2:
        session = tuned(session, fenns={"few_of_item": 0}, binning={"few_of_item": 0}, grid={"long_run": 0})
    data = Maker(session, case).make()
    expected = expect(case, data)
    if not session.profile.subnormals and vanishes(case, data, expected):
        tally.skipped += 1
        return
    kept = [None if each is None else np.array(each, copy=True) for each in (data.points, data.queries, data.radius)]
    note(f"clfrnn differs from numpy. Run this case alone with\nCLFRNN_FUZZ_CASE='{case}'\nIts arrays:")
    note(show(data))
    text = difference(case, ask(session, case, data, expected), expected)
    assert not text, text
    for before, after in zip(kept, (data.points, data.queries, data.radius), strict=True):
        assert before is None or np.array_equal(before, after), "an argument was changed"
    tally.add(case, expected)


# --- the tests ------------------------------------------------------------------------------------------------------


class Summary:
    """A plugin that prints lines at the end of the run, also with -q."""

    def __init__(self):
        self.lines = []

    def pytest_terminal_summary(self, terminalreporter):
        for line in self.lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def summary(request):
    plugin = Summary()
    request.config.pluginmanager.register(plugin)
    return plugin


def test_every_drawn_case_is_answered_as_numpy_answers_it(session, summary):
    tally = Tally()
    checked = session.profile.platform == "Oclgrind"

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
    @hypothesis.given(case=drawn_cases(families_of(session.profile)))
    def every_case(case):
        if checked:  # a checker's report stands behind the case that it is about
            print(case, file=sys.__stderr__, flush=True)
        run_case(session, case, tally, hypothesis.note)

    outcome = "FAILED"
    try:
        if ONE_CASE:
            run_case(session, Case.parse(ONE_CASE), tally, print)
        else:
            every_case()
        outcome = tally.digest.hexdigest()[:32]
    finally:
        summary.lines.append(
            f"fuzz on {device_id(session.device)}: seed {SEED}, {tally.cases:,} cases"
            f"{f' ({tally.skipped:,} more skipped, subnormal)' if tally.skipped else ''}, "
            f"{tally.pairs:,} pairs compared, {outcome}"
        )
    assert tally.cases + tally.skipped >= (1 if ONE_CASE else CASES)
