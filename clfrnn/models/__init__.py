"""Particle models on clfrnn's public interface alone: they show how it is used, and benchmarks run them."""

from __future__ import annotations

from .circles import Circles

__all__ = ["Circles"]
