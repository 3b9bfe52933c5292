"""``python -m asv_benches.peers``: clfrnn and its peers on the same clouds, as a Markdown table, JSON and a plot."""

from __future__ import annotations

import datetime as dt
import importlib
import platform
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from clfrnn.errors import ClfrnnError

from ..tools.provenance import commit
from ..tools.scans import folder
from .agreement import ULPS
from .clouds import LARGE, SMALL, Cloud, real
from .machine import processor
from .measurement import measure, told
from .ours import Clfrnn
from .peer import Absent, Peer
from .reference import Reference
from .report import TASKS, Entry, Report

REPORTS = Path(__file__).resolve().parents[1] / "reports"
_MODULES = (
    "processors",
    "molecular",
    "stand_ins",
    "open3d_peers",
    "warp_peers",
    "nvalchemi_peers",
    "torch_peers",
    "jax_peers",
    "cupy_peers",
)


def known() -> list[type[Peer]]:
    """Every peer; those of libraries that are absent too, as modules import their library only when asked."""
    modules = (importlib.import_module(f".{name}", __package__) for name in _MODULES)
    return [peer for module in modules for peer in module.PEERS]


def gather(ours: Clfrnn, wanted: Sequence[str], tasks: Sequence[str] = tuple(TASKS)) -> tuple[list[Peer], list[Entry]]:
    """The peers that can take part in these tasks, clfrnn first, and the entries of all, the absent with the reason."""
    present: list[Peer] = [ours]
    entries = [_entry(ours)]
    for kind in known():
        if not set(kind.tasks) & set(tasks):
            continue
        entry = Entry(
            name=kind.name, package=kind.package, dtype=_dtype(kind), remark=kind.remark, tasks=tuple(kind.tasks)
        )
        entries.append(entry)
        try:
            entry.version = kind.find()
            if wanted and kind.names().isdisjoint(wanted):
                raise Absent("not asked for")  # noqa: TRY301
            peer = kind()
            if kind.place == "gpu" or peer.place == "gpu":
                _admit(peer, ours, named=bool(wanted))
            entries[-1] = _entry(peer)
            present.append(peer)
        except Absent as reason:
            entry.absent = str(reason)
        except Exception as error:  # noqa: BLE001 — whatever a driver makes of it
            entry.absent = told(error)
    return present, entries


def _admit(peer: Peer, ours: Clfrnn, *, named: bool) -> None:
    """Peers that belong on a GPU come unasked only with one, and only to a clfrnn that runs on one."""
    if not named and peer.place != "gpu":
        raise Absent("a peer for GPUs, and there is none; name it with --peers to have it on the CPU")
    if not named and ours.place != "gpu":
        raise Absent("a peer for GPUs, and clfrnn's device is none; name it with --peers to have it all the same")


def _dtype(kind: type[Peer]) -> str:
    return np.dtype(kind.dtype).name


def _entry(peer: Peer) -> Entry:
    return Entry(
        name=peer.name,
        package=peer.package,
        version=type(peer).find(),
        device=peer.device,
        place=peer.place,
        dtype=_dtype(type(peer)),
        remark=peer.remark,
        tasks=tuple(peer.tasks),
    )


def machine(ours: Clfrnn) -> dict[str, str]:
    """What a reader must know of the machine and the day."""
    facts = {
        "date": dt.datetime.now(tz=dt.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "clfrnn": f"{type(ours).find()} on {ours.device}",
        "commit": commit(),
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_version()}, numpy {np.__version__}",
    }
    return {what: value for what, value in facts.items() if value}


def run(
    *,
    clouds: Sequence[Cloud],
    absent: Sequence[str],
    tasks: Sequence[str],
    device: str | None,
    wanted: Sequence[str],
    limit: float,
    repeats: int,
    output: Path,
) -> Report:
    """Everything; written down after each cloud, so that a crash in a library loses one cloud."""
    ours = Clfrnn(device)
    present, entries = gather(ours, wanted, tasks)
    clouds = [cloud for cloud in clouds if set(cloud.tasks) & set(tasks)]
    facts = machine(ours)
    if absent:
        facts["left out"] = f"{', '.join(absent)}, which `python -m asv_benches.peers.data` fetches"
    report = Report(machine=facts, limit=limit, ulps=ULPS, entries=entries, clouds=clouds)
    for cloud in clouds:
        click.echo(cloud.name, err=True)
        reference = Reference.of(cloud, device)
        for task in (task for task in tasks if task in cloud.tasks):
            for peer in (peer for peer in present if task in peer.tasks):
                outcome = measure(peer, cloud, reference, task, limit=limit, repeats=repeats)
                report.outcomes.append(outcome)
                shown = outcome.message if outcome.total is None else f"{1e3 * outcome.total:.3f} ms"
                click.echo(f"  {task}, {peer.name}: {shown}", err=True)
        report.save(output)
    return report


def _split(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",")) if value else ()


def _check(names: Sequence[str], offered: Sequence[str], option: str) -> None:
    for name in names:
        if name not in offered:
            raise click.BadParameter(f"{name!r} is none of {', '.join(sorted(set(offered)))}", param_hint=option)


@click.command()
@click.option("--device", help="clfrnn's device, as for `clfrnn search`.")
@click.option("--small/--large", default=None, help="Clouds for CPUs or for GPUs; by default as the device is.")
@click.option(
    "--peers", "wanted", callback=_split, help="Only these, with commas between: names, their first words, or packages."
)
@click.option("--tasks", callback=_split, default=",".join(TASKS), show_default=True, help="With commas between.")
@click.option("--limit", default=5.0, show_default=True, help="Seconds that a build and a query may take.")
@click.option("--repeats", default=15, show_default=True, help="Runs; fewer where they take a quarter of the limit.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with clouds of real data.  [default: where `python -m asv_benches.peers.data` puts them]",
)
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), default=REPORTS / "peers",
    help="Folder for peers.md, peers.json and peers.png.  [default: asv_benches/reports/peers]",
)  # fmt: skip
def main(
    device: str | None,
    small: bool | None,
    wanted: tuple[str, ...],
    tasks: tuple[str, ...],
    limit: float,
    repeats: int,
    data: Path | None,
    output: Path,
) -> None:
    """Measure clfrnn and its peers on the same clouds, after their answers were compared, and print the tables."""
    _check(wanted, [name for kind in known() for name in kind.names()], "--peers")
    _check(tasks, list(TASKS), "--tasks")
    try:
        if small is None:
            small = Clfrnn(device).place == "cpu"
        found, absent = real(data or folder())
        report = run(
            clouds=[*(SMALL if small else LARGE), *found],
            absent=absent,
            tasks=tasks,
            device=device,
            wanted=wanted,
            limit=limit,
            repeats=max(1, repeats),
            output=output,
        )
    except ClfrnnError as error:
        raise click.ClickException(str(error)) from error
    paths = report.save(output)
    click.echo(report.markdown())
    click.echo(f"written: {', '.join(map(str, paths))}", err=True)


if __name__ == "__main__":
    main()
