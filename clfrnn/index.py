"""Index: what users hold; it has a search structure, which a method made, and the state of its lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NoReturn, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from .answers.count_nearest import NearestArguments, count_neighbors, find_nearest
from .answers.explain import explain, sizes_of
from .answers.kernel_source import KernelSource, make_kernel_source
from .answers.lists.query import ListArguments, query_blocks, query_list
from .answers.lists.state import ListState
from .answers.reorder import reorder
from .answers.visit import visit
from .conditions import Condition
from .device_array import DeviceArray
from .errors import InvalidInputError
from .functions import NeighborFunction
from .host.locks import locked
from .host.numbers import shown, whole_number
from .methods import Method
from .methods.structure import SearchStructure
from .methods.traversal import Traversal
from .points.argument_types import Numbers, Radius, Rows, Sort
from .primitives.fill import clear
from .results import HostNeighborList, Nearest, NeighborList, read_only_copy
from .runtime.session import Session
from .updates import PointUpdates

__all__ = ["Index"]

Element = TypeVar("Element", bound=np.generic)


@final
@locked
class Index:
    """Points prepared for many queries, made by :func:`clfrnn.build_index`.

    Notes
    -----
    Costs of methods are given in these words. A *visit* goes through the queries once, and tests for each the points in
    the cells or boxes around it. A *pass* reads an array once. A *wait* stops the host until the device has done what
    was asked before. Methods that return arrays on the device do not wait unless they say so.

    Examples
    --------
    >>> import clfrnn
    >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)
    >>> index.count().get().tolist()
    [1, 1, 0]
    >>> index.query([[3.0, 3.0]], sort="distance", distances=True).to_host().distances.tolist()
    [1.0, 4.242640687119285]
    """

    def __init__(self, method: Method, structure: SearchStructure, *, has_box: bool, chosen: bool) -> None:
        self._session = structure.session
        self._updates = PointUpdates(method, structure, has_box=has_box, chosen=chosen)
        self._lists = ListState(structure.session)

    def __repr__(self) -> str:
        return (
            f"<{self.method} index: {self.num_points:,} points in {self.dim}D, {self.dtype}, "
            f"radius {self.radius:g}, on {self.session.profile.name}>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("an index lies on a device and cannot be pickled; pickle the points and build it again")

    @property
    def _traversal(self) -> Traversal:
        return self._updates.traversal

    @property
    def session(self) -> Session:
        """The session of the device that holds the index."""
        return self._session

    @property
    def radius(self) -> float:
        """The largest radius of a query, rounded to the points' dtype."""
        return self._traversal.radius

    @property
    def num_points(self) -> int:
        """The number of points."""
        return self._traversal.num_points

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return self._traversal.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the points, in which distances are computed."""
        return self._traversal.dtype

    @property
    def order(self) -> DeviceArray[np.int32]:
        """On the device: the number of the point at each place of the search order, (n,) int32.

        Points that are near each other in space are mostly near each other in this order.
        """
        with self.session.lock:
            return self._traversal.structure.order()

    @property
    def method(self) -> str:
        """The name of the method that searches, as "strips". With ``method="auto"``, an update may choose another."""
        return self._updates.method.name

    @property
    def last_update(self) -> str:
        """What the last :meth:`update` did: "refit" where the order and number of points stayed, else "rebuilt"."""
        return self._updates.last

    def update(
        self, points: Rows, *, batch: Any = None, box: Numbers | None = None, cell: Numbers | None = None
    ) -> None:
        """Replace the points by others, as many or not, in the same box or cell or another one.

        Parameters
        ----------
        points : (n, dim), of the index's dtype; a host array is checked at once, a device array by :meth:`check`
        batch : (n,) integers, the system of each point from now on, where the index was built with a batch; as many
            points without it have their old systems
        box, cell : the periodic box from now on, as for :func:`search`; the same axes are periodic. Where boxes of
            systems differ, systems of new numbers need it

        Raises
        ------
        InvalidInputError
            Another dim or dtype, a host array that is not finite, or a `batch`, `box` or `cell` that does not fit the
            points or the index.
        DeviceMemoryError
            There is no memory for the new points. After any error the index still has its old points and box.

        Warns
        -----
        PrecisionWarning
            The radius is near the rounding of the coordinates, as for :func:`search`. Of a device array, the call that
            reads its bounds warns, and only where all points lie far out on one side of the origin, as bounds do not
            tell of others; with a batch, none warns.

        Notes
        -----
        Cost: that of building, in most updates without a wait and without a compilation. Points on the device are
        checked there, and an error comes up to eight updates later, or by :meth:`check`. ``aabb_tree`` waits for a
        number of the last update. Memory is allocated where the points are over an eighth more than it was allocated
        for. Where there are four times as many points as when the search was planned, or a quarter as many, or where
        the volume of the box changed as much, it is planned again, which waits and may compile.
        """
        self._updates.apply(points, box, cell, batch)

    @overload
    def count(
        self,
        queries: Rows | None = ...,
        *,
        radius: Radius | None = ...,
        include_self: bool = ...,
        where: Condition | None = ...,
        query_batch: Any = ...,
        to_host: Literal[False] = ...,
    ) -> DeviceArray[np.int32]: ...

    @overload
    def count(
        self,
        queries: Rows | None = ...,
        *,
        radius: Radius | None = ...,
        include_self: bool = ...,
        where: Condition | None = ...,
        query_batch: Any = ...,
        to_host: Literal[True],
    ) -> npt.NDArray[np.int32]: ...

    def count(
        self,
        queries: Rows | None = None,
        *,
        radius: Radius | None = None,
        include_self: bool = False,
        where: Condition | None = None,
        query_batch: Any = None,
        to_host: bool = False,
    ) -> Any:
        """Count the neighbors of each query.

        Parameters
        ----------
        queries : (m, dim); the index's own points when not given
        radius : scalar or (m,), at most that of the index, which is the default
        include_self : whether a point counts as its own neighbor
        where : a :class:`Condition`; a pair counts only where it holds
        query_batch : (m,) integers, the system of each query; needed with `queries` where points have a batch
        to_host : whether to wait, and to return a numpy array

        Returns
        -------
        (m,) int32 array on the device, for which the call does not wait; a numpy array where `to_host` says so

        Raises
        ------
        InvalidInputError
            A host array is not finite or has a wrong shape; device arrays are checked by :meth:`check`.

        Notes
        -----
        Cost: one visit; millions of queries may take a GPU another launch and m bytes.
        """
        asked = {"radius": radius, "include_self": include_self, "where": where, "query_batch": query_batch}
        counts = count_neighbors(self._traversal, queries, **asked)
        return read_only_copy(counts) if to_host else counts

    def nearest(
        self,
        queries: Rows | None = None,
        *,
        k: int | None = None,
        radius: Radius | None = None,
        include_self: bool = False,
        vectors: bool = False,
        where: Condition | None = None,
        query_batch: Any = None,
    ) -> Nearest:
        """Find the nearest neighbor of each query, or the k nearest, within the radius.

        Parameters
        ----------
        queries, radius, include_self, where, query_batch : as for :meth:`count`, which also says what raises
        k : number of neighbors of each query; None for one neighbor, in arrays without an axis of k
        vectors : whether the result has vectors; with periodic axes, these come with shifts

        Returns
        -------
        Nearest, on the device: ``indices`` and ``distances`` of shape (m,), or (m, k) where `k` is given

        Notes
        -----
        Cost: one visit, which leaves out what is farther than the k nearest so far. See :doc:`/guides/nearest`.
        """
        given = NearestArguments(
            k=k, radius=radius, include_self=include_self, vectors=vectors, where=where, query_batch=query_batch
        )
        return find_nearest(self._traversal, queries, given)

    def visit(
        self,
        function: NeighborFunction,
        queries: Rows | None = None,
        *,
        radius: Radius | None = None,
        include_self: bool = False,
        where: Condition | None = None,
        query_batch: Any = None,
        checked: bool = True,
        **arguments: Any,
    ) -> cl.Event:
        """Run your own code on the device for every neighbor of every query.

        Parameters
        ----------
        function : a :class:`NeighborFunction`: the code, and the declarations of its arguments
        queries, radius, include_self, where, query_batch : as for :meth:`count`, which also says what raises
        checked : whether to refuse arrays that are shorter than the code needs, as far as that is known
        **arguments : values by name: numbers, sequences for vectors, device arrays, and numpy arrays for const pointers

        Returns
        -------
        A ``pyopencl.Event``: ``event.wait()`` waits until the code has run everywhere. Later calls of clfrnn, and
        calls of pyopencl with the arrays that were given, run after it by themselves

        Raises
        ------
        ArgumentError
            An argument is missing, not declared, of another type, or too short, see `checked`.
        KernelBuildError
            The compiler refused the code; the message shows your own line.

        Notes
        -----
        An array that the code may write to, or that it indexes by bare ``i``, has at least one element for each query;
        one that it indexes by bare ``j`` has one for each point. Other indices cannot be known, and code that reads or
        writes beyond an array may end the process: see :doc:`/guides/functions`.

        Cost: one visit; a compilation for each kind of query.
        """
        given: dict[str, Any] = {"radius": radius, "include_self": include_self, "where": where, "checked": checked}
        return visit(self._traversal, function, queries, **given, query_batch=query_batch, arguments=arguments)

    @overload
    def query(
        self,
        queries: Rows | None = ...,
        *,
        radius: Radius | None = ...,
        include_self: bool = ...,
        distances: bool = ...,
        vectors: bool = ...,
        sort: Sort | None = ...,
        half: bool = ...,
        max_bytes: int | None = ...,
        hint: int | None = ...,
        where: Condition | None = ...,
        query_batch: Any = ...,
        to_host: Literal[False] = ...,
    ) -> NeighborList: ...

    @overload
    def query(
        self,
        queries: Rows | None = ...,
        *,
        radius: Radius | None = ...,
        include_self: bool = ...,
        distances: bool = ...,
        vectors: bool = ...,
        sort: Sort | None = ...,
        half: bool = ...,
        max_bytes: int | None = ...,
        hint: int | None = ...,
        where: Condition | None = ...,
        query_batch: Any = ...,
        to_host: Literal[True],
    ) -> HostNeighborList: ...

    def query(
        self,
        queries: Rows | None = None,
        *,
        radius: Radius | None = None,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: Sort | None = None,
        half: bool = False,
        max_bytes: int | None = None,
        hint: int | None = None,
        where: Condition | None = None,
        query_batch: Any = None,
        to_host: bool = False,
    ) -> NeighborList:
        """List every neighbor of each query, in a :class:`NeighborList` on the device.

        Parameters
        ----------
        queries, radius, include_self, where, query_batch : as for :meth:`count`, which also says what raises
        distances, vectors : whether the list has them; with periodic axes, vectors come with shifts
        sort : None, "index" or "distance", the order inside a row
        half : whether each pair is listed once, with ``i < j``; not with `queries` or an array of radii
        max_bytes : largest number of bytes of the list on the device
        hint : approximate number of pairs, at least; the call then does not wait for their number
        to_host : whether the list has numpy arrays, as :meth:`NeighborList.to_host` gives them

        Raises
        ------
        DeviceMemoryError
            The list does not fit the device or `max_bytes`; nothing is cut off. See :meth:`query_blocks`.

        Notes
        -----
        Cost: a visit that counts, a visit or a pass that writes, and one wait for the number of pairs. In a loop the
        device writes during that wait; with a `hint` the wait comes when the list is first read. Rows are written once
        more where there are more pairs than the hint says, or over an eighth more than the last list had.
        """
        given = ListArguments(
            radius=radius,
            include_self=include_self,
            distances=distances,
            vectors=vectors,
            sort=sort,
            half=half,
            max_bytes=max_bytes,
            hint=hint,
            where=where,
            query_batch=query_batch,
        )
        found = query_list(self._traversal, self._lists, queries, given)
        return found.to_host() if to_host else found

    def query_blocks(
        self,
        queries: Rows | None = None,
        *,
        max_bytes: int,
        radius: Radius | None = None,
        include_self: bool = False,
        distances: bool = False,
        vectors: bool = False,
        sort: Sort | None = None,
        half: bool = False,
        where: Condition | None = None,
        query_batch: Any = None,
    ) -> Iterator[NeighborList]:
        """List the neighbors of consecutive ranges of queries, each list on the device and within `max_bytes`.

        Parameters
        ----------
        max_bytes : largest number of bytes of a list on the device; each list has as many queries as fit
        queries, radius, include_self, distances, vectors, sort, half, where, query_batch : as for :meth:`query`

        Returns
        -------
        An iterator over lists of the points at the time of this call, also when the index is updated meanwhile. Row 0
        of a list is the query after the last one of the list before.

        Raises
        ------
        DeviceMemoryError
            One row alone exceeds `max_bytes`.

        Notes
        -----
        Cost: one visit for the counts, a visit for each list, 12 bytes for each query on the host, and on a GPU a copy
        of the points for lists with distances or vectors.
        """
        given = ListArguments(
            radius=radius,
            include_self=include_self,
            distances=distances,
            vectors=vectors,
            sort=sort,
            half=half,
            max_bytes=max_bytes,
            where=where,
            query_batch=query_batch,
        )
        return query_blocks(self._traversal, queries, given)

    def explain(self, *, long: bool = False) -> str:
        """Describe in a few lines how this index searches and why: the method, its cells or tree, bytes, candidates.

        A candidate is a point whose distance is tested. Their number for each neighbor is measured on at most a
        thousand points. `long` adds what was decided about the kernels. The text is for people, and its words may
        change.
        """
        return explain(self._traversal, self.method, self.nbytes, self.last_update, long=long)

    @overload
    def reorder(self, array: npt.NDArray[Element] | DeviceArray[Element], /) -> DeviceArray[Element]: ...

    @overload
    def reorder(self, array: Any, /) -> DeviceArray[Any]: ...

    @overload
    def reorder(self, *arrays: Any) -> tuple[DeviceArray[Any], ...]: ...

    def reorder(self, *arrays: Any) -> Any:
        """Return the rows of `arrays` in search order, as ``array[order]`` does, in a new array on the device for each.

        Parameters
        ----------
        *arrays : (n, ...) of any dtype, on the device or on the host; several are returned as a tuple

        Raises
        ------
        InvalidInputError
            An array has not one row for each point.

        Notes
        -----
        Cost: one read and one write of each array.
        """
        return reorder(self._traversal, arrays)

    @property
    def nbytes(self) -> dict[str, int]:
        """The bytes of the index on the device, a dict by the name of each buffer."""
        with self.session.lock:
            return sizes_of(self._traversal)

    @overload
    def empty(self, shape: int | Sequence[int], dtype: type[Element] | np.dtype[Element]) -> DeviceArray[Element]: ...

    @overload
    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = ...) -> DeviceArray[Any]: ...

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = None) -> DeviceArray[Any]:
        """Make an array on the device for :meth:`~clfrnn.Index.visit`, whose numbers are not set.

        Parameters
        ----------
        shape : whole number, or one for each axis
        dtype : the points' dtype when not given

        Raises
        ------
        InvalidInputError
            `shape` or `dtype` is not of that kind.
        DeviceMemoryError
            There is no memory for it.

        Examples
        --------
        >>> import clfrnn
        >>> index = clfrnn.build_index([[0.0, 0.0], [3.0, 4.0]], 5.0)
        >>> index.empty((2, 3), "int32").shape
        (2, 3)
        """
        return self.session.allocate(_as_shape(shape), _as_dtype(dtype, self.dtype), purpose="an array for a visit")

    @overload
    def zeros(self, shape: int | Sequence[int], dtype: type[Element] | np.dtype[Element]) -> DeviceArray[Element]: ...

    @overload
    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = ...) -> DeviceArray[Any]: ...

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike | None = None) -> DeviceArray[Any]:
        """Make an array of zeros on the device, with the arguments and errors of :meth:`empty`.

        Notes
        -----
        Cost: one write of the array.
        """
        array = self.empty(shape, dtype)
        clear(self.session, array)
        return array

    def check(self) -> None:
        """Wait for the device, and raise errors that earlier calls have not waited for.

        Raises
        ------
        InvalidInputError
            Points, queries or radii on the device were not finite, or a radius was too large.
        """
        self.session.queue.finish()
        self._traversal.checks.settle()

    def kernel_source(self) -> KernelSource:
        """Return a :class:`KernelSource`: OpenCL C that loops over neighbors, for kernels of your own.

        Its arguments describe the points as they are now; call it again after an :meth:`update`.
        """
        return make_kernel_source(self._traversal, self.method)


def _as_shape(shape: object) -> tuple[int, ...]:
    """Return `shape` as a tuple, or raise."""
    listed = isinstance(shape, (list, tuple)) or (isinstance(shape, np.ndarray) and shape.ndim > 0)
    given: Any = shape if listed else (shape,)
    sizes = tuple(-1 if (size := whole_number(each)) is None else size for each in given)
    if min(sizes, default=0) < 0 or max(sizes, default=0) >= 2**63:
        raise InvalidInputError(
            f"expected a whole number, or one for each axis, of at least 0, got {shown(shape)}; pass index."
            "num_points for one number for each point",
            argument="shape",
        )
    return sizes


def _as_dtype(dtype: npt.DTypeLike | None, default: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype`, or raise where a device has no such numbers."""
    try:
        found = default if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        found = np.dtype(object)
    if found.hasobject:
        raise InvalidInputError(
            f"expected a dtype of numbers, got {shown(dtype)}; pass numpy.float32, say", argument="dtype"
        )
    return found
