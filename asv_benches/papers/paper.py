"""What a paper is here: measurements, a way to make one, and the sections that show them beside the paper's figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import clfrnn

__all__ = [
    "NOTHING",
    "SCALES",
    "Fact",
    "Measurement",
    "Panel",
    "Paper",
    "Plot",
    "Results",
    "Section",
    "Table",
    "text_of",
]

Fact = str | int | float
Numbers = Mapping[str, float]

#: "paper" has the paper's sizes, "small" those for a CPU of two cores, "tiny" is for tests.
SCALES = ("small", "paper", "tiny")

#: What stands in a table where nothing was measured.
NOTHING = "-"


@dataclasses.dataclass(frozen=True)
class Measurement:
    """A configuration to be measured: everything that its numbers depend on, the machine apart."""

    facts: tuple[tuple[str, Fact], ...]

    @classmethod
    def of(cls, **facts: Fact) -> Measurement:
        """The measurement with these facts; their order tells nothing."""
        return cls(tuple(sorted(facts.items())))

    @property
    def key(self) -> str:
        """The measurement's name in files and for ``--only``, as in ``dim=3 n=1000000 neighbors=60``."""
        return " ".join(f"{name}={text_of(value)}" for name, value in self.facts)

    def to_dict(self) -> dict[str, Fact]:
        """The facts by name."""
        return dict(self.facts)


def text_of(value: Fact) -> str:
    """A fact as keys and tables write it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def range_text(values: Iterable[float | None], spec: str, unit: str = "") -> str:
    """From the least to the largest of what there is, as in ``1.18 to 1.22x``."""
    there = [value for value in values if value is not None]
    if not there:
        return NOTHING
    low, high = (format(end, spec) for end in (min(there), max(there)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text below a header. The first `words` columns are read, the others compared."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def to_markdown(self) -> str:
        """The table as Markdown: words to the left, numbers to the right."""
        rule = ["---" if k < self.words else "---:" for k in range(len(self.header))]
        lines = [self.header, rule, *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes. With `groups`, bars: a value of each series for each group; else lines: x and y of each."""

    title: str
    y: str
    x: str = ""
    #: name -> (x values, y values); for bars, x is not looked at; None leaves a gap
    series: Mapping[str, tuple[Sequence[float], Sequence[float | None]]]
    groups: Sequence[str] = ()
    #: the logarithmic axes, as in "xy"
    log: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plot:
    """Panels side by side, in a file whose name ends in `name`; with `same_y` their heights compare."""

    name: str
    caption: str
    panels: Sequence[Panel]
    same_y: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report: an experiment, or what the paper says beside what was found here."""

    title: str
    note: str
    tables: Sequence[Table] = ()
    plot: Plot | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """What has been measured of a plan, and what failed."""

    scale: str
    plan: Sequence[Measurement]
    numbers: Mapping[Measurement, Numbers]
    #: why a measurement failed, in words
    failures: Mapping[Measurement, str]

    def has(self, measurements: Iterable[Measurement]) -> bool:
        """Whether any of these was measured, or failed."""
        return any(each in self.numbers or each in self.failures for each in measurements)

    def number(self, measurement: Measurement, name: str) -> float | None:
        """A number of a measurement, or None where there is none."""
        return self.numbers.get(measurement, {}).get(name)

    def text(self, measurement: Measurement, name: str, spec: str = ".3f", *, scale: float = 1.0) -> str:
        """The number times `scale` as a table's cell; a failure refers to the list of failures."""
        if measurement in self.failures:
            return f"failed ({list(self.failures).index(measurement) + 1})"
        value = self.number(measurement, name)
        return NOTHING if value is None else format(scale * value, spec)

    def spread(self, measurement: Measurement, name: str, spec: str = ".3f", *, scale: float = 1.0) -> str:
        """The same with the quartiles behind it, where there are any."""
        text = self.text(measurement, name, spec, scale=scale)
        ends = [self.number(measurement, f"{name}_{end}") for end in ("low", "high")]
        if None in ends:
            return text
        return f"{text} ({range_text([scale * end for end in ends if end is not None], spec)})"

    def ratio(self, name: str, above: Measurement, below: Measurement) -> float | None:
        """The quotient of a number of two measurements, or None where one is missing."""
        numerator, denominator = self.number(above, name), self.number(below, name)
        return numerator / denominator if numerator is not None and denominator else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's experiments. A new paper is a module with one of these, and its line in ``PAPERS``."""

    name: str
    title: str
    source: str
    #: what was timed and how, in sentences
    timed: str
    #: the measurements of a scale, each once, however many sections show it
    plan: Callable[[str], Sequence[Measurement]]
    #: one measurement on a session: its numbers by name, times in seconds, memory in bytes
    measure: Callable[[clfrnn.Session, Measurement], Numbers]
    #: what the report shows of what was measured
    sections: Callable[[Results], Sequence[Section]]
    #: why a measurement is left out on this machine, as what it measures is not here, and what to do; else ""
    absent: Callable[[Measurement], str] = lambda _: ""
