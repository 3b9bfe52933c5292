"""Pedestrians: walkers with goals who keep apart from each other and from walls (Helbing and Molnár 1995)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import clfrnn

from ..arguments import between, positive, real, repeatable_options, rows, whole
from ..model import Model
from .force import WALK
from .scene import begin, towards

__all__ = ["Pedestrians"]

#: Desired speeds lie within this number of spreads around the mean.
_WIDEST = 3.0

#: Lengths and times that something is divided by are at least a millionth.
_LEAST = 1e-6


class Pedestrians(Model):
    """People in a plane who walk to goals, by the social force in its elliptical specification.

    Parameters
    ----------
    n : number of pedestrians, at least 1
    positions : (n, 2) numbers, m: where they start. Required with `goals`; by default even in the walkway
    goals : (g, 2) points or (g, 2, 2) segments, m; a segment is a gate, whose nearest point is walked to. By default
        there is a walkway with a wall on each side, five times as long as wide, in whose two directions every other
        pedestrian walks; who reaches its end comes in again at the other end
    groups : (n,) whole numbers: which goal is each pedestrian's; by default pedestrian i has goal ``i % g``
    entries : points or segments like `goals`, one for each: where those who reach the goal come in again, as far along
        the entry as they were along the goal. By default they go back to where they started
    walls : (w, 2, 2) numbers, m: the two ends of each wall
    velocities : (n, 2) numbers, m/s; by default everybody walks at the desired speed
    density : pedestrians by m² in the walkway
    speed, speed_spread : mean and standard deviation of the desired speeds, m/s; drawn within three deviations
    speed_limit : the highest speed of a pedestrian by the desired one
    relaxation : time in which a velocity comes near the desired one, s
    repulsion, repulsion_length : strength and reach of what pedestrians do to each other, m²/s² and m
    stride_time : time for which others foresee where a pedestrian goes, s
    view : angle of sight, degrees
    behind : weight of those outside of the angle of sight, 0 to 1
    wall_repulsion, wall_length : strength and reach of what walls do, m²/s² and m
    radius : distance beyond which pedestrians are left out of account, m
    reach : distance from the goal, m, at which it is reached
    dt : the time of a step, s
    seed : whole number of at least 0; equal seeds give equal starts
    repeatable : whether every run gives the same bytes; the default method is then `strips`
    dtype : float32 or float64
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`
    **options : of :func:`clfrnn.build_index`: `method`, and the options of the method

    Attributes
    ----------
    positions, velocities : (n, 2) device arrays
        Where pedestrians are and how they move, m and m/s. The step after the next overwrites them.
    strides, arrivals : (n, 2) and (n,) int32 device arrays
        The way that each would make to its goal in `stride_time` at the current speed, m, and how often each has
        reached its goal.
    speeds : (n,) device array
        The desired speeds, m/s.
    groups : (n,) int32 device array
        The number of each pedestrian's goal.
    index : clfrnn.Index
        The index over the current positions.
    steps_done : int
        The number of steps since the start.

    Raises
    ------
    InvalidInputError
        An argument is invalid, or `repeatable` is given with a method or construction that does not repeat.
    TypeError
        The method does not have one of the options.

    Notes
    -----
    A pedestrian of the desired speed v0 and the direction e to its goal has the acceleration

    - ``(v0 e - v) / relaxation``,
    - minus the gradient of ``repulsion * exp(-b / repulsion_length)`` for each other, b being the semi-minor axis of
      the ellipse through the pedestrian whose foci are the other and the end of its stride, times `behind` where that
      push does not come from within the angle of sight,
    - minus the gradient of ``wall_repulsion * exp(-d / wall_length)`` for each wall at the distance d.

    The numbers of forces and speeds are the paper's; step, radius, and what happens at goals are not. Attractions and
    fluctuations are left out, and the velocity that the limit has shortened is the one that goes on. The velocity is
    exact for a push and a direction that stay during the step: a lone walker comes to v0 as ``exp(-t / relaxation)``. A
    step that would cross a wall is not made, whatever pushes: the pedestrian stands still in it. The model has no
    bodies. A pedestrian exactly ahead pushes to no side, so that two who meet on one line to the bit walk through each
    other. Pedestrians see through walls and find no way around them: put goals where the straight way is open.

    Cost of a step: one visit, in which each pedestrian also looks at every wall, and one update of the index. Nothing
    is allocated, no list is made, and the host does not wait, except for checks of positions more than eight steps
    before.

    Source: Helbing and Molnár (1995), *Social force model for pedestrian dynamics*, Physical Review E 51;
    the numbers are those of the two programs that the page of the model names.

    Examples
    --------
    >>> from clfrnn.models import Pedestrians
    >>> alone = Pedestrians(1, positions=[[0, 0]], velocities=[[0, 0]], goals=[[9, 0]], speed=1.5, speed_spread=0)
    >>> alone.step(100)
    >>> print(f"{alone.progress():.3f} m/s after {alone.time:.0f} s")
    1.500 m/s after 5 s
    """

    dim = 2

    def __init__(
        self,
        n: int,
        *,
        positions: npt.ArrayLike | None = None,
        goals: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        entries: npt.ArrayLike | None = None,
        walls: npt.ArrayLike | None = None,
        velocities: npt.ArrayLike | None = None,
        density: float = 0.3,
        speed: float = 1.34,
        speed_spread: float = 0.26,
        speed_limit: float = 1.3,
        relaxation: float = 0.5,
        repulsion: float = 2.1,
        repulsion_length: float = 0.3,
        stride_time: float = 2.0,
        view: float = 200.0,
        behind: float = 0.5,
        wall_repulsion: float = 10.0,
        wall_length: float = 0.2,
        radius: float = 5.0,
        reach: float = 0.5,
        dt: float = 0.05,
        seed: int = 0,
        repeatable: bool = False,
        dtype: npt.DTypeLike = np.float32,
        session: clfrnn.Session | None = None,
        **options: Any,
    ) -> None:
        self.n, self.dtype = whole(n, "n", least=1, advice="pass the number of pedestrians"), real(dtype)
        self.dt = positive(dt, "dt", self.dtype, "pass the time of a step in seconds")
        self.radius = positive(radius, "radius", self.dtype, "pass how far pedestrians see, in meters")
        self._numbers: dict[str, Any] = self._step_numbers(
            (0, math.inf, {"repulsion": repulsion, "stride_time": stride_time}),
            (0, math.inf, {"wall_repulsion": wall_repulsion, "reach": reach}),
            (_LEAST, math.inf, {"repulsion_length": repulsion_length, "wall_length": wall_length}),
            (_LEAST, math.inf, {"relaxation": relaxation, "speed_limit": speed_limit}),
            (0, 1, {"behind": behind}),
            (0, 360, {"view": view}),
        )
        rng = np.random.default_rng(whole(seed, "seed", least=0, advice="pass what tells one start from another"))
        speeds = self._desired(rng, speed, speed_spread)
        self._scene, starts = begin(
            self.n,
            rng,
            self.dtype,
            density=density,
            positions=positions,
            goals=goals,
            groups=groups,
            entries=entries,
            walls=walls,
        )
        if repeatable:
            options = repeatable_options(options)
        self.index = clfrnn.build_index(starts, self.radius, session=session, **options)
        self.session = self.index.session
        ahead = towards(starts, self._scene.goals[self._scene.groups])
        walking = ahead * speeds[:, None]
        if velocities is not None:
            walking = rows(velocities, "velocities", (self.n, 2), self.dtype)
        strides = self._numbers["stride_time"] * np.linalg.norm(walking, axis=1, keepdims=True) * ahead
        self.speeds, self.groups, self._starts = map(self._on_device, (speeds, self._scene.groups, starts))
        self._lines = {
            "walls": self._on_device(self._scene.walls),
            "goals": self._on_device(self._scene.goals),
            "entries": self._on_device(self._scene.goals if self._scene.entries is None else self._scene.entries),
        }
        state = (starts, walking, strides, np.zeros(self.n, np.int32))
        self._state, self._next = (tuple(map(self._on_device, state)) for _ in range(2))
        self._bounds = self._scene.corners(starts)

    def __repr__(self) -> str:
        return f"<Pedestrians: {self.n:,} pedestrians, {self.dtype}, after {self.steps_done:,} steps, {self.index}>"

    @property
    def positions(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, 2) device array: where pedestrians are, m. The step after the next overwrites it."""
        return self._state[0]

    @property
    def velocities(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, 2) device array: how they move, m/s. What you write into it counts from the next step on."""
        return self._state[1]

    @property
    def strides(self) -> clfrnn.DeviceArray[np.floating[Any]]:
        """(n, 2) device array: the way that each would make to its goal in `stride_time`, m."""
        return self._state[2]

    @property
    def arrivals(self) -> clfrnn.DeviceArray[np.int32]:
        """(n,) int32 device array: how often each has reached its goal."""
        return self._state[3]

    @property
    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The lower and the upper corner of starts, walls, goals and entries."""
        return self._bounds

    def _advance(self) -> None:
        positions, velocities, strides, arrivals = self._state
        moved, turned, strode, counted = self._next
        self.index.visit(
            WALK,
            dt=self.dt,
            **self._numbers,
            **self._lines,
            wall_count=len(self._scene.walls),
            come_in=int(self._scene.entries is not None),
            starts=self._starts,
            groups=self.groups,
            speeds=self.speeds,
            positions=positions,
            velocities=velocities,
            strides=strides,
            arrivals=arrivals,
            moved=moved,
            turned=turned,
            strode=strode,
            counted=counted,
        )
        self.index.update(moved)
        self._state, self._next = self._next, self._state

    def progress(self) -> float:
        """Compute the mean speed towards the goals, m/s: that of :attr:`speeds` where nobody is in anybody's way.

        Notes
        -----
        Cost: a copy of velocities and strides to the host, and a wait for them.
        """
        strides = self.strides.get().astype(float)
        length = np.linalg.norm(strides, axis=1)
        forward = (strides * self.velocities.get()).sum(axis=1) / np.where(length > 0, length, 1)
        return float(forward.mean())

    def passed(self) -> int:
        """Count how often a pedestrian has reached its goal since the start.

        Notes
        -----
        Cost: a copy of :attr:`arrivals` to the host, and a wait for it.
        """
        return int(self.arrivals.get().sum())

    def _colors(self) -> clfrnn.DeviceArray[np.int32]:
        """The number of the goal of each."""
        return self.groups

    def _drawn_radius(self) -> float:
        """Half of the width of shoulders, m, or more where that could not be seen."""
        low, high = self._bounds
        return max(0.25, 0.004 * float(max(high - low)))

    def _walls(self) -> npt.NDArray[Any]:
        """The walls of the scene."""
        return self._scene.walls

    def _on_device(self, array: npt.NDArray[Any]) -> clfrnn.DeviceArray[Any]:
        """A copy on the device; of one element that nothing reads where the array is empty."""
        if not array.size:
            return self.index.zeros((1,), array.dtype)
        copy = self.index.empty(array.shape, array.dtype)
        copy.set(np.ascontiguousarray(array))
        return copy

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _step_numbers(self, *ranges: tuple[float, float, dict[str, float]]) -> dict[str, float]:
        """What a step is computed with, of numbers by name and the range that each lies in."""
        given = {
            name: between(value, name, self.dtype, low=low, high=high, advice="see Pedestrians for its unit")
            for low, high, values in ranges
            for name, value in values.items()
        }
        relaxation = given.pop("relaxation")
        decay = math.exp(-self.dt / relaxation)
        changed = {"decay": decay, "gain": relaxation * (1 - decay), "view": math.cos(math.radians(given["view"] / 2))}
        return given | changed

    def _desired(self, rng: np.random.Generator, speed: float, spread: float) -> npt.NDArray[Any]:
        """The desired speeds, none of them less than a tenth of the mean."""
        mean = positive(speed, "speed", self.dtype, "pass the mean desired speed in m/s")
        deviation = between(spread, "speed_spread", self.dtype, advice="pass the spread of desired speeds in m/s")
        drawn = np.clip(rng.standard_normal(self.n), -_WIDEST, _WIDEST)
        return np.maximum(mean + deviation * drawn, 0.1 * mean).astype(self.dtype)
