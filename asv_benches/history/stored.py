"""What asv has stored: a value for each machine, commit, benchmark and set of parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Beside the results of a machine: what failed at which commit, and why, which asv does not keep.
FAILED = "failed.txt"


class Series(NamedTuple):
    """What is compared from commit to commit."""

    machine: str
    benchmark: str
    parameters: tuple[str, ...]


class Run(NamedTuple):
    """The values of a commit on a machine; None where a benchmark failed. What a machine lacks is left out."""

    machine: str
    commit: str
    date: int  # milliseconds since 1970
    values: dict[Series, float | None]


class Failure(NamedTuple):
    """What failed at a commit, and why."""

    commit: str
    what: str
    why: str


def runs(folder: Path) -> list[Run]:
    """All runs in a folder of results, the oldest commit first; what two files have of a commit is put together."""
    from asv.results import iter_results  # noqa: PLC0415 — `bench` is an extra

    found: dict[tuple[str, str], Run] = {}
    for results in iter_results(str(folder)):
        machine = results.params["machine"]
        run = found.setdefault((machine, results.commit_hash), Run(machine, results.commit_hash, int(results.date), {}))
        for benchmark in results.get_all_result_keys():
            axes = results.get_result_params(benchmark)
            values = results.get_result_value(benchmark, axes)
            for parameters, value in zip(itertools.product(*axes), values, strict=True):
                if value is None or (isinstance(value, int | float) and not math.isnan(value)):
                    run.values[Series(machine, benchmark, tuple(each.strip("'") for each in parameters))] = value
    return sorted(found.values(), key=lambda run: (run.date, run.commit))


def failures(folder: Path) -> Iterator[Failure]:
    """What is said to have failed on a machine."""
    path = folder / FAILED
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        yield Failure(*line.split("\t", 2))


def keep_failures(folder: Path, commit: str, failed: list[Failure]) -> None:
    """Write what failed at a commit, in the place of what failed there before."""
    others = [each for each in failures(folder) if each.commit != commit]
    if failed or others:
        lines = ["\t".join(" ".join(part.split()) for part in each) for each in [*others, *failed]]
        (folder / FAILED).write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        (folder / FAILED).unlink(missing_ok=True)
