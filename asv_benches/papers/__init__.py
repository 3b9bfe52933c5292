"""The tables and figures of the papers behind clfrnn, measured again: ``python -m asv_benches.papers --help``.

A paper is a module with a :class:`~.paper.Paper`, and a line in ``PAPERS``.
"""

from __future__ import annotations

from . import coherent_aabb, fenns, particles, strips
from .paper import Paper

__all__ = ["PAPERS"]

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (strips.PAPER, particles.PAPER, fenns.PAPER, coherent_aabb.PAPER)
}
