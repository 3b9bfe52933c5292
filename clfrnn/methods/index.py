"""Index: what users hold. It counts and lists through one ``visit``, which each method provides."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from ..arrays import is_device_array, is_scalar, one_radius, round_radii
from ..domain import CellGrid, padded_radius
from ..errors import InvalidInputError
from ..functions import NeighborFunction
from ..plan import KernelConfig, Problem, components
from ..primitives.reduce import Box, bounding_box
from ..primitives.row_sort import sort_rows
from ..primitives.scan import finish_scan, sum_shares
from ..rendering import own_function
from ..results import NeighborList
from ..session import Session
from .ask import Ask
from .intake import take_points, take_radii
from .watch import Watch, check_largest

__all__ = ["Index"]

_LARGEST_INT32_TOTAL = 2**31 - 1


class Index(abc.ABC):
    """Points made ready for many queries. Made by :func:`clfrnn.build_index`.

    Attributes
    ----------
    session, method, radius, num_points, dim, dtype
        What the index was built with; `radius` is rounded to `dtype`.
    last_update : "rebuilt" or "refit"
        What the last :meth:`update` did.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)
    >>> index.count().get().tolist()
    [1, 1, 0]
    >>> index.query([[3.0, 3.0]], sort="distance", distances=True).to_host().distances.tolist()
    [1.0, 4.242640687119285]
    """

    #: the stem of the method's template
    stem: ClassVar[str]

    def __init__(self, session: Session, problem: Problem) -> None:
        self.session = session
        self.method = self.stem
        self.problem = problem
        self.radius = problem.radius
        self.num_points = problem.n
        self.dim = problem.dim
        self.dtype = np.dtype(np.float32 if problem.real == "float" else np.float64)
        self.last_update = "rebuilt"
        self._watch = Watch(self.dtype, self.radius)

    def __repr__(self) -> str:
        return (
            f"<{self.method} index: {self.num_points:,} points in {self.dim}D, {self.dtype}, "
            f"radius {self.radius:g}, on {self.session.profile.name}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("an index lies on a device and cannot be pickled; pickle the points and build it again")

    @property
    def cell_grid(self) -> CellGrid | None:
        """The cells that the points lie in, where the method has cells."""
        return None

    @property
    @abc.abstractmethod
    def _config(self) -> KernelConfig:
        """What the method's programs are specialised by."""

    @abc.abstractmethod
    def _place(self, points: cla.Array, box: Box | None) -> None:
        """Take new points in; `box` bounds them, or is that of an earlier step, or None when nothing is known."""

    @abc.abstractmethod
    def _walk_arguments(self) -> list[Any]:
        """The arguments of the walk behind the shared ones."""

    @abc.abstractmethod
    def _tests(self, m: int) -> float:
        """About how many pairs a visit of m queries tests."""

    def _visit(self, function: NeighborFunction, ask: Ask, arguments: Mapping[str, Any]) -> cl.Event | None:
        """Run `function` for every query of `ask`. The only way in which neighbors are ever found."""
        kernels, config = self.session.kernels(self.stem, self._config, function, ask.variant)
        values = [arguments[argument.name] for argument in function.parsed_arguments]
        real = self.dtype.type
        reach = (
            [ask.radii.base_data]
            if ask.radii is not None
            else [real(ask.radius), real(padded_radius(ask.radius, self.problem.real))]
        )
        return self.session.launch_sliced(
            kernels["visit"],
            ask.m,
            config.work_group_size,
            np.int32(ask.include_self),
            *reach,
            *([ask.queries.base_data] if ask.queries is not None else []),
            *self._walk_arguments(),
            *(value.base_data if isinstance(value, cla.Array) else value for value in values),
            pairs=self._tests(ask.m),
        )

    def count(self, queries: Any = None, *, radius: Any = None, include_self: bool = False) -> cla.Array:
        """The number of neighbors of each query.

        Parameters
        ----------
        queries : (m, dim) — the index's own points when not given
        radius : scalar or (m,) — at most the index's, which it defaults to
        include_self : whether a point counts as its own neighbor

        Returns
        -------
        (m,) int32 device array. Not waited for.

        Raises
        ------
        InvalidInputError
            A host array is not finite, or of the wrong shape; device arrays are checked by :meth:`check`.

        Notes
        -----
        Cost: one visit; no list is made.
        """
        self.session.check_process()
        counts, event = self._counts(self._ask(queries, radius=radius, include_self=include_self, half=False))
        self.session.publish(event, counts)
        return counts

    def _counts(self, ask: Ask) -> tuple[cla.Array, cl.Event | None]:
        counts = self.session.allocate(ask.m, np.int32, purpose="the neighbor counts")
        return counts, self._visit(own_function("count"), ask, {"counts": counts})

    def query(
        self,
        queries: Any = None,
        *,
        radius: Any = None,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: str | None = None,
        half: bool = False,
    ) -> NeighborList:
        """Every neighbor of each query.

        Parameters
        ----------
        queries : (m, dim) — the index's own points when not given
        radius : scalar or (m,) — at most the index's, which it defaults to
        include_self : whether a point counts as its own neighbor
        distances, vectors : whether the list carries them
        sort : None, "index" or "distance" — the order inside a row
        half : each pair once, ``i < j``; not with `queries` or an array of radii

        Raises
        ------
        InvalidInputError
            An argument cannot be searched.
        DeviceMemoryError
            The list does not fit; nothing is cut off.

        Notes
        -----
        Cost: two visits, a scan, and one wait for the number of pairs.
        """
        self.session.check_process()
        if sort not in (None, "index", "distance"):
            raise InvalidInputError(f"sort: expected None, 'index' or 'distance', got {sort!r}")
        ask = self._ask(queries, radius=radius, include_self=include_self, half=half)
        sums = sum_shares(self.session, self._counts(ask)[0])
        pairs = sums.read_total(self.session)
        self._watch.settle()
        wide = pairs > _LARGEST_INT32_TOTAL
        offsets = self.session.allocate(ask.m + 1, np.int64 if wide else np.int32, purpose="the offsets of the list")
        finish_scan(self.session, sums, offsets)
        return self._write(ask, offsets, pairs, distances=distances, vectors=vectors, sort=sort)

    def _write(
        self, ask: Ask, offsets: cla.Array, pairs: int, *, distances: bool, vectors: bool, sort: str | None
    ) -> NeighborList:
        """The second visit: every neighbor into its place."""
        allocate = self.session.allocate
        indices = allocate(pairs, np.int32, purpose=f"the list of {pairs:,} pairs")
        by_distance = sort == "distance"
        lengths = (
            allocate(pairs, self.dtype, purpose=f"the distances of {pairs:,} pairs")
            if distances or by_distance
            else None
        )
        arrows = allocate((pairs, self.dim), self.dtype, purpose=f"the vectors of {pairs:,} pairs") if vectors else None
        function = own_function(
            "write",
            offset="long" if offsets.dtype == np.int64 else "int",
            distances="square" if by_distance else "root" if distances else "",
            vectors=vectors,
            components=components(self.dim) if vectors else (),
        )
        arguments = {"offsets": offsets, "indices": indices, "distances": lengths, "vectors": arrows}
        event = self._visit(function, ask, arguments) if pairs else None
        if sort and pairs:
            event = sort_rows(
                self.session,
                offsets,
                indices,
                squares=lengths if by_distance else None,
                distances=lengths if distances else None,
                vectors=arrows,
                dtype=self.dtype,
                dim=self.dim,
                pairs=pairs,
            )
        kept = (offsets, indices, lengths if distances else None, arrows)
        self.session.publish(event, *(array for array in kept if array is not None))
        return NeighborList(
            offsets=offsets,
            indices=indices,
            distances=kept[2],
            vectors=arrows,
            num_points=self.num_points,
            dtype=self.dtype,
            device=self.session.profile.name,
        )

    def update(self, points: Any) -> None:
        """Take new positions of the same points in.

        Parameters
        ----------
        points : same shape and dtype as before — a host array is checked at once, a device array by :meth:`check`

        Raises
        ------
        InvalidInputError
            Another shape or dtype, or a host array that is not finite; the index then still answers for the old points.

        DeviceMemoryError
            There is no room for the new cells; the index then still answers for the old points.

        Notes
        -----
        Cost: that of building, without its survey. Nothing is compiled. A device array is not waited for, save that
        every sixteenth check of a caller who never waits is.
        """
        self.session.check_process()
        array, pending = take_points(self.session, points, "points", real=self.dtype, exact=True)
        if array.shape != (self.num_points, self.dim):
            raise InvalidInputError(
                f"points: expected the shape of the index, ({self.num_points}, {self.dim}), got {array.shape}; "
                "build a new index for another number of points"
            )
        if pending is not None:
            self._place(array, self._watch.known_box())
            self._watch.new_points(pending)
            return
        box = bounding_box(self.session, array).read()  # a host array: copying it has waited already
        self._place(array, box)
        self._watch.good_points(box)

    def check(self) -> None:
        """Wait for the device, and raise what earlier calls that did not wait have found.

        Raises
        ------
        InvalidInputError
            Points, queries or radii on the device held a NaN or an infinity, or a radius was too large.
        """
        self.session.check_process()
        self.session.queue.finish()
        self._watch.settle()

    def _ask(self, queries: Any, *, radius: Any, include_self: bool, half: bool) -> Ask:
        """Check a query's arguments and bring its arrays to the device."""
        array = None
        m = self.num_points
        if queries is not None:
            array, pending = take_points(self.session, queries, "queries", real=self.dtype)
            if array.shape[1] != self.dim:
                raise InvalidInputError(
                    f"queries: expected shape (m, {self.dim}), as the points have, got {array.shape}"
                )
            if pending is not None:
                self._watch.other("queries", pending)
            m = array.shape[0]
        scalar, radii = self._take_radius(radius, m)
        if half and array is not None:
            raise InvalidInputError("half: pairs between queries and points have no half; leave queries out")
        if half and radii is not None:
            raise InvalidInputError("half: with a radius per query the relation is not symmetric; use one radius")
        return Ask(queries=array, m=m, radius=scalar, radii=radii, include_self=bool(include_self), half=bool(half))

    def _take_radius(self, radius: Any, m: int) -> tuple[float, cla.Array | None]:
        """A scalar, or a device array of one radius per query."""
        if radius is None:
            return self.radius, None
        if is_device_array(radius):
            radii = take_radii(self.session, radius, m, self.dtype)
            self._watch.other("radius", bounding_box(self.session, radii.reshape(m, 1)))
            return self.radius, radii
        if is_scalar(radius):
            scalar = one_radius(radius, self.dtype)
            check_largest(scalar, self.radius)
            return scalar, None
        values = round_radii(radius, m, self.dtype)
        check_largest(float(values.max(initial=0)), self.radius)
        return self.radius, self.session.upload(values, purpose="the radii")
