"""NeighborList: fields, rows, conversions, pickling, validity."""

import copy
import gc
import pickle
import sys

import numpy as np
import pyopencl.array as cla
import pytest
from conftest import truth

import clfrnn
from clfrnn import clouds

POINTS = clouds.uniform(400, 2, seed=3)
RADIUS = 0.06
EXPECTED = truth(POINTS, RADIUS)


@pytest.fixture
def found(session):
    return clfrnn.search(POINTS, RADIUS, sort="index", distances=True, vectors=True, session=session)


def test_fields(found):
    assert all(isinstance(getattr(found, name), cla.Array) for name in ("offsets", "indices", "distances", "vectors"))
    assert found.offsets.dtype == found.indices.dtype == np.int32
    assert found.distances.dtype == found.vectors.dtype == np.float32
    assert found.vectors.shape == (found.num_pairs, 2)
    assert found.shifts is None
    assert len(found) == 400
    assert found.num_pairs == EXPECTED.offsets[-1]


def test_to_host_is_the_same_object_with_numpy_arrays(found):
    host = found.to_host()

    assert isinstance(host, clfrnn.NeighborList)
    assert isinstance(host.indices, np.ndarray)
    assert host.to_host() is host
    assert found.to_host() is host
    assert host.shifts is None


def test_rows(found):
    assert found[0].dtype == np.int32
    assert found[-1].tolist() == found[399].tolist()
    assert [row.tolist() for row in found] == [
        EXPECTED.indices[a:b].tolist() for a, b in zip(EXPECTED.offsets, EXPECTED.offsets[1:], strict=False)
    ]
    for bad in (400, -401):
        with pytest.raises(IndexError, match="400 rows"):
            found[bad]
    with pytest.raises(TypeError, match="one row number, got slice"):
        found[1:3]


def test_coordinate_forms(found):
    rows, columns = found.to_coo()

    assert np.array_equal(found.counts, np.diff(EXPECTED.offsets))
    assert np.array_equal(rows, np.repeat(np.arange(400), found.counts))
    assert np.array_equal(columns, EXPECTED.indices)
    assert found.edge_index().shape == (2, found.num_pairs)
    assert np.array_equal(found.edge_index()[1], columns)
    assert np.allclose(POINTS[columns] - POINTS[rows], found.to_host().vectors)


def test_padded(found):
    longest = int(found.counts.max())
    padded = found.to_padded()
    wider = found.to_padded(fill=400, width=longest + 2)

    assert padded.shape == (400, longest)
    assert [row[row >= 0].tolist() for row in padded] == [row.tolist() for row in found]
    assert (wider[:, -2:] == 400).all()
    for named in ({}, {"on_device": True}):
        with pytest.raises(clfrnn.InvalidInputError, match=rf"width: expected at least {longest}"):
            found.to_padded(width=longest - 1, **named)
        for fill in (1.5, 2**31):
            with pytest.raises(clfrnn.InvalidInputError, match="fill: expected a whole number"):
                found.to_padded(fill=fill, **named)


@pytest.mark.parametrize("radius", [RADIUS, 0.0])
def test_padded_on_the_device(session, radius):
    """The same table, of all rows and of a block, without a copy of the list on the host."""
    index = clfrnn.build_index(POINTS, radius, session=session)
    for found in (index.query(sort="index"), next(index.query_blocks(sort="index", max_bytes=3_000))):
        for named in ({}, {"fill": 7}, {"width": 60}):
            table = found.to_padded(on_device=True, **named)
            assert isinstance(table, clfrnn.DeviceArray)
            assert np.array_equal(table, found.to_padded(**named))
    with pytest.raises(clfrnn.InvalidInputError, match="on_device: expected a list on a device"):
        found.to_host().to_padded(on_device=True)
    assert clfrnn.search(POINTS[:0], 1.0, session=session).to_padded(on_device=True).shape == (0, 0)


def test_scipy(session, found):
    sparse = found.to_scipy()
    ones = clfrnn.search(POINTS, RADIUS, session=session).to_scipy()
    same = np.zeros((3, 2), np.float32)
    zeros = clfrnn.search(same, 0.1, distances=True, session=session).to_scipy()

    assert sparse.shape == (400, 400)
    assert np.array_equal(sparse.data, EXPECTED.distances)
    assert ones.data.dtype == np.float32
    assert (ones.data == 1).all()
    assert zeros.nnz == 6, "stored zeros are kept"
    queries = clfrnn.search(POINTS, RADIUS, queries=POINTS[:7], session=session)
    assert queries.to_scipy().shape == (7, 400)


def test_a_sparse_matrix_is_a_copy(found):
    sparse = found.to_scipy()
    sparse.data *= 2
    sparse.indices[:] = 0
    sparse.indptr[:] = 0

    assert np.array_equal(found.to_host().distances, EXPECTED.distances)
    assert np.array_equal(found.to_host().indices, EXPECTED.indices)
    assert np.array_equal(found.to_host().offsets, EXPECTED.offsets)


@pytest.mark.parametrize("sort", ["index", "distance", None])
def test_wide_offsets(session, sort, monkeypatch):
    """What lists of 2**31 pairs and more take, on a small one."""
    monkeypatch.setattr("clfrnn.answers.lists.columns._LARGEST_INT32", 0)

    wide = clfrnn.search(POINTS, RADIUS, sort=sort, distances=True, vectors=True, session=session)

    assert wide.offsets.dtype == np.int64
    assert np.array_equal(wide.to_host().offsets, EXPECTED.offsets)
    assert wide.to_scipy().nnz == len(EXPECTED.indices)
    if sort == "index":
        assert np.array_equal(wide.to_host().indices, EXPECTED.indices)
        assert np.array_equal(wide.to_host().vectors, EXPECTED.vectors)
    assert [sorted(row.tolist()) for row in wide] == [
        EXPECTED.indices[a:b].tolist() for a, b in zip(EXPECTED.offsets, EXPECTED.offsets[1:], strict=False)
    ]


def test_pickling(found):
    with pytest.raises(TypeError, match="to_host"):
        pickle.dumps(found)
    again = pickle.loads(pickle.dumps(found.to_host()))

    assert np.array_equal(again.indices, EXPECTED.indices)
    assert np.array_equal(again.distances, EXPECTED.distances)
    assert (again.num_points, again.dtype) == (400, np.float32)


def test_repr(found):
    assert f"{found.num_pairs:,} pairs of 400 queries, distances, vectors, float32, on " in repr(found)
    assert "in host memory" in repr(found.to_host())


def test_valid_while_held(session):
    index = clfrnn.build_index(POINTS, RADIUS, method="strips", session=session)
    held = index.query(sort="index")
    index.update(POINTS[::-1].copy())
    others = [index.query(sort="index") for _ in range(3)]
    del index
    gc.collect()
    for _ in range(3):
        clfrnn.search(clouds.uniform(400, 2, seed=9), 0.2, session=session)

    assert np.array_equal(held.to_host().indices, EXPECTED.indices)
    assert all(np.array_equal(others[0].to_host().indices, other.to_host().indices) for other in others)


def test_other_queues_can_use_a_list(session):
    import pyopencl as cl

    found = clfrnn.search(POINTS, RADIUS, sort="index", session=session)
    other = cl.CommandQueue(session.context)

    assert np.array_equal(found.indices.with_queue(other).get(), EXPECTED.indices)


def test_empty(session):
    empty = clfrnn.search(np.zeros((0, 3), np.float32), 1.0, distances=True, vectors=True, session=session)

    assert (len(empty), empty.num_pairs) == (0, 0)
    assert empty.to_host().offsets.tolist() == [0]
    assert empty.to_padded().shape == (0, 0)
    assert empty.to_scipy().shape == (0, 0)
    assert empty.to_host().vectors.shape == (0, 3)


def test_pandas(session, found):
    pandas = pytest.importorskip("pandas")
    table = found.to_pandas()

    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["query", "point", "distance", "vector_0", "vector_1"]
    assert np.array_equal(table["query"], found.to_coo()[0])
    assert np.array_equal(table["vector_1"], found.to_host().vectors[:, 1])
    torus = clfrnn.search(POINTS, RADIUS, box=[1, 1], vectors=True, session=session)
    assert "shift_1" in torus.to_pandas().columns


def test_networkx(session, found):
    networkx = pytest.importorskip("networkx")
    graph = found.to_networkx()

    assert graph.number_of_nodes() == 400
    assert graph.number_of_edges() == found.num_pairs / 2
    i, j = found.to_coo()
    assert graph.edges[int(i[0]), int(j[0])] == {"distance": float(found.to_host().distances[0])}
    parts = networkx.number_connected_components(
        clfrnn.search(POINTS, RADIUS, half=True, session=session).to_networkx()
    )
    assert parts == clfrnn.cluster.friends_of_friends(POINTS, RADIUS, session=session).num_clusters
    assert networkx.utils.graphs_equal(graph, pickle.loads(pickle.dumps(found.to_host())).to_networkx())
    for number in (7, 400):
        others = clfrnn.search(POINTS, RADIUS, queries=POINTS[:number] + 0.5, session=session)
        for each in (others, others.to_host()):
            with pytest.raises(clfrnn.InvalidInputError, match=f"{number} queries for 400 points"):
                each.to_networkx()
    block = next(clfrnn.build_index(POINTS, RADIUS, session=session).query_blocks(max_bytes=2_000))
    with pytest.raises(clfrnn.InvalidInputError, match="queries for 400 points"):
        block.to_networkx()
    with pytest.raises(clfrnn.InvalidInputError, match="to_networkx: query .* sees several images"):
        clfrnn.search(POINTS, 0.7, box=[1, 1], session=session).to_networkx()


@pytest.mark.parametrize(("call", "library"), [("to_torch", "torch"), ("to_pandas", "pandas"), ("to_scipy", "scipy")])
def test_conversions_say_what_to_install(found, call, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.sparse", None)
    with pytest.raises(clfrnn.ClfrnnError, match=rf"{call}\(\) needs {library}: pip install {library}"):
        getattr(found, call)()


def test_nearest_with_other_arrays_keeps_vectors_and_shifts(session):
    box = {"box": (1.0, 1.0), "session": session}
    found = clfrnn.nearest(POINTS, 2, vectors=True, **box).to_host()
    other = found._replace(distances=2 * found.distances)
    assert np.array_equal(other.distances, 2 * found.distances)
    for each in (other, found._replace(vectors=other.vectors)):
        assert all(getattr(each, name) is getattr(found, name) for name in ("indices", "vectors", "shifts"))
    assert type(found)._make(found).vectors is None


def test_nearest_of_arrays_of_others_are_copied_as_they_are():
    """Those of dask arrays, as `clfrnn.dask.nearest` gives them, lie on no device."""

    class Lazy:
        shape, dtype = (2, 1), np.dtype(np.float32)

    found = clfrnn.Nearest(Lazy(), Lazy())
    assert copy.copy(found).indices is found.indices
    assert found.to_host().distances is found.distances
    assert "device" not in repr(found)
