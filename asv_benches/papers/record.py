"""The file in which measurements are kept as they are made, and the machine that it belongs to."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyopencl as cl

import clfrnn
from clfrnn.profile import DeviceProfile

from ..benchmarks.common import PLATFORMS
from ..tools.provenance import commit
from .paper import SCALES, Measurement, Paper, Results

__all__ = ["Record", "machine", "records_of"]

#: Files that differ in one of these are never mixed; nor are those of two commits, where both are known.
DECISIVE = ("paper", "scale", "clfrnn", "device", "platform", "driver")


def machine(paper: Paper, scale: str, profile: DeviceProfile) -> dict[str, str]:
    """The facts that a file states: the decisive ones, and those that only tell."""
    return {
        "paper": paper.name,
        "scale": scale,
        "clfrnn": clfrnn.__version__,
        "commit": commit(),
        "device": profile.name,
        "platform": profile.platform,
        "driver": profile.driver,
        "date": _today(),
        "python": platform.python_version(),
        "pyopencl": cl.VERSION_TEXT,
        "numpy": np.__version__,
    }


def _today() -> str:
    return dt.datetime.now(tz=dt.timezone.utc).date().isoformat()


def _check(facts: Mapping[str, str]) -> None:
    """A KeyError when one of the facts that a report shows is missing or unknown."""
    for name in (*DECISIVE, "date"):
        if name not in facts:
            raise KeyError(name)
    if facts["scale"] not in SCALES:
        raise KeyError(facts["scale"])


def _differing(there: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Which facts keep the measurements of two runs apart."""
    commits = {facts.get("commit", "") for facts in (there, now)} - {""}
    return [*(name for name in DECISIVE if there[name] != now[name]), *(["commit"] if len(commits) == 2 else [])]


def slug(facts: Mapping[str, str]) -> str:
    """A device in a file's name: its platform's short name and its own, in small letters."""
    short = next((name for name, part in PLATFORMS.items() if part in facts["platform"]), facts["platform"])
    words = f"{short} {facts['device']}".lower()
    name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
    return name.removeprefix(f"{short}-") if name.startswith(f"{short}-{short}-") else name


@dataclasses.dataclass
class Record:
    """Measurements of a paper on one machine. Every change is on disk before :meth:`keep` returns.

    A file is ``{"facts": {...}, "measurements": {key: {"facts", "date", and "numbers" or "failed"}}}``.
    """

    path: Path
    facts: dict[str, str]
    entries: dict[str, dict[str, Any]]
    #: of what is kept from now on; a file that holds measurements of an unknown commit states none
    commit: str = ""

    @classmethod
    def open(cls, folder: Path, facts: dict[str, str], *, fresh: bool = False) -> Record:
        """The record of a machine in `folder`, with what is there of it.

        With `fresh` a file of other facts is no error: it is overwritten by the first measurement that is kept.
        """
        path = folder / f"{facts['paper']}-{slug(facts)}.json"
        new = cls(path, facts, {}, facts.get("commit", ""))
        if not path.exists():
            return new
        there = dataclasses.replace(cls.load(path), commit=new.commit)
        if differing := _differing(there.facts, facts):
            if fresh:
                return new
            told = "; ".join(f"{name} {there.facts[name]!r} there, {facts[name]!r} now" for name in differing)
            raise click.ClickException(
                f"{path} is of another run ({told}) and is not mixed with this one; "
                "measure anew with --fresh, which overwrites it, or name another folder with --output"
            )
        return there

    @classmethod
    def load(cls, path: Path) -> Record:
        """The record in a file."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            facts, entries = dict(found["facts"]), dict(found["measurements"])
            _check(facts)
        except (ValueError, KeyError, TypeError) as error:
            raise click.ClickException(
                f"{path}: expected measurements as this command writes them, got something else ({error}); "
                "move the file away, or name another folder with --output"
            ) from error
        return cls(path, facts, entries)

    def keep(self, measurement: Measurement, *, numbers: Mapping[str, float] | None = None, failed: str = "") -> None:
        """Write a measurement, or why it failed, to the file."""
        outcome: dict[str, Any] = {"failed": failed} if numbers is None else {"numbers": dict(numbers)}
        self.facts["date"] = _today()
        if self.facts.get("commit", "") != self.commit:
            self.facts["commit"] = ""
        self.entries[measurement.key] = {"facts": measurement.to_dict(), "date": self.facts["date"], **outcome}
        self._write()

    def forget(self, plan: Sequence[Measurement]) -> None:
        """Drop these, in the file with the next measurement that is kept."""
        for measurement in plan:
            self.entries.pop(measurement.key, None)

    def _write(self) -> None:
        """Aside, then in the place of the old file at once: whoever is interrupted leaves a whole one."""
        text = json.dumps({"facts": self.facts, "measurements": self.entries}, indent=1, allow_nan=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".partial")
        aside.write_text(text + "\n", encoding="utf-8")
        aside.replace(self.path)

    def succeeded(self, measurement: Measurement) -> bool:
        """Whether there are numbers of it."""
        return "numbers" in self.entries.get(measurement.key, {})

    def __contains__(self, measurement: Measurement) -> bool:
        return measurement.key in self.entries

    def results(self, plan: Sequence[Measurement]) -> Results:
        """What there is of `plan`."""
        there = {measurement: self.entries[measurement.key] for measurement in plan if measurement in self}
        return Results(
            scale=self.facts["scale"],
            plan=plan,
            numbers={measurement: entry["numbers"] for measurement, entry in there.items() if "numbers" in entry},
            failures={measurement: entry["failed"] for measurement, entry in there.items() if "failed" in entry},
        )


def records_of(paper: Paper, folder: Path) -> Iterator[Record]:
    """Every machine's record of a paper in `folder`."""
    for path in sorted(folder.glob(f"{paper.name}-*.json")):
        yield Record.load(path)
