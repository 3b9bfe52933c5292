"""The command line: parses, calls the API, prints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from .errors import ClfrnnError, InvalidInputError

if TYPE_CHECKING:
    from .session import Session

__all__ = ["main"]


class _Failure(click.ClickException):
    """An error of clfrnn's, printed without a traceback; exit status 1."""

    def show(self, file: Any = None) -> None:
        """Print in the form of the other errors."""
        click.echo(f"clfrnn: {self.message}", err=True, file=file)


class _MethodName(click.ParamType):  # type: ignore[type-arg]
    """The name of a method; the names are looked up when one is given, not when clfrnn starts."""

    name = "method"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """`value` when it names a method."""
        from .methods import METHODS

        if value not in ("auto", *METHODS):
            self.fail(f"{value!r} is not one of auto, {', '.join(METHODS)}", param, ctx)
        return str(value)


class _Group(click.Group):
    """Commands whose library errors are messages, not tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ClfrnnError, OSError) as error:
            raise _Failure(str(error)) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clfrnn")
def main() -> None:
    """Exact fixed-radius near-neighbor search on any OpenCL device."""


@main.command()
def devices() -> None:
    """Every OpenCL device, its facts, and what clfrnn would choose for it."""
    from .device import devices as list_profiles
    from .device import find_device, list_devices
    from .plan import plan_walk

    present = list_profiles()
    default = list_devices().index(find_device())  # raises where there is none, and says what to install
    for place, profile in enumerate(present):
        walk = plan_walk(profile, dim=3, real="float", periodic=False)
        reads = "column by column" if walk.columns else "point by point"
        click.echo(f"{place}{'*' if place == default else ' '} {profile.name}")
        click.echo(f"     {profile.platform}, driver {profile.driver}")
        click.echo(
            f"     {profile.kind}, {profile.compute_units} compute units, "
            f"work-groups up to {profile.max_work_group_size}, {'float64' if profile.fp64 else 'no float64'}"
        )
        click.echo(
            f"     memory {profile.global_memory / 2**30:.1f} GiB, largest array "
            f"{profile.max_allocation / 2**30:.1f} GiB, local {profile.local_memory >> 10} KiB"
        )
        click.echo(f"     chosen: work-groups of {walk.work_group_size}, candidates read {reads}")
    click.echo("* is used unless a session, --device or CLFRNN_DEVICE names another.")


@main.command()
@click.argument("points", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--radius", "-r", type=float, required=True, help="Search radius, in the unit of the coordinates.")
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Where to search from; the points themselves when not given.",
)
@click.option("--method", type=_MethodName(), default="auto", show_default=True, help="As for clfrnn.search.")
@click.option("--device", help="A position in `clfrnn devices`, or a part of a device's or platform's name.")
@click.option("--float32", is_flag=True, help="Round the coordinates to float32 first.")
@click.option("--include-self", is_flag=True, help="A point is its own neighbor.")
@click.option("--distances", is_flag=True, help="Write the distances too.")
@click.option("--vectors", is_flag=True, help="Write the vectors from query to neighbor too.")
@click.option("--sort", type=click.Choice(["index", "distance"]), help="Order inside a row.")
@click.option("--half", is_flag=True, help="Each pair once.")
@click.option("--count", is_flag=True, help="Count the neighbors only; -o then writes `counts`.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the result, an .npz file.")
def search(
    points: Path,
    radius: float,
    queries: Path | None,
    method: str,
    device: str | None,
    output: Path | None,
    count: bool,
    float32: bool,
    **asked: Any,
) -> None:
    """Find every neighbor within a radius of the rows of POINTS, a .npy or .csv file."""
    from .api import build_index

    if output is not None and output.suffix != ".npz":
        raise click.UsageError(f"--output: expected a name that ends in .npz, got {output.name}")
    listed = [name for name in ("distances", "vectors", "sort", "half") if asked[name]]
    if count and listed:
        raise click.UsageError(f"--count makes no list; leave out --{listed[0]}")
    cloud = _read_points(points)
    sources = None if queries is None else _read_points(queries)
    if float32:
        cloud, sources = (None if array is None else array.astype("float32") for array in (cloud, sources))
    started = time.perf_counter()
    index = build_index(cloud, radius, method=method, session=_session(device))
    if count:
        counts = index.count(sources, include_self=asked["include_self"]).get()
        arrays, pairs = {"counts": counts}, int(counts.sum(dtype="int64"))
    else:
        found = index.query(sources, **asked).to_host()
        fields = {name: getattr(found, name) for name in ("offsets", "indices", "distances", "vectors", "shifts")}
        arrays, pairs = {name: array for name, array in fields.items() if array is not None}, found.num_pairs
        counts = found.counts
    seconds = time.perf_counter() - started
    click.echo(f"points   {index.num_points:,} in {index.dim}D, {index.dtype}")
    click.echo(f"queries  {len(counts):,}")
    click.echo(f"pairs    {pairs:,}, mean {counts.mean() if len(counts) else 0:.2f}, most {counts.max(initial=0)}")
    click.echo(f"method   {index.method}")
    click.echo(f"device   {index.session.profile}")
    click.echo(f"time     {seconds:.3f} s, compiling included")
    if output is not None:
        import numpy as np

        np.savez(output, **arrays)
        click.echo(f"written  {output}: {', '.join(arrays)}")


@main.command()
@click.option("--device", help="A position in `clfrnn devices`, or a part of a name; every device when not given.")
@click.option("--points", type=click.IntRange(min=10), default=600, show_default=True, help="Points of each cloud.")
@click.option("--seed", type=int, help="Seed of the clouds; fresh ones when not given.")
def verify(device: str | None, points: int, seed: int | None) -> None:
    """The exactness contract on this machine's devices, method by method, against numpy.

    Exit status 1 when a single pair differs.
    """
    import secrets

    from .device import find_device, list_devices

    seed = secrets.randbelow(1 << 30) if seed is None else seed
    chosen = [find_device(device)] if device is not None else list_devices() or [find_device()]
    click.echo(f"seed {seed}, clouds of {points} points")
    failed = sum(_verify_device(each, points=points, seed=seed) for each in chosen)
    if failed:
        raise _Failure(f"{failed} cases differ from the reference; please report them with the seed above")


def _verify_device(device: Any, *, points: int, seed: int) -> int:
    """Verify one device and print a line for each method; the number of cases that differ."""
    from rich.progress import track

    from .methods import METHODS
    from .session import Session
    from .verify import cases, run_case

    session = Session(device)
    click.echo(f"\n{session.profile}")
    plan = list(cases(session.profile, seed=seed, points=points))
    console = _console()
    outcomes = [
        run_case(session, case)
        for case in track(plan, "comparing", console=console, transient=True, disable=not console.is_terminal)
    ]
    for method in METHODS:
        own = [outcome for outcome in outcomes if outcome.case.method == method]
        wrong = [outcome for outcome in own if outcome.differences]
        pairs = sum(outcome.pairs for outcome in own)
        verdict = "exact" if not wrong else f"{len(wrong)} DIFFER"
        click.echo(f"  {method:14} {len(own):3} cases, {pairs:10,} pairs   {verdict}")
        for outcome in wrong:
            for difference in outcome.differences:
                click.echo(f"    {outcome.case}: {difference}")
    if not session.profile.fp64:
        click.echo("  float64 was left out: the device has no fp64")
    if not session.profile.subnormals:
        click.echo("  the device flushes subnormals: pairs whose squared distance is subnormal may differ")
    return sum(bool(outcome.differences) for outcome in outcomes)


def _session(device: str | None) -> Session | None:
    from .session import Session

    return None if device is None else Session(device)


def _read_points(path: Path) -> Any:
    """The rows of a .npy or .csv file."""
    import numpy as np

    if path.suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise InvalidInputError(
                f"{path}: expected an array as numpy.save writes it, got something else ({error}); save it again"
            ) from error
    if path.suffix not in (".csv", ".txt"):
        raise InvalidInputError(
            f"{path}: expected a .npy or .csv file, got {path.suffix or 'no ending'}; save it as one"
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        rows = [line.replace(",", " ") for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if rows and not _is_numbers(rows[0]):
            rows = rows[1:]  # the names of the columns
        if not rows:
            raise InvalidInputError(f"{path}: expected rows of numbers, got none; write one point a line")
        return np.loadtxt(rows, ndmin=2)
    except ValueError as error:
        raise InvalidInputError(
            f"{path}: expected rows of numbers, got what numpy cannot read ({error}); separate them by commas or spaces"
        ) from error


def _is_numbers(row: str) -> bool:
    try:
        [float(word) for word in row.split()]
    except ValueError:
        return False
    return True


def _console() -> Any:
    from rich.console import Console

    return Console()
