"""MovingParts: a cloud that moves, in parts whose indices stay on their devices from step to step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from ..api import build_index
from ..errors import InvalidInputError
from ..index import Index
from ..points.argument_types import Flags, MethodName, MethodOptions, Numbers, Sort
from ..results import Nearest
from ..runtime.session import Session
from .assignment import Part, assign_rows
from .lists import PartList
from .nearest_rows import Rows
from .pipeline import pipelined
from .rows import as_rows, at_least_one, check_radius, real_of
from .searches import counts_of_part, list_of_part
from .whole import Given, LocalPart, Whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["MovingParts"]

#: Parts are divided anew where the largest has grown by this factor, with its halo.
_GROWN = 1.5


@dataclasses.dataclass(kw_only=True)
class _Held:
    """A part, where it is searched, and what is there of it: made when it is first needed."""

    part: Part
    session: Session
    local: LocalPart | None = None
    index: Index | None = None


@final
class MovingParts:
    """Points that move, in parts that stay on one or several devices: a step updates only the parts that have changed.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite; copied, never changed
    radius : scalar, in the points' unit
    sessions : a :class:`clfrnn.Session` for each device; the default session when not given
    parts : number of parts; by default one for each session, or as few as fit the devices
    max_bytes : largest number of bytes that the index of a part and a list of it take; a part has several lists where
        one would exceed it. By default 0.6 of the device's memory
    method, box, cell, periodic, **options : as for :func:`clfrnn.build_index`

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError
        The devices do not hold all parts at the same time.
    NoDeviceError
        As for :func:`clfrnn.search`.

    Notes
    -----
    The answers are those of an index of the whole, to the last bit. Parts lie on their devices until the next update.
    Host memory: two copies of the points, of halos as well, and 4 bytes for each row of a part. A call of one thread
    runs at a time; calls of several threads are not served.

    Examples
    --------
    >>> from clfrnn.parts import MovingParts
    >>> moving = MovingParts([[0.0], [1.0], [5.0], [9.0], [20.0]], 1.0, parts=2)
    >>> moving.count().tolist()
    [1, 1, 0, 0, 0]
    >>> moving.update([[0.0], [1.0], [5.0], [9.0], [9.5]])
    >>> moving.count().tolist(), moving.last_update
    ([1, 1, 0, 1, 1], ('same', 'updated'))
    """

    def __init__(
        self,
        points: Any,
        radius: float,
        *,
        sessions: Sequence[Session] | Session | None = None,
        parts: int | None = None,
        max_bytes: int | None = None,
        method: MethodName = "auto",
        box: Numbers | None = None,
        cell: Numbers | None = None,
        periodic: Flags | None = None,
        **options: Unpack[MethodOptions],
    ) -> None:
        given = Given(
            sessions=sessions,
            parts=parts,
            max_bytes=max_bytes,
            method=method,
            domain=(box, cell, periodic),
            options=options,
            progress=False,
        )
        self._radius = check_radius(radius)
        self._whole = Whole(MovingParts, _copied(points), self._radius, given=given)
        self._steps = 0
        self._divide()

    def __repr__(self) -> str:
        devices = len(self._whole.sessions)
        return (
            f"<MovingParts: {self.num_points:,} points, radius {self._radius:g}, {len(self._held)} parts on "
            f"{devices} session{'s' * (devices > 1)}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("parts lie on devices and cannot be pickled; pickle the points and make them again")

    @property
    def num_points(self) -> int:
        """The number of points."""
        return self._whole.num_points

    @property
    def parts(self) -> list[Part]:
        """A :class:`Part` for each part: the rows of the points in its box now, and those of its halo."""
        return [held.part for held in self._held]

    @property
    def last_update(self) -> tuple[str, ...]:
        """What the last update did with each part: "same" where nothing changed, "updated", or "built" anew."""
        return self._done

    def update(self, points: Any) -> None:
        """Replace the points by others: points that have left a box, or a halo, go to the part where they are now.

        Parameters
        ----------
        points : (n, dim), of the dtype that the points had; as many or not

        Raises
        ------
        InvalidInputError
            The points cannot be searched; everything is as before.
        DeviceMemoryError
            A device does not hold a part of the new points; the points are then still the old ones.

        Notes
        -----
        A part stays as it is where no point of it, or of its halo, has changed, and none has come. The index of any
        other is updated, see :meth:`clfrnn.Index.update`. Boxes stay, until a part with its halo has 1.5 times the
        points that the largest had when the cloud was divided, or a device does not hold one. Cost: a comparison of
        all points on the host; for points that changed log2(parts) comparisons for each coordinate; an upload of each
        part that changed.
        """
        rows = _copied(points)
        before = self._whole
        if rows.shape[1] != before.points.shape[1] or real_of(rows) != real_of(before.points):
            raise InvalidInputError(
                f"expected rows of {before.points.shape[1]} {real_of(before.points)} numbers, as before, "
                f"got {rows.shape[1]} of {rows.dtype}; convert them, or make other MovingParts",
                argument="points",
            )
        whole = before.with_points(rows)
        tree_serves = not whole.axes.repeats or whole.farthest <= self._farthest
        migrated = self._migrated(whole) if tree_serves else None
        if migrated is None or max(map(_size, migrated)) > self._most:
            self._divide(whole)
            return
        self._take(whole, migrated)

    def count(self, *, include_self: bool = False) -> npt.NDArray[np.int32]:
        """Count the neighbors of each point, in an (n,) int32 array of numpy.

        Parameters
        ----------
        include_self : whether a point counts as its own neighbor
        """
        counts = np.zeros(self.num_points, np.int32)

        def counted(index: Index, local: LocalPart) -> Iterator[Any]:
            yield local.query_ids, counts_of_part(index, local, include_self=include_self)

        for query_ids, found in self._each(counted, "counting"):
            counts[query_ids] = found
        return counts

    def query(
        self,
        *,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: Sort | None = None,
        half: bool = False,
    ) -> Iterator[PartList]:
        """List the neighbors of each point: a :class:`PartList` of each part, in host memory, one after the other.

        Parameters
        ----------
        include_self, distances, vectors, sort, half : as for :meth:`clfrnn.Index.query`

        Raises
        ------
        InvalidInputError
            The points were updated before the last list was taken.
        """
        asked = {"include_self": include_self, "distances": distances, "vectors": vectors, "sort": sort, "half": half}
        # What a search of nothing refuses is refused before the first list is taken.
        whole = self._whole
        build_index(whole.nothing, self._radius, session=whole.sessions[0], **whole.arguments).query(
            include_self=include_self, distances=distances, vectors=vectors, sort=sort, half=half
        )

        def listed(index: Index, local: LocalPart) -> Iterator[PartList]:
            given: dict[str, Any] = {"periodic": whole.axes.repeats, "budget": whole.list_bytes}
            yield from list_of_part(index, local, asked, whole.num_points, **given)

        return self._each(listed, "searching")

    def nearest(self, k: int, *, include_self: bool = False, vectors: bool = False) -> Nearest:
        """Find the k nearest neighbors of each point within the radius, in (n, k) arrays of numpy.

        Parameters
        ----------
        k : number of neighbors of each point; rows with fewer end in -1 and inf
        include_self, vectors : as for :meth:`clfrnn.Index.nearest`
        """
        whole, many = self._whole, at_least_one("k", k, "the number of neighbors of each point")
        # A point that is a query is the first of its own neighbors, or as near as these, and is left out in the end.
        taken = many + (not include_self)
        dim = int(whole.points.shape[1]) if vectors else 0
        found = Rows.empty((whole.num_points, taken), whole.num_points, whole.real, dim=dim, shifts=whole.axes.repeats)

        def nearest_of(index: Index, local: LocalPart) -> Iterator[tuple[npt.NDArray[Any], Rows]]:
            if len(local.query_ids):
                rows = Rows.of(index.nearest(local.positions, k=taken, vectors=vectors), local.rows)
                yield local.query_ids, rows

        for query_ids, rows in self._each(nearest_of, "searching"):
            found.put(query_ids, rows)
        return found.result(many, None if include_self else np.arange(whole.num_points))

    def _each(self, answering: Callable[[Index, LocalPart], Iterator[Any]], what: str) -> Iterator[Any]:
        """What `answering` yields of each part, one after the other."""
        step, whole = self._steps, self._whole

        def answer(_: Session, held: _Held) -> Iterator[Any]:
            assert held.local is not None
            if held.index is None:
                held.index = build_index(held.local.points, self._radius, session=held.session, **whole.arguments)
            yield from answering(held.index, held.local)

        def read(held: _Held) -> _Held:
            if held.local is None:
                held.local = whole.local(held.part)
            return held

        for found in pipelined(whole.sessions, self._held, read, answer, what=what):
            if step != self._steps:
                raise InvalidInputError(
                    "expected the points of the call until its last list was taken, got others by update(); take all "
                    "lists before it",
                    argument="points",
                )
            yield found

    def _divide(self, whole: Whole | None = None) -> None:
        """Divide the cloud anew; indices are made when they are needed."""
        whole = self._whole if whole is None else whole
        # Where points repeat, rounding grows with how far away they are: boxes serve points twice as far.
        farthest = 2 * whole.farthest
        self._tree, parts = whole.with_farthest(farthest).divide(self._radius)
        self._whole, self._farthest = whole, farthest
        self._steps += 1
        self._most = min(int(_GROWN * max(map(_size, parts))) + 1, whole.most_rows)
        self._held = [_Held(part=part, session=self._session(k)) for k, part in enumerate(parts)]
        self._done: tuple[str, ...] = ("built",) * len(parts)

    def _session(self, number: int) -> Session:
        return self._whole.sessions[number % len(self._whole.sessions)]

    def _migrated(self, whole: Whole) -> list[Part]:
        """The parts of new points in the boxes that there are: those that did not move stay where they are."""
        moved, is_moved = _moved_rows(self._whole.points, whole.points)
        found = []
        for held, new in zip(self._held, assign_rows(whole.points[moved], self._tree, "points"), strict=True):
            stays = [rows[~is_moved[rows]] for rows in held.part]
            comes = [moved[rows].astype(rows.dtype) for rows in new]
            if not sum(map(len, comes)) and all(len(a) == len(b) for a, b in zip(stays, held.part, strict=True)):
                found.append(held.part)
                continue
            found.append(Part(*(np.sort(np.concatenate(both)) for both in zip(stays, comes, strict=True))))
        return found

    def _take(self, whole: Whole, parts: list[Part]) -> None:
        """Hold these parts of new points, with the indices that there are; as before where a device refuses one."""
        before = self._held
        after = [
            held if part is held.part else _Held(part=part, session=held.session, index=held.index)
            for part, held in zip(parts, before, strict=True)
        ]

        def read(held: _Held) -> _Held:
            held.local = whole.local(held.part)
            return held

        def update(_: Session, held: _Held) -> Iterator[None]:
            assert held.local is not None
            if held.index is not None:
                held.index.update(held.local.points.astype(held.index.dtype, copy=False))
            yield

        self._steps += 1
        changed = [held for held, old in zip(after, before, strict=True) if held is not old]
        try:
            for _ in pipelined(whole.sessions, changed, read, update, what="moving"):
                pass
        except BaseException:
            for held in before:  # some indices have new points: all are made again of the old ones
                held.index = None
            raise
        self._whole, self._held = whole, after
        self._done = tuple(_what_was_done(held, old) for held, old in zip(after, before, strict=True))


def _what_was_done(held: _Held, before: _Held) -> str:
    if held is before:
        return "same"
    return "built" if held.index is None else "updated"


def _size(part: Part) -> int:
    return len(part.owned) + len(part.halo)


def _copied(points: Any) -> npt.NDArray[Any]:
    """Rows in memory, in native byte order, that nobody else changes."""
    rows = as_rows(points, "points")
    return np.array(rows[: rows.shape[0]], np.dtype(rows.dtype).newbyteorder("="), order="C")


def _moved_rows(
    before: npt.NDArray[Any], after: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """The rows whose bits differ, and for each row whether it is one; all rows where their numbers differ."""
    if before.shape == after.shape and before.dtype == after.dtype:
        bits = np.dtype(f"u{after.dtype.itemsize}")
        is_moved = (before.view(bits) != after.view(bits)).any(axis=1)
        return np.flatnonzero(is_moved), is_moved
    return np.arange(len(after)), np.ones(max(len(before), len(after)), bool)
