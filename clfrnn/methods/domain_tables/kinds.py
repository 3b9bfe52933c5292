"""Which tables a domain has on the device, by its kind."""

from __future__ import annotations

import pyopencl.array as cla

from ...domain.box import Domain
from ...domain.systems import Systems
from ...runtime.session import Session
from .image_table import ImageTable
from .system_tables import lay_out
from .tables import DomainTables

__all__ = ["make_tables"]


def make_tables(session: Session, domain: Domain, points: cla.Array, radius: float) -> DomainTables:
    """The tables for `points` in a domain, and for windows of that radius; with many systems it waits for bounds."""
    if isinstance(domain, Systems):
        return lay_out(session, domain, points, radius)
    return ImageTable(session, domain.space, points.dtype)
