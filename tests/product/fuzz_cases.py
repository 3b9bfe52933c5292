"""Cases of the fuzz target: clouds, domains and questions as Hypothesis draws them, and the arrays of each."""

import dataclasses
import itertools
import json
import math
from typing import Any, NamedTuple

import numpy as np
from condition_cases import CASES as CONDITIONS
from conftest import POINTS, WAYS, nudged, structure_of, with_tuning
from hypothesis import strategies as st

import clfrnn
from clfrnn import reference
from clfrnn.methods import METHODS

#: FENNS' cells are few where points are, unless they are asked for.
WAYS = {**WAYS, "fenns_small_cells": ("fenns", {"coarse_shape": 6})}

#: Kinds of domains. Systems lie in any of the others, all in one or each in its own.
DOMAINS = ("open", "box", "cell", "systems")

#: Most points of a case: all pairs of all images are cheap in numpy.
MOST = min(150, POINTS // 2)

#: Images times points times queries that the reference looks at in a case, at most.
MOST_TESTS = 400_000

#: Questions by what answers them.
LISTS = {"search": 3, "query": 4, "hint": 2, "blocks": 2, "budget": 1, "loop": 1}
OTHERS = {"count": 2, "nearest": 2, "visit": 1}
K_NEAREST = {"k nearest": 2, "within": 1, "unbounded": 2}
#: Outliers are found in open space alone.
APPLICATIONS = {"dbscan": 1, "friends": 1, "outliers": 1}

#: Programs are compiled for these numbers of neighbors, rounded up.
KS = (1, 2, 4, 7, 8, 13, 16, 33, 60, 150)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """The part of a case that programs are compiled for: cases that share it differ in their arrays alone."""

    way: str
    dim: int
    dtype: str
    domain: str
    repeats: bool  # some axes are periodic
    box: str  # how the domain is passed
    own: bool  # each system has a domain of its own
    gpu: bool  # searched as on a GPU
    crowded: bool  # searched by what is done with many points, and with crowded ones
    call: str
    k: int
    where: str  # the name of a condition
    foreign: bool  # queries are another array than the points
    narrow: bool  # float32 queries for float64 points
    per_query: bool
    include_self: bool
    half: bool
    sort: str | None
    full: bool  # distances and vectors are asked for


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case(Question):
    """A case in words and a seed. Its arrays follow from it, and from the cells that are laid around them."""

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
    skew: str  # of a cell
    batch: str  # how points belong to systems
    apart: bool  # systems lie beside each other
    outside: int  # up to so many lengths outside a periodic box
    stage: str
    other: str  # how many points the index held before
    spare: float  # how much larger the radius of the index is
    layout: str
    query_layout: str
    radius_layout: str
    room: str  # of a hint or of a block

    def __str__(self):
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def parse(cls, text):
        fields = json.loads(text)
        return cls(**{**fields, "periodic": tuple(fields["periodic"])})


# --- what is drawn --------------------------------------------------------------------------------------------------

#: Eight bits for every choice. Hypothesis mixes constants of the modules that happen to be loaded into integers and
#: floats, but not into booleans: with these, a seed draws the same cases alone and among all tests.
BITS = st.tuples(*[st.booleans()] * 8)


class Choices:
    """Choices from tables by ``number(most)``, which draws one of the numbers from 0 to `most`."""

    def __init__(self, number):
        self.number = number

    def one(self, values):
        return values[self.number(len(values) - 1)]

    def pick(self, table):
        """A key, as often as its value says."""
        drawn = self.number(sum(table.values()) - 1)
        return next(
            value for value, end in zip(table, itertools.accumulate(table.values()), strict=True) if drawn < end
        )

    def periodic(self, dim):
        """All axes or some; only one or two where each axis has five images or more to compare with."""
        some = 1 + self.number(2 ** min(dim, 3) - 2)
        flags = tuple(bool(some >> axis & 1) for axis in range(dim))
        if dim <= 3 and self.pick({False: 1, True: 1}):
            flags = (True,) * dim
        if dim > 3:
            flags = tuple(flag and axis < 2 for axis, flag in enumerate(flags[:1] + flags[:1] + flags[2:]))
            flags = flags if any(flags) else (False, True) + (False,) * (dim - 2)
        return flags


def shrinking(draw):
    """``number(most)`` of Hypothesis, whose shrinking goes towards 0: towards the first entry of each table."""

    def number(most):
        value = sum(bit << k for k, bit in enumerate(reversed(draw(BITS))))
        return value * (most + 1) >> 8

    return number


def drawn_questions(profile, domain, *, many, seed):
    """So many questions of a domain, which a seed draws; the families of programs take turns."""
    rng = np.random.default_rng([seed, DOMAINS.index(domain)])
    choices = Choices(lambda most: int(rng.integers(most + 1)))
    families = itertools.cycle(families_of(profile, domain, rng))
    return [drawn_question(choices, domain, family) for family in itertools.islice(families, many)]


def families_of(profile, domain, rng):
    """Method, dimension, dtype, and whether there are images, in an order that is drawn."""
    dims = {2, 3} if domain == "cell" else {1, 2, 3, 5, 12}
    families = [
        (method.name, dim, dtype, repeats)
        for method in METHODS.values()
        for dim in sorted(method.dims & dims)
        for dtype in (("float32", "float64") if profile.fp64 else ("float32",))
        for repeats in {"open": (False,), "systems": (True, False)}.get(domain, (True,))
    ]
    shuffled = [families[k] for k in rng.permutation(len(families))]
    # All pairs, slow to compile, and dimensions that few search take every fourth turn.
    seldom = [one for one in shuffled if one[0] == "brute_force" or one[1] not in (2, 3)]
    ordered = [one for one in shuffled if one not in seldom]
    for k, one in enumerate(seldom):
        ordered.insert(4 * k + 3, one)
    return ordered


def drawn_question(choices, domain, family):
    """A question of a family in a domain."""
    pick, one = choices.pick, choices.one
    method, dim, dtype, repeats = family
    applications = {name: times for name, times in APPLICATIONS.items() if name != "outliers" or domain == "open"}
    call = pick({**LISTS, **OTHERS, **K_NEAREST, **applications})
    attributes, asks = call in {"search", "query", "hint", "blocks"}, call not in APPLICATIONS
    foreign = asks and pick({False: 5, True: 3})
    per_query = asks and call != "unbounded" and pick({False: 4, True: 1})
    boxes = {
        "open": {"none": 6, "lengths": 1, "corners": 1},
        "box": {"lengths": 1, "corners": 1},
        "cell": {"cell": 1},
        "systems": {"lengths": 2, "corners": 2, **({"cell": 3} if dim in (2, 3) else {})} if repeats else {"none": 1},
    }
    box, own = pick(boxes[domain]), domain == "systems" and pick({True: 3, False: 1})
    if domain == "systems" and not own and box == "corners":
        box = "lengths"  # two rows may be the lengths of two systems
    where = one(sorted(CONDITIONS)) if asks and pick({False: 3, True: 1}) else ""
    if (call == "unbounded" and repeats) or (where == "of_points" and (per_query or call == "unbounded")):
        where = ""  # without a radius, images and conditions that read r2 are refused; numpy's have one radius
    return Question(
        way=one([name for name in WAYS if WAYS[name][0] == method]),
        dim=dim,
        dtype=dtype,
        domain=domain,
        repeats=repeats,
        box="none" if call == "outliers" else box,
        own=own,
        gpu=pick({False: 1, True: 1}),
        crowded=pick({False: 1, True: 1}),
        call=call,
        k=one(KS) if call in K_NEAREST or not asks else 0,
        where=where,
        foreign=foreign,
        narrow=foreign and dtype == "float64" and pick({False: 3, True: 1}),
        per_query=per_query,
        include_self=asks and pick({False: 2, True: 1}),
        half=attributes and not foreign and not per_query and pick({False: 2, True: 1}),
        sort=pick({"index": 4, None: 2, "distance": 3}) if attributes else None,
        full=attributes and pick({True: 3, False: 1}),
    )


@st.composite
def drawn_cases(draw, questions):
    """A case of one of the questions."""
    choices = Choices(shrinking(draw))
    number, pick = choices.number, choices.pick
    question = choices.one(questions)
    domain, dim, repeats, box = question.domain, question.dim, question.repeats, question.box
    n = pick({0: 1, 1: 1, 2: 1, 3: 1, None: 24})
    n = 4 + number(max(0, MOST - 4)) if n is None else n
    m = pick({0: 1, 1: 1, None: 12}) if question.foreign else None
    m = 2 + number(min(MOST, 90)) if question.foreign and m is None else m
    unbounded = question.call == "unbounded"
    clouds = {"uniform": 4, "lattice": 3, "clustered": 2, "duplicates": 2, "coincident": 1, "collinear": 1}
    clouds |= {} if unbounded and repeats else {"decades": 2, "outlier": 2}
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
    radius = {"fit": 5, "nice": 5, "pair": 3, "spacing": 2, "zero": 1, "tiny": 1, "vanishing": 1, "wide": 3}
    outside = {0: 6, 1: 1, 3: 1} | ({} if unbounded else {40: 2} if box == "cell" else {5000: 2, 100_000: 2})
    offsets = {0.0: 4, -0.5: 3, -0.3: 2, 1.0: 1, -3.0: 1, 17.3: 1} | ({} if box == "cell" else {1000.0: 2})
    without_index = question.call in {"search", "within", "unbounded", *APPLICATIONS}
    return Case(
        **vars(question),
        periodic=choices.periodic(dim) if repeats else (False,) * dim,
        seed=number(255) << 8 | number(255),
        n=n,
        m=m,
        cloud=pick(clouds),
        edges=pick({True: 5, False: 5}) and domain in ("open", "box"),
        exponent=pick({0: 9, **{k: 1 for k in range(-8, 9) if k}}),
        offset=pick(offsets | ({} if repeats else {1e5: 1, 1e7: 1})),
        shape=pick({"cube": 3, "box": 2, **({} if repeats else {"needle": 1})}),
        radius=pick(radius),
        skew=pick({"slight": 2, "lower": 2, "any": 2, "strong": 1}),
        batch=pick({"few": 3, "many": 1, "sorted": 1, "far": 1, "alone": 1}) if domain == "systems" else "",
        apart=domain == "systems" and pick({False: 3, True: 1}),
        outside=pick(outside) if repeats else 0,
        stage="fresh" if without_index else pick({"fresh": 3, "updated": 2, "updated twice": 1}),
        other=pick({"": 4, "fewer": 1, "more": 1}),
        spare=1.0 if without_index else pick({1.0: 3, 1.5: 1, 4.0: 1}),
        layout=pick(layouts),
        query_layout=pick(layouts),
        radius_layout=pick({"plain": 3, "numpy": 1, "device": 1, "view": 1}),
        room=pick({"right": 2, "short": 2, "generous": 2}),
    )


# --- its arrays -----------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """Points that an index holds."""

    points: Any
    batch: Any  # None where they have the systems of those before


class Data(NamedTuple):
    """The arrays of a case."""

    points: Any
    before: list[Held]  # what the index held before, oldest first
    queries: Any
    radius: Any
    built: float
    domain: dict[str, Any]
    batch: Any
    query_batch: Any
    condition: Any
    met: Any  # the condition in numpy


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
        self.frame = self.make_frame()
        self.domain, self.lengths = self.make_domain()
        #: the system of each point and query, as numbers from 0, and the vectors by which its images are shifted
        self.systems = None, None
        self.periods = (self.frame * self.flags[:, None])[None]
        # edges in one period, or a little outside as rounding has it, and not in the periods beside it
        self.snug = bool(self.rng.integers(2))

    def make_frame(self):
        """The vectors that the cloud fills: those of the box, or of a cell that is not too flat."""
        frame = np.diag(self.extent)
        skew = {"slight": 0.4, "lower": 0.8, "any": 1.0, "strong": 0.4}[self.case.skew]
        while self.case.box == "cell":
            unit = np.eye(self.case.dim) + self.rng.uniform(-skew, skew, frame.shape)
            if self.case.skew == "lower":
                unit = np.tril(unit)
            elif self.case.skew == "strong":
                unit[1] += self.rng.integers(-4, 5) * unit[0]
            if np.linalg.cond(unit) < 30:
                return unit * self.extent.min() * 10 ** self.rng.uniform(-0.5, 0.5, (self.case.dim, 1))
        return frame

    def make_domain(self):
        """The arguments that say where points lie, and the lengths of periodic axes, 0 of others.

        Axes that are not periodic carry what must be ignored.
        """
        case, real = self.case, self.real
        periodic = {"periodic": case.periodic[0] if len(set(case.periodic)) == 1 else case.periodic}
        if case.box == "none":
            return {}, np.zeros(case.dim, real)
        if case.box == "cell":
            heights = 1 / np.linalg.norm(np.linalg.inv(self.frame), axis=0)
            return {"cell": self.frame, **periodic}, np.where(self.flags, heights, 0).astype(real)
        if case.box == "lengths":
            box = np.where(self.flags, self.extent, self.rng.choice([0.0, -1.0, 1.0]))
            lengths = box.astype(real)
        else:
            box = np.stack([self.low, np.where(self.flags, self.low + self.extent, self.low - 1.0)])
            lengths = box[1].astype(real) - box[0].astype(real)
        return {"box": box, **periodic}, np.where(self.flags, lengths, real.type(0))

    def make_systems(self, n, m):
        """The system of each point and query. Those with a domain of their own have it in other sizes."""
        case, rng = self.case, self.rng
        batch = rng.integers(0, rng.integers(1, 6), n)
        if case.batch == "many":
            batch = rng.integers(0, max(n, 1), n)
        elif case.batch == "sorted":
            batch = np.sort(batch)
        elif case.batch == "far":
            batch = batch * 10**12 - 5
        elif case.batch == "alone" and n:
            batch = np.where(np.arange(n) == rng.integers(n), 3, 0)
        known, ranks = np.unique(batch, return_inverse=True)
        query_batch = None if m is None else rng.choice(np.append(known, 77), m)
        self.systems = ranks, None if m is None else np.minimum(np.searchsorted(known, query_batch), len(known) - 1)
        many = max(1, len(known))
        if case.own and self.domain:
            factors = rng.uniform(0.7, 1.6, many)
            flags = self.flags & (rng.random((many, case.dim)) < 0.8)
            name = "cell" if case.box == "cell" else "box"
            shape = (many, *[1] * self.domain[name].ndim)
            self.domain = {name: self.domain[name] * factors.reshape(shape), "periodic": flags}
            if case.box == "corners":  # about the place of the cloud
                self.domain[name] = self.low + (self.domain[name] - factors.reshape(shape) * self.low)
            self.periods = factors[:, None, None] * self.frame * flags[:, :, None]
        if case.batch != "far" and rng.integers(2):
            batch = batch.astype(np.int32)
        return batch, query_batch

    def make(self):
        """Points first without edges, since cells are laid around them, then with."""
        case, rng = self.case, self.rng
        radius = self.base_radius()
        n, m, radius = self.affordable(radius)
        batch, query_batch = self.make_systems(n, m) if case.domain == "systems" else (None, None)
        radius = self.pair_radius(radius, n) if case.radius == "pair" else radius
        built = radius * case.spare
        points, queries = self.cloud(n), None if m is None else self.cloud(m)
        times = {"fresh": 0, "updated": 1, "updated twice": 2}[case.stage]
        before = [self.held_before(n, batch, moved=turn > 0 or not case.edges) for turn in range(times)]
        if case.edges and n > 1:
            around = before[0].points if before else points
            points, queries = self.with_edges(points, queries, around, radius=radius, built=built)
        if case.apart:
            away = (rng.uniform(-50, 50, case.dim) * self.extent).astype(self.real)
            points, queries = (
                each if each is None else each + away * (ranks[:, None] % 5).astype(self.real)
                for each, ranks in zip((points, queries), self.systems, strict=True)
            )
        if case.outside:
            # the two apart as well: what lies far out is rounded more coarsely, and windows are padded for either
            which = rng.integers(3)
            points = points if which == 1 else self.scattered(points, self.systems[0])
            queries = queries if which == 2 or queries is None else self.scattered(queries, self.systems[1])
        if case.narrow:
            queries = queries.astype(np.float32)
        if case.per_query:
            radius = self.radii(radius, points, queries)
        condition = met = None
        if case.where:
            many = len(points if queries is None else queries)
            condition, met = self.condition(len(points), many, built / case.spare)
        return Data(
            points=self.near(points),
            before=before,
            queries=self.near(queries),
            radius=radius,
            built=built,
            domain=self.domain,
            batch=batch,
            query_batch=query_batch,
            condition=condition,
            met=met,
        )

    def held_before(self, n, batch, *, moved):
        """Points of the same systems, as many as later on, fewer, or more."""
        rng, known = self.rng, np.unique(batch) if batch is not None and n else np.zeros(1, np.int64)
        least = 2 if self.case.edges else 0 if batch is None else len(known)
        fewer, more = max(least, rng.integers(n + 1)), n + rng.integers(1, 3 * n + 9)
        many = {"": n, "fewer": fewer, "more": more}[self.case.other]
        of_each = None
        if batch is not None and self.case.other:
            of_each = rng.permutation(np.concatenate([known, rng.choice(known, many - len(known))]))
        return Held(self.near(self.cloud(many, moved=moved)), of_each)

    def condition(self, n, m, radius):
        """The condition of the case, in OpenCL C and in numpy; one that is the same both ways round for half lists."""
        if self.case.half:
            kind = self.rng.integers(0, 3, n)
            return clfrnn.Condition("kind[i] != kind[j]", kind=kind), lambda i, j, *_: kind[i] != kind[j]
        return CONDITIONS[self.case.where](self.rng, n, m, self.case.dim, self.real, radius)

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
        return self.near((self.low + unit @ self.frame).astype(self.real))

    def near(self, points):
        """The same, save for what lies so far outside a periodic box that it is refused."""
        if points is None or not self.flags.any():
            return points
        away = self.flags & (np.abs(points) > 2.0**18 * 0.7 * self.lengths)
        if self.case.box == "cell":  # which is refused sooner, on any axis
            away = (np.abs(points) > 2000 * self.lengths[self.flags].min()).any(axis=1, keepdims=True)
        inside = np.broadcast_to((self.low + 0.5 * self.extent).astype(points.dtype), points.shape)
        return np.where(away, inside, points)

    def scattered(self, points, ranks):
        """Half of the points some periods away."""
        outside = self.case.outside
        turns = self.rng.integers(-outside, outside + 1, points.shape) * self.rng.integers(0, 2, (len(points), 1))
        periods = self.periods[np.zeros(len(points), int) if ranks is None or len(self.periods) == 1 else ranks]
        return points + np.einsum("ni,nij->nj", turns, periods).astype(points.dtype)

    def base_radius(self):
        rng, case = self.rng, self.case
        axes = np.flatnonzero(self.flags) if self.flags.any() else np.arange(case.dim)
        unit = float(self.extent[rng.choice(axes)])
        ball = math.pi ** (case.dim / 2) / math.gamma(case.dim / 2 + 1)
        among = case.n // 3 if case.batch else case.n  # of a system
        fit = float(f"{(6 / max(among, 2) / ball) ** (1 / case.dim):.6g}") * unit
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
        lengths = self.lengths[self.flags].astype(float) * (0.7 if self.case.own else 1.0)

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

    def with_edges(self, plain, foreign, around, *, radius, built):
        """Points on edges of the cells that are laid around others.

        Of the very cells around themselves where they are the others, as far as the two can be brought together.
        """
        state, lows = self.rng.bit_generator.state, None
        points, queries, held = plain, foreign, around
        for _ in range(1 if around is not plain else 3):
            grids = self.grids(held, built)
            if lows == [grid and (grid.low, grid.sides) for grid in grids]:
                break
            lows = [grid and (grid.low, grid.sides) for grid in grids]
            self.rng.bit_generator.state = state
            points, queries = self.on_edges(around, plain, foreign, grids, radius)
            held = points
        return points, queries

    def grids(self, points, built):
        """The cells that a CPU and a GPU would lay: the same on both, so that a case is the same on all devices."""
        method, options = WAYS[self.case.way]
        index = clfrnn.build_index(points, built, method=method, session=self.session, **self.domain, **options)
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
