"""What the contract of dbscan and friends_of_friends says, word by word, from the pairs that numpy finds."""

import numpy as np
from conftest import counts_of, rows_of
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clfrnn import reference


def in_order(part, members):
    """Labels of the parts that have members, in the order of their first members; -1 elsewhere."""
    labels = np.full(len(part), -1, np.int32)
    if members.any():
        _, first, which = np.unique(part[members], return_index=True, return_inverse=True)
        labels[members] = np.argsort(np.argsort(first))[which]
    return labels


def clusters_of(found, min_samples, *, min_members=1, weights=None):
    """Labels and core points of the points whose neighbors are `found`; each counts by its weight, or as 1."""
    rows, others = rows_of(found), found.indices
    n = len(found.offsets) - 1
    if weights is None:
        core = counts_of(found) + 1 >= min_samples
    else:
        core = weights + np.bincount(rows, weights[others], minlength=n) >= min_samples
    linked = core[rows] & core[others]
    # Indices of 64 bits come to scipy 1.11's graphs as they are, which take 32.
    ends = rows[linked].astype(np.int32), others[linked].astype(np.int32)
    _, part = connected_components(coo_array((np.ones(linked.sum()), ends), shape=(n, n)))
    enough = np.bincount(part, minlength=n)[part] >= min_members
    labels = in_order(part, core & enough)
    lowest = np.full(n, n)
    border = ~core[rows] & core[others]
    np.minimum.at(lowest, rows[border], labels[others[border]])
    return np.where(lowest < n, lowest, labels), core


def twin(points, eps, min_samples, *, min_members=1, weights=None, **domain):
    """Labels and core points of points."""
    found = reference.neighbors(points, eps, **domain)
    return clusters_of(found, min_samples, min_members=min_members, weights=weights)


def assert_clusters(found, expected):
    """Labels, core points, the number and the sizes, on the device and on the host."""
    labels, core = expected
    assert found.labels.dtype == np.int32
    assert found.core.dtype == np.dtype(bool)
    assert np.array_equal(found.labels.get(), labels)
    assert np.array_equal(found.core.get(), core)
    assert found.num_clusters == labels.max(initial=-1) + 1
    sizes = np.bincount(labels[labels >= 0], minlength=found.num_clusters)
    for each in (found, found.to_host()):
        assert each.sizes.dtype == np.int32
        assert np.array_equal(np.asarray(each.sizes), sizes)
