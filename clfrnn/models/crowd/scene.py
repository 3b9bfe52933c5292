"""The scene that pedestrians walk in: walls, goals, where they come in, and whose goal is which."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..arguments import positive, rows, shape_of

__all__ = ["Scene", "begin", "towards"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Segments of shape (m, 2, 2), each from its first to its second point; a point is a segment of no length."""

    walls: npt.NDArray[Any]
    goals: npt.NDArray[Any]
    #: one for each goal, or None where pedestrians begin again at their starts
    entries: npt.NDArray[Any] | None
    #: (n,) int32: the number of each pedestrian's goal
    groups: npt.NDArray[np.int32]

    def corners(self, starts: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of everything in the scene."""
        parts = [starts, self.walls, self.goals, *([] if self.entries is None else [self.entries])]
        points = np.concatenate([part.reshape(-1, 2) for part in parts])
        return points.min(axis=0), points.max(axis=0)


def begin(
    n: int,
    rng: np.random.Generator,
    dtype: np.dtype[Any],
    *,
    density: float,
    positions: npt.ArrayLike | None,
    goals: npt.ArrayLike | None,
    **parts: npt.ArrayLike | None,
) -> tuple[Scene, npt.NDArray[Any]]:
    """The scene that a user describes, and where each of n pedestrians starts, or an error that names what is wrong."""
    if goals is None:
        for name, value in parts.items():
            if value is not None:
                raise clfrnn.InvalidInputError("expected only together with goals; pass goals as well", argument=name)
        each = positive(density, "density", dtype, "pass pedestrians by square meter")
        scene = _walkway(n, each, dtype)
        length, width = scene.walls[1, 1]
        starts = (rng.random((n, 2)) * (length, 0.9 * width) + (0, 0.05 * width)).astype(dtype)
    elif positions is None:
        raise clfrnn.InvalidInputError(
            "expected with goals, got None; pass where pedestrians start", argument="positions"
        )
    else:
        scene = _scene_of(n, dtype, goals, **parts)
    if positions is not None:
        starts = rows(positions, "positions", (n, 2), dtype)
    return scene, starts


def _walkway(n: int, density: float, dtype: np.dtype[Any]) -> Scene:
    """A walkway five times as long as wide, along the first axis; every other pedestrian walks back along it."""
    width = (n / (5 * density)) ** 0.5
    length = 5 * width
    left, right = [[0.0, 0.0], [0.0, width]], [[length, 0.0], [length, width]]
    walls = [[[0.0, 0.0], [length, 0.0]], [[0.0, width], [length, width]]]
    return Scene(
        walls=np.array(walls, dtype),
        goals=np.array([right, left], dtype),
        entries=np.array([left, right], dtype),
        groups=(np.arange(n) % 2).astype(np.int32),
    )


def _scene_of(
    n: int,
    dtype: np.dtype[Any],
    goals: npt.ArrayLike,
    *,
    groups: npt.ArrayLike | None,
    entries: npt.ArrayLike | None,
    walls: npt.ArrayLike | None,
) -> Scene:
    """The scene with these goals."""
    ends = _segments(goals, "goals", None, dtype)
    if not len(ends):
        raise clfrnn.InvalidInputError(
            "expected at least one, got none; pass [[x, y]] for one goal of all", argument="goals"
        )
    if walls is None:
        walls = np.empty((0, 2, 2), dtype)
    return Scene(
        walls=_segments(walls, "walls", None, dtype),
        goals=ends,
        entries=None if entries is None else _segments(entries, "entries", len(ends), dtype),
        groups=(np.arange(n) % len(ends)).astype(np.int32) if groups is None else _groups(n, groups, len(ends)),
    )


def _groups(n: int, groups: npt.ArrayLike, goals: int) -> npt.NDArray[np.int32]:
    own = rows(groups, "groups", (n,), np.dtype(float))
    wrong = np.flatnonzero((own != np.floor(own)) | (own < 0) | (own >= goals))
    if len(wrong):
        raise clfrnn.InvalidInputError(
            f"expected numbers of goals, 0 to {goals - 1}, got {own[wrong[0]]:g} for pedestrian {wrong[0]}; "
            "pass the number of its goal for each pedestrian",
            argument="groups",
        )
    return np.asarray(own, np.int32)


def _segments(value: npt.ArrayLike, name: str, count: int | None, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Segments of points, but for walls, or of segments; of any number where `count` is None."""
    try:
        found = np.array(value, dtype)
    except (TypeError, ValueError):
        found = np.empty(0, dtype)
    if found.ndim == 2 and name != "walls":
        found = np.stack([found, found], axis=1)
    if found.ndim != 3 or found.shape[1:] != (2, 2) or count not in (None, len(found)) or not np.isfinite(found).all():
        wanted = "any number of segments" if count is None else f"{count:,} segments"
        came = "NaN or inf" if np.size(found) and not np.isfinite(found).all() else shape_of(value)
        raise clfrnn.InvalidInputError(
            f"expected {wanted}, of shape (2, 2) each, got {came}; pass the two ends of each", argument=name
        )
    return found


def towards(places: npt.NDArray[Any], goals: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(n, 2): the direction from each place to the nearest point of its goal, 0 at the goal; `goals` has a row each."""
    first, span = goals[:, 0], goals[:, 1] - goals[:, 0]
    length2 = (span**2).sum(axis=1)
    along = np.clip(((places - first) * span).sum(axis=1) / np.where(length2 > 0, length2, 1), 0, 1)
    way = first + along[:, None] * span - places
    distance = np.linalg.norm(way, axis=1, keepdims=True)
    return np.asarray(way / np.where(distance > 0, distance, 1), places.dtype)
