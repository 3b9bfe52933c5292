"""``clfrnn search``: the neighbors of the points in a file, as a summary, a file and a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeviceMemoryError
from ..files.contents import STANDARD_INPUT
from ..host.printable import printable
from .arguments import COLUMNS, DEVICE, FLOAT32, FRAME, METHOD, SKIP_NAN, MethodName, Numbers, SearchCommand, check_new
from .domain import CellNumbers, read_domain
from .input import naming_files, read_each, read_input
from .nearest import check_nearest, find_nearest
from .parts import check_parts, open_sessions, search_parts
from .progress import opened
from .progress import progress as _progress

if TYPE_CHECKING:
    from ..files import Cloud
    from ..index import Index
    from ..runtime.session import Session

__all__ = ["search"]

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)

#: Share of the largest array of the device that one block of a list takes, and the largest number of bytes of a block:
#: the blocks of long searches show progress.
_SHARE, _MOST_BYTES = 4, 1 << 28

#: The fields of a list, in the order in which they are written.
_FIELDS = ("indices", "distances", "vectors", "shifts")


@click.command(cls=SearchCommand)
@click.argument("points", type=_FILE)
@click.option("--radius", "-r", type=float, help="Search radius, in the unit of the coordinates.")
@click.option(
    "--k",
    type=click.IntRange(min=1),
    help="Find that many nearest neighbors of each query, in place of all within a radius; with --radius, of those "
    "within it.",
)
@click.option(
    "--queries",
    type=_FILE,
    help="A file of positions whose neighbors among POINTS are wanted; POINTS themselves when not given.",
)
@click.option("--array", help="Which array of an .npz file holds the points.")
@click.option("--columns", help=COLUMNS)
@click.option("--frame", type=int, metavar="NUMBER", help=FRAME)
@click.option(
    "--frames",
    is_flag=True,
    help="Search all frames one after the other; the name behind -o has {frame} where the number of each is to stand.",
)
@click.option("--skip-nan", is_flag=True, help=SKIP_NAN)
@click.option("--method", type=MethodName(), default="auto", show_default=True, help=METHOD)
@click.option("--device", help=DEVICE)
@click.option("--float32", is_flag=True, help=FLOAT32)
@click.option(
    "--box",
    type=Numbers(),
    metavar="LENGTHS",
    help="The periodic box: a length for each axis, or its low corner and then its high one.",
)
@click.option(
    "--cell",
    type=CellNumbers(),
    metavar="VECTORS",
    help="A periodic cell that is not rectangular: nine numbers, its lattice vectors one after the other, or three "
    "lengths and three angles in degrees. It takes the place of the cell in the file.",
)
@click.option("--open", is_flag=True, help="Search in open space, whatever cell the file has.")
@click.option(
    "--periodic",
    is_flag=False,
    flag_value="all",
    metavar="[AXES]",
    help="The axes or lattice vectors along which the box repeats: all, as without this option, or some, as xy or 0,1.",
)
@click.option("--include-self", is_flag=True, help="Count a point as its own neighbor.")
@click.option("--distances", is_flag=True, help="Write the distances too.")
@click.option("--vectors", is_flag=True, help="Write the vectors from query to neighbor too.")
@click.option(
    "--sort", type=click.Choice(["index", "distance"]), help="Order of the neighbors of a query; any order without it."
)
@click.option("--half", is_flag=True, help="List each pair once, and not from both of its points.")
@click.option("--pairs", is_flag=True, help="Write the arrays `query_ids` and `point_ids`, an entry for each pair.")
@click.option("--count", is_flag=True, help="Count the neighbors only; -o then writes `counts`.")
@click.option(
    "--parts",
    type=click.IntRange(min=1),
    help="For clouds larger than a device: search them in at least as many parts as this, one by one. A .npy file of "
    "points is then not loaded as a whole; -o names a folder, which clfrnn.parts.read_lists reads.",
)
@click.option(
    "--devices",
    help="Search in parts on several devices at the same time: all, or their numbers in `clfrnn devices` or parts of "
    "their names, with commas between them.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write the result, an .npz file; with --parts or --devices a folder.",
)
@click.option(
    "--plot", type=_NEW, help="Draw a .png file: points colored by their number of neighbors, and its histogram."
)
def search(points: Path, *, output: Path | None, plot: Path | None, **given: Any) -> None:
    """Find every neighbor within a radius of the points in a file, or their k nearest.

    POINTS is a .npy, .npz, .csv, .tsv, .txt, .dat, .asc, .pts, .ply, .pcd, .las or .laz file with a point in each row.
    Texts may be packed, as in cloud.csv.gz, and - is standard input.

    Or POINTS is a file of atoms: .xyz, .extxyz, .gro, .pdb, .cif, .vasp, POSCAR, XDATCAR or a dump of LAMMPS. Atoms are
    searched in Å, in the cell that the file has unless --open is given. Of a file with several frames the first is
    searched, unless --frame or --frames is given.
    """
    by_parts = given["parts"] is not None or given["devices"] is not None
    _check(points, output, plot, given, by_parts=by_parts)
    if by_parts:
        _search_in_parts(points, output, given)
        return
    session = opened(given["device"]) if given["frames"] else None
    for read, sources in read_each(points, given):
        _search_cloud((points, read, sources), given, session, output=output, plot=plot)


def _search_in_parts(points: Path, output: Path | None, given: dict[str, Any]) -> None:
    """Search a cloud that need not fit a device."""
    read, sources = read_input(points, given)
    given["domain"] = read_domain(points, read, given)
    with naming_files(points, given["queries"]):
        search_parts(read.points, sources, given, open_sessions(given["devices"]), output)


def _search_cloud(
    found: tuple[Path, Cloud, Any],
    given: dict[str, Any],
    session: Session | None,
    *,
    output: Path | None,
    plot: Path | None,
) -> None:
    """Search one frame of a file: its points, from the queries where there are some."""
    points, read, sources = found
    if given["frames"]:
        click.echo(f"frame    {read.frame:,} of {read.frames:,}")
        output = None if output is None else output.with_name(output.name.replace("{frame}", str(read.frame)))
    given["domain"], cloud = read_domain(points, read, given), read.points
    with naming_files(points, given["queries"]):
        session = session or opened(given["device"])
        if given["k"] is None:
            listed = output is not None and not given["count"]
            counts, arrays = _find_all(cloud, sources, given, session, listed=listed)
        else:
            arrays = find_nearest(cloud, sources, given, session)
    if output is not None:
        _write(output, arrays)
    if plot is not None:
        _draw(cloud if sources is None else sources, counts, plot, given["radius"])


def _check(points: Path, output: Path | None, plot: Path | None, given: dict[str, Any], *, by_parts: bool) -> None:
    """Refuse options that have no effect together, and results that could not be written in the end."""
    if given["radius"] is None and given["k"] is None:
        raise click.UsageError(
            "Missing option '--radius' or '--k': say how far neighbors may be, as in: clfrnn search cloud.npy "
            "--radius 0.1, or how many of the nearest to find, as in --k 8"
        )
    if given["k"] is not None and not by_parts:
        check_nearest({**given, "plot": plot})
    if given["frames"]:
        _check_frames(points, output, plot, given)
    if points == given["queries"] == STANDARD_INPUT:
        raise click.UsageError("--queries: standard input (-) has the points already; save one of them as a file")
    if by_parts:
        check_parts(output, {**given, "plot": plot})
    elif output is not None and output.is_dir():
        context = click.get_current_context()
        named = next(each for each in context.command.params if each.name == "output")
        raise click.BadParameter(f"File {str(output)!r} is a directory.", ctx=context, param=named)
    elif output is not None and output.suffix != ".npz":
        raise click.UsageError(
            f"--output: expected a name that ends in .npz, got {printable(output.name)}; call it, say, "
            f"{printable(output.stem)}.npz"
        )
    for option, path in (("--output", output), ("--plot", plot)):
        if path is not None:
            check_new(option, path, points, given["queries"])
    if plot is not None:
        from .pictures import check_picture

        check_picture(plot)
    listed = [name for name in ("distances", "vectors", "sort", "half", "pairs") if given[name]]
    if given["count"] and listed:
        raise click.UsageError(f"--count makes no list; leave out --{listed[0]}")
    if output is None and listed:
        raise click.UsageError(
            f"--{listed[0]}: it is of a list, which is written to a file; name one, as in -o neighbors.npz"
        )


def _check_frames(points: Path, output: Path | None, plot: Path | None, given: dict[str, Any]) -> None:
    """Refuse what has no meaning for all frames of a file."""
    from ..files.formats import has_frames

    also = {name: given[name[2:]] for name in ("--frame", "--queries", "--parts", "--devices")} | {"--plot": plot}
    if named := next((option for option, value in also.items() if value is not None), None):
        raise click.UsageError(f"--frames: expected a search of all frames alone, got {named} as well; leave it out")
    if not has_frames(points):
        raise click.UsageError(f"--frames: {printable(points.name)} has no frames; leave it out")
    if output is not None and "{frame}" not in output.name:
        raise click.UsageError(
            f"--output: expected {{frame}} where the number of a frame is to stand, got {printable(output.name)}; call "
            f"it, say, {printable(output.stem)}-{{frame}}.npz"
        )


def _find_all(
    cloud: Any, sources: Any, given: dict[str, Any], session: Session, *, listed: bool
) -> tuple[Any, dict[str, Any]]:
    """Find every neighbor, print a summary, and return the counts and the arrays to write."""
    started = time.perf_counter()
    index = _build(cloud, given, session)
    built = time.perf_counter()
    counts = _count(index, sources, given)
    arrays = _list(index, sources, counts, given) if listed else {"counts": counts}
    _print_summary(index, counts, (built - started, time.perf_counter() - built))
    return counts, arrays


def _build(cloud: Any, given: dict[str, Any], session: Session) -> Index:
    from ..api import build_index

    return build_index(cloud, given["radius"], method=given["method"], session=session, **given["domain"])


def _count(index: Index, sources: Any, given: dict[str, Any]) -> Any:
    """Count the neighbors of each query, with a progress bar where that takes several launches."""
    with _progress("counting") as shown, index.session.report_progress(shown):
        return index.count(sources, include_self=given["include_self"]).get()


def _list(index: Index, sources: Any, counts: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Make the arrays of the list in blocks, with a progress bar over the queries."""
    import numpy as np

    options = {name: given[name] for name in ("include_self", "distances", "vectors", "sort", "half")}
    pairs = int(counts.sum(dtype=np.int64))
    if given["half"]:
        own = len(counts) if given["include_self"] else 0
        pairs = (pairs - own) // 2 + own
    each = _bytes_of_pair(index, given)
    largest, left = index.session.available()
    budget = max(1 << 20, min(_MOST_BYTES, largest // _SHARE, left // _SHARE), 16 + each * int(counts.max(initial=0)))
    _check_memory(pairs, 8 * (len(counts) + 1) + each * pairs, 2 * budget, given)
    arrays: dict[str, Any] = {}
    offsets = np.zeros(len(counts) + 1, np.int64 if pairs > np.iinfo(np.int32).max else np.int32)
    row = start = 0
    with _progress("listing") as shown:
        parts = index.query_blocks(sources, max_bytes=budget, **options)
        for part in parts if len(counts) else [index.query(sources, **options)]:
            host = part.to_host()
            end = start + host.num_pairs
            offsets[row + 1 : row + len(host) + 1] = start + host.offsets[1:]
            for name in _FIELDS:
                if (found := getattr(host, name)) is not None:
                    if name not in arrays:
                        arrays[name] = np.empty((pairs, *found.shape[1:]), found.dtype)
                    arrays[name][start:end] = found
            row, start = row + len(host), end
            shown(row, len(counts))
    if given["pairs"]:
        return _as_pairs(offsets, **arrays)
    return {"offsets": offsets, **arrays}


def _as_pairs(offsets: Any, indices: Any, **others: Any) -> dict[str, Any]:
    """The list as pairs, in the same order: COO in place of CSR."""
    import numpy as np

    queries = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return {"query_ids": queries, "point_ids": indices, **others}


def _bytes_of_pair(index: Index, given: dict[str, Any]) -> int:
    """The bytes of one pair in all arrays that make its list."""
    real, dim = index.dtype.itemsize, index.dim
    scalars = 4 + 4 * bool(given["pairs"]) + real * bool(given["distances"] or given["sort"] == "distance")
    shifts = 4 * dim * (bool(given["domain"]) and bool(given["vectors"] or given["sort"]))
    return scalars + real * dim * bool(given["vectors"]) + shifts


def _check_memory(pairs: int, needed: int, besides: int, given: dict[str, Any]) -> None:
    """Refuse a list that exceeds the free memory, for which systems end a program without an error."""
    from ..host.memory import host_memory_left

    if needed + besides > (free := max(0.0, host_memory_left(needed))):
        extras = " and ".join(f"--{name}" for name in ("distances", "vectors") if given[name])
        less = f"leave out {extras}, " if extras else ""
        once = "" if given["half"] or given["queries"] is not None else "list each pair once by --half, "
        raise DeviceMemoryError(
            f"the list of {pairs:,} pairs takes {needed / 2**30:.1f} GiB, and {max(0, free - besides) / 2**30:.1f} GiB "
            "of this machine's memory are free for it. Nothing was truncated. Take a smaller --radius, "
            f"{less}{once}or count only, by --count",
            needed=needed,
            available=int(free),
        )


def _print_summary(index: Index, counts: Any, seconds: tuple[float, float]) -> None:
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
    from .output import write_arrays

    write_arrays(path, arrays)
    click.echo(f"written  {printable(str(path))}: {', '.join(arrays)}")


def _draw(points: Any, counts: Any, path: Path, radius: float) -> None:
    from ..host.files import replacing
    from .pictures import draw_counts

    with replacing(path) as part:
        drawn = draw_counts(points, counts, part, title=f"{len(points):,} points, neighbors within {radius:g}")
    some = "" if drawn == len(points) else f", {drawn:,} of them in the picture"
    click.echo(f"drawn    {printable(str(path))}: {len(points):,} points{some}")
