"""Results of queries: NeighborList, in CSR form, and Nearest."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from .errors import InvalidInputError
from .host.libraries import optional_library
from .host.locks import HasLock
from .host.numbers import shown, whole_number

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .device_array import DeviceArray

__all__ = ["HostNearest", "HostNeighborList", "Nearest", "NeighborList", "read_only_copy"]

_FIELDS = ("offsets", "indices", "distances", "vectors", "shifts")


class _Pair(NamedTuple):
    indices: DeviceArray[np.int32]
    distances: DeviceArray[np.floating[Any]]


class Nearest(_Pair):
    """The nearest neighbors of each query, in arrays on the device or the host.

    It can be unpacked: ``indices, distances = index.nearest()``.

    Attributes
    ----------
    indices : (m,) or (m, k) int32, -1 where there are fewer neighbors
    distances : the same shape, in the points' dtype, inf where there are fewer
    vectors : (m, k, dim) in the points' dtype, ``(points[j] - queries[i]) + shift * length``, 0 where there are fewer;
        None unless `vectors` was given
    shifts : (m, k, dim) int32, the periodic image of each neighbor, where an axis is periodic and there are vectors;
        else None

    With one nearest neighbor for each query, ``k=None``, the axis of k is missing. A row of k neighbors is in ascending
    order of squared distance, then index, then shift. :meth:`to_host` gives the same object with numpy arrays. Type
    checkers know it as `HostNearest`, and take `vectors` and `shifts` as if they were there.

    Examples
    --------
    >>> import clfrnn
    >>> found = clfrnn.nearest([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 2)
    >>> indices, distances = found.to_host()
    >>> indices.tolist(), distances[0].tolist()
    ([[1, 2], [0, 2], [1, 0]], [5.0, 12.727922061357855])
    """

    # None, too, for those that `_make` of named tuples makes, which knows of no more than the pair.
    vectors: DeviceArray[np.floating[Any]] = None  # type: ignore[assignment]
    shifts: DeviceArray[np.int32] = None  # type: ignore[assignment]

    def __new__(cls, indices: Any, distances: Any, vectors: Any = None, shifts: Any = None) -> Nearest:  # noqa: D102, PYI034
        found = super().__new__(cls, indices, distances)
        found.vectors, found.shifts = vectors, shifts
        return found

    def _replace(self, **given: Any) -> Nearest:
        """The same with other arrays, as named tuples have it; vectors and shifts stay unless they are given."""
        return type(self)(**{**self._asdict(), "vectors": self.vectors, "shifts": self.shifts, **given})

    def to_host(self) -> HostNearest:
        """Return the same with numpy arrays, which cannot be written to; waits for the device."""
        return HostNearest(*map(read_only_copy, (self.indices, self.distances, self.vectors, self.shifts)))

    def __repr__(self) -> str:
        extras = "".join(f", {name}" for name in ("vectors", "shifts") if getattr(self, name) is not None)
        where = "on the device" if _is_on_device(self.indices) else "in host memory"
        return f"<Nearest: {self.indices.shape}, {self.distances.dtype}{extras}, {where}>"

    def __reduce__(self) -> Any:
        if _is_on_device(self.indices):
            raise TypeError("these nearest neighbors lie on a device and cannot be pickled; pickle their to_host()")
        return Nearest, (self.indices, self.distances, self.vectors, self.shifts)


def _is_on_device(array: Any) -> bool:
    """Whether it is an array of pyopencl, which need not be loaded for others."""
    return hasattr(array, "base_data")


def read_only_copy(array: Any) -> Any:
    """An array on a device in host memory, which cannot be written to; anything else as it is."""
    if not _is_on_device(array):
        return array
    host = array.get()
    host.setflags(write=False)
    return host


class NeighborList:
    """The neighbors of every query, in arrays on the device or the host.

    The rows of all queries stand one after the other in one array (the format CSR). The neighbors of query ``i``, its
    row, are ``indices[offsets[i]:offsets[i + 1]]``, which ``neighbors[i]`` gives too, as an array of numpy. Below, m is
    the number of queries, and pairs that of all their neighbors.

    Attributes
    ----------
    offsets : (m + 1,) int32, or int64 from 2**31 pairs on
    indices : (pairs,) int32, rows of the caller's `points`
    distances : (pairs,) in the points' dtype, or None
    vectors : (pairs, dim) in the points' dtype, ``(points[j] - queries[i]) + shift * length``, or None
    shifts : (pairs, dim) int32, the periodic image of each neighbor, where an axis is periodic and there are vectors;
        else None

    These are :class:`~clfrnn.DeviceArray` on the device, which behave like numpy arrays; :meth:`to_host`
    gives the same object with numpy arrays. A list stays valid whatever happens to its index. A list that was made with
    a ``hint`` waits for the device when it is first read. Type checkers know a list on the host as `HostNeighborList`,
    and take the arrays of a list as if they were there.

    Examples
    --------
    >>> import clfrnn
    >>> neighbors = clfrnn.search([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], 5.0)
    >>> neighbors[0].tolist(), neighbors.counts.tolist()
    ([1], [1, 1, 0])
    """

    def __init__(
        self,
        arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        *,
        num_queries: int,
        num_points: int,
        dtype: npt.DTypeLike,
        images: bool = False,
        of_points: bool = False,
        device: str = "",
        session: HasLock | None = None,
    ) -> None:
        self.num_points = num_points
        self.dtype = np.dtype(dtype)
        self._num_queries = num_queries
        #: the arrays by name, or a function that waits for them and returns them
        self._arrays = arrays
        #: whether a row may hold several images of one point
        self._images = images
        #: whether row i is that of point i
        self._of_points = of_points
        self._device = device
        #: the session of arrays on a device, whose lock is held to read them
        self._session = session
        self._host: HostNeighborList | None = None

    def _field(self, name: str) -> Any:
        if self._session is not None:
            with self._session.lock:  # which raises in a forked child
                if callable(self._arrays):
                    self._arrays = self._arrays()
        assert not callable(self._arrays), "a list that waits has the session that it waits for"
        return self._arrays.get(name)

    @property
    def offsets(self) -> DeviceArray[np.int32 | np.int64]:
        """The start of each row, and the end of the last one, (m + 1,)."""
        return self._field("offsets")

    @property
    def indices(self) -> DeviceArray[np.int32]:
        """The neighbors, row by row, (pairs,)."""
        return self._field("indices")

    @property
    def distances(self) -> DeviceArray[np.floating[Any]]:
        """The distance of each pair, (pairs,), or None."""
        return self._field("distances")

    @property
    def vectors(self) -> DeviceArray[np.floating[Any]]:
        """The vector of each pair from query to neighbor, (pairs, dim), or None."""
        return self._field("vectors")

    @property
    def shifts(self) -> DeviceArray[np.int32]:
        """The periodic image of each neighbor, (pairs, dim), or None."""
        return self._field("shifts")

    @property
    def num_pairs(self) -> int:
        """The number of pairs of all queries."""
        return int(self.indices.shape[0])

    def __len__(self) -> int:
        return self._num_queries

    def __repr__(self) -> str:
        extras = "".join(f", {name}" for name in _FIELDS[2:] if getattr(self, name) is not None)
        where = f"on {self._device}" if self._on_device else "in host memory"
        return f"<NeighborList: {self.num_pairs:,} pairs of {len(self):,} queries{extras}, {self.dtype}, {where}>"

    @property
    def _on_device(self) -> bool:
        return self._session is not None

    def to_host(self) -> HostNeighborList:
        """Return the same list with numpy arrays, which cannot be written to; they are copied from the device once."""
        if self._session is None:
            return self  # type: ignore[return-value]
        if self._host is not None:
            return self._host
        with self._session.lock:
            if self._host is None:  # another thread may have copied them meanwhile
                arrays = {name: self._field(name) for name in _FIELDS}
                copies = {name: read_only_copy(array) for name, array in arrays.items()}
                self._host = HostNeighborList(copies, **self._facts())
        return self._host

    def _facts(self) -> dict[str, Any]:
        return {
            "num_queries": self._num_queries,
            "num_points": self.num_points,
            "dtype": self.dtype,
            "images": self._images,
            "of_points": self._of_points,
        }

    def __getitem__(self, row: int) -> npt.NDArray[np.int32]:
        try:
            i = operator.index(row)
        except TypeError:
            raise TypeError(
                f"a NeighborList is indexed by one row number, got {type(row).__name__}; pass an int"
            ) from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"row {i} of a NeighborList with {len(self)} rows")
        host = self.to_host()
        i %= len(self)
        return host.indices[host.offsets[i] : host.offsets[i + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> Any:
        if self._on_device:
            raise TypeError("this NeighborList lies on a device and cannot be pickled; pickle its to_host()")
        arrays = {name: self._field(name) for name in _FIELDS}
        return (_restore, (arrays, self._facts()))

    def _check_single_images(self, wanted_by: str) -> None:
        """Raise where a row holds a point twice."""
        rows, points = self.to_coo()
        order = np.lexsort((points, rows))
        again = (np.diff(rows[order]) == 0) & (np.diff(points[order]) == 0)
        if again.any():
            k = order[int(np.argmax(again))]
            raise InvalidInputError(
                f"query {rows[k]} sees several images of point {points[k]}, and there is one place for "
                "them; use to_coo(), or a radius below half the length of the box",
                argument=wanted_by,
            )

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """The number of neighbors of each query, (m,) int32, an array of numpy."""
        return np.diff(self.to_host().offsets).astype(np.int32)

    def to_coo(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the pairs as (query_ids, point_ids), two arrays of numpy, each (pairs,) int32."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.counts), self.to_host().indices

    def edge_index(self) -> npt.NDArray[np.int32]:
        """Return the pairs as one array, (2, pairs) int32: query ids, then point ids."""
        return np.stack(self.to_coo())

    @overload
    def to_padded(
        self, fill: int = ..., width: int | None = ..., *, on_device: Literal[False] = ...
    ) -> npt.NDArray[np.int32]: ...
    @overload
    def to_padded(
        self, fill: int = ..., width: int | None = ..., *, on_device: Literal[True]
    ) -> DeviceArray[np.int32]: ...
    def to_padded(
        self, fill: int = -1, width: int | None = None, *, on_device: bool = False
    ) -> npt.NDArray[np.int32] | DeviceArray[np.int32]:
        """Return the rows as a table, (m, width) int32, filled up with `fill` where a query has fewer neighbors.

        Parameters
        ----------
        fill : whole number that int32 holds
        width : how many columns; the longest row when not given. Less than that raises, as nothing is cut off
        on_device : whether to return a :class:`DeviceArray`, made on the list's device; one number is read then

        Raises
        ------
        InvalidInputError
            `width` or `fill` is out of range, or the list lies in host memory and the table is wanted on a device.
        DeviceMemoryError
            The table does not fit the device.
        """
        if (number := whole_number(fill)) is None or not -(2**31) <= number < 2**31:
            raise InvalidInputError(
                f"expected a whole number that int32 holds, got {shown(fill)}; pass -1, say", argument="fill"
            )
        if on_device and not self._on_device:
            raise InvalidInputError(
                "expected a list on a device, got one in host memory; call it on the list before to_host()",
                argument="on_device",
            )
        lengths = self.offsets[1:] - self.offsets[:-1] if on_device else self.counts
        longest = int(lengths.max()) if len(self) else 0
        columns = longest if width is None else operator.index(width)
        if columns < longest:
            raise InvalidInputError(
                f"expected at least {longest}, the longest row, got {columns}; leave it out to fit all rows",
                argument="width",
            )
        if on_device:
            from .device_array import padded_on_device  # noqa: PLC0415 — as lists in host memory need no OpenCL

            return padded_on_device(self.offsets, self.indices, columns, number)
        padded = np.full((len(self), columns), number, np.int32)
        padded[np.arange(columns) < self.counts[:, None]] = self.to_host().indices
        return padded

    def to_scipy(self) -> csr_array:
        """Return a ``scipy.sparse.csr_array``, (m, n), whose entries are the distances if the list has them, else ones.

        Distances of zero are stored entries. A matrix has one entry for each pair of points, so that several images of
        one pair raise.
        """
        sparse = optional_library("scipy.sparse", "to_scipy()")
        host = self.to_host()
        if self._images and host.num_pairs:
            self._check_single_images("to_scipy")
        weights = np.ones(host.num_pairs, self.dtype) if host.distances is None else host.distances
        # copied, as sparse matrices are sorted and scaled in place
        return sparse.csr_array((weights, host.indices, host.offsets), shape=(len(self), self.num_points), copy=True)

    def to_torch(self, device: Any = None, *, points_first: bool = False) -> Any:
        """Return the pairs as a tensor of PyTorch, (2, pairs) int64: query ids, then point ids, as :meth:`edge_index`.

        Parameters
        ----------
        device : the tensor's device; the CPU when not given. On the GPU of the list, pairs are copied as by
            :meth:`DeviceArray.to_torch`
        points_first : whether point ids stand in the first row, as edges from neighbors to queries have them

        Raises
        ------
        ClfrnnError
            PyTorch is not installed.
        """
        torch = optional_library("torch", "to_torch()")
        place = torch.device("cpu" if device is None else device)
        if self._on_device and place.type == "cuda":
            from .device_array import edges_on_gpu  # noqa: PLC0415

            shared = edges_on_gpu(torch, place, self.offsets, self.indices, points_first=points_first)
            if shared is not None:
                return shared
        edges = torch.empty((2, self.num_pairs), dtype=torch.int64, device=place)
        points, queries = (edges[0], edges[1]) if points_first else (edges[1], edges[0])
        if place.type == "cpu" or not self._on_device:
            for row, ids in zip((queries, points), self.to_coo(), strict=True):
                row.copy_(torch.from_numpy(np.array(ids)))
            return edges
        counts = self.offsets.to_torch(place).diff()
        queries.copy_(torch.repeat_interleave(counts, output_size=self.num_pairs))
        self.indices.to_torch(out=points)
        return edges

    def to_pandas(self) -> Any:
        """Return the pairs as a ``pandas.DataFrame``, a row for each.

        Its columns are "query" and "point", and what the list has of "distance", "vector_0" and so on, and "shift_0"
        and so on.

        Raises
        ------
        ClfrnnError
            pandas is not installed.
        """
        pandas = optional_library("pandas", "to_pandas()")
        host = self.to_host()
        query_ids, point_ids = self.to_coo()
        columns: dict[str, npt.NDArray[Any]] = {"query": query_ids, "point": point_ids}
        if host.distances is not None:
            columns["distance"] = host.distances
        for name, array in (("vector", host.vectors), ("shift", host.shifts)):
            if array is not None:
                columns |= {f"{name}_{axis}": array[:, axis] for axis in range(array.shape[1])}
        return pandas.DataFrame(columns)

    def to_networkx(self) -> Any:
        """Return the points and their pairs as a ``networkx.Graph``: all points are nodes, and each pair is one edge.

        An edge has the attribute "distance" where the list has distances.

        Raises
        ------
        InvalidInputError
            The list is of other queries than the points, whose numbers would be those of points; or a pair has several
            images, of which the graph has one.
        ClfrnnError
            networkx is not installed.
        """
        networkx = optional_library("networkx", "to_networkx()")
        if not self._of_points:
            raise InvalidInputError(
                f"expected a list of the points themselves, got one of {len(self):,} queries for {self.num_points:,} "
                "points; search without queries, or use to_coo(), and number queries behind the points",
                argument="to_networkx",
            )
        host = self.to_host()
        if self._images and host.num_pairs:
            self._check_single_images("to_networkx")
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.num_points))
        pairs = [each.tolist() for each in self.to_coo()]
        if host.distances is None:
            graph.add_edges_from(zip(*pairs, strict=True))
        else:
            graph.add_weighted_edges_from(zip(*pairs, host.distances.tolist(), strict=True), weight="distance")
        return graph


# Objects of the host have the same classes. Type checkers see classes of their own, as the arrays are of other types.
if TYPE_CHECKING:

    class _HostPair(NamedTuple):
        indices: npt.NDArray[np.int32]
        distances: npt.NDArray[np.floating[Any]]

    class HostNearest(_HostPair):
        """Nearest neighbors in numpy arrays, as :meth:`Nearest.to_host` gives them."""

        vectors: npt.NDArray[np.floating[Any]]
        shifts: npt.NDArray[np.int32]

        def __new__(cls, indices: Any, distances: Any, vectors: Any = None, shifts: Any = None) -> HostNearest:  # noqa: PYI034
            """Make one of numpy arrays."""

        def to_host(self) -> HostNearest:
            """Return the same object."""

    class HostNeighborList(NeighborList):
        """A list in numpy arrays, as :meth:`NeighborList.to_host` gives it."""

        offsets: npt.NDArray[np.int32 | np.int64]  # type: ignore[assignment]
        indices: npt.NDArray[np.int32]  # type: ignore[assignment]
        distances: npt.NDArray[np.floating[Any]]  # type: ignore[assignment]
        vectors: npt.NDArray[np.floating[Any]]  # type: ignore[assignment]
        shifts: npt.NDArray[np.int32]  # type: ignore[assignment]

else:
    HostNearest, HostNeighborList = Nearest, NeighborList


def _restore(arrays: dict[str, Any], facts: dict[str, Any]) -> HostNeighborList:
    """Restore a pickled list."""
    return HostNeighborList(arrays, **facts)
