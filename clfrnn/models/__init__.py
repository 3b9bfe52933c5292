"""Particle models on clfrnn's public interface alone, as examples of its use and for benchmarks."""

from __future__ import annotations

from .circles import Circles

__all__ = ["Circles"]
