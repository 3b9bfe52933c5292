"""Tensors on the GPU of a session: the same graphs, from any stream, without a byte over the bus but a few numbers."""

import subprocess
import sys

import numpy as np
import pyopencl as cl
import pytest

import clfrnn

torch = pytest.importorskip("torch")
face = pytest.importorskip("clfrnn.interop.torch")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that PyTorch addresses")

POINTS = np.random.default_rng(0).random((20_000, 3), np.float32)
RADIUS = 0.05


@pytest.fixture
def there(session):
    """A session whose device is PyTorch's first GPU."""
    if session.exchange is None or not session.exchange.serves(0):
        pytest.skip("the driver imports no memory, or this is another device")
    return session


def edges_of(graph):
    rows = graph.cpu().numpy()
    return rows[:, np.lexsort(rows)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "int16"])
def test_arrays_come_and_go(there, dtype):
    given = torch.arange(100_000, device="cuda").remainder(100).to(getattr(torch, dtype)).reshape(-1, 4)
    array = clfrnn.to_device(given, session=there)

    assert np.array_equal(array.get(), given.cpu().numpy())
    assert torch.equal(array.to_torch("cuda"), given)
    assert torch.equal(clfrnn.to_device(given[::3, :2], session=there).to_torch("cuda"), given[::3, :2]), "with gaps"
    assert clfrnn.to_device(given[:0], session=there).shape == (0, 4)
    assert there.exchange.problem == ""


def test_graphs(there):
    x = torch.from_numpy(POINTS).cuda()
    batch = torch.arange(len(x), device="cuda") % 4
    for named in ({}, {"batch": batch}, {"loop": True}, {"max_num_neighbors": 5}):
        found = face.radius_graph(x, RADIUS, **named, session=there)
        expected = face.radius_graph(
            x.cpu(), RADIUS, **{name: getattr(value, "cpu", lambda v=value: v)() for name, value in named.items()}
        )
        assert found.device == x.device
        assert np.array_equal(edges_of(found), edges_of(expected))
    assert torch.equal(face.knn_graph(x, 4, session=there).cpu(), face.knn_graph(x.cpu(), 4))
    edges, shifts = face.radius_graph(x, RADIUS, box=[1, 1, 1], shifts=True, session=there)
    far = face.edge_vectors(x, edges, shifts, cell=[1, 1, 1]).norm(dim=1)
    assert far.max() <= RADIUS * 1.0001
    assert there.exchange.problem == ""


def test_graphs_stay_as_they_are(there):
    """While they are held, whatever is made after them, also in memory of graphs that were dropped."""
    x = torch.from_numpy(POINTS).cuda()
    reaches = (0.02, 0.04, 0.05, 0.04)
    expected = [edges_of(face.radius_graph(x.cpu(), reach)) for reach in reaches]
    found = [face.radius_graph(x, reach, session=there) for reach in reaches]
    first = found.pop(0)
    sums = first.sum() + 0
    del first
    found.append(face.radius_graph(x, reaches[0], session=there))

    assert int(sums) == int(expected[0].sum())
    for graph, other in zip(found, [*expected[1:], expected[0]], strict=True):
        assert np.array_equal(edges_of(graph), other)
    there.trim()
    assert np.array_equal(edges_of(found[0]), expected[1])


def test_what_streams_still_compute_is_waited_for(there):
    """Points that a stream of their own is still writing, and results that another one reads at once."""
    large = torch.rand((4000, 4000), device="cuda")
    expected = edges_of(face.radius_graph(torch.from_numpy(POINTS), RADIUS))
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                large = (large @ large).clamp(0, 1)
            x = torch.from_numpy(POINTS).pin_memory().to("cuda", non_blocking=True)
            graph = face.radius_graph(x, RADIUS, session=there)
            assert np.array_equal(edges_of(graph + 0), expected)


def test_nothing_goes_over_the_bus_but_a_few_numbers(there, monkeypatch):
    x = torch.from_numpy(POINTS).cuda()
    face.radius_graph(x, RADIUS, session=there)
    moved, copy = [], cl.enqueue_copy

    def noting(queue, target, source, **named):
        moved.extend(side.nbytes for side in (target, source) if isinstance(side, np.ndarray))
        return copy(queue, target, source, **named)

    monkeypatch.setattr(cl, "enqueue_copy", noting)
    graph = face.radius_graph(x, RADIUS, session=there)

    assert graph.shape[1] > 100_000
    assert sum(moved) < 4096, moved


def test_through_the_host(there, monkeypatch):
    """The same without memory that both drivers see."""
    x = torch.from_numpy(POINTS).cuda()
    expected = edges_of(face.radius_graph(x, RADIUS, session=there))
    monkeypatch.setattr(there.exchange, "problem", "it is switched off")
    assert np.array_equal(edges_of(face.radius_graph(x, RADIUS, session=there)), expected)
    assert "through pinned memory" in clfrnn.build_index(x, RADIUS, session=there).explain()


@pytest.mark.parametrize("library", ["cupy", "jax.numpy"])
def test_other_libraries(there, library):
    array = pytest.importorskip(library).asarray(POINTS)
    found = clfrnn.build_index(array, RADIUS, session=there).count()
    assert np.array_equal(found, clfrnn.build_index(POINTS, RADIUS, session=there).count())
    assert there.exchange.problem == ""


def test_a_process_ends(there):
    """With memory still shared, and with an index and tensors still held."""
    code = """
import numpy as np, torch, clfrnn
from clfrnn.interop.torch import radius_graph
x = torch.rand((1000, 3), device="cuda")
index = clfrnn.build_index(x, 0.1)
graph = radius_graph(x, 0.1)
print(graph.shape[1] == int(index.count().sum()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["True"]
