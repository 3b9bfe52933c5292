"""Controls: what a user may change of a model while it runs, for windows and notebooks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

__all__ = ["Action", "Controls", "Handle", "Slider"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slider:
    """A number of the model.

    Attributes
    ----------
    name : what a window shows beside it
    low, high : the least and the largest value that can be set
    value : the present one
    change : takes another one, which counts from the next step on
    """

    name: str
    low: float
    high: float
    value: float
    change: Callable[[float], object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    """Something that happens between two steps when a key is pressed: the key, what it does in a few words, and how."""

    key: str
    name: str
    act: Callable[[], object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Handle:
    """A ball that is dragged: where it is, its radius, and what takes another center."""

    center: Sequence[float]
    radius: float
    move: Callable[[Sequence[float]], object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Controls:
    """All that may be changed of a model."""

    sliders: Sequence[Slider] = ()
    actions: Sequence[Action] = ()
    handle: Handle | None = None
