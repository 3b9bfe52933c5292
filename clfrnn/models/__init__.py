"""Particle models on clfrnn's public interface alone, as examples of its use and for benchmarks."""

from __future__ import annotations

from .boids import Boids
from .circles import Circles
from .crowd import Pedestrians
from .frame import Frame
from .keratinocytes import Keratinocytes
from .model import Model
from .spheres import Spheres
from .water import Fluid

__all__ = ["Boids", "Circles", "Fluid", "Frame", "Keratinocytes", "Model", "Pedestrians", "Spheres"]
