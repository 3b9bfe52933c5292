"""The face of torch-cluster and PyTorch Geometric: graphs of all pairs, in their order of rows, and their gradients."""

import numpy as np
import pytest

import clfrnn

torch = pytest.importorskip("torch")
face = pytest.importorskip("clfrnn.interop.torch")

edge_vectors, knn, knn_graph, radius, radius_graph = (getattr(face, name) for name in face.__all__)


#: Sums the kinds of neighbors.
OF_KIND = clfrnn.NeighborFunction(
    arguments="global const int *kind, global int *found",
    state="int sum = 0;",
    per_neighbor="sum += kind[j];",
    finish="found[i] = sum;",
)


@pytest.fixture
def x():
    return torch.rand((120, 3), generator=torch.Generator().manual_seed(0))


def pairs(edges):
    assert edges.dtype == torch.int64
    return list(zip(*edges.tolist(), strict=True))


def within(x, y, r):
    """All pairs within a distance, by all distances."""
    squares = ((x[None] - y[:, None]) ** 2).sum(-1)
    return (squares <= r * r).nonzero().tolist()


def test_radius(session, x):
    y = x[:7] + 0.01
    edges = radius(x, y, 0.3, session=session)
    assert (edges[0].diff() >= 0).all()
    found = sorted(pairs(edges))
    assert [list(pair) for pair in found] == within(x, y, 0.3), "without a cap"
    assert len(found) > 35
    graph = pairs(radius_graph(x, 0.3, session=session))
    assert sorted([i, j] for j, i in graph) == [[i, j] for i, j in within(x, x, 0.3) if i != j], "neighbors come first"
    with_loops = radius_graph(x, 0.3, loop=True, flow="target_to_source", session=session)
    assert sorted(map(list, pairs(with_loops))) == within(x, x, 0.3)


def test_a_cap_keeps_the_nearest(session, x):
    most = 4
    found = pairs(radius(x, x[:9] + 0.01, 0.3, max_num_neighbors=most, session=session))
    far = torch.cdist(x[:9] + 0.01, x)
    for i in range(9):
        near = [j for j in far[i].argsort()[:most].tolist() if far[i, j] <= 0.3]
        assert [j for query, j in found if query == i] == near


def test_an_infinite_radius_finds_all(session, x):
    assert radius(x, 9 + x[:7], np.inf, session=session).shape == (2, 7 * 120)
    assert radius_graph(x[:5], float("inf"), session=session).shape == (2, 20)
    assert radius_graph(x[:5], torch.tensor(np.inf), max_num_neighbors=2, session=session).shape == (2, 10)
    assert radius(x[:0], x, np.inf, session=session).shape == (2, 0)


@pytest.mark.parametrize("most", [None, 3])
def test_the_same_index_may_be_left_out(session, x, most):
    """Whatever its distance: the two tensors need not be the same."""
    y = x[torch.arange(119, -1, -1)][:70]
    edges = radius(x, y, 0.4, max_num_neighbors=most, ignore_same_index=True, session=session)
    every = radius(x, y, 0.4, session=session)
    assert (every[0] == every[1]).any()
    assert (edges[0] != edges[1]).all()
    if most is None:
        assert edges.shape[1] == (every[0] != every[1]).sum()
    assert torch.equal(
        radius(x, x, 0.4, max_num_neighbors=most, ignore_same_index=True, session=session).sort().values,
        radius_graph(x, 0.4, max_num_neighbors=most, flow="target_to_source", session=session).sort().values,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats_are_searched_as_float32(session, x, dtype):
    short = x.to(dtype)
    assert torch.equal(knn_graph(short, 3, session=session), knn_graph(short.float(), 3, session=session))


def test_tensors_as_every_argument(session, x):
    """Points, queries, radii of each, systems, values of conditions, and arguments of functions."""
    given = {"queries": x[:40], "radius": torch.linspace(0.1, 0.4, 40)}
    systems = {"batch": torch.arange(120) % 3, "query_batch": torch.arange(40) % 3}
    kinds = torch.arange(120, dtype=torch.int32) % 2
    plain = {name: value.numpy() for name, value in {**given, **systems}.items()}
    found = clfrnn.search(
        x, **given, **systems, where=clfrnn.Condition("kind[j] > 0", kind=kinds), sort="index", session=session
    )
    expected = clfrnn.search(
        x.numpy(), **plain, where=clfrnn.Condition("kind[j] > 0", kind=kinds.numpy()), sort="index", session=session
    )
    assert found.num_pairs > 20
    assert np.array_equal(found.indices, expected.indices)
    near, expected_near = (
        clfrnn.nearest(each, 3, queries=q, radius=r, session=session)
        for each, q, r in ((x, given["queries"], given["radius"]), (x.numpy(), plain["queries"], plain["radius"]))
    )
    assert np.array_equal(near.indices, expected_near.indices)
    index = clfrnn.build_index(x, 0.3, session=session)
    found, expected = index.zeros(120, np.int32), index.zeros(120, np.int32)
    index.visit(OF_KIND, kind=kinds, found=found)
    index.visit(OF_KIND, kind=kinds.numpy(), found=expected)
    assert found.sum() > 0
    assert np.array_equal(found, expected)
    with pytest.raises(clfrnn.InvalidInputError, match="kind: expected an array, got Tensor"):
        index.visit(OF_KIND, kind=x[:, 0].clone().requires_grad_(), found=found)


def test_batches(session, x):
    batch = torch.arange(120) // 40
    graph = radius_graph(x, 0.4, batch, session=session)
    assert (batch[graph[0]] == batch[graph[1]]).all()
    assert sorted(pairs(graph)) == sorted((j, i) for i, j in within(x, x, 0.4) if i != j and batch[i] == batch[j])
    of_queries = knn(x, x[::40] + 0.01, 2, batch, batch[::40], session=session)
    assert (batch[of_queries[1]] == batch[::40][of_queries[0]]).all()
    with pytest.raises(clfrnn.InvalidInputError, match="batch_x, batch_y"):
        radius(x, x, 0.1, batch)


def test_nearest(session, x):
    far = torch.cdist(x, x)
    far.fill_diagonal_(np.inf)
    edges = knn_graph(x, 3, session=session)
    assert torch.equal(edges[0], far.argsort(dim=1)[:, :3].reshape(-1))
    assert torch.equal(edges[1], torch.arange(120).repeat_interleave(3))
    loops = knn_graph(x, 3, loop=True, session=session)
    assert torch.equal(loops[0].reshape(-1, 3)[:, 0], torch.arange(120))
    assert knn(x[:2], x[:1], 5, session=session).shape == (2, 2), "fewer points than k"


def test_gradients_through_shifts(session):
    """Distances across the boundary of a cell, and their gradients, are those of the vectors of a search."""
    x = torch.rand((40, 3), generator=torch.Generator().manual_seed(1)).requires_grad_()
    cell = torch.tensor([[1.0, 0, 0], [0.3, 1.0, 0], [0, 0.2, 1.0]], requires_grad=True)
    edges, shifts = radius_graph(x, 0.4, cell=cell.detach().numpy(), shifts=True, session=session)
    order = np.lexsort((*shifts.numpy().T, edges[0], edges[1]))
    vectors = edge_vectors(x, edges, shifts, cell=cell)
    found = clfrnn.search(x.detach().numpy(), 0.4, cell=cell.detach().numpy(), vectors=True, session=session).to_host()
    listed = np.lexsort((*found.shifts.T, found.indices, found.to_coo()[0]))

    assert shifts.abs().max() == 1
    assert np.allclose(vectors.detach().numpy()[order], found.vectors[listed], atol=1e-6)
    vectors.norm(dim=1).sum().backward()
    assert torch.allclose(x.grad.sum(dim=0), torch.zeros(3), atol=1e-3), "forces of pairs cancel"
    assert cell.grad.abs().sum() > 0
    assert radius_graph(x, 0.4, shifts=True, session=session)[1].abs().sum() == 0


def test_points_on_a_line_and_none(session):
    assert radius_graph(torch.tensor([0.0, 1.0, 5.0]), 1.5, session=session).tolist() == [[1, 0], [0, 1]]
    assert radius_graph(torch.zeros((0, 3)), 1.5, session=session).shape == (2, 0)


def test_neighbor_lists_as_tensors(session, x):
    found = clfrnn.search(x.numpy(), 0.3, session=session)
    assert torch.equal(found.to_torch(), torch.from_numpy(found.edge_index().astype(np.int64)))
    assert found.to_torch("cpu").dtype == torch.int64


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: radius_graph(x.numpy(), 1), "x: expected a tensor"),
        (lambda x: radius_graph(x, -1), "radius: "),
        (
            lambda x: radius_graph(x, torch.tensor([0.1])),
            r"radius: expected a number or shape \(120,\), got shape \(1,\)",
        ),
        (lambda x: radius_graph(x, np.inf, box=[1, 1, 1]), "radius: .*finite"),
        (lambda x: radius_graph(x * np.nan, np.inf), "points: expected finite"),
        (lambda x: radius_graph(x, 1, flow="back"), "flow: "),
        (lambda x: radius_graph(x, 1, max_num_neighbors=0), "max_num_neighbors: "),
        (lambda x: knn_graph(x, 0), "k: "),
        (lambda x: knn(x, x, 1, cosine=True), "cosine: "),
        (lambda x: edge_vectors(x, torch.zeros((2, 1), dtype=torch.int64), torch.zeros((1, 3))), "cell: "),
    ],
)
def test_what_is_refused(x, call, words):
    with pytest.raises(ValueError, match=words):
        call(x)


def test_vectors_of_edges_in_one_dimension():
    x = torch.tensor([0.1, 0.9, 0.5])
    edges, shifts = face.radius_graph(x, 0.3, box=[1.0], shifts=True)
    vectors = face.edge_vectors(x, edges, shifts, cell=[1.0])
    assert vectors.shape == (2, 1)
    assert torch.allclose(vectors.norm(dim=1), torch.tensor([0.2, 0.2]))
