"""Spheres: the particle model in parts, on several devices in lockstep."""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..host.interrupts import interrupts_held_back
from ..models.spheres.contacts import move
from ..models.spheres.particles import Particles
from ..models.spheres.scene import SphereScene
from ..runtime.session import Session
from .assignment import BoxTree, Part, assign_rows
from .axes import Axes
from .boxes import bisect
from .rows import at_least_one
from .whole import check_sessions

__all__ = ["Spheres", "Step"]

Found = TypeVar("Found")

#: How far a sphere may move before the spheres are divided anew, in radii, and as a share of the edges of parts.
_SLACK, _SLACK_OF_EDGE = 0.5, 1 / 64

#: What rounding of a measured distance may hide, as a share of it.
_ROUNDING = 2.0**-10

#: Spheres of a sample.
_SAMPLE = 1 << 16


class Step(NamedTuple):
    """What the last step of spheres in parts did.

    `divided` says whether the spheres were divided anew after it. `halo` is how many spheres are in halos, those in
    several counted for each, and `exchanged` the bytes that went between host and devices. `waited` are the seconds
    that each session waited for the slowest one; `exchange` those of the copies and the division in the host.
    """

    divided: bool
    halo: int
    exchanged: int
    waited: tuple[float, ...]
    exchange: float


class Spheres(SphereScene):
    """The spheres of :class:`clfrnn.models.Spheres` in parts, on one or several devices in lockstep.

    Each device moves the spheres of its parts. After each step those near the boxes of other parts are sent there.

    Parameters
    ----------
    n : number of spheres, at least 1
    sessions : a :class:`clfrnn.Session` for each device; the default session when not given
    parts : number of parts; by default one for each session. There are fewer where spheres at the same place cannot be
        parted
    **given : as for :class:`clfrnn.models.Spheres`, but `session`

    Attributes
    ----------
    positions, velocities : (n, dim) arrays of numpy, copies of the current ones
    last_step : :class:`Step`
        What the last step did, and what it waited for.

    The other attributes are those of :class:`clfrnn.models.Spheres`, but `index`, of which each part has its own.

    Raises
    ------
    InvalidInputError, TypeError
        As for :class:`clfrnn.models.Spheres`.
    DeviceMemoryError
        A device does not hold its parts, each of which is there twice while spheres are divided anew. All spheres are
        then where they were before the step, which may be taken again.

    Notes
    -----
    With ``repeatable=True`` the positions, the velocities and the energy after any number of steps are those of
    :class:`clfrnn.models.Spheres` on one device of that kind, to the last bit: forces are summed in the order of the
    spheres' numbers. Otherwise both agree but for the rounding of sums.

    The halo of a part is a contact and twice a slack wide. The spheres are divided anew, in the host, after a step by
    which one of them has moved by more than the slack since the last division. The slack is half of a radius, or 1/64
    of the shortest edge of a part where that is more. Cost of a step: that of the model for the spheres of a part and
    its halo, one wait, and copies of the spheres in halos to and from the host. Cost of a division: copies of all
    spheres, and that of :func:`assign`.

    Examples
    --------
    >>> import numpy
    >>> from clfrnn import models
    >>> from clfrnn.parts.spheres import Spheres
    >>> model = Spheres(100, dim=2, parts=3, repeatable=True)
    >>> model.step(20)
    >>> one = models.Spheres(100, dim=2, repeatable=True)
    >>> one.step(20)
    >>> numpy.array_equal(model.positions, one.positions.get())
    True
    """

    #: what the last step did; nothing before the first one
    last_step = Step(divided=False, halo=0, exchanged=0, waited=(), exchange=0.0)

    def __init__(
        self, n: int, *, sessions: Sequence[Session] | Session | None = None, parts: int | None = None, **given: Any
    ) -> None:
        if given.get("session") is not None:
            raise InvalidInputError(
                "expected none, as parts may take several; pass sessions=[session]", argument="session"
            )
        listed = check_sessions(sessions)
        self._sessions = list(dict.fromkeys(listed))  # each has one thread, also where it is listed twice
        self._wanted = len(listed) if parts is None else at_least_one("parts", parts, "the number of parts")
        concurrent = len(self._sessions) > 1 and all(session.profile.concurrent for session in self._sessions)
        self._own_lock = threading.RLock()
        self._threads = ThreadPoolExecutor(len(self._sessions)) if concurrent else None
        self.session = self._sessions[0]
        super().__init__(n, **given)

    def __repr__(self) -> str:
        return (
            f"<Spheres: {self.n:,} in {self.dim}D, {self.dtype}, after {self.steps_done:,} steps, in "
            f"{len(self._held)} parts on {len(self._sessions)} session{'s' * (len(self._sessions) > 1)}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("parts lie on devices and cannot be pickled; pickle positions and velocities, and place them")

    @property
    def parts(self) -> list[Part]:
        """The spheres that each part owns now, and those of its halo."""
        with self._lock:
            return [held.part for held in self._held]

    @property
    def slack(self) -> float:
        """How far a sphere may move along an axis until the spheres are divided anew, in the unit of the box."""
        return self._slack

    @property
    def positions(self) -> npt.NDArray[Any]:  # type: ignore[override]  # no device has all of them
        """(n, dim) array of numpy: the current centers, in the unit of the box."""
        return self._gathered(lambda held: held.particles.positions.get())

    @property
    def velocities(self) -> npt.NDArray[Any]:
        """(n, dim) array of numpy: the current velocities, in that unit by unit of time."""
        return self._gathered(lambda held: held.particles.velocities.get())

    def place(self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None) -> None:
        """Put the spheres elsewhere.

        Parameters
        ----------
        positions, velocities : as for :meth:`clfrnn.models.Spheres.place`, which also says what raises

        Notes
        -----
        Cost: a division of the spheres.
        """
        with self._lock:
            self._divide(*self._checked(positions, velocities))

    @property
    def _lock(self) -> AbstractContextManager[Any]:
        return self._own_lock  # those of sessions are taken by the threads that use them

    def _begin(self, start: npt.NDArray[Any], session: Session | None, options: dict[str, Any]) -> None:  # noqa: ARG002
        self._options = options
        self._axes = Axes.of((None, None, None), self.dim, self.dtype)
        self._divide(start, np.zeros_like(start))

    def _divide(self, positions: npt.NDArray[Any], velocities: npt.NDArray[Any]) -> None:
        """Give each part the spheres that it owns, and its halo."""
        places = self._axes.places(positions[:: max(1, self.n // _SAMPLE)])
        boxes = bisect(places, np.ones(len(places)), min(self._wanted, self.n))
        slack = max(_SLACK * self.radius, _SLACK_OF_EDGE * _shortest_edge(boxes, places))
        reach = float(self._axes.reach(2 * self.radius + 2 * slack, self.dtype, 0.0))
        tree = BoxTree(boxes, self._axes, reach)
        # Between spheres at the same place there is no cut, so a box may be empty.
        parts = [part for part in assign_rows(positions, tree, "positions") if len(part.owned)]
        sent = np.unique(np.concatenate([part.halo for part in parts]))
        sessions = [self._sessions[k % len(self._sessions)] for k in range(len(parts))]

        def hold(given: tuple[Part, Session]) -> _Held:
            part, session = given
            named: dict[str, Any] = {"ordered": self._ordered, "session": session, "options": self._options}
            particles = Particles(positions[part.rows], self.radius, **named)
            particles.velocities.set(velocities[part.rows])
            return _Held(part=part, session=session, particles=particles, sent=sent)

        held = self._each(hold, list(zip(parts, sessions, strict=True)), sessions)
        self._held: list[_Held] = held  # where a device refuses a part, all stay as they were
        self._slack = slack * (1 - _ROUNDING)
        #: positions and velocities of the spheres that are in halos
        self._sent = np.zeros((len(sent), 2 * self.dim), self.dtype)

    def _advance(self) -> None:
        numbers, function = self._step_numbers(), _step(self.dim, ordered=self._ordered)

        ends: dict[Session, float] = {}

        def visit(held: _Held) -> float:
            farthest = held.step(function, numbers, self._sent)
            ends[held.session] = time.perf_counter()
            return farthest

        farthest = max(self._each(visit, self._held))
        ended = time.perf_counter()
        if farthest <= self._slack:
            self._each(lambda held: held.take(self._sent), self._held)
            for held in self._held:  # not before all have taken theirs: each may fail
                held.swap()
            divided = False
        else:
            moved = self._gathered(lambda held: held.particles.moved.get())
            self._divide(moved, self._gathered(lambda held: held.particles.changed.get()))
            divided = True
        halo = sum(len(part.halo) for part in self.parts)
        row = self._sent.itemsize * 2 * self.dim
        self.last_step = Step(
            divided=divided,
            halo=halo,
            exchanged=row * (2 * self.n + halo if divided else len(self._sent) + halo),
            waited=tuple(ended - ends.get(session, ended) for session in self._sessions),
            exchange=time.perf_counter() - ended,
        )

    def _each(
        self, function: Callable[[Any], Found], given: Sequence[Any], sessions: Sequence[Session] | None = None
    ) -> list[Found]:
        """What a function returns for each part: those of a session in one thread, one after the other.

        Where it raises, or the call is interrupted, all threads have come to their end before this call does.
        """
        sessions = [held.session for held in given] if sessions is None else sessions
        results: list[Any] = [None] * len(given)

        def serve(session: Session) -> None:
            for k, each in enumerate(given):
                if sessions[k] is session:
                    results[k] = function(each)

        if self._threads is None:
            for session in self._sessions:
                serve(session)
            return results
        with interrupts_held_back():
            served = [self._threads.submit(serve, session) for session in self._sessions]
            wait(served)
        for each in served:
            each.result()
        return results

    def _gathered(self, array_of: Callable[[_Held], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The rows of the spheres that each part owns, in the order of the spheres' numbers."""
        with self._lock:
            found = self._each(lambda held: array_of(held)[held.own_rows], self._held)
            whole: npt.NDArray[Any] = np.empty((self.n, *found[0].shape[1:]), self.dtype)
            for held, rows in zip(self._held, found, strict=True):
                whole[held.part.owned] = rows
            return whole

    def _energies(self) -> npt.NDArray[Any]:
        return self._gathered(lambda held: self._energies_of(held.settled()))


class _Held:
    """A part on its device, and how its spheres are exchanged.

    Parameters
    ----------
    sent : the numbers of the spheres that are in a halo of any part, in ascending order
    """

    def __init__(self, *, part: Part, session: Session, particles: Particles, sent: npt.NDArray[Any]) -> None:
        self.part, self.session, self.particles = part, session, particles
        self._is_ahead = False
        rows = part.rows
        #: where the spheres that it owns stand among its spheres
        self.own_rows = np.searchsorted(rows, part.owned)
        leaving = np.isin(part.owned, sent, assume_unique=True)
        #: the rows of `sent` that it writes, and those that it reads
        self._writes, self._reads = (np.searchsorted(sent, ids) for ids in (part.owned[leaving], part.halo))
        leaves, comes = (np.full(len(rows), -1, np.int32) for _ in range(2))
        leaves[self.own_rows[leaving]] = np.arange(len(self._writes))
        comes[np.searchsorted(rows, part.halo)] = np.arange(len(self._reads))
        index, dim = particles.index, particles.index.dim
        self._leaves, self._comes = (index.empty(len(rows), np.int32) for _ in range(2))
        self._leaves.set(leaves)
        self._comes.set(comes)
        self._out, self._in = (index.empty((max(len(ids), 1), 2 * dim)) for ids in (self._writes, self._reads))
        #: where the spheres were when they were divided, and how far each has moved since, along any axis
        self._before, self._gone = particles.positions.copy(), index.zeros(len(rows))

    def step(self, function: NeighborFunction, numbers: dict[str, Any], sent: npt.NDArray[Any]) -> float:
        """Compute the next state, write what others need into `sent`, and return how far a sphere has moved."""
        particles = self.settled()
        given: dict[str, Any] = {"leaves": self._leaves, "outgoing": self._out, "before": self._before}
        given |= {"gone": self._gone, "checked": False}  # of `outgoing`, only the rows of `leaves` are written
        particles.visit(function, moved=particles.moved, changed=particles.changed, **given, **numbers)
        sent[self._writes] = self._out.get()[: len(self._writes)]
        return float(self._gone.max())

    def take(self, sent: npt.NDArray[Any]) -> None:
        """Take the spheres of the halo as their owners have moved them, and index where all are next."""
        particles = self.particles
        if len(self._reads):
            self._in.set(sent[self._reads])
            given: dict[str, Any] = {"comes": self._comes, "incoming": self._in, "checked": False}  # as above
            given |= {"moved": particles.moved, "changed": particles.changed}
            particles.index.visit(_taking(particles.index.dim), **given)
        self._is_ahead = True
        particles.index.update(particles.moved)

    def swap(self) -> None:
        """Make the next state the current one."""
        self.particles.swap()
        self._is_ahead = False

    def settled(self) -> Particles:
        """Its spheres, indexed where they are: the index is ahead of them where another part has failed in a step."""
        if self._is_ahead:
            self.particles.index.update(self.particles.positions)
            self._is_ahead = False
        return self.particles


def _shortest_edge(boxes: npt.NDArray[np.float64], places: npt.NDArray[np.float64]) -> float:
    """The shortest edge of all boxes within the bounds of a sample."""
    low, high = places.min(axis=0), places.max(axis=0)
    return float((boxes.clip(low, high)[:, 1] - boxes.clip(low, high)[:, 0]).min())


@functools.cache
def _step(dim: int, *, ordered: bool) -> NeighborFunction:
    """The function of a step, which also writes the spheres that others need, and how far each has moved."""
    whole = move(dim, ordered=ordered)
    farthest = "0"
    for axis in range(dim):
        farthest = f"max((real)({farthest}), fabs(way.s{axis}))"
    return dataclasses.replace(
        whole,
        arguments=f"{whole.arguments}, global const int *leaves, global real *outgoing, global const real *before, "
        "global real *gone",
        finish=f"""{whole.finish}
            if (leaves[i] >= 0) {{
                vstore{dim}(position, 2 * leaves[i], outgoing);
                vstore{dim}(velocity, 2 * leaves[i] + 1, outgoing);
            }}
            const real_vec way = position - vload{dim}(i, before);
            gone[i] = {farthest};
        """,
    )


@functools.cache
def _taking(dim: int) -> NeighborFunction:
    """A function that looks at no neighbors, and takes the spheres of a halo."""
    return NeighborFunction(
        arguments="global const int *comes, global const real *incoming, global real *moved, global real *changed",
        state="reach2 = -1;",
        finish=f"""
            if (comes[i] >= 0) {{
                vstore{dim}(vload{dim}(2 * comes[i], incoming), i, moved);
                vstore{dim}(vload{dim}(2 * comes[i] + 1, incoming), i, changed);
            }}
        """,
    )
