"""The doctor's report, as lines and tables for users and as data for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..profile import DeviceProfile
from ..tuning.stored import find_tuning
from ..version import __version__
from .facts import CHECKS, Device, Entry, Facts
from .hints import hints
from .variables import effects

__all__ = ["as_data", "print_report"]

_COLOURS = {
    "used": "green",
    "ignored": "yellow",
    "wrong": "red",
    "passed": "green",
    "mended": "yellow",
    "failed": "red",
}
_ORIGINS = {
    "wheel": "that came with pyopencl",
    "conda": "conda's",
    "system": "the system's",
    "preloaded": "preloaded by LD_PRELOAD",
}


def as_data(facts: Facts) -> dict[str, Any]:
    """The report as plain data, whose keys docs/start/devices-and-drivers.md lists."""
    return {
        "clfrnn": __version__,
        "usable": bool(facts.usable),
        "default": facts.default,
        "default_failure": facts.default_failure,
        "failure": facts.failure,
        "system": {
            "name": facts.system,
            "release": facts.release,
            "architecture": facts.architecture,
            "python": facts.python,
            "wsl": facts.wsl,
            "gpus": [dataclasses.asdict(gpu) for gpu in facts.gpus],
        },
        "pyopencl": facts.pyopencl,
        "loader": None if facts.loader is None else dataclasses.asdict(facts.loader),
        "environment": [dataclasses.asdict(effect) for effect in effects(facts)],
        "folders": [{**dataclasses.asdict(folder), "files": list(folder.files)} for folder in facts.folders],
        "drivers": [dataclasses.asdict(entry) for entry in facts.entries],
        "platforms": [dataclasses.asdict(each) for each in facts.platforms],
        "devices": [_device_data(device) for device in facts.devices],
        "hints": [{**dataclasses.asdict(hint), "commands": list(hint.commands)} for hint in hints(facts)],
    }


def _device_data(device: Device) -> dict[str, Any]:
    return {
        "position": device.position,
        "name": device.name,
        "platform": device.platform,
        "alone": device.alone,
        "usable": device.usable,
        "failure": device.failure,
        "checks": {check.name: {"outcome": check.outcome, "detail": check.detail} for check in device.checks},
        "profile": None if device.profile is None else device.profile.to_dict(),
        "chosen": None if device.profile is None else _chosen(device.profile),
    }


def _chosen(profile: DeviceProfile) -> dict[str, Any]:
    """What clfrnn chooses for a search in three dimensions and float32, and by which tuning."""
    # With it comes pyopencl, which this process must not load before a probe of its own has.
    from ..methods.walk_plan import plan_walk  # noqa: PLC0415

    found = find_tuning(profile)
    walk = plan_walk(profile, found.tuning, dim=3, real="float", periodic="")
    return {
        "work_group_size": walk.work_group_size,
        "reads": "column by column" if walk.columns else "point by point",
        "tuning": found.origin,
    }


def print_report(facts: Facts, console: Console) -> None:
    """Print the report, with the most important lines last, where a terminal shows them."""
    _print_rows(console, "Software", _software(facts))
    _print_rows(console, "Environment", _environment(facts))
    _print_rows(console, "Drivers", _drivers(facts))
    if facts.devices:
        console.print("Devices", style="bold")
    for device in facts.devices:
        _print_device(console, device, default=device.position == facts.default)
    found = hints(facts)
    if found:
        console.print("What to do", style="bold")
    for hint in found:
        lines = Text(hint.text)
        for command in hint.commands:
            lines.append(f"\n    {command}", style="bold")
        console.print(Padding(_grid([("-", lines)]), (0, 0, 1, 2), expand=False))
    console.print(_verdict(facts))


def _print_rows(console: Console, heading: str, rows: list[tuple[str | Text, str | Text]]) -> None:
    if not rows:
        return
    console.print(heading, style="bold")
    console.print(Padding(_grid(rows), (0, 0, 1, 2), expand=False))


def _grid(rows: Sequence[tuple[str | Text, str | Text]]) -> Table:
    """A narrow column and a wide one, which breaks paths instead of cutting them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))  # rich parses a str as markup
    return table


def _coloured(word: str) -> Text:
    return Text(word, style=_COLOURS[word])


def _software(facts: Facts) -> list[tuple[str | Text, str | Text]]:
    system = f"{facts.system} {facts.release}, {facts.architecture}{', under Windows (WSL)' if facts.wsl else ''}"
    rows: list[tuple[str | Text, str | Text]] = [
        ("clfrnn", f"{__version__}, Python {facts.python}, {system}"),
        ("pyopencl", facts.pyopencl or Text("does not import", style="red")),
    ]
    if facts.loader is not None:
        kind = {"ocl-icd": "ocl-icd, ", "khronos": "the Khronos Group's, "}.get(facts.loader.kind, "")
        rows.append(("loader", f"{kind}{_ORIGINS[facts.loader.origin]}: {facts.loader.path or 'path unknown'}"))
    return rows


def _environment(facts: Facts) -> list[tuple[str | Text, str | Text]]:
    return [
        (_coloured(effect.verdict), Text(f"{effect.name}={effect.value}\n{effect.why}")) for effect in effects(facts)
    ]


def _drivers(facts: Facts) -> list[tuple[str | Text, str | Text]]:
    rows: list[tuple[str | Text, str | Text]] = []
    for entry in facts.entries:
        colour, word = ("red", "broken") if entry.error else ("green", "loads")
        if not entry.error and entry.platforms == 0:
            colour, word = "yellow", "idle"
        rows.append((Text(word, style=colour), Text(_described(entry))))
    for each in facts.platforms:
        if not each.devices:
            why = f": {each.error}" if each.error else ""
            rows.append((Text("idle", style="yellow"), Text(f"platform {each.name} offers no device{why}")))
    for folder in facts.folders:
        if not folder.read:
            names = ", ".join(Path(file).name for file in folder.files)
            rows.append(
                (Text("unread", style="yellow"), Text(f"{folder.path}\nholds {names}; the loader does not look there"))
            )
        elif folder.named_by == "loader" and not folder.files:
            rows.append(
                (Text("empty", style="yellow"), Text(f"{folder.path}: no .icd file, so no driver of the system's"))
            )
    if facts.failure and facts.pyopencl:
        rows.append((Text("broken", style="red"), Text(f"listing the devices: {facts.failure}")))
    if not facts.entries and facts.system != "Windows" and facts.loader is not None:
        rows.insert(0, (Text("none", style="red"), "no driver is registered where the loader looks"))
    return rows


def _described(entry: Entry) -> str:
    """Where a driver is registered, the library that it names, and whether that loads."""
    library = Path(entry.library)
    beside = entry.file and library.parent == Path(entry.file).parent
    lines = [entry.file] if entry.file else []
    if entry.library:
        lines.append(f"{'names ' if entry.file else ''}{library.name if beside else entry.library}")
    if entry.error:
        lines.append(entry.error)
    elif entry.platforms == 0:
        lines.append("loads, but offers no platform")
    return "\n".join(lines)


def _print_device(console: Console, device: Device, *, default: bool) -> None:
    verdict = ("usable", "green") if device.usable else ("NOT USABLE", "red")
    if device.usable and device.alone:
        verdict = ("usable without the broken driver", "yellow")
    # Loaded alone, a device has another position than beside others.
    head = Text(f"{'-' if device.alone else device.position}{'*' if default else ' '} {device.name}  ")
    console.print(Padding(head.append(verdict[0], style=verdict[1]), (0, 0, 0, 2)))
    rows: list[tuple[str | Text, str | Text]] = []
    if device.profile is None:
        rows.append(("platform", Text(device.platform)))
    else:
        rows.extend(_offers(device.profile))
    if device.checks:
        rows.append(("checks", _checks(device)))
    if device.failure:
        rows.append((Text("failure", style="red"), Text(device.failure)))
    if device.profile is not None:
        chosen = _chosen(device.profile)
        rows.append(("chosen", f"work-groups of {chosen['work_group_size']}, candidates read {chosen['reads']}"))
        rows.append(("tuning", chosen["tuning"]))
    console.print(Padding(_grid(rows), (0, 0, 1, 5), expand=False))


def _offers(profile: DeviceProfile) -> list[tuple[str, str]]:
    kind = {"cpu": "a CPU", "gpu": "a GPU"}.get(profile.kind, "neither CPU nor GPU")
    units = f"{profile.compute_units} compute unit{'' if profile.compute_units == 1 else 's'}"
    doubles = "float64" if profile.fp64 else "no float64"
    memory, largest = profile.global_memory / 2**30, profile.max_allocation / 2**30
    return [
        ("platform", f"{profile.platform}, driver {profile.driver}"),
        ("offers", f"{kind}, {units}, work-groups up to {profile.max_work_group_size}, {doubles}"),
        ("memory", f"{memory:.1f} GiB, largest array {largest:.1f} GiB, local {profile.local_memory >> 10} KiB"),
    ]


def _checks(device: Device) -> Text:
    """The good results of a device in one line, and each bad one in a line of its own."""
    right = [CHECKS[check.name][0] for check in device.checks if check.outcome == "passed"]
    text = Text()
    if right:
        text.append("passed", style="green").append(f": {', '.join(right)}")
    for check in device.checks:
        if check.outcome != "passed":
            word = "worked around" if check.outcome == "mended" else "failed"
            text.append("\n" if text else "").append(word, style=_COLOURS[check.outcome])
            text.append(f": {CHECKS[check.name][1]}, {check.detail}")
    return text


def _verdict(facts: Facts) -> Text:
    """One line about whether a search can run."""
    if not facts.usable:
        what = "no device was found" if not facts.devices else "no device passed the checks"
        if facts.unreachable:
            ready = sum(device.usable for device in facts.unreachable)
            what = f"a driver ends every program; {ready} of {len(facts.unreachable)} devices usable without it"
        return Text(f"Not ready: {what}.", style="bold red")
    number = f"{len(facts.usable)} of {len(facts.devices)} device{'' if len(facts.devices) == 1 else 's'} usable"
    text = Text("Ready: ", style="bold green").append(number, style="not bold default")
    if facts.default is None:
        return text.append(", but none is taken by default; see above.", style="bold yellow")
    if facts.default not in [device.position for device in facts.usable]:
        return text.append(", but not the one that is taken by default; see above.", style="bold yellow")
    text.append("; * is taken unless a session, --device or CLFRNN_DEVICE names another.", style="not bold default")
    return text
