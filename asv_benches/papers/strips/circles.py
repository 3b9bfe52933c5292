"""One configuration of the Circles model, timed from its uniform start to its steady state."""

from __future__ import annotations

import re
import statistics
from typing import Any

import clfrnn
from clfrnn.models import Circles

from ..clock import stage_seconds
from ..paper import Measurement

__all__ = ["EDGE", "measure"]

#: So many steps at either end are called the start and the steady state.
EDGE = 10

#: The paper's force, here shared among the neighbors: more of it, and crowds of actors never come to rest.
FORCE = 0.05

#: Steps of the model that is thrown away: all that is compiled is compiled then, and the pool is filled.
WARM_UP = 3

_TESTED = re.compile(r"candidates: ([0-9.]+) tested by a query, [0-9.]+ for each of its ([0-9.]+) neighbors")


def measure(session: clfrnn.Session, measurement: Measurement) -> dict[str, float]:
    """Seconds of the query and of the construction, neighbors at both ends, and points tested for a neighbor."""
    warm = _model(session, measurement)
    for _ in range(WARM_UP):
        warm.step()
    _neighbors(warm)
    del warm
    model = _model(session, measurement)
    numbers = {"neighbors_start": _neighbors(model), "tested_start": _tested(model)}
    steps = int(measurement.to_dict()["steps"])
    laps = [stage_seconds(session, [model.visit, model.update]) for _ in range(steps)]
    model.index.check()
    edge = min(EDGE, max(1, steps // 2))
    for stage, name in enumerate(("query", "construction")):
        seconds = [lap[stage].span for lap in laps]
        numbers |= {
            name: statistics.fmean(seconds),
            f"{name}_start": statistics.fmean(seconds[:edge]),
            f"{name}_steady": statistics.fmean(seconds[-edge:]),
        }
    numbers["neighbors_steady"] = _neighbors(model)
    return numbers


def _model(session: clfrnn.Session, measurement: Measurement) -> Circles:
    facts = measurement.to_dict()
    options: dict[str, Any] = {name: facts[name] for name in ("method", "bin_width") if name in facts}
    n, neighbors = int(facts["n"]), int(facts["neighbors"])
    return Circles(n, neighbors, dim=int(facts["dim"]), damping=FORCE / neighbors, session=session, **options)


def _neighbors(model: Circles) -> float:
    """The mean number of neighbors now, borders included."""
    found = float(model.index.count().get().mean())
    assert found > 0, "a benchmark that finds nothing measures nothing"
    return found


def _tested(model: Circles) -> float:
    """Points tested for each neighbor, by a sample in the middle of the cells' order."""
    found = _TESTED.search(model.index.explain())
    assert found is not None, "explain() says how many points a query tests"
    return float(found[1]) / float(found[2])
