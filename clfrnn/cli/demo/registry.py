"""The models that ``clfrnn demo`` runs, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...models import Model

__all__ = ["DEMOS", "Demo"]


@dataclasses.dataclass(frozen=True)
class Demo:
    """A class of `clfrnn.models`, and what shows it well in a minute without a GPU.

    Attributes
    ----------
    model : the name of the class
    about : what is seen, in a few words
    n : number of particles
    steps : of the whole run
    given : further arguments of the class
    """

    model: str
    about: str
    n: int
    steps: int
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def make(self, n: int | None, **options: Any) -> Model:
        """The model at its start; options that are None keep their defaults."""
        import clfrnn.models

        options = {name: value for name, value in options.items() if value is not None}
        made: Model = getattr(clfrnn.models, self.model)(self.n if n is None else n, **self.given, **options)
        return made


#: One line for each model.
DEMOS = {
    "circles": Demo("Circles", "actors gather in rings", 3_000, 300, {"neighbors": 12, "dim": 2}),
    "fluid": Demo("Fluid", "a column of water breaks down", 3_000, 3_000, {"sound": 25.0}),
    "spheres": Demo("Spheres", "a block of spheres falls apart", 4_000, 1_500, {"collider": ((0.65, 0.1, -0.7), 0.3)}),
    "boids": Demo("Boids", "birds gather in flocks", 2_000, 600),
    "pedestrians": Demo("Pedestrians", "two streams of people pass each other", 150, 1_500, {"stride_time": 0.5}),
    "keratinocytes": Demo("Keratinocytes", "cells of skin divide until a dish is full", 100, 900),
}
