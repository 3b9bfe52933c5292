"""``clfrnn search --parts``: clouds that are larger than a device, on one or several of them, lists into a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..host.printable import printable

if TYPE_CHECKING:
    from ..runtime.session import Session

__all__ = ["check_parts", "open_sessions", "search_parts"]

#: Options that are of one list on one device.
_OF_ONE = ("device", "frames", "k", "pairs", "plot")


def check_parts(output: Path | None, given: dict[str, Any]) -> None:
    """Refuse options that have no effect with ``--parts`` and ``--devices``, and folders with results.

    Parameters
    ----------
    output : the folder of ``-o``
    given : the options of the command line
    """
    for name in _OF_ONE:
        if given[name]:
            raise click.UsageError(
                f"--{name}: expected a search of a whole cloud, got --parts or --devices as well; leave out one of them"
            )
    if output is None:
        return
    if given["count"]:
        raise click.UsageError("--count makes no lists; leave out --output, or --count")
    if output.suffix == ".npz" or (output.exists() and not output.is_dir()):
        raise click.UsageError(
            f"--output: expected a folder, got {printable(output.name)}: the lists of parts are files of a folder; "
            "call it, say, neighbors"
        )
    if output.is_dir() and any(output.iterdir()):
        raise click.UsageError(f"--output: the folder {printable(output.name)} is not empty; name a new one")


def open_sessions(devices: str | None) -> list[Session]:
    """A session on each device: "all" of them, or those of positions or parts of names between commas.

    Parameters
    ----------
    devices : the value of ``--devices``; None for the default device
    """
    from ..points.sessions import default_session
    from ..runtime.device import devices as profiles
    from ..runtime.session import Session

    if devices is None:
        return [default_session()]
    if devices == "all":
        return [Session(position) for position in range(len(profiles()))]
    return [Session(word.strip()) for word in devices.split(",")]


def search_parts(cloud: Any, sources: Any, given: dict[str, Any], sessions: list[Session], output: Path | None) -> None:
    """Search a cloud by parts, print a summary, and write the lists.

    Parameters
    ----------
    cloud, sources : the points, and the queries or None
    given : the options of the command line, and the `domain` that they name
    sessions : where to search
    output : the folder of the lists; None to count
    """
    from ..parts import count, search, write_lists

    started = time.perf_counter()
    options = {name: given[name] for name in ("parts", "method", "include_self")} | given["domain"]
    options |= {"queries": sources, "sessions": sessions, "progress": True}
    if output is None:
        pairs = int(count(cloud, given["radius"], **options).sum(dtype="int64"))
        files = 0
    else:
        options |= {name: given[name] for name in ("distances", "vectors", "sort", "half")}
        pairs = 0

        def counted() -> Any:
            nonlocal pairs
            for each in search(cloud, given["radius"], **options):
                pairs += each.num_pairs
                yield each

        files = write_lists(counted(), output)
    queries = len(cloud) if sources is None else len(sources)
    click.echo(f"points   {len(cloud):,} in {cloud.shape[1]}D, {cloud.dtype}")
    click.echo(f"queries  {queries:,}")
    click.echo(f"pairs    {pairs:,}, mean {pairs / max(queries, 1):.2f}")
    for session in sessions:
        click.echo(f"device   {session.profile}")
    click.echo(f"time     {time.perf_counter() - started:.3f} s; reading, writing and compiling included")
    if output is not None:
        click.echo(f"written  {printable(str(output))}: {files:,} lists")
