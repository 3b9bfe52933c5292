"""Histograms of distances: how many pairs of points lie in each bin, in one walk without a list."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .answers.histogram import Bins, Weights, count_pairs
from .answers.requests import make_request
from .arrays import check_radii, is_device_array
from .conditions import Condition
from .errors import InvalidInputError
from .host.numbers import real_array, shown, whole_number
from .methods.named import check_method
from .methods.traversal import Traversal
from .points.adoption import adopt
from .points.argument_types import Flags, MethodName, MethodOptions, Numbers, Rows
from .points.sessions import choose_session
from .points.transfer import fetch
from .prepare import build
from .runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PairCounts", "pair_counts"]

_Edges = npt.NDArray[np.float64]


class _Histogram(NamedTuple):
    counts: npt.NDArray[np.int64]
    weighted: npt.NDArray[np.float64] | None
    edges: _Edges | tuple[_Edges, _Edges]


class PairCounts(_Histogram):
    """The histogram of :func:`pair_counts`, in numpy arrays: ``counts, weighted, edges = pair_counts(...)``.

    Attributes
    ----------
    counts : (bins,) or (rp_bins, pi_bins) int64, the number of pairs in each bin
    weighted : the same shape, float64, the sums of the products of their weights; None without weights
    edges : (bins + 1,) float64, the edges of the bins; with a line of sight those across it and those along it
    """

    #: of pairs that are counted once, those that a point has with itself; None where ordered pairs are counted
    _own: npt.NDArray[np.int64] | None = None
    #: how many pairs a unit of volume has where points are even; None where space does not repeat on all axes
    _density: float | None = None
    _dim: int = 0

    def __new__(  # noqa: D102, PYI034
        cls, counts: Any, weighted: Any, edges: Any, *, own: Any = None, density: float | None = None, dim: int = 0
    ) -> PairCounts:
        found = super().__new__(cls, counts, weighted, edges)
        found._own, found._density, found._dim = own, density, dim
        return found

    def _replace(self, **given: Any) -> PairCounts:
        """The same with other fields, as named tuples have it; :meth:`rdf` is then that of the other counts."""
        said = {**self._asdict(), **given}
        return PairCounts(**said, own=self._own, density=self._density, dim=self._dim)

    def rdf(self) -> npt.NDArray[np.float64]:
        """The radial distribution function, float64 of the shape of `counts`: these over those of evenly spread points.

        ``counts / (m * n / V * shells)``, with m queries, n points, the volume V of the box or cell, and the volumes of
        the shells between edges. With a line of sight, these are the volumes of rings around it, on both sides. The
        function is 1 where points are spread evenly, and 0 in place of 0 / 0. Counts of ``half`` pairs are doubled. In
        a batch, ``m * n / V`` is the sum over systems.

        Raises
        ------
        InvalidInputError
            There was no box or cell that repeats on all axes.

        Notes
        -----
        The point itself counts among the n. So for points without ``include_self``, evenly spread ones have
        ``(n - 1) / n`` and not 1.

        m and n are all queries and points, also where a condition (``where``) leaves pairs out, as which points it
        leaves out cannot be known. A condition that chooses one species of several makes the function too small: pass
        the points of that species, and those of the other as `queries`, or multiply by ``m * n`` over the number of
        pairs that can satisfy the condition.
        """
        if self._density is None:
            raise InvalidInputError(
                "expected a box or cell that repeats on all axes, as densities need a volume, got none; pass box= or "
                "cell= to pair_counts, or divide counts by what you expect",
                argument="box",
            )
        if isinstance(self.edges, tuple):
            across, along = self.edges
            volumes = np.outer(_shells(across, self._dim - 1), _shells(along, 1))
        else:
            volumes = _shells(self.edges, self._dim)
        even = self._density * volumes
        ordered = self.counts if self._own is None else 2 * self.counts - self._own
        return np.divide(ordered, even, out=np.zeros(even.shape), where=even > 0)


def _shells(edges: _Edges, dim: int) -> _Edges:
    """The volumes between balls of neighboring radii."""
    ball: float = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    return np.diff(ball * edges**dim)


def pair_counts(
    points: Rows,
    edges: Any,
    *,
    queries: Rows | None = None,
    weights: Any = None,
    query_weights: Any = None,
    where: Condition | None = None,
    half: bool = False,
    include_self: bool = False,
    line_of_sight: int | None = None,
    box: Numbers | None = None,
    cell: Numbers | None = None,
    periodic: Flags | None = None,
    batch: Any = None,
    query_batch: Any = None,
    method: MethodName = "auto",
    session: Session | None = None,
    **options: Unpack[MethodOptions],
) -> PairCounts:
    """Count the pairs of queries and points by their distance, exactly, without a list of them.

    Parameters
    ----------
    points : (n, dim) float32 or float64, finite, in any order
    edges : (bins + 1,) ascending distances of at least 0, in the points' unit; with `line_of_sight` two such arrays, of
        distances across it and along it
    queries : (m, dim); the points themselves when not given
    weights : (n,) numbers, the weight of each point; a PrecisionWarning says where they are too far apart to be summed
    query_weights : (m,) numbers; when not given, `weights` where the points are the queries, else 1
    where : a :class:`Condition`; a pair counts only where it holds
    half : whether each pair counts once, with ``i < j``; not with `queries`
    include_self : whether a point counts as its own neighbor; without effect when `queries` are given
    line_of_sight : the number of an axis, from 0. Pairs are then counted by two distances: across this axis, and along
        it without its sign
    box, cell, periodic, batch, query_batch, method, session, **options : as for :func:`search`; every image counts,
        also beyond the box

    Returns
    -------
    PairCounts, in numpy arrays: `counts` int64, `weighted` float64 or None, and `edges` as they were given, in float64

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.
    DeviceMemoryError, NoDeviceError, TypeError
        As for :func:`search`.

    Notes
    -----
    Edges are rounded to the points' dtype as a radius is. Let d be the distance of a pair. A bin holds the pairs whose
    squared distance d² is at least the square of its lower edge, and below the square of its upper edge; the last bin
    also holds those on its upper edge. One bin ``[0, r]`` holds the neighbors that :meth:`Index.count` finds. Weighted
    sums are the same in every run, whatever the order in which pairs are met.

    Cost: that of building an index, one visit, and a pass over 4 bytes for each query and bin, 20 with weights. Up to
    16 bins, each distance is compared with all edges; with more, and with weights or a line of sight, the bin of each
    distance is found by a search among the edges.

    Examples
    --------
    >>> import clfrnn
    >>> found = clfrnn.pair_counts([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]], [0, 5, 10, 15])
    >>> found.counts.tolist()
    [0, 4, 2]
    """
    named = check_method(method, options, pair_counts)
    session = choose_session(session, points, queries, batch, where, weights, query_weights)
    asked = _Asked.of(edges, line_of_sight)
    with session.lock:
        points, queries = adopt(session, points, "points"), adopt(session, queries, "queries")
        searched: dict[str, Any] = {"queried_once": points if queries is None else queries}
        searched |= {"domain": (box, cell, periodic), "batch": batch, "query_batch": query_batch}
        try:
            structure, _ = build(session, points, asked.reach, named=named, options=options, **searched)
        except InvalidInputError as error:
            if error.argument != "radius":
                raise
            raise InvalidInputError(f"as a radius, {error.problem}", argument="edges") from None
        traversal = Traversal(structure)
        bins = asked.bins(traversal.dim, traversal.dtype)
        request = make_request(
            traversal,
            queries,
            radius=None,
            include_self=include_self,
            half=bool(half),
            where=where,
            query_batch=query_batch,
        )
        given = _take_weights(session, weights, query_weights, n=traversal.num_points, m=request.m, own=queries is None)
        counts, products = count_pairs(traversal, request, bins, given)
        own = np.zeros_like(counts) if half else None
        if half and include_self:  # a point is its own neighbor once, where a condition does not refuse that
            own = counts - count_pairs(traversal, request._replace(include_self=False), bins, None)[0]
    systems = None if request.systems is None else session.read(request.systems)
    return PairCounts(
        counts=counts,
        weighted=products,
        edges=asked.edges if asked.along is None else (asked.edges, asked.along),
        own=own,
        density=traversal.problem.domain.pair_density(traversal.num_points, request.m, systems),
        dim=traversal.dim,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Asked:
    """The edges of bins as they are asked for, in float64."""

    edges: _Edges
    #: the edges along the line of sight, and its axis
    along: _Edges | None
    axis: int

    @classmethod
    def of(cls, edges: Any, line_of_sight: Any) -> _Asked:
        """Check the edges and the axis."""
        if line_of_sight is None:
            return cls(edges=_take_edges(edges), along=None, axis=0)
        axis = whole_number(line_of_sight)
        if axis is None:
            raise InvalidInputError(
                f"expected the number of an axis, got {shown(line_of_sight)}; pass 2 for the third",
                argument="line_of_sight",
            )
        if not isinstance(edges, (list, tuple, np.ndarray)) or [np.ndim(each) for each in edges] != [1, 1]:
            raise InvalidInputError(
                f"expected two arrays with a line of sight, got {shown(edges)}; pass (rp_edges, pi_edges)",
                argument="edges",
            )
        return cls(edges=_take_edges(edges[0]), along=_take_edges(edges[1]), axis=axis)

    @property
    def reach(self) -> float:
        """The radius of a search that finds all pairs of all bins, rounding included."""
        if self.along is None:
            return float(self.edges[-1])
        # Either edge is rounded, and so is each operation of d²: by far less than that in float32.
        return math.hypot(float(self.edges[-1]), float(self.along[-1])) * (1 + 2.0**-19)

    def bins(self, dim: int, dtype: np.dtype[Any]) -> Bins:
        """The bins in the dtype of points of `dim` coordinates."""
        if self.along is None:
            return Bins(squares=_squared(self.edges, dtype), pi_squares=None, axis=0)
        if dim < 2 or not -dim <= self.axis < dim:
            raise InvalidInputError(
                f"expected one of the {dim} axes of points with at least two, got {self.axis}; pass {dim - 1} for the "
                "last",
                argument="line_of_sight",
            )
        squares, along = _squared(self.edges, dtype), _squared(self.along, dtype)
        return Bins(squares=squares, pi_squares=along, axis=self.axis % dim)


def _take_edges(edges: Any) -> _Edges:
    """Ascending edges of at least one bin, or an error."""
    array = real_array(np.asarray(edges.get()) if is_device_array(edges) else edges)
    if array is None or array.ndim != 1 or len(array) < 2:
        raise InvalidInputError(
            f"expected at least two ascending distances, got {shown(edges)}; pass numpy.linspace(0, 10, 21), say, and "
            "two such arrays with line_of_sight",
            argument="edges",
        )
    if not (np.isfinite(array).all() and array[0] >= 0 and (np.diff(array) > 0).all()):
        raise InvalidInputError(
            f"expected finite distances of at least 0, each larger than the one before, got {shown(edges)}; sort them, "
            "and leave out what is there twice",
            argument="edges",
        )
    return array


def _squared(edges: _Edges, dtype: np.dtype[Any]) -> npt.NDArray[np.floating[Any]]:
    """The squares of edges that are rounded to a dtype, or an error where one is not finite."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = check_radii(edges.astype(dtype), "edges")
        squares: npt.NDArray[np.floating[Any]] = rounded * rounded
    return squares


def _take_weights(session: Session, weights: Any, query_weights: Any, *, n: int, m: int, own: bool) -> Weights | None:
    """The weights of points and queries, or None where there are none; with `own`, points are the queries."""
    if weights is None and query_weights is None:
        return None
    of_points = np.ones(n) if weights is None else _numbers_of(session, weights, n, "weights")
    if query_weights is not None:
        of_queries = _numbers_of(session, query_weights, m, "query_weights")
    else:
        of_queries = of_points if own else np.ones(m)
    return Weights(of_points=of_points, of_queries=of_queries)


def _numbers_of(session: Session, values: Any, many: int, name: str) -> npt.NDArray[np.float64]:
    """One finite number for each row, on the host."""
    values = adopt(session, values, name)
    array = real_array(fetch(session, values) if is_device_array(values) else values)
    if array is None or array.shape != (many,):
        got = shown(values) if array is None else f"shape {array.shape}"
        raise InvalidInputError(f"expected {many:,} numbers, one for each row, got {got}; pass as many", argument=name)
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise InvalidInputError(
            f"expected finite numbers, got {array[row]} in row {row}; remove or repair that row", argument=name
        )
    return array
