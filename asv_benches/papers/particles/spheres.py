"""The Spheres model whose spheres are put into the order of their cells in memory, as the paper's are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clfrnn.models import Spheres

__all__ = ["Ordered"]


class Ordered(Spheres):
    """Spheres whose rows change: after so many steps the arrays are gathered into the order of the cells.

    Parameters
    ----------
    n, **given : see :class:`clfrnn.models.Spheres`
    reorder : number of steps after which that is done; 0 for never
    """

    def __init__(self, n: int, *, reorder: int = 0, **given: Any) -> None:
        super().__init__(n, **given)
        self._every = reorder

    def reorder(self) -> None:
        """Put what :meth:`visit` has computed into the order of the cells; the next build numbers them so."""
        particles = self._particles
        particles.moved, particles.changed = self.index.reorder(particles.moved, particles.changed)

    def stages(self) -> list[Callable[[], Any]]:
        """What the next step consists of, in turn."""
        due = self._every and (self.steps_done + 1) % self._every == 0
        return [self.visit, *([self.reorder] if due else []), self.update]

    def _advance(self) -> None:
        for stage in self.stages()[:-1]:
            stage()
        self._move()
