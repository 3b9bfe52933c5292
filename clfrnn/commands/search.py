"""``clfrnn search``: the neighbors of a file's points, in a table, a file and a picture."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from ..methods import Index

__all__ = ["search"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)

#: A part of a list takes so much of the largest array that the device allows, and no more than so many bytes: long
#: searches then have something to show for their progress.
_SHARE, _MOST_BYTES = 4, 1 << 28

#: The fields of a list, in the order in which they are written.
_FIELDS = ("indices", "distances", "vectors", "shifts")


class MethodName(click.ParamType):  # type: ignore[type-arg]
    """The name of a method; the names are looked up when one is given, not when clfrnn starts."""

    name = "method"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """`value` when it names a method."""
        from ..methods import METHODS

        if value not in ("auto", *METHODS):
            self.fail(f"{value!r} is not one of auto, {', '.join(METHODS)}", param, ctx)
        return str(value)


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """The numbers of `value`."""
        try:
            return [float(word) for word in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is not numbers with commas between them, as in 10,10,20", param, ctx)


@click.command()
@click.argument("points", type=_FILE)
@click.option("--radius", "-r", type=float, required=True, help="Search radius, in the unit of the coordinates.")
@click.option("--queries", type=_FILE, help="Where to search from; the points themselves when not given.")
@click.option("--array", help="Which array of an .npz file holds the points.")
@click.option("--method", type=MethodName(), default="auto", show_default=True, help="As for clfrnn.search.")
@click.option("--device", help="A position in `clfrnn devices`, or a part of a device's or platform's name.")
@click.option("--float32", is_flag=True, help="Round the coordinates to float32 first.")
@click.option(
    "--box",
    type=Numbers(),
    metavar="LENGTHS",
    help="The periodic box: a length for each axis, or its low corner and then its high one.",
)
@click.option(
    "--periodic",
    is_flag=False,
    flag_value="all",
    metavar="[AXES]",
    help="Axes that repeat: all of them, or some, as in xy or 0,1.",
)
@click.option("--include-self", is_flag=True, help="A point is its own neighbor.")
@click.option("--distances", is_flag=True, help="Write the distances too.")
@click.option("--vectors", is_flag=True, help="Write the vectors from query to neighbor too.")
@click.option("--sort", type=click.Choice(["index", "distance"]), help="Order inside a row.")
@click.option("--half", is_flag=True, help="Each pair once.")
@click.option("--count", is_flag=True, help="Count the neighbors only; -o then writes `counts`.")
@click.option("--output", "-o", type=_NEW, help="Write the result, an .npz file.")
@click.option("--plot", type=_NEW, help="Draw the points coloured by neighbor count, and the histogram: a .png file.")
def search(points: Path, radius: float, *, count: bool, output: Path | None, plot: Path | None, **asked: Any) -> None:
    """Find every neighbor within a radius of the points in a file.

    POINTS is a .npy, .npz, .csv, .txt, .xyz or .ply file, with a point a row.
    """
    _check(count=count, output=output, **asked)
    from ..files import read_points

    cloud = read_points(points, array=asked["array"])
    sources = None if asked["queries"] is None else read_points(asked["queries"])
    if asked["float32"]:
        cloud, sources = cloud.astype("float32"), None if sources is None else sources.astype("float32")
    started = time.perf_counter()
    index = _build(cloud, radius, asked)
    built = time.perf_counter()
    only_count = count or output is None
    arrays = _count(index, sources, asked) if only_count else _list(index, sources, asked)
    seconds = built - started, time.perf_counter() - built
    counts = arrays.pop("counts")
    _tell(index, counts, seconds)
    if output is not None:
        written = {"counts": counts} if count else arrays
        _write(output, written)
    if plot is not None:
        _draw(cloud if sources is None else sources, counts, plot, radius)


def _check(*, count: bool, output: Path | None, **asked: Any) -> None:
    """Refuse options that do nothing together."""
    if output is not None and output.suffix != ".npz":
        raise click.UsageError(f"--output: expected a name that ends in .npz, got {output.name}")
    listed = [name for name in ("distances", "vectors", "sort", "half") if asked[name]]
    if count and listed:
        raise click.UsageError(f"--count makes no list; leave out --{listed[0]}")
    if output is None and listed:
        raise click.UsageError(f"--{listed[0]}: is of a list, which goes to a file; name one, as in -o neighbors.npz")
    if asked["periodic"] is not None and asked["box"] is None:
        raise click.UsageError("--periodic: say how long the box is, as in --box 10,10,10")
    if asked["box"] is not None and asked["periodic"] is None:
        raise click.UsageError("--box: say which axes repeat, by --periodic for all of them or --periodic xy for some")


def _build(cloud: Any, radius: float, asked: dict[str, Any]) -> Index:
    from ..api import build_index
    from ..session import Session

    session = None if asked["device"] is None else Session(asked["device"])
    domain: dict[str, Any] = {}
    if asked["box"] is not None:
        dim = cloud.shape[1] if cloud.ndim == 2 else 0
        domain = {"box": _corners(asked["box"], dim), "periodic": _axes(asked["periodic"], dim)}
    return build_index(cloud, radius, method=asked["method"], session=session, **domain)


def _corners(numbers: list[float], dim: int) -> Any:
    """Lengths, or a low and a high corner, as ``box=`` takes them."""
    if len(numbers) not in (dim, 2 * dim):
        raise click.UsageError(
            f"--box: expected {dim} lengths or the {2 * dim} numbers of two corners for points in {dim}D, "
            f"got {len(numbers)}"
        )
    return numbers if len(numbers) == dim else [numbers[:dim], numbers[dim:]]


def _axes(said: str, dim: int) -> list[bool]:
    """Which axes repeat."""
    if said == "all":
        return [True] * dim
    words = said.split(",") if "," in said or said.isdigit() else list(said)
    places = ["xyzw".find(word) if word.isalpha() else int(word) if word.isdigit() else -1 for word in words]
    if not words or not all(0 <= place < dim for place in places):
        raise click.UsageError(
            f"--periodic: expected axes of points in {dim}D, as in {'xyzw'[: min(dim, 4)]} or "
            f"{','.join(map(str, range(dim)))}, got {said!r}"
        )
    return [axis in places for axis in range(dim)]


def _count(index: Index, sources: Any, asked: dict[str, Any]) -> dict[str, Any]:
    return {"counts": index.count(sources, include_self=asked["include_self"]).get()}


def _list(index: Index, sources: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The list, part by part, with a bar that shows how many of the queries are done."""
    import numpy as np

    largest, left = index.session.available()
    budget = max(1 << 20, min(_MOST_BYTES, largest // _SHARE, left // _SHARE))
    options = {name: asked[name] for name in ("include_self", "distances", "vectors", "sort", "half")}
    parts: list[Any] = []
    with _progress(index.num_points if sources is None else len(sources)) as advance:
        for part in index.query_blocks(sources, max_bytes=budget, **options):
            parts.append(part.to_host())
            advance(len(parts[-1].counts))
    counts = np.concatenate([part.counts for part in parts]) if parts else np.zeros(0, np.int32)
    return {"counts": counts, **_joined(parts, counts)}


def _joined(parts: Sequence[Any], counts: Any) -> dict[str, Any]:
    """The arrays of a list whose rows are those of all parts."""
    import numpy as np

    pairs = int(counts.sum(dtype=np.int64))
    offsets = np.zeros(len(counts) + 1, np.int64 if pairs > np.iinfo(np.int32).max else np.int32)
    np.cumsum(counts, out=offsets[1:])
    try:
        fields = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in _FIELDS
            if parts and getattr(parts[0], name) is not None
        }
    except MemoryError as error:
        raise InvalidInputError(
            f"the list of {pairs:,} pairs does not fit into this machine's memory; "
            "take a smaller radius, --half or --count"
        ) from error
    return {"offsets": offsets, **fields}


def _progress(total: int) -> Any:
    """A context that gives a function to call with the number of queries that are done; a bar on a terminal."""
    import contextlib

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    @contextlib.contextmanager
    def shown() -> Any:
        console = Console(stderr=True)
        columns = (BarColumn(bar_width=30), MofNCompleteColumn(), "queries", TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=total)
            yield lambda done: bar.advance(task, done)

    return shown()


def _tell(index: Index, counts: Any, seconds: tuple[float, float]) -> None:
    pairs = int(counts.sum(dtype="int64"))
    click.echo(f"points   {index.num_points:,} in {index.dim}D, {index.dtype}")
    click.echo(f"queries  {len(counts):,}")
    click.echo(f"pairs    {pairs:,}, mean {counts.mean() if len(counts) else 0:.2f}, most {counts.max(initial=0)}")
    click.echo(f"method   {index.method}")
    click.echo(f"device   {index.session.profile}")
    click.echo(
        f"time     build {seconds[0]:.3f} s, search {seconds[1]:.3f} s; compiling, where it is the first, included"
    )


def _write(path: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    np.savez(path, **arrays)
    click.echo(f"written  {path}: {', '.join(arrays)}")


def _draw(points: Any, counts: Any, path: Path, radius: float) -> None:
    from ..pictures import draw_counts

    drawn = draw_counts(points, counts, path, title=f"{len(points):,} points, neighbors within {radius:g}")
    some = "" if drawn == len(points) else f", {drawn:,} of them in the picture"
    click.echo(f"drawn    {path}: {len(points):,} points{some}")
