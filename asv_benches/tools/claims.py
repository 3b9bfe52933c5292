"""Claims: what pages say of results, where no example prints it. One table for each claim; none is a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import numpy as np

import clfrnn
from clfrnn.clouds import CLOUDS
from clfrnn.geometry import smooth, wlop
from clfrnn.models import Circles, Fluid, Pedestrians

from .tables import command, head, row, say

Row = tuple[object, ...]

#: Circles whose sum of forces is divided by the number of neighbors, as the program of the paper's authors does.
_DIVIDED = """
const real_vec p = VLOAD(i, points);
VSTORE(clamp(p - (real)0.05 * sum / max(many, 1), (real)0, side), i, moved);
"""


def smoothing(session: clfrnn.Session) -> Iterator[Row]:
    """Noise of a plane after one iteration by planes and by polynomials, beside √(2/N) and √(5/N) of what it was."""
    yield "points in a ball", "noise left, by √(2/N) of it", "degree 2, by √(5/N) of it"
    rng, n = np.random.default_rng(0), 100_000
    for inside in (10, 30, 100):
        radius = (inside / n / np.pi) ** 0.5
        plane = np.column_stack([rng.random((n, 2)), rng.normal(0, radius / 15, n)]).astype(np.float32)
        inner = (abs(plane[:, :2] - 0.5) < 0.5 - 2 * radius).all(axis=1)
        left = [
            smooth(plane, radius, degree=degree, session=session).get()[inner, 2].std() / (radius / 15)
            for degree in (1, 2)
        ]
        yield inside, *(f"{each / (k / inside) ** 0.5:.2f}" for each, k in zip(left, (2, 5), strict=True))


def _unevenness(particles: np.ndarray, session: clfrnn.Session) -> float:
    steps = clfrnn.nearest(particles, 1, session=session).to_host().distances
    return float(steps.std() / steps.mean())


def resampling(session: clfrnn.Session) -> Iterator[Row]:
    """Particles on a sphere of radius 1, with noise by radius, and without by iterations."""
    yield "noise", "particles", "radius over distance", "iterations", "off the sphere", "deviation of steps over mean"
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(10_000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    runs: list[tuple[float, int, int, int]] = [(0.03, 500, reach, 30) for reach in (2, 3, 4, 5, 6)]
    runs += [(noise, 2_000, 6, 30) for noise in (0.005, 0.02, 0.05)]
    for noise, m, reach, often in runs + [(0.0, 500, 5, often) for often in (0, 30, 100)]:
        points, radius = ball * rng.normal(1, noise, (len(ball), 1)), reach * (4 * np.pi / m) ** 0.5
        found = wlop(points.astype(np.float32), m, radius, iterations=often, seed=0, session=session).get()
        off = np.linalg.norm(found, axis=1).std()
        yield noise, m, reach, often, f"{off:.3f}", f"{_unevenness(found, session):.2f}"


def settling(session: clfrnn.Session) -> Iterator[Row]:
    """How far the median offset of 2,000 actors falls in 200 steps."""
    yield "dim", "neighbors", "damping", "start over end"
    for dim in (2, 3):
        for neighbors in (2, 4, 8, 12, 30):
            for damping in ("default", "0.05", "0.05, divided"):
                given = None if damping == "default" else 0.05
                model = Circles(2_000, neighbors, dim=dim, damping=given, repeatable=True, session=session)
                before = np.median(np.linalg.norm(model.forces(), axis=1))
                _move_divided(model, 200) if damping.endswith("divided") else model.step(200)
                yield dim, neighbors, damping, f"{before / np.median(np.linalg.norm(model.forces(), axis=1)):.1f}"


def _move_divided(model: Circles, steps: int) -> None:
    load, store = f"vload{model.dim}", f"vstore{model.dim}"
    move = clfrnn.NeighborFunction(
        arguments="const real reach, const real side, global const real *points, global real *moved",
        state="real_vec sum = (real_vec)(0); int many = 0;",
        per_neighbor="++many; if (d2 > 0) sum += dx * (sinpi(2 * sqrt(d2) / reach) / sqrt(d2));",
        finish=_DIVIDED.replace("VLOAD", load).replace("VSTORE", store),
    )
    now, then = model.points, model.index.empty(model.points.shape)
    for _ in range(steps):
        model.index.visit(move, reach=model.radius, side=model.side, points=now, moved=then)
        model.index.update(then)
        now, then = then, now


def lanes(session: clfrnn.Session) -> Iterator[Row]:
    """Who walks up to 6 m ahead and 0.6 m aside of somebody in a walkway: the share that walks the same way."""
    yield "stride_time", "share in each of eight looks, 40 s apart"
    for stride in (2.0, 0.5):
        people = Pedestrians(150, stride_time=stride, repeatable=True, session=session)
        way, looks = 1 - 2 * (people.groups.get() % 2), []
        for _ in range(8):
            people.step(800)
            x, y = people.positions.get().T
            ahead = (x - x[:, None]) * way[:, None]
            near = (ahead > 0) & (ahead <= 6) & (abs(y - y[:, None]) <= 0.6)
            looks.append((way == way[:, None])[near].mean())
        yield stride, " ".join(f"{look:.0%}" for look in looks)


def sound(session: clfrnn.Session) -> Iterator[Row]:
    """A broken dam with sound of two speeds: when its front has come 4 m, and after how many steps."""
    yield "particles", "sound, m/s", "time, s", "steps"
    for n in (1_000, 1_600):
        for speed in (25.0, None):
            water = Fluid(n, tank=(4.5, 2.5), sound=speed, repeatable=True, session=session)
            times, fronts = [0.0], [1.0]
            while fronts[-1] < 4:
                water.step(10)
                times.append(water.time)
                fronts.append(water.front())
            yield n, f"{water.sound:.1f}", f"{np.interp(4, fronts, times):.4f}", water.steps_done


def crowding(_: clfrnn.Session) -> Iterator[Row]:
    """A million points in 18³ coarse cells of the box around them: those of the fullest, where 171 are the mean."""
    yield "cloud", "points in the fullest cell", "share of all"
    for name in ("uniform", "shell", "dam_break", "filament", "clustered", "multiscale"):
        points = CLOUDS[name](1_000_000, 3)
        low, side = points.min(axis=0), np.ptp(points, axis=0) / 18
        cells = np.minimum((points - low) / side, 17).astype(int)
        fullest = int(np.bincount(np.ravel_multi_index(tuple(cells.T), (18, 18, 18))).max())
        yield name, f"{fullest:,}", f"{fullest / len(points):.2%}"


CLAIMS: dict[str, Callable[[clfrnn.Session], Iterator[Row]]] = {
    each.__name__: each for each in (smoothing, resampling, settling, lanes, sound, crowding)
}


@command
@click.argument("names", nargs=-1, type=click.Choice(list(CLAIMS)))
def main(*, names: tuple[str, ...], device: str | None) -> None:
    """Print Markdown tables: those of the claims that are named, or all."""
    session = clfrnn.Session(device)
    say(session)
    for name in names or CLAIMS:
        click.echo(f"**{name}**: {CLAIMS[name].__doc__}\n")
        titles, *rows = CLAIMS[name](session)
        head(*map(str, titles))
        for cells in rows:
            row(*cells)
        click.echo("")


if __name__ == "__main__":
    main()
