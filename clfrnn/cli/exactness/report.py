"""The report of ``clfrnn verify --matrix --json``: what was run, on what, and what became of every search."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import json
import operator
import re
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from ...host.files import replacing
from ...profile import DeviceProfile
from ...verify.kinds import KINDS
from ...verify.matrix import Cell, Outcome, Row, rows
from ...version import __version__
from .matrix import Table

__all__ = ["Report"]

#: The folder of the package, and those of a checkout that decide what is computed.
_PACKAGE = Path(__file__).parents[2]
_SOURCES = ("clfrnn", "templates")

#: Facts of a run that rows of another one must share, to stand beside them; a device is known by its profile's, and by
#: its number among those that share them.
_FACTS, _DEVICE = ("clfrnn", "commit", "seed", "points", "quick"), ("name", "platform", "version", "driver")


class Report:
    """The file of a matrix, which is whole after each row; with `resume`, what is there of it is not compared again.

    Rows of the file that is resumed stay in it, also those of devices and rows that this run leaves out. A file that is
    there and is not resumed stays as it is until :meth:`finish`.

    Parameters
    ----------
    path : None for no file
    seed : None for that of the file that is resumed, or a fresh one

    Raises
    ------
    ClickException
        The file that is resumed is none, is damaged, or is of another run.
    """

    def __init__(self, path: Path | None, *, resume: bool, seed: int | None, points: int, quick: bool) -> None:
        there = path is not None and path.exists()
        self._path, self._tables, self._waits = path, list[Table](), there and not resume
        self._held: dict[tuple[object, ...], Table] = {}
        with _reading(path):
            found = json.loads(path.read_text(encoding="utf-8")) if path is not None and there and resume else None
            if seed is None:
                seed = secrets.randbelow(1 << 30) if found is None else operator.index(found["seed"])
            self.seed = seed
            self.facts: dict[str, Any] = {"seed": seed, "points": points, "quick": quick}
            today = dt.datetime.now(dt.timezone.utc).date().isoformat()
            self._run = {"clfrnn": __version__, "commit": _commit(), "date": today, **self.facts}
            if found is not None:
                self._check(found)
                self._held = {_device(table): table for table in map(_table, found["devices"])}

    def _check(self, found: dict[str, Any]) -> None:
        """Refuse a file of another run."""
        now = self._run
        others = [f"{name} {found[name]!r} there, {now[name]!r} now" for name in _FACTS if found[name] != now[name]]
        if str(now["commit"]).endswith("+"):
            others.append("sources were changed since their commit")
        if others:
            raise click.ClickException(
                f"--resume: {self._path} is of another run ({'; '.join(others)}) and is not mixed with this one; leave "
                "out --resume, which compares all anew, or name another file"
            )

    def begin(self, table: Table) -> dict[Row, list[Cell]]:
        """Take up a table, to which rows are added from now on; returns the rows of its device in the file."""
        self._tables.append(table)
        held = self._held.get(_device(table))
        return dict(held.lines) if held else {}

    def save(self) -> None:
        """Write the tables as far as they are, unless a file is there that was not resumed."""
        if not self._waits:
            self.finish()

    def finish(self) -> None:
        """Write the tables, where there is a file to write."""
        if self._path is not None:
            with replacing(self._path) as aside:
                aside.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The report as JSON, each row on a line of its own."""
        report = {**self._run, "devices": [_facts_of(table) for table in self._whole()]}
        return re.sub(r"\n {5,}|\n {4}(?=[\]}])", " ", json.dumps(report, indent=1)) + "\n"

    def _whole(self) -> list[Table]:
        """The tables of the file with those of this run, their rows in the order of the matrix."""
        whole, order = dict(self._held), rows()
        for table in self._tables:
            device = _device(table)
            lines = {**dict(whole[device].lines if device in whole else []), **dict(table.lines)}
            ordered = sorted(lines.items(), key=lambda line: order.index(line[0]))
            whole[device] = dataclasses.replace(table, lines=ordered)
        return list(whole.values())


@contextlib.contextmanager
def _reading(path: Path | None) -> Iterator[None]:
    """Say of what cannot be read that the file is no report."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise click.ClickException(
            f"--resume: {path} is no report of a matrix, or a damaged one ({why}); leave out --resume, which compares "
            "all anew, or name another file"
        ) from error


def _device(table: Table) -> tuple[object, ...]:
    """What tells a device from others."""
    return (*(getattr(table.profile, name) for name in _DEVICE), table.number)


def _facts_of(table: Table) -> dict[str, Any]:
    """A table as plain data, which JSON can hold."""
    lines = [
        {
            **dataclasses.asdict(row),
            "cells": [{name: fact for name, fact in dataclasses.asdict(cell).items() if fact != ""} for cell in cells],
        }
        for row, cells in table.lines
    ]
    return {"profile": table.profile.to_dict(), "number": table.number, "rows": lines}


def _table(facts: dict[str, Any]) -> Table:
    """The table that :func:`_facts_of` wrote; raises where it is damaged."""
    profile, number = DeviceProfile.from_dict(facts["profile"]), operator.index(facts["number"])
    return Table(profile, [_line(line) for line in facts["rows"]], number=number)


def _line(facts: dict[str, Any]) -> tuple[Row, list[Cell]]:
    """A row and its cells; raises where it is none of the matrix, or not whole."""
    row = Row(method=facts["method"], dim=facts["dim"], dtype=facts["dtype"])
    cells = [Cell(**cell) for cell in facts["cells"]]
    whole = [(domain, kind) for domain in row.domains for kind in KINDS]
    if row not in rows() or [(cell.domain, cell.kind) for cell in cells] != whole:
        raise ValueError(f"{row.method} {row.dim}D {row.dtype} is no row of a matrix, or lacks cells")
    for cell in cells:
        if cell.outcome not in get_args(Outcome) or operator.index(cell.pairs) < 0:
            raise ValueError(f"{row.method} {row.dim}D {row.dtype}: {cell.outcome!r} of {cell.pairs} pairs")
    return row, cells


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
