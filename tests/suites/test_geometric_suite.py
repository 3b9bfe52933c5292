"""PyTorch Geometric's transforms and layers over the graphs of the face."""

import pytest

torch = pytest.importorskip("torch")
geometric = pytest.importorskip("torch_geometric")
data = pytest.importorskip("torch_geometric.data")
nn = pytest.importorskip("torch_geometric.nn")
transforms = pytest.importorskip("torch_geometric.transforms")
face = pytest.importorskip("clfrnn.interop.torch")

pytestmark = pytest.mark.long


def test_a_batch_of_clouds_through_a_transform_and_a_layer(monkeypatch):
    """Each point sums the features of its neighbors, in its own cloud alone."""
    monkeypatch.setattr(geometric.nn, "radius_graph", face.radius_graph)
    clouds = [torch.rand((n, 3), generator=torch.Generator().manual_seed(n)) for n in (30, 40)]
    graph = transforms.RadiusGraph(r=0.3, max_num_neighbors=None)
    batch = graph(data.Batch.from_data_list([data.Data(pos=pos) for pos in clouds]))
    features = torch.arange(70.0).reshape(-1, 1)
    found = nn.SimpleConv(aggr="sum")(features, batch.edge_index)

    for pos, rows in zip(clouds, (slice(0, 30), slice(30, 70)), strict=True):
        near = (torch.cdist(pos, pos) <= 0.3) & ~torch.eye(len(pos), dtype=bool)
        assert torch.allclose(found[rows], near.float() @ features[rows])
