"""``clfrnn search --k``: the k nearest neighbors of the points in a file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeviceMemoryError
from .progress import progress

if TYPE_CHECKING:
    from ..results import HostNearest
    from ..runtime.session import Session

__all__ = ["check_nearest", "find_nearest"]

#: Options that say how all neighbors within a radius are counted, listed or drawn.
_OF_ALL = ("count", "sort", "half", "pairs", "plot")


def check_nearest(given: dict[str, Any]) -> None:
    """Refuse options that have no effect with ``--k``.

    Parameters
    ----------
    given : the options of the command line
    """
    for name in _OF_ALL:
        if given[name]:
            raise click.UsageError(
                f"--{name}: expected a search for all neighbors within a radius, got --k, whose results have k "
                "neighbors of each query, the closest first; leave out one of the two"
            )


def find_nearest(cloud: Any, sources: Any, given: dict[str, Any], session: Session) -> dict[str, Any]:
    """Find the k nearest of each query, print a summary, and return the arrays of the result on the host.

    Parameters
    ----------
    cloud, sources : the points, and the queries or None
    given : the options of the command line, and the `domain` that they name
    session : where to search
    """
    from ..api import nearest

    options = {name: given[name] for name in ("radius", "method", "include_self", "vectors")} | given["domain"]
    queries = cloud if sources is None else sources
    _check_memory(len(queries), cloud, given, copies=1 if session.profile.kind == "gpu" else 2)
    started = time.perf_counter()
    with progress("searching") as shown, session.report_progress(shown):
        found = nearest(cloud, given["k"], queries=sources, session=session, **options).to_host()
    seconds = time.perf_counter() - started
    click.echo(f"points   {len(cloud):,} in {cloud.shape[1]}D, {found.distances.dtype}")
    click.echo(f"queries  {len(queries):,}")
    click.echo(f"nearest  {_described(found)}")
    click.echo(f"method   {given['method']}")
    click.echo(f"device   {session.profile}")
    click.echo(f"time     {seconds:.3f} s; compiling, where it is the first, included")
    names = "indices", "distances", "vectors", "shifts"
    return {name: array for name in names if (array := getattr(found, name)) is not None}


def _described(found: HostNearest) -> str:
    """How many neighbors there are, and how far they lie."""
    there = found.indices >= 0
    (m, k), full = there.shape, int(there[:, -1].sum())
    fewer = "" if full == m else f", fewer of {m - full:,} queries"
    farthest = f", the farthest at {found.distances[there].max():.6g}" if there.any() else ""
    return f"{k:,} of each query{fewer}; {int(there.sum()):,} in all{farthest}"


def _check_memory(m: int, cloud: Any, given: dict[str, Any], *, copies: int) -> None:
    """Refuse a result that exceeds the free memory, for which systems end a program without an error.

    A CPU as a device holds one of the `copies`.
    """
    from ..host.memory import host_memory_left

    k, dim, real = given["k"], cloud.shape[1], 4 if cloud.dtype in ("float16", "float32") else 8
    of_vectors = dim * (real + 4 * bool(given["domain"])) * bool(given["vectors"])
    needed = copies * m * k * (4 + real + of_vectors)
    if needed > (free := max(0.0, host_memory_left(needed))):
        less = ", or leave out --vectors" if given["vectors"] else ""
        raise DeviceMemoryError(
            f"the {k:,} nearest of {m:,} queries take {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB of this "
            f"machine's memory are free for them. Nothing was truncated. Take a smaller --k{less}",
            needed=needed,
            available=int(free),
        )
