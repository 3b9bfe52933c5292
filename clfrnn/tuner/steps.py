"""The steps by which tunings are judged: what users run, at few and many neighbors, in two sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..api import build_index, nearest, search
from ..clouds import clustered, uniform
from ..profile import DeviceProfile
from ..tuning.stored.choices import ONCE, sizes_of_once

if TYPE_CHECKING:
    from ..runtime.session import Session

__all__ = ["Step", "steps_for"]

#: Neighbors of a point that count as few, some and many, and of a point among all of a tree.
_FEW, _SOME, _MANY, _MOST = 6.0, 20.0, 50.0, 200.0

#: The k of searches for nearest neighbors: a few, and as many as estimates of normals and densities take.
_K, _LARGE_K = 8, 30

#: Bytes of a device's memory for each point that a step may have: a list, its first pass, and the same of its rivals.
_BYTES_OF_POINT = 4096


class Step(NamedTuple):
    """One step: what is done with a cloud of how many points."""

    what: str
    n: int
    #: neighbors that a point of an even cloud has; 0 where a step has no radius
    neighbors: float = 0.0
    dim: int = 3
    clusters: bool = False
    #: whether the host's clock tells its time, as most of it is spent there
    wall: bool = False

    def __str__(self) -> str:
        cloud = ", in clusters" if self.clusters else ""
        found = f", {self.neighbors:g} neighbors" if self.neighbors else ""
        return f"{self.what}, {self.n:,} points{f' in {self.dim}D' if self.dim != 3 else ''}{cloud}{found}"

    def points(self) -> Any:
        """The cloud, the same at every call."""
        return clustered(self.n, self.dim, seed=1) if self.clusters else uniform(self.n, self.dim, seed=1)

    @property
    def radius(self) -> float:
        """The radius that finds these neighbors in an even unit cube."""
        ball = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        return float((self.neighbors / (ball * self.n)) ** (1 / self.dim))

    def of(self, session: Session, points: Any) -> Callable[[], object]:
        """The step as a function, in a session, over points on its device."""
        if self.what == "search once":
            return lambda: search(points, self.radius, session=session)
        if self.what.startswith("nearest"):
            return lambda: nearest(points, int(self.what.split()[1]), session=session)
        method: Any = "fenns" if "fenns" in self.what else "auto"
        index = build_index(points, self.radius, method=method, session=session)

        def step() -> object:
            index.update(points)
            return index.query() if self.what.startswith("list") else index.count()

        return step


def steps_for(profile: DeviceProfile) -> dict[str, Step]:
    """All steps by the names that choices call them by, as large as suits the device."""
    gpu = profile.kind == "gpu"
    most = 1 << max(10, (profile.global_memory // _BYTES_OF_POINT).bit_length() - 1)
    n = min(most, 1 << 20 if gpu else 1 << 17)
    less, nearest_n, tree_n = n // (16 if gpu else 8), n // 4, n // (8 if gpu else 16)
    return {
        "count few": Step("count", n, _FEW),
        "count some": Step("count", n, _SOME),
        "count many": Step("count", n, _MANY),
        "count few small": Step("count", less, _FEW),
        "list few": Step("list", n, _FEW),
        "list many": Step("list", n, _MANY),
        "list many small": Step("list", less, _MANY),
        "nearest": Step(f"nearest {_K}", nearest_n),
        "nearest small": Step(f"nearest {_K}", less),
        "nearest in clusters": Step(f"nearest {_K}", nearest_n, clusters=True),
        "nearest many": Step(f"nearest {_LARGE_K}", nearest_n),
        "nearest many in clusters": Step(f"nearest {_LARGE_K}", nearest_n, clusters=True),
        "tree on a line": Step("count", n, _FEW, dim=1),
        "tree few": Step("count", tree_n, _SOME, dim=4),
        "tree many": Step("count", tree_n, _MOST, dim=4),
        "loop": Step("count", 1 << 12, _SOME, wall=True),
        "fenns few": Step("count by fenns", n, _FEW),
        "fenns many": Step("count by fenns", n, _MANY),
        **{
            name: Step("search once", size, _SOME, wall=True)
            for name, size in zip(ONCE, sizes_of_once(profile), strict=True)
        },
    }
