"""Spheres that collide by spring and dashpot."""

from __future__ import annotations

from .spheres import Spheres

__all__ = ["Spheres"]
