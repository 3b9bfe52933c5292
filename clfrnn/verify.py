"""The exactness contract on one device, which ``clfrnn verify`` checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import clouds, reference
from .api import build_index, search
from .conditions import Condition
from .inputs.argument_types import MethodName
from .k_nearest import nearest
from .methods import METHODS
from .profile import DeviceProfile
from .runtime.session import Session

__all__ = ["Case", "Outcome", "cases", "edge_cloud", "run_case"]


#: the number of neighbors of the comparison of k nearest neighbors
_NEAREST = 5

#: the cloud in which some queries find fewer neighbors at first than they look for
_FAR = "one point far away"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison with the reference: a method with options, and clouds from a seed."""

    method: MethodName
    options: dict[str, Any]
    dim: int
    dtype: np.dtype[Any]
    seed: int
    points: int

    def __str__(self) -> str:
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"{self.method}{options} {self.dim}D {self.dtype}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a case: the number of pairs, and a line for each cloud with a difference."""

    case: Case
    pairs: int
    differences: list[str]


def cases(profile: DeviceProfile, *, seed: int, points: int) -> Iterator[Case]:
    """Every method and its variations, in each of its dimensions and each dtype that the device computes in."""
    for method in METHODS.values():
        for options in method.variations:
            for dim in sorted(method.dims):
                for real in ("float32", "float64") if profile.fp64 else ("float32",):
                    yield Case(
                        method=method.name, options=options, dim=dim, dtype=np.dtype(real), seed=seed, points=points
                    )


def run_case(session: Session, case: Case) -> Outcome:
    """Compare counts, pairs, distances and vectors with numpy's, to the last bit, on each cloud of the case.

    The k nearest neighbors are compared too, within the radius, and without one where a point lies far away.
    """
    differences = []
    pairs = 0
    for name, points, radius, domain, (condition, holds) in _asked(session, case):
        expected = reference.neighbors(points, radius, **domain, where=holds)
        found = search(
            points,
            radius,
            **domain,
            where=condition,
            method=case.method,
            sort="index",
            distances=True,
            vectors=True,
            session=session,
            **case.options,
        ).to_host()
        pairs += len(expected.indices)
        if difference := _difference(found, expected, subnormals=session.profile.subnormals):
            differences.append(f"{name} (radius {radius if np.ndim(radius) == 0 else 'per query'}): {difference}")
        differences += [
            f"{name} ({'no radius' if reach is None else 'within the radius'}): {difference}"
            for reach in ((radius, None) if name == _FAR else (radius,))
            if (difference := _nearest_difference(session, case, points, reach, domain))
        ]
    return Outcome(case=case, pairs=pairs, differences=differences)


def _asked(session: Session, case: Case) -> Iterator[tuple[str, Any, Any, dict[str, Any], tuple[Any, Any]]]:
    """The clouds of a case without a condition, and the first and a periodic one with one."""
    conditioned = "a periodic box", min(clouds.CLOUDS)
    for name, points, radius, domain in _clouds(session, case):
        yield name, points, radius, domain, (None, None)
        if name in conditioned:
            yield f"{name}, with a condition", points, radius, domain, _condition(case, len(points), float(radius))


def _condition(case: Case, n: int, radius: float) -> tuple[Condition, Callable[..., Any]]:
    """A cutoff for each pair of kinds, by the direction from one to the other: in OpenCL C and in numpy."""
    rng = np.random.default_rng([case.seed, case.dim, n])
    kind = rng.integers(0, 3, n).astype(np.int32)
    cut2 = (rng.uniform(0.3, 1.1, (3, 3)) * radius).astype(case.dtype) ** 2
    first = "dx" if case.dim == 1 else "dx.s0"
    text = f"d2 <= cut2[3 * kind[i] + kind[j]] && ({first} > 0 || i < j)"

    def holds(i: Any, j: Any, d2: Any, dx: Any, shift: Any) -> Any:  # noqa: ARG001 — every condition takes the five
        return (d2 <= cut2[kind[i], kind[j]]) & ((dx[:, 0] > 0) | (i < j))

    return Condition(text, kind=kind, cut2=cut2), holds


def _clouds(session: Session, case: Case) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Random clouds and clouds on edges of cells, as (name, points, radius, queries or a periodic box)."""
    rng = np.random.default_rng([case.seed, case.dim])
    make: dict[str, Callable[..., Any]] = clouds.CLOUDS
    ball = np.pi ** (case.dim / 2) / _gamma(case.dim / 2 + 1)
    radius = float((12 / (case.points * ball)) ** (1 / case.dim))
    shared: dict[str, Any] = {"dtype": case.dtype, "seed": int(rng.integers(1 << 30))}
    for name in sorted(make):
        yield name, make[name](case.points, case.dim, **shared), radius, {}
    for number in range(4):
        reach = float(case.dtype.type(rng.uniform(0.05, 1.5)))
        edges = edge_cloud(session, case, radius=reach, seed=int(rng.integers(1 << 30)), far=number % 2 == 1)
        yield "edges of a torus" if number % 2 else "edges", edges, reach, {}
    uniform = clouds.uniform(case.points, case.dim, **shared)
    queries = clouds.uniform(case.points // 4, case.dim, dtype=case.dtype, seed=case.seed + 1)
    yield "foreign queries", uniform, radius, {"queries": queries}
    yield "a radius per query", uniform, radius * rng.random(case.points), {}
    if case.dim <= 3:  # the reference computes all images, which are too many in higher dimensions
        box = {"box": (1,) * case.dim, "periodic": True}
        yield "a periodic box", uniform, radius, box
        yield "points that have left it", (uniform + rng.integers(-3, 4, uniform.shape)).astype(case.dtype), 0.125, box
    uniform[case.points // 2] = 1e6
    yield _FAR, uniform, radius, {}


def edge_cloud(session: Session, case: Case, *, radius: float, seed: int, far: bool) -> Any:
    """Points on the edges of the cells that the method lays around them, and points at the radius from these.

    The cells depend on the points and the points on the cells, so that several rounds are needed until both agree;
    where the method has no cells, edges are multiples of the radius. With `far` one point lies so far away that the
    cells wrap.
    """
    rng = np.random.default_rng(seed)
    low = float(case.dtype.type(rng.choice([0.0, -1.0, 0.3, 17.0])))
    sides: tuple[float, ...] = (float(case.dtype.type(radius)),) * case.dim
    for _ in range(8):
        points = clouds.edges(case.points, case.dim, dtype=case.dtype, seed=seed, radius=radius, sides=sides, low=low)
        if far:
            points = np.concatenate([points, np.full((1, case.dim), 1e5, case.dtype)])
        index = build_index(points, radius, method=case.method, session=session, **case.options)
        grid = index._traversal.structure.cell_grid  # noqa: SLF001 — only verification needs the cells
        if grid is None or grid.sides == sides:
            return points
        sides = grid.sides
    # Cells that follow the extent of the points stay as they are while the corners of the points do.
    return clouds.edges(
        len(points),
        case.dim,
        dtype=case.dtype,
        seed=seed,
        radius=radius,
        sides=sides,
        low=low,
        high=tuple(points.max(0).tolist()),
    )


def _gamma(value: float) -> float:
    """The gamma function at a half-integer."""
    return 1.0 if value == 1 else float(np.sqrt(np.pi)) if value == 0.5 else (value - 1) * _gamma(value - 1)


def _nearest_difference(session: Session, case: Case, points: Any, radius: Any, domain: dict[str, Any]) -> str:
    """The first difference of the k nearest neighbors, or ""."""
    expected = reference.nearest(points, _NEAREST, radius=radius, **domain)
    given = {"method": case.method, "session": session, "vectors": True, **case.options, **domain}
    found = nearest(points, _NEAREST, radius=radius, **given).to_host()
    tiny = (expected.distances > 0) & (expected.distances < np.sqrt(np.finfo(case.dtype).tiny))
    if not session.profile.subnormals and case.dtype == np.float32 and tiny.any():
        return ""  # squares that vanish change the order
    fields = (name for name in ("indices", "distances", "vectors", "shifts") if getattr(found, name) is not None)
    different = [name for name in fields if not np.array_equal(getattr(found, name), getattr(expected, name))]
    return f"{', '.join(different)} of the {_NEAREST} nearest neighbors differ" if different else ""


def _difference(found: Any, expected: reference.Neighbors, *, subnormals: bool) -> str:
    """The first difference, or "". Without `subnormals`, float32 pairs with subnormal squares are not compared."""
    fields = ("offsets", "indices", "distances", "vectors", "shifts")
    given = [name for name in fields if getattr(found, name) is not None]
    different = [name for name in given if not np.array_equal(getattr(found, name), getattr(expected, name))]
    if not different:
        return ""
    mine = set(zip(*(ids.tolist() for ids in found.to_coo()), strict=True))
    rows = np.repeat(np.arange(len(expected.offsets) - 1), np.diff(expected.offsets))
    theirs = dict(zip(zip(rows.tolist(), expected.indices.tolist(), strict=True), expected.squares, strict=True))
    missing, surplus = sorted(theirs.keys() - mine), sorted(mine - theirs.keys())
    if not subnormals and expected.squares.dtype == np.float32 and (missing or surplus):
        tiny = np.finfo(np.float32).tiny
        missing = [pair for pair in missing if not 0 < theirs[pair] < tiny]
        different = different if missing or surplus else []
    if missing or surplus:
        query, point = (missing or surplus)[0]
        return f"{len(missing)} pairs missing, {len(surplus)} too many; query {query} and point {point}"
    if len(found.indices) != len(mine):
        return f"{len(found.indices) - len(mine)} pairs more than once"
    return f"{', '.join(different)} differ" if different else ""
