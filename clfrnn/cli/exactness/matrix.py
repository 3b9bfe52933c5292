"""The matrix of ``clfrnn verify --matrix`` as a table: a line for each method, dimension and dtype."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import pyopencl as cl

from ...host.printable import printable
from ...profile import DeviceProfile
from ...runtime.device import list_devices
from ...runtime.session import Session
from ...verify.kinds import KINDS
from ...verify.matrix import DOMAINS, Cell, Row, rows, run_row
from ..progress import progress as _progress

__all__ = ["Selection", "Table", "verify_all"]

#: The sign of each outcome, and of a search that clfrnn does not have.
_SIGNS = {"passed": "+", "refused": "r", "failed": "X"}
_NONE = "."

#: Characters of a reason that a terminal shows.
_LONGEST = 240


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """Which rows are compared: those of these methods, dimensions and dtypes; an empty one stands for all."""

    methods: Collection[str] = ()
    dims: Collection[int] = ()
    dtypes: Collection[str] = ()

    @property
    def narrows(self) -> bool:
        """Whether some rows may be left out."""
        return bool(self.methods or self.dims or self.dtypes)

    def rows(self) -> list[Row]:
        """The rows, in the order of the matrix."""
        return [
            row
            for row in rows()
            if (not self.methods or row.method in self.methods)
            and (not self.dims or row.dim in self.dims)
            and (not self.dtypes or row.dtype in self.dtypes)
        ]


@dataclasses.dataclass(frozen=True)
class Table:
    """The cells of all rows on one device."""

    profile: DeviceProfile
    lines: list[tuple[Row, list[Cell]]]
    #: how many devices of this machine that look the same come before it in ``clfrnn devices``
    number: int = 0

    def count(self, outcome: str) -> int:
        """How many cells have this outcome."""
        return sum(cell.outcome == outcome for _, cells in self.lines for cell in cells)


def verify_all(
    device: Any, say: Callable[[str], Any], *, plan: Sequence[Row], notes: Notes, seed: int, points: int, quick: bool
) -> Table:
    """Compare rows on a device, print each when it is through, then the reasons of what did not pass.

    Rows that `notes` know are printed as they were; every other is saved as soon as it is compared.
    """
    session = Session(device)
    table = Table(session.profile, [], number=_number(device))
    known = notes.begin(table)
    say(f"\n{session.profile}")
    say("  " + _line("method", "dim", "dtype", DOMAINS))
    for done, row in enumerate(plan):
        cells = known.get(row)
        if cells is None:
            with _progress("comparing") as shown:
                shown(done, len(plan))
                cells = run_row(session, row, seed=seed, points=points, quick=quick)
        table.lines.append((row, cells))
        notes.save()
        say("  " + _line(row.method, str(row.dim), row.dtype, [_signs(cells, domain) for domain in DOMAINS]))
    for text in (*_legend(table), *_reasons(table)):
        say("  " + text)
    return table


class Notes(Protocol):
    """Where rows are written while a matrix is made, and what is there of one that was interrupted."""

    def begin(self, table: Table) -> Mapping[Row, list[Cell]]:
        """Take up a table, to which rows are added, and return those of its device that need not be compared again."""

    def save(self) -> None:
        """Keep the tables as far as they are."""


def _number(device: cl.Device) -> int:
    """How many devices that look the same come before this one, by which reports tell them apart."""
    return [each for each in list_devices() if _looks(each) == _looks(device)].index(device)


def _looks(device: cl.Device) -> tuple[str, ...]:
    return device.platform.name, device.name, device.version, device.driver_version


def _line(method: str, dim: str, dtype: str, columns: Any) -> str:
    """A line of the table, of less than 80 characters."""
    return f"{method:13} {dim:>3}  {dtype:8} " + " ".join(f"{column:9}" for column in columns).rstrip()


def _signs(cells: list[Cell], domain: str) -> str:
    """A sign for each kind of search in a domain."""
    outcomes = {cell.kind: cell.outcome for cell in cells if cell.domain == domain}
    return "".join(_SIGNS[outcomes[kind]] if kind in outcomes else _NONE for kind in KINDS)


def _legend(table: Table) -> list[str]:
    said = ", ".join(f"{table.count(outcome):,} {outcome} ({sign})" for outcome, sign in _SIGNS.items())
    found = [
        f"{said}; {_NONE} is no search of clfrnn's",
        f"the {len(KINDS)} signs of a domain: {', '.join(KINDS)}",
    ]
    if not table.profile.subnormals:
        found.append("the device flushes subnormals: pairs whose squared distance is subnormal may differ")
    return found


def _reasons(table: Table) -> list[str]:
    """Why cells were refused or failed, each reason once."""
    cells_of = collections.defaultdict(list)
    for row, cells in table.lines:
        for cell in cells:
            if cell.reason:
                where = f"{row.method} {row.dim}D {row.dtype} {cell.domain} {cell.kind}"
                cells_of[_SIGNS[cell.outcome], cell.reason].append(where)
    return [f"{sign} {_first(where)}: {_short(reason)}" for (sign, reason), where in cells_of.items()]


def _first(where: list[str]) -> str:
    return where[0] + (f" and {len(where) - 1:,} more" if len(where) > 1 else "")


def _short(reason: str) -> str:
    line = printable(" ".join(reason.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 2] + " …"
