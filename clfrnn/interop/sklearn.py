"""The face of scikit-learn: its nearest neighbors, their graphs and DBSCAN, as estimators over searches of clfrnn."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

try:
    from scipy.sparse import csr_array, csr_matrix
    from sklearn import cluster, get_config, neighbors
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError:
    raise ImportError(
        "clfrnn.interop.sklearn needs scikit-learn, 1.6 or newer: pip install 'scikit-learn>=1.6'"
    ) from None

from ..cluster.searches import dbscan
from ..errors import ArgumentError, InvalidInputError
from ..host.numbers import real_number, shown, whole_number
from ..points.on_device import as_points
from ..points.sessions import default_session
from ..results import NeighborList
from .kinds_of_errors import kind_of_error
from .nearest_image import reaching
from .searched_points import SearchedPoints

__all__ = ["DBSCAN", "KNeighborsTransformer", "NearestNeighbors", "RadiusNeighborsTransformer"]

#: Names of the metric that is served.
_EUCLIDEAN = ("euclidean", "l2", "minkowski")

Mode = Literal["connectivity", "distance"]


class _Estimator:
    """What the estimators have beside scikit-learn's own, which check parameters and name features.

    Points are searched in float64, in which scikit-learn computes, where the device has it.
    """

    metric: Any
    p: Any
    metric_params: Any
    n_jobs: Any
    n_features_in_: int

    def _take(self, X: Any, *, reset: bool) -> npt.NDArray[Any]:
        """Return checked rows: those that are fitted, or queries with as many features."""
        found: npt.NDArray[Any] = validate_data(self, X, reset=reset, order="C")
        return found

    def _check_parameters(self) -> None:
        """Raise for parameters that scikit-learn refuses, and for another metric than the Euclidean one."""
        self._validate_params()  # type: ignore[attr-defined]  # of scikit-learn
        if self.n_jobs is not None and not self.n_jobs:  # which scikit-learn finds where it starts them
            raise InvalidInputError("n_jobs == 0 has no meaning; leave it out", argument="n_jobs")
        self._check_metric()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = tags.input_tags.pairwise = tags.input_tags.positive_only = False
        tags.input_tags.allow_nan = False
        return tags

    def _check_metric(self) -> None:
        """Raise for another metric than the Euclidean one."""
        if self.metric not in _EUCLIDEAN:
            raise InvalidInputError(
                f"expected one of {', '.join(map(repr, _EUCLIDEAN))}, got {shown(self.metric)}; scikit-learn "
                "itself has other metrics",
                argument="metric",
            )
        if self.metric == "minkowski" and self.p is not None and real_number(self.p) != 2:
            raise InvalidInputError(
                f"expected 2, as distances are Euclidean, got {shown(self.p)}; scikit-learn itself has other norms",
                argument="p",
            )
        if self.metric_params:
            raise InvalidInputError(
                f"expected None, as the Euclidean metric has none, got {shown(self.metric_params)}; leave it out",
                argument="metric_params",
            )


class _Neighbors(_Estimator):
    """What searches among fitted points share."""

    n_neighbors: Any
    radius: Any
    n_samples_fit_: int
    _searched: SearchedPoints

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 — as estimators have it
        """Take the points, (n_samples, n_features) with up to 12 features, to the device.

        Parameters
        ----------
        X : (n_samples, n_features), finite
        y : not used

        Returns
        -------
        The estimator
        """
        self._check_parameters()
        self._fit_X = self._take(X, reset=True).copy()  # as callers may write to their array
        self.n_samples_fit_ = self._n_features_out = self._fit_X.shape[0]
        self.effective_metric_ = "euclidean" if self.metric == "minkowski" else self.metric
        self.effective_metric_params_: dict[str, Any] = {}
        self._search_anew()
        return self

    def _search_anew(self) -> None:
        session = default_session()
        self._searched = SearchedPoints(as_points(_real(self._fit_X), name="X", session=session), session)

    def __getstate__(self) -> dict[str, Any]:
        """All but what lies on the device, for pickles and copies."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_searched"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes, and take fitted points to the device of this process."""
        super().__setstate__(state)  # type: ignore[misc]
        if hasattr(self, "_fit_X"):
            self._search_anew()

    def _queries(self, X: Any) -> tuple[npt.NDArray[Any] | None, bool]:
        """Queries, None for the fitted points themselves; and whether a point is its own neighbor."""
        if X is None:
            return None, False
        rows = self._take(X, reset=False)
        return (None, True) if np.array_equal(rows, self._fit_X) else (_real(rows), True)

    def _within(self, X: Any, radius: Any, **wanted: Any) -> NeighborList:
        """The list of fitted points within the radius of each query."""
        check_is_fitted(self)
        queries, own = self._queries(X)
        given = self.radius if radius is None else radius
        if not real_number(given) >= 0:
            raise kind_of_error(given)(
                f"expected a number of at least 0, got {shown(given)}; pass one distance for all", argument="radius"
            )
        reach = real_number(given)
        if not np.isfinite(reach * reach):
            reach = reaching(reach, _real(self._fit_X), *([] if queries is None else [queries]))
        with self._searched.session.lock:
            index = self._searched.within(reach)
            return index.query(queries, radius=reach, include_self=own, to_host=True, **wanted)

    def _nearest(self, X: Any, n_neighbors: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """The nearest fitted points of each query."""
        check_is_fitted(self)
        queries, own = self._queries(X)
        given = self.n_neighbors if n_neighbors is None else n_neighbors
        k = whole_number(given)
        if k is None or k < 1:
            raise (ArgumentError if k is None else InvalidInputError)(
                f"expected a whole number of at least 1, got {shown(given)}; pass 5, say", argument="n_neighbors"
            )
        if k > self.n_samples_fit_ - (not own):
            raise InvalidInputError(
                f"Expected n_neighbors <= n_samples_fit{'' if own else ' - 1'}, but n_neighbors = {k}, n_samples_fit = "
                f"{self.n_samples_fit_}, n_samples = {self.n_samples_fit_ if queries is None else len(queries)}",
                argument="n_neighbors",
            )
        with self._searched.session.lock:
            indices, distances = self._searched.nearest(queries, k, include_self=own)
        if (indices < 0).any():
            raise InvalidInputError(
                "expected points that are near enough for squares of distances to be finite, got "
                f"row {int(np.argmax((indices < 0).any(axis=1)))}, which is not; scale the features",
                argument="X",
            )
        return indices.astype(np.intp), distances.astype(np.float64)

    def _graph(self, indices: Any, distances: Any, offsets: Any) -> Any:
        """The sparse matrix of the neighbors of each query, without distances with ones."""
        weights = np.ones(len(indices)) if distances is None else distances.astype(np.float64)
        shape = (len(offsets) - 1, self.n_samples_fit_)
        return _sparse((weights, indices.astype(np.intp), offsets.astype(np.intp)), shape)

    def _radius_graph(self, X: Any, radius: Any, mode: Mode, *, sort_results: bool) -> Any:
        far = _is_distance(mode)
        ordered = {"sort": "distance"} if sort_results and far else {}
        found = self._within(X, radius, distances=far, **ordered)
        return self._graph(found.indices, found.distances, found.offsets)

    def _nearest_graph(self, X: Any, n_neighbors: Any, mode: Mode) -> Any:
        far = _is_distance(mode)
        indices, distances = self._nearest(X, n_neighbors)
        offsets = np.arange(0, indices.size + 1, indices.shape[1])
        return self._graph(indices.ravel(), distances.ravel() if far else None, offsets)


class _OfRadius(_Neighbors):
    """Searches within a radius."""

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Find the fitted points within a radius of each query.

        Parameters
        ----------
        X : (n_queries, n_features); without it, the fitted points, each of which is no neighbor of itself
        radius : scalar, which may be infinite; that of the estimator when not given; the ball is closed
        return_distance : whether to return distances
        sort_results : whether rows are sorted by distance

        Returns
        -------
        neigh_dist : (n_queries,) object array of arrays of float64, where `return_distance` says so
        neigh_ind : (n_queries,) object array of arrays of indices
        """
        if sort_results and not return_distance:
            raise InvalidInputError("return_distance must be True if sort_results is True", argument="sort_results")
        found = self._within(X, radius, distances=return_distance, sort="distance" if sort_results else None)
        rows = _split(found.indices.astype(np.intp), found.offsets)
        return (_split(found.distances.astype(np.float64), found.offsets), rows) if return_distance else rows

    def radius_neighbors_graph(
        self, X: Any = None, radius: Any = None, mode: Mode = "connectivity", sort_results: bool = False
    ) -> Any:
        """Make the graph of fitted points within a radius of each query.

        Parameters
        ----------
        X, radius : as for :meth:`radius_neighbors`
        mode : "connectivity" for ones, or "distance"
        sort_results : whether rows are sorted by distance, with distances

        Returns
        -------
        (n_queries, n_samples_fit) sparse matrix in CSR format, float64
        """
        return self._radius_graph(X, radius, mode, sort_results=sort_results)


class _OfNearest(_Neighbors):
    """Searches of the nearest."""

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        """Find the nearest fitted points of each query.

        Parameters
        ----------
        X : (n_queries, n_features); without it, the fitted points, each of which is no neighbor of itself
        n_neighbors : how many; that of the estimator when not given
        return_distance : whether to return distances

        Returns
        -------
        neigh_dist : (n_queries, n_neighbors) float64, ascending, where `return_distance` says so
        neigh_ind : (n_queries, n_neighbors) indices; of points at the same distance, the lowest comes first
        """
        indices, distances = self._nearest(X, n_neighbors)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: Any = None, mode: Mode = "connectivity") -> Any:
        """Make the graph of the nearest fitted points of each query.

        Parameters
        ----------
        X, n_neighbors : as for :meth:`kneighbors`
        mode : "connectivity" for ones, or "distance"

        Returns
        -------
        (n_queries, n_samples_fit) sparse matrix in CSR format, float64
        """
        return self._nearest_graph(X, n_neighbors, mode)


class NearestNeighbors(_OfNearest, _OfRadius, neighbors.NearestNeighbors):  # type: ignore[misc]
    """Neighbors of queries among fitted points: ``sklearn.neighbors.NearestNeighbors`` on an OpenCL device.

    Parameters
    ----------
    n_neighbors, radius : what :meth:`kneighbors` and :meth:`radius_neighbors` take where they are given none
    metric, p, metric_params : "euclidean", or "minkowski" with p = 2; others are refused
    algorithm, leaf_size, n_jobs : checked, and without effect: the device decides

    Attributes
    ----------
    n_samples_fit_
        The number of fitted points.
    n_features_in_
        The number of their features, up to 12.
    effective_metric_, effective_metric_params_
        "euclidean", or "l2", and no parameters.

    Notes
    -----
    Searches are exact, in float64, or in float32 for points of float32 on a device without float64. The device is that
    of :func:`clfrnn.default_session`. A pickle has the points, and takes them to the device where it is loaded.

    Examples
    --------
    >>> from clfrnn.interop.sklearn import NearestNeighbors
    >>> finder = NearestNeighbors(radius=1.5).fit([[0.0], [1.0], [2.0], [7.0]])
    >>> finder.radius_neighbors_graph().toarray().tolist()[1]
    [1.0, 0.0, 1.0, 0.0]
    """


class RadiusNeighborsTransformer(_OfRadius, neighbors.RadiusNeighborsTransformer):  # type: ignore[misc]
    """Points to the graph of fitted points within a radius: ``sklearn.neighbors.RadiusNeighborsTransformer``.

    Parameters
    ----------
    mode : "distance" or "connectivity", what the graph has
    radius : scalar; the ball is closed
    metric, p, metric_params, algorithm, leaf_size, n_jobs : as for :class:`NearestNeighbors`

    Attributes
    ----------
    n_samples_fit_, n_features_in_
        As of :class:`NearestNeighbors`.

    Examples
    --------
    >>> from clfrnn.interop.sklearn import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [7.0]]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    def transform(self, X: Any) -> Any:
        """Make the graph of the fitted points within the radius of each row of `X`, with the row's own point.

        Parameters
        ----------
        X : (n_queries, n_features)

        Returns
        -------
        (n_queries, n_samples_fit) sparse matrix in CSR format, float64; its rows are sorted by distance
        """
        return self._radius_graph(X, None, self.mode, sort_results=True)


class KNeighborsTransformer(_OfNearest, neighbors.KNeighborsTransformer):  # type: ignore[misc]
    """Points to the graph of their nearest fitted points: ``sklearn.neighbors.KNeighborsTransformer``.

    Parameters
    ----------
    mode : "distance" or "connectivity", what the graph has
    n_neighbors : how many; with distances one more, as each point is counted as its own neighbor
    metric, p, metric_params, algorithm, leaf_size, n_jobs : as for :class:`NearestNeighbors`

    Attributes
    ----------
    n_samples_fit_, n_features_in_
        As of :class:`NearestNeighbors`.

    Examples
    --------
    >>> from clfrnn.interop.sklearn import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [7.0]]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 6.0, 0.0]]
    """

    def transform(self, X: Any) -> Any:
        """Make the graph of the nearest fitted points of each row of `X`.

        Parameters
        ----------
        X : (n_queries, n_features)

        Returns
        -------
        (n_queries, n_samples_fit) sparse matrix in CSR format, float64
        """
        return self._nearest_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)


class DBSCAN(_Estimator, cluster.DBSCAN):  # type: ignore[misc]
    """Clusters by density: ``sklearn.cluster.DBSCAN`` on an OpenCL device, to the label.

    Parameters
    ----------
    eps : scalar, the distance within which points are neighbors; the ball is closed
    min_samples : a point is core where as many points, or as much weight, are within `eps`, itself counted
    metric, p, metric_params, algorithm, leaf_size, n_jobs : as for :class:`NearestNeighbors`

    Attributes
    ----------
    labels_
        The cluster of each point, (n_samples,), -1 for noise.
    core_sample_indices_
        The core points, (n_core,).
    components_
        Their positions, (n_core, n_features).

    Notes
    -----
    No list of neighbors is made, so memory grows with the number of points alone: see :func:`clfrnn.cluster.dbscan`,
    which searches float32 as it is, takes boxes, and leaves labels on the device.

    Examples
    --------
    >>> from clfrnn.interop.sklearn import DBSCAN
    >>> DBSCAN(eps=1.0, min_samples=2).fit_predict([[0.0], [1.0], [7.0]]).tolist()
    [0, 0, -1]
    """

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """The labels of points: those of :meth:`fit`, whose arguments it has."""
        return self.fit(X, y, sample_weight).labels_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # noqa: ARG002 — as estimators have it
        """Find the clusters of points.

        Parameters
        ----------
        X : (n_samples, n_features), finite, with up to 12 features
        y : not used
        sample_weight : (n_samples,) weights, which may be negative; 1 for each point when not given

        Returns
        -------
        The estimator
        """
        self._check_parameters()
        rows = self._take(X, reset=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        real = _real(rows)
        eps, points = reaching(self.eps, real), as_points(real, name="X", session=default_session())
        found = dbscan(points, eps, self.min_samples, sample_weight=weights).to_host()
        self.labels_ = found.labels.astype(np.intp)
        self.core_sample_indices_ = np.flatnonzero(found.core)
        self.components_ = rows[found.core] if found.core.any() else np.empty((0, rows.shape[1]))
        return self


def _real(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows in float64; on a device without it as they are, where they are of float32."""
    narrow = rows.dtype == np.float32 and not default_session().profile.fp64
    return rows if narrow else rows.astype(np.float64, copy=False)


def _sparse(csr: tuple[npt.NDArray[Any], ...], shape: tuple[int, int]) -> Any:
    """A sparse matrix or array, as scikit-learn is configured from 1.9 on."""
    interface = get_config().get("sparse_interface")
    if interface is None:
        return csr_matrix(csr, shape=shape)
    found = csr_array(csr, shape=shape)
    return found if interface == "sparray" else csr_matrix(found)


def _is_distance(mode: object) -> bool:
    """Whether a graph has distances; raises for what is no mode."""
    if mode not in ("connectivity", "distance"):
        raise InvalidInputError(f"expected 'connectivity' or 'distance', got {shown(mode)}", argument="mode")
    return mode == "distance"


def _split(values: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """The rows of a list as arrays in an array."""
    rows = np.split(values, offsets[1:-1])[: len(offsets) - 1]
    return np.fromiter(rows, object, len(rows))
