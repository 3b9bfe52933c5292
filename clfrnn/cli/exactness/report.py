"""The report of ``clfrnn verify --matrix --json``: what was run, on what, and what became of every search."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from ...version import __version__
from .matrix import Table

__all__ = ["report_of", "text_of"]

#: The folder of the package, and those of a checkout that decide what is computed.
_PACKAGE = Path(__file__).parents[2]
_SOURCES = ("clfrnn", "templates")


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
