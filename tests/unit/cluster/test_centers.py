"""Centers of clusters across the edges of boxes and cells, against walks along links by numpy."""

import pickle
from collections import deque

import numpy as np
import pytest
from conftest import POINTS, rows_of

import clfrnn
from clfrnn import clouds, reference
from clfrnn.cluster import dbscan, friends_of_friends

SIZE = min(POINTS, 400)


def twin(points, found, distance, vectors, **domain):
    """The centers by a walk along the links of core points from the first one of each cluster, modulo the lattice.

    Points at a border take the image at their lowest core neighbor; NaN where a cluster reaches its own image.
    """
    pairs = reference.neighbors(points, distance, **domain)
    labels, core = found.labels, found.core
    rows, others = rows_of(pairs), pairs.indices
    links = [[] for _ in points]
    for i, j, shift in zip(rows.tolist(), others.tolist(), pairs.shifts, strict=True):
        if labels[i] == labels[j] and core[j]:
            links[i].append((j, shift))
    centers = np.full((found.num_clusters, points.shape[1]), np.nan)
    for label in range(found.num_clusters):
        members = np.flatnonzero(labels == label)
        image = {members[core[members]][0]: np.zeros(points.shape[1], int)}
        queue, endless = deque(image), np.zeros(points.shape[1], bool)
        while queue:
            i = queue.popleft()
            for j, shift in links[i]:
                if j in image:
                    way = (image[i] + shift - image[j]) @ vectors
                    endless |= np.abs(way) > 1e-9
                else:
                    image[j] = image[i] + shift
                    queue.append(j)
        for i in members:
            if i not in image:
                j, shift = min(links[i], key=lambda link: (link[0], *link[1]))
                image[i] = image[j] - shift
        places = np.array([points[i].astype(float) + image[i] @ vectors for i in members])
        centers[label] = np.where(endless, np.nan, places.mean(axis=0))
    return centers


def assert_centers(found, expected, vectors, *, atol=1e-5):
    """Equal but for whole lattice vectors, with NaN at the same places."""
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(found).any(axis=1)
    spanned = vectors + np.diag(~vectors.any(axis=1) * 1.0)
    times = np.linalg.solve(spanned.T, (found - expected)[known].T).T
    times -= np.round(times) * vectors.any(axis=1)
    assert np.abs(times).max(initial=0) < atol


DOMAINS = {
    "box": ({"box": (1.0, 0.8)}, np.diag([1.0, 0.8])),
    "slab": ({"box": (1.0, 0.8), "periodic": (True, False)}, np.diag([1.0, 0.0])),
    "cell": ({"cell": ((1.0, 0.0), (0.4, 0.8))}, np.array([[1.0, 0.0], [0.4, 0.8]])),
    "flat cell": ({"cell": ((1.0, 0.0), (3.4, 0.8))}, np.array([[1.0, 0.0], [3.4, 0.8]])),
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("step", [0.5, 0.7, 0.9, 1.3])
@pytest.mark.parametrize("by", ["density", "steps"])
def test_centers_are_those_of_walks_along_links(session, name, step, by, dtype):
    given, vectors = DOMAINS[name]
    points = (clouds.uniform(SIZE, 2, seed=int(10 * step)) * [1.0, 0.8] + [0.3, -0.2]).astype(dtype)
    distance = step * (0.8 / SIZE) ** 0.5
    find = (lambda: dbscan(points, distance, 4, session=session, **given)) if by == "density" else None
    found = find() if find else friends_of_friends(points, distance, session=session, **given)
    centers = found.centers(points)
    assert centers.dtype == dtype
    host = found.to_host()
    assert_centers(centers.get(), twin(points, host, distance, vectors, **given), vectors)
    for each in (host, pickle.loads(pickle.dumps(host))):
        assert np.array_equal(each.centers(points), centers.get(), equal_nan=True)


def test_a_chain_around_the_box_has_no_center_along_it(session):
    """One link less, and it has one; a helix that passes the edge many times but never meets itself has one, too."""
    ring = np.stack([np.arange(20) * 0.5, np.full(20, 3.0)], axis=1).astype(np.float32)
    (whole,) = friends_of_friends(ring, 0.5, box=(10, 10), session=session).centers(ring).get()
    assert np.isnan(whole[0])
    assert whole[1] == 3.0
    (parted,) = friends_of_friends(ring[:-1], 0.5, box=(10, 10), session=session).centers(ring[:-1]).get()
    assert parted.tolist() == [4.5, 3.0]
    turns = np.arange(120) * 0.25
    helix = np.stack([turns % 10, 1 + 0.1 * turns], axis=1).astype(np.float32)
    found = friends_of_friends(helix, 0.3, box=(10, 10), session=session)
    assert found.num_clusters == 1
    assert np.allclose(found.centers(helix).get(), [[turns.mean() % 10, 1 + 0.1 * turns.mean()]], atol=1e-5)
    for sign in (1, -1):
        diagonal = np.stack([np.arange(20) * 0.5, sign * np.arange(20) * 0.5 % 10], axis=1).astype(np.float32)
        across = friends_of_friends(diagonal, 0.75, box=(10, 10), session=session).centers(diagonal).get()
        assert np.isnan(across).all()


def test_centers_in_the_open_and_of_systems(session, dtype):
    points = clouds.uniform(SIZE, 3, seed=2).astype(dtype)
    found = friends_of_friends(points, 0.08, session=session)
    labels = found.labels.get()
    expected = [points[labels == k].astype(float).mean(axis=0) for k in range(found.num_clusters)]
    assert np.allclose(found.centers(points).get(), expected, atol=1e-6)
    pair = np.array([[0.1, 0, 0], [9.9, 0, 0], [0.1, 0, 0], [4.9, 0, 0], [2, 2, 2]], dtype)
    batch = [0, 0, 1, 1, 1]
    found = friends_of_friends(pair, 0.5, box=[[10, 10, 10], [5, 5, 5]], batch=batch, session=session)
    assert np.allclose(found.centers(pair).get(), [[0, 0, 0], [0, 0, 0], [2, 2, 2]], atol=1e-6)


def test_the_condition_counts(session):
    """Points that only others join are no cluster around the box."""
    ring = np.stack([np.arange(20) * 0.5, np.full(20, 3.0)], axis=1).astype(np.float32)
    allowed = clfrnn.Condition("kind[i] == kind[j]", kind=(np.arange(20) < 1).astype(np.int32))
    found = friends_of_friends(ring, 0.5, box=(10, 10), where=allowed, session=session)
    assert np.allclose(found.centers(ring).get(), [[0.0, 3.0], [5.0, 3.0]])


def test_the_largest_and_none(session):
    points = np.array([[0.0], [5.0], [5.5], [9.0], [9.5]], np.float32)
    found = friends_of_friends(points, 1.0, session=session)
    assert (found.largest(), found.to_host().largest()) == (1, 1)
    wide = np.zeros((5, 2), np.float32)
    whole = clfrnn.parts.friends_of_friends(points, 1.0, parts=2, sessions=[session])
    boxed = friends_of_friends(points, 1.0, box=[20.0], session=session)
    again = pickle.loads(pickle.dumps(found.to_host()))
    for each in (found, again, whole, boxed):
        for other, got in ((points[:4], "4 of 1"), (wide, "5 of 2")):
            message = f"points: expected the 5 points of 1 coordinates that were searched, got {got}; pass the same"
            with pytest.raises(clfrnn.InvalidInputError, match=message):
                each.centers(other)
    none = dbscan(points, 0.1, 3, session=session, box=[20.0])
    assert none.centers(points).shape == (0, 1)
    with pytest.raises(clfrnn.InvalidInputError, match="largest: expected one cluster at least, got none"):
        none.largest()
    nobody = np.empty((0, 2), np.float32)
    assert friends_of_friends(nobody, 1.0, box=(3, 3), session=session).centers(nobody).shape == (0, 2)


def test_centers_lie_in_the_box(session):
    points = np.array([[-0.25, 0.0], [0.25, 0.0], [7.0, 12.5]], np.float32)
    for low, x in ((0.0, 0.0), (-5.0, 0.0), (3.0, 10.0)):
        found = friends_of_friends(points, 1.0, box=[[low, 0.0], [low + 10.0, 10.0]], session=session)
        assert np.allclose(found.centers(points).get(), [[x, 0.0], [7.0 if low != -5 else -3.0, 2.5]])
