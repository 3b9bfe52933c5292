"""Clouds in parts on paper: what parts hold, send and take, by a sample of a cloud and the times of one device.

Nothing is searched. ``docs`` tells what follows for 10^12 points on 10,000 devices, and ``python -m
asv_benches.devices`` prints what is foretold beside what was measured.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from clfrnn.parts.assignment import BoxTree
from clfrnn.parts.axes import Axes
from clfrnn.parts.boxes import bisect

from .tables import head, row

#: Points, devices and neighbors of the page.
POINTS, DEVICES, NEIGHBORS = 10**12, 10_000, 49

#: Points of the sample for each part.
SAMPLED = 4096

#: Points of a sample that is divided here, whose boxes have the halos of those of a larger one.
_MOST = 1 << 20

#: Bytes that an index takes for a float32 point in 3D beside the point itself, and a count.
INDEX_BYTES, COUNT_BYTES = 80, 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What each of the parts of a cloud is expected to hold."""

    #: (parts,) points that each owns, and those of its halo
    owned: npt.NDArray[np.float64]
    halo: npt.NDArray[np.float64]
    #: points of the sample by which space is divided
    sampled: int
    #: bytes of a point
    point: int

    @classmethod
    def of(cls, sample: npt.NDArray[Any], n: float, parts: int, reach: float) -> Plan:
        """The plan for `n` points like those of a sample, whose halos are `reach` wide."""
        axes = Axes.of((None, None, None), sample.shape[1], sample.dtype)
        places = axes.places(sample)
        tree = BoxTree(bisect(places, np.ones(len(places)), parts), axes, reach)
        owned, halo = np.zeros(parts), np.zeros(parts)
        for number, inside, near in tree.divide(places):
            owned[number], halo[number] = len(inside), len(near)
        share = n / len(sample)
        return cls(
            owned=owned * share, halo=halo * share, sampled=len(sample), point=sample.dtype.itemsize * sample.shape[1]
        )

    @classmethod
    def of_cubes(cls, n: float, parts: int, reach: float, *, dim: int = 3, sampled: int = SAMPLED) -> Plan:
        """The plan for `n` even points in a unit cube that is divided into cubes, all of them within others."""
        edge = parts ** (-1 / dim)
        ones = np.ones(parts)
        wider = (1 + 2 * reach / edge) ** dim - 1
        return cls(owned=ones * n / parts, halo=ones * wider * n / parts, sampled=sampled * parts, point=4 * dim)

    @property
    def halo_share(self) -> float:
        """Points in halos for each point."""
        return float(self.halo.sum() / self.owned.sum())

    @property
    def imbalance(self) -> float:
        """The points of the largest part over those of the mean part, with what chance adds to parts by a sample."""
        rows = self.owned + self.halo
        parts = len(rows)
        chance = math.sqrt(2 * math.log(parts) * parts / self.sampled) if parts > 1 else 0.0
        return float(rows.max() / rows.mean()) * (1 + chance)

    @property
    def largest(self) -> float:
        """The points of the largest part, with its halo."""
        return float((self.owned + self.halo).mean() * self.imbalance)

    @property
    def exchanged(self) -> float:
        """Bytes that all parts receive from others."""
        return float(self.halo.sum() * self.point)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rate:
    """How long one device takes: milliseconds for any cloud, and for each point."""

    fixed: float
    each: float

    @classmethod
    def of(cls, few: tuple[float, float], many: tuple[float, float]) -> Rate:
        """By two measurements, (points, milliseconds)."""
        each = max(0.0, (many[1] - few[1]) / (many[0] - few[0]))
        return cls(fixed=max(0.0, many[1] - each * many[0]), each=each)

    def of_plan(self, plan: Plan) -> float:
        """The milliseconds until the device with the largest part has ended."""
        return self.fixed + self.each * plan.largest


def radius_of(n: float, neighbors: float, dim: int = 3) -> float:
    """The radius within which that many others of `n` even points in a unit cube lie."""
    return float((neighbors / n / (math.pi ** (dim / 2) / math.gamma(dim / 2 + 1))) ** (1 / dim))


@click.command()
@click.option("--points", type=float, default=POINTS, show_default=True, help="Points of the cloud.")
@click.option("--devices", type=int, default=DEVICES, show_default=True, help="Devices, with a part each.")
@click.option("--neighbors", type=float, default=NEIGHBORS, show_default=True, help="Neighbors of a point.")
@click.option("--each", type=float, help="Nanoseconds that a device takes for each point.")
def main(*, points: float, devices: int, neighbors: float, each: float | None) -> None:
    """Print the plan of a search of even points as a Markdown table: by cubes, and by bisection of a sample."""
    reach = radius_of(points, neighbors)
    cubes = Plan.of_cubes(points, devices, reach)
    few = Plan.of(np.random.default_rng(0).random((min(SAMPLED * devices, _MOST), 3)), points, devices, reach)
    # Of few points in each part, only the mean of all halos is known well.
    cut = dataclasses.replace(cubes, halo=np.full(devices, few.halo.mean()))
    head("", "cubes:", "bisection of a sample:")
    for name, of in (
        ("points of a part", lambda plan: f"{plan.owned.mean():,.0f}"),
        ("points of the sample", lambda plan: f"{plan.sampled:,}"),
        ("halo", lambda plan: f"{plan.halo_share:.1%}"),
        ("largest part over the mean", lambda plan: f"{plan.imbalance:.3f}"),
        ("bytes that a part receives", lambda plan: f"{plan.exchanged / devices:,.0f}"),
        ("bytes of the largest part on its device", lambda plan: f"{_bytes(plan):,.0f}"),
        *([("milliseconds of a count", lambda plan: f"{1e-6 * each * plan.largest:.1f}")] if each else []),
    ):
        row(name, of(cubes), of(cut))


def _bytes(plan: Plan) -> float:
    return plan.largest * (plan.point + INDEX_BYTES + COUNT_BYTES)


if __name__ == "__main__":
    main()
