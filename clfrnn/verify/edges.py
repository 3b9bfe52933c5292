"""Clouds on the edges of the very cells that a method lays around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import clouds
from ..errors import NoDeviceError
from ..methods.named import check_method
from ..prepare import build
from ..runtime.session import Session
from .case import Case

__all__ = ["edge_cloud"]


def edge_cloud(session: Session, case: Case, *, radius: float, seed: int, far: bool) -> Any:
    """Points on the edges of the cells that the method lays around them, and points at the radius from these.

    The cells depend on the points and the points on the cells, so that several rounds are needed until both agree;
    where the method has no cells, edges are multiples of the radius. With `far` one point lies so far away that the
    cells wrap.
    """
    rng = np.random.default_rng(seed)
    low = float(case.dtype.type(rng.choice([0.0, -1.0, 0.3, 17.0])))
    sides: tuple[float, ...] = (float(case.dtype.type(radius)),) * case.dim
    named = check_method(case.method, case.options)
    given: dict[str, Any] = {"named": named, "options": case.options, "domain": (None, None, None)}
    for _ in range(8):
        points = clouds.edges(case.points, case.dim, dtype=case.dtype, seed=seed, radius=radius, sides=sides, low=low)
        if far:
            points = np.concatenate([points, np.full((1, case.dim), 1e5, case.dtype)])
        try:
            with session.lock:
                structure, _ = build(session, points, radius, **given)
        except NoDeviceError:  # the search of these points is refused, too
            return points
        grid = structure.cell_grid
        if grid is None or grid.sides == sides:
            return points
        sides = grid.sides
    # Cells that follow the extent of the points stay as they are while the corners of the points do.
    return clouds.edges(
        len(points),
        case.dim,
        dtype=case.dtype,
        seed=seed,
        radius=radius,
        sides=sides,
        low=low,
        high=tuple(points.max(0).tolist()),
    )
