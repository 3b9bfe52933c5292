"""The face of scipy.spatial: KDTree, with scipy's arguments and results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..conditions import Condition
from ..errors import ArgumentError, ClfrnnError, InvalidInputError
from ..host.numbers import real_array, real_number, shown, whole_number
from ..host.objects import refuse_objects
from ..index import Index
from ..points.on_device import as_points
from ..points.sessions import choose_session
from ..results import NeighborList
from ..runtime.session import Session
from .kinds_of_errors import kind_of_error
from .nearest_image import TorusBox, reaching
from .pair_histogram import pairs_between_radii
from .searched_points import SearchedPoints

__all__ = ["KDTree", "cKDTree"]

#: Classes of scipy.sparse that hold the distances of pairs.
_SPARSE = ("dok_array", "coo_array", "dok_matrix", "coo_matrix")


class KDTree:
    """Points for searches by distance: ``scipy.spatial.KDTree`` with p = 2, searched exactly on an OpenCL device.

    Parameters
    ----------
    data : (n, m), m from 1 to 12, finite; not to be changed while the tree is in use, unless `copy_data` is given
    leafsize, compact_nodes, balanced_tree : taken, and without effect, as there is no tree of such nodes
    copy_data : whether the tree has a copy of `data`
    boxsize : scalar or (m,), the lengths of a box that repeats; 0 for an axis that does not. Points lie from 0 up to,
        but not including, the length, and each counts once, at its nearest image
    dtype : float64, in which scipy computes, or float32, which takes less time on most devices. By default float64, and
        float32 for points of float32 on a device without float64
    session : a :class:`clfrnn.Session`; by default that of `data` on a device, else :func:`clfrnn.default_session`

    Raises
    ------
    InvalidInputError
        The points cannot be searched, or lie outside the box; all methods raise it for arguments that they do not take.
    NoDeviceError
        There is no device.

    Notes
    -----
    An index is built at the first query, for its radius, and serves later queries of about that radius. A call with
    thousands of queries takes little longer than one with a single query. `eps` is taken, and results are exact;
    `workers` is taken, and the device decides; a `p` other than 2 is refused. :doc:`/start/coming-from-scipy` lists
    what differs.

    Examples
    --------
    >>> from clfrnn.interop.scipy import KDTree
    >>> tree = KDTree([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]])
    >>> sorted(tree.query_ball_point([0.0, 0.0], 5.0))
    [0, 1]
    >>> distances, indices = tree.query([[9.0, 8.0]], k=2)
    >>> distances.round(3).tolist(), indices.tolist()
    ([[1.0, 7.211]], [[2, 1]])
    """

    def __init__(
        self,
        data: Any,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Any = None,
        *,
        dtype: npt.DTypeLike | None = None,
        session: Session | None = None,
    ) -> None:
        if (leaf := _whole(leafsize)) is None or leaf < 1:
            raise kind_of_error(leafsize)(
                f"expected a whole number of at least 1, got {shown(leafsize)}; leave it out", argument="leafsize"
            )
        session = choose_session(session, data)
        given = _real_rows(data, "data")
        narrow = not session.profile.fp64 and given.dtype == np.float32
        real = np.dtype(("f4" if narrow else "f8") if dtype is None else dtype)
        host: npt.NDArray[Any] = np.ascontiguousarray(given, real)
        self._data = host.copy() if copy_data and np.shares_memory(host, given) else host
        points = as_points(self.data, dtype=real, name="data", session=session)
        self._leafsize = leaf
        self._boxsize = None if boxsize is None else _read_only(_lengths(boxsize, self.m))
        self._lengths = np.zeros(self.m) if self.boxsize is None else self.boxsize
        self._box = TorusBox(self._lengths)
        self._check_inside()
        self._searched = SearchedPoints(points, session, **self._box.domain)
        self._how = (bool(compact_nodes), bool(copy_data), bool(balanced_tree))

    def __reduce__(self) -> Any:
        compact, copy, balanced = self._how
        return _restore, (type(self), self.data, (self.leafsize, compact, copy, balanced, self.boxsize))

    def __repr__(self) -> str:
        where = self._searched.session.profile.name
        return f"<{type(self).__name__}: {self.n:,} points in {self.m}D, {self.data.dtype}, on {where}>"

    @property
    def data(self) -> npt.NDArray[Any]:
        """The points, (n, m): the array that was given, where it has the dtype of the tree and is not copied."""
        return self._data

    @property
    def boxsize(self) -> npt.NDArray[np.float64] | None:
        """The lengths of the box, (m,) float64, read-only; None where there is none."""
        return self._boxsize

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.data)

    @property
    def m(self) -> int:
        """The number of coordinates of a point."""
        return int(self.data.shape[1])

    @property
    def leafsize(self) -> int:
        """The number that was given, which nothing depends on."""
        return self._leafsize

    @property
    def maxes(self) -> npt.NDArray[Any]:
        """The highest coordinate of the points on each axis, (m,)."""
        return _read_only(self.data.max(axis=0) if self.n else np.zeros(self.m))

    @property
    def mins(self) -> npt.NDArray[Any]:
        """The lowest coordinate of the points on each axis, (m,)."""
        return _read_only(self.data.min(axis=0) if self.n else np.zeros(self.m))

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = math.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:
        """Find the k nearest points of each query.

        Parameters
        ----------
        x : (..., m) queries
        k : how many points, or a list of which ones, counted from 1
        eps, p, workers : see :class:`KDTree`
        distance_upper_bound : points that are as far, or farther, are left out

        Returns
        -------
        distances : (..., k) float64, ascending, inf where there are fewer points; without the last axis where k is 1,
            and a float for one query
        indices : the same shape, `n` where there are fewer points; of points at the same distance, the lowest is first

        Notes
        -----
        Cost: that of :func:`clfrnn.nearest`, and of later calls one visit where queries are as close to the points.
        """
        _check_norm(p, eps, workers)
        ranks, axes = _ranks(k)
        bound = _distance(distance_upper_bound, "distance_upper_bound")
        rows, shape = self._queries(x)
        with self._searched.session.lock:
            indices, distances = self._nearest(rows, max(ranks), bound)
        columns = np.asarray(ranks, np.intp) - 1
        found = np.where(indices < 0, self.n, indices).astype(np.intp)[:, columns]
        far = distances.astype(np.float64)[:, columns]
        far, found = far.reshape(shape + axes), found.reshape(shape + axes)
        return (far, found) if far.shape else (float(far), found[()])

    def _nearest(self, rows: npt.NDArray[Any], k: int, bound: float) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """The k nearest points of each query that are closer than a bound, as :class:`clfrnn.Nearest` has them."""
        if bound < math.inf:
            reach = self._clamp(bound, rows)
            where = self._one_image(rows, reach, "d2 < r2" if reach == bound else "")
            found = self._searched.within(reach).nearest(rows, k=k, radius=reach, where=where).to_host()
            return found.indices, found.distances
        indices = np.full((len(rows), k), -1, np.int32)
        distances = np.full((len(rows), k), np.inf, rows.dtype)
        if taken := min(k, self.n):  # of more, images would fill the rows
            indices[:, :taken], distances[:, :taken] = self._searched.nearest(rows, taken)
        # Beyond half of the box, a point may stand in a row with two of its images.
        last = distances[:, max(taken, 1) - 1]
        twice = np.flatnonzero(np.isfinite(last) & (last > self._box.radius_of_one_image))
        if len(twice):
            indices[twice], distances[twice] = self._nearest(rows[twice], k, float(np.finfo(rows.dtype).max))
        return indices, distances

    def query_ball_point(
        self,
        x: Any,
        r: Any,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int = 1,
        return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> Any:
        """Find the points within a distance of each query.

        Parameters
        ----------
        x : (..., m) queries
        r : scalar, or an array that is broadcast to the shape of the queries, one radius for each; the ball is closed
        p, eps, workers : see :class:`KDTree`
        return_sorted : whether rows are sorted by index; by default those of several queries
        return_length : whether to return the numbers of points alone, without their indices

        Returns
        -------
        A list of indices for one query; for several an object array of lists, of their shape. With `return_length`, a
        number or an array of intp

        Notes
        -----
        Cost: one visit for numbers; for indices, a list on the device and the time in which Python makes its lists.
        """
        _check_norm(p, eps, workers)
        rows, shape = self._queries(x)
        radii = _distances(r, "r")
        if radii.shape:
            radii = _one_for_each(radii, shape)
        with self._searched.session.lock:
            index, asked = self._ask(rows, radii)
            if return_length:
                return index.count(**asked).get().astype(np.intp).reshape(shape)[()]
            ordered = bool(shape) if return_sorted is None else return_sorted
            lists = _rows_of(index.query(sort="index" if ordered else None, to_host=True, **asked))
        return np.fromiter(lists, object, len(lists)).reshape(shape) if shape else lists[0]

    def query_ball_tree(self, other: KDTree, r: float, p: float = 2.0, eps: float = 0.0) -> list[list[int]]:
        """Find the points of another tree within a distance of each point of this one.

        Parameters
        ----------
        other : the other tree, or this one
        r : scalar; the ball is closed
        p, eps : see :class:`KDTree`

        Returns
        -------
        For each point of this tree, the list of indices of points of the other one, ascending
        """
        _check_norm(p, eps)
        with self._searched.session.lock:
            return _rows_of(self._pairs_with(other, _distance(r, "r"), sort="index"))

    def query_pairs(
        self, r: float, p: float = 2.0, eps: float = 0.0, output_type: Literal["set", "ndarray"] = "set"
    ) -> Any:
        """Find all pairs of points within a distance of each other.

        Parameters
        ----------
        r : scalar; the ball is closed
        p, eps : see :class:`KDTree`
        output_type : "set" or "ndarray"

        Returns
        -------
        Pairs ``(i, j)`` with ``i < j``: a set of tuples, or an array, (pairs, 2) intp
        """
        _check_norm(p, eps)
        _check_choice(output_type, ("set", "ndarray"))
        with self._searched.session.lock:
            index, asked = self._ask(self.data, np.asarray(_distance(r, "r")))
            found = index.query(half=True, to_host=True, **{**asked, "include_self": False})
        i, j = found.to_coo()
        if output_type == "set":
            return set(zip(i.tolist(), j.tolist(), strict=True))
        return np.stack([i, j], axis=1).astype(np.intp)

    def count_neighbors(
        self, other: KDTree, r: Any, p: float = 2.0, weights: Any = None, cumulative: bool = True
    ) -> Any:
        """Count the pairs of points of this tree and another one within distances.

        Parameters
        ----------
        other : the other tree, or this one
        r : scalar, or (k,) radii
        p : see :class:`KDTree`
        weights : None; a weight for each point, where `other` is this tree; or a tuple with the weights of this tree's
            points and of the other's, each of which may be None. A pair then counts with the product
        cumulative : whether a radius counts all pairs within it, or those beyond the radius before it alone, which must
            not be larger

        Returns
        -------
        (k,) numbers, intp, or float64 where there are weights; for one radius an int, or a number of float64

        Notes
        -----
        Cost: one visit of the largest radius, for any number of radii.
        """
        _check_norm(p)
        other = self._checked(other)
        radii = _distances(r, "r")
        if radii.ndim > 1:
            raise InvalidInputError(
                f"expected a number or a flat array, got shape {radii.shape}; pass r.ravel()", argument="r"
            )
        flat = radii.reshape(-1)
        if not cumulative and (flat[1:] < flat[:-1]).any():
            raise InvalidInputError(
                "expected radii that do not decrease with cumulative=False; sort them", argument="r"
            )
        own, others = self._weights(other, weights)
        with self._searched.session.lock:
            totals = self._count_between(other, flat, own, others)
        weighted = own is not None or others is not None
        counted = np.zeros(flat.size, np.float64 if weighted else np.intp)
        counted[np.argsort(flat, kind="stable")] = np.cumsum(totals) if cumulative else totals
        if radii.ndim:
            return counted
        return counted[0] if weighted else int(counted[0])

    def _count_between(
        self, other: KDTree, radii: npt.NDArray[Any], own: Any, others: Any
    ) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
        """The pairs, or their weights, beyond each of the sorted radii and within the next one."""
        if not len(radii) or not self.n or not other.n:
            return np.zeros(len(radii))
        reach = other._clamp(float(radii.max()), self.data)
        edges = np.sort(np.minimum(radii, reach).astype(other.data.dtype))
        index = other._searched.within(float(edges[-1]))
        given = {"weights": others, "query_weights": own}
        rows = self._searched.points if self.data.dtype == other.data.dtype else self.data
        return pairs_between_radii(
            index,
            rows,
            edges,
            where=lambda block: other._one_image(block, reach),
            **given,
        )

    def sparse_distance_matrix(
        self,
        other: KDTree,
        max_distance: float,
        p: float = 2.0,
        output_type: Literal["dok_array", "coo_array", "dok_matrix", "coo_matrix", "dict", "ndarray"] = "dok_matrix",
    ) -> Any:
        """Compute the distances of all pairs of points of this tree and another one within a distance.

        Parameters
        ----------
        other : the other tree, or this one
        max_distance : scalar; the ball is closed
        p : see :class:`KDTree`
        output_type : a sparse array or matrix of scipy, as named; "dict" by pairs ``(i, j)``; or "ndarray" with the
            fields i, j and v

        Raises
        ------
        ClfrnnError
            A sparse array or matrix is wanted, and scipy is not installed.
        """
        _check_norm(p)
        _check_choice(output_type, (*_SPARSE, "dict", "ndarray"))
        with self._searched.session.lock:
            found = self._pairs_with(other, _distance(max_distance, "max_distance"), distances=True)
        i, j = found.to_coo()
        far = found.distances.astype(np.float64)
        if output_type == "dict":
            return dict(zip(zip(i.tolist(), j.tolist(), strict=True), far.tolist(), strict=True))
        if output_type == "ndarray":
            table = np.empty(len(i), np.dtype([("i", np.intp), ("j", np.intp), ("v", np.float64)], align=True))
            table["i"], table["j"], table["v"] = i, j, far
            return table
        try:
            from scipy import sparse
        except ImportError:
            raise ClfrnnError(f"a {output_type} needs scipy: pip install scipy") from None
        listed = getattr(sparse, output_type.replace("dok", "coo"))((far, (i, j)), shape=(self.n, other.n))
        return listed.todok() if output_type.startswith("dok") else listed

    def _queries(self, x: Any) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
        """The queries as rows, inside the box, and the shape of what is returned for them."""
        given = _real_numbers(x, "x")
        if not given.ndim or given.shape[-1] != self.m:
            raise InvalidInputError(
                f"expected shape (..., {self.m}), as the points have {self.m} coordinates, got {given.shape}; pass one "
                "row for each query",
                argument="x",
            )
        rows = np.ascontiguousarray(given, self.data.dtype).reshape(-1, self.m)
        return self._box.wrap(rows), given.shape[:-1]

    def _ask(self, rows: npt.NDArray[Any], radii: npt.NDArray[np.float64]) -> tuple[Index, dict[str, Any]]:
        """An index, and the arguments of its calls for the points within one radius of queries, or a radius of each.

        Queries that are the points are not copied again.
        """
        reach = self._clamp(float(radii.max(initial=0)), rows)
        asked: dict[str, Any] = {"where": self._one_image(rows, reach), "include_self": True}
        if not np.array_equal(rows, self.data):
            asked["queries"] = rows
        asked["radius"] = np.minimum(radii, reach) if radii.shape else reach
        return self._searched.within(reach), asked

    def _pairs_with(self, other: KDTree, radius: float, **wanted: Any) -> NeighborList:
        """The list of points of another tree within a radius of each point of this one."""
        other = self._checked(other)
        index, asked = other._ask(self.data.astype(other.data.dtype, copy=False), np.asarray(radius))  # noqa: SLF001 — of this class
        return index.query(to_host=True, **asked, **wanted)

    def _clamp(self, radius: float, rows: npt.NDArray[Any]) -> float:
        """A radius that reaches the same points from queries."""
        return float(reaching(radius, self.data, rows, box=self._box))

    def _one_image(self, rows: Any, reach: float, also: str = "") -> Condition | None:
        """The condition that a pair counts once, and that `also` holds; None where neither has to be asked."""
        if reach > self._box.radius_of_one_image:
            return self._box.condition(self._searched.points, rows, also)
        return Condition(also) if also else None

    def _checked(self, other: object) -> KDTree:
        """Another tree, or an error where its points have other coordinates."""
        if not isinstance(other, KDTree):
            raise ArgumentError(
                f"expected a clfrnn.interop.scipy.KDTree, got {type(other).__name__}; make one: KDTree(other.data)",
                argument="other",
            )
        if other.m != self.m or not np.array_equal(other._lengths, self._lengths):  # noqa: SLF001
            raise InvalidInputError(
                f"expected a tree of {self.m} coordinates and boxsize {self.boxsize}, got {other.m} and "
                f"{other.boxsize}; make both trees alike",
                argument="other",
            )
        return other

    def _weights(self, other: KDTree, weights: Any) -> tuple[npt.NDArray[np.float64] | None, ...]:
        """The weights of this tree's points and of another's."""
        if not isinstance(weights, tuple):
            if weights is not None and other is not self:
                raise InvalidInputError(
                    "expected a tuple with the weights of either tree, got weights for one alone; pass (own, others)",
                    argument="weights",
                )
            weights = (weights, weights)
        if len(weights) != 2:
            raise InvalidInputError(
                f"expected the weights of two trees, got {len(weights)}; pass (own, others)", argument="weights"
            )
        found = []
        for each, tree in zip(weights, (self, other), strict=True):
            array = None if each is None else real_array(each)
            if each is not None and (array is None or array.shape != (tree.n,) or not np.isfinite(array).all()):
                raise kind_of_error(each)(
                    f"expected a finite number for each of {tree.n:,} points, got {shown(each)}; pass {tree.n} of them",
                    argument="weights",
                )
            found.append(array)
        return tuple(found)

    def _check_inside(self) -> None:
        """Raise where points lie outside the box."""
        periodic = self._box.periodic
        if not self._box or not self.n:
            return
        low, high = self.mins[periodic], self.maxes[periodic]
        if (low < 0).any() or (high >= self._lengths[periodic]).any():
            raise InvalidInputError(
                f"expected coordinates from 0 up to, but not including, the boxsize {self.boxsize}, got {low} to "
                f"{high}; wrap them: data % boxsize",
                argument="data",
            )


#: As scipy.spatial has two names for it; leaf sizes, which differ there, have no effect.
cKDTree = KDTree  # noqa: N816


def _restore(kind: type[KDTree], data: npt.NDArray[Any], how: tuple[Any, ...]) -> KDTree:
    """Restore a pickled tree."""
    return kind(data, *how, dtype=data.dtype)


def _real_numbers(value: Any, name: str) -> npt.NDArray[Any]:
    """Return an array of finite numbers, float32 or float64, or raise."""
    refuse_objects(value, name)
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise ArgumentError("KDTree does not work with complex data; pass real numbers", argument=name)
    if array.dtype not in (np.float32, np.float64):
        numbers = array.astype(np.float64) if array.dtype.kind in "biuf" else real_array(array)
        if numbers is None:
            raise InvalidInputError(f"expected numbers, got {shown(value)}; convert it", argument=name)
        array = numbers
    if not np.isfinite(array).all():
        raise InvalidInputError("numbers must be finite, got NaN or inf; remove or repair these rows", argument=name)
    return array


def _real_rows(value: Any, name: str) -> npt.NDArray[Any]:
    """Return rows of finite numbers, or raise."""
    array = _real_numbers(value, name)
    if array.ndim != 2:
        raise InvalidInputError(
            f"expected shape (n, m), a row for each point, got {array.shape}; reshape it", argument=name
        )
    return array


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written: what a tree was made of does not change by its attributes."""
    view = array.view()
    view.flags.writeable = False
    return view


def _lengths(boxsize: Any, m: int) -> npt.NDArray[np.float64]:
    """Return the length of each axis, 0 for an axis that does not repeat, or raise."""
    array = real_array(boxsize)
    if array is None or array.shape not in ((), (1,), (m,)) or not ((array >= 0) & np.isfinite(array)).all():
        raise InvalidInputError(
            f"expected a length of at least 0, or {m} of them, got {shown(boxsize)}; pass 0 for an axis that does not "
            "repeat",
            argument="boxsize",
        )
    return np.broadcast_to(array, (m,)).copy()


def _whole(value: Any) -> int | None:
    """A whole number, which may be a float; None for anything else."""
    number = real_number(value)
    return int(value) if number.is_integer() else None


def _distances(value: Any, name: str) -> npt.NDArray[np.float64]:
    """Return numbers of at least 0, or infinite ones, or raise."""
    array = real_array(value)
    if array is None or not (array >= 0).all():
        raise kind_of_error(value)(
            f"expected numbers of at least 0, got {shown(value)}; pass distances in the points' unit", argument=name
        )
    return array


def _distance(value: Any, name: str) -> float:
    """Return one such number, or raise."""
    array = _distances(value, name)
    if array.ndim:
        raise ArgumentError(f"expected one number, got {shown(value)}; pass one at a time", argument=name)
    return float(array)


def _one_for_each(radii: npt.NDArray[np.float64], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The radius of each query, for queries of a shape."""
    try:
        return np.broadcast_to(radii, shape).reshape(-1)
    except ValueError:
        raise InvalidInputError(
            f"expected a number, or radii that fit queries of shape {shape}, got shape {radii.shape}; pass one "
            "for each query",
            argument="r",
        ) from None


def _ranks(k: Any) -> tuple[list[int], tuple[int, ...]]:
    """The neighbors that are wanted, counted from 1, and the axes that they take in results."""
    single = _whole(k)
    many = isinstance(k, (Sequence, np.ndarray)) and np.ndim(k) == 1
    listed = [single] if not many else [_whole(each) for each in k]
    found = [each for each in listed if each is not None and each >= 1]
    if not found or len(found) != len(listed):
        raise kind_of_error(k)(
            f"k must be an integer or a sequence of integers of at least 1, got {shown(k)}; pass k=1, say",
            argument="k",
        )
    if single is None:
        return found, (len(found),)
    return list(range(1, single + 1)), (single,) if single > 1 else ()


def _rows_of(found: NeighborList) -> list[list[int]]:
    """The rows of a list as lists of Python's."""
    flat, offsets = found.indices.tolist(), found.offsets.tolist()
    return [flat[begin:end] for begin, end in itertools.pairwise(offsets)]


def _check_norm(p: Any, eps: Any = 0.0, workers: Any = 1) -> None:
    """Raise for a norm that is not the Euclidean one, and for what scipy refuses as well."""
    if real_number(p) != 2:
        raise kind_of_error(p)(
            f"expected 2, as distances are Euclidean, got {shown(p)}; scipy.spatial.KDTree has other norms",
            argument="p",
        )
    if not real_number(eps) >= 0:
        raise kind_of_error(eps)(f"expected a number of at least 0, got {shown(eps)}; leave it out", argument="eps")
    number = whole_number(1 if workers is None else workers)
    if number is None or number < -1 or not number:
        raise (ArgumentError if number is None else InvalidInputError)(
            f"expected a number of at least 1, or -1 for all processors, got {shown(workers)}; leave it out",
            argument="workers",
        )


def _check_choice(output_type: object, choices: tuple[str, ...]) -> None:
    if output_type not in choices:
        raise InvalidInputError(
            f"expected one of {', '.join(map(repr, choices))}, got {shown(output_type)}; choose one of them",
            argument="output_type",
        )
