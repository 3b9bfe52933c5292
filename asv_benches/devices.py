"""One, two, four and eight devices: how searches and a model grow over them, and what a plan on paper foretells.

For each search two clouds: one of as many points for any number of devices (strong), and one of as many for each device
(weak); one more of many points is counted alone, on any number. Milliseconds are by the wall until the queues of all
devices have ended. Points and results stay on the devices; the cloud was divided before. The plan knows the cloud by a
sample, and one device by clouds of all and of half of the points: see :mod:`asv_benches.tools.parts_plan`. `Spheres`
are steps of :class:`clfrnn.parts.spheres.Spheres`, with what they exchange. Of a CPU cores stand for devices; where
there are fewer devices than asked for, several sessions share one.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import clfrnn
from clfrnn.cluster import friends_of_friends
from clfrnn.parts.spheres import Spheres

from .parts import LINK, NEIGHBORS, POINTS
from .tools.clouds import CLOUDS
from .tools.devices import Taken, described, devices_of, divided, together, uploaded
from .tools.parts_plan import Plan, Rate, radius_of
from .tools.tables import command, head, row, say

#: Points of counts alone, for any number of devices; spheres for each device, which the host divides as they move.
MANY_POINTS, SPHERES = 512_000_000, 4_000_000

#: Neighbors of the nearest, steps of a model that are timed, and rows of a sample.
K, STEPS, SAMPLE = 16, 20, 1 << 16

Sessions = list[clfrnn.Session]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """A search of a part: the halo that it needs, and what runs on a device."""

    reach: Callable[[int], float]
    run: Callable[[Any, int, clfrnn.Session], Any]


@functools.lru_cache(maxsize=1)
def even(n: int) -> Any:
    """Even points, the same ones for the next number of devices."""
    return CLOUDS["even"](n)


def _neighborhood(n: int) -> float:
    return radius_of(n, NEIGHBORS)


SEARCHES = {
    "count": Search(
        reach=_neighborhood, run=lambda x, n, on: clfrnn.build_index(x, _neighborhood(n), session=on).count()
    ),
    "list": Search(reach=_neighborhood, run=lambda x, n, on: clfrnn.search(x, _neighborhood(n), session=on)),
    "friends of friends": Search(
        reach=lambda n: LINK * n ** (-1 / 3),
        run=lambda x, n, on: friends_of_friends(x, LINK * n ** (-1 / 3), session=on).num_clusters,
    ),
    "nearest": Search(
        reach=lambda n: 1.3 * radius_of(n, K), run=lambda x, _, on: clfrnn.nearest(x, K, session=on).indices
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """A search of a cloud by some devices, and the plan for it."""

    taken: Taken
    plan: Plan
    #: the points of each part, with its halo
    held: list[int]
    #: milliseconds of an exchange in each step, where there are steps
    exchange: float = 0.0


def searched(name: str, n: int, sessions: Sessions, times: int) -> Measured:
    """A search of even points."""
    search, points = SEARCHES[name.removesuffix(", many")], even(n)
    reach = search.reach(n)
    found = divided(points, sessions, reach)
    local = uploaded(points, found, sessions)
    return Measured(
        taken=together(sessions, lambda k: search.run(local[k], n, sessions[k]), times),
        plan=Plan.of(points[:: max(1, n // SAMPLE)], n, len(sessions), reach),
        held=[len(part.owned) + len(part.halo) for part in found],
    )


def stepped(n: int, sessions: Sessions) -> Measured:
    """Steps of spheres that fall, the median of those without a division."""
    model = Spheres(n, sessions=sessions)
    model.step(2)
    reach = 2 * (model.radius + model.slack)
    plan = Plan.of(model.positions[:: max(1, n // SAMPLE)], n, len(sessions), reach)
    walls, waits, exchanges = [], [], []
    for _ in range(STEPS):
        started = time.perf_counter()
        model.step()
        for session in sessions:
            session.queue.finish()
        if not model.last_step.divided:
            walls.append(time.perf_counter() - started)
            waits.append(statistics.mean(model.last_step.waited) / walls[-1])
            exchanges.append(model.last_step.exchange)
    if not walls:
        raise click.ClickException(f"{n:,} spheres were divided anew in each of {STEPS} steps; take more by --spheres")
    return Measured(
        taken=Taken(milliseconds=1e3 * statistics.median(walls), waiting=statistics.median(waits)),
        # Positions and velocities go to other devices.
        plan=dataclasses.replace(plan, point=2 * plan.point),
        held=[len(part.owned) + len(part.halo) for part in model.parts],
        exchange=1e3 * statistics.median(exchanges),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table."""

    search: str
    growth: str
    devices: int
    points: int
    found: Measured
    foretold: float


def rows_of(name: str, n: int, counts: list[int], measure: Callable[[int, int], Measured]) -> list[Row]:
    """Strong growth, and weak growth but of many points; `measure` is called with points and devices."""
    growths = ("strong",) if name.endswith(", many") else ("strong", "weak")
    runs = [(n // 2, 1), *((n, many) for many in counts)]
    runs += [(n * many, many) for many in counts if "weak" in growths]
    known = {run: measure(*run) for run in dict.fromkeys(runs)}
    few, one = known[n // 2, 1], known[n, 1]
    rate = Rate.of((n // 2, few.taken.milliseconds), (n, one.taken.milliseconds))
    rows = []
    for growth in growths:
        for devices in counts:
            points = n * devices if growth == "weak" else n
            found = known[points, devices]
            # What an exchange takes depends on the host: it is measured, and no plan knows it.
            foretold = rate.of_plan(found.plan) + max(0.0, found.exchange - one.exchange)
            rows.append(Row(search=name, growth=growth, devices=devices, points=points, found=found, foretold=foretold))
    return rows


def print_rows(rows: list[Row]) -> None:
    """A table of one search: what was measured beside what was foretold."""
    one = rows[0].found.taken.milliseconds
    for each in rows:
        taken, plan, held = each.found.taken, each.found.plan, each.found.held
        ratio = one / taken.milliseconds
        row(
            each.search,
            each.growth,
            each.devices,
            f"{each.points:,}",
            f"{sum(held) / each.points - 1:.2%} ({plan.halo_share:.2%})",
            f"{max(held) / statistics.mean(held):.3f} ({plan.imbalance:.3f})",
            f"{(sum(held) - each.points) * plan.point:,} ({plan.exchanged:,.0f})",
            f"{taken.milliseconds:.2f} ({each.foretold:.2f})",
            f"{ratio:.2f}" if each.growth == "strong" else f"{1 / ratio:.2f}",
            f"{taken.waiting:.1%}",
            f"{each.foretold / taken.milliseconds:.2f}",
        )


def draw(rows: list[Row], path: Path) -> None:
    """Strong growth, times faster, and weak growth, times as long, over the number of devices."""
    from .tools.style import LINES, MARKERS, figure  # noqa: PLC0415 - matplotlib is an extra

    drawn, panels = figure(2)
    for panel, growth in zip(panels, ("strong", "weak"), strict=True):
        for k, name in enumerate(dict.fromkeys(each.search for each in rows)):
            found = [each for each in rows if each.search == name and each.growth == growth]
            if not found:
                continue
            times = np.array([each.found.taken.milliseconds for each in found])
            foretold = np.array([each.foretold for each in found])
            devices = [each.devices for each in found]
            over = times[0] / times if growth == "strong" else times / times[0]
            plan = times[0] / foretold if growth == "strong" else foretold / times[0]
            (line,) = panel.plot(devices, over, marker=MARKERS[k], linestyle=LINES[k], label=name)
            panel.plot(devices, plan, marker=MARKERS[k], linestyle="none", fillstyle="none", color=line.get_color())
        panel.set_xlabel("devices")
        panel.set_ylabel("times faster than one" if growth == "strong" else "times as long as one")
        panel.set_title(f"{growth} growth; hollow: foretold")
    panels[0].legend()
    drawn.savefig(path)


@command
@click.option("--points", type=int, default=POINTS, show_default=True, help="Points for each device.")
@click.option("--many", type=int, default=MANY_POINTS, show_default=True, help="Points of counts alone; 0: none.")
@click.option("--spheres", type=int, default=SPHERES, show_default=True, help="Spheres for each device; 0: none.")
@click.option("--devices", default="1,2,4,8", show_default=True, help="Numbers of devices, the first one 1.")
@click.option("--only", multiple=True, help="A search; may be given several times.")
@click.option("--times", type=int, default=9, show_default=True, help="How often each is timed.")
@click.option("--picture", type=click.Path(path_type=Path), help="A file for a picture of the table.")
def main(**given: Any) -> None:
    """Measure, and print a Markdown table."""
    session = clfrnn.Session(given["device"])
    counts = sorted({1, *(int(word) for word in given["devices"].split(","))})
    say(
        session, described(devices_of(session, counts[-1])), f"{NEIGHBORS} neighbors", f"the median of {given['times']}"
    )
    columns = ("devices:", "points:", "halo (foretold):", "imbalance (foretold):", "bytes exchanged (foretold):")
    more = ("ms (foretold):", "times faster, or as long:", "waiting:", "foretold over measured:")
    head("search", "growth", *columns, *more)
    sizes = dict.fromkeys(SEARCHES, given["points"]) | {"count, many": given["many"], "spheres": given["spheres"]}
    rows = []
    for search, n in sizes.items():
        if not n or (given["only"] and search not in given["only"]):
            continue

        def measure(points: int, devices: int, name: str = search) -> Measured:
            sessions = devices_of(session, devices)
            return stepped(points, sessions) if name == "spheres" else searched(name, points, sessions, given["times"])

        found = rows_of(search, n, counts, measure)
        print_rows(found)
        rows += found
    if given["picture"] is not None:
        draw(rows, given["picture"])


if __name__ == "__main__":
    main()
