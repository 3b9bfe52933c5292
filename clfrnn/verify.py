"""The exactness contract on one device: what ``clfrnn verify`` runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import clouds, reference
from .api import search
from .methods import METHODS
from .profile import DeviceProfile
from .session import Session

__all__ = ["Case", "Outcome", "cases", "run_case"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison with the reference: a way of searching, and clouds made from a seed."""

    method: str
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
    """What a case found: the pairs compared, and a line for each cloud on which something differed."""

    case: Case
    pairs: int
    differences: list[str]


#: The options that each method is verified with; a method that is not named has none.
_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "uniform_grid": [{"construction": "counting"}, {"construction": "sort"}],
    "strips": [{"construction": "counting"}, {"construction": "sort"}, {"bin_width": 0.4}, {"bin_width": 2.5}],
}


def cases(profile: DeviceProfile, *, seed: int, points: int) -> Iterator[Case]:
    """Every method with its options, in each of its dimensions, in every dtype that the device computes in."""
    for method in METHODS.values():
        for options in _OPTIONS.get(method.name, [{}]):
            for dim in sorted(method.dims):
                for real in ("float32", "float64") if profile.fp64 else ("float32",):
                    yield Case(
                        method=method.name, options=options, dim=dim, dtype=np.dtype(real), seed=seed, points=points
                    )


def run_case(session: Session, case: Case) -> Outcome:
    """Compare counts, pairs, distances and vectors with numpy's, to the last bit, on each cloud of the case."""
    differences = []
    pairs = 0
    for name, points, radius, queries in _clouds(case):
        expected = reference.neighbors(points, radius, queries=queries)
        found = search(
            points,
            radius,
            queries=queries,
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
    return Outcome(case=case, pairs=pairs, differences=differences)


def _clouds(case: Case) -> Iterator[tuple[str, Any, Any, Any]]:
    """Random and edge-built clouds as (name, points, radius, queries)."""
    rng = np.random.default_rng([case.seed, case.dim])
    make: dict[str, Callable[..., Any]] = clouds.CLOUDS
    ball = np.pi ** (case.dim / 2) / _gamma(case.dim / 2 + 1)
    radius = float((12 / (case.points * ball)) ** (1 / case.dim))
    shared: dict[str, Any] = {"dtype": case.dtype, "seed": int(rng.integers(1 << 30))}
    for name in sorted(make):
        yield name, make[name](case.points, case.dim, **shared), radius, None
    low = float(case.dtype.type(rng.choice([0.0, -1.0, 0.3, 17.0])))
    for _ in range(3):
        reach = float(case.dtype.type(rng.uniform(0.05, 1.5)))
        side = float(case.options.get("bin_width", 1.0)) * reach
        edges = clouds.edges(case.points, case.dim, **shared, radius=reach, side=side, low=low)
        yield "edges", edges, reach, None
    uniform = clouds.uniform(case.points, case.dim, **shared)
    queries = clouds.uniform(case.points // 4, case.dim, dtype=case.dtype, seed=case.seed + 1)
    yield "foreign queries", uniform, radius, queries
    yield "a radius per query", uniform, radius * rng.random(case.points), None
    uniform[case.points // 2] = 1e6
    yield "one point far away", uniform, radius, None


def _gamma(value: float) -> float:
    """The gamma function at a half-integer."""
    return 1.0 if value == 1 else float(np.sqrt(np.pi)) if value == 0.5 else (value - 1) * _gamma(value - 1)


def _difference(found: Any, expected: reference.Neighbors, *, subnormals: bool) -> str:
    """What differs first, or nothing."""
    fields = ("offsets", "indices", "distances", "vectors")
    different = [name for name in fields if not np.array_equal(getattr(found, name), getattr(expected, name))]
    if not different:
        return ""
    mine = set(zip(*(ids.tolist() for ids in found.to_coo()), strict=True))
    rows = np.repeat(np.arange(len(expected.offsets) - 1), np.diff(expected.offsets))
    theirs = set(zip(rows.tolist(), expected.indices.tolist(), strict=True))
    missing, surplus = sorted(theirs - mine), sorted(mine - theirs)
    if missing or surplus:
        tiny = np.finfo(expected.squares.dtype).tiny
        if not subnormals and (expected.squares < tiny).any():
            return ""  # the contract's one exception, where the device flushes subnormals
        example = f"; query {(missing or surplus)[0][0]} and point {(missing or surplus)[0][1]}"
        return f"{len(missing)} pairs missing, {len(surplus)} too many{example}"
    if len(found.indices) != len(mine):
        return f"{len(found.indices) - len(mine)} pairs more than once"
    return f"{', '.join(different)} differ"
