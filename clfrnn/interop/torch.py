"""The face of torch-cluster and PyTorch Geometric: graphs of points in tensors, with batches."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

try:
    import torch
except ImportError:
    raise ImportError("clfrnn.interop.torch needs PyTorch: pip install torch") from None

from ..api import nearest, search
from ..conditions import Condition
from ..device_array import DeviceArray
from ..errors import InvalidInputError
from ..host.numbers import shown, whole_number
from ..runtime.session import Session
from .nearest_image import reaching

__all__ = ["edge_vectors", "knn", "knn_graph", "radius", "radius_graph"]

Flow = Literal["source_to_target", "target_to_source"]


class _Edges(NamedTuple):
    """Pairs of queries and points, (2, pairs) int64, and their shifts in a periodic box."""

    edges: torch.Tensor
    shifts: torch.Tensor | None


def radius(
    x: torch.Tensor,
    y: torch.Tensor,
    r: float,
    batch_x: torch.Tensor | None = None,
    batch_y: torch.Tensor | None = None,
    max_num_neighbors: int | None = None,
    num_workers: int = 1,  # noqa: ARG001 — the device decides
    batch_size: int | None = None,  # noqa: ARG001 — systems need no number
    ignore_same_index: bool = False,
    *,
    session: Session | None = None,
) -> torch.Tensor:
    """Find all points of `x` within a distance of each point of `y`: ``torch_cluster.radius``, without a cap.

    Parameters
    ----------
    x : (n, dim) or (n,) tensor of float32 or float64, dim up to 12; shorter floats are searched as float32
    y : (m, dim) or (m,) tensor, the queries
    r : scalar, which may be infinite; the ball is closed
    batch_x, batch_y : (n,) and (m,) integers, the system of each point; both or none
    max_num_neighbors : the most points of each query, the nearest ones; all when not given
    num_workers, batch_size : taken, and without effect
    ignore_same_index : whether to leave out the point of `x` in the same row as the query in `y`
    session : a :class:`clfrnn.Session`; by default :func:`clfrnn.default_session`

    Returns
    -------
    (2, pairs) tensor of int64 on the device of `x`: rows of `y`, in ascending order, and rows of `x`

    Raises
    ------
    InvalidInputError
        An argument cannot be searched; the message says which one, and what to do.

    Notes
    -----
    Cost: that of :func:`clfrnn.search`, and int64 numbers of the pairs on the tensor's device.

    Examples
    --------
    >>> import torch
    >>> from clfrnn.interop.torch import radius
    >>> radius(torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]]), 1.5).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    unlike = Condition("i != j") if ignore_same_index else None
    return _within(x, y, r, (batch_x, batch_y), max_num_neighbors, where=unlike, session=session).edges


def radius_graph(
    x: torch.Tensor,
    r: float,
    batch: torch.Tensor | None = None,
    loop: bool = False,
    max_num_neighbors: int | None = None,
    flow: Flow = "source_to_target",
    num_workers: int = 1,  # noqa: ARG001 — the device decides
    batch_size: int | None = None,  # noqa: ARG001 — systems need no number
    *,
    box: Any = None,
    cell: Any = None,
    periodic: Any = None,
    shifts: bool = False,
    session: Session | None = None,
) -> Any:
    """Make the graph of points within a distance of each other: ``torch_geometric.nn.radius_graph``, without a cap.

    Parameters
    ----------
    x : (n, dim) or (n,) tensor of float32 or float64, dim up to 12
    r : scalar, which may be infinite where no box or cell is given; the ball is closed
    batch : (n,) integers, the system of each point; edges are within systems
    loop : whether points have edges to themselves
    max_num_neighbors : the most edges to each point, from the nearest ones; all when not given
    flow : "source_to_target" has neighbors in the first row, "target_to_source" in the second
    num_workers, batch_size : taken, and without effect
    box, cell, periodic : as for :func:`clfrnn.search`; every image within `r` is an edge
    shifts : whether to return the periodic image of each edge's neighbor, too
    session : as for :func:`radius`

    Returns
    -------
    edge_index : (2, edges) tensor of int64 on the device of `x`
    shifts : (edges, dim) tensor of int64, where `shifts` says so

    Notes
    -----
    Edges have no gradient; :func:`edge_vectors` computes vectors that have one. Cost: as of :func:`radius`.

    Examples
    --------
    >>> import torch
    >>> from clfrnn.interop.torch import radius_graph
    >>> radius_graph(torch.tensor([[0.0], [1.0], [3.0]]), 1.5).tolist()
    [[1, 0], [0, 1]]
    """
    given: dict[str, Any] = {"loop": loop, "points_first": _from_neighbors(flow), "session": session}
    given["domain"] = {"box": box, "cell": cell, "periodic": periodic}
    edges, images = _within(x, None, r, (batch, None), max_num_neighbors, **given)
    if not shifts:
        return edges
    if images is None:
        return edges, torch.zeros(
            (edges.shape[1], 1 if x.dim() == 1 else x.shape[1]), dtype=torch.int64, device=x.device
        )
    return edges, images


def knn(
    x: torch.Tensor,
    y: torch.Tensor,
    k: int,
    batch_x: torch.Tensor | None = None,
    batch_y: torch.Tensor | None = None,
    cosine: bool = False,
    num_workers: int = 1,  # noqa: ARG001 — the device decides
    batch_size: int | None = None,  # noqa: ARG001 — systems need no number
    *,
    session: Session | None = None,
) -> torch.Tensor:
    """Find the k nearest points of `x` for each point of `y`: ``torch_cluster.knn``.

    Parameters
    ----------
    x, y, batch_x, batch_y, num_workers, batch_size, session : as for :func:`radius`
    k : how many; there are fewer where a system has fewer
    cosine : False, as distances are Euclidean

    Returns
    -------
    (2, pairs) tensor of int64 on the device of `x`: rows of `y`, in ascending order, and rows of `x` by distance

    Notes
    -----
    Cost: that of :func:`clfrnn.nearest`.
    """
    _check_norm(cosine)
    return _nearest(x, y, k, (batch_x, batch_y), session=session).edges


def knn_graph(
    x: torch.Tensor,
    k: int,
    batch: torch.Tensor | None = None,
    loop: bool = False,
    flow: Flow = "source_to_target",
    cosine: bool = False,
    num_workers: int = 1,  # noqa: ARG001 — the device decides
    batch_size: int | None = None,  # noqa: ARG001 — systems need no number
    *,
    session: Session | None = None,
) -> torch.Tensor:
    """Make the graph of each point's k nearest points: ``torch_geometric.nn.knn_graph``.

    Parameters
    ----------
    x, batch, loop, flow, num_workers, batch_size, session : as for :func:`radius_graph`; with `loop`, a point is the
        first of its k neighbors
    k, cosine : as for :func:`knn`

    Returns
    -------
    (2, edges) tensor of int64 on the device of `x`

    Notes
    -----
    Cost: that of :func:`clfrnn.nearest`.
    """
    _check_norm(cosine)
    points_first = _from_neighbors(flow)
    return _nearest(x, None, k, (batch, None), loop=loop, points_first=points_first, session=session).edges


def edge_vectors(
    x: torch.Tensor, edge_index: torch.Tensor, shifts: torch.Tensor | None = None, *, cell: Any = None
) -> torch.Tensor:
    """Compute the vector of each edge, from the point in the second row of `edge_index` to that in the first one.

    Parameters
    ----------
    x : (n, dim) tensor, or (n,) for one coordinate, through which gradients flow
    edge_index : (2, edges) of :func:`radius_graph` with the flow "source_to_target"
    shifts : (edges, dim) periodic images, as :func:`radius_graph` returns them
    cell : (dim, dim) lattice vectors as rows, or (dim,) lengths of a box, through which gradients flow where it is a
        tensor; needed with `shifts`

    Returns
    -------
    (edges, dim) tensor of the dtype of `x`; ``.norm(dim=1)`` gives distances

    Examples
    --------
    >>> import torch
    >>> from clfrnn.interop.torch import edge_vectors, radius_graph
    >>> x = torch.tensor([[0.1], [0.9]], requires_grad=True)
    >>> edges, shifts = radius_graph(x, 0.3, box=[1.0], shifts=True)
    >>> far = edge_vectors(x, edges, shifts, cell=[1.0]).norm(dim=1)
    >>> far.sum().backward()
    >>> [round(each, 3) for each in far.tolist()], x.grad.ravel().tolist()
    ([0.2, 0.2], [2.0, -2.0])
    """
    x = x.unsqueeze(-1) if x.dim() == 1 else x
    vectors = x[edge_index[0]] - x[edge_index[1]]
    if shifts is None:
        return vectors
    if cell is None:
        raise InvalidInputError(
            "expected the lattice vectors or lengths that shifts count, got None; pass those of the search",
            argument="cell",
        )
    lattice = torch.as_tensor(cell, dtype=x.dtype, device=x.device)
    images = shifts.to(x.dtype)
    return vectors + (images * lattice if lattice.dim() == 1 else images @ lattice)


def _within(
    x: torch.Tensor,
    y: torch.Tensor | None,
    r: float,
    batches: tuple[torch.Tensor | None, torch.Tensor | None],
    most: int | None,
    *,
    loop: bool = False,
    points_first: bool = False,
    where: Condition | None = None,
    session: Session | None,
    domain: dict[str, Any] | None = None,
) -> _Edges:
    """The pairs within a distance, or those with the nearest ones alone where there is a cap."""
    if most is not None:
        asked: dict[str, Any] = {"loop": loop, "points_first": points_first, "session": session, "domain": domain}
        return _nearest(x, y, most, batches, within=r, where=where, **asked)
    given = _arguments(x, y, batches, loop=loop, session=session, domain=domain)
    found = search(radius=_one_radius(r, given), vectors=_has_domain(given), where=where, **given)
    edges = found.to_torch(x.device, points_first=points_first)
    return _Edges(edges, None if found.shifts is None else _integers(found.shifts, x))


def _nearest(
    x: torch.Tensor,
    y: torch.Tensor | None,
    k: int,
    batches: tuple[torch.Tensor | None, torch.Tensor | None],
    *,
    loop: bool = False,
    points_first: bool = False,
    where: Condition | None = None,
    session: Session | None,
    within: float | None = None,
    domain: dict[str, Any] | None = None,
) -> _Edges:
    """The pairs of queries with their nearest points."""
    if (wanted := whole_number(k)) is None or wanted < 1:
        name = "k" if within is None else "max_num_neighbors"
        raise InvalidInputError(f"expected a whole number of at least 1, got {shown(k)}; pass 16, say", argument=name)
    given = _arguments(x, y, batches, loop=loop, session=session, domain=domain)
    reach = None if within is None else _one_radius(within, given)
    found = nearest(k=wanted, radius=reach, vectors=_has_domain(given), where=where, **given)
    indices = _integers(found.indices, x)
    there = indices >= 0
    rows = [there.nonzero()[:, 0], indices[there]]
    shifts = None if found.shifts is None else _integers(found.shifts, x)[there]
    return _Edges(torch.stack(rows[::-1] if points_first else rows), shifts)


def _arguments(
    x: torch.Tensor,
    y: torch.Tensor | None,
    batches: tuple[torch.Tensor | None, torch.Tensor | None],
    *,
    loop: bool,
    session: Session | None,
    domain: dict[str, Any] | None,
) -> dict[str, Any]:
    """The arguments of a search for tensors."""
    given: dict[str, Any] = {"points": _rows(x, "x"), "include_self": bool(loop), "session": session, **(domain or {})}
    if y is not None:
        given["queries"] = _rows(y, "y")
        if (batches[0] is None) != (batches[1] is None):
            raise InvalidInputError(
                "expected the systems of both, or of none, got one of the two; pass both", argument="batch_x, batch_y"
            )
    for name, batch in zip(("batch", "query_batch"), batches, strict=True):
        if batch is not None:
            given[name] = batch.detach()
    return given


def _rows(x: Any, name: str) -> Any:
    """Rows of a tensor as searches take them; raises for what is none."""
    if not isinstance(x, torch.Tensor):
        raise InvalidInputError(f"expected a tensor, got {type(x).__name__}; pass torch.as_tensor(...)", argument=name)
    rows = x.detach()
    rows = rows.float() if rows.dtype in (torch.float16, torch.bfloat16) else rows
    return rows.reshape(-1, 1) if rows.dim() == 1 else rows


def _has_domain(given: dict[str, Any]) -> bool:
    return any(given.get(name) is not None for name in ("box", "cell"))


def _one_radius(r: Any, given: dict[str, Any]) -> Any:
    """The radius of a search with these arguments; for an infinite one, one that reaches from corner to corner."""
    radius = float(r) if isinstance(r, torch.Tensor) and r.dim() == 0 else r
    if radius != math.inf or _has_domain(given):
        return radius
    clouds = [given[name] for name in ("points", "queries") if name in given]
    corners = [torch.stack([each.amin(0), each.amax(0)]) if len(each) else each for each in clouds]
    return reaching(radius, *(each.double().cpu().numpy() for each in corners))


def _integers(values: DeviceArray[np.int32], x: torch.Tensor) -> torch.Tensor:
    """A tensor of int64 on the device of another one."""
    return values.to_torch(out=torch.empty(values.shape, dtype=torch.int64, device=x.device))


def _from_neighbors(flow: Flow) -> bool:
    """Whether edges have the neighbor in their first row; raises for what is no flow."""
    if flow not in ("source_to_target", "target_to_source"):
        raise InvalidInputError(
            f"expected 'source_to_target' or 'target_to_source', got {shown(flow)}", argument="flow"
        )
    return flow == "source_to_target"


def _check_norm(cosine: object) -> None:
    if cosine:
        raise InvalidInputError(
            "expected False, as distances are Euclidean; pass torch.nn.functional.normalize(x), whose nearest points "
            "are those of the largest cosine",
            argument="cosine",
        )
