"""``clfrnn demo``: particle models that one can run and see."""

from __future__ import annotations

from .command import demo

__all__ = ["demo"]
