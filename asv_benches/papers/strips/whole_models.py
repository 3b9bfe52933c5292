"""The report of experiments 1 and 6: tables 2 and 3 of the paper, and the same of this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..paper import NOTHING, Measurement, Panel, Plot, Results, Section, Table, range_text
from .claims import MS
from .configurations import MODEL_WAYS, Axes, model_case

__all__ = ["shares", "whole_models"]

#: Table 2: percent of query and construction.
_SHARES = {"boids": (91, 9), "pedestrians": (52, 33), "keratinocytes": (65, 29)}

#: Each model by the rules of this library's, and by those that FLAME GPU publishes, beside the same numbers.
MODELS = {name: model for model in _SHARES for name in (model, f"flame {model}")}
SHARES = {name: _SHARES[model] for name, model in MODELS.items()}

#: What tables call the models.
CALLED = {f"flame {model}": f"{model}, FLAME GPU's rules" for model in _SHARES}

#: Table 3: seconds for 10,000 steps by the original and with both changes, and the printed speed-up.
_SECONDS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "boids": {
        "query": ("746.52", "646.56", "1.15x"),
        "construction": ("5.10", "7.02", "0.73x"),
        "total": ("752.04", "654.00", "1.15x"),
    },
    "pedestrians": {
        "query": ("1.01", "0.98", "1.03x"),
        "construction": ("0.65", "0.66", "0.98x"),
        "total": ("2.25", "2.18", "1.03x"),
    },
    "keratinocytes": {
        "query": ("5.80", "4.38", "1.32x"),
        "construction": ("0.94", "1.87", "0.50x"),
        "total": ("8.14", "6.70", "1.21x"),
    },
}
SECONDS = {name: _SECONDS[model] for name, model in MODELS.items()}

#: The steps of the paper, for which times are given.
STEPS = 10_000


def shares(results: Results, axes: Axes) -> Section:
    """Experiment 1: what share of a run the query has, and the construction."""
    rows = []
    for model, (query, construction) in SHARES.items():
        paper = [f"{value} %" for value in (query, construction, 100 - query - construction)]
        rows.append((CALLED.get(model, model), *paper, *_shares(results, model_case(axes, model, "original"))))
    stages = ("query", "construction", "rest")
    return Section(
        title="Experiment 1: the query's share of a model",
        note=(
            "Percent of the whole run by the original grid, beside table 2 of the paper, whose rest is what its "
            "numbers leave of 100. The paper's models are examples of FLAME GPU; those here begin with as many actors "
            "in each other's reach, boids and pedestrians evenly spread, and have rules of their own, or those that "
            "FLAME GPU publishes. Of keratinocytes a step is then an iteration of the example: most often a round of "
            "forces alone, as these are repeated until all cells rest."
        ),
        tables=[Table(header=("", *(f"paper: {each}" for each in stages), *stages), rows=rows)],
    )


def _shares(results: Results, measurement: Measurement) -> list[str]:
    query, construction, total = (results.number(measurement, each) for each in ("query", "construction", "total"))
    if query is None or construction is None or not total:
        return [results.text(measurement, "total")] * 3
    # A run without timers may be quicker than the sum of what was timed.
    parts = (query, construction, max(0.0, total - query - construction))
    return [f"{100 * each / sum(parts):.0f} %" for each in parts]


def whole_models(results: Results, axes: Axes) -> Section:
    """Experiment 6: the models by the original grid and with both changes."""
    header = ["", "", "paper: original", "both changes", "speed-up"]
    header += ["original", *(text for way in MODEL_WAYS[1:] for text in (way, "speed-up"))]
    rows = [
        (CALLED.get(model, model), stage, *_row(results, axes, model, stage))
        for model in SECONDS
        for stage in ("query", "construction", "search", "total")
    ]
    return Section(
        title="Experiment 6: whole models",
        note=(
            f"Seconds for {STEPS:,} steps, here {STEPS:,} times the mean of {axes.model_steps:,}, beside table 3 of "
            "the paper. Its text has 1.11x for the query of boids, its table 1.15x. It had 262,144 boids, 16,384 "
            "pedestrians, and 25,000 to 41,789 keratinocytes. *Search* is query and construction together, in time of "
            "the device, with its share of all three parts of a run behind it; the total is by the wall clock, and "
            "where the search is a small share of it, the host's time hides what the search gains."
        ),
        tables=[
            Table(header=header, rows=rows, words=2),
            Table(
                header=("", "actors at the start", "at the end", "neighbors at the start", "at the end"),
                rows=[
                    (CALLED.get(model, model), *_crowd(results, model_case(axes, model, "original")))
                    for model in SECONDS
                ],
            ),
        ],
        plot=Plot(
            name="models",
            caption="Query and construction of whole models together, the scale logarithmic",
            panels=[
                _panel(results, axes, "this library's rules", list(_SHARES)),
                _panel(results, axes, "FLAME GPU's rules", list(CALLED)),
            ],
            same_y=True,
        ),
    )


def _panel(results: Results, axes: Axes, title: str, models: Sequence[str]) -> Panel:
    """Milliseconds that the search takes of a step, by model and way."""
    return Panel(
        title=title,
        y="search of a step (ms)",
        series={
            way: ((), [_ms(results.number(model_case(axes, model, way), "search")) for model in models])
            for way in MODEL_WAYS
        },
        groups=list(_SHARES),
        log="y",
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else MS * seconds


def _row(results: Results, axes: Axes, model: str, stage: str) -> list[str]:
    """A line of table 3, and the same of this run by each way."""
    first, *others = (model_case(axes, model, way) for way in MODEL_WAYS)
    cells = [*(_searched(model) if stage == "search" else SECONDS[model][stage]), _seconds(results, first, stage)]
    for each in others:
        cells += [_seconds(results, each, stage), range_text([results.ratio(stage, first, each)], ".2f", "x")]
    return cells


def _searched(model: str) -> tuple[str, str, str]:
    """The paper's query and construction together."""
    query, construction = (SECONDS[model][stage] for stage in ("query", "construction"))
    original, changed = (float(query[k]) + float(construction[k]) for k in (0, 1))
    return f"{original:.2f}", f"{changed:.2f}", f"{original / changed:.2f}x"


def _seconds(results: Results, measurement: Measurement, stage: str) -> str:
    """Seconds of all steps; those of the search with their share."""
    text = results.text(measurement, stage, ".2f", scale=STEPS)
    search, total = (results.number(measurement, name) for name in ("search", "total"))
    if stage != "search" or search is None or not total:
        return text
    return f"{text} ({100 * search / max(search, total):.0f} %)"


def _crowd(results: Results, measurement: Measurement) -> list[str]:
    if results.number(measurement, "actors_start") is None:
        return [NOTHING] * 4
    specs = {"actors_start": ",.0f", "actors_end": ",.0f", "neighbors_start": ".1f", "neighbors_end": ".1f"}
    return [results.text(measurement, name, spec) for name, spec in specs.items()]
