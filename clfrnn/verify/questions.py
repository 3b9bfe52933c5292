"""Questions: the clouds that a case searches, with what radius, in what domain, and under what condition."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import clouds, reference
from ..conditions import Condition
from ..runtime.session import Session
from .case import Case
from .edges import edge_cloud

__all__ = ["NEAREST", "Question", "questions"]

#: the number of neighbors of the comparison of k nearest neighbors
NEAREST = 5

#: The cloud that is also searched without a radius, since some of its points find fewer neighbors at first than they
#: look for.
_FAR = "one point far away"

#: Clouds on edges of cells: the only ones in which careless windows of cells miss pairs.
_EDGE_CLOUDS = 6

#: What the seed draws one of for a quick case: each kind of question takes a program of its own.
_DRAWN = (
    ("foreign queries", "a radius per query", _FAR),
    ("a box", "points that have left the box", "a cell", "points that have left the cell", "many systems"),
    ("a condition", "a condition in a box", "a condition in a cell"),
)


@dataclasses.dataclass(frozen=True)
class Question:
    """A search: `domain` has the queries, or the box or cell."""

    name: str
    points: Any
    radius: Any
    domain: dict[str, Any]
    #: with what radii the k nearest neighbors are compared too
    reaches: tuple[Any, ...] = ()
    _: dataclasses.KW_ONLY
    #: a condition in OpenCL C and in numpy
    where: Condition | None = None
    holds: Callable[..., Any] | None = None

    @property
    def kind_of_domain(self) -> str:
        """Where its points lie: "systems", "cell", "periodic" or "open"."""
        kinds = {"batch": "systems", "cell": "cell", "box": "periodic"}
        return next((kind for name, kind in kinds.items() if name in self.domain), "open")

    @property
    def plain(self) -> bool:
        """Whether the points themselves search, all with the same radius, and without a condition."""
        alike = np.ndim(self.radius) == 0 and None not in self.reaches
        return alike and self.where is None and "queries" not in self.domain

    @functools.cached_property
    def expected(self) -> reference.Neighbors:
        """What the reference finds."""
        return reference.neighbors(self.points, self.radius, **self.domain, where=self.holds)

    @functools.cached_property
    def nearest(self) -> list[reference.Nearest]:
        """The nearest neighbors that the reference finds for each reach."""
        return [reference.nearest(self.points, NEAREST, radius=reach, **self.domain) for reach in self.reaches]


def questions(session: Session, case: Case) -> Iterator[Question]:
    """Random clouds and clouds on edges of cells; for a quick case, fewer kinds."""
    rng = np.random.default_rng([case.seed, case.dim])
    for number in range(_EDGE_CLOUDS):
        reach = float(case.dtype.type(rng.uniform(0.05, 1.5)))
        edges = edge_cloud(session, case, radius=reach, seed=int(rng.integers(1 << 30)), far=number % 2 == 1)
        yield Question("edges of a torus" if number % 2 else "edges", edges, reach, {}, (reach,))
    shared = _shared(case.dim, case.dtype, case.seed, case.points)
    yield from _drawn(shared, case) if case.quick else shared


def _drawn(every: list[Question], case: Case) -> list[Question]:
    """Of each kind that takes a program of its own, the one that is drawn, without k nearest in its domain."""
    rng = np.random.default_rng([case.seed, *str(case).encode()])
    left_out = set()
    for kind in _DRAWN:
        there = [each.name for each in every if each.name in kind]
        left_out |= {*there} - {str(rng.choice(there))}
    asked = (each for each in every if each.name not in left_out)
    return [dataclasses.replace(each, reaches=()) if each.domain else each for each in asked]


@functools.lru_cache(maxsize=24)  # twelve dimensions and two dtypes: what all methods have
def _shared(dim: int, dtype: np.dtype[Any], seed: int, points: int) -> list[Question]:
    """The questions that all methods are asked alike."""
    rng = np.random.default_rng([seed, dim, points])
    make: dict[str, Callable[..., Any]] = clouds.CLOUDS
    ball = np.pi ** (dim / 2) / _gamma(dim / 2 + 1)
    radius = float((12 / (points * ball)) ** (1 / dim))
    given: dict[str, Any] = {"dtype": dtype, "seed": int(rng.integers(1 << 30))}
    uniform = clouds.uniform(points, dim, **given)
    far = uniform.copy()
    far[points // 2] = 1e6
    radii = radius * rng.random(points)
    foreign = {"queries": clouds.uniform(points // 4, dim, dtype=dtype, seed=seed + 1)}
    found = [
        *(Question(name, make[name](points, dim, **given), radius, {}, (radius,)) for name in sorted(make)),
        Question("foreign queries", uniform, radius, foreign, (radius,)),
        Question("a radius per query", uniform, radii, {}, (radii,)),
        Question(_FAR, far, radius, {}, (radius, None)),
    ]
    found.append(_under_condition("a condition", found[0], seed))
    few = uniform[: points // 3]
    found.append(_in_systems(uniform, radius, rng))
    # The reference computes all images, which are too many along many axes.
    along = np.arange(dim) < (dim if dim <= 3 else 2)
    found += _repeated("box", few, np.eye(dim), {"box": (1,) * dim, "periodic": along.tolist()}, rng)
    if dim in (2, 3):
        cell = _cell(rng, dim)
        found += _repeated("cell", few, cell, {"cell": cell}, rng)
    return found


def _in_systems(points: Any, radius: float, rng: np.random.Generator) -> Question:
    """Points of systems of different size, in boxes of their own where these have few enough images."""
    n, dim = points.shape
    batch = np.sort(rng.integers(0, 6, n)) ** 2
    radius *= 6 ** (1 / dim)  # about as many neighbors as in one system
    domain: dict[str, Any] = {"batch": batch}
    if dim <= 3:
        domain["box"] = rng.uniform(0.9, 1.3, (len(np.unique(batch)), dim))
    return Question("many systems", points, radius, domain, (radius,))


def _repeated(
    kind: str, places: Any, vectors: Any, domain: dict[str, Any], rng: np.random.Generator
) -> Iterator[Question]:
    """The questions of points at these places in a domain with these lattice vectors."""
    seed, (n, dim) = int(rng.integers(1 << 30)), places.shape
    volume = abs(float(np.linalg.det(vectors)))
    radius = float((12 * volume / (n * np.pi)) ** (1 / dim))
    inside = Question(f"a {kind}", (places @ vectors).astype(places.dtype), radius, domain, (radius,))
    steps = rng.integers(-3, 4, places.shape) * np.asarray(domain.get("periodic", True))
    gone = ((places + steps) @ vectors).astype(places.dtype)
    near = 0.125 if dim <= 3 else radius  # exact in binary, where that is not too near
    yield inside
    yield Question(f"points that have left the {kind}", gone, near, domain, (near,))
    yield _under_condition(f"a condition in a {kind}", inside, seed)


def _cell(rng: np.random.Generator, dim: int) -> Any:
    """Lattice vectors about as long as one, some of them far from right angles, in either orientation."""
    while True:
        vectors = np.eye(dim) * rng.choice([-1.0, 1.0], dim) + rng.uniform(-0.9, 0.9, (dim, dim))
        if abs(np.linalg.det(vectors)) > 0.2:
            return vectors


def _under_condition(name: str, question: Question, seed: int) -> Question:
    """The question with a cutoff for each pair of kinds, by the direction from one to the other."""
    n, dim = question.points.shape
    rng = np.random.default_rng([seed, dim, n])
    kind = rng.integers(0, 3, n).astype(np.int32)
    cut2 = (rng.uniform(0.3, 1.1, (3, 3)) * question.radius).astype(question.points.dtype) ** 2
    first = "dx" if dim == 1 else "dx.s0"

    def holds(i: Any, j: Any, d2: Any, dx: Any, shift: Any) -> Any:  # noqa: ARG001 — every condition takes the five
        return (d2 <= cut2[kind[i], kind[j]]) & ((dx[:, 0] > 0) | (i < j))

    text = f"d2 <= cut2[3 * kind[i] + kind[j]] && ({first} > 0 || i < j)"
    where = Condition(text, kind=kind, cut2=cut2)
    return dataclasses.replace(question, name=name, where=where, holds=holds, reaches=())


def _gamma(value: float) -> float:
    """The gamma function at a half-integer."""
    return 1.0 if value == 1 else float(np.sqrt(np.pi)) if value == 0.5 else (value - 1) * _gamma(value - 1)
