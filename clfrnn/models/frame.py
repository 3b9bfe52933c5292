"""Frames: what pictures show of a model, and what they read of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from .controls import Controls

__all__ = ["Drawn", "Frame"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """A model at one time, on the host.

    Attributes
    ----------
    step : the number of steps since the start of the model
    time : the simulated time, in the model's unit
    positions : (n, dim) numpy array of the model's dtype
    colors : (n,) numpy array of numbers by which a picture colors the particles, or None
    balls : center and radius of each ball that a picture shows beside the particles, as a collider
    """

    step: int
    time: float
    positions: npt.NDArray[Any]
    colors: npt.NDArray[Any] | None
    balls: Sequence[tuple[Sequence[float], float]] = ()


class Drawn(Protocol):
    """A model as pictures know it: see :class:`clfrnn.models.Model`."""

    dim: int
    _colormap: str
    _color_ends: tuple[float, float] | None

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of what a picture shows."""

    def run(self, steps: int, *, every: int = 1, progress: bool = True) -> Iterator[Frame]:
        """Take steps, and yield frames."""

    def step(self, n: int = 1) -> None:
        """Take steps."""

    def frame(self) -> Frame:
        """What a picture shows now."""

    def controls(self) -> Controls:
        """What may be changed while it runs."""

    def _drawn_radius(self) -> float:
        """The radius at which a picture draws each particle."""

    def _walls(self) -> npt.NDArray[Any]:
        """The ends of segments that a picture shows beside the particles."""
