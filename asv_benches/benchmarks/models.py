"""Steps of the models, in kernels and by the wall clock."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import clfrnn
from clfrnn.models import Model, Spheres

from .common import PLATFORMS, device_seconds, session

#: The models that are timed, each by its number of particles.
MODELS: dict[str, Callable[..., Model]] = {"spheres": Spheres}

#: Steps before those that are timed: the block of the start has then begun to fall apart.
SETTLING = 100

#: Steps that are timed by the wall clock, which are waited for at their end.
LAP = 50


@functools.cache
def model_case(device: str, name: str, n: int, *, profiled: bool) -> Model:
    """A model some steps after its start, made once; profiled, or in a session as users have it."""
    where = session(device)
    model = MODELS[name](n, session=where if profiled else clfrnn.Session(where.device))
    model.step(SETTLING)
    model.session.queue.finish()
    return model


class Step:
    """``model.step()``."""

    params = (list(PLATFORMS), list(MODELS), [65_536, 1_000_000])
    param_names = ("device", "model", "n")
    timeout = 300

    def setup(self, device: str, name: str, n: int) -> None:
        """Made once, then found again."""
        self.model = functools.partial(model_case, device, name, n)

    def track_kernels(self, *_: Any) -> float:
        """Device time of a step."""
        model = self.model(profiled=True)
        seconds = device_seconds(model.session, model.step)
        assert model.index.count().get().any(), "a benchmark that finds nothing measures nothing"
        return seconds

    def track_wall(self, *_: Any) -> float:
        """Wall time of a step in a loop."""
        model = self.model(profiled=False)
        started = time.perf_counter()
        model.step(LAP)
        model.session.queue.finish()
        return (time.perf_counter() - started) / LAP

    track_kernels.unit = "seconds"  # type: ignore[attr-defined]
    track_wall.unit = "seconds"  # type: ignore[attr-defined]
