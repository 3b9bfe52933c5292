"""The report of ``clfrnn verify --matrix --json``: what was run, on what, and what became of every search."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import secrets
import subprocess
from pathlib import Path
from typing import Any

import click

from ...host.files import replacing
from ...profile import DeviceProfile
from ...verify.matrix import Cell, Row
from ...version import __version__
from .matrix import Table

__all__ = ["Report", "report_of", "text_of"]

#: The folder of the package, and those of a checkout that decide what is computed.
_PACKAGE = Path(__file__).parents[2]
_SOURCES = ("clfrnn", "templates")


#: Facts of a run that rows of another one must share, to stand beside them; a device is known by its profile's.
_FACTS, _DEVICE = ("clfrnn", "commit", "seed", "points", "quick"), ("name", "platform", "version", "driver")


class Report:
    """The file of a matrix, which is whole after each row; with `resume`, what is there of it is not compared again.

    Parameters
    ----------
    path : None for no file
    seed : None for that of the file that is resumed, or a fresh one

    Raises
    ------
    ClickException
        The file that is resumed is none, or of another run.
    """

    def __init__(self, path: Path | None, *, resume: bool, seed: int | None, points: int, quick: bool) -> None:
        self.path, self._tables = path, list[Table]()
        self._there: dict[str, Any] = _read(path) if resume and path is not None and path.exists() else {}
        self.seed: int = self._there.get("seed", secrets.randbelow(1 << 30)) if seed is None else seed
        self.facts: dict[str, Any] = {"seed": self.seed, "points": points, "quick": quick}
        if self._there:
            self._check()

    def _check(self) -> None:
        """Refuse a file of another run."""
        now = report_of([], **self.facts)
        other = [name for name in _FACTS if self._there.get(name) != now[name]]
        others = [f"{name} {self._there.get(name)!r} there, {now[name]!r} now" for name in other]
        if str(now["commit"]).endswith("+"):
            others.append("sources were changed since their commit")
        if others:
            raise click.ClickException(
                f"--resume: {self.path} is of another run ({'; '.join(others)}) and is not mixed with this one; leave "
                "out --resume, which compares all anew, or name another file"
            )

    def known(self, profile: DeviceProfile) -> dict[Row, list[Cell]]:
        """The rows of a device in the file."""
        own = profile.to_dict()
        return {
            Row(method=row["method"], dim=row["dim"], dtype=row["dtype"]): [Cell(**cell) for cell in row["cells"]]
            for device in self._there.get("devices", [])
            if all(device["profile"][name] == own[name] for name in _DEVICE)
            for row in device["rows"]
        }

    def note(self, table: Table) -> None:
        """Write the table as far as it is, behind those of other devices."""
        if self.path is None:
            return
        if not self._tables or self._tables[-1] is not table:
            self._tables.append(table)
        with replacing(self.path) as aside:
            aside.write_text(text_of(report_of(self._tables, **self.facts)), encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    """A report that is there."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _ = [device["rows"] for device in found["devices"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"--resume: {path} is no report of a matrix ({error}); name another file") from error
    return found


def report_of(tables: list[Table], *, seed: int, points: int, quick: bool) -> dict[str, Any]:
    """The tables as plain data, which JSON can hold."""
    now = dt.datetime.now(dt.timezone.utc)
    return {
        "clfrnn": __version__,
        "commit": _commit(),
        "date": now.date().isoformat(),
        "seed": seed,
        "points": points,
        "quick": quick,
        "devices": [{"profile": table.profile.to_dict(), "rows": _rows(table)} for table in tables],
    }


def text_of(report: dict[str, Any]) -> str:
    """The report as JSON, each row on a line of its own."""
    return re.sub(r"\n {5,}|\n {4}(?=[\]}])", " ", json.dumps(report, indent=1)) + "\n"


def _rows(table: Table) -> list[dict[str, Any]]:
    return [
        {
            **dataclasses.asdict(row),
            "cells": [{name: fact for name, fact in dataclasses.asdict(cell).items() if fact != ""} for cell in cells],
        }
        for row, cells in table.lines
    ]


def _commit() -> str | None:
    """The commit of the checkout, with a + behind it where its sources were changed since; None where there is none."""
    root = _PACKAGE.parent
    if not (root / ".git").exists():
        return None
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", *_SOURCES)
    except (OSError, subprocess.SubprocessError):
        return None
    return head + "+" if changed else head


def _git(*words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=_PACKAGE.parent, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    return done.stdout.strip()
